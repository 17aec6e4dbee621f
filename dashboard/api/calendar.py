"""The calendar: what an agent is to do when, for one person."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import own_cubicle, require_asker
from dashboard.services import get_services
from dashboard.times import iso_time, with_iso_times
from orchestrator.capabilities.calendar.rows import CalendarEntry
from orchestrator.capabilities.calendar.serialize import as_json, run_json
from orchestrator.core.errors import NotFound

api = Blueprint("calendar_api", __name__)


@api.get("/api/agents/<name>/calendar")
def list_entries(name: str) -> Any:
    """All entries, or with ``from`` or ``to`` those that come due in that time; and the times."""
    key, calendar = own_cubicle(name), get_services().calendar
    begin, end = request.args.get("from", ""), request.args.get("to", "")
    times = calendar.list_between(key, begin, end)
    found = calendar.list_entries(key.agent, key.user)
    if begin or end:
        named = {entry.id for entry, _ in times}
        found = [entry for entry in found if entry.id in named]
    return {
        "entries": [_entry_json(entry) for entry in found],
        "times": [{"id": entry.id, "at": iso_time(when.timestamp())} for entry, when in times],
    }


@api.post("/api/agents/<name>/calendar")
def create_entry(name: str) -> Any:
    """A new entry."""
    key, body = own_cubicle(name), bodies.json_body()
    return _entry_json(get_services().calendar.create_entry(key, body, by=require_asker().user)), 201


@api.get("/api/agents/<name>/calendar/<id:entry>")
def get_entry(name: str, entry: int) -> Any:
    """An entry, with its last runs."""
    found = _find_own_entry(name, entry)
    runs = get_services().calendar.list_runs(found.id)
    return {**_entry_json(found), "runs": [with_iso_times(run_json(run)) for run in runs]}


@api.patch("/api/agents/<name>/calendar/<id:entry>")
def change_entry(name: str, entry: int) -> Any:
    """Other words or times for an entry; or it is paused, or resumed."""
    found = _find_own_entry(name, entry)
    return _entry_json(get_services().calendar.change_entry(found.id, bodies.json_body(), by=require_asker().user))


@api.delete("/api/agents/<name>/calendar/<id:entry>")
def remove_entry(name: str, entry: int) -> Any:
    """An entry goes, with its runs."""
    get_services().calendar.remove_entry(_find_own_entry(name, entry).id, by=require_asker().user)
    return "", 204


@api.post("/api/agents/<name>/calendar/<id:entry>/run")
def run_entry(name: str, entry: int) -> Any:
    """The entry runs now, beside its times."""
    return {"turn": get_services().calendar.run_now(_find_own_entry(name, entry).id)}, 202


@api.post("/api/agents/<name>/calendar/feed")
def renew_feed(name: str) -> Any:
    """Another address for calendar apps; the one before leads nowhere any more."""
    return {"ics_url": get_services().calendar.new_feed(own_cubicle(name))}, 201


def _find_own_entry(name: str, entry: int) -> CalendarEntry:
    """The entry of this cubicle; raises NotFound."""
    key, found = own_cubicle(name), get_services().calendar.get_entry(entry)
    if found.cubicle != key:
        raise NotFound(f"There is no entry {entry} in the calendar.")
    return found


def _entry_json(entry: CalendarEntry) -> dict[str, Any]:
    calendar = get_services().calendar
    place = calendar.conversation_of(entry)
    return with_iso_times(as_json(entry, calendar.describe_entry(entry), None if place is None else place.id))
