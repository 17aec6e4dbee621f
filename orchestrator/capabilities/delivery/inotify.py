"""Hearing at once what happens in watched folders: one inotify descriptor and one thread for all of them.

It listens for names that were made, renamed or closed after writing, nothing else, and never for what lies deeper. It
uses watchdog's own wrapper of inotify without its observers, which keep a thread a folder and hide when the kernel
dropped events. Where the kernel allows no (more) watches, ``problem`` says so and somebody must look for himself.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchDescriptor,
)

from orchestrator.core.models import CubicleKey

logger = logging.getLogger(__name__)

Heard = Callable[[CubicleKey, bytes, bool], None]
"""Told the folder's cubicle, the name, and whether it is whole (renamed to it) rather than being made or closed."""

_MASK = Mask(
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_ONLYDIR
    | InotifyConstants.IN_EXCL_UNLINK
)
_ID = CallbackId(1)


class OutEvents:
    """What happens in the folders of cubicles."""

    def __init__(self, heard: Heard, missed: Callable[[], None]) -> None:
        """``missed`` is called when the kernel dropped events. Both are called from the one thread, and return at
        once."""
        self._heard = heard
        self._missed = missed
        self._lock = threading.Lock()  # protects _watched
        self._watched: dict[CubicleKey, tuple[WatchDescriptor, _Ear]] = {}
        self.problem = ""
        """Why not every folder is heard, in a sentence; empty while all are."""
        self._inotify: InotifyFD | None = None

    def start(self) -> None:
        """Begin to hear; before that no folder can be added."""
        try:
            self._inotify = InotifyFD()
        except OSError as error:
            self._log_error(error)
            return
        self._inotify.name = "out-events"
        self._inotify.start()

    def add_folder(self, key: CubicleKey, folder: int) -> bool:
        """The folder with this descriptor is heard; False when that is not possible. The same one again is fine."""
        inotify = self._inotify
        if inotify is None:
            return False
        with self._lock:
            before = self._watched.get(key)
            ear = _Ear(self, key)
            try:
                # By way of the descriptor, so that no name is looked up that somebody could have swapped.
                watch = _watched(inotify, folder, ear, before)
            except OSError as error:
                self._log_error(error)
                return False
            self._watched[key] = (watch, ear)
        return True

    def drop_folder(self, key: CubicleKey) -> None:
        """The folder is not heard any more; again is fine."""
        with self._lock:
            known = self._watched.pop(key, None)
            if known is not None and self._inotify is not None:
                self._inotify.remove_callbacks([(known[0], _ID)])

    def close(self) -> None:
        """Nothing is heard any more."""
        if self._inotify is not None:
            self._inotify.stop()
            self._inotify.join(timeout=10)
            self._inotify = None

    def on_event(self, key: CubicleKey, event: InotifyEvent) -> None:
        """One event of a folder."""
        if event.name:
            self._heard(key, event.name, event.is_moved_to)

    def on_watch_gone(self, key: CubicleKey, watch: WatchDescriptor) -> None:
        """The kernel watches a folder no longer: it was deleted."""
        with self._lock:
            known = self._watched.get(key)
            if known is not None and known[0] == watch:
                del self._watched[key]

    def on_overflow(self) -> None:
        """The kernel dropped events."""
        self._missed()

    def _log_error(self, error: OSError) -> None:
        sentence = f"New files in out/ are noticed late: the kernel allows no more watches ({error.strerror})."
        if not self.problem:
            logger.warning("%s Raise fs.inotify.max_user_watches or max_user_instances.", sentence)
        self.problem = sentence


class _Ear:
    """Says whose folder an event is of."""

    def __init__(self, events: OutEvents, key: CubicleKey) -> None:
        self._events = events
        self._key = key

    def on_event(self, event: InotifyEvent) -> None:
        self._events.on_event(self._key, event)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        self._events.on_watch_gone(self._key, wd)

    def on_queue_overflow(self) -> None:
        self._events.on_overflow()


def _watched(
    inotify: InotifyFD, folder: int, ear: _Ear, before: tuple[WatchDescriptor, _Ear] | None
) -> WatchDescriptor:
    """The kernel's watch on a folder; the one before goes, unless it is of the same folder."""
    if before is not None:
        inotify.remove_callbacks([(before[0], _ID)])
    watch = inotify.add_callback(f"/proc/self/fd/{folder}/.".encode(), _MASK, ear, _ID)
    if watch < 0:
        raise OSError(0, "no permission")
    return watch
