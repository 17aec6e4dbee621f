"""One open terminal: the stream of its shell, what it printed, what was typed and by whom. It reads from it in a
thread of its own, and ends once, whoever ends it; ending what runs inside is the affair of ``terminals``."""

from __future__ import annotations

import contextlib
import hmac
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from orchestrator.apps.terminals.output_buffer import OutputPace, Screen
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany, Unavailable
from orchestrator.core.models import CubicleKey, User
from orchestrator.engine.tty import Size, Tty

MOST_TYPED_BYTES = 64 * 1024
_LOOKERS = 4
"""Streams of one terminal at a time; that of a page whose connection broke lives on for a moment."""


@dataclass(frozen=True, slots=True)
class Opener:
    """Who opened a terminal, and whether the login behind it still holds."""

    user: User
    login: str
    """The session or token, which alone may use the terminal."""
    is_welcome: Callable[[], bool]


class Terminal:
    """A shell that somebody looks at."""

    def __init__(self, number: str, key: CubicleKey, opener: Opener, tty: Tty) -> None:
        self.id, self.key, self.opener = number, key, opener
        self.screen = Screen()
        self.why = ""
        """A sentence about its end, once it has ended."""
        self.is_quiet = False
        """Nothing that was started in it runs any more."""
        self.bytes_in = self.bytes_out = 0
        self.opened_at = self._typed_at = self._left_at = time.monotonic()
        self._tty, self._lookers, self._next = tty, 0, 1
        self._typing = threading.Lock()  # keeps what is typed in order; protects _next
        self._lock = threading.Lock()  # protects why and _lookers
        self._over = threading.Event()
        self._reader = threading.Thread(target=self._read_output, name=f"terminal {key}", daemon=True)
        self._when_silent: Callable[[Terminal], None] = lambda _: None

    def start(self, when_silent: Callable[[Terminal], None]) -> None:
        """It reads from now on; ``when_silent`` is called when the shell has ended by itself."""
        self._when_silent = when_silent
        self._reader.start()

    @property
    def is_over(self) -> bool:
        """It has ended, or is about to."""
        return self._over.is_set()

    def belongs_to(self, login: str) -> bool:
        """This very login opened it."""
        return hmac.compare_digest(self.opener.login.encode(), login.encode())

    def type_text(self, number: int, text: str) -> None:
        """The shell gets a text. They are numbered from 1, so that none is typed twice or in another order: one that
        was typed already is fine. Raises Conflict when one before it is missing, NotFound, BadInput or Unavailable."""
        data = text.encode("utf-8", "replace")
        if len(data) > MOST_TYPED_BYTES:
            raise BadInput(f"text: send at most {MOST_TYPED_BYTES:,} bytes at a time.")
        with self._typing:
            self._check_open()
            if number < self._next:
                return
            if number > self._next:
                raise Conflict(f"seq: {self._next} comes next; something typed before this did not arrive.")
            self._tty.write(data)
            self._next += 1
            self.bytes_in += len(data)
            self._typed_at = time.monotonic()

    def resize(self, size: Size) -> None:
        """The page's window has another size. Raises NotFound."""
        self._check_open()
        self._tty.resize(size)

    @contextlib.contextmanager
    def looked_at(self) -> Iterator[None]:
        """Somebody looks at it meanwhile. Raises TooMany."""
        with self._lock:
            if self._lookers >= _LOOKERS:
                raise TooMany("This terminal is looked at too often. Close its other pages.")
            self._lookers += 1
        try:
            yield
        finally:
            with self._lock:
                self._lookers -= 1
                self._left_at = time.monotonic()

    def silent_s(self) -> float:
        """For how long nobody has typed."""
        return time.monotonic() - self._typed_at

    def alone_s(self) -> float:
        """For how long nobody has looked."""
        with self._lock:
            return 0.0 if self._lookers else time.monotonic() - self._left_at

    def begin_end(self, why: str) -> bool:
        """Nothing more is typed or shown; False when that was so already."""
        with self._lock:
            if self._over.is_set():
                return False
            self.why = why
            self._over.set()
        self.screen.close()
        return True

    def finish(self) -> None:
        """The stream is closed and the thread has ended."""
        self._tty.close()
        if threading.current_thread() is not self._reader:
            self._reader.join()

    def _check_open(self) -> None:
        if self._over.is_set():
            raise NotFound(self.why)

    def _read_output(self) -> None:
        pace = OutputPace()
        while data := self._tty.read():
            self.bytes_out += len(data)
            if not self.screen.append_output(data) or self._over.wait(pace.delay_for(len(data))):
                return
        self._when_silent(self)


def is_login_valid(opener: Opener) -> bool:
    """The login holds, as far as that can be told."""
    try:
        return opener.is_welcome()
    except Unavailable:
        return False  # the install is being closed
