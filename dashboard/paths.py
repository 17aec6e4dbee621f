"""Paths of a workspace in URLs and JSON: raw bytes, percent-encoded, each component by itself, so that every name that
a file can have can be addressed, UTF-8 or not.
"""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

from flask import request
from werkzeug.routing import BaseConverter

_BEFORE_IN_API = len(("", "api", "agents", "NAME", "files"))
BEFORE_IN_PAGES = len(("", "agents", "NAME", "files"))


class AnyPath(BaseConverter):
    """The rest of a URL, whatever is in it. What it stands for is said by ``asked_for``."""

    regex = r"[\s\S]+?"
    part_isolating = False
    weight = 300


def asked_for(before: int = _BEFORE_IN_API) -> tuple[bytes, ...]:
    """The components of the workspace's path that the current request is about, which begins after so many others; a
    slash at the end is dropped.

    Read from the URL as it was sent: what the framework decodes has lost the bytes that are no UTF-8, and which slashes
    were encoded.
    """
    sent = request.environ["REQUEST_URI"].partition("?")[0]
    return decode_path("/".join(sent.split("/")[before:]))


def decode_path(path: str) -> tuple[bytes, ...]:
    """``in/a%20b.txt`` as components; empty for the workspace itself."""
    path = path.removesuffix("/")
    return tuple(unquote_to_bytes(part.encode("utf-8", "surrogatepass")) for part in path.split("/")) if path else ()


def encode_path(*parts: bytes) -> str:
    """Components as a path that can be appended to a URL."""
    return "/".join(quote(part, safe="") for part in parts)
