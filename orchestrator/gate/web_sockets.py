"""WebSockets without encryption: browsers ask for a tunnel for ``ws://``, and what they say in it is read as strictly
as a request, so that nothing else goes through it. Pure.

The head is written again with the host that was judged. Until the server has switched, the tunnel takes nothing more: a
server that does not switch would read a second request, for a host of the client's choice.
"""

from __future__ import annotations

import re

from orchestrator.gate.heads import ProxyRequest, parse_head
from orchestrator.gate.refusals import NotLetThrough, Reason

BEGINNING = b"GET "
END = b"\r\n\r\n"
_LINE = re.compile(rb"GET (/[!-~]*) HTTP/1\.1\r\n")
_SWITCHED = re.compile(rb"HTTP/1\.1 101[ \r]")


def may_be_upgrade(data: bytes) -> bool:
    """What has come so far could be the beginning of one."""
    return data.startswith(BEGINNING[: len(data)])


def rewrite_upgrade(head: bytes, tunnel: ProxyRequest) -> bytes:
    """The head that is sent for a client's whole ``head`` in this tunnel.

    Raises:
        NotLetThrough: it asks for anything but a WebSocket of the tunnel's host.
    """
    line = _LINE.match(head)
    if not line or any(mark in line[1] for mark in (b"#", b"\\")):
        raise NotLetThrough(Reason.NO_TLS)
    authority = f"[{tunnel.host}]" if ":" in tunnel.host else tunnel.host
    authority += "" if tunnel.port == 80 else f":{tunnel.port}"
    whole = b"GET http://%s%s HTTP/1.1\r\n" % (authority.encode("ascii"), line[1])
    read = parse_head(whole + head[line.end() :])
    values = _values_of(head)
    is_upgrade = (
        values.get(b"host") == [authority.encode("ascii")]
        and [value.lower() for value in values.get(b"upgrade", [])] == [b"websocket"]
        and any(b"upgrade" in value.lower() for value in values.get(b"connection", []))
        and b"content-length" not in values
    )
    if not is_upgrade:
        raise NotLetThrough(Reason.NO_TLS)
    asked = b"GET %s HTTP/1.1" % line[1]
    lines = [asked, b"Host: " + authority.encode("ascii"), *read.fields, b"Connection: Upgrade", b"Upgrade: websocket"]
    return b"\r\n".join([*lines, b"", b""])


def has_switched(head: bytes) -> bool:
    """The server's head says that what follows is the WebSocket."""
    return _SWITCHED.match(head) is not None


def _values_of(head: bytes) -> dict[bytes, list[bytes]]:
    """The values by their names in lower case, of a head that was read."""
    values: dict[bytes, list[bytes]] = {}
    for line in head.removesuffix(END).split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        values.setdefault(name.lower(), []).append(value.strip(b" \t"))
    return values
