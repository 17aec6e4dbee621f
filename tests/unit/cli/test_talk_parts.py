"""The parts of the terminal chat that need no terminal: growing Markdown, cards and their keys, dropped files,
commands, and how a turn is told."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from rich.console import RenderableType

from orchestrator.cli.client import ApiClient
from orchestrator.cli.talk.blocks import GrowingText, complete_length
from orchestrator.cli.talk.canvas import AgentMarkdown, Canvas
from orchestrator.cli.talk.cards import ALONE_S, READ_S, KeyGuard, approval_card
from orchestrator.cli.talk.changes import read_changes
from orchestrator.cli.talk.dropped import read_dropped
from orchestrator.cli.talk.pieces import MOST_OUTPUT, bound_lines
from orchestrator.cli.talk.slash import COMMANDS, SlashCompleter, SlashLine, find_command, read_line, say_unknown
from orchestrator.cli.talk.status import status_line, tab_strip
from orchestrator.cli.talk.story import Story
from orchestrator.cli.talk.tabs import Tab, Tabs

DOCUMENT = """# Title

One paragraph
of two lines.

- a
- b

  more of b

1. x

2. y

```python
def f():

    return 1
```

| a | b |
|---|---|
| 1 | 2 |

> said

The end
"""


async def nothing(_: str) -> None:
    """What a card of these tests does."""


def drawn(what: RenderableType, width: int = 60) -> list[str]:
    """Lines without colours."""
    return [re.sub(r"\x1b\[[\d;]*m", "", line) for line in Canvas(has_colors=False).draw(what, width)]


# --- growing Markdown ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("One", ""),
        ("One\n\n", ""),
        ("One\n\nT", ""),
        ("One\n\nTwo\n", "One\n\n"),
        ("- a\n\n2", ""),
        ("1. a\n\n2. b\n", ""),
        ("```\ncode\n\nmore\n", ""),
        ("```\ncode\n```\nText\n", "```\ncode\n```\n"),
        ("Text\n---\n", ""),
        ("| a |\n|---|\n| 1 |\n\nText\n", "| a |\n|---|\n| 1 |\n\n"),
    ],
)
def test_a_block_is_complete_when_nothing_can_change_it(text: str, complete: str) -> None:
    """The last one never is, nor what a half line may yet belong to."""
    assert text[: complete_length(text)] == complete


def test_growing_text_is_handed_out_once_and_whole() -> None:
    """Letter by letter, in blocks that stand alone, and nothing of them changes."""
    growing, pieces = GrowingText(), []
    for end in range(len(DOCUMENT) + 1):
        pieces.append(growing.grow(DOCUMENT[:end]))
        assert "".join(pieces) + growing.rest == DOCUMENT[:end]
    blocks = [piece for piece in pieces if piece]
    assert len(blocks) == 7
    assert "".join(blocks) + growing.finish(DOCUMENT) == DOCUMENT
    assert growing.rest == ""


def test_the_end_of_a_text_may_come_late() -> None:
    """The next one grows already: of each is handed out what was not."""
    growing = GrowingText()
    assert growing.grow("First.\n\nSecond.\n") == "First.\n\n"
    assert growing.grow("Other.\n\nThi") == ""
    assert growing.finish("First.\n\nSecond.\n\nThird.") == "Second.\n\nThird."
    assert growing.rest == "Other.\n\nThi"
    assert growing.finish("Other.\n\nThird.") == "Other.\n\nThird."
    assert growing.finish("Nobody saw it begin.") == "Nobody saw it begin."


@pytest.mark.parametrize(
    "bad", ["\x1b[2J", "\x9b2J", "&#27;[2J", "&#x202e;", "\u202e", "&#13;", "&#8;", "\x07", "\x00"]
)
@pytest.mark.parametrize(
    "place", ["a {} b", "`a {} b`", "```{}\nx {}\n```", "[a {}](http://x/{})", "# {}", "|{}|\n|-|\n|{}|"]
)
def test_nothing_that_an_agent_writes_reaches_the_terminal(bad: str, place: str) -> None:
    """Wherever it stands, and however it is spelled."""
    lines = drawn(AgentMarkdown(place.replace("{}", bad)))
    assert not [char for char in "".join(lines) if not char.isprintable()]


def test_markdown_is_drawn_for_people() -> None:
    """HTML is text, code keeps its lines without blanks at their ends, links say where they lead."""
    lines = drawn(AgentMarkdown("<b>x</b>\n\n```python\nif x:\n    y()\n```\n\n[here](http://x.test/)"))
    assert lines == ["<b>x</b>", "", "  python", "  if x:", "      y()", "", "here (http://x.test/)"]


def test_long_output_keeps_both_ends() -> None:
    """And says how much is left out."""
    lines = bound_lines("\n".join(str(n) for n in range(100)))
    assert len(lines) == MOST_OUTPUT
    assert (lines[0], lines[4], lines[-1]) == ("0", "… 89 more lines …", "99")


# --- turns ---------------------------------------------------------------------------------------------------------


def a_turn(status: str, *steps: dict[str, Any], reply: str | None = None) -> dict[str, Any]:
    """As the API says it."""
    return {"status": status, "steps": list(steps), "reply": reply, "error": None, "tokens": 5, "cost_usd": 0.1}


def a_step(n: int, status: str, **more: Any) -> dict[str, Any]:
    """One command."""
    step = {"n": n, "thought": "", "command": f"run {n}", "status": status, "exit_code": None, "output": ""}
    return {**step, "started_at": None, "ended_at": None, "reason": "", "approval": None, **more}


def told(pieces: list[Any]) -> list[str]:
    """Every line that says something."""
    return [line.strip() for piece in pieces for line in drawn(piece.what) if line.strip()]


def test_a_turn_is_told_once() -> None:
    """However often it is looked at, and whatever was seen of it before."""
    story = Story(7, prompt="hi")
    first, second = (
        a_step(1, "running", thought="I look.\n\nNow."),
        a_step(1, "done", thought="I look.\n\nNow.", exit_code=0),
    )
    assert told(story.grow("I look.\n\nNow.\n")) == ["I look."]
    assert told(story.tell(a_turn("running", first))) == ["Now.", "$ run 1"]
    story.print_output(1, "one\ntwo\n")
    assert (story.live_output, story.doing) == (["one", "two"], "runs run 1")
    assert told(story.tell(a_turn("running", first))) == []
    assert told(story.tell(a_turn("running", second))) == ["✓"]
    assert told(story.grow("All\n\nis\n")) == ["All"]
    assert story.growing == "is\n"
    assert told(story.tell(a_turn("done", second, reply="All\n\nis well."))) == ["is well."]
    assert told(story.tell(a_turn("done", second, reply="All\n\nis well."))) == []
    assert (story.is_over, story.growing, story.cost_usd) == (True, "", 0.1)


def test_what_leads_to_a_question_is_told_before_its_command() -> None:
    """The card itself has the command; one that was not allowed is told too."""
    story = Story(7, prompt="hi")
    assert told(story.tell(a_turn("waiting_approval", a_step(1, "asked", thought="May I?")))) == ["May I?"]
    assert story.doing == "waits for your answer"
    refused = a_step(2, "refused", reason="No way.")
    assert told(story.tell(a_turn("running", a_step(1, "asked"), refused))) == ["$ run 2", "not run: No way."]


# --- cards ---------------------------------------------------------------------------------------------------------


def press_all(presses: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """A card that is shown at 0, looked after every twentieth of a second, and what it takes when."""
    guard, taken = KeyGuard(0.0), []
    for now in [n * 0.05 for n in range(80)]:
        for at, key in presses:
            if now - 0.05 < at <= now:
                if guard.is_armed:
                    guard.press(key, ("y", "n"), at)
                else:
                    guard.note_key(at)
        if guard.arm(now) and (meant := guard.take(now)) is not None:
            taken.append((round(now, 2), meant))
    return taken


@pytest.mark.parametrize(
    ("presses", "taken"),
    [
        ([(1.0, "y")], "y"),
        ([(1.0, "n"), (1.1, "\r")], "n"),
        ([(1.0, "\r")], ""),
        ([(READ_S - 0.1, "y")], ""),
        ([(1.0, "y"), (1.1, "e"), (1.2, "s")], ""),
        ([(1.0, "y"), (1.05, "y")], ""),
        ([(1.0, "x"), (1.1, "y")], ""),
        ([(1.0, "x"), (1.0 + ALONE_S + 0.1, "y")], "y"),
        ([(0.4, "h"), (0.8, "e"), (1.2, "y")], ""),
        ([(1.0, ""), (2.0, "yes")], ""),
    ],
)
def test_a_key_counts_when_it_was_meant(presses: list[tuple[float, str]], taken: str) -> None:
    """Alone, after the card could be read, and not in the middle of typing; Enter is nothing."""
    assert "".join(key for _, key in press_all(presses)) == taken


def an_approval(**more: Any) -> dict[str, Any]:
    """As the API says it."""
    text = "rm -r x"
    body = {"id": "a7k2", "agent": "crab", "turn": 7, "step": 1, "kind": "command", "text": text, "shown": text}
    body["expires_at"] = "2026-03-01T10:20:00.000Z"
    return {**body, "reason": "It deletes files.", "detail": {"kinds": ["delete below work/x/"]}, **more}


def test_a_card_says_what_each_key_does() -> None:
    """What can be allowed for longer is named word for word; where nothing can, there is no such key."""
    card = approval_card(an_approval(), nothing)
    said = "\n".join(drawn(card.body, 100))
    assert "It deletes files." in said
    assert "    rm -r x" in said
    assert "“delete below work/x/”" in said
    assert re.search(r"It expires at \d\d:\d\d\.", said)
    assert list(card.keys) == ["y", "n", "d", "a", "c"]
    alone = approval_card(an_approval(detail={}, step=None, kind="asset", shown="https://x.test/"), nothing)
    assert list(alone.keys) == ["y", "n", "d"]
    long = approval_card(an_approval(shown="\n".join(f"echo {n}" for n in range(30))), nothing)
    assert "echo 29" not in "\n".join(drawn(long.body))
    assert "echo 29" in "\n".join(long.rest)


# --- dropped files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pasted", "names"),
    [
        ("{}/a b.txt", ["a b.txt"]),
        ("'{}/a b.txt' ", ["a b.txt"]),
        ('"{}/a b.txt"', ["a b.txt"]),
        ("{}/a\\ b.txt {}/c.txt", ["a b.txt", "c.txt"]),
        ("file://{}/a%20b.txt", ["a b.txt"]),
        ("file://{}/a%20b.txt\nfile://{}/c.txt\n", ["a b.txt", "c.txt"]),
        ("{}/a b.txt\n{}/c.txt", ["a b.txt", "c.txt"]),
        ("~/c.txt", ["c.txt"]),
        ("'{}/it'\\''s.txt'", ["it's.txt"]),
        ("c.txt", []),
        ("{}", []),
        ("{}/none.txt", []),
        ("look at {}/c.txt", []),
        ("file://elsewhere{}/c.txt", []),
        ("it's", []),
        ("", []),
        ("/" + "x" * 5000, []),
    ],
)
def test_dropped_files_are_told_from_text(tmp_path: Path, pasted: str, names: list[str]) -> None:
    """Each terminal quotes in its own way; a paste that is only partly files is text."""
    for name in ("a b.txt", "c.txt", "it's.txt"):
        (tmp_path / name).write_text("four")
    found = read_dropped(pasted.replace("{}", str(tmp_path)), home=tmp_path)
    assert [file.path.name for file in found] == names
    assert all(file.label.endswith("(4 bytes)") for file in found)


# --- commands ------------------------------------------------------------------------------------------------------


def test_a_line_is_a_command_or_a_message() -> None:
    """A path is none."""
    assert read_line("/switch  boat repairs ") == SlashLine("switch", "boat repairs")
    assert read_line("/help") == SlashLine("help", "")
    assert [read_line(text) for text in ("/etc/hosts is odd", "help", "/", "//x", " /help")] == [None] * 5


def test_commands_are_found_by_how_they_begin() -> None:
    """Where only one begins so; an unknown one says the nearest."""
    assert [(found := find_command(name)) and found.name for name in ("he", "agent", "re", "nope")] == [
        "help",
        "agent",
        None,
        None,
    ]
    assert say_unknown("re") == "There is no /re. Did you mean /rename or /retry?"
    assert say_unknown("udno") == "There is no /udno. Did you mean /undo?"
    assert say_unknown("\x1bxyz") == "There is no /\\x1bxyz. /help lists all."


def complete(text: str) -> list[str]:
    """What could stand there."""
    names = {"switch": lambda: [("7", "Boat repairs"), ("8", "Tea\x1b")], "get": lambda: [("out/a\x1b.txt", "")]}
    document = Document(text)
    found = SlashCompleter(names).get_completions(document, CompleteEvent())
    return [text[: len(text) + one.start_position] + one.text for one in found]


def test_commands_and_their_words_are_completed() -> None:
    """Also by what is told of them; what can't be typed is not offered, and a message is left alone."""
    assert complete("/un") == ["/undo"]
    assert len(complete("/")) == len(COMMANDS)
    assert complete("/switch ") == ["/switch 7", "/switch 8"]
    assert complete("/switch boat") == ["/switch 7"]
    assert complete("/get ") == []
    assert complete("hello /un") == []


# --- below the input -----------------------------------------------------------------------------------------------


def test_the_lines_below_fit_any_width() -> None:
    """What doesn't fit is left out; signs say what goes on, not colours alone."""
    tabs = Tabs(Tab("crab", None))
    clerk = Tab("clerk", 3)
    tabs.add(clerk)
    clerk.has_news = True
    tabs.current.stories[1] = Story(1, prompt="hi")
    tabs.current.facts = {"model": "m\x1b1", "budget": {"left_usd": 4.5, "is_stopped": False}}
    tabs.current.name, tabs.current.spent = "Boat", {1: (12_345, 0.25)}
    strip = "".join(text for _, text, *_ in tab_strip(tabs, ["smith"], 60))
    assert strip == " 1 crab …  2 clerk •  smith asks: /asked"
    tabs.all[1].facts = {"display_name": "Ms Ledger"}
    strip = "".join(text for _, text, *_ in tab_strip(tabs, ["smith"], 60))
    assert strip == " 1 crab …  2 Ms Ledger •  smith asks: /asked"
    assert (
        status_line(tabs.current, is_live=True, width=80) == " m\\x1b1 · Boat · 12.3k tokens · $0.25 · $4.50 left today"
    )
    tabs.current.has_more = True
    assert "12.3k+ tokens · $0.25+" in status_line(tabs.current, is_live=True, width=80)
    assert "not connected" in status_line(tabs.current, is_live=False, width=80)
    for width, wider in pairwise(range(1, 80)):
        short, long = (status_line(tabs.current, is_live=True, width=each) for each in (width, wider))
        assert len(short) < max(width, 1) or not short
        assert long.startswith(short)
        assert sum(len(text) for _, text, *_ in tab_strip(tabs, ["smith"], width)) <= width


# --- what a turn changed -------------------------------------------------------------------------------------------


class PointsApi:
    """An API that has points of time, the newest first, as number, kind and turn."""

    def __init__(self, *points: tuple[int, str, int | None]) -> None:
        self._points = [{"id": number, "kind": kind, "turn": turn} for number, kind, turn in points]
        self.compared: list[tuple[str, int]] = []

    def get(self, path: str, **params: Any) -> dict[str, Any]:
        """A page of points of two, or how two of them differ."""
        if path.endswith("/checkpoints"):
            rest = [point for point in self._points if params["before"] is None or point["id"] < params["before"]]
            return {"checkpoints": rest[:2], "next": rest[1]["id"] if len(rest) > 2 else None}
        self.compared.append((path.split("/")[4], params["to"]))
        new = {"type": "file", "size": 3}
        change = {
            "path": "work/a",
            "shown": "work/a\x1b",
            "kind": "made",
            "old": None,
            "new": new,
            "lines": ["+tea\x1b"],
        }
        return {"changes": [change], "total": 1, "to": params["to"]}


@pytest.mark.parametrize(
    ("points", "span"),
    [
        (((3, "command", 7), (2, "command", 7), (1, "before", 7)), ("1", 3)),
        (((4, "after", 8), (3, "before", 8), (2, "after", 7), (1, "before", 7)), ("1", 2)),
        (((4, "after", 7), (3, "command", 7), (2, "person", None), (1, "after", 6)), ("2", 4)),
        (((2, "after", 6), (1, "before", 6)), None),
        (((1, "before", 7),), None),
        ((), None),
    ],
)
def test_what_a_turn_changed_is_between_its_points(
    points: tuple[tuple[int, str, int | None], ...], span: tuple[str, int] | None
) -> None:
    """From the one before it to its newest; names and lines are safe for a terminal."""
    api = PointsApi(*points)
    lines = read_changes(cast("ApiClient", api), "crab", 7)
    assert set(api.compared) == ({span} if span else set())
    assert lines == (["+ work/a\\x1b", "+tea\\x1b"] if span else [])
