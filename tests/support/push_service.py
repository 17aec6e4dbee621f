"""A push service on this machine, and browsers that subscribed at it: what is posted is kept as it came, and opened
as a browser would.
"""

from __future__ import annotations

import json
import os
import queue
import struct
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from orchestrator.channels.push.encryption import public_bytes

PATIENCE_S = 20.0


def padded(text: str) -> bytes:
    """What base64url without padding stands for."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def unpadded(value: bytes) -> str:
    """The same the other way round."""
    return urlsafe_b64encode(value).rstrip(b"=").decode()


@dataclass
class SubscribedBrowser:
    """A browser's half of a subscription."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = field(default_factory=lambda: os.urandom(16))

    @property
    def subscription(self) -> dict[str, Any]:
        """What it tells the dashboard."""
        keys = {"p256dh": unpadded(public_bytes(self.key)), "auth": unpadded(self.auth)}
        return {"endpoint": self.endpoint, "keys": keys}

    def open_message(self, body: bytes) -> dict[str, Any]:
        """What was said to it (RFC 8291)."""
        salt, length = body[:16], body[20]
        theirs, sealed = body[21 : 21 + length], body[21 + length :]
        shared = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs))
        info = b"WebPush: info\0" + public_bytes(self.key) + theirs
        secret = HKDF(hashes.SHA256(), 32, self.auth, info).derive(shared)
        key = HKDF(hashes.SHA256(), 16, salt, b"Content-Encoding: aes128gcm\0").derive(secret)
        nonce = HKDF(hashes.SHA256(), 12, salt, b"Content-Encoding: nonce\0").derive(secret)
        assert struct.unpack("!I", body[16:20])[0] >= len(sealed)
        plain = AESGCM(key).decrypt(nonce, sealed, None)
        assert plain.endswith(b"\x02")
        said: dict[str, Any] = json.loads(plain[:-1])
        return said


@dataclass
class Posted:
    """One message as it came."""

    path: str
    headers: dict[str, str]
    body: bytes


class PushService:
    """The service. ``statuses`` are the next answers; 201 when there are none left."""

    def __init__(self) -> None:
        self.posted: queue.Queue[Posted] = queue.Queue()
        self.statuses: list[int] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.posted.put(Posted(self.path, dict(self.headers), body))
                self.send_response(service.statuses.pop(0) if service.statuses else 201)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"

    def subscribe(self, name: str) -> SubscribedBrowser:
        """A browser with an address here."""
        return SubscribedBrowser(f"{self.origin}/wpush/{name}")

    def take(self) -> Posted:
        """The next message."""
        return self.posted.get(timeout=PATIENCE_S)

    @property
    def is_quiet(self) -> bool:
        """Nothing came beyond what was taken."""
        return self.posted.empty()

    def start(self) -> None:
        """It answers."""
        threading.Thread(target=self._server.serve_forever, args=(0.05,), name="push service", daemon=True).start()

    def close(self) -> None:
        """It answers no more."""
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def run_push_service() -> Iterator[PushService]:
    """A push service that answers."""
    service = PushService()
    service.start()
    try:
        yield service
    finally:
        service.close()


def check_vapid(header: str, *, audience: str, key: str) -> dict[str, Any]:
    """The claims of a header that this key signed for this service (RFC 8292)."""
    scheme, _, rest = header.partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert (scheme, parts["k"]) == ("vapid", key)
    said, _, signature = parts["t"].rpartition(".")
    raw = padded(signature)
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), padded(key))
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    point.verify(der, said.encode(), ec.ECDSA(hashes.SHA256()))
    claims: dict[str, Any] = json.loads(padded(said.partition(".")[2]))
    assert claims["aud"] == audience
    return claims
