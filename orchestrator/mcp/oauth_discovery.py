"""Where a login at an MCP server is made: from its refusal to the authorization server's metadata. Everything that is
found is compared with what was asked for, so that no server names a login of another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from orchestrator.mcp.faults import McpBroken, McpUnauthorized
from orchestrator.mcp.oauth_http import LoginHttp
from orchestrator.mcp.oauth_models import McpIssuer
from orchestrator.web.urls import Link

_PARAMETER = re.compile(r'([a-z_]{1,50})\s*=\s*(?:"([^"\\]{0,2000})"|([^\s",]{1,2000}))')
_MAX_SCOPE = 1_000
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e ]*")


@dataclass(frozen=True, slots=True)
class McpLoginPlace:
    """Where a login is made, and for what."""

    issuer: McpIssuer
    resource: str
    """What the token will be for; empty for servers of 2025-03-26, which don't say."""
    scope: str
    """What the server says that is needed; empty where it doesn't."""


def read_challenge(challenge: str) -> dict[str, str]:
    """The parameters of a ``WWW-Authenticate: Bearer …``; empty for another."""
    scheme, _, rest = challenge.strip().partition(" ")
    if scheme.lower() != "bearer":
        return {}
    return {found[1]: found[2] if found[2] is not None else found[3] for found in _PARAMETER.finditer(rest)}


def find_login(server: Link, refusal: McpUnauthorized | None, http: LoginHttp) -> McpLoginPlace:
    """Where the login for this server is made.

    Raises:
        McpBroken: it can't be found, or names another server's.
    """
    challenge = read_challenge(refusal.challenge) if refusal is not None else {}
    protected = _find_protected(server, challenge.get("resource_metadata", ""), http)
    scope = _clean_scope(challenge.get("scope", ""))
    if protected is None:
        return McpLoginPlace(_old_issuer(server, http), "", scope)
    resource = protected.get("resource")
    if not isinstance(resource, str) or not _is_of(server, resource):
        raise McpBroken("The server's login is for another server, so it was not begun.")
    issuers = protected.get("authorization_servers")
    issuer = issuers[0] if isinstance(issuers, list) and issuers else None
    if not isinstance(issuer, str):
        raise McpBroken("The server does not say where its login is made.")
    supported = protected.get("scopes_supported")
    named = " ".join(text for text in supported if isinstance(text, str)) if isinstance(supported, list) else ""
    return McpLoginPlace(_read_issuer(issuer, http), resource, scope or _clean_scope(named))


def _find_protected(server: Link, named: str, http: LoginHttp) -> dict[str, Any] | None:
    """The server's metadata on its logins; None for a server that has none."""
    origin = f"{server.scheme}://{server.authority}"
    path = server.path if server.path != "/" else ""
    places = [named] if named else [f"{origin}/.well-known/oauth-protected-resource{path}"]
    if not named and path:
        places.append(f"{origin}/.well-known/oauth-protected-resource")
    for place in places:
        answer = http.get(place)
        if answer.is_ok and answer.body:
            return answer.body
    if named:
        raise McpBroken("The server names a description of its login that is not there.")
    return None


def _read_issuer(issuer: str, http: LoginHttp) -> McpIssuer:
    for place in _metadata_places(issuer):
        answer = http.get(place)
        if answer.is_ok and answer.body:
            if answer.body.get("issuer") != issuer:
                raise McpBroken("The authorization server calls itself by another name, so no login was begun.")
            return _issuer_of(answer.body, http)
    raise McpBroken("The authorization server does not describe itself, so no login can be made.")


def _metadata_places(issuer: str) -> Iterator[str]:
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _old_issuer(server: Link, http: LoginHttp) -> McpIssuer:
    """As servers of 2025-03-26 have it: on their own host, at fixed addresses where they tell nothing."""
    origin = f"{server.scheme}://{server.authority}"
    answer = http.get(f"{origin}/.well-known/oauth-authorization-server")
    if answer.is_ok and answer.body:
        if answer.body.get("issuer") not in (origin, f"{origin}/"):
            raise McpBroken("The authorization server calls itself by another name, so no login was begun.")
        return _issuer_of(answer.body, http)
    return McpIssuer("", f"{origin}/authorize", f"{origin}/token", f"{origin}/register")


def _issuer_of(found: Mapping[str, Any], http: LoginHttp) -> McpIssuer:
    methods = found.get("code_challenge_methods_supported")
    if not isinstance(methods, list) or "S256" not in methods:
        raise McpBroken("The authorization server does not offer PKCE with S256, so no login can be made safely.")
    registration = found.get("registration_endpoint")
    urls = [found.get("authorization_endpoint"), found.get("token_endpoint")]
    if not all(isinstance(url, str) for url in urls):
        raise McpBroken("The authorization server does not say where a login is made.")
    for url in (*urls, *([registration] if isinstance(registration, str) else [])):
        http.check(str(url))
    return McpIssuer(
        str(found["issuer"]),
        str(urls[0]),
        str(urls[1]),
        registration if isinstance(registration, str) else "",
        _texts(found.get("scopes_supported")),
        _texts(found.get("token_endpoint_auth_methods_supported")),
        found.get("authorization_response_iss_parameter_supported") is True,
        found.get("client_id_metadata_document_supported") is True,
    )


def _is_of(server: Link, resource: str) -> bool:
    """The resource is the server, or the part of its host that it stands in."""
    parts = urlsplit(resource)
    if (parts.scheme.lower(), parts.netloc.lower()) != (server.scheme, server.authority.lower()) or parts.query:
        return False
    path = parts.path.rstrip("/")
    return server.path.rstrip("/") == path or server.path.startswith(f"{path}/")


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str))[:200] if isinstance(value, list) else ()


def _clean_scope(scope: str) -> str:
    return scope if len(scope) <= _MAX_SCOPE and _SCOPE.fullmatch(scope) else ""
