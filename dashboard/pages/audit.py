"""The audit log for the operator: searched, a page at a time, every row in words with its exact facts folded."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, render_template, request

from dashboard import ages, bodies
from dashboard.auth import operator_only, require_asker
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services
from orchestrator.core.db.audit_rows import AuditRow

pages = Blueprint("audit_page", __name__)

PAGE = 50
MAX_QUERY_CHARS = 200
MAX_LINE_CHARS = 300
GONE = "somebody who was removed"


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One thing that happened."""

    row: AuditRow
    person: str
    """Whose it is; empty where it is nobody's."""
    has_agent: bool
    """The agent is still there."""

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        return kind_words(self.row.kind)

    @property
    def line(self) -> str:
        """What happened, on one line: line breaks in it are only blanks here."""
        return " ".join(self.row.text.split())

    @property
    def is_whole(self) -> bool:
        """The line says all of it."""
        return self.line == self.row.text and len(self.line) <= MAX_LINE_CHARS

    @property
    def clock(self) -> str:
        """When, by the viewer's clock."""
        return ages.day_and_time(self.row.at, require_asker().user.time_zone, time.time())

    @property
    def exact(self) -> str:
        """The same, to the second."""
        return ages.format_exact(self.row.at, require_asker().user.time_zone)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What is kept with it, as names and texts."""
        zone = require_asker().user.time_zone
        return [(fact_words(name), _shown(name, value, zone)) for name, value in self.row.detail.items()]


def kind_words(kind: str) -> str:
    """``approval.asked`` as ``Approval asked``."""
    return _KINDS.get(kind) or fact_words(kind.replace(".", " "))


def fact_words(name: str) -> str:
    """``expires_at`` as ``Expires at``."""
    words = name.replace("_", " ").strip()
    return _FACTS.get(name) or words[:1].upper() + words[1:]


_KINDS = {
    "turn.asked": "Message",
    "turn.done": "Answer",
    "turn.failed": "Answer failed",
    "turn.stopped": "Answer stopped",
    "turn.withdrawn": "Message withdrawn",
    "turn.deleted": "Message deleted",
    "turn.reworded": "Answer reworded",
    "approval.asked": "Approval requested",
    "approval.approved": "Approved",
    "approval.denied": "Denied",
    "approval.void": "Approval no longer valid",
    "asset.allowed": "Download allowed",
    "asset.arrived": "File downloaded",
    "asset.cancelled": "Download cancelled",
    "asset.denied": "Download denied",
    "asset.expired": "Download expired",
    "asset.failed": "Download failed",
    "asset.sent_on": "Download redirected",
    "capability": "Request to HermitShell",
    "capability.refused": "Request refused",
    "command.allowed": "Command allowed",
    "command.ended": "Command finished",
    "command.revoked": "Command no longer allowed",
    "delivery.sent": "File delivered",
    "disk.host_full": "Disk of this machine full",
    "history.cleared": "Conversation cleared",
    "host.revoked": "Host no longer allowed",
    "logout": "Logged out",
    "memory.add": "Memory added",
    "memory.delete": "Memory deleted",
    "proof.begun": "Ways out tried",
    "proof.ended": "Ways out: what came of it",
    "provider.key": "Provider key changed",
    "telegram.code": "Telegram code sent",
    "telegram.code_refused": "Wrong Telegram code",
    "telegram.group": "Telegram group changed",
    "telegram.paired": "Telegram bot linked",
    "telegram.revoked": "Telegram token refused",
    "telegram.stranger": "New person on Telegram",
    "telegram.token": "Telegram bot changed",
}
"""Kinds that their own names would not tell a person."""
_FACTS = {
    "bytes": "Size in bytes",
    "completion_tokens": "Answer tokens",
    "content_type": "File type",
    "cost_usd": "Cost in US dollars",
    "latency_s": "Seconds taken",
    "sha256": "SHA-256",
    "size": "Size in bytes",
    "size_bytes": "Size in bytes",
    "to": "Sent to",
    "url": "Address",
    "verdict": "Decision",
    "why": "Reason",
}
"""Facts that their own names would not tell a person."""
_DECISIONS = {"run": "ran without asking", "ask": "asked for approval", "refuse": "refused"}


@pages.get("/audit")
@operator_only
def audit() -> str:
    """The whole page."""
    services, before = get_services(), bodies.whole_arg("before")
    query, agent, kind = (request.args.get(name, "").strip()[:MAX_QUERY_CHARS] for name in ("q", "agent", "kind"))
    found = services.audit.search_records(
        words=query, agent=agent or None, kind=kind or None, before=before, limit=PAGE + 1
    )
    wanted = {name: value for name, value in (("q", query), ("agent", agent), ("kind", kind)) if value}
    return render_template(
        "audit.html",
        **shell_frame(),
        records=_views(found[:PAGE]),
        wanted=wanted,
        known_agents=services.audit.list_agents(),
        kinds=[(known, kind_words(known)) for known in services.audit.list_kinds()],
        newest=_url(wanted) if before is not None else "",
        older=_url({**wanted, "before": found[PAGE - 1].id}) if len(found) > PAGE else "",
        exports=[(label, f"/api/audit?{urlencode({**wanted, 'format': how})}") for how, label in _FORMATS],
    )


_FORMATS = (("csv", "CSV, for a spreadsheet"), ("jsonl", "JSON lines, for a program"))


def _views(rows: list[AuditRow]) -> list[AuditRecord]:
    services = get_services()
    names = {user.id: user.name for user in services.users.list_users()}
    agents = {agent.name for agent in services.agents.list_agents()}
    return [
        AuditRecord(row, "" if row.user is None else names.get(row.user, GONE), has_agent=row.agent in agents)
        for row in rows
    ]


def _url(wanted: Mapping[str, object]) -> str:
    return f"/audit?{urlencode(wanted)}" if wanted else "/audit"


def _shown(name: str, value: Any, zone: str) -> str:
    """A fact as text. Only what is surely a time is told as one."""
    if name.endswith("_at") and type(value) in (int, float) and 1e9 < value < 1e10:
        return ages.format_exact(value, zone)
    if value is None or value in ("", [], {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "verdict":
        return _DECISIONS.get(str(value), str(value))
    if isinstance(value, list) and all(isinstance(one, (str, int, float)) for one in value):
        return ", ".join(str(one) for one in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
