"""Thumbnails: a picture of each static web app, taken when a turn made or changed it. One is taken at a time, so many
an hour for one cubicle, and what can't be taken is left alone: the app has a drawn sign then.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from pathlib import Path

from orchestrator.apps.previews.apps import AppKind, Apps
from orchestrator.apps.thumbnails import rows
from orchestrator.apps.thumbnails.renderer import ThumbnailRenderer
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, OrchestratorError, Unavailable
from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey, Event
from orchestrator.engine.helper_folder import Failed
from orchestrator.jobs import rows as job_rows
from orchestrator.jobs.kinds import JobKind, Running, TryLater
from orchestrator.jobs.pool import Jobs
from orchestrator.jobs.rows import Job, JobState
from orchestrator.turns import rows as turn_rows

logger = logging.getLogger(__name__)

KIND = "thumbnail"
MOST_AN_HOUR = 30
"""Of one cubicle's apps; the next one waits for its turn."""
_HOUR_S = 3600.0
_PAUSE_S = 600.0
"""After the engine or the network failed, so that an image that can't be built is not tried all the time."""
_GIVES_UP_S = 24 * 3600.0
_TIME_S = 3600.0
"""The first one of all has its image built, which takes minutes."""


class Thumbnails:
    """Every app's picture."""

    def __init__(
        self,
        store: Store,
        apps: Apps,
        broker: Broker,
        jobs: Jobs,
        *,
        folder: Path,
        photographer: ThumbnailRenderer | None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``folder`` is for the pictures alone. Without a ``photographer`` none is taken."""
        self._store = store
        self._apps = apps
        self._broker = broker
        self._jobs = jobs
        self._folder = folder
        self._photographer = photographer
        self._now = now
        self._taken_at: defaultdict[CubicleKey, deque[float]] = defaultdict(deque)
        jobs.add_kind(
            JobKind(
                KIND,
                self._run_job,
                _TIME_S,
                report=self._report_failure,
                prepare=self._prepare_start,
                tidy=self._remove_old,
            )
        )

    # --- what the install asks ---------------------------------------------------------------------------------------

    def picture_of(self, key: CubicleKey, app: str) -> Path | None:
        """The app's picture, a PNG that nobody has decoded; None while there is none."""
        with self._store.reading() as db:
            found = rows.get_thumbnail(db, key, app)
        if found is None or not found.file:
            return None
        path = self._folder / found.file
        return path if path.is_file() else None

    def is_coming(self, key: CubicleKey, app: str) -> bool:
        """A new picture of the app is to be taken."""
        if self._photographer is None:
            return False
        with self._store.reading() as db:
            return any(job.payload["app"] == app for job in job_rows.list_open_jobs(db, KIND, key))

    def on_turn_end(self, turn: int) -> None:
        """The turn has ended: the apps that it changed get a picture, those that are gone have none any more."""
        if self._photographer is None:
            return
        with self._store.reading() as db:
            found = turn_rows.get_turn(db, turn) if turn_rows.has_steps(db, turn) else None
            known = [] if found is None else rows.of_cubicle(db, found.cubicle)
        if found is None or not (known or found.apps):
            return
        kinds = {name: self._kind(found.cubicle, name) for name in {*known, *found.apps}}
        gone = [name for name, kind in kinds.items() if kind is not AppKind.STATIC]
        with self._store.writing() as db:
            rows.delete_thumbnails(db, found.cubicle, gone)
            for job in job_rows.list_open_jobs(db, KIND, found.cubicle):
                if job.payload["app"] in gone:
                    self._jobs.cancel_job(db, job)
            self._request_pictures(db, found.cubicle, [name for name in found.apps if name not in gone])

    def _request_pictures(self, db: sqlite3.Connection, key: CubicleKey, apps: Iterable[str]) -> None:
        """New pictures are to be taken, once each."""
        queued = {job.payload["app"] for job in job_rows.list_open_jobs(db, KIND, key) if job.state is JobState.QUEUED}
        for app in apps:
            if app not in queued:
                self._jobs.submit(db, KIND, key, None, {"app": app})

    def _kind(self, key: CubicleKey, name: str) -> AppKind | None:
        try:
            return self._apps.get_app(key, name).kind
        except OrchestratorError:  # gone, or no folder any more
            return None

    # --- the work --------------------------------------------------------------------------------------------------

    def _prepare_start(self) -> None:
        """After a start: nothing of a dead orchestrator is being taken, and what a restored one lost is taken again."""
        if self._photographer is None:
            return
        self._photographer.clear_leftovers()
        with self._store.writing() as db:
            for one in rows.list_thumbnails(db):
                if not (self._folder / one.file).is_file():
                    rows.put_thumbnail(db, one.cubicle, one.app, "")
                    self._request_pictures(db, one.cubicle, [one.app])

    def _run_job(self, running: Running) -> dict[str, str] | None:
        job, now = running.job, self._now()
        taken_at = self._taken_at[job.cubicle]
        if self._photographer is None or now - job.created > _GIVES_UP_S:
            return {}
        while taken_at and taken_at[0] < now - _HOUR_S:
            taken_at.popleft()
        if len(taken_at) >= MOST_AN_HOUR:
            raise TryLater(taken_at[0] + _HOUR_S - now)
        try:
            app = self._apps.get_app(job.cubicle, job.payload["app"])
            content = self._photographer.take_picture(job.name, app, is_wanted=running.is_wanted)
            taken_at.append(now)
            self._keep_picture(running, content)
        except Unavailable as error:
            logger.warning("no pictures of apps for some minutes: %s", error.message)
            raise TryLater(_PAUSE_S, is_whole_kind=True) from error
        except (Failed, NotFound):
            taken_at.append(now)
            raise
        return None

    def _keep_picture(self, running: Running, content: bytes) -> None:
        """The picture is the app's from now on."""
        job = running.job
        with self._store.writing() as db:
            file, is_wanted = self._write_file(job.name, content), job_rows.is_wanted(db, job.id)
            gone = rows.put_thumbnail(db, job.cubicle, job.payload["app"], file) if is_wanted else file
            self._jobs.end_job(db, job, JobState.DONE)
        self._let_go(job, gone)

    def _report_failure(self, db: sqlite3.Connection, job: Job) -> None:
        """One that could not be taken leaves its app without a picture."""
        if job.state is JobState.FAILED:
            logger.info("no picture of %s of %s: %s", job.payload["app"], job.cubicle, job.error)
            gone = rows.put_thumbnail(db, job.cubicle, job.payload["app"], "")
            self._store.after_commit(lambda: self._let_go(job, gone))

    def _let_go(self, job: Job, gone: str) -> None:
        """Those who show apps look again; the file that is no picture any more goes."""
        if gone:
            (self._folder / gone).unlink(missing_ok=True)
        self._broker.publish(Event("app", job.cubicle, {"agent": job.cubicle.agent, "app": job.payload["app"]}))

    def _write_file(self, job: str, content: bytes) -> str:
        """The name of a new private file."""
        name = f"{job}-{secrets.token_hex(8)}.png"
        try:
            descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        except OSError as error:
            raise Unavailable("The folder for pictures in HERMIT_HOME can't be written. Look at the disk.") from error
        return name

    def _remove_old(self) -> None:
        """Files go with what they were of: an app, an agent, a person."""
        if set(self._folder.glob("*.png")) <= self._known_files():
            return
        with self._store.writing():  # nobody is just about to write one down
            for path in set(self._folder.glob("*.png")) - self._known_files():
                path.unlink(missing_ok=True)

    def _known_files(self) -> set[Path]:
        with self._store.reading() as db:
            return {self._folder / one.file for one in rows.list_thumbnails(db)}
