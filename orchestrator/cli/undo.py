"""``undo``: what a message made an agent do is taken back, as far as it can be."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from orchestrator.cli.changed_files import MOST_NAMED, count_files, list_put_back
from orchestrator.cli.checkpoints import show_restored
from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context
from orchestrator.cli.help import add_help
from orchestrator.core.errors import Conflict, NotFound
from orchestrator.core.text import one_line


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    undo = commands.add_parser("undo", help="take back what an agent did for your last message")
    undo.add_argument("agent", metavar="AGENT")
    undo.add_argument("--conversation", metavar="ID", type=int, help="its last message; without it, the first one's")
    undo.add_argument("--turn", metavar="ID", type=int, help="this message, by its number in './hermit history'")
    undo.add_argument("--since", action="store_true", help="also everything since, whoever changed it")
    undo.add_argument(
        "--including",
        metavar="PATH",
        action="append",
        default=[],
        help="this file too, although it was changed again since; may be given several times",
    )
    add_yes(undo)
    undo.set_defaults(run=run)
    add_help(
        undo,
        "Take back what an agent did for your last message: files are as before it, and the conversation goes on\n"
        "from there. It says first what would change, and what can't be taken back.",
        "undo crab",
        "undo crab --turn 12",
        "undo crab --turn 12 --including work/notes.txt",
        "undo crab --turn 12 --since --yes",
    )


def run(context: Context, options: argparse.Namespace) -> int:
    """Show what would change, ask, and do it."""
    with context.client as client:
        turn = options.turn or _find_last(client, options.agent, options.conversation)
        told = client.get(f"/turns/{turn}")
        if told["agent"] != options.agent:
            raise NotFound(f"Turn {turn} is none of {options.agent}'s.")
        plan = client.get(f"/turns/{turn}/undo", since=1 if options.since else None)
        if plan["undone_at"] is not None:
            raise Conflict("This message was undone already.")
        including = _choose_conflicts(plan["conflicts"], options.including)
        plan["conflicts"] = [change for change in plan["conflicts"] if change["path"] not in including]
        if not options.yes:
            print("\n".join(preview_undo(plan, told)))
        since = " and everything since" if options.since else ""
        deed = f"This takes back what {options.agent} did for turn {turn}{since}"
        confirm_deed(deed, yes=options.yes, undone="changed")
        done = client.post(f"/turns/{turn}/undo", {"since": options.since, "including": including})
    print("\n".join(tell_undone(done, plan, options.agent)))
    return 0


def preview_undo(plan: Mapping[str, Any], told: Mapping[str, Any]) -> list[str]:
    """What taking back the turn ``told`` would change, and what stays."""
    lines = [f"You wrote: {one_line(told['prompt'], 120)}"]
    others = len(plan["turns"]) - 1
    if others > 0:
        lines.append(f"With it goes what {others:,} later {'message' if others == 1 else 'messages'} changed.")
    if plan["changes"]:
        lines += [f"Files that change: {count_files(plan['total'])}.", *list_put_back(plan["changes"], plan["total"])]
    else:
        lines.append("No file changes.")
    return [*lines, *_conflicts(plan), *_stays(plan["stays"])]


def tell_undone(done: Mapping[str, Any], plan: Mapping[str, Any], agent: str) -> list[str]:
    """What was taken back, and what was not."""
    lines = show_restored(done["files"], agent)
    if done["conversation_moved"]:
        lines.append("The conversation goes on from before this message.")
    return [*lines, *_conflicts(plan), *_stays(done["stays"])]


def _find_last(client: ApiClient, agent: str, conversation: int | None) -> int:
    found = client.get(agent_path(agent, "/history"), limit=1, conversation=conversation)["turns"]
    if not found:
        raise NotFound("There is nothing to undo in this conversation.")
    return int(found[-1]["turn"])


def _choose_conflicts(conflicts: list[Mapping[str, Any]], wanted: list[str]) -> list[str]:
    """The paths of these files, as the API has them. Raises NotFound for one that is no conflict."""
    known = {change["shown"]: str(change["path"]) for change in conflicts}
    for name in wanted:
        if name not in known:
            raise NotFound(f"--including: {one_line(name, 200)} was not changed again since, so it needs no mention.")
    return [known[name] for name in wanted]


def _conflicts(plan: Mapping[str, Any]) -> list[str]:
    """Files that stay since they were changed again."""
    found = plan["conflicts"]
    names = [f"  {one_line(change['shown'], 500)}" for change in found[:MOST_NAMED]]
    more = [f"  and {len(found) - MOST_NAMED:,} more"] if len(found) > MOST_NAMED else []
    return ["Changed again since, so these stay as they are:", *names, *more] if found else []


def _stays(deeds: list[Mapping[str, Any]]) -> list[str]:
    return ["Not taken back:", *(f"  {one_line(deed['text'], 300)}" for deed in deeds)] if deeds else []
