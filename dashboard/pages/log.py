"""An agent's own log for the viewer: its end, what came before, and what comes while one looks."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from flask import Blueprint, render_template, request

from dashboard import ages
from dashboard.auth import require_asker
from dashboard.languages import say, speech, to_say
from dashboard.pages.frame import agent_frame, own_key
from dashboard.services import get_services
from orchestrator.core.models import CubicleKey
from orchestrator.files import agent_log
from orchestrator.files.agent_log import LogPage, Record
from orchestrator.languages.dates import write_date

pages = Blueprint("log", __name__)

_LONG_CHARS, _LONG_LINES = 400, 5
_KINDS = {
    "turn": (to_say("message"), "asked"),
    "thought": (to_say("thought"), "plain"),
    "command": (to_say("command"), "code"),
    "output": (to_say("output"), "code"),
    "exit": (to_say("ended"), "plain"),
    "reply": (to_say("reply"), "said"),
    "actions": (to_say("request"), "plain"),
    "results": (to_say("result"), "plain"),
    "waiting": (to_say("waiting"), "plain"),
    "approval": (to_say("approval"), "plain"),
    "refused": (to_say("refused"), "bad"),
    "failed": (to_say("failed"), "bad"),
    "stopped": (to_say("stopped"), "bad"),
    "error": (to_say("error"), "bad"),
}
"""What a kind is called, and how it looks."""
_EXIT = re.compile(r"(-?\d+) (\w+) after ([\d.]+) s")
_EXITED = to_say("Exit code %(code)s after %(seconds)s s")
_ENDED = {
    "timeout": to_say("Exit code %(code)s after %(seconds)s s, out of time"),
    "stopped": to_say("Exit code %(code)s after %(seconds)s s, stopped"),
}


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line."""

    record: Record
    clock: str
    exact: str

    @property
    def label(self) -> str:
        """What it is."""
        return say(_KINDS[self.record.kind][0]) if self.record.kind in _KINDS else self.record.kind

    @property
    def look(self) -> str:
        """``plain``, ``code``, ``asked``, ``said``, ``bad``."""
        if self.record.kind == "exit" and not self.record.text.startswith("0 "):
            return "bad"
        return _KINDS.get(self.record.kind, ("", "plain"))[1]

    @property
    def text(self) -> str:
        """The text with its line breaks, which the log has as two characters; of an end in plain words."""
        if self.record.kind == "exit" and (ended := _EXIT.fullmatch(self.record.text)):
            return say(_ENDED.get(ended[2], _EXITED), code=ended[1], seconds=ended[3])
        return self.record.text.replace("\\n", "\n").replace("\\t", "\t").rstrip("\n")

    @property
    def is_long(self) -> bool:
        """It is folded."""
        return len(self.text) > _LONG_CHARS or self.text.count("\n") >= _LONG_LINES

    @property
    def beginning(self) -> str:
        """Its first line."""
        return self.text.strip("\n").partition("\n")[0][:200]


@pages.get("/agents/<name>/log")
def log(name: str) -> str:
    """The whole page."""
    page = agent_log.read_latest(get_services().workspaces, own_key(name))
    return render_template("log.html", **agent_frame(name, "log"), **shown(page))


@pages.get("/parts/log/<name>")
def lines(name: str) -> str:
    """Lines before or after a place, or the newest."""
    return render_template("parts/log.html", **shown(_wanted(own_key(name))))


def _wanted(key: CubicleKey) -> LogPage:
    workspaces = get_services().workspaces
    if earlier := request.args.get("before", ""):
        return agent_log.read_before(workspaces, key, agent_log.place_of(earlier))
    if later := request.args.get("after", ""):
        return agent_log.read_after(workspaces, key, agent_log.place_of(later))
    return agent_log.read_latest(workspaces, key)


def shown(page: LogPage) -> dict[str, Any]:
    """The lines of a page by the viewer's clock."""
    zone, now = require_asker().user.time_zone, time.time()
    return {"page": page, "records": [_view(record, zone, now) for record in page.records]}


def _view(record: Record, zone: str, now: float) -> LogLine:
    if record.at is None:
        return LogLine(record, "", "")
    place = ZoneInfo(zone)
    at, today = (datetime.fromtimestamp(moment, UTC).astimezone(place) for moment in (record.at, now))
    day = "" if at.date() == today.date() else write_date(at, "%-d %b", "MMMd", speech().language) + " "
    return LogLine(record, f"{day}{at:%H:%M:%S}", ages.format_exact(record.at, zone, speech()))
