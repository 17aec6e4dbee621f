"""``calendar``: what an agent is to do for you, and when."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from orchestrator.capabilities.calendar.recurrence.phrases import read_phrase
from orchestrator.capabilities.calendar.recurrence.zones import zone_named
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput
from orchestrator.core.text import one_line, terminal_safe

_WRITTEN = re.compile(r"\s*\d{4}-\d{2}-\d{2}(?:T|\s*$)|\s*\d{8}", re.IGNORECASE)
"""A start as the API takes it, or a mistake in one that the API explains."""
_FIELDS = ("title", "prompt", "start", "end", "time_zone", "repeat", "color", "missed", "without")
_HELP = {
    "title": "what it is called",
    "prompt": "what the agent is told then",
    "start": '"tomorrow 9am", "in 20 minutes", "every weekday at 8"; or 2026-03-02T09:00 by your clock, or a day',
    "end": "within a day of the start how long it takes; later, when the series ends",
    "time_zone": "an IANA name such as Europe/Vienna; yours unless you say",
    "repeat": 'if the start says nothing: an RRULE such as "FREQ=WEEKLY;BYDAY=MO", or cron such as "0 9 * * 1-5"',
    "color": "a name, or #rrggbb",
    "missed": "what if it is missed: run (once, late) or skip",
    "without": "days that a series leaves out, such as 2026-12-24,2026-12-31",
}

_TEXTS = {
    "calendar": (
        "What an agent does for you, and when. Times are by your own clock.",
        "calendar crab list",
        'calendar crab add "Week" "Sum up my week." "every friday 17:00"',
    ),
    "list": (
        "All entries; with --from or --to those that are due in that time.",
        "calendar crab list",
        "calendar crab list --from tomorrow --to friday",
    ),
    "add": (
        "A new entry: when it is due, the agent gets PROMPT as a message, and its answer comes to you.",
        'calendar crab add "Tea" "Remind me to drink tea." "in 20 minutes"',
        'calendar crab add "News" "Sum up what is new in in/." "every weekday at 8"',
        'calendar crab add "Rent" "Write the rent invoice." "every month on the 1st at 9"',
        'calendar crab add "Call" "Remind me to call Ann." 2199-03-02T09:00 --time-zone Europe/Vienna',
    ),
    "show": ("An entry with its fields and its last runs.", "calendar crab show 3"),
    "set": (
        "Change an entry. Nothing after = clears a field.",
        'calendar crab set 3 start="every weekday at 8"',
        "calendar crab set 3 status=paused",
    ),
    "rm": ("Delete an entry with its runs.", "calendar crab rm 3"),
    "run": ("Run an entry now, beside its times.", "calendar crab run 3"),
}
"""What the help of each verb says, with examples."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its six verbs."""
    calendar = commands.add_parser("calendar", help="what an agent does for you, and when")
    calendar.add_argument("agent", metavar="AGENT")
    verbs = calendar.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="all entries, or what comes due in a time")
    listing.add_argument("--from", dest="begin", metavar="WHEN", help="from this day or time on, such as tomorrow")
    listing.add_argument("--to", dest="end", metavar="WHEN", help="until this day or time, such as friday")
    adding = verbs.add_parser("add", help="a new entry")
    adding.add_argument("title", metavar="TITLE", help=_HELP["title"])
    adding.add_argument("prompt", metavar="PROMPT", help=_HELP["prompt"])
    adding.add_argument("start", metavar="START", help=_HELP["start"])
    for name in _FIELDS[3:]:
        adding.add_argument(f"--{name.replace('_', '-')}", dest=name, help=_HELP[name])
    showing = verbs.add_parser("show", help="an entry with its last runs")
    setting = verbs.add_parser("set", help="change an entry")
    removing = verbs.add_parser("rm", help="delete an entry")
    running = verbs.add_parser("run", help="run an entry now")
    for verb in (showing, setting, removing, running):
        verb.add_argument("id", metavar="ID", type=int)
    add_yes(removing)
    setting.add_argument("fields", metavar="FIELD=VALUE", nargs="+", help="e.g. status=paused; nothing after = clears")
    for verb, run in (
        (listing, _list),
        (adding, _add),
        (showing, _show),
        (setting, _set),
        (removing, _remove),
        (running, _run),
    ):
        verb.set_defaults(run=run)
        if verb is not removing:
            verb.add_argument("--json", action="store_true", help="print JSON")
    about = "\n".join(f"  {name:10} {_HELP[name]}" for name in _FIELDS)
    add_help(calendar, *_TEXTS["calendar"])
    for name, verb in verbs.choices.items():
        add_help(
            verb, *_TEXTS[name], more=f"Fields:\n{about}\n  {'status':10} active or paused" if name == "set" else ""
        )


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        ends = {"from": options.begin, "to": options.end}
        times = {name: _moment(client, text) for name, text in ends.items() if text}
        body = client.get(agent_path(options.agent, "/calendar"), **times)
    rows = [(str(e["id"]), _next(e), e["words"], one_line(e["title"], 60)) for e in body["entries"]]
    lines = (
        format_table(rows, head=("ID", "NEXT (UTC)", "WHEN", "TITLE"), paint=context.paint)
        if rows
        else ["Nothing is in the calendar."]
    )
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _add(context: Context, options: argparse.Namespace) -> int:
    fields = {name: _given(name, value) for name in _FIELDS if (value := getattr(options, name)) is not None}
    with context.client as client:
        me = client.get("/me")
        entry = client.post(
            agent_path(options.agent, "/calendar"), _understood(fields, options.time_zone or me["time_zone"])
        )
    print_body(entry, as_json=options.json, lines=[f"Entry {entry['id']}: {_when(entry)}."])
    if not (options.time_zone or me["time_zone_known"] or options.json):
        set_it = f"'./hermit user set {me['id']} time_zone=Europe/Vienna' or the like"
        print(f"Times are in UTC, as your time zone isn't known: {set_it} sets it.", file=sys.stderr)
    return 0


def _show(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        entry = client.get(_path(options))
    lines = [f"{name:12} {_plain(value)}" for name, value in entry.items() if name != "runs"]
    lines += [f"{'ran':12} {_ran(run)}" for run in entry["runs"]]
    print_body(entry, as_json=options.json, lines=lines)
    return 0


def _set(context: Context, options: argparse.Namespace) -> int:
    fields: dict[str, str | list[str] | None] = {}
    for pair in options.fields:
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"{pair}: write FIELD=VALUE, such as status=paused.")
        fields[name] = _given(name, value) or None
    with context.client as client:
        zone = fields.get("time_zone") or client.get(_path(options))["time_zone"]
        entry = client.patch(_path(options), _understood(fields, str(zone)))
    print_body(entry, as_json=options.json, lines=[f"Entry {entry['id']}: {_when(entry)}. It is {entry['status']}."])
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        entry = client.get(_path(options))
        deed = f"This deletes “{one_line(entry['title'], 80)}” ({entry['words']}) from {options.agent}'s calendar"
        confirm_deed(deed, yes=options.yes)
        client.delete(_path(options))
    print(f"Entry {options.id} is deleted.")
    return 0


def _run(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.post(f"{_path(options)}/run")
    print_body(body, as_json=options.json, lines=[f"It runs now, as turn {body['turn']}."])
    return 0


def _path(options: argparse.Namespace) -> str:
    return agent_path(options.agent, f"/calendar/{options.id}")


def _given(name: str, value: str) -> str | list[str]:
    """As the API takes it: what is left out is a list."""
    return [one.strip() for one in value.split(",") if one.strip()] if name == "without" else value


def _understood(fields: dict[str, Any], zone: str) -> dict[str, Any]:
    """The fields, with a start in words as the API takes it; words may say how it repeats, too."""
    start = fields.get("start")
    if not start or _WRITTEN.match(start):
        return fields
    phrase = read_phrase(start, datetime.now(UTC), zone)
    if phrase.repeat and fields.get("repeat"):
        raise BadInput(f"“{one_line(start, 60)}” says how it repeats, and so does the other rule. Give one of them.")
    return {**fields, "start": phrase.start, **({"repeat": phrase.repeat} if phrase.repeat else {})}


def _moment(client: ApiClient, text: str) -> str:
    """A day or a time, as the API takes it."""
    if _WRITTEN.match(text):
        return text
    return read_phrase(text, datetime.now(UTC), client.get("/me")["time_zone"]).start


def _when(entry: Mapping[str, Any]) -> str:
    """What was understood: how often, and when next by the entry's own clock."""
    if entry["next_at"] is None:
        return str(entry["words"])
    at = datetime.fromisoformat(entry["next_at"]).astimezone(zone_named(entry["time_zone"]))
    zone = f" ({entry['time_zone']})"
    words = entry["words"].removesuffix(zone)
    return f"{words}, next on {at:%a} {at.day} {at:%b %Y} at {at:%H:%M}{zone}" if entry["repeat"] else words + zone


def _next(entry: Mapping[str, Any]) -> str:
    return str(entry["status"]) if entry["next_at"] is None else str(entry["next_at"])[:16].replace("T", " ")


def _ran(run: Mapping[str, Any]) -> str:
    turn = "" if run["turn"] is None else f", turn {run['turn']}"
    late = ", late" if run["is_late"] else ""
    return f"{run['due_at'][:16].replace('T', ' ')} {run['outcome']}{late}{turn}"


def _plain(value: Any) -> str:
    """A prompt's further lines are indented: none of them looks like one of ours."""
    return terminal_safe(value).replace("\n", f"\n{'':13}") if isinstance(value, str) else json.dumps(value)
