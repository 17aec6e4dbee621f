"""What a button of a notification proves itself with: a word for exactly this device and this question, made from a
secret of the install. It does nothing without the device's own login, and works once.
"""

from __future__ import annotations

import hashlib
import hmac


class PushTickets:
    """Makes and checks them; keeps nothing."""

    def __init__(self, secret: str) -> None:
        self._key = hmac.new(secret.encode(), b"hermitshell push ticket", hashlib.sha256).digest()

    def make_ticket(self, device: str, ref: str) -> str:
        """For one note; the same each time it is sent."""
        return hmac.new(self._key, f"{device}\0{ref}".encode(), hashlib.sha256).hexdigest()[:40]

    def is_ticket(self, text: str, device: str, ref: str) -> bool:
        """It was made for this."""
        return hmac.compare_digest(text.encode(), self.make_ticket(device, ref).encode())
