"""Signed URLs: whoever holds one sees one app of one cubicle, or one page among its files, within one dashboard, for a
while. Pure: it only writes and reads them. They are part of a URL, so that an app's relative links stay within it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from dataclasses import dataclass

from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey

GOOD_FOR_S = 12 * 3600
MAX_CHARS = 940
"""Of a ticket."""
_TICKET = re.compile(r"([A-Za-z0-9_-]{1,900})\.([A-Za-z0-9_-]{43})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Ticket:
    """What its holder may see."""

    cubicle: CubicleKey
    app: str
    """The app's folder within ``www/``."""
    dashboard: str
    """The origin of the dashboard that may hold the app in a frame, such as ``http://127.0.0.1:3000``."""
    expires_at: int
    """Unix seconds."""
    login: str = ""
    """The login that it was made for (``People.login_of``): when that ends, so does the ticket."""
    agent_since: float = 0.0
    """When the agent was made, in Unix seconds: a later one of the same name is another."""
    page: str = ""
    """Instead of an app, whose name is empty then: a file of the workspace, its path percent-encoded."""
    delivery: int = 0
    """Instead of either: a file that was delivered, as it was then."""


class Tickets:
    """Tickets under one key."""

    def __init__(self, key: str) -> None:
        self._key = hashlib.sha256(b"hermitshell preview ticket\0" + key.encode()).digest()

    def encode_ticket(self, ticket: Ticket) -> str:
        """The text for a URL."""
        key = ticket.cubicle
        fields = [
            key.agent,
            key.user,
            ticket.app,
            ticket.dashboard,
            ticket.expires_at,
            ticket.login,
            ticket.agent_since,
            ticket.page,
            ticket.delivery,
        ]
        body = _packed(json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode())
        return f"{body}.{self._sign_body(body)}"

    def decode_ticket(self, text: str, *, now: float) -> Ticket:
        """The ticket; raises NotFound for any that we did not write, or that is too old."""
        found = _TICKET.fullmatch(text) if len(text) <= MAX_CHARS else None
        if found is None or not hmac.compare_digest(self._sign_body(found[1]), found[2]):
            raise NotFound("This link is not valid. Open the app from the dashboard.")
        try:
            agent, user, app, dashboard, expires_at, login, since, page, delivery = json.loads(_unpacked(found[1]))
        except (ValueError, binascii.Error) as error:  # signed by another version of us
            raise NotFound("This link is from another version. Open the app from the dashboard.") from error
        if now > expires_at:
            raise NotFound("This link has expired. Open the app from the dashboard again.")
        key = CubicleKey(str(agent), int(user))
        return Ticket(
            key, str(app), str(dashboard), int(expires_at), str(login), float(since), str(page), int(delivery)
        )

    def _sign_body(self, body: str) -> str:
        return _packed(hmac.new(self._key, body.encode(), "sha256").digest())


def _packed(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _unpacked(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
