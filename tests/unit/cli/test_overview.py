"""What ``./hermit --help`` says, and how little it loads for that."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from orchestrator.__main__ import COMMANDS, main, parser
from orchestrator.cli.completion import list_levels
from orchestrator.cli.overview import GROUPS
from orchestrator.core.config import SETTINGS

ROOT = Path(__file__).resolve().parents[3]
HEAVY = (
    *("flask", "docker", "requests", "telegram", "apscheduler", "cheroot", "sqlite_utils", "httpx", "watchdog"),
    *("prompt_toolkit", "rich", "authlib", "joserfc"),
)


def test_every_command_is_told_once() -> None:
    """Under one heading; `serve` is what `up` starts, and nobody's to type."""
    told = [name for commands in GROUPS.values() for name in commands]
    assert sorted([*told, "serve"]) == sorted(" ".join(COMMANDS.values()).split())


@pytest.mark.parametrize("arguments", [[], ["-h"], ["--help"], ["help"]])
def test_bare_is_help(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """It names every command, and ends well."""
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for commands in GROUPS.values() for name in commands)


def test_settings_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """All of them."""
    assert main(["help", "settings"]) == 0
    said = capsys.readouterr().out
    assert [name for name in SETTINGS if name not in said] == []


@pytest.mark.parametrize(
    ("typed", "meant"), [("chta", "chat"), ("agents", "agent"), ("stauts", "status"), ("logon-link", "login-link")]
)
def test_a_slip_is_understood(capsys: pytest.CaptureFixture[str], typed: str, meant: str) -> None:
    """One line that names what was probably meant."""
    assert main([typed]) == 2
    said = capsys.readouterr().err
    assert f"Did you mean '{meant}'?" in said
    assert said.count("\n") == 1


def test_nonsense_is_not_guessed_at(capsys: pytest.CaptureFixture[str]) -> None:
    """No command is like it; what was typed can't play with the terminal."""
    assert main(["\x1b[2Jqqqq"]) == 2
    said = capsys.readouterr().err
    assert "Did you mean" not in said
    assert "\x1b" not in said


@pytest.mark.parametrize("argument", ["--help", "--version", "help"])
def test_help_loads_next_to_nothing(argument: str) -> None:
    """Not the server, the engine or any library."""
    code = f"import sys; from orchestrator.__main__ import main; main([{argument!r}]); print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    loaded = set(ran.stdout.splitlines()[-1].split())
    assert [name for name in HEAVY if name in loaded] == []
    assert len([name for name in loaded if name.startswith("orchestrator")]) < 13


def test_only_a_chat_at_a_terminal_loads_what_draws_one() -> None:
    """Everybody else would wait for it."""
    code = "import sys; from orchestrator.__main__ import parser; parser(); print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert {"prompt_toolkit", "rich"} & set(ran.stdout.split()) == set()


def _every() -> dict[str, argparse.ArgumentParser]:
    """Every command and verb that is for people."""
    top = parser()
    commands = next(action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    found: dict[str, argparse.ArgumentParser] = {}
    for level in list_levels(commands):
        inner = commands
        for word in level.path.split():
            found[level.path] = inner.choices[word]
            deeper = [a for a in found[level.path]._actions if isinstance(a, argparse._SubParsersAction)]
            inner = deeper[0] if deeper else inner
    return found


@pytest.mark.parametrize(("path", "command"), _every().items(), ids=list(_every()))
def test_help_explains_and_has_examples_that_work(path: str, command: argparse.ArgumentParser) -> None:
    """Each command and verb says what it is for; its examples are read by the parser, and are about it."""
    assert command.description
    assert command.description.endswith(".")
    examples = re.findall(r"^  \./hermit (.+)$", command.epilog or "", re.MULTILINE)
    assert examples
    for example in examples:
        words = list(takewhile(lambda word: word not in ("|", ">", "<"), shlex.split(example)))
        assert path.startswith(words[0])
        assert set(path.split()) <= set(words)
        if path != "test":  # whose arguments are those of pytest
            parser(words[0]).parse_args(words)
    assert max(len(line) for line in command.format_help().splitlines()) <= 120


def test_what_the_overview_says_is_what_help_says() -> None:
    """One sentence for each command, not two that drift apart."""
    commands = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    told = {action.dest: action.help for action in commands._choices_actions}
    assert told == {name: text for commands in GROUPS.values() for name, text in commands.items()}
