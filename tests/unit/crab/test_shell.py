"""One command in a real bash: how it ends, what of its output is kept, and that nothing of it stays behind."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from crab.output import Output, shorten
from crab.shell import Result, Shell, make_environment

LIMIT = 16_000
Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    shell = Shell(home=str(tmp_path))

    def run(
        command: str,
        *,
        step: str = "1.1",
        timeout_s: float = 20,
        output_bytes: int = LIMIT,
        is_stopped: Callable[[], bool] = lambda: False,
        waited: Callable[[], tuple[float, bool]] = lambda: (0.0, False),
    ) -> Result:
        return shell.run_command(
            command,
            step=step,
            timeout_s=timeout_s,
            output_bytes=output_bytes,
            time_zone="Europe/Vienna",
            is_stopped=is_stopped,
            waited=waited,
        )

    return run


def is_alive(pid_file: Path) -> bool:
    """The process that wrote its pid there still runs."""
    pid = int(pid_file.read_text())
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.mark.parametrize(
    ("command", "code", "output"),
    [
        ("echo out; echo err >&2", 0, "out\nerr\n"),
        ("exit 3", 3, ""),
        ("no-such-command-here", 127, None),
        ("kill -9 $$", 137, ""),
        ("kill -TERM $$", 143, ""),
        ("cat; echo end", 0, "end\n"),
        ("-x", 127, None),
        ("echo 'a\nb'\n\ncat <<E\nc\nE", 0, "a\nb\nc\n"),
        ("printf 'a\\0b\\377c'", 0, "a�b�c"),
        ("printf '\\033[31mred\\r'", 0, "\033[31mred\r"),
        ("yes | head -1", 0, "y\n"),
        ("echo é😀", 0, "é😀\n"),
        ("exec >&- 2>&-; sleep 0.05; exit 4", 4, ""),
        ("ulimit -f 1; head -c 9999999 /dev/zero > big; echo $?", 0, None),
        ("echo $PWD/$HOME/$HERMIT_STEP | grep -c /1.1.", 0, "1\n"),
        ("ps -o sid= -p $$ | tr -d ' ' | grep -qx $$", 0, ""),
    ],
)
def test_command(run: Run, command: str, code: int, output: str | None) -> None:
    """Exit code and output are those of bash."""
    result = run(command)
    assert (result.exit_code, result.ended, result.omitted_bytes) == (code, "exited", 0)
    if output is not None:
        assert result.output == output


def test_environment_is_clean(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command sees its own environment and nothing of the crab's."""
    monkeypatch.setenv("CRAB_SECRET", "x")
    names = {line.partition("=")[0] for line in run("env").output.splitlines()}
    assert names <= {*make_environment("/h", step="1", time_zone="UTC"), "PWD", "SHLVL", "_", "OLDPWD"}
    assert run("date -d @1772269200 +%H").output == "10\n"


def test_long_output_keeps_head_and_tail(run: Run) -> None:
    """The middle is counted, not kept, and no character is cut in two."""
    result = run("for i in $(seq 20000); do echo é$i; done", output_bytes=1001)
    head, note, tail = result.output.partition(f"\n[… {result.omitted_bytes} bytes omitted …]\n")
    assert note
    assert head.startswith("é1\né2\n")
    assert tail.endswith("é19999\né20000\n")
    assert "�" not in result.output
    kept = len(head.encode()) + len(tail.encode())
    assert kept <= 1001
    assert kept + result.omitted_bytes == sum(len(f"é{i}\n".encode()) for i in range(1, 20001))


def test_endless_output_ends_in_time(run: Run) -> None:
    """`yes` costs neither memory nor a hang, and little work of our own."""
    before, cpu = resident_kib(), time.process_time()
    result = run("yes", timeout_s=0.7)
    assert (result.exit_code, result.ended) == (124, "timeout")
    assert result.output.startswith("y\ny\n")
    assert len(result.output) < LIMIT + 100
    assert resident_kib() - before < 4096
    assert time.process_time() - cpu < 0.6


def resident_kib() -> int:
    """How much memory this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


RUNAWAYS = {
    "a child": "sleep 300 & echo $! > pid; wait",
    "nohup": "nohup sleep 300 > /dev/null 2>&1 & echo $! > pid; wait",
    "another session": "setsid sh -c 'echo $$ > pid; exec sleep 300' > /dev/null 2>&1 & wait",
    "a double fork": "(setsid sh -c 'sh -c \"echo \\$\\$ > pid; exec sleep 300\" &' &); sleep 300",
    "deaf to signals": "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 300; done",
    "deaf, elsewhere": "setsid bash -c \"trap '' TERM; echo \\$\\$ > pid; while :; do sleep 300; done\" & wait",
    "without environment": "env -i setsid sh -c 'echo $$ > pid; exec sleep 300' & wait",
    "stopped": "sh -c 'echo $$ > pid; kill -STOP $$' & wait",
    "a printer": "setsid sh -c 'echo $$ > pid; exec yes' & wait",
}


@pytest.mark.parametrize("command", RUNAWAYS.values(), ids=RUNAWAYS.keys())
def test_nothing_of_a_timed_out_command_is_left(run: Run, tmp_path: Path, command: str) -> None:
    """The deadline ends all that a command had started, wherever it went."""
    result = run(command, timeout_s=1.0)
    assert (result.exit_code, result.ended) == (124, "timeout")
    assert not is_alive(tmp_path / "pid")


def test_output_before_the_deadline_is_kept(run: Run) -> None:
    """What was printed by then is there, also what a command says on being ended."""
    result = run("trap 'echo tidy; exit' TERM; echo begun; sleep 300 & wait", timeout_s=1.0)
    assert result.output == "begun\ntidy\n"


def test_waiting_for_a_person_is_not_the_command_s_time(run: Run, tmp_path: Path) -> None:
    """While one is waited for it goes on beyond its time; afterwards what was waited is added, and no more."""
    asked: list[float] = []

    def waited() -> tuple[float, bool]:
        asked.append(time.monotonic())
        if len(asked) == 1:
            (tmp_path / "answer").touch()
            return 0.2, True
        return 0.9, False

    command = "until [ -e answer ]; do sleep 0.02; done; echo answered; exec sleep 300"
    began = time.monotonic()
    result = run(command, timeout_s=0.2, waited=waited)
    assert (result.ended, result.output) == ("timeout", "answered\n")
    assert len(asked) == 2
    assert asked[0] - began >= 0.2
    assert asked[1] - asked[0] >= 0.9  # it is not asked all the time


def test_a_wait_that_ends_in_time(run: Run) -> None:
    """A command that goes on after the answer ends as it would have."""
    result = run("sleep 0.4; echo done; exit 3", timeout_s=0.1, waited=lambda: (20.0, False))
    assert (result.ended, result.exit_code, result.output) == ("exited", 3, "done\n")


def test_nobody_is_asked_in_time(run: Run) -> None:
    """A command within its time costs no question; a stop ends one that waits for a person."""

    def never() -> tuple[float, bool]:
        raise AssertionError("asked")

    assert run("true", waited=never).ended == "exited"
    stopped = time.monotonic() + 0.3
    ended = run("sleep 300", timeout_s=0.05, waited=lambda: (0, True), is_stopped=lambda: time.monotonic() > stopped)
    assert ended.ended == "stopped"


def test_stop_ends_a_command(run: Run, tmp_path: Path) -> None:
    """A person's stop ends the command that runs, and its children."""
    stop = tmp_path / "stop"
    result = run("sleep 300 & echo $! > pid; touch stop; wait", is_stopped=stop.exists)
    assert (result.exit_code, result.ended) == (143, "stopped")
    assert not is_alive(tmp_path / "pid")


def test_a_stop_that_was_there_before(run: Run, tmp_path: Path) -> None:
    """Nothing that takes time is begun after a stop."""
    assert run("sleep 300", is_stopped=lambda: True).ended == "stopped"


def test_background_server_lives_on(run: Run, tmp_path: Path) -> None:
    """A server left behind does not hold the step up, does not die of the closed pipe and never blocks on it."""
    script = "for i in $(seq 200); do printf '%01000d' 0; done; touch done; echo $BASHPID > pid; sleep 300"
    result = run(f"({script}) & echo started")
    assert result.ended == "exited"
    assert "started\n" in result.output
    deadline = time.monotonic() + 10
    while not (tmp_path / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (tmp_path / "done").exists()
    assert is_alive(tmp_path / "pid")
    assert run("pkill -KILL -P $(cat pid); kill -9 $(cat pid)").exit_code == 0


def test_a_later_timeout_spares_an_earlier_server(run: Run, tmp_path: Path) -> None:
    """Only the command that ran out of time is ended."""
    assert run("sleep 300 > /dev/null 2>&1 & echo $! > pid", step="1.1").exit_code == 0
    assert run("sleep 300", step="1.10", timeout_s=0.3).ended == "timeout"
    assert is_alive(tmp_path / "pid")
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_endless_printer_in_the_background(run: Run) -> None:
    """A step ends although what it left behind prints without end."""
    result = run("yes & echo $! > pid; sleep 0.05")
    assert result.ended == "exited"
    assert len(result.output) < LIMIT + 100
    assert run("kill -9 $(cat pid)").exit_code == 0


def test_too_long_a_command_is_explained(run: Run) -> None:
    """A command that the kernel does not take is an answer to the model, not a crash."""
    result = run("true " + "x" * 200_000)
    assert result.exit_code == 126
    assert "128 KiB" in result.output


def test_no_descriptor_and_no_child_is_left(run: Run) -> None:
    """Hundreds of commands cost no descriptor and leave no dead child."""
    run("true")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for command in ("true", "false", "echo x", "x" * 200_000) * 20:
        run(command)
    run("sleep 9", timeout_s=0.05)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before  # less when a server of another test ended meanwhile
    assert dead_children() == []


def dead_children() -> list[str]:
    """Every bash of ours that ended and was not reaped."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue  # gone in between
        if rest.split()[:2] == ["Z", str(os.getpid())] and head.endswith("(bash"):
            found.append(head)
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 100])
@pytest.mark.parametrize("text", ["", "abc", "é" * 40, "😀" * 40, "a😀é" * 30])
def test_output_never_cuts_a_character(text: str, limit: int) -> None:
    """Whatever the chunks and the limit, bytes kept and bytes omitted add up and characters stay whole."""
    output = Output(limit)
    raw = text.encode()
    for at in range(0, len(raw), 5):
        output.add_bytes(raw[at : at + 5])
    shown, omitted = output.get_text()
    assert "�" not in shown
    note = f"\n[… {omitted} bytes omitted …]\n" if omitted else ""
    assert len(shown.encode()) - len(note.encode()) + omitted == len(raw)


def test_shortened() -> None:
    """A text over the limit keeps its two ends."""
    assert shorten("abc", 3) == "abc"
    assert shorten("a" * 10 + "b" * 10, 4) == "aa\n[… 16 characters omitted …]\nbb"
