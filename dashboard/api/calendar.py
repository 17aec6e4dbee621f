"""The calendar: what an agent is to do when, for one person."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import asker, own_cubicle
from dashboard.house import services
from dashboard.times import iso, with_iso_times
from orchestrator.capabilities.calendar.rows import CalendarEntry
from orchestrator.capabilities.calendar.serialize import as_json, run_json
from orchestrator.core.errors import NotFound

api = Blueprint("calendar_api", __name__)


@api.get("/api/agents/<name>/calendar")
def entries(name: str) -> Any:
    """All entries, or with ``from`` or ``to`` those that come due in that time; and the times."""
    key, agenda = own_cubicle(name), services().agenda
    begin, end = request.args.get("from", ""), request.args.get("to", "")
    times = agenda.list_between(key, begin, end)
    found = agenda.list_entries(key.agent, key.user)
    if begin or end:
        named = {entry.id for entry, _ in times}
        found = [entry for entry in found if entry.id in named]
    return {
        "entries": [_shown(entry) for entry in found],
        "times": [{"id": entry.id, "at": iso(when.timestamp())} for entry, when in times],
    }


@api.post("/api/agents/<name>/calendar")
def create(name: str) -> Any:
    """A new entry."""
    key, body = own_cubicle(name), bodies.json_body()
    return _shown(services().agenda.create_entry(key, body, by=asker().user)), 201


@api.get("/api/agents/<name>/calendar/<id:entry>")
def one(name: str, entry: int) -> Any:
    """An entry, with its last runs."""
    found = _own(name, entry)
    runs = services().agenda.list_runs(found.id)
    return {**_shown(found), "runs": [with_iso_times(run_json(run)) for run in runs]}


@api.patch("/api/agents/<name>/calendar/<id:entry>")
def change(name: str, entry: int) -> Any:
    """Other words or times for an entry; or it is paused, or resumed."""
    found = _own(name, entry)
    return _shown(services().agenda.change_entry(found.id, bodies.json_body(), by=asker().user))


@api.delete("/api/agents/<name>/calendar/<id:entry>")
def remove(name: str, entry: int) -> Any:
    """An entry goes, with its runs."""
    services().agenda.remove_entry(_own(name, entry).id, by=asker().user)
    return "", 204


@api.post("/api/agents/<name>/calendar/<id:entry>/run")
def run(name: str, entry: int) -> Any:
    """The entry runs now, beside its times."""
    return {"turn": services().agenda.run_now(_own(name, entry).id)}, 202


@api.post("/api/agents/<name>/calendar/feed")
def renew_feed(name: str) -> Any:
    """Another address for calendar apps; the one before leads nowhere any more."""
    return {"ics_url": services().agenda.new_feed(own_cubicle(name))}, 201


def _own(name: str, entry: int) -> CalendarEntry:
    """The entry of this cubicle; raises NotFound."""
    key, found = own_cubicle(name), services().agenda.get_entry(entry)
    if found.cubicle != key:
        raise NotFound(f"There is no entry {entry} in the calendar.")
    return found


def _shown(entry: CalendarEntry) -> dict[str, Any]:
    return with_iso_times(as_json(entry, services().agenda.describe_entry(entry)))
