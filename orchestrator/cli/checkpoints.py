"""``checkpoints``: points of time of an agent's files, to list, compare, name, go back to and let go."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from orchestrator.cli.changed_files import count_files, list_changes, list_put_back, show_lines
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput, NotFound
from orchestrator.core.text import one_line
from orchestrator.files.names import display_path, parts_of

_PAGE = 200
_MOST_COMPARED = 20
"""Files that are shown line by line; of more there is a list."""
_TEXTS = {
    "checkpoints": (
        (
            "Points of time of an agent's files in work/, out/ and www/. One is taken before the first command of a\n"
            "message, after each command and at the end; you can go back to any of them."
        ),
        "checkpoints crab list",
        "checkpoints crab diff",
    ),
    "list": ("The points that can be gone back to, the newest first.", "checkpoints crab list --limit 200"),
    "diff": (
        (
            "What differs: between two points, between one and now, or, without any number, what the last turn did.\n"
            "Text files are shown line by line."
        ),
        "checkpoints crab diff",
        "checkpoints crab diff 41",
        "checkpoints crab diff 41 57",
    ),
    "create": (
        "Give the files as they are now a name. The point stays until you delete it.",
        'checkpoints crab create "before the rewrite"',
    ),
    "restore": (
        (
            "Put files and folders back as they were at a point; everything, where you name none.\n"
            "That can be taken back as well: the files as they are now become a point first."
        ),
        "checkpoints crab restore 41",
        "checkpoints crab restore 41 work/report.md www",
    ),
    "rm": ("Delete a point. Files stay as they are.", "checkpoints crab rm 41"),
}
"""What the help of each verb says, with examples."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its five verbs."""
    checkpoints = commands.add_parser("checkpoints", help="points of time of an agent's files, to go back to")
    checkpoints.add_argument("agent", metavar="AGENT")
    verbs = checkpoints.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="the points that there are, the newest first")
    listing.add_argument("--limit", metavar="N", type=int, default=50, help="how many (default 50)")
    comparing = verbs.add_parser("diff", help="what the last message changed, or what differs from a point")
    comparing.add_argument("older", metavar="A", type=int, nargs="?", help="the older point; without it, the last turn")
    comparing.add_argument("newer", metavar="B", type=int, nargs="?", help="the newer point; without it, now")
    creating = verbs.add_parser("create", help="give the files as they are now a name")
    creating.add_argument("name", metavar="NAME")
    restoring = verbs.add_parser("restore", help="put files back as they were at a point")
    restoring.add_argument("id", metavar="ID", type=int)
    restoring.add_argument("paths", metavar="WHERE", nargs="*", help="such as work/report.md; everything if left out")
    removing = verbs.add_parser("rm", help="delete a point; files stay")
    removing.add_argument("id", metavar="ID", type=int)
    for verb, run in (
        (listing, _list),
        (comparing, _compare),
        (creating, _create),
        (restoring, _restore),
        (removing, _remove),
    ):
        verb.set_defaults(run=run)
        if verb in (restoring, removing):
            add_yes(verb)
        else:
            verb.add_argument("--json", action="store_true", help="print JSON")
    add_help(checkpoints, *_TEXTS["checkpoints"])
    for name, verb in verbs.choices.items():
        add_help(verb, *_TEXTS[name])


def show_restored(files: Mapping[str, Any] | None, agent: str) -> list[str]:
    """What was put back, what was left and why, and how to take that back."""
    if files is None:
        return ["It had changed no files."]
    lines = [f"Put back: {count_files(len(files['changed']))}."] if files["changed"] else ["No file had to change."]
    lines += [
        f"  left: {display_path(unquote_to_bytes(one['path']))}: {one_line(one['why'], 500)}" for one in files["left"]
    ]
    if files["changed"]:
        lines.append(f"To take that back: ./hermit checkpoints {agent} restore {files['before']}")
    return lines


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        found = list(islice(_walk_points(client, options.agent), max(1, options.limit) + 1))
    shown = found[: max(1, options.limit)]
    rows = [(str(one["id"]), _moment(one), f"{one['changed']:,}", describe_point(one)) for one in shown]
    lines = format_table(rows, head=("ID", "WHEN (UTC)", "CHANGED", "WHAT"), paint=context.paint)
    if len(found) > len(shown):
        lines.append(f"There are older ones: --limit {4 * len(shown)} shows more.")
    print_body({"checkpoints": shown}, as_json=options.json, lines=lines if found else ["There is no point yet."])
    return 0


def describe_point(point: Mapping[str, Any]) -> str:
    """Why it was taken."""
    turn = f"turn {point['turn']}"
    words = {
        "before": f"before {turn}",
        "command": f"{turn}, command {point['step']}",
        "after": f"after {turn}",
        "person": "somebody changed files",
        "restore": one_line(point["name"] or "files were put back", 120),
        "named": f"“{one_line(point['name'] or '', 120)}”",
    }
    return words.get(point["kind"], one_line(str(point["kind"]), 40))


def _compare(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        older, newer = options.older, options.newer
        head = []
        if older is None:
            older, newer, turn = _find_last_turn(client, options.agent)
            head = [f"What turn {turn} changed, between the points {older} and {newer}:"]
        path = agent_path(options.agent, f"/checkpoints/{older}/diff")
        found = client.get(path, to=newer)
        changes = found["changes"]
        files = [change for change in changes if "file" in _types(change)][:_MOST_COMPARED]
        for change in files:
            one = client.get(f"{path}?path={quote(change['path'], safe='')}", to=found["to"])
            change["lines"] = one["changes"][0]["lines"]
    compared = [change["path"] for change in files]
    lines = [*head, *(line for change in files for line in show_lines(change, context.paint))]
    rest = [change for change in changes if change["path"] not in compared]
    lines += list_changes(rest, found["total"] - len(files), context.paint)
    print_body(found, as_json=options.json, lines=lines if changes else [*head, "Nothing differs."])
    return 0


def _find_last_turn(client: ApiClient, agent: str) -> tuple[int, int, int]:
    """The points before and after the newest turn that changed something, and its number. Raises NotFound."""
    last: dict[str, Any] | None = None
    start: int | None = None
    is_after_start = False
    for point in _walk_points(client, agent):
        if last is None:
            is_after_start = point["turn"] is not None and point["kind"] in ("command", "after")
            last = point if is_after_start else None
        elif point["turn"] == last["turn"]:
            start, is_after_start = point["id"], point["kind"] != "before"
        elif is_after_start:  # somebody's from before the turn, or from within it
            start, is_after_start = point["id"], False
        if last is not None and point["turn"] not in (None, last["turn"]):
            break
    if last is None or start is None:
        raise NotFound("No message has changed a file, as far back as points are kept.")
    return start, last["id"], last["turn"]


def _walk_points(client: ApiClient, agent: str) -> Iterator[dict[str, Any]]:
    """All of them, the newest first."""
    before: int | None = None
    while True:
        page = client.get(agent_path(agent, "/checkpoints"), before=before, limit=_PAGE)
        yield from page["checkpoints"]
        before = page["next"]
        if before is None:
            return


def _create(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        made = client.post(agent_path(options.agent, "/checkpoints"), {"name": options.name})
    lines = [
        f"Point {made['id']} is called {describe_point(made)}: ./hermit checkpoints {options.agent} diff {made['id']}"
    ]
    print_body(made, as_json=options.json, lines=lines)
    return 0


def _restore(context: Context, options: argparse.Namespace) -> int:
    paths = [_encode(path) for path in options.paths]
    base = agent_path(options.agent, f"/checkpoints/{options.id}")
    with context.client as client:
        found = client.get(f"{base}/diff")
        meant = [one for one in found["changes"] if not paths or _is_among(one["path"], paths)]
        total = len(meant) if paths else found["total"]
        if not options.yes:
            head = f"Back to point {options.id}, this changes in {options.agent}'s files:"
            print("\n".join([head, *list_put_back(meant, total)] if meant else ["Nothing differs from this point."]))
            if paths and found["total"] > len(found["changes"]):
                print(f"  (looked for among the first {len(found['changes']):,} of {found['total']:,} changes)")
        what = f"This puts {count_files(total)} of {options.agent} back as at point {options.id}"
        confirm_deed(what, yes=options.yes, undone="changed")
        done = client.post(f"{base}/restore", {"paths": paths} if paths else {})
    print("\n".join(show_restored(done, options.agent)))
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    confirm_deed(f"This deletes point {options.id} of {options.agent}; its files stay", yes=options.yes)
    with context.client as client:
        client.delete(agent_path(options.agent, f"/checkpoints/{options.id}"))
    print(f"Point {options.id} is deleted.")
    return 0


def _moment(point: Mapping[str, Any]) -> str:
    return str(point["at"])[:19].replace("T", " ")


def _types(change: Mapping[str, Any]) -> set[str]:
    return {facts["type"] for facts in (change["old"], change["new"]) if facts}


def _encode(path: str) -> str:
    """What somebody typed, as the API takes it. Raises UnsafePath."""
    parts = parts_of(path.removesuffix("/"))
    if not parts:
        raise BadInput("Name files or folders, such as work/notes.txt; leave them out for everything.")
    return "/".join(quote(part, safe="") for part in parts)


def _is_among(path: str, wanted: Sequence[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in wanted)
