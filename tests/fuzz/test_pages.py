"""What agents write, for browsers and for Telegram: nothing gets out but what is allowed there."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from dashboard.hosts import name_of
from dashboard.markdown import render_markdown as as_html
from dashboard.origin import is_own
from orchestrator.apps.previews.origins import is_own_host
from orchestrator.apps.previews.proxy_headers import rewrite_location, to_the_browser, with_prefix
from orchestrator.apps.previews.shim_loader import with_shim
from orchestrator.apps.previews.signed_urls import Tickets
from orchestrator.apps.previews.static_files import parts_below
from orchestrator.apps.thumbnails.png import size_of
from orchestrator.channels.chat.agent_text import (
    MAX_PIECES,
    MESSAGE_UNITS,
    agent_messages,
    caption_text,
    fits_in,
    quote_text,
    split_text,
)
from orchestrator.channels.chat.rich_text import utf16_len
from orchestrator.channels.telegram.format.markdown import render_markdown
from orchestrator.core.errors import NotFound
from orchestrator.core.text import chat_safe, escape_invisible, in_quotes, one_line, terminal_safe
from tests.fuzzing import bounded
from tests.unit.channels.telegram.test_text import check
from tests.unit.dashboard.test_markdown import Reader

_BITS = st.sampled_from(
    ["<script>", "<img src=x onerror=y>", "</p>", "<!--", "-->", "<![CDATA[", "<?", "&lt;", "&#60;", "&#x0;",
     "&amp;colon;", "[a](", ")", "![", "](", "<javascript:x>",
     "<https://e.x/\">", "[x]: javascript:y\n", "[x]", "[a](jAvAscript:x)", "[a](https://good@evil.x)",
     "[a](https://e.x\\@g.x)", "[a](//e.x)", "[a](data:text/html,x)",
     "[a](<https://e.x> \"t' onclick=x\")", "`", "```", "```html\" onload=x\n", "~~~", "|a|b|\n|:-:|-:|\n|c|d|\n",
     "|", "\n", "\n\n", "    ", "> ", "- ", "1. ", "9999999999. ",
     "# ", "====\n", "**", "_", "~~", "\\", "\t", "\0", "\r", "\x1b", "\u202e", "\u2028", "😀", "👨\u200d👩\u200d👧",
     "e\u0301", "\ud800", "é", "a", "word ", "https://e.x", "◆ Crab:"]
)  # fmt: skip
_TEXTS = st.lists(_BITS, max_size=25).map("".join) | st.text(max_size=100)
_WHOLE = _TEXTS.map(lambda text: text.encode("utf-8", "replace").decode())


@bounded(250)
@given(_TEXTS)
def test_only_allowed_tags_come_out(text: str) -> None:
    """Of no Markdown comes any tag, attribute or kind of link that is not on the list, and no link whose host is not
    shown beside it."""
    html = str(as_html(text))
    read = Reader(html)
    for link in read.links:
        href = str(link["href"])
        assert href.lower().startswith(("http://", "https://"))
        assert set(link) == {"href", "target", "rel"}
        assert (urlsplit(href).hostname or "-") in read.text


@bounded(300)
@given(_WHOLE, st.integers(3, MESSAGE_UNITS))
def test_entities_stay_within_their_text(text: str, limit: int) -> None:
    """Every entity of every piece, caption and message lies within its text, counted in UTF-16 units, and cuts no
    character in two."""
    rich = render_markdown(text)
    pieces = [rich, *split_text(rich, limit), caption_text(rich, limit)]
    if fits_in(rich):
        sent = agent_messages("crab", rich)
        assert len(sent) <= MAX_PIECES
        assert all(utf16_len(piece.text) <= MESSAGE_UNITS for piece in sent)
        pieces += sent
    for piece in pieces:
        check(piece)
        piece.text.encode()
    assert all(utf16_len(piece.text) <= limit for piece in pieces[1 : len(split_text(rich, limit)) + 2])
    assert utf16_len(quote_text(text, 100)) <= 100


@bounded(300)
@given(_TEXTS, st.integers(1, 50))
def test_nothing_hidden_is_shown_to_people(text: str, limit: int) -> None:
    """What is written out for a person holds no character that controls, reorders or ends a line unseen, and is text
    that UTF-8 can hold."""
    for shown in (one_line(text, limit), in_quotes(text, limit)):
        assert shown.isprintable()
        assert len(shown) <= 10 * limit + 3
    for shown in (escape_invisible(text), chat_safe(text), terminal_safe(text)):
        shown.encode()
        assert not set(shown) & set("\x1b\r\0\u2028")
    assert "\u202e" not in escape_invisible(text) + chat_safe(text)


# --- the preview origin ----------------------------------------------------------------------------------------

BASE = "http://127.0.0.1:3001/a/TICKET/"
_URLS = st.lists(
    st.sampled_from(["/", "//", "\\", "\\\\", "http:", "https:", "javascript:", "evil.x", "localhost", "127.0.0.1",
    ":3001", "@", "?", "#", "..", ".", "a", "TICKET",
                     "%2f", "%5c", "\t", " ", "\x01", "[::1]", "[", "]", ":", "data:", "é", "\x85", "\xa0",
                     "0.0.0.0", ":99999999", "a/TICKET/", "&", ";"]),
    max_size=7,
).map("".join) | st.text(max_size=30)  # fmt: skip


def _led_to(place: str) -> str:
    """The host that a browser goes to from an app's page: it takes ``\\`` for ``/`` and leaves out blanks."""
    plain = "".join(char for char in place.strip("".join(map(chr, range(33)))) if char not in "\t\r\n").replace(
        "\\", "/"
    )
    scheme, colon, rest = plain.partition(":")
    if colon and re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return (
            rest.lstrip("/").partition("/")[0]
            if scheme.lower() in ("http", "https") and rest.startswith("/")
            else f"{scheme}:"
        )
    return plain[2:].lstrip("/").partition("/")[0] if plain.startswith("//") else ""


@bounded(300)
@given(_URLS)
def test_no_redirect_leads_elsewhere(place: str) -> None:
    """Whatever a live app gives as Location, the browser stays on the preview origin or gets none."""
    led = rewrite_location(place, base=BASE)
    if led is not None:
        assert _led_to(led) in ("", "127.0.0.1:3001"), led
    told = to_the_browser(
        [(b"location", place.encode("latin-1", "replace")), (b"set-cookie", b"a=b"), (b"x", b"y")], base=BASE
    )
    assert {name for name, _ in told} <= {"location"}


@bounded(300)
@given(
    st.lists(
        _BITS
        | st.sampled_from([" src='/a'", '<a href="/b">', "<!doctype html>", "\ufeff", "<base href=/>", "srcset='/x"]),
        max_size=12,
    ).map("".join)
)
def test_the_install_runs_first_in_each_page(text: str) -> None:
    """Nothing of an app's page stands before the install's own script but comments and a doctype, and nothing is
    lost.
    """
    page = text.encode("utf-8", "replace")
    made = with_shim(with_prefix(page, BASE), BASE)
    script = f'<script src="{BASE}.hermit/shim.js"></script>'.encode()
    before, _, after = made.partition(script)
    assert before + after == with_prefix(page, BASE)
    assert b"<script" not in before or b"<!--" in before
    assert len(with_prefix(page, BASE)) >= len(page)


@bounded(250)
@given(st.binary(max_size=60) | _URLS.map(lambda text: text.encode("utf-8", "replace")))
def test_no_path_of_an_app_climbs(path: bytes) -> None:
    """The components of a path from a URL go down and hide nothing, or there are none."""
    try:
        parts = parts_below(path)
    except NotFound:
        return
    assert not any(
        part in (b"", b".", b"..") or b"/" in part or b"\0" in part or part.startswith(b".") for part in parts
    )


_HOSTS = st.lists(
    st.sampled_from(["localhost", "127.0.0.1", "[::1]", "evil.x", ".", ":", ":3000", ":99999", "@", "/", "\\", " ",
    "\t", "#", "?", "%00", ",", "é", "LOCALHOST", "[", "]", "-", "0", "\0", "ｌocalhost"]),
    max_size=4,
).map("".join)  # fmt: skip
_ALLOWED = frozenset({"localhost", "127.0.0.1", "::1"})


@bounded(300)
@given(_HOSTS | st.text(max_size=20), _HOSTS)
def test_only_own_names_are_answered_to(host: str, origin: str) -> None:
    """A Host header passes only when the name in it, port and final dot aside, is one of ours letter for letter."""
    for passes in (name_of(host) in _ALLOWED, is_own_host(host, allowed=_ALLOWED, configured="https://apps.example")):
        if passes:
            bare = host.lower().rpartition(":")[0] if host.lower().rpartition(":")[2].isdecimal() else host.lower()
            assert (
                bare.strip("[]").rstrip(".") in {*_ALLOWED, ":", "apps.example"} or host.lower().strip("[]") in _ALLOWED
            ), host
    if is_own(f"http://{origin}", "localhost:3000", https=False):
        assert (
            origin.lower().rpartition("@")[2].partition("/")[0].partition("?")[0].partition("#")[0] == "localhost:3000"
        )
    assert not is_own(f"http://{origin}", host, https=True)


@bounded(300)
@given(st.binary(max_size=80), st.text(max_size=80))
def test_nonsense_is_neither_a_picture_nor_a_ticket(raw: bytes, text: str) -> None:
    """Any bytes have a size as a picture or none, the size of a PNG is what its header says, and no text is a ticket
    that we did not write."""
    size = size_of(raw)
    assert size is None
    begin, end = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR", b"\x00\x00\x00\x00IEND\xaeB`\x82"
    made = size_of(begin + raw + end)
    assert made is None or made == (int.from_bytes((raw + end)[:4]), int.from_bytes((raw + end)[4:8]))
    for wanted in (text, f"{text}.{'A' * 43}"):
        try:
            Tickets("key").decode_ticket(wanted, now=0.0)
        except NotFound:
            continue
        raise AssertionError(wanted)
