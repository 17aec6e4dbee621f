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
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.capabilities.capability import Caller
from orchestrator.cli.talk.cards import ALONE_S
from orchestrator.core.models import ApprovalStatus, CubicleKey, TurnStatus
from tests.support.app_fixture import API_TOKEN, PATIENCE_S, AppFixture, Scene, run_app
from tests.support.command_line import ROOT

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>()][A-Z0-9]?)")
_AFTER_READING_S = ALONE_S * 2
"""Longer than a key has to be alone."""
DANGEROUS = "rm -rf /app/workspace/work"


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
        begin = self.seen
        for word in words:
            deadline = time.monotonic() + PATIENCE_S * 2
            while word not in (plain := _ESCAPES.sub("", self.seen)):
                assert time.monotonic() < deadline, (word, self.seen)
                if select.select([self.terminal], [], [], 0.1)[0]:
                    more = os.read(self.terminal, 65_536).decode("utf-8", "replace")
                    self.seen, begin = self.seen + more, begin + more
            self.seen = plain[plain.index(word) + len(word) :]
        return begin

    def waits_for_a_line(self) -> None:
        """The empty input is drawn anew."""
        self.sees("or / for commands")

    def decides(self, key: str) -> None:
        """A key for the card that has just come, once it hears keys."""
        self.sees("Esc later")
        self.types(key)

    def pastes(self, text: str) -> None:
        """As a terminal does it, also with a file that is dropped onto it."""
        self.types(f"\x1b[200~{text}\x1b[201~")

    def pending(self) -> int:
        """How many approvals wait."""
        return len(self.install.services.approvals.list_approvals(status=ApprovalStatus.PENDING))

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


@contextmanager
def chat(folder: Path, *, columns: int = 100, **more: str) -> Iterator[Fixture]:
    """A chat on a terminal of so many columns, with this environment besides."""
    with run_app(folder / "home") as install:
        settings = install.services.settings
        ours, theirs = pty.openpty()
        resize(theirs, columns)
        environment = {
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "PROMPT_TOOLKIT_NO_CPR": "1",  # nobody answers where the cursor is
            "HERMIT_HOME": str(settings.home),
            "HERMIT_PORT": str(settings.port),
            "HERMIT_API_TOKEN": API_TOKEN,
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder),
            **more,
        }
        # A session of its own, whose terminal this is: so Ctrl-C reaches it, as it would reach a shell's command.
        command = ["/usr/bin/setsid", "-c", "/usr/bin/env", "--default-signal=INT"]
        command += [sys.executable, "-P", "-m", "orchestrator", "chat", "crab"]
        with subprocess.Popen(
            command, env=environment, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            made = Fixture(install, process, ours)
            try:
                made.waits_for_a_line()
                yield made
            finally:
                process.send_signal(signal.SIGKILL)
        os.close(ours)


def resize(terminal: int, columns: int) -> None:
    """The window is so wide now."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """At an empty prompt."""
    with chat(tmp_path) as made:
        yield made


def asks(scene: Scene) -> None:
    """A play that does something only with a yes."""
    scene.say("It ran." if scene.run(1, DANGEROUS) else "It did not run.")


def test_an_answer_is_drawn(fixture: Fixture) -> None:
    """Markdown becomes bold and bullets; links show where they lead, what looks like HTML is text, and nothing reaches
    the terminal, not even by way of an entity."""
    reply = "# Tea\n\nIt is **strong**.\n\n- one\n- [here](http://example.org/x)\n\n<b>x</b> a&#x202e;b&#13;c \x1b[2J"
    fixture.install.plays["hi"] = lambda scene: scene.say(reply)
    fixture.types("hi\r")
    seen = fixture.sees("Tea", "It is strong.", "• one", "here (http://example.org/x)", "<b>x</b> a\\u202ebc \\x1b[2J")
    assert "**" not in seen
    assert "\x1b[1mstrong" in seen
    assert "\x1b[2J" not in seen
    assert "\u202e" not in seen
    fixture.waits_for_a_line()
    assert fixture.leaves() == 0


def test_any_width_will_do_and_no_colors_too(tmp_path: Path) -> None:
    """A narrow window, one that changes, and a person who wants no colours: what is drawn fits."""
    with chat(tmp_path, columns=40, NO_COLOR="1") as fixture:
        fixture.install.plays["hi"] = lambda scene: scene.say("word " * 30 + "end of it\n\n`code`")
        for columns in (40, 70):
            resize(fixture.terminal, columns)
            fixture.process.send_signal(signal.SIGWINCH)
            fixture.types("hi\r")
            seen = fixture.sees("› hi", "word word", "end of it", "code")
            lines = [_ESCAPES.sub("", line).strip() for line in seen.split("\n")]
            widest = max(len(line) for line in lines if line.startswith("word word"))
            assert columns - 5 <= widest <= columns
            assert not re.search(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d)(?:;|m)", seen)
            fixture.waits_for_a_line()


def test_a_turn_is_watched(fixture: Fixture) -> None:
    """Words as they are written, thoughts, commands with what they print and how they end, each once for good."""

    def play(scene: Scene) -> None:
        scene.stream("First.\n\nSec", pause_s=0.3)
        scene.stream("First.\n\nSecond.\n\nThi", pause_s=0.3)
        scene.run(1, "make tea", thought="First.\n\nSecond.\n\nThird.", output="one\ntwo\n", exit_code=3)
        scene.say("All is well.")

    fixture.install.plays["hi"] = play
    fixture.types("hi\r")
    seen = fixture.sees(
        "First.", "Second.", "Third.", "$ make tea", "    one", "    two", "exit code 3", "All is well."
    )
    for words in ("$ make tea", "    one", "exit code 3"):
        assert _ESCAPES.sub("", seen).count(words) == 1, words


def test_lines_are_edited_and_remembered(fixture: Fixture) -> None:
    """A backslash or Alt+Enter begins a new line, a paste sends nothing; what was typed is there next time, for nobody
    else to read."""
    fixture.types("one\\\rtwo\x1b\rthree\r")
    fixture.sees("You said: one two three")
    assert fixture.install.services.turns.wait_for_end(1, PATIENCE_S).prompt == "one\ntwo\nthree"
    fixture.pastes("first\nsecond")
    fixture.types(" line\r")
    fixture.sees("You said: first second line")
    fixture.types("\x1b[A\r")
    fixture.sees("You said: first second line")
    assert fixture.install.services.turns.wait_for_end(3, PATIENCE_S).prompt == "first\nsecond line"
    kept = fixture.install.services.settings.home / "logs" / "chat-history-crab"
    assert "+second line" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("key", ["\x03", "\x1b"])
def test_ctrl_c_and_esc_stop_the_turn_and_ctrl_d_leaves(fixture: Fixture, key: str) -> None:
    """At the prompt Ctrl-C throws away what was typed; nobody sees a traceback."""

    def play(scene: Scene) -> None:
        scene.stream("Hel")
        scene.wait_for_stop()

    fixture.install.plays["hi"] = play
    fixture.types("hi\r")
    fixture.sees("Hel")
    fixture.types(key)
    fixture.sees("Stopped.")
    assert fixture.turn(1) is TurnStatus.STOPPED
    fixture.waits_for_a_line()
    fixture.types("thrown away\x03")
    fixture.types("kept\r")
    fixture.sees("You said: kept")
    assert fixture.leaves() == 0
    assert "Traceback" not in fixture.seen


@pytest.mark.parametrize(("key", "end"), [("y", "It ran."), ("n", "It did not run."), ("a", "It ran.")])
def test_approvals_take_a_single_key(fixture: Fixture, key: str, end: str) -> None:
    """Others are not heard, nor Enter alone, nor a word or a paste with the key in it, nor what was typed before the
    question could be read. What was being typed is there again afterwards."""
    fixture.install.plays["go"] = asks
    fixture.types("go\ryes")
    fixture.sees(DANGEROUS, "Run it?", "Esc later")
    fixture.types("\r")
    fixture.types("yyes")
    time.sleep(_AFTER_READING_S)
    fixture.pastes("y")
    fixture.types("x\x1b[A")
    time.sleep(_AFTER_READING_S)
    assert fixture.pending() == 1
    fixture.types(f"{key}\r")
    fixture.sees(end, "› yes")
    grants = fixture.install.services.grants.of_agent("crab", viewer=fixture.install.services.users.get_operator())
    assert len(grants) == (key == "a")


def test_a_no_says_why(fixture: Fixture) -> None:
    """The agent is told in the person's words; Esc goes back to the keys."""
    fixture.install.plays["go"] = asks
    fixture.types("go\r")
    fixture.decides("d")
    fixture.sees("what to do instead:")
    fixture.types("yes\x1b")
    fixture.decides("d")
    fixture.sees("what to do instead:")
    fixture.types("use trash\r")
    fixture.sees("No: use trash", "It did not run.")
    (decided,) = fixture.install.services.approvals.list_approvals(status=ApprovalStatus.DENIED)
    assert "use trash" in str(decided)


def test_what_is_put_off_is_asked_again(fixture: Fixture) -> None:
    """Esc leaves the question open, and ``/asked`` brings it back."""
    fixture.install.plays["go"] = asks
    fixture.types("go\r")
    fixture.decides("\x1b")
    fixture.sees("Later, then: /asked")
    fixture.waits_for_a_line()
    assert fixture.pending() == 1
    fixture.types("/asked\r")
    fixture.sees(DANGEROUS)
    fixture.decides("y")
    fixture.sees("It ran.")


def test_what_a_command_printed_stands_above_the_next_question(fixture: Fixture) -> None:
    """A person decides with it in sight."""

    def play(scene: Scene) -> None:
        scene.run(1, "ls", output="notes.txt\n")
        scene.run(2, DANGEROUS, thought="Now it goes.")
        scene.say("Done.")

    fixture.install.plays["go"] = play
    fixture.types("go\r")
    fixture.sees("$ ls", "    notes.txt", "Now it goes.", DANGEROUS)
    fixture.decides("n")
    fixture.sees("Done.")


def test_a_long_command_is_seen_whole_before_a_yes_counts(fixture: Fixture) -> None:
    """The first yes shows the rest."""
    command = f"{DANGEROUS}\n" + "\n".join(f"echo {n}" for n in range(40)) + "\nrm hidden"
    fixture.install.plays["go"] = lambda scene: scene.say("ran" if scene.run(1, command) else "did not run")
    fixture.types("go\r")
    assert "hidden" not in fixture.sees("view 22 more lines", "Esc later")
    fixture.types("y")
    fixture.sees("rm hidden")
    fixture.decides("y")
    fixture.sees("ran")


def test_a_question_is_answered_in_place(fixture: Fixture) -> None:
    """By the number of a choice; the chat goes on."""

    def play(scene: Scene) -> None:
        calls, steps = scene.install.app._capabilities.calls, scene.install.steps
        steps.start_step(scene.key, scene.turn.id, 1, thought="", command="hermit ask", approval=None)
        fields = {"question": "Which tea?", "choices": ["green", "black"]}
        calls.run_command(Caller(scene.key, scene.turn.id), "q1", "ASK", fields)
        done = calls.wait_call(scene.key, "q1", PATIENCE_S * 6)
        steps.end_step(scene.key, scene.turn.id, 1, exit_code=0, output=done.text, ended="exited")
        scene.say(f"So {done.text}.")

    fixture.install.plays["go"] = play
    fixture.types("go\r")
    fixture.sees("crab asks:", "Which tea?", "2. black", "Your answer:")
    fixture.types("3\r")
    fixture.sees("choose one of green, black", "Your answer:")
    fixture.types("2\r")
    fixture.sees("You answered: black", "So black.")


def test_a_conversation_survives_what_goes_wrong(fixture: Fixture) -> None:
    """A turn that fails and a message that is refused are each a line, and the prompt comes back."""
    fixture.install.plays["hi"] = lambda scene: scene.fail("The model\x1b[2J refused.")
    fixture.types("hi\r")
    fixture.sees("The model\\x1b[2J refused.")
    fixture.install.services.agents.remove("crab")
    fixture.types("again\r")
    fixture.sees("There is no agent called")
    assert fixture.leaves() == 1


def test_what_is_decided_elsewhere_is_not_asked_any_more(fixture: Fixture) -> None:
    """The chat goes on by itself."""
    fixture.install.plays["go"] = asks
    fixture.types("go\r")
    fixture.sees("Run it?")
    services = fixture.install.services
    (approval,) = services.approvals.list_approvals(status=ApprovalStatus.PENDING)
    services.approvals.decide(approval.id, approve=True, by=services.users.get_operator(), surface="test")
    fixture.sees("It was decided elsewhere.", "It ran.")


def test_commands_of_the_chat(fixture: Fixture) -> None:
    """They are not sent to the agent; a path that only begins like one is."""
    key = CubicleKey("crab", 1)
    mounts = fixture.install.services.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
    (mounts.out / "report\x1b.txt").write_text("four")
    (mounts.out / "tea.txt").write_text("tea")
    fixture.types("/help\r")
    fixture.sees("/clear", "Ctrl+D leaves")
    fixture.types("/files\r")
    fixture.sees("report\\x1b.txt", "4 bytes")
    fixture.types("/get out/tea.txt\r")
    fixture.sees("Saved as tea.txt.")
    fixture.types("/stop\r")
    fixture.sees("Nothing is running.")
    fixture.types("/renmae Boat\r")
    fixture.sees("Did you mean /rename?")
    fixture.types("/etc/hosts is odd\r")
    fixture.sees("You said: /etc/hosts is odd")
    fixture.types("//help\r")
    fixture.sees("You said: /help")
    fixture.types("/rename Boat repairs\r")
    fixture.sees("This conversation is called Boat repairs.")
    fixture.types("/export\r")
    fixture.sees("Saved as Boat repairs.md.")
    fixture.types("/new\r")
    fixture.sees("This is conversation 2.")
    fixture.types("/switch boat\r")
    fixture.sees("crab · Boat repairs", "You said: /help")
    fixture.types("/clear\r")
    fixture.sees("Clear it?")
    fixture.decides("y")
    fixture.sees("The conversation is cleared.")
    fixture.types("a line\n")  # as programs send it that sit at a terminal
    fixture.sees("You said: a line")
    fixture.types("/quit\r")
    assert fixture.ends() == 0
    folder = fixture.install.services.settings.home.parent
    assert (folder / "tea.txt").read_text() == "tea"
    assert "/etc/hosts is odd" in (folder / "Boat repairs.md").read_text()


def test_the_last_message_is_sent_again(fixture: Fixture) -> None:
    """For another answer, or with other words: beside itself, so that both stay."""
    answers = iter(["first", "second"])
    fixture.install.plays["hi"] = lambda scene: scene.say(next(answers))
    fixture.types("hi\r")
    fixture.sees("first")
    fixture.waits_for_a_line()
    fixture.types("/retry\r")
    fixture.sees("asked again", "second")
    fixture.waits_for_a_line()
    fixture.types("/edit\r")
    fixture.sees("with other words")
    fixture.types(" there\r")
    fixture.sees("You said: hi there")
    turns = [fixture.install.services.turns.get(number) for number in (1, 2, 3)]
    assert [turn.prompt for turn in turns] == ["hi", "hi", "hi there"]
    assert len({turn.parent for turn in turns}) == 1


def test_files_are_dropped(fixture: Fixture, tmp_path: Path) -> None:
    """A paste that is where files are attaches them; the last one can be taken away again; other text stays text."""
    for name in ("a b.txt", "c.txt"):
        (tmp_path / name).write_text("four")
    fixture.pastes(f"'{tmp_path}/a b.txt' ")
    fixture.sees("a b.txt (4 bytes)")
    fixture.pastes(f"file://{tmp_path}/c.txt")
    fixture.sees("c.txt (4 bytes)")
    fixture.types("\x7f")
    fixture.types("look\r")
    fixture.sees("with a b.txt (4 bytes)", "You said: look")
    prompt = fixture.install.services.turns.wait_for_end(1, PATIENCE_S).prompt
    assert "a b.txt" in prompt
    assert "c.txt" not in prompt
    fixture.waits_for_a_line()
    fixture.types("/edit\r")
    fixture.sees("with other words")
    fixture.types(" again\r")
    fixture.sees("You said: look again")
    again = fixture.install.services.turns.wait_for_end(2, PATIENCE_S).prompt
    assert again == prompt.replace("look", "look again")


def test_agents_have_tabs(fixture: Fixture) -> None:
    """Each keeps its draft and goes on while another is looked at; what one asks shows in the others."""
    fixture.install.services.agents.create({"name": "clerk"})
    fixture.install.plays["go"] = asks
    fixture.types("/agent clerk\r")
    fixture.sees("clerk", "2 clerk")
    fixture.types("go\r")
    fixture.sees("Run it?", "2 clerk ?")
    fixture.types("\x1b1")
    fixture.sees("crab ", "2 clerk ?")
    fixture.types("half a draft")
    fixture.types("\x1b2")
    fixture.sees(DANGEROUS)
    fixture.decides("y")
    fixture.sees("It ran.")
    fixture.types("\x0e")
    fixture.sees("half a draft", "1 crab", "2 clerk")
    fixture.types(" is whole\r")
    fixture.sees("You said: half a draft is whole")


def test_what_begins_elsewhere_is_told_too(fixture: Fixture) -> None:
    """A message from the dashboard to the conversation that is open, and its answer; what another agent asks is named
    beside the tabs, and can be answered from here."""
    services = fixture.install.services
    fixture.types("hi\r")
    fixture.sees("You said: hi")
    services.turns.submit(CubicleKey("crab", 1), "from afar", source="dashboard", origin=None)
    fixture.sees("› from afar", "from the dashboard", "You said: from afar")
    services.agents.create({"name": "clerk"})
    fixture.install.plays["go"] = asks
    services.turns.submit(CubicleKey("clerk", 1), "go", source="dashboard", origin=None)
    fixture.sees("clerk asks: /asked")
    fixture.types("/asked\r")
    fixture.sees(DANGEROUS)
    fixture.decides("y")
    fixture.sees("Yes.")
    assert fixture.turn(3) is TurnStatus.DONE
