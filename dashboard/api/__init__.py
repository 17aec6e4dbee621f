"""The HTTP API, a blueprint a noun. ``BLUEPRINTS`` is the whole of it."""

from __future__ import annotations

from dashboard.api import agents, approvals, audit, cubicles, events, health, messages, openapi, tokens, users

BLUEPRINTS = (
    agents.api,
    approvals.api,
    audit.api,
    cubicles.api,
    events.api,
    health.api,
    messages.api,
    openapi.api,
    tokens.api,
    users.api,
)
