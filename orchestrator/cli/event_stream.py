"""A turn as it goes on, for a terminal: the install's news in a thread of its own, and the reply as it grows.

News only serve watching. They may stop at any time, and then whoever follows a turn looks by itself as before; nothing
that is decided depends on them.
"""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator, Mapping
from typing import IO, Any, Self

import requests

from orchestrator.core.text import terminal_safe

_SILENT_S = 40.0
"""The install says every 15 s that it lives; without a word for so long the line is dead."""
_MOST_LINES = 12
"""Of what one command prints while it runs."""
_MOST_WAITING = 1_000


class EventStream:
    """The events of one install as they come, until the line breaks."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token
        self._events: queue.Queue[tuple[str, dict[str, Any]] | None] = queue.Queue(_MOST_WAITING)
        self._answer: requests.Response | None = None
        self._lock = threading.Lock()  # protects _answer and _is_closed
        self._is_closed = False
        self.is_live = False
        """News come. Without them one has to look."""
        self._thread = threading.Thread(target=self._run_thread, name="news", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True
            if self._answer is not None:
                _hang_up(self._answer)
        self._thread.join(2.0)

    def next_event(self, timeout_s: float) -> tuple[str, dict[str, Any]] | None:
        """The next event; None when there was none in time, or the line has just broken."""
        try:
            return self._events.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def _run_thread(self) -> None:
        try:
            with requests.Session() as session:  # its own: one session is not for two threads
                session.trust_env = False
                self._follow(session)
        except (requests.RequestException, ValueError):
            return  # the install was stopped, or speaks otherwise: whoever follows looks by itself
        finally:
            self.is_live = False
            self._put_event(None)

    def _follow(self, session: requests.Session) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        with session.get(f"{self._url}/api/events", headers=headers, stream=True, timeout=_SILENT_S) as answer:
            with self._lock:
                if self._is_closed:
                    return
                self._answer = answer
            try:
                if answer.status_code == 200:
                    self._read_stream(answer.iter_lines())
            finally:
                with self._lock:
                    self._answer = None

    def _read_stream(self, lines: Iterator[bytes]) -> None:
        kind = ""
        self.is_live = True
        for line in lines:
            text = line.decode("utf-8", "replace")
            if text.startswith("event: "):
                kind = text.removeprefix("event: ")
            elif text.startswith("data: ") and kind:
                body = json.loads(text.removeprefix("data: "))
                if isinstance(body, dict):
                    self._put_event((kind, body))
            elif not text:
                kind = ""

    def _put_event(self, event: tuple[str, dict[str, Any]] | None) -> None:
        """An event is a hint to look, so of too many the oldest can go."""
        while True:
            try:
                self._events.put_nowait(event)
            except queue.Full:
                self._drop_oldest()
            else:
                return

    def _drop_oldest(self) -> None:
        try:
            self._events.get_nowait()
        except queue.Empty:
            return


class LivePrinter:
    """What an agent writes and its commands print, shown as it grows: words on ``out``, the rest on ``aside``."""

    def __init__(self, out: IO[str], aside: IO[str]) -> None:
        self._out = out
        self._aside = aside
        self._text = ""
        """What stands on the lines that are being written."""
        self._printed: dict[int, int] = {}
        """How many lines of each command's output are shown."""

    def write_text(self, text: str) -> None:
        """The words so far. Where they are not what was shown and more, they begin again on a line of their own."""
        text = terminal_safe(text)
        if self._text.startswith(text):
            return
        if not text.startswith(self._text):
            self.end_line()
        print(text[len(self._text) :], end="", file=self._out, flush=True)
        self._text = text

    def complete_thought(self, thought: str) -> None:
        """The thought whose beginning was shown stands there as a whole, with nothing to come after it on its line. Of
        one that nobody saw begin, nothing is shown."""
        text = terminal_safe(thought).rstrip()
        if self._text and text.startswith(self._text):
            self.write_text(text)
        self.end_line()

    def end_line(self) -> None:
        """What comes next stands on lines of its own; what was written is over."""
        if self._text and not self._text.endswith("\n"):
            print(file=self._out, flush=True)
        self._text = ""

    def finish_reply(self, reply: str) -> None:
        """The whole reply stands there, once."""
        text = terminal_safe(reply)
        if self._text and text.rstrip() == self._text.rstrip():
            self.end_line()
            return
        if self._text and text.startswith(self._text):
            text = text[len(self._text) :]
        else:
            self.end_line()
        print(text, file=self._out, flush=True)
        self._text = ""

    def print_output(self, n: int, output: str) -> None:
        """What the n-th command has printed so far: its whole lines, the first few."""
        lines = terminal_safe(output).split("\n")[:-1]
        shown = self._printed.get(n, 0)
        if shown > _MOST_LINES or len(lines) <= shown:
            return
        self.end_line()
        for line in lines[shown:_MOST_LINES]:
            print(f"    {line}", file=self._aside)
        if len(lines) > _MOST_LINES:
            print("    …", file=self._aside)
        self._printed[n] = len(lines)


def is_of(body: Mapping[str, Any], turn: int) -> bool:
    """The news is about this turn."""
    return body.get("turn") == turn


def _hang_up(answer: requests.Response) -> None:
    """Wake whoever reads the answer."""
    try:
        answer.raw.shutdown()
    except (OSError, RuntimeError):
        return  # it has ended already
