"""A cubicle's folder with a history, and both of them in a form that can be compared name by name and byte by byte."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.checkpoints import history_rows as rows
from orchestrator.checkpoints.models import COVERED, Checkpoint, EntryKind, Parts, PointKind
from orchestrator.checkpoints.store import CheckpointStore, News, PointWish

AMPLE = 256 << 20
Facts = tuple[str, int, int, bytes]
"""Kind, mode, when it was written, content; of a folder the first two, of a link not the mode."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@dataclass
class HistoryFixture:
    """A store over a folder of its own."""

    base: Path
    cap: int = AMPLE
    news: News | None = None
    name: str = "cubicle"

    def __post_init__(self) -> None:
        self.top = self.base / self.name
        self.folder = self.base / "history"
        for name in COVERED:
            (self.top / os.fsdecode(name)).mkdir(parents=True, exist_ok=True)
        self.work = self.top / "work"
        self.store = self.open()

    def open(self) -> CheckpointStore:
        """Another store over the same, as after a restart."""
        return CheckpointStore(self.folder, open_top=self._open_top, cap=lambda: self.cap, news=self.news)

    def reopen(self) -> None:
        """The history was closed and is opened again."""
        self.store.close()
        self.store = self.open()

    def take(self, kind: PointKind = PointKind.COMMAND, label: str = "") -> Checkpoint:
        """A point."""
        return self.store.take_checkpoint(PointWish(kind, label=label))

    def tree(self) -> dict[Parts, Facts]:
        """What is in the covered folders."""
        return describe_tree(self.top)

    def kept(self, point: int) -> dict[Parts, Facts]:
        """What the history has of a point."""
        return dict(_kept(self.store, point, ()))

    def size(self) -> int:
        """What the history takes, as the file system says."""
        return folder_size(self.folder)

    @contextmanager
    def _open_top(self) -> Iterator[int]:
        folder = os.open(self.top, _FOLDER)
        try:
            yield folder
        finally:
            os.close(folder)


def describe_tree(top: Path) -> dict[Parts, Facts]:
    """Every folder, file and link beneath the covered folders, with those themselves."""
    found: dict[Parts, Facts] = {}
    waiting: list[Parts] = [(name,) for name in COVERED]
    while waiting:
        parts = waiting.pop()
        path = os.path.join(os.fsencode(top), *parts)  # noqa: PTH118 - names are bytes here
        facts = os.lstat(path)
        mode = stat.S_IMODE(facts.st_mode)
        if stat.S_ISDIR(facts.st_mode):
            found[parts] = ("folder", mode, 0, b"")
            waiting += [(*parts, name) for name in os.listdir(path)]  # noqa: PTH208 - names are bytes here
        elif stat.S_ISLNK(facts.st_mode):
            found[parts] = ("link", 0, facts.st_mtime_ns, os.readlink(path))  # noqa: PTH115 - names are bytes here
        elif stat.S_ISREG(facts.st_mode):
            found[parts] = ("file", mode, facts.st_mtime_ns, Path(os.fsdecode(path)).read_bytes())
    return found


def _kept(store: CheckpointStore, point: int, folder: Parts) -> Iterator[tuple[Parts, Facts]]:
    for item in store.list_folder(point, folder, limit=1_000_000):
        parts, facts = (*folder, item.name), item.facts
        if facts.kind is EntryKind.FOLDER:
            yield parts, ("folder", facts.mode, 0, b"")
            yield from _kept(store, point, parts)
        else:
            content = store.read_content(point, parts, max_bytes=1 << 30)
            yield parts, (facts.kind.name.lower(), facts.mode, facts.modified_ns, content)


def list_contents(store: CheckpointStore) -> list[bytes]:
    """Every content that the history has."""
    with store._db.reading() as db:
        blobs = [int(row[0]) for row in db.execute("SELECT id FROM blobs")]
    return [b"".join(store._read_blob(blob)) for blob in blobs]


def assert_sound(store: CheckpointStore) -> None:
    """Nothing in the database points nowhere, and the files are as long as it says."""
    with store._db.reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        for query in _ORPHANS:
            assert db.execute(query).fetchall() == [], query
        packs = {f"{pack.number:08}": pack.size for pack in rows.list_packs(db)}
    assert {file.name: file.stat().st_size for file in store._packs.path.iterdir()} == packs


_ORPHANS = (
    "SELECT * FROM entries WHERE blob IS NOT NULL AND blob NOT IN (SELECT id FROM blobs)",
    "SELECT * FROM blobs WHERE id NOT IN (SELECT blob FROM entries WHERE blob IS NOT NULL)",
    "SELECT * FROM blobs WHERE pack NOT IN (SELECT number FROM packs)",
    "SELECT * FROM entries WHERE folder != 0 AND folder NOT IN (SELECT id FROM places)",
    "SELECT * FROM entries WHERE place IS NOT NULL AND place NOT IN (SELECT id FROM places)",
    "SELECT * FROM entries WHERE until <= since",
    "SELECT * FROM places WHERE id NOT IN (SELECT place FROM entries WHERE place IS NOT NULL)",
    "SELECT number FROM packs WHERE live != (SELECT COALESCE(SUM(stored), 0) FROM blobs WHERE pack = number)",
)


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder, whatever comes and goes meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            facts = path.lstat()
        except FileNotFoundError:
            continue
        total += facts.st_size if stat.S_ISREG(facts.st_mode) else 0
    return total


def write(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """A file whose time of change is not of just now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
