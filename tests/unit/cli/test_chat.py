"""``./hermit chat`` and ``./hermit history`` against an install without containers: what a terminal shows, and what
a pipe gets.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.cli.event_stream import EventStream, LivePrinter
from orchestrator.core.models import TurnStatus
from tests.support.app_fixture import API_TOKEN, PATIENCE_S, AppFixture, Scene, run_app
from tests.support.free_ports import free_port

ROOT = Path(__file__).resolve().parents[3]


class Screen(io.StringIO):
    """A standard output that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


class Interrupted(Screen):
    """One before which somebody presses Ctrl-C as soon as there are words on it."""

    def write(self, text: str) -> int:
        """Only what is no word."""
        if text.strip():
            raise KeyboardInterrupt
        return super().write(text)


@dataclass
class Terminal:
    """A person at one."""

    install: AppFixture
    monkeypatch: pytest.MonkeyPatch
    code: int = 0

    def hermit(self, *arguments: str, screen: io.StringIO | None = None) -> tuple[str, str]:
        """What a command prints on both ways."""
        options = parser(arguments[0]).parse_args(list(arguments))
        out, aside = screen or Screen(), io.StringIO()
        with self.monkeypatch.context() as here:
            here.setattr(sys, "stdout", out)
            here.setattr(sys, "stderr", aside)
            self.code = options.run(Context(ROOT, {}, self.install.services.settings), options)
        return out.getvalue(), aside.getvalue()

    def wait_until_watched(self) -> None:
        """Somebody follows the install's news."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.install.services.broker.count_clients():
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """With no conversation yet."""
    with run_app(tmp_path / "home") as install:
        yield Terminal(install, monkeypatch)


def test_a_pipe_gets_the_reply_alone(terminal: Terminal) -> None:
    """As it always was: nobody follows the news, whatever is written meanwhile."""
    watchers: list[int] = []

    def play(scene: Scene) -> None:
        watchers.append(terminal.install.services.broker.count_clients())
        scene.stream("He", "Hel")
        scene.run(1, "ls -l")
        scene.say("Hello\n")

    terminal.install.plays["hi"] = play
    assert terminal.hermit("chat", "crab", "hi", screen=io.StringIO()) == ("Hello\n\n", "  $ ls -l\n")
    assert watchers == [0]


def test_a_terminal_sees_the_reply_grow(terminal: Terminal) -> None:
    """Thoughts, commands and what they print as they come, hostile ones made plain; the reply once."""

    def play(scene: Scene) -> None:
        terminal.wait_until_watched()
        scene.stream("I look", "I look around.")
        scene.run(1, "make", prints=["one\n\x1b[2Jtw", "one\n\x1b[2Jtwo\n"])
        scene.stream("All", "All is", pause_s=0.02)
        scene.say("All is well\x1b[31m.")

    terminal.install.plays["hi"] = play
    out, aside = terminal.hermit("chat", "crab", "hi")
    assert out.endswith("All is well\\x1b[31m.\n")
    assert out.count("well") == 1
    assert "I look around.\n" in out or "I look" not in out
    assert "  $ make\n" in aside
    assert "\x1b" not in out + aside


def test_a_thought_is_shown_whole_or_not_at_all(terminal: Terminal) -> None:
    """Its first word comes at once, the next only after a while: the command that it leads to brings the rest."""

    def play(scene: Scene) -> None:
        terminal.wait_until_watched()
        scene.stream("I", pause_s=0.3)
        scene.run(1, "ls", thought="I look around.")
        scene.run(2, "ls -l", thought="Nobody saw this begin.")
        scene.say("Done.")

    terminal.install.plays["hi"] = play
    out, aside = terminal.hermit("chat", "crab", "hi")
    assert out == "I look around.\nDone.\n"
    assert aside == "  $ ls\n  $ ls -l\n"


def test_a_terminal_goes_on_without_news(terminal: Terminal) -> None:
    """They may break off in the middle: the reply is there nevertheless, once."""

    def play(scene: Scene) -> None:
        terminal.wait_until_watched()
        scene.stream("Hel")
        for subscription in tuple(terminal.install.services.broker._subscribers):
            subscription.close()
        scene.run(1, "ls")
        scene.say("Hello")

    terminal.install.plays["hi"] = play
    out, _ = terminal.hermit("chat", "crab", "hi")
    assert out in ("Hello\n", "Hel\nHello\n")
    assert terminal.code == 0


def test_ctrl_c_stops_the_turn(terminal: Terminal) -> None:
    """While the news are followed, too."""

    def play(scene: Scene) -> None:
        terminal.wait_until_watched()
        scene.stream("Hel")
        scene.wait_for_stop()

    terminal.install.plays["hi"] = play
    assert terminal.hermit("chat", "crab", "hi", screen=Interrupted()) == ("", "Stopped.\n")
    assert terminal.code == 130
    assert terminal.install.services.turns.wait_for_end(1, PATIENCE_S).status is TurnStatus.STOPPED


def test_a_pipe_gets_what_was_written_before_the_turn_was_stopped(terminal: Terminal) -> None:
    """On its own way, and the reason on the other; the conversation tells both afterwards."""

    def play(scene: Scene) -> None:
        scene.stream("Hel")
        terminal.install.services.turns.stop(scene.turn.id)

    terminal.install.plays["hi"] = play
    assert terminal.hermit("chat", "crab", "hi", screen=io.StringIO()) == ("Hel\n", "hermit: The turn was stopped.\n")
    assert terminal.code == 1
    told = terminal.hermit("history", "crab")[0]
    assert "crab: Hel\n    (stopped)" in told
    assert " UTC  from the API\n" in told


def test_news_of_nobody_end_at_once() -> None:
    """Nobody answers there, or somebody who doesn't know us: one looks by oneself."""
    with EventStream(f"http://127.0.0.1:{free_port()}", API_TOKEN) as news:
        assert news.next_event(PATIENCE_S) is None
        assert not news.is_live


def test_news_end_at_once_while_nothing_comes(terminal: Terminal) -> None:
    """Whoever leaves does not wait for the next sign of life."""
    with EventStream(terminal.install.url, API_TOKEN) as news:
        until = time.monotonic() + PATIENCE_S
        while not news.is_live and time.monotonic() < until:
            time.sleep(0.01)
        began = time.monotonic()
    assert time.monotonic() - began < 1.5
    assert not news.is_live


@pytest.mark.parametrize(
    ("drafts", "reply", "shown"),
    [
        ([], "Hello", "Hello\n"),
        ([], "", "\n"),
        (["He", "Hello"], "Hello", "Hello\n"),
        (["He", "Hello"], "Hello you\n", "Hello you\n\n"),
        (["Hello "], "Hello", "Hello \n"),
        (["Hello", "He", "Hello"], "Hello", "Hello\n"),
        (["I look", "So it is"], "So it is.", "I look\nSo it is.\n"),
        (["Draft"], "Reply", "Draft\nReply\n"),
        (["Draft"], "", "Draft\n\n"),
    ],
)
def test_words_grow(drafts: list[str], reply: str, shown: str) -> None:
    """What is told again is not shown again; what is another text begins again."""
    out = io.StringIO()
    growing = LivePrinter(out, io.StringIO())
    for draft in drafts:
        growing.write_text(draft)
    growing.finish_reply(reply)
    assert out.getvalue() == shown


def test_output_grows_by_whole_lines_and_not_for_ever() -> None:
    """The first few of each command."""
    aside = io.StringIO()
    growing = LivePrinter(io.StringIO(), aside)
    for so_far in ("a", "a\nb", "a\nb\n", "a\nb\nc\n"):
        growing.print_output(1, so_far)
    assert aside.getvalue() == "    a\n    b\n    c\n"
    growing.print_output(2, "x\n" * 500)
    growing.print_output(2, "x\n" * 600)
    assert aside.getvalue().count("x") == 12
    assert aside.getvalue().count("…") == 1


def test_the_conversation_is_printed_and_searched(terminal: Terminal) -> None:
    """The newest last, what was found the best first; as JSON too. Nothing of it reaches the terminal."""
    for text in ("the boat Nautilus\x1b[2J", "something else", "where is the Nautilus?"):
        terminal.hermit("chat", "crab", text, screen=io.StringIO())
    out, _ = terminal.hermit("history", "crab", "--find", "naut")
    assert out.index("crab: You said: where is the Nautilus?") < out.index("you: the boat Nautilus\\x1b[2J")
    assert "something else" not in out
    assert "\x1b" not in out
    page, _ = terminal.hermit("history", "crab", "--limit", "1")
    before = page.partition("--before ")[2].partition(")")[0]
    assert "something else" not in page
    assert "something else" in terminal.hermit("history", "crab", "--before", before, "--limit", "1")[0]
    found = json.loads(terminal.hermit("history", "crab", "--find", "naut", "--json")[0])
    assert [turn["prompt"] for turn in found["turns"]] == ["where is the Nautilus?", "the boat Nautilus\x1b[2J"]
    assert "No message matches" in terminal.hermit("history", "crab", "--find", '"*')[0]
