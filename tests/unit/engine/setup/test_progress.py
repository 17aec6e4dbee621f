"""What a person sees while something takes a while."""

from __future__ import annotations

import io

import pytest

from orchestrator.engine.setup.progress import HEARTBEAT_S, SetupProgress, Task


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_plain_lines_elsewhere_than_on_a_terminal() -> None:
    """A log gets the title, each milestone and how it ended; no control characters."""
    stream, clock = io.StringIO(), Clock()
    with SetupProgress(stream, clock=clock).task("Building") as task:
        task.show_step("step 1/2")
        task.show_detail("not worth a line")
        clock.now += 7
    assert stream.getvalue() == "Building …\n  step 1/2\nBuilding … done in 7 s\n"


def test_one_line_on_a_terminal() -> None:
    """The line is written over, and only the last one stays."""
    stream, clock = Terminal(), Clock()
    with SetupProgress(stream, clock=clock).task("Building") as task:
        clock.now += 3
        task.show_step("step 1/2")
    shown = stream.getvalue()
    assert "\r\033[KBuilding … step 1/2 (3 s)" in shown
    assert shown.endswith("\r\033[KBuilding … done in 3 s\n")
    assert shown.count("\n") == 1


def test_silence_has_an_end() -> None:
    """Without a terminal, a line comes every ten seconds, saying what is being done."""
    stream, clock = io.StringIO(), Clock()
    task = Task("Building", stream, clock)
    task.begin()
    task.show_detail("Unpacking git")
    task.show_time()
    assert stream.getvalue() == "Building …\n"
    clock.now += HEARTBEAT_S
    task.show_time()
    task.show_time()
    assert stream.getvalue() == "Building …\n  Unpacking git (10 s)\n"


def test_a_failure_is_shown_and_goes_on() -> None:
    """The line says so, and the error reaches the caller."""
    stream, clock = io.StringIO(), Clock()

    def fail() -> None:
        with SetupProgress(stream, clock=clock).task("Building") as task:
            task.show_step("step 1/2")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert stream.getvalue() == "Building …\n  step 1/2\nBuilding … failed after 0 s\n"


def test_what_is_refused_at_once_was_never_begun() -> None:
    """Without a terminal the error alone is told; what succeeds as fast has one line."""
    stream = io.StringIO()
    with pytest.raises(ValueError, match="no"), SetupProgress(stream).task("Restoring"):
        raise ValueError("no")
    assert stream.getvalue() == ""
    with SetupProgress(stream).task("Restoring"):
        pass
    assert stream.getvalue() == "Restoring … done in 0 s\n"


def test_control_characters_of_others_are_not_passed_on() -> None:
    """What a package manager prints cannot move the cursor."""
    stream = io.StringIO()
    with SetupProgress(stream).task("Building") as task:
        task.show_step("evil\033[2J\rline\n")
    assert "  evil [2J line\n" in stream.getvalue()
