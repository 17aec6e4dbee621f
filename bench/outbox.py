"""How soon the host hears of a file that was closed in a cubicle, against raw inotify and a bare watchdog callback in
the same run; and what a hundred idle outbox folders cost. Names begin with a dot, so that nothing of it is
delivered.
"""

from __future__ import annotations

import os
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from watchdog.events import FileClosedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.inotify_c import InotifyConstants, inotify_add_watch, inotify_init

from bench import inside
from orchestrator.capabilities.delivery.deliveries import Deliveries
from orchestrator.capabilities.delivery.download_links import DownloadLinks
from orchestrator.capabilities.delivery.inotify import OutEvents
from orchestrator.capabilities.delivery.intake import Intake
from orchestrator.capabilities.delivery.outbox_folder import OutboxFolders
from orchestrator.capabilities.delivery.watcher import OutboxWatcher
from orchestrator.core.db.database import Store
from orchestrator.core.events import Broker
from orchestrator.core.home import prepare_home
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey
from orchestrator.files.workspace import Workspaces

_IDLE_S = 20.0
Hear = Callable[[str], None]


def noticed(container: Any, out: Path, count: int) -> dict[str, list[float]]:
    """Milliseconds from a close inside until each kind of listener heard of it."""
    return {
        name: _delays(container, out, count, listening)
        for name, listening in (("raw", _raw), ("watchdog", _watchdog), ("ours", _ours))
    }


def idle_cpu_percent(out_folders: int = 100) -> float:
    """What watching so many outbox folders in which nothing happens takes of one core, the looks of a minute
    included.
    """
    with tempfile.TemporaryDirectory(prefix="hermit-bench-") as folder:
        home = prepare_home(Path(folder))
        store, workspaces = Store(home.database), Workspaces(home.path)
        deliveries = Deliveries(
            store=store,
            broker=Broker(),
            hooks=Hooks(),
            outbox=home.outbox,
            links=DownloadLinks("x"),
            base_url="http://x",
        )
        intake = Intake(
            store=store, out_folders=OutboxFolders(workspaces, home.outbox), deliveries=deliveries, outbox=home.outbox
        )
        watch = OutboxWatcher(workspaces, intake, tidy=deliveries.remove_old)
        watch.start([])
        keys = [CubicleKey(f"agent-{number}", 1) for number in range(out_folders)]
        for key in keys:
            workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
            watch.add_cubicle(key)
        while any(watch.is_settling(key) for key in keys):
            time.sleep(0.05)
        began = time.process_time()
        time.sleep(_IDLE_S)
        idle = (time.process_time() - began) / _IDLE_S
        began = time.process_time()
        for key in keys:
            watch.turn_ended(key, 1)
        while any(watch.is_settling(key) for key in keys):
            time.sleep(0.05)
        looks = (time.process_time() - began) / 60.0
        watch.close()
        store.close()
        return (idle + looks) * 100


def _delays(container: Any, out: Path, count: int, listening: Callable[[Path, Hear], Any]) -> list[float]:
    heard: dict[str, int] = {}

    def hear(name: str) -> None:
        heard.setdefault(name, time.monotonic_ns())

    with listening(out, hear):
        closed: list[int] = inside.ask(container, "closes", COUNT=count)
        deadline = time.monotonic() + 10
        while len(heard) < count and time.monotonic() < deadline:
            time.sleep(0.01)
    return [max(0.0, (heard[f".bench-{n}"] - at) / 1e6) for n, at in enumerate(closed) if f".bench-{n}" in heard]


@contextmanager
def _raw(out: Path, hear: Hear) -> Iterator[None]:
    descriptor = inotify_init()
    inotify_add_watch(descriptor, os.fsencode(out), InotifyConstants.IN_CLOSE_WRITE)
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            events, at = os.read(descriptor, 65536), 0
            while at < len(events):
                length = struct.unpack_from("iIII", events, at)[3]
                hear(os.fsdecode(events[at + 16 : at + 16 + length].rstrip(b"\0")))
                at += 16 + length

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        over.set()
        (out / ".bench-end").write_bytes(b"")
        thread.join()
        os.close(descriptor)
        (out / ".bench-end").unlink()


class _Handler(FileSystemEventHandler):
    def __init__(self, hear: Hear) -> None:
        self._hear = hear

    def on_closed(self, event: FileSystemEvent) -> None:
        self._hear(os.path.basename(os.fsdecode(event.src_path)))  # noqa: PTH119 - as cheap as can be


@contextmanager
def _watchdog(out: Path, hear: Hear) -> Iterator[None]:
    observer = Observer()
    observer.schedule(_Handler(hear), str(out), event_filter=[FileClosedEvent])
    observer.start()
    try:
        yield
    finally:
        observer.stop()
        observer.join()


@contextmanager
def _ours(out: Path, hear: Hear) -> Iterator[None]:
    seen = set[bytes]()

    def heard(_key: CubicleKey, name: bytes, _is_whole: bool) -> None:  # noqa: FBT001 - an event's own form
        if name in seen:  # the first event is its creation, the second its closing
            hear(os.fsdecode(name))
        seen.add(name)

    events = OutEvents(heard, lambda: None)
    events.start()
    folder = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    events.add_folder(CubicleKey("bench", 1), folder)
    os.close(folder)
    try:
        yield
    finally:
        events.close()
