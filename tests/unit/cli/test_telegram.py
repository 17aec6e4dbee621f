"""``./hermit telegram``: the commands against an install without containers and a real Bot API server."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.cli.telegram import to_do
from orchestrator.core.errors import OrchestratorError
from tests.support.app_fixture import API_TOKEN, AppFixture, run_app
from tests.support.bot_api import BotApi

ROOT = Path(__file__).resolve().parents[3]
ADA = 4_200_001


@dataclass
class Terminal:
    """Somebody who types commands."""

    install: AppFixture
    telegram: BotApi
    screen: pytest.CaptureFixture[str]
    keys: pytest.MonkeyPatch

    def types(self, *words: str, said: str = "") -> str:
        """A command that works; what it prints."""
        self.keys.setattr(sys, "stdin", io.StringIO(said))
        options = parser().parse_args(["telegram", *words])
        settings = self.install.services.settings
        assert options.run(Context(ROOT, {}, settings), options) == 0
        return self.screen.readouterr().out

    def refused(self, *words: str, said: str = "") -> str:
        """A command that does not work; its sentence."""
        with pytest.raises(OrchestratorError) as error:
            self.types(*words, said=said)
        return error.value.message

    def code(self) -> str:
        """What the bot would send."""
        state = self.install.services.bots.find_bot("crab")
        assert state is not None
        return str(state.code)


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A terminal in front of an install."""
    with (
        BotApi() as telegram,
        run_app(tmp_path, environment={"HERMIT_TELEGRAM_API_URL": telegram.url}) as install,
    ):
        yield Terminal(install, telegram, capsys, monkeypatch)


def test_a_bot_from_nothing_to_gone(terminal: Terminal) -> None:
    """Each step says what to do next; the token comes from standard input and is never shown."""
    token = terminal.telegram.bot("Crab", username="crab_bot")
    assert "@BotFather" in terminal.types("list")
    said = terminal.types("add", "crab", said=f"{token}\n")
    assert f"Send {terminal.code()} to @crab_bot in Telegram (https://t.me/crab_bot)" in said
    listed = terminal.types("list")
    assert terminal.code() in listed
    assert terminal.install.services.bots.on_code("crab", ADA, terminal.code())
    assert "paired  Write to @crab_bot" in terminal.types("list")
    assert "no Telegram bot any more" in terminal.types("rm", "crab", "--yes")
    assert "crab" in terminal.refused("rm", "crab", "--yes")
    assert token not in said + listed


def test_a_code_that_the_bot_sends(terminal: Terminal) -> None:
    """``add`` waits to hear which way it goes, then says what to type; a wrong code is refused, the right one pairs."""
    terminal.install.services.users.update_user(1, {"telegram_id": ADA})
    token = terminal.telegram.bot("Crab", username="crab_bot")
    terminal.telegram.person(ADA).opens(token)
    said = terminal.types("add", "crab", said=token)
    assert "@crab_bot sent you a code in Telegram: type './hermit telegram confirm crab CODE'" in said
    assert terminal.code() not in said
    assert "wrong or has expired" in terminal.refused("confirm", "crab", f"{(int(terminal.code()) + 1) % 1_000_000:06}")
    assert "linked to you" in terminal.types("confirm", "crab", terminal.code())
    assert "linked already" in terminal.refused("code", "crab")


def test_json(terminal: Terminal) -> None:
    """What lists or shows prints the API's own objects."""
    token = terminal.telegram.bot()
    added = json.loads(terminal.types("add", "crab", "--json", said=token))
    assert (added["state"], added["code_way"]) == ("pairing", "shown")
    assert json.loads(terminal.types("code", "crab", "--json"))["agent"] == "crab"
    assert [bot["agent"] for bot in json.loads(terminal.types("list", "--json"))["bots"]] == ["crab"]


def test_what_does_not_work(terminal: Terminal) -> None:
    """An agent that is not there is said before a token is read; no token, and one that is none."""
    unread = io.StringIO("token")
    terminal.keys.setattr(sys, "stdin", unread)
    assert "no agent called" in terminal.refused("add", "nobody")
    assert "No token was given" in terminal.refused("add", "crab", said="\n")
    assert "BotFather" in terminal.refused("add", "crab", said="hello\n")
    assert "no Telegram bot" in terminal.refused("confirm", "crab", "123456")


def test_the_token_is_not_a_word_of_the_command(terminal: Terminal) -> None:
    """Others on the machine can see those, and the shell remembers them."""
    with pytest.raises(SystemExit):
        parser().parse_args(["telegram", "add", "crab", terminal.telegram.bot()])
    terminal.screen.readouterr()


def test_rm_names_a_setting_that_would_bring_the_bot_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the next start."""
    with BotApi() as telegram:
        environment = {"HERMIT_TELEGRAM_API_URL": telegram.url, "TELEGRAM_BOT_TOKEN": telegram.bot()}
        with run_app(tmp_path, environment=environment) as install:
            assert "TELEGRAM_BOT_TOKEN is still set" in Terminal(install, telegram, capsys, monkeypatch).types(
                "rm", "crab", "--yes"
            )


def test_a_terminal_does_not_show_the_token(terminal: Terminal) -> None:
    """It is asked for, typed, and not echoed."""
    token = terminal.telegram.bot("Crab", username="crab_bot")
    settings = terminal.install.services.settings
    environment = {
        **os.environ,
        "HERMIT_HOME": str(settings.home),
        "HERMIT_PORT": str(settings.port),
        "HERMIT_API_TOKEN": API_TOKEN,
        "PYTHONPATH": str(ROOT),
    }
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-m", "orchestrator", "telegram", "add", "crab"]
    # A session of its own: there is no /dev/tty in it, so the question goes to the terminal that is given.
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        seen = _until(ours, b"BotFather: ")
        os.write(ours, f"{token}\n".encode())
        seen += _until(ours, b"within ten minutes")
        assert process.wait(20) == 0
    os.close(ours)
    assert "@crab_bot" in seen
    assert token not in seen


def _until(terminal: int, words: bytes) -> str:
    seen, deadline = b"", time.monotonic() + 20
    while words not in seen and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            with suppress(OSError):  # the other end was closed
                seen += os.read(terminal, 4096)
    assert words in seen, seen
    return seen.decode()


@pytest.mark.parametrize(
    ("bot", "says"),
    [
        ({"state": "revoked", "problem": "Refused."}, "Refused."),
        ({"state": "paired"}, "Write to @x_bot in Telegram (https://t.me/x_bot)."),
        ({"state": "paired", "username": ""}, "Write to the bot in Telegram."),
        ({"code": "012345", "code_way": "shown"}, "Send 012345 to @x_bot in Telegram"),
        ({}, "'./hermit telegram code crab' makes a new code"),
        ({"code_way": "sent"}, "@x_bot is about to send you a code"),
        ({"code_way": "sent", "code_sent_at": "2026-01-01T00:00:00Z"}, "@x_bot sent you a code in Telegram: type"),
    ],
)
def test_what_to_do(bot: dict[str, str], says: str) -> None:
    """One sentence for each moment."""
    whole = {"agent": "crab", "username": "x_bot", "state": "pairing", "problem": None, "code": None, "code_way": None}
    assert to_do({**whole, "code_sent_at": None, **bot}).startswith(says)
