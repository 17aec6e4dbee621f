"""Links to one delivered file for whoever holds them: signed, and good for a while. Pure: it only makes and reads
tokens.
"""

from __future__ import annotations

import hashlib
import hmac
import re

GOOD_FOR_S = 7 * 24 * 3600
_TOKEN = re.compile(r"([1-9][0-9]{0,15})\.([0-9]{1,12})\.([0-9a-f]{64})", re.ASCII)


class DownloadLinks:
    """Tokens under one key."""

    def __init__(self, key: str) -> None:
        self._key = hashlib.sha256(b"hermitshell delivery link\0" + key.encode()).digest()

    def make_token(self, delivery: int, *, now: float) -> str:
        """What opens this delivery's file from now on, for seven days."""
        until = int(now) + GOOD_FOR_S
        return f"{delivery}.{until}.{self._sign_delivery(delivery, until)}"

    def delivery_of(self, token: str, *, now: float) -> int | None:
        """Which delivery a token opens now; None for any that we did not make, or that is too old."""
        found = _TOKEN.fullmatch(token)
        if found is None:
            return None
        delivery, until = int(found[1]), int(found[2])
        is_ours = hmac.compare_digest(self._sign_delivery(delivery, until), found[3])
        return delivery if is_ours and now <= until else None

    def _sign_delivery(self, delivery: int, until: int) -> str:
        return hmac.new(self._key, f"{delivery}.{until}".encode(), "sha256").hexdigest()
