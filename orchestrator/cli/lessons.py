"""``lessons``: what an agent learned from failures, to look at, search, add to, keep and delete from."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from orchestrator.cli.client import agent_path
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import one_line

_PAGE = 200


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its verbs."""
    lessons = commands.add_parser("lessons", help="what an agent learned from failed commands")
    lessons.add_argument("agent", metavar="AGENT")
    verbs = lessons.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="every lesson, the newest first")
    searching = verbs.add_parser("search", help="the lessons that fit some words best")
    searching.add_argument("words", metavar="WORDS")
    adding = verbs.add_parser("add", help="have it know what to do")
    adding.add_argument("when", metavar="WHEN", help="the command and its error, in its own words")
    adding.add_argument("fix", metavar="FIX", help="what to do then")
    adding.add_argument("--holds", default="", metavar="TEXT", help="for which files, versions or places")
    keeping = verbs.add_parser("keep", help="use a lesson that waits for you")
    removing = verbs.add_parser("rm", help="have it forget a lesson, by its number")
    for verb in (keeping, removing):
        verb.add_argument("id", metavar="ID", type=int)
    for verb, run in ((listing, _list), (searching, _search), (adding, _add), (keeping, _keep), (removing, _remove)):
        verb.set_defaults(run=run)
        if verb is not removing:
            verb.add_argument("--json", action="store_true", help="print JSON")
    add_help(lessons, "What an agent learned from failed commands.", "lessons crab list", "lessons crab keep 3")
    add_help(listing, "Every lesson, the newest first.", "lessons crab list", "lessons crab list --json")
    add_help(searching, "The lessons that fit some words best.", 'lessons crab search "incorrect password"')
    add_help(adding, "Have it know what to do.", 'lessons crab add "pdftotext: Incorrect password" "Ask me for it."')
    add_help(keeping, "Use a lesson that waits, as strangers' words were read before it.", "lessons crab keep 3")
    add_help(removing, "Have it forget a lesson, by its number in the list.", "lessons crab rm 3")


def _list(context: Context, options: argparse.Namespace) -> int:
    found: list[dict[str, Any]] = []
    before: int | None = None
    with context.client as client:
        while True:
            page = client.get(agent_path(options.agent, "/lessons"), before=before, limit=_PAGE)
            found += page["lessons"]
            before = page["next"]
            if before is None:
                break
    _show(found, options, nothing=f"{options.agent} has learned nothing from failures yet.")
    return 0


def _search(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        found = client.get(agent_path(options.agent, "/lessons"), q=options.words)
    _show(found["lessons"], options, nothing="No lesson matches.")
    return 0


def _add(context: Context, options: argparse.Namespace) -> int:
    body = {"when": options.when, "fix": options.fix, "holds": options.holds}
    with context.client as client:
        lesson = client.post(agent_path(options.agent, "/lessons"), body)
    print_body(lesson, as_json=options.json, lines=[f"Noted as lesson {lesson['id']}."])
    return 0


def _keep(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        lesson = client.patch(agent_path(options.agent, f"/lessons/{options.id}"), {"is_held": False})
    print_body(lesson, as_json=options.json, lines=[f"Lesson {lesson['id']} is used from now on."])
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        client.delete(agent_path(options.agent, f"/lessons/{options.id}"))
    print(f"Lesson {options.id} is forgotten.")
    return 0


def _show(lessons: list[dict[str, Any]], options: argparse.Namespace, *, nothing: str) -> None:
    lines = [line for lesson in lessons for line in _lines(lesson)]
    print_body({"lessons": lessons}, as_json=options.json, lines=lines or [nothing])


def _lines(lesson: Mapping[str, Any]) -> list[str]:
    used = f"told {lesson['told']} times, helped {lesson['helped']}"
    state = "waits for you to keep it" if lesson["is_held"] else used
    lines = [f"{lesson['id']}  when: {one_line(lesson['when'], 500)}", f"    then: {one_line(lesson['fix'], 500)}"]
    lines += [f"    holds: {one_line(lesson['holds'], 500)}"] if lesson["holds"] else []
    return [*lines, f"    by {one_line(lesson['by'], 80)}, {lesson['at'][:10]}; {state}"]
