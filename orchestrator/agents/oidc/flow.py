"""What a browser carries while somebody is at the provider: signed, short-lived, for itself alone. The two secrets of
the question (nonce and verifier) are not in it: they follow from its state and our key. Pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
from dataclasses import asdict, dataclass
from typing import Any

GOOD_FOR_S = 600
_MOST_PATH_CHARS = 1_000
_COOKIE = re.compile(r"([A-Za-z0-9_-]{1,3000})\.([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True)
class OidcFlow:
    """A login that began, or somebody who connects their account."""

    state: str
    expires_at: int
    next: str
    """The page to go on to."""
    user: int = 0
    """Who connects their account; 0 for a login."""
    login: str = ""
    """By which login of theirs (``Users.login_of``): when that has ended, so has this."""


class FlowKeys:
    """What signs them, and what the provider is asked with, under one key."""

    def __init__(self, key: str) -> None:
        self._key = hashlib.sha256(b"hermitshell oidc flow\0" + key.encode()).digest()

    def new_flow(self, now: float, *, path: str, user: int = 0, login: str = "") -> OidcFlow:
        """One that nobody has had."""
        path = path if len(path) <= _MOST_PATH_CHARS else "/"
        return OidcFlow(secrets.token_urlsafe(32), int(now) + GOOD_FOR_S, path, user, login)

    def write_cookie(self, flow: OidcFlow) -> str:
        """What the browser keeps."""
        body = _base64(json.dumps(asdict(flow), separators=(",", ":")).encode())
        return f"{body}.{self._derive('cookie', body)}"

    def read_cookie(self, cookie: str, now: float) -> OidcFlow | None:
        """What we wrote, as long as it is good; None for anything else."""
        found = _COOKIE.fullmatch(cookie)
        if found is None or not hmac.compare_digest(self._derive("cookie", found[1]), found[2]):
            return None
        try:
            fields: dict[str, Any] = json.loads(base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)))
            flow = OidcFlow(**fields)
        except (binascii.Error, ValueError, TypeError):  # another version wrote it
            return None
        return flow if now < flow.expires_at else None

    def nonce(self, flow: OidcFlow) -> str:
        """What the provider's token must repeat."""
        return self._derive("nonce", flow.state)

    def verifier(self, flow: OidcFlow) -> str:
        """What proves to the provider that whoever brings the code has asked for it (PKCE)."""
        return self._derive("verifier", flow.state)

    def _derive(self, purpose: str, text: str) -> str:
        return _base64(hmac.new(self._key, f"{purpose}\0{text}".encode(), hashlib.sha256).digest())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
