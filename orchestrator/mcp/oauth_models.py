"""What a login at an MCP server is made of. Kept between its steps; holds secrets, so it is never shown or logged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

ClientProof = Literal["none", "client_secret_basic", "client_secret_post"]


@dataclass(frozen=True, slots=True)
class McpIssuer:
    """An authorization server, as its metadata tell."""

    issuer: str
    """Empty for one of 2025-03-26 that tells nothing."""
    authorization_url: str
    token_url: str
    registration_url: str = ""
    scopes: tuple[str, ...] = ()
    token_auths: tuple[str, ...] = ()
    has_iss: bool = False
    """Its answers say who they are from."""
    takes_client_urls: bool = False
    """A client may be known by the URL of its metadata."""


@dataclass(frozen=True, slots=True)
class McpClientId:
    """Who we are to one authorization server, and to no other."""

    issuer: str
    client_id: str
    secret: str = field(default="", repr=False)
    proof: ClientProof = "none"
    redirect_uri: str = ""


@dataclass(frozen=True, slots=True)
class McpLoginStart:
    """A login that a person is sent to. Keep it until the answer comes; it is good for one."""

    url: str
    """Where the person goes: a stranger's page."""
    state: str = field(repr=False)
    verifier: str = field(repr=False)
    issuer: McpIssuer
    client: McpClientId
    scope: str
    resource: str


@dataclass(frozen=True, slots=True)
class McpGrant:
    """A login that was given."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: float
    """Seconds since 1970; 0 where the server did not say."""
    scope: str
    resource: str
    issuer: McpIssuer
    client: McpClientId

    def is_due(self, now: float) -> bool:
        """It ends within half a minute."""
        return bool(self.expires_at) and now > self.expires_at - 30.0
