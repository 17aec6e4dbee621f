"""Who we are to a push service (RFC 8292): a key pair of this install, and a short-lived signed word that goes along
with each message. Browsers tie a subscription to the public half.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from orchestrator.channels.push.encryption import public_bytes

GOOD_FOR_S = 12 * 3600
"""RFC 8292 allows a day; clocks differ."""
_KEY_BYTES = 32


class VapidKey:
    """The install's key pair."""

    def __init__(self, text: str) -> None:
        """From what ``make_key`` wrote. Raises ValueError when it is none."""
        number = urlsafe_b64decode(text + "=")
        if len(number) != _KEY_BYTES:
            raise ValueError("a key of another length")
        self._key = ec.derive_private_key(int.from_bytes(number, "big"), ec.SECP256R1())

    @property
    def public(self) -> str:
        """The public half, as browsers take it (``applicationServerKey``)."""
        return _unpadded(public_bytes(self._key))

    def build_header(self, audience: str, *, subject: str, now: float) -> str:
        """The header ``Authorization`` for the service at the origin ``audience``; ``subject`` says who to write to."""
        claims = {"aud": audience, "exp": int(now) + GOOD_FOR_S, "sub": subject}
        said = f"{_json({'typ': 'JWT', 'alg': 'ES256'})}.{_json(claims)}"
        r, s = decode_dss_signature(self._key.sign(said.encode(), ec.ECDSA(hashes.SHA256())))
        signature = _unpadded(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
        return f"vapid t={said}.{signature}, k={self.public}"


def make_key() -> str:
    """A new private key, as one line of text."""
    number = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _unpadded(number.to_bytes(32, "big"))


def _json(value: dict[str, object]) -> str:
    return _unpadded(json.dumps(value, separators=(",", ":")).encode())


def _unpadded(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()
