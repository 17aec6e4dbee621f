"""The HTTP API, a blueprint a noun. ``BLUEPRINTS`` is the whole of it."""

from __future__ import annotations

from dashboard.api.agents import api as agents
from dashboard.api.approvals import api as approvals
from dashboard.api.audit import api as audit
from dashboard.api.cubicles import api as cubicles
from dashboard.api.events import api as events
from dashboard.api.health import api as health
from dashboard.api.messages import api as messages
from dashboard.api.openapi import api as openapi
from dashboard.api.tokens import api as tokens
from dashboard.api.users import api as users

BLUEPRINTS = (agents, approvals, audit, cubicles, events, health, messages, openapi, tokens, users)
