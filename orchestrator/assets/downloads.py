"""Downloads: a few threads that fetch what was agreed to, one file a cubicle at a time.

The rows say what is to be done, so a death loses nothing: what was being fetched is fetched again at the next start.
What comes is kept in a nameless file until it is whole, which no death leaves behind.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from orchestrator.assets.assets import Assets
from orchestrator.assets.landing import Landing
from orchestrator.errors import OrchestratorError, Stopped, TooLarge, Unavailable
from orchestrator.fetch.fetcher import Fetched, Fetcher, NewHost
from orchestrator.fetch.internet import Internet
from orchestrator.fetch.urls import UrlRules
from orchestrator.nouns import CubicleKey
from orchestrator.store import assets as rows
from orchestrator.store.assets import Asset
from orchestrator.store.database import Store

logger = logging.getLogger(__name__)

WORKERS = 2
_LOOK_S = 5.0
"""A worker that nobody woke looks at least this often."""
_AFTER_FAILURE_S = 1.0
_ASKED_EVERY_S = 0.2
"""How often a running download looks whether it is still wanted."""
_LEAVE_S = 30.0
_CHECKED_BYTES = 4 << 20
_ODD = "Something went wrong on the host; its log says what. Ask again."


class Downloads:
    """The threads that fetch."""

    def __init__(
        self,
        *,
        store: Store,
        assets: Assets,
        landing: Landing,
        internet: Internet,
        rules: UrlRules,
        folder: Path,
    ) -> None:
        """``folder`` is where files grow before they are whole; they have no name there."""
        self._store = store
        self._assets = assets
        self._landing = landing
        self._internet = internet
        self._rules = rules
        self._folder = folder
        self._changed = threading.Condition()  # protects what follows
        self._in_hand: dict[str, CubicleKey] = {}
        self._is_closing = False
        self._threads = [threading.Thread(target=self._work, name=f"asset-{n}", daemon=True) for n in range(WORKERS)]
        assets.when_due(self.wake)

    def start(self) -> None:
        """Fetch what is due, and from now on what becomes due."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """There is something to fetch."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing is fetched any more; what is half done is done again after the next start."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        for thread in filter(threading.Thread.is_alive, self._threads):
            thread.join(_LEAVE_S)

    def await_end(self, is_theirs: Callable[[CubicleKey], bool]) -> None:
        """Returns when nothing of theirs is being fetched; they are marked as leaving, so nothing new begins. Raises
        Unavailable when that takes too long."""
        deadline = time.monotonic() + _LEAVE_S
        with self._changed:
            while any(is_theirs(key) for key in self._in_hand.values()):
                if not self._changed.wait(deadline - time.monotonic()):
                    raise Unavailable("A download of theirs has not ended yet. Try again in a moment.")

    # --- the threads -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while (asset := self._next()) is not None:
            try:
                self._fetch(asset)
            except OrchestratorError as error:  # of our own database or disk: it is tried again
                logger.warning("asset %s: %s", asset.id, error.message)
                self._rest()
            except Exception:  # the top of a thread: the asset fails, the next one may do better
                logger.exception("asset %s broke", asset.id)
                self._give_up(asset)
            finally:
                with self._changed:
                    del self._in_hand[asset.id]
                    self._changed.notify_all()

    def _next(self) -> Asset | None:
        """What to fetch next, waited for; None when the house is closing."""
        with self._changed:
            while not self._is_closing:
                found = self._due()
                if found is not None:
                    self._in_hand[found.id] = found.cubicle
                    return found
                self._changed.wait(_LOOK_S)
        return None

    def _due(self) -> Asset | None:
        busy = set(self._in_hand.values())
        try:
            with self._store.reading() as db:
                return next((asset for asset in rows.to_fetch(db) if asset.cubicle not in busy), None)
        except Unavailable as error:
            logger.warning("downloads: %s", error.message)
            return None

    def _rest(self) -> None:
        with self._changed:
            if not self._is_closing:
                self._changed.wait(_AFTER_FAILURE_S)

    def _give_up(self, asset: Asset) -> None:
        try:
            self._assets.failed(asset.id, _ODD)
        except OrchestratorError as error:
            logger.warning("asset %s: %s", asset.id, error.message)
            self._rest()

    # --- one download ------------------------------------------------------------------------------------------

    def _fetch(self, asset: Asset) -> None:
        try:
            if not self._landing.lies_there(asset):
                self._bring(asset)
        except NewHost as found:
            self._assets.sent_on(asset.id, found)
        except Stopped:
            return  # the row says whether it is to be done again
        except OrchestratorError as error:
            self._assets.failed(asset.id, error.message)
        else:
            self._assets.arrived(asset.id)

    def _bring(self, asset: Asset) -> None:
        link, other_hosts = self._assets.agreed(asset)
        room, most = self._landing.room(asset.cubicle), self._internet.limits.file_bytes
        limits = replace(self._internet.limits, file_bytes=min(room, most))
        fetcher = Fetcher(limits, rules=self._rules, network=self._internet.network, tls=self._internet.tls)
        is_stopped = _Rarely(lambda: self._is_unwanted(asset.id))
        with _nameless(self._folder) as file:
            sink = _Sink(file, self._landing.check)
            try:
                fetched = fetcher.fetch(link, sink, other_hosts=other_hosts, is_stopped=is_stopped)
                sink.flush()
            except TooLarge:
                if room < most:
                    raise _no_room(room) from None
                raise
            self._landing.land(asset, file, fetched)
        _log(asset, fetched)

    def _is_unwanted(self, asset: str) -> bool:
        if self._is_closing:
            return True
        with self._store.reading() as db:
            return not rows.is_wanted(db, asset)


class _Rarely:
    """A question that costs something, asked a few times a second at most. Once yes, it stays so."""

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask = ask
        self._next_at = 0.0
        self._is_so = False

    def __call__(self) -> bool:
        now = time.monotonic()
        if not self._is_so and now >= self._next_at:
            self._is_so = self._ask()
            self._next_at = now + _ASKED_EVERY_S
        return self._is_so


class _Sink:
    """The file that grows; what the disk says becomes a sentence, and its reserve is looked after."""

    def __init__(self, file: BinaryIO, check: Callable[[], None]) -> None:
        self._file = file
        self._check = check
        self._unchecked = 0

    def write(self, data: bytes, /) -> None:
        """Take all of it."""
        self._unchecked += len(data)
        if self._unchecked >= _CHECKED_BYTES:
            self._check()
            self._unchecked = 0
        try:
            self._file.write(data)
        except OSError as error:
            raise _refused(error) from error

    def flush(self) -> None:
        """All of it is with the kernel."""
        try:
            self._file.flush()
        except OSError as error:
            raise _refused(error) from error


def _nameless(folder: Path) -> BinaryIO:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        return cast("BinaryIO", tempfile.TemporaryFile(dir=folder))
    except OSError as error:
        raise _refused(error) from error


def _refused(error: OSError) -> Unavailable:
    return Unavailable(f"The host's disk did not take the file ({error.strerror}). Make room on it, then ask again.")


def _no_room(room: int) -> TooLarge:
    return TooLarge(f"The file does not fit: there is room for {room:,} bytes. Delete something, then ask again.")


def _log(asset: Asset, fetched: Fetched) -> None:
    logger.info(
        "asset %s: %d bytes from %s at %s after %d redirects",
        asset.id,
        fetched.size_bytes,
        fetched.link.host,
        fetched.address,
        len(fetched.passed),
    )
