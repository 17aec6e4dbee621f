"""Temp files: the files that the install writes for its own messages (a long command, a log), in a private folder
where no agent reaches. They go when no message wants them any more; who sends them never has to think of that.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path

from orchestrator.channels.chat import button_rows as rows
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.core.errors import Unavailable

_KEPT_S = 24 * 3600.0
"""A message may be amended long after it was sent, so a temp file outlives the sending by a day."""


class TempFiles:
    """The folder of papers."""

    def __init__(self, store: ChannelStore, folder: Path, *, now: Callable[[], float] = time.time) -> None:
        """``folder`` is made if missing; it is for papers alone."""
        self._store = store
        self.folder = folder
        self._now = now

    def write(self, content: bytes) -> Path:
        """A new private file. Raises Unavailable when the disk refuses."""
        path = self.new_path()
        try:
            path.touch(mode=0o600, exist_ok=False)
            path.write_bytes(content)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise Unavailable(
                f"No file can be written for {self._store.traits.label} ({error.strerror}). Is the disk full?"
            ) from error
        return path

    def new_path(self) -> Path:
        """A name in the folder that nobody has had."""
        return self.ensure_folder() / secrets.token_hex(16)

    def ensure_folder(self) -> Path:
        """The folder, made if missing; what nobody wants any more is gone from it."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._remove_old()
        except OSError as error:
            raise Unavailable(
                f"No file can be written for {self._store.traits.label} ({error.strerror}). Is the disk full?"
            ) from error
        return self.folder

    def _remove_old(self) -> None:
        for path in self.folder.iterdir():
            if path.stat().st_mtime < self._now() - _KEPT_S and not self._is_wanted(path):
                path.unlink(missing_ok=True)

    def _is_wanted(self, path: Path) -> bool:
        with self._store.reading() as db:
            return rows.is_wanted(db, path.name)
