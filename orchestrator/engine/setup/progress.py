"""What a person sees while something takes a while: one line that counts seconds on a terminal, plain lines elsewhere.

It owns the stream it writes to for the length of a task, and one thread that keeps the seconds going. It never decides
anything, and it writes nothing at all when no task is begun, so work that was already done stays silent.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

HEARTBEAT_S = 10.0
"""Without a terminal, silence never lasts longer than this."""


class Task:
    """One piece of work under way. ``show_step`` and ``show_detail`` may be called from any thread."""

    def __init__(self, title: str, stream: TextIO, clock: Callable[[], float]) -> None:
        self._title = title
        self._stream = stream
        self._clock = clock
        self._started = clock()
        self._last_line = self._started
        self._text = ""
        self._is_terminal = stream.isatty()
        self._has_begun = False
        """Its first line stands there."""
        self._lock = threading.Lock()  # guards the text and the stream, so that lines stay whole

    def show_step(self, text: str) -> None:
        """A milestone: worth a line of its own in a log."""
        with self._lock:
            self._text = _one_line(text)
            if not self._is_terminal:
                self._first_line()
                self._format_line(f"  {self._text}")
                return
        self.show_time()

    def show_detail(self, text: str) -> None:
        """What is being done right now: shown when the next second ticks."""
        with self._lock:
            self._text = _one_line(text)

    def show_time(self) -> None:
        """Shows how long it has taken, if that is due."""
        with self._lock:
            if self._is_terminal:
                self._stream.write(
                    "\r\033[K" + self._fit_line(f"{self._title} … {self._text} ({self._elapsed_text()} s)")
                )
                self._stream.flush()
            elif not self._has_begun:
                self._first_line()
            elif self._clock() - self._last_line >= HEARTBEAT_S:
                self._format_line(f"  {self._text or 'still at it'} ({self._elapsed_text()} s)")

    def begin(self) -> None:
        """The first line. Without a terminal it comes with the first second: what is refused at once was never begun,
        and its error is the only line."""
        if self._is_terminal:
            self.show_time()

    def end(self, *, is_done: bool) -> None:
        """The last line, which stays."""
        outcome = "done in" if is_done else "failed after"
        with self._lock:
            if not (is_done or self._is_terminal or self._has_begun):
                return
            start = "\r\033[K" if self._is_terminal else ""
            self._format_line(f"{start}{self._title} … {outcome} {self._elapsed_text()} s")

    def _first_line(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._format_line(f"{self._title} …")

    def _format_line(self, text: str) -> None:
        self._last_line = self._clock()
        self._stream.write(text + "\n")
        self._stream.flush()

    def _elapsed_text(self) -> int:
        return round(self._clock() - self._started)

    def _fit_line(self, text: str) -> str:
        width = shutil.get_terminal_size().columns - 1
        return text if len(text) <= width else text[: width - 1] + "…"


class SetupProgress:
    """Where progress goes. Tasks come one after the other, never one within another."""

    def __init__(self, stream: TextIO | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock

    @contextmanager
    def task(self, title: str) -> Iterator[Task]:
        """Shows ``title`` until the block ends, and then how long it took."""
        task = Task(title, self._stream, self._clock)
        ended = threading.Event()
        ticker = threading.Thread(target=_tick_until, args=(task, ended), name="progress", daemon=True)
        task.begin()
        ticker.start()
        is_done = False
        try:
            yield task
            is_done = True
        finally:
            ended.set()
            ticker.join()
            task.end(is_done=is_done)

    def print_line(self, text: str) -> None:
        """One line by itself."""
        self._stream.write(_one_line(text) + "\n")
        self._stream.flush()


def _tick_until(task: Task, ended: threading.Event) -> None:
    while not ended.wait(1.0):
        task.show_time()


def _one_line(text: str) -> str:
    """What other programs print may hold anything; only what prints on one line goes on."""
    return "".join(c if c.isprintable() else " " for c in text).strip()
