"""What browsing stands on, and how a person is asked of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grants import Grants
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.browser.accesses import BrowserAccesses
from orchestrator.capabilities.browser.person_holds import PersonHolds
from orchestrator.capabilities.capability import Caller
from orchestrator.core.db.database import Store
from orchestrator.core.models import Approval, CubicleKey
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs.pool import Jobs
from orchestrator.live_browsers.browsers import LiveBrowsers

JOB = "browser"
"""The kind of the jobs that do something with a browser."""
ASKED, ALLOWED = "asked", "allowed"
"""How far such a job has come that a person is asked about."""


@dataclass(frozen=True, slots=True)
class BrowsingParts:
    """What browsing stands on."""

    store: Store
    agents: Agents
    approvals: Approvals
    grants: Grants
    jobs: Jobs
    workspaces: Workspaces
    browsers: LiveBrowsers[BrowserSession]
    accesses: BrowserAccesses
    holds: PersonHolds
    changed: Callable[[CubicleKey], None]
    """Somebody who watches a browser should look again."""
    private_hosts: frozenset[tuple[str, int]] = frozenset()
    """Of a private network, with the port: the operator named them."""
    remote_host: str = ""
    """Where browsers are, when they are not on this machine."""

    def ask_person(
        self,
        db: sqlite3.Connection,
        caller: Caller,
        kind: str,
        text: str,
        *,
        reason: str,
        detail: Mapping[str, Any],
    ) -> Approval:
        """As ``Approvals.ask_person``, with the time that this agent's questions have."""
        return self.approvals.ask_person(
            db,
            caller.key,
            caller.turn,
            kind=kind,
            text=text,
            reason=reason,
            detail=detail,
            timeout_s=self.agents.get(caller.key.agent).approval_timeout_s,
        )
