"""Copies of files that wait for a person: private to the host, in a folder for each job. What a person is asked about
is the copy, so what they agree to is what goes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.jobs import rows

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class HeldFiles:
    """Those of one kind of jobs. Any thread may call."""

    def __init__(self, folder: Path, store: Store, kind: str) -> None:
        """``folder`` is theirs alone; ``kind`` is that of the jobs."""
        self._folder, self._store, self._kind = folder, store, kind

    def folder_of(self, job: int) -> Path:
        """Where the copies of a job lie; made if missing. Raises Unavailable."""
        folder = self._folder / str(job)
        try:
            self._folder.parent.mkdir(mode=0o700, exist_ok=True)
            self._folder.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise _refused(error) from error
        return folder

    @contextmanager
    def make(self, job: int, name: str) -> Iterator[BinaryIO]:
        """A new copy of this name for a job, in the place of one that was begun before. It is on the disk after that.
        Raises Unavailable, and what happens within; then it is gone."""
        path = self.folder_of(job) / name
        try:
            with path.open("wb") as file:
                path.chmod(0o600)
                yield file
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            path.unlink(missing_ok=True)
            raise _refused(error) from error
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    @contextmanager
    def open(self, job: int, name: str, *, sha256: str) -> Iterator[BinaryIO]:
        """A copy, at its beginning. Raises NotFound where it is not there, or is not the one with this digest."""
        try:
            descriptor = os.open(self._folder / str(job) / name, _FLAGS)
        except OSError as error:
            raise NotFound("The copy of the file is gone. Ask again.") from error
        with os.fdopen(descriptor, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise NotFound("The copy of the file is damaged. Ask again.")
            file.seek(0)
            yield file

    def drop_after(self, job: int) -> None:
        """Once the transaction is committed no copy of this job is there; called within it."""
        self._store.after_commit(lambda: self._drop(str(job)))

    def tidy(self) -> None:
        """Copies are gone whose jobs have ended or are gone with their agents."""
        names = [path.name for path in self._folder.iterdir()] if self._folder.exists() else []
        with self._store.reading() as db:
            over = [name for name in names if not self._is_open(db, name)]
        for name in over:
            self._drop(name)

    def _is_open(self, db: sqlite3.Connection, name: str) -> bool:
        job = rows.get_job(db, self._kind, name)
        return job is not None and job.ended is None

    def _drop(self, name: str) -> None:
        shutil.rmtree(self._folder / name, ignore_errors=True)


def digest_of(path: Path) -> str:
    """The SHA-256 of a copy, in hexadecimal digits. Raises Unavailable."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _refused(error) from error


def _refused(error: OSError) -> Unavailable:
    return Unavailable(f"The host's disk did not take the file ({error.strerror}). Make room on it, then ask again.")
