"""What destroys something needs a yes that a person typed at a terminal, or ``--yes``."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.confirm import confirm_deed
from orchestrator.cli.context import Context
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, run_app

ROOT = Path(__file__).resolve().parents[3]

DEEDS: dict[str, tuple[list[str], str]] = {
    "an agent": (["agent", "rm", "crab"], "crab"),
    "a file": (["files", "rm", "crab", "work/notes.txt"], "yes"),
    "a memory": (["memory", "crab", "rm", "1"], "yes"),
    "an entry": (["calendar", "crab", "rm", "1"], "yes"),
    "a bot": (["telegram", "rm", "crab"], "yes"),
}
"""Each command that destroys something, and what has to be typed."""


@pytest.fixture
def install(tmp_path: Path) -> Iterator[AppFixture]:
    """An install with something to lose in it."""
    with run_app(tmp_path / "home") as made:
        mounts = made.services.workspaces.prepare_folders(CubicleKey("crab", 1), uid=os.geteuid(), gid=os.getegid())
        (mounts.work / "notes.txt").write_text("irreplaceable")
        _run(made, "memory", "crab", "add", "I like green tea")
        _run(made, "calendar", "crab", "add", "Tea", "Make tea.", "2190-03-01T09:00")
        made.services.bots.set_up("crab", f"123456789:{'A' * 35}")
        yield made


def _run(install: AppFixture, *arguments: str) -> None:
    options = parser().parse_args(list(arguments))
    assert options.run(Context(ROOT, {}, install.services.settings), options) == 0


@contextmanager
def _typed(monkeypatch: pytest.MonkeyPatch, text: str) -> Iterator[None]:
    """A person at a terminal types a line."""
    keyboard, screen = pty.openpty()
    os.write(keyboard, text.encode() + b"\n")
    with os.fdopen(screen, encoding="utf-8") as stdin, monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", stdin)
        yield
    os.close(keyboard)


@contextmanager
def _piped(monkeypatch: pytest.MonkeyPatch, text: str) -> Iterator[None]:
    """Nobody sits at a terminal."""
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stdin, monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", stdin)
        yield


def _left(install: AppFixture) -> set[str]:
    """Which of the things to lose are there."""
    with Context(ROOT, {}, install.services.settings).client as client:
        agents = client.get("/agents")["agents"]
        if not agents:
            return set()
        memories = client.get("/agents/crab/memories")["memories"]
        entries = client.get("/agents/crab/calendar")["entries"]
        files = client.get("/agents/crab/files/work")["entries"]
    return {
        "an agent",
        *("a bot" for agent in agents if agent["telegram"]),
        *("a memory" for memory in memories if memory["text"] == "I like green tea"),
        *("an entry" for entry in entries if entry["title"] == "Tea"),
        *("a file" for file in files if file["name"] == "notes.txt"),
    }


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("piped", ["", "\n", "y\n", "yes\n", "crab\n"])
def test_no_terminal_is_no_yes(install: AppFixture, monkeypatch: pytest.MonkeyPatch, deed: str, piped: str) -> None:
    """Whatever is piped in, closed and empty standard input included; the line names the option."""
    arguments, _ = DEEDS[deed]
    with _piped(monkeypatch, piped), pytest.raises(OrchestratorError) as caught:
        _run(install, *arguments)
    assert "--yes" in caught.value.message
    assert "\n" not in caught.value.message
    assert _left(install) == set(DEEDS)


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("typed", ["", "no", "y es", "CRAB"])
def test_another_word_is_no_yes(install: AppFixture, monkeypatch: pytest.MonkeyPatch, deed: str, typed: str) -> None:
    """Pressing Enter deletes nothing."""
    with _typed(monkeypatch, typed), pytest.raises(OrchestratorError, match=r"Nothing was (deleted|removed)\."):
        _run(install, *DEEDS[deed][0])
    assert _left(install) == set(DEEDS)


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("way", ["typed", "--yes"])
def test_a_yes_is_one(install: AppFixture, monkeypatch: pytest.MonkeyPatch, deed: str, way: str) -> None:
    """Typed to the letter, or given as an option where nobody sits."""
    arguments, expected = DEEDS[deed]
    if way == "typed":
        with _typed(monkeypatch, expected):
            _run(install, *arguments)
    else:
        with _piped(monkeypatch, ""):
            _run(install, *arguments, way)
    assert _left(install) == (set() if deed == "an agent" else set(DEEDS) - {deed})


def test_what_was_not_done_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused restore deleted nothing, but that is not what it would have done."""
    for given in (_typed, _piped):
        with given(monkeypatch, "no"), pytest.raises(OrchestratorError, match=r"Nothing was replaced\b"):
            confirm_deed("This replaces the install", yes=False, undone="replaced")


@pytest.mark.parametrize(
    "arguments", [["agent", "list"], ["agent", "show", "crab"], ["agent", "set", "crab", "role=x"]]
)
def test_secret_addresses_are_not_shown(
    install: AppFixture, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """They land in bug reports otherwise; whoever asks for them gets them."""
    for more in ([], ["--json"]):
        _run(install, *arguments, *more)
        assert ".ics" not in capsys.readouterr().out
    _run(install, "agent", "show", "crab", "--secrets")
    assert ".ics" in capsys.readouterr().out
