"""Sending files of this machine into an agent's ``in/``, with a line that says how far it is when it takes a while."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.core.errors import BadInput
from orchestrator.core.text import one_line

_SILENT_S = 1.0
"""What is done sooner shows no progress."""
_EVERY_S = 0.2


def upload_file(
    client: ApiClient, agent: str, file: Path, *, user: int | None = None, shows_progress: bool = True
) -> dict[str, Any]:
    """A file is in the agent's ``in/``: its path there, size, hash and type. Raises BadInput for what is no file."""
    shown = one_line(str(file))
    try:
        with file.open("rb") as opened:
            facts = os.fstat(opened.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise BadInput(f"{shown} is not a regular file. Send files one by one, or pack a folder first.")
            body = _Body(opened, shown, facts.st_size, shows_progress=shows_progress)
            path = agent_path(agent, f"/files/in/{quote(os.fsencode(file.name), safe='')}")
            stored: dict[str, Any] = client.upload(path, body, user=user)
            return stored
    except OSError as error:
        raise BadInput(f"{shown} can't be read ({error.strerror}).") from error


class Meter:
    """How far something is, on a terminal alone."""

    def __init__(self, title: str, size_bytes: int | None, *, is_shown: bool = True) -> None:
        self._title = one_line(title, 60)
        self._size_bytes = size_bytes
        self._done = 0
        self._is_shown = is_shown and sys.stderr.isatty()
        self._next_at = time.monotonic() + _SILENT_S
        self._has_begun = False

    def count_pieces(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The pieces, counted as they pass."""
        try:
            for piece in pieces:
                yield piece
                self.add(len(piece))
        finally:
            self.end()

    def add(self, size_bytes: int) -> None:
        """So much more is done."""
        self._done += size_bytes
        if self._is_shown and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + _EVERY_S
            self._has_begun = True
            part = f" of {self._size_bytes / 1e6:,.0f} MB" if self._size_bytes else " MB"
            print(f"\r\033[K{self._title} … {self._done / 1e6:,.0f}{part}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """The line is empty again."""
        if self._has_begun:
            self._has_begun = False
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class _Body:
    """A file as a request's body: exactly as long as it was when it was opened."""

    def __init__(self, file: BinaryIO, shown: str, size_bytes: int, *, shows_progress: bool) -> None:
        self._file = file
        self._shown = shown
        self._left = self._size_bytes = size_bytes
        self._meter = Meter(shown, size_bytes, is_shown=shows_progress)

    def __len__(self) -> int:
        return self._size_bytes

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read(1 << 18):
            yield piece

    def read(self, size: int = -1) -> bytes:
        """The next bytes; raises BadInput when the file has become shorter."""
        piece = self._file.read(self._left if size < 0 else min(size, self._left))
        if not piece and self._left:
            raise BadInput(f"{self._shown} became shorter while it was sent. Try again when nobody writes it.")
        self._left -= len(piece)
        self._meter.add(len(piece))
        if not self._left:
            self._meter.end()
        return piece
