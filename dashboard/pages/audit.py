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
from dashboard.languages import say, speech, to_say
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services
from orchestrator.core.db.audit_rows import AuditRow

pages = Blueprint("audit_page", __name__)

PAGE = 50
MAX_QUERY_CHARS = 200
MAX_LINE_CHARS = 300
GONE = to_say("somebody who was removed")


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
        return ages.day_and_time(self.row.at, require_asker().user.time_zone, time.time(), speech())

    @property
    def exact(self) -> str:
        """The same, to the second."""
        return ages.format_exact(self.row.at, require_asker().user.time_zone, speech())

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What is kept with it, as names and texts."""
        zone = require_asker().user.time_zone
        return [(fact_words(name), _shown(name, value, zone)) for name, value in self.row.detail.items()]


def kind_words(kind: str) -> str:
    """``approval.asked`` as ``Approval asked``."""
    return say(_KINDS[kind]) if kind in _KINDS else fact_words(kind.replace(".", " "))


def fact_words(name: str) -> str:
    """``expires_at`` as ``Expires at``."""
    words = name.replace("_", " ").strip()
    return say(_FACTS.get(name) or words[:1].upper() + words[1:])


_KINDS = {
    "turn.asked": to_say("Message"),
    "turn.done": to_say("Answer"),
    "turn.failed": to_say("Answer failed"),
    "turn.stopped": to_say("Answer stopped"),
    "turn.withdrawn": to_say("Message withdrawn"),
    "turn.reworded": to_say("Answer reworded"),
    "approval.asked": to_say("Approval requested"),
    "approval.approved": to_say("Approved"),
    "approval.denied": to_say("Denied"),
    "approval.void": to_say("Approval no longer valid"),
    "asset.allowed": to_say("Download allowed"),
    "asset.arrived": to_say("File downloaded"),
    "asset.cancelled": to_say("Download cancelled"),
    "asset.denied": to_say("Download denied"),
    "asset.expired": to_say("Download expired"),
    "asset.failed": to_say("Download failed"),
    "asset.sent_on": to_say("Download redirected"),
    "capability": to_say("Request to HermitShell"),
    "capability.refused": to_say("Request refused"),
    "command.allowed": to_say("Command allowed"),
    "command.ended": to_say("Command finished"),
    "command.revoked": to_say("Command no longer allowed"),
    "delivery.sent": to_say("File delivered"),
    "disk.host_full": to_say("Disk of this machine full"),
    "gate.allowed": to_say("Internet host reached"),
    "gate.cut": to_say("Connection cut"),
    "gate.refused": to_say("Connection refused"),
    "history.cleared": to_say("Conversation cleared"),
    "host.revoked": to_say("Host no longer allowed"),
    "lesson.added": to_say("Lesson added"),
    "lesson.kept": to_say("Lesson kept"),
    "lesson.removed": to_say("Lesson forgotten"),
    "login.forgotten": to_say("Kept login forgotten"),
    "login.kept": to_say("Logins of a site kept"),
    "login.restored": to_say("Kept login used"),
    "logout": to_say("Logged out"),
    "mcp.accepted": to_say("Tools accepted"),
    "mcp.added": to_say("Tool server added"),
    "mcp.called": to_say("Tool called"),
    "mcp.changed": to_say("Tool server changed"),
    "mcp.decided": to_say("Tool decided about"),
    "mcp.failed": to_say("Tool call failed"),
    "mcp.packages": to_say("Packages of a tool server"),
    "mcp.removed": to_say("Tool server removed"),
    "mcp.said": to_say("Tool server checked"),
    "mcp.secret": to_say("Secret of a tool server changed"),
    "mcp.secret_held_back": to_say("Secret held back"),
    "memory.add": to_say("Memory added"),
    "memory.delete": to_say("Memory deleted"),
    "packages.names_allowed": to_say("Packages looked up"),
    "proof.begun": to_say("Ways out tried"),
    "proof.ended": to_say("Ways out: what came of it"),
    "provider.key": to_say("Provider key changed"),
    "telegram.code": to_say("Telegram code sent"),
    "telegram.code_refused": to_say("Wrong Telegram code"),
    "telegram.group": to_say("Telegram group changed"),
    "telegram.paired": to_say("Telegram bot linked"),
    "telegram.revoked": to_say("Telegram token refused"),
    "telegram.stranger": to_say("New person on Telegram"),
    "telegram.token": to_say("Telegram bot changed"),
    "turn.deleted": to_say("Message deleted"),
}
"""Kinds that their own names would not tell a person."""
_FACTS = {
    "argv": to_say("Program"),
    "bytes": to_say("Size in bytes"),
    "completion_tokens": to_say("Answer tokens"),
    "content_type": to_say("File type"),
    "cost_usd": to_say("Cost in US dollars"),
    "down_bytes": to_say("Bytes received"),
    "count": to_say("How many"),
    "hosts": to_say("Hosts it may reach"),
    "how": to_say("Kind"),
    "is_enabled": to_say("Switched on"),
    "latency_s": to_say("Seconds taken"),
    "server": to_say("Server of tools"),
    "sha256": "SHA-256",
    "size": to_say("Size in bytes"),
    "size_bytes": to_say("Size in bytes"),
    "to": to_say("Sent to"),
    "up_bytes": to_say("Bytes sent"),
    "url": to_say("Address"),
    "verdict": to_say("Decision"),
    "why": to_say("Reason"),
}
"""Facts that their own names would not tell a person."""
_PLAIN_WORDS = (
    to_say("Agent changed"),
    to_say("Agent created"),
    to_say("Agent removed"),
    to_say("App shared"),
    to_say("Approval decided"),
    to_say("Calendar changed"),
    to_say("Calendar created"),
    to_say("Cubicle started"),
    to_say("Cubicle stopped"),
    to_say("Host allowed"),
    to_say("Login"),
    to_say("Login failed"),
    to_say("Password changed"),
    to_say("Prices changed"),
    to_say("Push off"),
    to_say("Push on"),
    to_say("Question asked"),
    to_say("Question answered"),
    to_say("Retention"),
    to_say("Setting changed"),
    to_say("Step ended"),
    to_say("Step started"),
    to_say("Token added"),
    to_say("Token removed"),
    to_say("Turn ended"),
    to_say("User added"),
    to_say("User changed"),
    to_say("User removed"),
    to_say("Agent"),
    to_say("Approval"),
    to_say("Choices"),
    to_say("Command"),
    to_say("Ended"),
    to_say("Entry"),
    to_say("Exit code"),
    to_say("Expires at"),
    to_say("Free text"),
    to_say("Name"),
    to_say("Output"),
    to_say("Policy"),
    to_say("Question"),
    to_say("Role"),
    to_say("Source"),
    to_say("Step"),
    to_say("Subject"),
    to_say("Surface"),
    to_say("Time zone"),
    to_say("User"),
)
"""Kinds and facts that tell what they are by their own names."""
_DECISIONS = {"run": to_say("ran without asking"), "ask": to_say("asked for approval"), "refuse": to_say("refused")}


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
        exports=[(say(label), f"/api/audit?{urlencode({**wanted, 'format': how})}") for how, label in _FORMATS],
    )


_FORMATS = (("csv", to_say("CSV, for a spreadsheet")), ("jsonl", to_say("JSON lines, for a program")))


def _views(rows: list[AuditRow]) -> list[AuditRecord]:
    services = get_services()
    names = {user.id: user.name for user in services.users.list_users()}
    agents = {agent.name for agent in services.agents.list_agents()}
    return [
        AuditRecord(row, "" if row.user is None else names.get(row.user, say(GONE)), has_agent=row.agent in agents)
        for row in rows
    ]


def _url(wanted: Mapping[str, object]) -> str:
    return f"/audit?{urlencode(wanted)}" if wanted else "/audit"


def _shown(name: str, value: Any, zone: str) -> str:
    """A fact as text. Only what is surely a time is told as one."""
    if name.endswith("_at") and type(value) in (int, float) and 1e9 < value < 1e10:
        return ages.format_exact(value, zone, speech())
    if value is None or value in ("", [], {}):
        return "–"
    if isinstance(value, bool):
        return say("yes") if value else say("no")
    if name == "verdict":
        return say(_DECISIONS[str(value)]) if str(value) in _DECISIONS else str(value)
    if isinstance(value, list) and all(isinstance(one, (str, int, float)) for one in value):
        return ", ".join(str(one) for one in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
