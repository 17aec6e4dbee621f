"""Downloads: the jobs that fetch what was agreed to, one file a cubicle at a time.

What comes is kept in a nameless file until it is whole, which no crash leaves behind.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from orchestrator.capabilities.downloads.downloads import DownloadRequests
from orchestrator.capabilities.downloads.outcome import DownloadOutcomes
from orchestrator.capabilities.downloads.records import KIND, Asset, read_asset
from orchestrator.capabilities.landing import WorkspaceStore
from orchestrator.core.errors import TooLarge, Unavailable
from orchestrator.jobs.kinds import JobKind, Running
from orchestrator.web.fetcher import Fetched, Fetcher, NewHost
from orchestrator.web.limits import Internet
from orchestrator.web.urls import UrlRules

logger = logging.getLogger(__name__)

AT_ONCE = 2
_TIME_S = 3600.0
"""The fetcher has a shorter limit of its own."""
_CHECKED_BYTES = 4 << 20
_ODD = "Something went wrong on the host; its log says what. Ask again."


class DownloadWorker:
    """Fetches downloads."""

    def __init__(
        self,
        *,
        assets: DownloadRequests,
        endings: DownloadOutcomes,
        landing: WorkspaceStore,
        internet: Internet,
        rules: UrlRules,
        folder: Path,
    ) -> None:
        """``folder`` is where files grow before they are whole; they have no name there."""
        self._assets = assets
        self._landing = landing
        self._internet = internet
        self._rules = rules
        self._folder = folder
        self.kind = JobKind(
            KIND,
            self._run_job,
            _TIME_S,
            report=endings.report_outcome,
            tries=10,
            gave_up=_ODD,
            broke=_ODD,
            at_once=AT_ONCE,
            kept_s=None,
            ends_within_s=30.0,
            holds_deletion=True,
        )

    def _run_job(self, running: Running) -> dict[str, Any] | None:
        asset = read_asset(running.job)
        try:
            if not self._landing.lies_there(asset):
                self._fetch_file(asset, running)
        except NewHost as found:
            self._assets.send_on(asset, found)
            return None
        return {}

    def _fetch_file(self, asset: Asset, running: Running) -> None:
        link, other_hosts = self._assets.allowed_fetch(asset)
        room, most = self._landing.room_for(asset.cubicle), self._internet.limits.file_bytes
        limits = replace(self._internet.limits, file_bytes=min(room, most))
        fetcher = Fetcher(limits, rules=self._rules, network=self._internet.network, tls=self._internet.tls)
        with _nameless(self._folder) as file:
            sink = _Sink(file, self._landing.check_space)
            try:
                fetched = fetcher.fetch(link, sink, other_hosts=other_hosts, is_stopped=lambda: not running.is_wanted())
                sink.flush()
            except TooLarge:
                if room < most:
                    raise _no_room(room) from None
                raise
            running.record_progress(**{"from": fetched.link.host})
            self._assets.expect_file(asset, fetched.link.host)
            facts = {"sha256": fetched.sha256, "content_type": fetched.content_type}
            self._landing.store_file(asset, file, running, size_bytes=fetched.size_bytes, **facts)
        _log(asset, fetched)


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
