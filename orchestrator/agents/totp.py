"""One-time codes by the clock (RFC 6238): six digits, SHA-1, 30 seconds, as every authenticator app makes them.
Pure.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import struct
from urllib.parse import quote, urlencode

STEP_S = 30
DIGITS = 6
_DRIFT = 1
"""Steps that a clock may be wrong by."""


def make_secret() -> str:
    """A new secret, 160 bits in Base32."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def code_at(secret: str, step: int) -> str:
    """The code of this step, the number of whole 30 seconds since 1970."""
    digest = hmac.digest(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1)
    at = digest[-1] & 0x0F
    number = struct.unpack(">I", digest[at : at + 4])[0] & 0x7FFF_FFFF
    return f"{number % 10**DIGITS:0{DIGITS}d}"


def find_step(secret: str, code: str, *, now: float, after: int) -> int | None:
    """The step that this is the code of, near ``now`` (Unix seconds) and later than ``after``; None when it is none."""
    present = int(now // STEP_S)
    found = None
    for step in range(present - _DRIFT, present + _DRIFT + 1):
        is_it = hmac.compare_digest(code_at(secret, step).encode(), code.encode())
        found = step if is_it and step > after else found
    return found


def make_uri(secret: str, *, account: str, issuer: str) -> str:
    """What an app reads from a QR code."""
    given = urlencode({"secret": secret, "issuer": issuer, "digits": DIGITS, "period": STEP_S}, quote_via=quote)
    return f"otpauth://totp/{quote(issuer, safe='')}:{quote(account, safe='')}?{given}"
