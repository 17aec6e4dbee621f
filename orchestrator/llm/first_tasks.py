"""Ten tasks to begin with, each one press: what it is called, what one has in the end, and the message that is sent. A
model reads the message as any other; the built-in demo knows it word by word. Data, and finding one again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FirstTask:
    """A task, as a card shows it."""

    id: str
    title: str
    brings: str
    """What one has in the end, in a few words."""
    icon: str
    """The name of a sign."""
    prompt: str
    needs: str = ""
    """The toolset without which it can't be done; empty for none."""


FIRST_TASKS: tuple[FirstTask, ...] = (
    FirstTask(
        "calculator",
        "A calculator",
        "An app beside the chat",
        "apps",
        "Build me a small calculator as a web app, with big keys that the keyboard works for too.",
    ),
    FirstTask(
        "chart",
        "A chart of numbers",
        "A picture",
        "chart",
        "Draw a bar chart of our visitors: Jan 120, Feb 150, Mar 90, Apr 210, May 260, Jun 240. Send it to me as a "
        "picture.",
    ),
    FirstTask(
        "todo",
        "A to-do list",
        "An app that remembers",
        "ok",
        "Build me a to-do list as a web app: add, tick off, delete. It should remember what is on it.",
    ),
    FirstTask(
        "sales",
        "A messy table, cleaned",
        "A CSV file and its sums",
        "log",
        "Make up a messy CSV file of a dozen sales, clean it, add up each product, and send me the clean file.",
    ),
    FirstTask(
        "game",
        "A small game",
        "An app to play",
        "play",
        "Make me a small memory game that I can play here, with pictures from the sea.",
    ),
    FirstTask(
        "packing",
        "A packing list",
        "A question, then a list",
        "asked",
        "Help me pack for a weekend away: ask me first where it goes, then write me a packing list as a file.",
        "questions",
    ),
    FirstTask(
        "week",
        "A Monday reminder",
        "A calendar entry",
        "calendar",
        "Put “Plan the week” into my calendar for every Monday at 9, and remind me of it then.",
        "calendar",
    ),
    FirstTask(
        "drafts",
        "Ask before deleting",
        "An approval to decide",
        "approvals",
        "Make a folder with three old drafts in it, then delete that folder again. I want to see how you ask me.",
    ),
    FirstTask(
        "pictures",
        "Three pictures, zipped",
        "A zip archive",
        "packages",
        "Draw three colourful pictures with a program of yours, and send them to me as one zip archive.",
    ),
    FirstTask(
        "report",
        "A look around",
        "A short report",
        "file",
        "Look around in your container and send me a short report about it: system, memory, disk, network and tools.",
    ),
)


def find_task(text: str) -> FirstTask | None:
    """The task whose message this is, whatever its blanks and capitals."""
    words = _plain(text)
    return next((task for task in FIRST_TASKS if _plain(task.prompt) == words), None)


def list_tasks(toolsets: Iterable[str], first: Iterable[str] = ()) -> list[FirstTask]:
    """Those that an agent with these toolsets can do: the ones that are named ``first``, then the others."""
    may, order = set(toolsets), list(first)
    able = [task for task in FIRST_TASKS if not task.needs or task.needs in may]
    return sorted(able, key=lambda task: order.index(task.id) if task.id in order else len(order))


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().casefold()
