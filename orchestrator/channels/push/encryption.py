"""Encrypting a message for one browser (RFC 8291 on top of RFC 8188): only the browser that subscribed can read it, not
the push service on the way.
"""

from __future__ import annotations

import os
import struct

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

RECORD_BYTES = 4096
MOST_TEXT_BYTES = 3_000
"""Push services take 4,096 bytes in all; what we say is shorter anyway."""
AUTH_BYTES = 16
_LAST_RECORD = b"\x02"


def check_keys(p256dh: bytes, auth: bytes) -> None:
    """Raises ValueError when they can't be a subscription's: no point of the curve, or a secret of another length."""
    ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), p256dh)
    if len(p256dh) != 65 or len(auth) != AUTH_BYTES:
        raise ValueError("a key of another length")


def encrypt_message(
    text: bytes,
    *,
    p256dh: bytes,
    auth: bytes,
    salt: bytes | None = None,
    own: ec.EllipticCurvePrivateKey | None = None,
) -> bytes:
    """The body to post, in content encoding ``aes128gcm``. ``salt`` and the key of this message alone are new unless a
    test says otherwise. Raises ValueError for a text that is too long."""
    if len(text) > MOST_TEXT_BYTES:
        raise ValueError(f"{len(text)} bytes are more than a notification holds")
    salt, own = salt or os.urandom(16), own or ec.generate_private_key(ec.SECP256R1())
    public = public_bytes(own)
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), p256dh))
    secret = _derive(shared, salt=auth, info=b"WebPush: info\0" + p256dh + public, length=32)
    key = _derive(secret, salt=salt, info=b"Content-Encoding: aes128gcm\0", length=16)
    nonce = _derive(secret, salt=salt, info=b"Content-Encoding: nonce\0", length=12)
    head = salt + struct.pack("!IB", RECORD_BYTES, len(public)) + public
    return head + AESGCM(key).encrypt(nonce, text + _LAST_RECORD, None)


def public_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The public half, as an uncompressed point."""
    return key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def _derive(secret: bytes, *, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)
