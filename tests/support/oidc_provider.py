"""A strict OpenID Connect provider on loopback, whose every answer a test may make wrong. It lets in at once whoever is
named as ``person``, takes each code once, and wants redirect URI, secret and verifier as they were agreed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

CLIENT, SECRET = "hermit", "s3cret:of/the client"
METADATA_PATH = "/.well-known/openid-configuration"
Key = RSAKey | ECKey


class FakeOidcProvider:
    """One provider, and the handles that tests turn."""

    def __init__(self) -> None:
        self.person: dict[str, Any] = {"sub": "ada-at-home", "preferred_username": "ada"}
        self.key: Key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig"})
        self.algorithm = "RS256"
        self.metadata: dict[str, Any] = {}
        """What it says of itself in another way."""
        self.claims: dict[str, Any] = {}
        """What it says in its tokens in another way; None leaves a claim out."""
        self.userinfo: dict[str, Any] | None = None
        """Whom it tells about at that endpoint; None has none."""
        self.raw: dict[str, tuple[int, dict[str, str], bytes]] = {}
        """By path, what is answered there whatever was asked."""
        self.forge: Callable[[dict[str, Any]], str] | None = None
        """Makes its ID token in another way of what it has to say."""
        self.shown_keys: list[dict[str, Any]] | None = None
        self.redirect_uris: set[str] | None = None
        self.asked: list[str] = []
        """The paths that it was asked for."""
        self._codes: dict[str, dict[str, str]] = {}
        handler = type("Handler", (_Handler,), {"provider": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def issuer(self) -> str:
        """How it calls itself."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def environment(self, **more: str) -> dict[str, str]:
        """The settings of an install that uses it."""
        return {
            "HERMIT_OIDC_ISSUER": self.issuer,
            "HERMIT_OIDC_CLIENT_ID": CLIENT,
            "HERMIT_OIDC_CLIENT_SECRET": SECRET,
            "HERMIT_OIDC_NAME": "Authentik",
            **more,
        }

    def close(self) -> None:
        """Nobody answers there any more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def visit(self, url: str) -> dict[str, str]:
        """What the browser would bring back from this URL."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.let_in(url)).query).items()}

    def let_in(self, url: str) -> str:
        """Where the browser is sent back to. Raises AssertionError for a question that is not as it has to be."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query, strict_parsing=True).items()}
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        assert len(asked["code_challenge"]) == 43
        assert "openid" in asked["scope"].split()
        assert min(len(asked["state"]), len(asked["nonce"])) >= 43
        assert self.redirect_uris is None or asked["redirect_uri"] in self.redirect_uris
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        return asked["redirect_uri"] + "?" + urlencode({"code": code, "state": asked["state"], "iss": self.issuer})

    def describe(self) -> dict[str, Any]:
        """Its discovery document."""
        described = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "none", "HS256"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        if self.userinfo is not None:
            described["userinfo_endpoint"] = f"{self.issuer}/userinfo"
        return described | self.metadata

    def keys(self) -> dict[str, Any]:
        """Those that it shows."""
        return {"keys": [self.key.as_dict(private=False)] if self.shown_keys is None else self.shown_keys}

    def redeem(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        """A code's tokens, once."""
        given = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if (unquote(given[0]), unquote(given[2])) != (CLIENT, SECRET):
            return 401, {"error": "invalid_client"}
        asked = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        fits = asked is not None and (form["grant_type"], form["redirect_uri"], challenge) == (
            "authorization_code",
            asked["redirect_uri"],
            asked["code_challenge"],
        )
        if asked is None or not fits:
            return 400, {"error": "invalid_grant"}
        token = (self.forge or self.sign)(self.claims_for(asked["nonce"]))
        return 200, {"access_token": "access", "token_type": "Bearer", "id_token": token}

    def claims_for(self, nonce: str) -> dict[str, Any]:
        """What its token says."""
        now = int(time.time())
        said = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": nonce, **self.person}
        return {name: value for name, value in (said | self.claims).items() if value is not None}

    def sign(self, claims: dict[str, Any], *, key: Key | OctKey | None = None, **header: Any) -> str:
        """A token, by its key unless by another."""
        key = key or self.key
        head = {"alg": self.algorithm, "kid": key.kid or "one", **header}
        return jwt.encode({k: v for k, v in head.items() if v is not None}, claims, key, algorithms=[head["alg"]])


class _Handler(BaseHTTPRequestHandler):
    provider: FakeOidcProvider

    def do_GET(self) -> None:
        """The documents, and the page that lets in."""
        path = urlsplit(self.path).path
        self.provider.asked.append(path)
        if path in self.provider.raw:
            self._send(*self.provider.raw[path])
        elif path == METADATA_PATH:
            self._send_json(200, self.provider.describe())
        elif path == "/keys":
            self._send_json(200, self.provider.keys())
        elif path == "/userinfo" and self.headers["Authorization"] == "Bearer access":
            self._send_json(200, self.provider.userinfo or {})
        elif path == "/authorize":
            self._send(303, {"Location": self.provider.let_in(self.path)}, b"")
        else:
            self._send_json(404, {"error": "not_found"})

    def do_POST(self) -> None:
        """The tokens."""
        path = urlsplit(self.path).path
        self.provider.asked.append(path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if path in self.provider.raw:
            self._send(*self.provider.raw[path])
            return
        form = {name: values[0] for name, values in parse_qs(body, strict_parsing=True).items()}
        self._send_json(*self.provider.redeem(form, self.headers.get("Authorization", "")))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the library
        """Nothing is written down."""

    def _send_json(self, status: int, body: dict[str, Any]) -> None:
        self._send(status, {"Content-Type": "application/json"}, json.dumps(body).encode())

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def fake_oidc_provider() -> Iterator[FakeOidcProvider]:
    """One that is closed in the end."""
    provider = FakeOidcProvider()
    try:
        yield provider
    finally:
        provider.close()
