"""Heads of proxy requests: two forms, and nothing that two programs could read in two ways."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.gate.heads import ProxyRequest, parse_head, write_head
from orchestrator.gate.refusals import NotLetThrough, Reason, Refusal

PIECES = st.sampled_from(
    [b"CONNECT ", b"GET ", b"POST ", b"http://", b"https://", b"a.example", b":443", b":80", b"/", b"?x", b" HTTP/1.1",
     b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b"Host: b.example", b"Content-Length: 3", b"Content-Length: 0x3",
     b"Transfer-Encoding: chunked", b"Connection: host", b"@", b"#", b"\\", b"[::1]", b"%0d%0a", b"\xc3\xa9"]
)  # fmt: skip


def read(head: bytes) -> ProxyRequest | str:
    """The request, or the word for why it is none."""
    try:
        return parse_head(head)
    except NotLetThrough as error:
        return error.refusal.reason


@given(st.lists(PIECES | st.binary(max_size=4), max_size=14).map(b"".join))
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    """And what is read is sent as one head: one empty line at its end, one host, one end of the connection."""
    found = read(data + b"\r\n\r\n")
    if isinstance(found, str):
        assert found in set(Reason)
        return
    assert re.fullmatch(r"[a-z0-9._:-]*", found.host)
    if found.is_tunnel:
        return
    sent = write_head(found)
    lines = sent.split(b"\r\n")
    assert sent.endswith(b"\r\n\r\n")
    assert sent.count(b"\r\n\r\n") == 1
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)|\0", sent)
    names = [line.partition(b":")[0].lower() for line in lines[1:-2]]
    assert (names.count(b"host"), names.count(b"connection"), names.count(b"transfer-encoding")) == (1, 1, 0)
    assert names.count(b"content-length") <= 1
    again = parse_head(lines[0].replace(b" /", b" http://x.example/", 1) + b"\r\n" + b"\r\n".join(lines[1:]))
    assert (again.target, again.body_bytes) == (found.target, found.body_bytes)


@pytest.mark.parametrize(
    ("head", "request_"),
    [
        (b"CONNECT A.Example.:443 HTTP/1.1\r\n\r\n", ProxyRequest("CONNECT", "a.example", 443)),
        (b"CONNECT [2606::1]:443 HTTP/1.0\r\nHost: x\r\n\r\n", ProxyRequest("CONNECT", "2606::1", 443)),
        (b"GET http://a.example HTTP/1.1\r\n\r\n", ProxyRequest("GET", "a.example", 80, "/")),
        (b"GET HTTP://a.example?b HTTP/1.1\r\n\r\n", ProxyRequest("GET", "a.example", 80, "/?b")),
        (
            b"POST http://a.example:8080/x HTTP/1.1\r\nContent-Length: 3\r\nTE: x\r\n\r\n",
            ProxyRequest("POST", "a.example", 8080, "/x", (b"Content-Length: 3",), 3),
        ),
    ],
)
def test_what_is_read(head: bytes, request_: ProxyRequest) -> None:
    """Host in lower case, without brackets and without its last dot."""
    assert parse_head(head) == request_


def test_connection_can_not_hide_a_length() -> None:
    """A length that is named as being about the connection stays: the body that follows is as long as it says."""
    found = parse_head(b"POST http://a.example/ HTTP/1.1\r\nConnection: content-length\r\nContent-Length: 2\r\n\r\n")
    assert (found.body_bytes, found.fields) == (2, (b"Content-Length: 2",))


def test_to_an_upstream_proxy() -> None:
    """The whole address is sent, with the proxy's own password, and an address in brackets."""
    head = write_head(parse_head(b"GET http://a.example/x HTTP/1.1\r\n\r\n"), proxy_authorization="Basic eA==")
    assert head.startswith(b"GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n")
    assert b"Proxy-Authorization: Basic eA==\r\n" in head
    six = write_head(parse_head(b"GET http://[2606::1]:8080/ HTTP/1.1\r\n\r\n"))
    assert b"Host: [2606::1]:8080\r\n" in six


@pytest.mark.parametrize("word", ["", "two words", "a\r\nb", "x" * 41, "Upper"])
def test_a_reason_is_one_word(word: str) -> None:
    """It goes into a head of HTTP."""
    with pytest.raises(ValueError, match="word"):
        Refusal(word)


def test_every_reason_has_an_answer() -> None:
    """With a status that a client understands, and the word."""
    for reason in Reason:
        head = Refusal(reason).as_response().partition(b"\r\n\r\n")[0].decode()
        assert re.match(r"HTTP/1\.1 (400|403|408|502|503) [A-Z]", head)
        assert f"X-Hermit-Gate: {reason}" in head
