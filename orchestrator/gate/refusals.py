"""Why something is not let through. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_WORD = re.compile(r"[a-z0-9-]{1,40}")


class Reason(StrEnum):
    """The gate's own reasons; a policy may have others."""

    BODY = "unreadable-body-length"
    CONNECTIONS = "too-many-connections"
    HEAD = "unreadable-head"
    HEAD_SLOW = "head-too-slow"
    HOSTS = "too-many-hosts"
    METHOD = "method-not-allowed"
    NO_TLS = "tunnel-without-tls"
    NOT_A_NAME = "not-a-public-name"
    NOT_FOUND = "name-not-found"
    NOT_PROXY = "not-a-proxy-request"
    PERMISSION_ENDED = "permission-ended"
    PORT = "port-not-allowed"
    PRIVATE = "private-address"
    SENT_TOO_MUCH = "sent-too-much"
    SERVER_NAME = "other-server-name"
    UNREACHABLE = "unreachable"
    UPSTREAM = "upstream-proxy-unusable"
    HOST_NOT_APPROVED = "host-not-approved"


_STATUS = {
    Reason.BODY: 400,
    Reason.CONNECTIONS: 503,
    Reason.HEAD: 400,
    Reason.HEAD_SLOW: 408,
    Reason.NOT_FOUND: 502,
    Reason.NOT_PROXY: 400,
    Reason.UNREACHABLE: 502,
    Reason.UPSTREAM: 502,
}
_WORDS = {
    400: "Bad Request",
    403: "Forbidden",
    408: "Request Timeout",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, as a word that goes into a header and into the audit log."""

    reason: str

    def __post_init__(self) -> None:
        """Raises ValueError for what is no such word: it would be written into an HTTP head."""
        if not _WORD.fullmatch(self.reason):
            raise ValueError(f"{self.reason[:60]!r} is no word for a reason: a-z, 0-9 and -, at most 40")

    @property
    def status(self) -> int:
        """The HTTP status that goes with it."""
        return _STATUS.get(self.reason, 403)  # type: ignore[call-overload,no-any-return]  # a word equals its member

    def as_response(self) -> bytes:
        """The whole HTTP answer."""
        body = f"HermitShell does not let this through: {self.reason}\n".encode()
        head = (
            f"HTTP/1.1 {self.status} {_WORDS[self.status]}\r\nContent-Type: text/plain\r\n"
            f"X-Hermit-Gate: {self.reason}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


class NotLetThrough(Exception):
    """A request or a connection is refused."""

    def __init__(self, reason: Refusal | Reason) -> None:
        self.refusal = reason if isinstance(reason, Refusal) else Refusal(str(reason))
        super().__init__(self.refusal.reason)
