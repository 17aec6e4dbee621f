"""Logins at MCP servers: what is refused. That they work with a server which nobody here wrote is in
``tests/integration/test_mcp_conformance.py``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from orchestrator.core.errors import BadInput
from orchestrator.mcp.faults import McpBroken, McpUnauthorized
from orchestrator.mcp.oauth import McpLogins
from orchestrator.mcp.oauth_discovery import read_challenge
from orchestrator.mcp.oauth_models import McpClientId, McpGrant, McpLoginStart
from orchestrator.web.limits import Internet
from tests.support.mcp_site import SiteRequest, mcp_site

REDIRECT = "http://127.0.0.1:3000/mcp/login"


class LoginSite:
    """An MCP server and its authorization server on one host; what they tell can be changed."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes
        self.forms: list[dict[str, list[str]]] = []
        self.token: tuple[int, dict[str, Any]] = (200, {"access_token": "a1", "refresh_token": "r1", "expires_in": 60})

    def __call__(self, request: SiteRequest) -> None:
        origin = f"http://{request.headers['host']}"
        if request.path.startswith("/.well-known/oauth-protected-resource"):
            wire = {"resource": f"{origin}/mcp", "authorization_servers": [origin], "scopes_supported": ["files"]}
            request.give({**wire, **self.changes.get("resource", {})})
        elif request.path.startswith("/.well-known/oauth-authorization-server"):
            wire = {
                "issuer": origin,
                "authorization_endpoint": f"{origin}/authorize",
                "token_endpoint": f"{origin}/token",
                "registration_endpoint": f"{origin}/register",
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
            request.give({**wire, **self.changes.get("issuer", {})})
        elif request.path == "/register":
            request.give({"client_id": "c1"}, 201)
        elif request.path == "/token":
            self.forms.append(parse_qs(request.body.decode()))
            request.give(self.token[1], self.token[0])
        else:
            request.begin(404, "text/plain")


def logins_at(url: str, **more: Any) -> McpLogins:
    more = {"clock": lambda: 1000.0, **more}
    return McpLogins(url, internet=Internet(), redirect_uri=REDIRECT, is_private_allowed=True, **more)


def test_a_login_is_begun_finished_and_kept_alive() -> None:
    """Code, PKCE and resource go where they belong, and a refresh keeps what is not sent again."""
    server = LoginSite()
    with mcp_site(server) as site:
        logins = logins_at(site.url)
        start = logins.begin()
        query = parse_qs(urlsplit(start.url).query)
        assert (query["scope"], query["resource"], query["state"]) == (["files"], [site.url], [start.state])
        assert start.verifier not in start.url
        grant = logins.finish(start, {"state": start.state, "code": "x"})
        assert (grant.access_token, grant.expires_at) == ("a1", 1060.0)
        assert not grant.is_due(1029.0)
        assert grant.is_due(1031.0)
        server.token = (200, {"access_token": "a2"})
        again = logins.refresh(grant)
        assert (again.access_token, again.refresh_token, again.is_due(9e9)) == ("a2", "r1", False)
    first, second = server.forms
    assert (first["code_verifier"], first["resource"], first["client_id"]) == ([start.verifier], [site.url], ["c1"])
    assert (second["grant_type"], second["refresh_token"]) == (["refresh_token"], ["r1"])


def test_secrets_are_not_written_out() -> None:
    """Not in what a log would show of them."""
    with mcp_site(LoginSite()) as site:
        start = logins_at(site.url).begin()
        grant = logins_at(site.url).finish(start, {"state": start.state, "code": "x"})
    for secret in (start.verifier, "a1", "r1"):
        assert secret not in repr(grant) + repr(replace(start, url=""))


def begun(site_url: str) -> tuple[McpLogins, McpLoginStart]:
    logins = logins_at(site_url)
    return logins, logins.begin()


@pytest.mark.parametrize("answer", [{}, {"state": "other", "code": "x"}, {"state": "", "code": "x"}])
def test_an_answer_to_no_login_is_refused(answer: dict[str, str]) -> None:
    """Nothing is asked of the authorization server then."""
    server = LoginSite()
    with mcp_site(server) as site:
        logins, start = begun(site.url)
        with pytest.raises(BadInput, match=r"^state: "):
            logins.finish(start, answer)
    assert not server.forms


@pytest.mark.parametrize("more", [{"error": "access_denied", "code": "x"}, {}, {"code": ""}])
def test_a_no_is_told(more: dict[str, str]) -> None:
    """Nothing is asked of the authorization server then."""
    server = LoginSite()
    with mcp_site(server) as site:
        logins, start = begun(site.url)
        with pytest.raises(BadInput, match=r"^code: "):
            logins.finish(start, {"state": start.state, **more})
    assert not server.forms


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"resource": {"resource": "https://other.example/mcp"}}, "for another server"),
        ({"resource": {"resource": 5}}, "for another server"),
        ({"resource": {"authorization_servers": []}}, "where its login is made"),
        ({"resource": {"authorization_servers": ["http://10.0.0.1"]}}, "can't be used"),
        ({"resource": {"authorization_servers": ["https://169.254.169.254/latest"]}}, "can't be used"),
        ({"issuer": {"issuer": "https://evil.example"}}, "by another name"),
        ({"issuer": {"code_challenge_methods_supported": ["plain"]}}, "PKCE"),
        ({"issuer": {"authorization_endpoint": "javascript:alert(1)"}}, "can't be used"),
        ({"issuer": {"token_endpoint": "http://10.0.0.1/token"}}, "can't be used"),
        ({"issuer": {"token_endpoint": None}}, "where a login is made"),
        ({"issuer": {"registration_endpoint": None}}, "Register it there"),
    ],
)
def test_a_login_that_leads_astray_is_not_begun(changes: dict[str, Any], sentence: str) -> None:
    """To another resource, issuer, network or scheme, or without PKCE."""
    with mcp_site(LoginSite(**changes)) as site, pytest.raises(McpBroken, match=sentence):
        logins_at(site.url).begin()


def test_what_we_are_to_one_server_goes_to_no_other() -> None:
    """Credentials belong to their issuer."""
    elsewhere = McpClientId("https://other.example", "known", "s", "client_secret_post")
    with mcp_site(LoginSite()) as site:
        assert logins_at(site.url, registered=elsewhere).begin().client.client_id == "c1"
        here = replace(elsewhere, issuer=site.url.removesuffix("/mcp"))
        assert logins_at(site.url, registered=here).begin().client.client_id == "known"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": "invalid_grant"}, McpUnauthorized),
        (500, {}, McpBroken),
        (200, {}, McpBroken),
        (200, {"access_token": "a\r\nb"}, McpBroken),
        (200, {"access_token": "a", "token_type": "DPoP"}, McpBroken),
    ],
)
def test_a_token_that_is_none_is_refused(status: int, body: dict[str, Any], kind: type[Exception]) -> None:
    """A login that ended needs a person; everything else is the server's fault."""
    server = LoginSite()
    server.token = (status, body)
    with mcp_site(server) as site:
        logins, start = begun(site.url)
        with pytest.raises(kind):
            logins.finish(start, {"state": start.state, "code": "x"})


def test_a_login_without_a_way_on_needs_a_person() -> None:
    """Without a refresh token there is nothing to ask with."""
    with mcp_site(LoginSite()) as site:
        logins, start = begun(site.url)
        grant = McpGrant("a", "", 0.0, "", "", start.issuer, start.client)
        with pytest.raises(McpUnauthorized, match="Connect it again"):
            logins.refresh(grant)


@pytest.mark.parametrize(
    ("challenge", "found"),
    [
        ('Bearer scope="a b", resource_metadata="https://x/y"', {"scope": "a b", "resource_metadata": "https://x/y"}),
        ("bearer error=insufficient_scope", {"error": "insufficient_scope"}),
        ('Basic realm="x"', {}),
        ("", {}),
    ],
)
def test_challenges_are_read(challenge: str, found: dict[str, str]) -> None:
    """Those of bearer tokens alone."""
    assert read_challenge(challenge) == found
