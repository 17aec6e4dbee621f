"""Heads of proxy requests: read strictly, and written anew. Pure.

Two forms are understood, ``CONNECT host:port`` and a method with an absolute http address. Whatever two programs could
read in two ways is refused: folded lines, bare line ends, NUL, two lengths, a length beside a transfer encoding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.gate.refusals import NotLetThrough, Reason

_AUTHORITY = r"(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,254})"
_CONNECT = re.compile(rf"{_AUTHORITY}:([0-9]{{1,5}})")
_ABSOLUTE = re.compile(rf"[hH][tT][tT][pP]://{_AUTHORITY}(?::([0-9]{{1,5}}))?(/[!-~]*|\?[!-~]*)?")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"host", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    }
)


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """What a client in a helper container wants."""

    method: str
    host: str
    """In lower case, without brackets and without a last dot; not yet known to be a usable name."""
    port: int
    target: str = ""
    """Path and query of a plain request; empty for a tunnel."""
    fields: tuple[bytes, ...] = ()
    """Header lines that are passed on."""
    body_bytes: int = 0
    """How long the body is that follows."""

    @property
    def is_tunnel(self) -> bool:
        """The client speaks with the host itself."""
        return not self.target


def parse_head(head: bytes) -> ProxyRequest:
    """The request of a whole head, its empty line included. Raises NotLetThrough."""
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if not head.endswith(b"\r\n\r\n") or not all(map(_is_clean, lines)):
        raise NotLetThrough(Reason.HEAD)
    fields = [_read_field(line) for line in lines[1:]]
    method, target = _read_line(lines[0])
    if method == "CONNECT":
        found = _CONNECT.fullmatch(target)
        if not found:
            raise NotLetThrough(Reason.NOT_PROXY)
        return ProxyRequest(method, _read_host(found[1]), _read_port(found[2]))
    if not (found := _ABSOLUTE.fullmatch(target)) or "#" in target or "\\" in target:
        raise NotLetThrough(Reason.NOT_PROXY)
    if method not in _METHODS:
        raise NotLetThrough(Reason.METHOD)
    path = found[3] or "/"
    return ProxyRequest(
        method,
        _read_host(found[1]),
        _read_port(found[2] or "80"),
        path if path.startswith("/") else f"/{path}",
        _passed_on(fields),
        _read_length(fields),
    )


def write_head(request: ProxyRequest, *, proxy_authorization: str | None = None) -> bytes:
    """The head that is sent for a plain request: to the host itself, or where ``proxy_authorization`` is given (it may
    be empty) to an upstream proxy."""
    host = f"[{request.host}]" if ":" in request.host else request.host
    authority = host if request.port == 80 else f"{host}:{request.port}"
    to_proxy = proxy_authorization is not None
    lines = [
        f"{request.method} {f'http://{authority}' if to_proxy else ''}{request.target} HTTP/1.1".encode("ascii"),
        f"Host: {authority}".encode("ascii"),
        *request.fields,
        b"Connection: close",
    ]
    if proxy_authorization:
        lines.append(f"Proxy-Authorization: {proxy_authorization}".encode("ascii"))
    return b"\r\n".join([*lines, b"", b""])


def _is_clean(line: bytes) -> bool:
    return not any(char in line for char in (b"\r", b"\n", b"\0"))


def _read_line(line: bytes) -> tuple[str, str]:
    parts = line.split(b" ")
    if len(parts) != 3 or parts[2] not in (b"HTTP/1.1", b"HTTP/1.0") or not line.isascii():
        raise NotLetThrough(Reason.HEAD)
    return parts[0].decode("ascii"), parts[1].decode("ascii")


def _read_field(line: bytes) -> tuple[bytes, bytes, bytes]:
    """Its name in lower case, its value, and the whole line."""
    found = _FIELD.fullmatch(line)
    if not found:
        raise NotLetThrough(Reason.HEAD)
    return found[1].lower(), found[2].strip(b" \t"), line


def _read_host(text: str) -> str:
    return text.strip("[]").lower().removesuffix(".")


def _read_port(text: str) -> int:
    return int(text)


def _passed_on(fields: list[tuple[bytes, bytes, bytes]]) -> tuple[bytes, ...]:
    """The lines that are meant for the host: none about this one connection, which ``Connection`` may name too."""
    named = {part.strip().lower() for name, value, _ in fields if name == b"connection" for part in value.split(b",")}
    dropped = _HOP_BY_HOP | (named - {b"content-length"})
    return tuple(line for name, _, line in fields if name not in dropped)


def _read_length(fields: list[tuple[bytes, bytes, bytes]]) -> int:
    """How many bytes of body follow. A transfer encoding is refused: browsers and package managers send none to a
    proxy, and where a body ends would be for two programs to agree on."""
    lengths = [value for name, value, _ in fields if name == b"content-length"]
    encodings = [value for name, value, _ in fields if name == b"transfer-encoding"]
    if encodings or len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise NotLetThrough(Reason.BODY)
    return int(lengths[0]) if lengths else 0
