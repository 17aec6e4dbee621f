"""What a helper container makes of one file so that it can be looked at: asked for by whoever looks, made in the
background, one at a time of each kind, and kept for a while under whose it is and what exactly the file was.

The file is a stranger's, and so is what the container brings: nothing of the file is read here, and whoever says how
results are collected looks at sizes and first bytes before it keeps any.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, OrchestratorError, TooMany, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine import helper_folder
from orchestrator.engine.helpers import HelperKind
from orchestrator.engine.protocol import HelperEngine
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, Running
from orchestrator.jobs.pool import Jobs
from orchestrator.jobs.rows import Job

logger = logging.getLogger(__name__)

Made = TypeVar("Made")
_WITH_IMAGE_S = 3600.0
"""The first one of all may have to wait for an image that is being built."""


@dataclass(frozen=True, slots=True)
class ViewKind:
    """One way to look at files, and its bounds."""

    name: str
    """Of its jobs, and of the one helper that works for it."""
    helper: HelperKind
    box: str
    """The folder for helpers, within the folder of the view."""
    kept: str
    """The folder for what is kept."""
    kept_s: float
    most_kept: int
    most_brought: int
    """Bytes."""
    is_busy: str
    """What somebody is told when too many are waiting."""
    broke: str
    """What they are told when something of ours broke."""
    time_s: float = 60.0
    most_waiting: int = 8


@dataclass(slots=True)
class _Asked:
    """One that was asked for."""

    job: Job
    content: bytes
    over: threading.Event
    failure: OrchestratorError | None = None


class HelperViews(Generic[Made]):
    """Views of one kind. All methods may be called from any thread."""

    def __init__(
        self,
        kind: ViewKind,
        helpers: HelperEngine | None,
        store: Store,
        jobs: Jobs,
        *,
        folder: Path,
        image: Callable[[], str],
        pack: Callable[[bytes], Mapping[str, bytes]],
        collect: Callable[[Path, Path], None],
        read: Callable[[Path], Made],
    ) -> None:
        """What is done with one file.

        Args:
            kind: which views.
            helpers: who makes them, None where nobody does.
            store: where jobs are written.
            jobs: who runs them.
            folder: private to it.
            image: the name of the image to work in, built first where it is missing.
            pack: what the container is given of a file's content.
            collect: takes what is good from the folder that the container filled into a fresh one. Raises Failed.
            read: what is in such a folder. Raises FileNotFoundError.
        """
        self._kind, self._helpers = kind, helpers
        self._box, self._kept = folder / kind.box, folder / kind.kept
        self._image, self._pack, self._collect, self._read = image, pack, collect, read
        self._store, self._jobs = store, jobs
        self._asked: dict[str, _Asked] = {}
        self._lock = threading.Lock()  # protects _asked
        jobs.add_kind(JobKind(kind.name, self._run_job, _WITH_IMAGE_S, outlives=False))

    @property
    def is_there(self) -> bool:
        """They can be made here."""
        return self._helpers is not None

    def start(self) -> None:
        """Nothing is left of another run."""
        if self._helpers is None:
            return
        try:
            self._helpers.clear_helpers(self._kind.helper)
        except Unavailable as error:
            logger.warning("helpers for %s could not be cleared away: %s", self._kind.name, error.message)
        for folder in (self._box, self._kept):
            folder.parent.mkdir(mode=0o700, exist_ok=True)
            helper_folder.empty_all(folder)

    def make(self, key: CubicleKey, digest: str, content: bytes, *, wait_s: float) -> Made | None:
        """The view of a file of this cubicle with these bytes, whose SHA-256 in hex is ``digest``; None when it is
        still being made after ``wait_s`` seconds, and may be asked for again. Raises NotFound for no digest, TooMany,
        Unavailable, and Failed for what can't be shown."""
        return self.find(key, digest) or self._await_outcome(key, digest, content, wait_s)

    def find(self, key: CubicleKey, digest: str) -> Made | None:
        """The view, if it is kept."""
        try:
            return self._read(self.folder_of(key, digest))
        except FileNotFoundError:
            return None

    def folder_of(self, key: CubicleKey, digest: str) -> Path:
        """Where it is kept. Raises NotFound for what is no digest."""
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise NotFound("There is no such page.")
        return self._kept / f"{key.agent}-{key.user}-{digest}"

    def _await_outcome(self, key: CubicleKey, digest: str, content: bytes, wait_s: float) -> Made | None:
        name = self.folder_of(key, digest).name
        with self._lock:
            asked = self._asked.get(name)
            if asked is None:
                self._drop_lost()
                if self._jobs.is_closing or len(self._asked) >= self._kind.most_waiting:
                    raise TooMany(self._kind.is_busy)
                with self._store.writing() as db:
                    job = self._jobs.submit(db, self._kind.name, key, None, {"digest": digest})
                asked = self._asked[name] = _Asked(job, content, threading.Event())
        if not asked.over.wait(wait_s):
            return None
        if asked.failure is not None:
            raise asked.failure
        return self.find(key, digest)

    def _drop_lost(self) -> None:
        """Those whose jobs went with their agent or person are made no more."""
        with self._store.reading() as db:
            going = [
                name for name, each in self._asked.items() if rows.get_job(db, self._kind.name, each.job.name) is None
            ]
        for name in going:
            del self._asked[name]

    def _run_job(self, running: Running) -> dict[str, str]:
        name = self.folder_of(running.job.cubicle, running.job.payload["digest"]).name
        with self._lock:
            asked = self._asked[name]
        try:
            self._work(name, asked.content, running)
        except OrchestratorError as error:
            asked.failure = error
        except Exception:  # whoever waits hears of it
            logger.exception("a view of the kind %s broke", self._kind.name)
            asked.failure = Unavailable(self._kind.broke)
        with self._lock:
            self._asked.pop(name, None)
        asked.over.set()
        return {}

    def _work(self, name: str, content: bytes, running: Running) -> None:
        assert self._helpers is not None  # noqa: S101 - whoever asks looked
        kind = self._kind
        self._remove_old()
        image = self._image()
        try:
            helper = helper_folder.make_folder(
                self._box,
                kind.name,
                kind.helper,
                image,
                self._pack(content),
                time_s=kind.time_s,
                max_bytes=kind.most_brought,
            )
            self._helpers.run_helper(helper, is_wanted=running.is_wanted)
            self._keep(helper.brought, name)
        except OSError as error:
            raise Unavailable("The folder for pages in HERMIT_HOME can't be written. Look at the disk.") from error
        finally:
            helper_folder.remove_folder(self._box, kind.name)

    def _keep(self, brought: Path, name: str) -> None:
        fresh = self._kept / "new"
        helper_folder.remove_folder(self._kept, fresh.name)
        fresh.mkdir(mode=0o700)
        self._collect(brought, fresh)
        helper_folder.remove_folder(self._kept, name)
        fresh.rename(self._kept / name)
        broom = threading.Timer(self._kind.kept_s + 1, self._remove_old)
        broom.daemon = True
        broom.start()

    def _remove_old(self) -> None:
        """What is older than it is kept goes, and what is too much."""
        made: dict[Path, float] = {}
        for place in self._kept.glob("*-*"):
            with suppress(FileNotFoundError):  # somebody else swept
                made[place] = place.stat().st_mtime
        newest = sorted(made, key=made.__getitem__, reverse=True)
        for number, place in enumerate(newest):
            if number >= self._kind.most_kept or time.time() - made[place] > self._kind.kept_s:
                shutil.rmtree(place, ignore_errors=True)


def read_result(path: Path, most: int) -> bytes:
    """A plain file's content; nothing for whatever is none, or is larger."""
    try:
        with helper_folder.open_result(path) as file:
            content = file.read(most + 1)
    except OSError:
        return b""
    return content if len(content) <= most else b""
