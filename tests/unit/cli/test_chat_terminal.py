"""``./hermit chat`` at a real terminal: what a person types there, and what they see."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.capabilities.capability import Caller
from orchestrator.core.models import ApprovalStatus, CubicleKey, TurnStatus
from tests.support.app_fixture import API_TOKEN, PATIENCE_S, AppFixture, Scene, run_app
from tests.support.command_line import ROOT

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>()][A-Z0-9]?)")
_READ_S = 0.7
"""So long nobody has read a question yet."""


@dataclass
class Fixture:
    """A person in front of a terminal, with a chat on it."""

    install: AppFixture
    process: subprocess.Popen[bytes]
    terminal: int
    seen: str = ""
    """What came since the last look."""

    def types(self, keys: str) -> None:
        """Keys as the terminal sends them."""
        os.write(self.terminal, keys.encode())

    def sees(self, *words: str) -> str:
        """These words come, in this order; all that was there until then. What comes later is for the next look."""
        deadline, begin = time.monotonic() + PATIENCE_S * 2, self.seen
        for word in words:
            while word not in (plain := _ESCAPES.sub("", self.seen)):
                assert time.monotonic() < deadline, (word, self.seen)
                if select.select([self.terminal], [], [], 0.1)[0]:
                    more = os.read(self.terminal, 65_536).decode("utf-8", "replace")
                    self.seen, begin = self.seen + more, begin + more
            self.seen = plain[plain.index(word) + len(word) :]
        return begin

    def waits_for_a_line(self) -> None:
        """The prompt is there."""
        self.sees("› ")

    def turn(self, number: int) -> TurnStatus:
        """How a turn ended."""
        return self.install.services.turns.wait_for_end(number, PATIENCE_S).status

    def leaves(self) -> int:
        """Ctrl-D; the exit code."""
        self.types("\x04")
        return self.ends()

    def ends(self) -> int:
        """The exit code; whatever it still says is read, or it could not end."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.terminal, 65_536).decode("utf-8", "replace")
                except OSError:  # the other end is closed
                    break
        return self.process.wait(PATIENCE_S)


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """At an empty prompt."""
    with run_app(tmp_path / "home") as install:
        settings = install.services.settings
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        environment = {
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",  # nobody answers where the cursor is
            "HERMIT_HOME": str(settings.home),
            "HERMIT_PORT": str(settings.port),
            "HERMIT_API_TOKEN": API_TOKEN,
            "PYTHONPATH": str(ROOT),
        }
        # A session of its own, whose terminal this is: so Ctrl-C reaches it, as it would reach a shell's command.
        command = ["/usr/bin/setsid", "-c", "/usr/bin/env", "--default-signal=INT"]
        command += [sys.executable, "-P", "-m", "orchestrator", "chat", "crab"]
        with subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            made = Fixture(install, process, ours)
            try:
                made.waits_for_a_line()
                yield made
            finally:
                process.send_signal(signal.SIGKILL)
        os.close(ours)


def test_an_answer_is_drawn(fixture: Fixture) -> None:
    """Markdown becomes bold and bullets; links show where they lead, and nothing reaches the terminal."""
    reply = "# Tea\n\nIt is **strong**.\n\n- one\n- [here](http://example.org/x)\n\n\x1b[2J"
    fixture.install.plays["hi"] = lambda scene: scene.say(reply)
    fixture.types("hi\r")
    seen = fixture.sees("Tea", "It is strong.", "• one", "here (http://example.org/x)", "\\x1b[2J", "› ")
    assert "**" not in seen
    assert "\x1b[1mstrong" in seen
    assert "\x1b[2J" not in seen
    assert fixture.leaves() == 0


def test_a_turn_is_watched(fixture: Fixture) -> None:
    """Words as they are written, thoughts and commands in their order, the answer once."""

    def play(scene: Scene) -> None:
        scene.stream("I", pause_s=0.3)
        scene.run(1, "make tea", thought="I look around.", prints=["one\ntwo\n"])
        scene.stream("All", "All is w", pause_s=0.3)
        scene.say("All is well.")

    fixture.install.plays["hi"] = play
    fixture.types("hi\r")
    seen = fixture.sees("I look around.", "$ make tea", "    one", "    two", "All is well.", "› ")
    assert seen.count("All is well.") == 1


def test_lines_are_edited_and_remembered(fixture: Fixture) -> None:
    """A backslash or Alt+Enter begins a new line, a paste sends nothing; what was typed is there next time, for nobody
    else to read."""
    fixture.types("one\\\rtwo\x1b\rthree\r")
    fixture.sees("You said: one two three", "› ")
    assert fixture.install.services.turns.wait_for_end(1, PATIENCE_S).prompt == "one\ntwo\nthree"
    fixture.types("\x1b[200~first\nsecond\x1b[201~")
    fixture.types(" line\r")
    fixture.sees("You said: first second line", "› ")
    fixture.types("\x1b[A\r")
    fixture.sees("You said: first second line", "› ")
    assert fixture.install.services.turns.wait_for_end(3, PATIENCE_S).prompt == "first\nsecond line"
    kept = fixture.install.services.settings.home / "logs" / "chat-history"
    assert "+second line" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


def test_ctrl_c_stops_the_turn_and_ctrl_d_leaves(fixture: Fixture) -> None:
    """At the prompt Ctrl-C throws away what was typed; nobody sees a traceback."""

    def play(scene: Scene) -> None:
        scene.stream("Hel")
        scene.wait_for_stop()

    fixture.install.plays["hi"] = play
    fixture.types("hi\r")
    fixture.sees("Hel")
    fixture.types("\x03")
    fixture.sees("Stopped.", "› ")
    assert fixture.turn(1) is TurnStatus.STOPPED
    fixture.types("thrown away\x03")
    fixture.waits_for_a_line()
    fixture.types("kept\r")
    fixture.sees("You said: kept", "› ")
    assert fixture.leaves() == 0
    assert "Traceback" not in fixture.seen


@pytest.mark.parametrize(("key", "is_run"), [("y", True), ("n", False)])
def test_approvals_take_a_single_key(fixture: Fixture, key: str, *, is_run: bool) -> None:
    """Others are not heard, nor is one that was pressed before the question could be read."""
    fixture.install.plays["go"] = lambda scene: scene.say(
        "ran" if scene.run(1, "rm -rf /app/workspace/work") else "did not run"
    )
    fixture.types("go\ryyy")
    fixture.sees("rm -rf /app/workspace/work", "Run it? (y/n) ")
    time.sleep(_READ_S)
    fixture.types("x")
    fixture.types("\x1b[A")
    time.sleep(0.3)
    assert len(fixture.install.services.approvals.list_approvals(status=ApprovalStatus.PENDING)) == 1
    fixture.types(f"{key}\r")
    fixture.sees("ran" if is_run else "did not run", "› ")


def test_what_a_command_printed_stands_above_the_next_question(fixture: Fixture) -> None:
    """A person decides with it in sight."""

    def play(scene: Scene) -> None:
        scene.run(1, "ls", prints=["notes.txt\n"])
        scene.run(2, "rm -rf /app/workspace/work")
        scene.say("Done.")

    fixture.install.plays["go"] = play
    fixture.types("go\r")
    fixture.sees("$ ls", "    notes.txt", "Run it? (y/n) ")
    time.sleep(_READ_S)
    fixture.types("n")
    fixture.sees("Done.", "› ")


def test_a_long_command_is_seen_whole_before_a_yes_counts(fixture: Fixture) -> None:
    """The first yes shows the rest."""
    command = "rm -rf /app/workspace/work\n" + "\n".join(f"echo {n}" for n in range(40)) + "\nrm hidden"
    fixture.install.plays["go"] = lambda scene: scene.say("ran" if scene.run(1, command) else "did not run")
    fixture.types("go\r")
    assert "hidden" not in fixture.sees("Run it? (y/n, v shows 22 more lines) ")
    time.sleep(_READ_S)
    fixture.types("y")
    fixture.sees("rm hidden", "Run it? (y/n) ")
    time.sleep(_READ_S)
    fixture.types("y")
    fixture.sees("ran", "› ")


def test_a_question_is_answered_in_place(fixture: Fixture) -> None:
    """By the number of a choice; the chat goes on."""

    def play(scene: Scene) -> None:
        calls, steps = scene.install.app._capabilities.calls, scene.install.steps
        steps.start_step(scene.key, scene.turn.id, 1, thought="", command="hermit ask", approval=None)
        fields = {"question": "Which tea?", "choices": ["green", "black"]}
        calls.run_command(Caller(scene.key, scene.turn.id), "q1", "ASK", fields)
        done = calls.wait_call(scene.key, "q1", PATIENCE_S)
        steps.end_step(scene.key, scene.turn.id, 1, exit_code=0, output=done.text, ended="exited")
        scene.say(f"So {done.text}.")

    fixture.install.plays["go"] = play
    fixture.types("go\r")
    fixture.sees("crab asks:", "Which tea?", "2. black", "Your answer:")
    fixture.types("3\r")
    fixture.sees("choose one of green, black", "Your answer:")
    fixture.types("2\r")
    fixture.sees("So black.", "› ")


def test_a_conversation_survives_what_goes_wrong(fixture: Fixture) -> None:
    """A turn that fails and a message that is refused are each a line, and the prompt comes back."""
    fixture.install.plays["hi"] = lambda scene: scene.fail("The model\x1b[2J refused.")
    fixture.types("hi\r")
    fixture.sees("The model\\x1b[2J refused.", "› ")
    fixture.install.services.agents.remove("crab")
    fixture.types("again\r")
    fixture.sees("There is no agent called", "› ")
    assert fixture.leaves() == 1


def test_what_is_decided_elsewhere_is_not_asked_any_more(fixture: Fixture) -> None:
    """The chat goes on by itself."""
    fixture.install.plays["go"] = lambda scene: scene.say(
        "ran" if scene.run(1, "rm -rf /app/workspace/work") else "did not run"
    )
    fixture.types("go\r")
    fixture.sees("Run it? (y/n) ")
    services = fixture.install.services
    (approval,) = services.approvals.list_approvals(status=ApprovalStatus.PENDING)
    services.approvals.decide(approval.id, approve=True, by=services.users.get_operator(), surface="test")
    fixture.sees("It was decided elsewhere.", "ran", "› ")


def test_commands_of_the_chat(fixture: Fixture) -> None:
    """They are not sent to the agent; a path that only begins like one is."""
    key = CubicleKey("crab", 1)
    mounts = fixture.install.services.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
    (mounts.out / "report\x1b.txt").write_text("four")
    fixture.types("/he\t\r")
    fixture.sees("/clear", "Ctrl-D leaves", "› ")
    fixture.types("/files\r")
    fixture.sees("report\\x1b.txt  4 bytes", "› ")
    fixture.types("/stop\r")
    fixture.sees("Nothing is running.", "› ")
    fixture.types("/nonsense\r")
    fixture.sees("There is no such command.", "/quit", "› ")
    fixture.types("/etc/hosts is odd\r")
    fixture.sees("You said: /etc/hosts is odd", "› ")
    fixture.types("/clear\r")
    fixture.sees("Clear it? (y/n) ")
    time.sleep(_READ_S)
    fixture.types("y")
    fixture.sees("The conversation is cleared.", "› ")
    assert not fixture.install.services.turns.wait_for_end(1, PATIENCE_S).prompt.startswith("/he")
    fixture.types("a line\n")  # as programs send it that sit at a terminal
    fixture.sees("You said: a line", "› ")
    fixture.types("/quit\r")
    assert fixture.ends() == 0
