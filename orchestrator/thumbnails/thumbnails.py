"""Thumbnails: a picture of each static web app, taken when a turn made or changed it. The rows say which are to be
taken, so that a death is made good; one is taken at a time, so many an hour for one cubicle, and what can't be taken is
left alone: the app has a drawn sign then.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path

from orchestrator.engine.helper_folder import Failed, NotWanted
from orchestrator.errors import NotFound, OrchestratorError, Unavailable
from orchestrator.events import Broker
from orchestrator.nouns import CubicleKey, Event
from orchestrator.previews.apps import Apps, Kind
from orchestrator.store import thumbnails as rows
from orchestrator.store import turns as turn_rows
from orchestrator.store.database import Store
from orchestrator.store.thumbnails import Thumbnail
from orchestrator.thumbnails.photographer import Photographer

logger = logging.getLogger(__name__)

MOST_AN_HOUR = 30
"""Of one cubicle's apps; the next one waits for its turn."""
_HOUR_S = 3600.0
_PAUSE_S = 600.0
"""After the engine or the network failed, so that an image that can't be built is not tried all the time."""
_GIVES_UP_S = 24 * 3600.0
_MOST_TRIES = 3


class Thumbnails:
    """Every app's picture."""

    def __init__(
        self,
        store: Store,
        apps: Apps,
        broker: Broker,
        *,
        folder: Path,
        photographer: Photographer | None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``folder`` is for the pictures alone. Without a ``photographer`` none is taken."""
        self._store = store
        self._apps = apps
        self._broker = broker
        self._folder = folder
        self._photographer = photographer
        self._now = now
        self._wake: Callable[[], None] = lambda: None
        self._taken_at: defaultdict[CubicleKey, deque[float]] = defaultdict(deque)
        self._pauses_until = 0.0

    # --- what the house asks ---------------------------------------------------------------------------------------

    def of(self, key: CubicleKey, app: str) -> Path | None:
        """The app's picture, a PNG that nobody has decoded; None while there is none."""
        with self._store.reading() as db:
            found = rows.of(db, key, app)
        if found is None or not found.file:
            return None
        path = self._folder / found.file
        return path if path.is_file() else None

    def is_coming(self, key: CubicleKey, app: str) -> bool:
        """A new picture of the app is to be taken."""
        if self._photographer is None:
            return False
        with self._store.reading() as db:
            found = rows.of(db, key, app)
        return found is not None and found.wanted_at is not None

    def note(self, turn: int) -> None:
        """The turn has ended: the apps that it changed get a picture, those that are gone have none any more."""
        if self._photographer is None:
            return
        with self._store.reading() as db:
            found = turn_rows.one(db, turn) if turn_rows.has_steps(db, turn) else None
            known = [] if found is None else rows.of_cubicle(db, found.cubicle)
        if found is None or not (known or found.apps):
            return
        kinds = {name: self._kind(found.cubicle, name) for name in {*known, *found.apps}}
        with self._store.writing() as db:
            rows.forget(db, found.cubicle, [name for name, kind in kinds.items() if kind is not Kind.STATIC])
            for name in found.apps:
                if kinds[name] is Kind.STATIC:
                    rows.want(db, found.cubicle, name, now=self._now())
        self._wake()

    def _kind(self, key: CubicleKey, name: str) -> Kind | None:
        try:
            return self._apps.get(key, name).kind
        except OrchestratorError:  # gone, or no folder any more
            return None

    # --- the work --------------------------------------------------------------------------------------------------

    def when_there_is_work(self, wake: Callable[[], None]) -> None:
        """From now on this is called when there is a picture to take."""
        self._wake = wake

    def reconcile(self) -> None:
        """After a start: nothing of a dead house is being taken, and what a restored one lost is taken anew."""
        if self._photographer is None:
            return
        self._photographer.clear()
        with self._store.writing() as db:
            lost = [file for file in rows.files(db) if not (self._folder / file).is_file()]
            rows.want_again(db, lost, now=self._now())

    def tidy(self) -> None:
        """What could not be taken for long is not tried any more."""
        with self._store.writing() as db:
            rows.give_up(db, self._now() - _GIVES_UP_S)

    def do_next(self, is_wanted: Callable[[], bool]) -> bool:
        """Take the next picture; False when there is nothing to do now."""
        one = None if self._photographer is None or self._now() < self._pauses_until else self._next()
        if one is None or self._photographer is None:
            self._sweep()
            return False
        self._taken_at[one.cubicle].append(self._now())
        with self._store.writing() as db:
            rows.begin(db, one.id)
        try:
            self._end(one, self._taken(self._photographer, one, is_wanted))
        except (NotWanted, Unavailable) as error:
            with self._store.writing() as db:
                rows.put_back(db, one.id)
            self._taken_at[one.cubicle].pop()
            if isinstance(error, NotWanted):
                return False
            self._pauses_until = self._now() + _PAUSE_S
            logger.warning("no pictures of apps for some minutes: %s", error.message)
            return False
        except (Failed, NotFound) as error:
            logger.info("no picture of %s of %s: %s", one.app, one.cubicle, error.message)
            self._end(one, b"")
        return True

    def _taken(self, photographer: Photographer, one: Thumbnail, is_wanted: Callable[[], bool]) -> bytes:
        if one.tries >= _MOST_TRIES:
            raise Failed("Taking it broke off several times.")
        return photographer.take(one.id, self._apps.get(one.cubicle, one.app), is_wanted=is_wanted)

    def _next(self) -> Thumbnail | None:
        since = self._now() - _HOUR_S
        with self._store.reading() as db:
            waiting = rows.waiting(db)
        for one in waiting:
            taken_at = self._taken_at[one.cubicle]
            while taken_at and taken_at[0] < since:
                taken_at.popleft()
            if len(taken_at) < MOST_AN_HOUR:
                return one
        return None

    def _end(self, one: Thumbnail, content: bytes) -> None:
        """The picture is kept, or there is none; those who show apps look again."""
        file = self._kept(one.id, content) if content else ""
        with self._store.writing() as db:
            is_there = rows.end(db, one, file)
        for gone in [one.file] if is_there else [one.file, file]:
            if gone:
                (self._folder / gone).unlink(missing_ok=True)
        if is_there:
            self._broker.publish(Event("app", one.cubicle, {"agent": one.cubicle.agent, "app": one.app}))

    def _kept(self, number: int, content: bytes) -> str:
        """The name of a new private file."""
        name = f"{number}-{secrets.token_hex(8)}.png"
        try:
            descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        except OSError as error:
            raise Unavailable("The folder for pictures in HERMIT_HOME can't be written. Look at the disk.") from error
        return name

    def _sweep(self) -> None:
        """Files go with what they were of: an app, an agent, a person."""
        with self._store.reading() as db:
            kept = rows.files(db)
        for path in self._folder.glob("*.png"):
            if path.name not in kept:
                path.unlink(missing_ok=True)
