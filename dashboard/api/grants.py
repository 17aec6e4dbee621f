"""What an agent may do without asking: listed, given, taken back. Hosts have a short form of their own."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only, require_asker
from dashboard.services import get_services
from dashboard.shapes import grant_json
from dashboard.times import with_iso_times
from orchestrator.approvals.grant_rows import Grant, GrantKind, GrantScope
from orchestrator.core.errors import BadInput, NotFound

api = Blueprint("grants", __name__)


@api.get("/api/agents/<name>/grants")
def list_grants(name: str) -> Any:
    """All of them; a member sees what holds in their own conversation."""
    return {
        "grants": [grant_json(grant) for grant in get_services().grants.of_agent(name, viewer=require_asker().user)]
    }


@api.post("/api/agents/<name>/grants")
def add_grant(name: str) -> Any:
    """Allow something in advance."""
    body = bodies.json_body("kind", "subject", "scope")
    who, kind = require_asker(), bodies.text_field(body, "kind")
    if kind not in tuple(GrantKind):
        raise BadInput(f"kind: choose one of {', '.join(GrantKind)}.")
    scope = scope_in(body) or GrantScope.CONVERSATION
    subject = bodies.text_field(body, "subject")
    given = get_services().grants.add_grant(name, GrantKind(kind), subject, scope, by=who.user, surface=who.surface)
    return grant_json(given), 201


@api.delete("/api/agents/<name>/grants/<grant>")
def revoke_grant(name: str, grant: str) -> Any:
    """A person is asked again."""
    get_services().grants.revoke_grant(name, grant, by=require_asker().user)
    return "", 204


@api.get("/api/agents/<name>/hosts")
@operator_only
def list_hosts(name: str) -> Any:
    """The hosts that the agent may always fetch from without a question."""
    return {"hosts": [_host_shown(grant) for grant in _allowed_hosts(name)]}


@api.delete("/api/agents/<name>/hosts/<host>")
@operator_only
def revoke_host(name: str, host: str) -> Any:
    """A person is asked about this host again."""
    found = next((grant for grant in _allowed_hosts(name) if grant.subject == host.lower()), None)
    if found is None:
        raise NotFound(f"This host is not on {name}'s list. './hermit hosts {name} list' shows which are.")
    get_services().grants.revoke_grant(name, found.id, by=require_asker().user)
    return "", 204


def scope_in(body: dict[str, Any]) -> GrantScope | None:
    """How long, where the request says it; raises BadInput."""
    value = body.get("scope")
    if value is None:
        return None
    if value not in tuple(GrantScope):
        raise BadInput(f"scope: choose one of {', '.join(GrantScope)}.")
    return GrantScope(value)


def _allowed_hosts(name: str) -> list[Grant]:
    grants = get_services().grants.of_agent(name, viewer=require_asker().user)
    return [grant for grant in grants if grant.kind is GrantKind.HOST and grant.scope is GrantScope.ALWAYS]


def _host_shown(grant: Grant) -> dict[str, Any]:
    return with_iso_times({"agent": grant.agent, "host": grant.subject, "by": grant.by, "at": grant.since})
