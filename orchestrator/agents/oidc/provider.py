"""The provider: what it says of itself, its keys, and what it says for a code. Everything is read within bounds, only
from https (or this machine), without redirects. At the host that the operator named any address will do; at another
host that the provider names, only one on the public internet.
"""

from __future__ import annotations

import base64
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from urllib.parse import quote, urlsplit

from orchestrator.agents.oidc.id_tokens import (
    ALGORITHMS,
    BadToken,
    ExpectedToken,
    OidcIdentity,
    UnknownKey,
    read_id_token,
    read_identity,
)
from orchestrator.core.errors import BadInput, Forbidden, OrchestratorError, Unavailable
from orchestrator.core.oidc_settings import OidcSettings, may_be_plain
from orchestrator.core.text import one_line
from orchestrator.web.json_client import JsonAnswer, ask_json
from orchestrator.web.limits import Internet
from orchestrator.web.urls import Link, UrlRules, parse_url

logger = logging.getLogger(__name__)

_GOOD_FOR_S = 3600.0
_FAILED_FOR_S = 10.0
"""How long a provider that could not be read is left alone."""
_KEYS_APART_S = 30.0
"""How soon its keys are read again for a token that none of them has signed."""
_AT_ONCE = 8
_ALL_PORTS = frozenset(range(1, 65536))
_SCOPE = "openid profile email"


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the provider says of itself."""

    authorization_endpoint: str
    token_endpoint: Link
    jwks: Link
    userinfo_endpoint: Link | None
    algorithms: tuple[str, ...]
    """By which it signs, of those that are accepted."""
    takes_basic: bool
    """The client's secret goes into a header; else into the form."""
    names_itself: bool
    """Its answers to the browser say that they are its own (RFC 9207)."""


class OidcProvider:
    """One provider. May be used from any thread."""

    def __init__(
        self,
        settings: OidcSettings,
        secret: str,
        internet: Internet,
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``now`` is what tokens are held against, ``clock`` what decides how long an answer is kept."""
        self._settings, self._secret, self._internet = settings, secret, internet
        self._now, self._clock = now, clock
        self._lock = threading.Lock()  # protects what follows, also while it is read anew: others wait for the answer
        self._metadata: Metadata | Unavailable | None = None
        self._read_at = 0.0
        self._keys: list[dict[str, Any]] = []
        self._keys_at: float | None = None
        self._places = threading.BoundedSemaphore(_AT_ONCE)

    def get_metadata(self) -> Metadata:
        """What it says of itself, at most an hour old. Raises Unavailable."""
        with self._one_of_few(), self._lock:
            return self._current_metadata()

    def authorization_url(self, *, state: str, nonce: str, verifier: str, redirect_uri: str) -> str:
        """Where the browser asks it who is there. Raises Unavailable."""
        from authlib.oauth2.rfc6749.parameters import prepare_grant_uri  # noqa: PLC0415 - loaded where it is used
        from authlib.oauth2.rfc7636 import create_s256_code_challenge  # noqa: PLC0415

        url: str = prepare_grant_uri(
            self.get_metadata().authorization_endpoint,
            self._settings.client_id,
            "code",
            redirect_uri=redirect_uri,
            scope=_SCOPE,
            state=state,
            nonce=nonce,
            code_challenge=create_s256_code_challenge(verifier),
            code_challenge_method="S256",
        )
        return url

    def redeem(self, code: str, *, nonce: str, verifier: str, redirect_uri: str) -> OidcIdentity:
        """Who the code stands for. Raises BadInput when it or the answer doesn't hold, and Unavailable."""
        with self._one_of_few():
            with self._lock:
                metadata = self._current_metadata()
            tokens = self._exchange(metadata, code, verifier, redirect_uri)
            token, access = tokens.get("id_token"), tokens.get("access_token")
            access = access if isinstance(access, str) else ""
            if not isinstance(token, str):
                raise self._refused("there is no ID token in its answer")
            expected = ExpectedToken(
                self._settings.issuer, self._settings.client_id, nonce, access, metadata.algorithms
            )
            claims = self._read_token(metadata, token, expected)
            return read_identity(self._completed(metadata, claims, access))

    def examine(self) -> None:
        """It can be read, with its keys. Raises Unavailable that says what is wrong."""
        with self._one_of_few(), self._lock:
            metadata = self._current_metadata()
            if not self._current_keys(metadata, apart_s=_KEYS_APART_S):
                raise self._failed("It shows no key that its tokens could be signed by.")

    # --- what it says of itself ------------------------------------------------------------------------------------

    def _current_metadata(self) -> Metadata:
        age = self._clock() - self._read_at
        if isinstance(self._metadata, Metadata) and age < _GOOD_FOR_S:
            return self._metadata
        if isinstance(self._metadata, Unavailable) and age < _FAILED_FOR_S:
            raise Unavailable(self._metadata.message)
        try:
            self._metadata = self._read_metadata()
        except Unavailable as error:
            self._metadata = error
            raise
        finally:
            self._read_at = self._clock()
        return self._metadata

    def _read_metadata(self) -> Metadata:
        issuer = self._settings.issuer
        answer = self._ask(self._link(issuer.rstrip("/") + "/.well-known/openid-configuration"))
        if not answer.is_ok:
            raise self._failed(f"It answers with status {answer.status} where it should describe itself.")
        said = answer.body
        if said.get("issuer") != issuer:
            named = one_line(str(said.get("issuer")), 200)
            raise self._failed(f"It calls itself {named}. HERMIT_OIDC_ISSUER must be exactly that.")
        supported = _texts(said, "id_token_signing_alg_values_supported") or ("RS256",)
        methods = _texts(said, "token_endpoint_auth_methods_supported") or ("client_secret_basic",)
        challenges = _texts(said, "code_challenge_methods_supported")
        algorithms = tuple(name for name in supported if name in ALGORITHMS)
        if not algorithms or (challenges and "S256" not in challenges):
            raise self._failed("It signs, or checks codes, in no way that is safe enough.")
        userinfo = said.get("userinfo_endpoint")
        return Metadata(
            authorization_endpoint=self._link(said.get("authorization_endpoint")).url,
            token_endpoint=self._link(said.get("token_endpoint")),
            jwks=self._link(said.get("jwks_uri")),
            userinfo_endpoint=self._link(userinfo) if userinfo is not None else None,
            algorithms=algorithms,
            takes_basic="client_secret_basic" in methods,
            names_itself=said.get("authorization_response_iss_parameter_supported") is True,
        )

    def _current_keys(self, metadata: Metadata, *, apart_s: float) -> list[dict[str, Any]]:
        """Its keys, read again when they are older than this."""
        if self._keys_at is None or self._clock() - self._keys_at >= apart_s:
            answer = self._ask(metadata.jwks)
            keys = answer.body.get("keys")
            if not answer.is_ok or not isinstance(keys, list):
                raise self._failed("Its keys could not be read.")
            self._keys = [key for key in keys if isinstance(key, dict) and key.get("kty") in ALGORITHMS.values()]
            self._keys_at = self._clock()
        return self._keys

    # --- a code ----------------------------------------------------------------------------------------------------

    def _exchange(self, metadata: Metadata, code: str, verifier: str, redirect_uri: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        headers, client = {}, self._settings.client_id
        if self._secret and metadata.takes_basic:
            pair = f"{quote(client, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        else:
            form |= {"client_id": client} | ({"client_secret": self._secret} if self._secret else {})
        answer = self._ask(metadata.token_endpoint, form=form, headers=headers)
        if answer.is_ok:
            return answer.body
        reason = one_line(str(answer.body.get("error", f"status {answer.status}")), 60)
        logger.warning("oidc: the provider refused a code: %s", reason)
        if reason in ("invalid_client", "unauthorized_client"):
            raise Unavailable(
                f"{self._settings.name} doesn't know this application: check HERMIT_OIDC_CLIENT_ID and "
                "HERMIT_OIDC_CLIENT_SECRET. Log in another way until then."
            )
        raise self._refused(reason)

    def _read_token(self, metadata: Metadata, token: str, expected: ExpectedToken) -> dict[str, Any]:
        for apart_s in (_GOOD_FOR_S, _KEYS_APART_S):
            with self._lock:
                keys = self._current_keys(metadata, apart_s=apart_s)
            try:
                return read_id_token(token, keys, expected, now=self._now())
            except UnknownKey:
                continue  # it may have rolled its keys
            except BadToken as error:
                logger.warning("oidc: an ID token was refused: %s", error)
                raise self._refused(str(error)) from None
        raise self._refused("its token is signed by a key that it doesn't show")

    def _completed(self, metadata: Metadata, claims: dict[str, Any], access: str) -> dict[str, Any]:
        """The claims, with what the provider tells elsewhere: names, and groups where they count."""
        has_name = any(claims.get(name) for name in ("preferred_username", "name", "email"))
        is_whole = has_name and (not self._settings.group or "groups" in claims)
        if is_whole or metadata.userinfo_endpoint is None or not access.isascii() or not access.isprintable():
            return claims
        answer = self._ask(metadata.userinfo_endpoint, headers={"Authorization": f"Bearer {access}"})
        if not answer.is_ok or answer.body.get("sub") != claims["sub"]:
            raise self._refused("it says of somebody else who this is")
        told = ("preferred_username", "name", "nickname", "given_name", "email", "groups")
        return {**{name: answer.body[name] for name in told if name in answer.body}, **claims}

    # --- the way to it ---------------------------------------------------------------------------------------------

    def _ask(self, link: Link, *, form: Mapping[str, str] | None = None, headers: Any = None) -> JsonAnswer:
        try:
            return ask_json(link, rules=self._rules(link.host), internet=self._internet, form=form, headers=headers)
        except (BadInput, Forbidden, Unavailable) as error:
            logger.warning("oidc: %s", error.message)
            raise self._failed(error.message.removesuffix(" Try again later.")) from None

    def _link(self, text: Any) -> Link:
        if not isinstance(text, str):
            raise self._failed("It doesn't say where it is asked.")
        try:
            return parse_url(text, self._rules((urlsplit(text).hostname or "").lower()))
        except (OrchestratorError, ValueError) as error:
            reason = error.message if isinstance(error, OrchestratorError) else "It names an address that is none."
            raise self._failed(reason) from None

    def _rules(self, host: str) -> UrlRules:
        issuer = self._settings.issuer
        if host != (urlsplit(issuer).hostname or "").lower():
            return UrlRules(ports=_ALL_PORTS)
        is_plain = issuer.startswith("http:") and may_be_plain(issuer)
        return UrlRules(
            plain_http=is_plain, ports=_ALL_PORTS, is_allowed=_is_loopback if is_plain else _is_any, local_names=True
        )

    def _failed(self, reason: str) -> Unavailable:
        return Unavailable(f"{self._settings.name} can't be used now. {reason} Log in another way, or try again later.")

    def _refused(self, reason: str) -> BadInput:
        return BadInput(f"{self._settings.name}'s answer was refused: {reason}. Try again.")

    @contextmanager
    def _one_of_few(self) -> Iterator[None]:
        """Only so many wait for it at a time."""
        if not self._places.acquire(blocking=False):
            raise Unavailable("Too many people log in just now. Try again in a moment.")
        try:
            yield
        finally:
            self._places.release()


def _texts(said: Mapping[str, Any], name: str) -> tuple[str, ...]:
    found = said.get(name)
    return tuple(text for text in found if isinstance(text, str)) if isinstance(found, list) else ()


def _is_any(_address: IPv4Address | IPv6Address) -> bool:
    return True


def _is_loopback(address: IPv4Address | IPv6Address) -> bool:
    return address.is_loopback
