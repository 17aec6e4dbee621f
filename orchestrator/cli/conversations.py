"""``conversations``: the conversations with an agent, to list, begin, name and delete."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.cli.client import agent_path
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.text import one_line

_PAGE = 200


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its verbs."""
    conversations = commands.add_parser("conversations", help="your conversations with an agent")
    conversations.add_argument("agent", metavar="AGENT")
    verbs = conversations.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="all of them, the one you used last first")
    listing.add_argument("--find", metavar="WORDS", help="only those with these words in their name or their messages")
    beginning = verbs.add_parser("new", help="begin one")
    beginning.add_argument("name", metavar="NAME", nargs="?", default="")
    naming = verbs.add_parser("rename", help="give one another name")
    naming.add_argument("id", metavar="ID", type=int)
    naming.add_argument("name", metavar="NAME")
    removing = verbs.add_parser("rm", help="delete one; the agent forgets it")
    removing.add_argument("id", metavar="ID", type=int)
    add_yes(removing)
    _add_sources(verbs)
    _add_rm_message(verbs)
    _add_files(verbs)
    for verb, run in (
        (listing, _list),
        (beginning, _begin),
        (naming, _rename),
        (removing, _remove),
    ):
        verb.set_defaults(run=run)
        if verb is not removing:
            verb.add_argument("--json", action="store_true", help="print JSON")
    add_help(
        conversations,
        "Your conversations with an agent. Each has its own context; files, memories and the calendar are shared.",
        "conversations crab list",
        'conversations crab new "Boat repairs"',
    )
    add_help(
        listing,
        "All of them with their numbers, the one you used last first. * marks the first: what names none goes there.",
        "conversations crab list",
        "conversations crab list --find boat",
    )
    add_help(
        beginning,
        "Begin a conversation. Without a name it is called by its first words.",
        "conversations crab new",
        'conversations crab new "Boat repairs"',
    )
    add_help(
        naming,
        "Give a conversation another name; an empty one brings its first words back.",
        'conversations crab rename 7 "Boat repairs"',
    )
    add_help(
        removing,
        "Delete a conversation: the agent forgets it. Files, memories and the audit log stay.",
        "conversations crab rm 7",
    )


def _add_sources(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sources = verbs.add_parser("sources", help="what one has read, and from where")
    sources.add_argument("id", metavar="ID", type=int)
    sources.add_argument("--json", action="store_true", help="print JSON")
    sources.set_defaults(run=_list_sources)
    add_help(
        sources,
        "What a conversation has read that strangers may have written: hosts, searches, packages, files.",
        "conversations crab sources 7",
    )


def _add_rm_message(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verb that deletes one message."""
    forgetting = verbs.add_parser("rm-message", help="delete one message with its answer")
    forgetting.add_argument("turn", metavar="TURN", type=int)
    add_yes(forgetting)
    forgetting.set_defaults(run=_remove_message)
    add_help(
        forgetting,
        "Delete one message with its answer and what its commands printed: the agent forgets it.\n"
        "TURN is its number in ./hermit history. What followed it stays, and so do files, memories and the audit log.",
        "conversations crab rm-message 117",
    )


def _add_files(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The verbs that write and read files."""
    exporting = verbs.add_parser("export", help="save one as a file, with its commands and files")
    exporting.add_argument("id", metavar="ID", type=int)
    exporting.add_argument("--format", choices=("md", "html", "json"), default="md", help="default: md")
    exporting.add_argument("--out", metavar="FILE", help="where to; without it, to standard output")
    exporting.set_defaults(run=_export)
    importing = verbs.add_parser("import", help="begin one with what was exported as JSON")
    importing.add_argument("file", metavar="FILE")
    importing.add_argument("--json", action="store_true", help="print JSON")
    importing.set_defaults(run=_import)
    add_help(
        exporting,
        "Save a conversation: the branch that is shown as Markdown or as a web page of one file,\n"
        "or all of it as JSON. Files that the agent delivered are in the page and the JSON.",
        "conversations crab export 7 > boat.md",
        "conversations crab export 7 --format html --out boat.html",
    )
    add_help(
        importing,
        "Begin a conversation with what was exported as JSON, here or elsewhere.\n"
        "Nothing in it runs again, and files are not copied.",
        "conversations crab import boat.json",
    )


def _list(context: Context, options: argparse.Namespace) -> int:
    found: list[dict[str, Any]] = []
    before: int | None = None
    with context.client as client:
        while True:
            page = client.get(
                agent_path(options.agent, "/conversations"), q=options.find or None, before=before, limit=_PAGE
            )
            found += page["conversations"]
            before = page["next"]
            if before is None:
                break
    lines = format_table([_row(one) for one in found], head=("id", "name", "last used", "new"))
    print_body({"conversations": found}, as_json=options.json, lines=lines if found else ["No conversation matches."])
    return 0


def _list_sources(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get(agent_path(options.agent, f"/conversations/{options.id}/sources"))
    rows = [_source_row(one) for one in body["sources"]]
    lines = format_table(rows, head=("turn", "kind", "from", "times", "last")) if rows else ["Nothing of strangers."]
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _source_row(one: Mapping[str, Any]) -> tuple[str, ...]:
    turn, subject = str(one["turn"] or ""), one_line(one["subject"], 100) or "(others)"
    return turn, one["kind"], subject, f"{one['count']:,}", one["last_at"]


def _begin(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        made = client.post(agent_path(options.agent, "/conversations"), {"name": options.name})
    lines = [f"This is conversation {made['id']}: ./hermit chat {options.agent} --conversation {made['id']}"]
    print_body(made, as_json=options.json, lines=lines)
    return 0


def _rename(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        renamed = client.patch(agent_path(options.agent, f"/conversations/{options.id}"), {"name": options.name})
    lines = [f"Conversation {renamed['id']} is called {one_line(renamed['name'], 100)}."]
    print_body(renamed, as_json=options.json, lines=lines)
    return 0


def _export(context: Context, options: argparse.Namespace) -> int:
    path = agent_path(options.agent, f"/conversations/{options.id}/export")
    with context.client as client, client.download(path, format=options.format) as answer:
        if options.out is None:
            for piece in client.read_pieces(answer):
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            return 0
        target = Path(options.out)
        try:
            with target.open("xb") as file:
                file.writelines(client.read_pieces(answer))
        except FileExistsError as error:
            raise Conflict(f"{target} exists already. Choose another name, or delete it first.") from error
        except OSError as error:
            raise BadInput(f"{target} can't be written: {error.strerror}.") from error
    print(f"Saved as {target}.")
    return 0


def _import(context: Context, options: argparse.Namespace) -> int:
    try:
        told = json.loads(Path(options.file).read_bytes())
    except OSError as error:
        raise BadInput(f"{options.file} can't be read: {error.strerror}.") from error
    except ValueError as error:
        raise BadInput(
            f"{options.file} is no JSON. Export a conversation with --format json, then import it."
        ) from error
    if not isinstance(told, dict):
        raise BadInput(f"{options.file} is no exported conversation.")
    for turn in told.get("turns") or []:  # what is delivered is not copied, and may be large
        if isinstance(turn, dict):
            turn.pop("files", None)
    with context.client as client:
        made = client.post(agent_path(options.agent, "/conversations/import"), told)
    lines = [f"Imported as conversation {made['id']}: ./hermit chat {options.agent} --conversation {made['id']}"]
    print_body(made, as_json=options.json, lines=lines)
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    confirm_deed(f"This deletes conversation {options.id} with {options.agent}", yes=options.yes)
    with context.client as client:
        client.delete(agent_path(options.agent, f"/conversations/{options.id}"))
    print(f"Conversation {options.id} is deleted.")
    return 0


def _remove_message(context: Context, options: argparse.Namespace) -> int:
    told = f"This deletes message {options.turn} and its answer from the conversation with {options.agent}"
    with context.client as client:
        found = client.get(f"/turns/{options.turn}")
        if found["agent"] != options.agent:
            raise NotFound(f"Message {options.turn} is not one of {options.agent}.")
        confirm_deed(told, yes=options.yes)
        client.delete(f"/turns/{options.turn}")
    print(f"Message {options.turn} is deleted.")
    return 0


def _row(one: Mapping[str, Any]) -> tuple[str, str, str, str]:
    used = f"{one['used_at'][:16].replace('T', ' ')} UTC"
    new = "" if not one["unread"] else "99+" if one["unread"] > 99 else str(one["unread"])
    return f"{one['id']}{' *' if one['is_first'] else ''}", one_line(one["name"], 70), used, new
