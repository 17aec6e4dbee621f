"""Logins at MCP servers: OAuth's code with PKCE, begun here, made by a person in their browser, finished here. The
person's browser is sent to a stranger's page; what comes back is compared with what was sent."""

from __future__ import annotations

import hmac
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from secrets import token_urlsafe
from urllib.parse import quote, urlencode

from orchestrator.core.errors import BadInput
from orchestrator.mcp.faults import McpBroken, McpUnauthorized
from orchestrator.mcp.oauth_discovery import McpLoginPlace, find_login
from orchestrator.mcp.oauth_http import LoginAnswer, LoginHttp
from orchestrator.mcp.oauth_models import ClientProof, McpClientId, McpGrant, McpIssuer, McpLoginStart
from orchestrator.web.limits import Internet
from orchestrator.web.urls import UrlRules, parse_url

_MAX_TOKEN = 16_000
_OFFLINE = "offline_access"
_ALL_PORTS = frozenset(range(1, 65_536))
_TOKEN_AUTHS: tuple[ClientProof, ...] = ("client_secret_basic", "client_secret_post", "none")


class McpLogins:
    """Logins at one MCP server. Thread-safe: it keeps nothing."""

    def __init__(
        self,
        url: str,
        *,
        internet: Internet,
        redirect_uri: str,
        client_metadata_url: str = "",
        registered: McpClientId | None = None,
        is_private_allowed: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``redirect_uri`` is our page that the answer comes to. ``client_metadata_url``: where we publish who we are,
        if we do. ``registered``: what an operator was given by the authorization server; it goes to that one alone.
        Raises BadInput (the URL)."""
        own = UrlRules(plain_http=True, ports=_ALL_PORTS, is_allowed=lambda _address: True, local_names=True)
        self._server = parse_url(url, own if is_private_allowed else UrlRules(ports=_ALL_PORTS))
        self._http = LoginHttp(internet, self._server, is_private_allowed=is_private_allowed)
        self._redirect_uri, self._client_url = redirect_uri, client_metadata_url
        self._registered = registered
        self._clock = clock

    def begin(self, refusal: McpUnauthorized | None = None, granted: McpGrant | None = None) -> McpLoginStart:
        """Where the person is sent. ``refusal`` is what the server answered; ``granted`` a login that it no longer
        takes, or that allows too little. Raises McpBroken."""
        place = find_login(self._server, refusal, self._http)
        client = self._client_for(place.issuer, granted)
        scope = _scope_for(place, granted)
        verifier, state = token_urlsafe(48), token_urlsafe(32)
        challenge = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": self._redirect_uri,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            **({"scope": scope} if scope else {}),
            **({"resource": place.resource} if place.resource else {}),
        }
        base = place.issuer.authorization_url
        url = f"{base}{'&' if '?' in base else '?'}{urlencode(query)}"
        return McpLoginStart(url, state, verifier, place.issuer, client, scope, place.resource)

    def finish(self, start: McpLoginStart, answer: Mapping[str, str]) -> McpGrant:
        """The login, from the parameters that came back to our page. Raises BadInput (the answer is not to this login,
        or says no) and McpBroken."""
        if not hmac.compare_digest(answer.get("state", "").encode(), start.state.encode()):
            raise BadInput("state: this answer belongs to no login that was begun here. Begin again.")
        self._check_iss(start.issuer, answer.get("iss"))
        if "error" in answer or not answer.get("code"):
            raise BadInput("code: the login was not given. Begin again, and allow it there.")
        form = {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": start.client.redirect_uri or self._redirect_uri,
            "code_verifier": start.verifier,
        }
        given = McpGrant("", "", 0.0, start.scope, start.resource, start.issuer, start.client)
        return self._ask_token(given, form)

    def refresh(self, grant: McpGrant) -> McpGrant:
        """The login for another while. Raises McpUnauthorized (a person must log in again) and McpBroken."""
        if not grant.refresh_token:
            raise McpUnauthorized("The login at the server has ended. Connect it again on its page.")
        form = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token}
        return self._ask_token(grant, form)

    def _check_iss(self, issuer: McpIssuer, iss: str | None) -> None:
        """The answer is from whom it was asked of, character by character: no server passes on another's answer."""
        if (iss is None and issuer.has_iss) or (iss is not None and iss != issuer.issuer):
            raise McpBroken("The answer came from another authorization server, so it was not used. Begin again.")

    def _client_for(self, issuer: McpIssuer, granted: McpGrant | None) -> McpClientId:
        """Who we are to this authorization server: what we were to another stays there."""
        for known in (self._registered, granted.client if granted is not None else None):
            if known is not None and known.issuer == issuer.issuer and known.redirect_uri in ("", self._redirect_uri):
                return known
        if self._client_url and issuer.takes_client_urls:
            return McpClientId(issuer.issuer, self._client_url, redirect_uri=self._redirect_uri)
        if issuer.registration_url:
            return self._register(issuer)
        raise McpBroken(
            "The authorization server knows nothing of this program and takes no registrations. Register it there, "
            "and give the server's settings the client's id."
        )

    def _register(self, issuer: McpIssuer) -> McpClientId:
        wanted = _choose_auth(issuer.token_auths)
        answer = self._http.post_json(
            issuer.registration_url,
            {
                "client_name": "HermitShell",
                "redirect_uris": [self._redirect_uri],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": wanted,
                "application_type": "native" if self._redirect_uri.startswith("http:") else "web",
            },
        )
        client_id, secret = answer.body.get("client_id"), answer.body.get("client_secret", "")
        if not answer.is_ok or not _is_token(client_id) or not isinstance(secret, str) or len(secret) > _MAX_TOKEN:
            raise McpBroken("The authorization server did not register this program. Register it there by hand.")
        told = answer.body.get("token_endpoint_auth_method", wanted)
        method = next((known for known in _TOKEN_AUTHS if known == told), wanted)
        return McpClientId(issuer.issuer, str(client_id), secret, method if secret else "none", self._redirect_uri)

    def _ask_token(self, grant: McpGrant, form: dict[str, str]) -> McpGrant:
        """The grant with a new token in it."""
        client, headers = grant.client, {}
        if client.proof == "client_secret_basic":
            pair = f"{quote(client.client_id, safe='')}:{quote(client.secret, safe='')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            form = {**form, "client_id": client.client_id}
        if client.proof == "client_secret_post":
            form = {**form, "client_secret": client.secret}
        if grant.resource:
            form = {**form, "resource": grant.resource}
        return self._read_grant(self._http.post_form(grant.issuer.token_url, form, headers), grant)

    def _read_grant(self, answer: LoginAnswer, grant: McpGrant) -> McpGrant:
        found = answer.body
        if answer.status in (400, 401) and found.get("error") in ("invalid_grant", "invalid_client"):
            raise McpUnauthorized("The login at the server has ended. Connect it again on its page.")
        if not answer.is_ok or not _is_token(found.get("access_token")):
            raise McpBroken("The authorization server gave no usable login. Try again later.")
        if str(found.get("token_type", "bearer")).lower() != "bearer":
            raise McpBroken("The authorization server gave a login of a kind that is not known here.")
        seconds, again, told = found.get("expires_in"), found.get("refresh_token"), found.get("scope")
        is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
        return replace(
            grant,
            access_token=str(found["access_token"]),
            refresh_token=str(again) if _is_token(again) else grant.refresh_token,
            expires_at=self._clock() + float(str(seconds)) if is_number else 0.0,
            scope=told if isinstance(told, str) and len(told) <= _MAX_TOKEN else grant.scope,
        )


def _scope_for(place: McpLoginPlace, granted: McpGrant | None) -> str:
    """What is asked for: what is needed, with what was allowed before, and to stay logged in where that is offered."""
    before = granted.scope.split() if granted is not None and granted.issuer.issuer == place.issuer.issuer else []
    stays = [_OFFLINE] if _OFFLINE in place.issuer.scopes else []
    return " ".join(dict.fromkeys([*before, *place.scope.split(), *stays]))


def _choose_auth(offered: tuple[str, ...]) -> ClientProof:
    """The first that both know; without a word of the server's the one that OAuth means."""
    if not offered:
        return "client_secret_basic"
    return next((known for known in _TOKEN_AUTHS if known in offered), "none")


def _is_token(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_TOKEN and value.isascii() and value.isprintable()
