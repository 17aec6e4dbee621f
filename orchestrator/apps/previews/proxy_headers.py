"""What is told to a live app of a browser's request, and to the browser of the app's answer. Pure, but for the jar.

Both are lists of what passes, never of what is held back: a header that is not named here is not told. The app's
cookies stay on the host: an opaque origin could keep none, and none of ours shall reach the app.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from orchestrator.apps.previews.connection import PreviewRequest

Pairs = list[tuple[bytes, bytes]]

_ASKED = frozenset(
    {
        "accept",
        "accept-language",
        "cache-control",
        "content-disposition",
        "content-encoding",
        "content-language",
        "content-length",
        "content-type",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "last-event-id",
        "pragma",
        "range",
        "transfer-encoding",
        "user-agent",
        "x-csrf-token",
        "x-csrftoken",
        "x-requested-with",
    }
)
_HANDSHAKE = frozenset(
    {
        "sec-websocket-key",
        "sec-websocket-version",
        "sec-websocket-protocol",
        "sec-websocket-extensions",
    }
)
_ANSWERED = frozenset(
    {
        "accept-ranges",
        "allow",
        "cache-control",
        "content-disposition",
        "content-encoding",
        "content-language",
        "content-length",
        "content-range",
        "content-type",
        "etag",
        "expires",
        "last-modified",
        "retry-after",
        "vary",
    }
)
_SWITCHED = frozenset(
    {
        "upgrade",
        "connection",
        "sec-websocket-accept",
        "sec-websocket-protocol",
        "sec-websocket-extensions",
    }
)
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})  # noqa: S104 - compared, not bound
_ROOTED = re.compile(rb"""(\s(?:src|href|action|poster|data-src|srcset)\s*=\s*["'])/(?!/)""", re.IGNORECASE)
_MISREAD = re.compile(r"[\\\x00-\x1f\x7f]")  # a browser takes the one for a slash, and leaves some of the others out
_COOKIE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")

MOST_JARS, MOST_COOKIES, MOST_COOKIE_CHARS = 1_000, 50, 4_096


def is_handshake(request: PreviewRequest) -> bool:
    """The browser wants a WebSocket."""
    wants = {word.strip().lower() for word in request.header("connection").split(",")}
    return request.method == "GET" and "upgrade" in wants and request.header("upgrade").lower() == "websocket"


def to_the_app(request: PreviewRequest, *, port: int, base: str, cookies: str) -> Pairs:
    """The request's headers for a server at that port, which learns under which prefix it is seen."""
    seen, is_socket = urlsplit(base), is_handshake(request)
    passed = _ASKED | _HANDSHAKE if is_socket else _ASKED
    made: Pairs = [
        (b"Host", f"localhost:{port}".encode()),
        *((name, value) for name, value in request.headers if name.decode("ascii", "replace") in passed),
        # Frameworks compare this with Host; the browser's own would be "null", as the page has an opaque origin.
        (b"Origin", f"http://localhost:{port}".encode()),
        (b"Accept-Encoding", b"identity"),
        (b"X-Forwarded-Host", seen.netloc.encode()),
        (b"X-Forwarded-Proto", seen.scheme.encode()),
        (b"X-Forwarded-Prefix", seen.path.rstrip("/").encode()),
    ]
    if cookies:
        made.append((b"Cookie", cookies.encode("ascii", "ignore")))
    made.append((b"Connection", b"Upgrade" if is_socket else b"close"))
    if is_socket:
        made.append((b"Upgrade", b"websocket"))
    return made


def to_the_browser(headers: Iterable[tuple[bytes, bytes]], *, base: str) -> list[tuple[str, str]]:
    """What the browser is told of the app's answer, beside the install's own headers."""
    made = []
    for name, value in headers:
        plain = name.decode("ascii", "replace").lower()
        if plain in _ANSWERED:
            made.append((plain, value.decode("latin-1")))
        elif plain == "location" and (place := rewrite_location(value.decode("latin-1"), base=base)):
            made.append((plain, place))
    return made


def switch_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """What the browser is told when the app agrees to a WebSocket."""
    return [(n.decode("ascii"), v.decode("latin-1")) for n, v in headers if n.decode("ascii").lower() in _SWITCHED]


def rewrite_location(place: str, *, base: str) -> str | None:
    """Where a redirect leads, seen from the browser; None for one that leads elsewhere."""
    prefix = urlsplit(base).path
    if _MISREAD.search(place):
        return None
    try:
        parts = urlsplit(place)
        host = parts.hostname
    except ValueError:
        return None
    if host is not None and host not in _LOCAL and parts.netloc != urlsplit(base).netloc:
        return None
    if parts.scheme not in ("", "http", "https") or (parts.scheme and host is None):
        return None
    if host is None and not place.startswith("/"):
        return place
    path = parts.path or "/"
    within = path if path.startswith(prefix) else prefix + path.lstrip("/")
    return within + (f"?{parts.query}" if parts.query else "") + (f"#{parts.fragment}" if parts.fragment else "")


def with_prefix(page: bytes, base: str) -> bytes:
    """The page with root-relative links led below the prefix."""
    prefix = urlsplit(base).path.encode()
    behind = prefix.lstrip(b"/")

    def led(found: re.Match[bytes]) -> bytes:
        return found[0] if page.startswith(behind, found.end()) else found[1] + prefix

    return _ROOTED.sub(led, page)


class Jars:
    """The cookies of live apps, by ticket; the least used ones go."""

    def __init__(self) -> None:
        self._jars: OrderedDict[str, dict[str, str]] = OrderedDict()

    def cookie_header(self, base: str) -> str:
        """What the app is told."""
        return "; ".join(f"{name}={value}" for name, value in self._jars.get(base, {}).items())

    def store_cookies(self, base: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep what the app's answer sets, and forget what it takes back."""
        for name, value in headers:
            if name.lower() == b"set-cookie" and len(value) <= MOST_COOKIE_CHARS:
                self._store_cookie(base, value.decode("latin-1"))

    def _store_cookie(self, base: str, text: str) -> None:
        try:
            parsed: SimpleCookie = SimpleCookie(text)
        except CookieError:
            return
        jar = self._jars.setdefault(base, {})
        self._jars.move_to_end(base)
        for name, morsel in parsed.items():
            is_gone = morsel["max-age"] in ("0", "-1") or "1970" in morsel["expires"]
            if is_gone:
                jar.pop(name, None)
            elif _COOKIE.fullmatch(name) and morsel.coded_value.isascii() and len(jar) < MOST_COOKIES:
                jar[name] = morsel.coded_value
        while len(self._jars) > MOST_JARS:
            self._jars.popitem(last=False)
