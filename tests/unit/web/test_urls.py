"""Reading URLs: one reading for all, and what is refused or pointed out before anybody is asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.errors import BadInput
from orchestrator.web.url_warnings import Caution, is_dense, list_warnings
from orchestrator.web.urls import MAX_URL_CHARS, UrlRules, follow_redirect, parse_url

PLAIN = UrlRules(plain_http=True)
ODD_PORTS = UrlRules(plain_http=True, ports=frozenset({80, 443, 8443}))


@pytest.mark.parametrize(
    ("text", "host", "port", "target", "url"),
    [
        ("https://example.com", "example.com", 443, "/", "https://example.com/"),
        ("HTTPS://Example.COM/A?b=C#d", "example.com", 443, "/A?b=C", "https://example.com/A?b=C"),
        ("https://example.com:443/a", "example.com", 443, "/a", "https://example.com/a"),
        ("https://example.com.:443/a", "example.com", 443, "/a", "https://example.com/a"),
        ("https://example.com:80/a", "example.com", 80, "/a", "https://example.com:80/a"),
        ("https://bücher.example/ä?ö=ü", "xn--bcher-kva.example", 443, "/%C3%A4?%C3%B6=%C3%BC", None),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/", None),
        ("https://faß.example/", "xn--fa-hia.example", 443, "/", None),
        ("https://example。com/", "example.com", 443, "/", "https://example.com/"),
        ("https://ＥＸＡＭＰＬＥ.com/", "example.com", 443, "/", "https://example.com/"),
        ("https://r3---sn-h5q7.example.net/v", "r3---sn-h5q7.example.net", 443, "/v", None),
        ("https://1.1.1.1/", "1.1.1.1", 443, "/", None),
        ("https://[2606:4700:0::1111]/x", "2606:4700::1111", 443, "/x", "https://[2606:4700::1111]/x"),
        ("https://example.com?q", "example.com", 443, "/?q", "https://example.com/?q"),
        ("https://example.com/a%20b;c=d/@e:f", "example.com", 443, "/a%20b;c=d/@e:f", None),
        ("https://example.com/a|b<c>\"d^`{}", "example.com", 443, "/a%7Cb%3Cc%3E%22d%5E%60%7B%7D", None),
        ("https://example.com/https://evil.example/", "example.com", 443, "/https://evil.example/", None),
        ("https://3com.example/", "3com.example", 443, "/", None),
    ],
)  # fmt: skip
def test_a_url_has_one_reading(text: str, host: str, port: int, target: str, url: str | None) -> None:
    """The parts that are shown, connected to and sent; reading the result again changes nothing."""
    link = parse_url(text)
    assert (link.host, link.port, link.target) == (host, port, target)
    assert url is None or link.url == url
    assert parse_url(link.url) == link


REFUSED = [
    ("", "whole"),
    ("example.com/file", "whole"),
    ("//example.com/file", "whole"),
    ("https:example.com", "whole"),
    ("https:///example.com", "host cannot be read"),
    ("https://", "host cannot be read"),
    ("http://example.com/", "Use https"),
    ("ftp://example.com/", "must begin with https"),
    ("file:///etc/passwd", "must begin with https"),
    ("gopher://example.com/", "must begin with https"),
    ("javascript://example.com/%0aalert(1)", "encoded control"),
    ("data:text/plain,hello", "whole"),
    ("unix:///var/run/docker.sock", "must begin with https"),
    ("https://good.com@evil.example/", "@"),
    ("https://good.com:80@evil.example/", "@"),
    ("https://@evil.example/", "@"),
    ("https://user:secret@example.com/", "@"),
    ("https://good.com%40evil.example/", "no usable name"),
    ("https://good.com\\@evil.example/", "backslash"),
    ("https://good.com\\.evil.example/", "backslash"),
    ("https:\\\\example.com/", "backslash"),
    ("https://example.com\\path", "backslash"),
    ("https://good.com#@evil.example/", None),  # a fragment for every parser: see below
    ("https://example.com/\r\nHost: evil", "invisible"),
    ("https://example.com/\nx", "invisible"),
    ("https://example.com/\tx", "invisible"),
    ("https://exam\nple.com/", "invisible"),
    ("https://exam\u00adple.com/", "invisible"),
    ("https://example.com/\u202egpj.exe", "invisible"),
    ("https://example.com/\u200b", "invisible"),
    ("https://example.com/\x00", "invisible"),
    ("https://example.com/\x7f", "invisible"),
    ("https://example.com/\x85", "invisible"),
    ("https://example.com/a b", "space"),
    (" https://example.com/", "space"),
    ("https://example.com/\u3000", "space"),
    ("https://example.com/%0d%0aX-Injected:1", "encoded control"),
    ("https://example.com/?a=%0A", "encoded control"),
    ("https://example.com/%00", "encoded control"),
    ("https://example.com/%7f", "encoded control"),
    ("https://example.com%0d%0a/", "encoded control"),
    ("https://exam%70le.com/", "no usable name"),
    ("https://example.com:22/", "port is 22"),
    ("https://example.com:6379/", "port is 6379"),
    ("https://example.com:0/", "port is 0"),
    ("https://example.com:99999/", "port is 99999"),
    ("https://example.com:123456/", "host cannot be read"),
    ("https://example.com:/", "host cannot be read"),
    ("https://example.com:+443/", "host cannot be read"),
    ("https://example.com:４４３/", "host cannot be read"),
    ("https://example.com:443:443/", "host cannot be read"),
    ("https://[::1/", "host cannot be read"),
    ("https://[2606:4700::1111]evil.example/", "host cannot be read"),
    ("https://[2606:4700::1111%25eth0]/", "host cannot be read"),
    ("https://[example.com]/", "host cannot be read"),
    ("https://[1.1.1.1]/", "no usual internet address"),
    ("https://2606:4700::1111/", "host cannot be read"),
    ("https://exam_ple.com/", "no usable name"),
    ("https://-example.com/", "no usable name"),
    ("https://example-.com/", "no usable name"),
    ("https://example..com/", "no usable name"),
    ("https://.example.com/", "no usable name"),
    ("https://example.com../", "no usable name"),
    ("https://exam,ple.com/", "no usable name"),
    ("https://exam;ple.com/", "no usable name"),
    ("https://${jndi}.example/", "no usable name"),
    ("https://xn--zz.example/", "no usable name"),
    ("https://xn--example-.example/", "no usable name"),
    ("https://XN--A.example/", "no usable name"),
    ("https://evil℀.example/", "no usable name"),
    ("https://good.com／evil.example/", "no usable name"),
    ("https://good.com＃evil.example/", "no usable name"),
    ("https://good.com＠evil.example/", "no usable name"),
    (f"https://{'a' * 64}.example/", "no usable name"),
    (f"https://{'a.' * 127}example/", "no usable name"),
    ("https://localhost/", "private network"),
    ("https://printer/", "private network"),
    ("https://printer.local/", "private network"),
    ("https://metadata.google.internal/", "private network"),
    ("https://a.localhost./", "private network"),
    ("https://router.home.arpa/", "private network"),
    ("https://example.com/" + "a" * MAX_URL_CHARS, "too long"),
    ("https://example.com/" + "ä" * 400, "too long"),
]


@pytest.mark.parametrize(("text", "words"), [row for row in REFUSED if row[1]], ids=lambda value: repr(value)[:60])
def test_what_could_be_read_in_two_ways_is_refused(text: str, words: str) -> None:
    """With a sentence that says what is the matter."""
    with pytest.raises(BadInput) as refused:
        parse_url(text)
    assert words in refused.value.message, refused.value.message


def test_a_fragment_is_never_sent() -> None:
    """What follows the hash is dropped, whatever it looks like."""
    assert parse_url("https://good.com#@evil.example/").url == "https://good.com/"


def test_http_needs_an_explicit_choice() -> None:
    """With it, the usual port is 80."""
    assert parse_url("http://example.com/", PLAIN).port == 80


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/b", "https://example.com/b"),
        ("b", "https://example.com/a/b"),
        ("?c", "https://example.com/a/?c"),
        ("../b", "https://example.com/b"),
        ("//other.example/x", "https://other.example/x"),
        ("https://other.example", "https://other.example/"),
        ("https:other.example", "https://example.com/a/other.example"),
        ("file:///etc/passwd", None),
        ("http://example.com/", None),
        ("https://example.com/%0d%0a", None),
        ("\\\\evil.example/", None),
        ("https://169.254.169.254/latest/meta-data", None),
        ("https://0x7f.1/", None),
        ("javascript:alert(1)", None),
    ],
)
def test_a_redirect_is_read_as_strictly(location: str, url: str | None) -> None:
    """Relative ones included; None stands for refused."""
    link = parse_url("https://example.com/a/")
    if url is None:
        with pytest.raises(BadInput):
            follow_redirect(link, location)
    else:
        assert follow_redirect(link, location).url == url


@given(st.text(max_size=60), st.sampled_from(["https://", "https://example.com", "https://example.com/", ""]))
def test_any_text_is_read_or_refused(text: str, before: str) -> None:
    """There is no third way, and what was read is plain ASCII that reads as itself."""
    try:
        link = parse_url(before + text)
    except BadInput:
        return
    assert link.url.isascii()
    assert link.url.isprintable()
    assert not set(link.target) & set(" \\#")
    assert parse_url(link.url) == link


# --- what a person should know ---------------------------------------------------------------------------------


ODD = [
    ("https://example.com/files/annual-report-2026.pdf", ""),
    ("https://github.com/python/cpython/archive/refs/tags/v3.11.9.tar.gz", ""),
    ("https://upload.wikimedia.org/wikipedia/commons/thumb/4/47/PNG_transparency_demonstration_1.png", ""),
    ("https://example.com/search?q=weather+in+hamburg&lang=en", ""),
    ("https://www.ons.gov.uk/datasets/cpih01/editions/time-series/versions/6", ""),
    ("https://bbc.co.uk/x", ""),
    ("https://service.com.au/x", ""),
    ("https://bücher.example/", "letters"),
    ("https://раураl.example/", "scripts letters"),
    ("https://аррӏе.example/", "letters"),
    ("https://日本ひらカタ.example/", "letters"),
    ("http://example.com/", "plain"),
    ("https://example.com:80/", "port"),
    ("https://example.com:8443/", "port"),
    ("https://1.1.1.1/x", "address"),
    ("https://[2606:4700::1111]/x", "address"),
    ("https://paypal.com.evil.example/login", "lookalike"),
    ("https://evil.example/?d=c2VjcmV0IGtleTogMTIzNDU2Nzg5MA==", "dense"),
    ("https://evil.example/c2VjcmV0IGtleTogMTIzNDU2Nzg5MAo/x.png", "dense"),
    ("https://evil.example/?k=AKIAIOSFODNN7EXAMPLE9", "dense"),
    ("https://evil.example/?t=ghp_16C7e42F292c6912E7710c838347Ae178B4a", "dense"),
    ("https://evil.example/5f4dcc3b5aa765d61d8327deb882cf99", "dense"),
    ("https://evil.example/?d=%63%32%56jcmV0IGtleTogMTIzNDU2Nzg5MA", "dense"),
    ("https://mfrggzdfmztwq2lknnwg23tpoi7a4k2x.evil.example/", "host"),
    (f"https://{'ab-cd.' * 11}example/", "host"),
    ("https://evil.example/?d=" + "the+secret+is+swordfish+" * 5, "long"),
    ("https://evil.example/" + "the-secret-is-swordfish/" * 10, "long"),
]


@pytest.mark.parametrize(("text", "kinds"), ODD)
def test_what_is_odd_is_pointed_out(text: str, kinds: str) -> None:
    """Each oddity as a sentence, and plain links without any."""
    hints = list_warnings(parse_url(text, ODD_PORTS))
    assert " ".join(hint.kind for hint in hints) == kinds
    assert all(hint.text.endswith(".") for hint in hints)


def test_mixed_letters_are_named() -> None:
    """The sentences show the name as it looks and as it is."""
    texts = " ".join(hint.text for hint in list_warnings(parse_url("https://раураl.example/")))
    assert "Cyrillic and Latin" in texts
    assert "раураl.example" in texts
    assert "xn--" in texts


def test_every_caution_is_tried_above() -> None:
    """No kind of hint is without its row."""
    assert {word for _, kinds in ODD for word in kinds.split()} == set(Caution)


def test_words_are_not_dense() -> None:
    """Long names of words and dates pass."""
    assert not is_dense("The-Hitchhikers-Guide-to-the-Galaxy-2nd-edition-2005-04-28")
    assert not is_dense("Donaudampfschifffahrtsgesellschaftskapitaen")
