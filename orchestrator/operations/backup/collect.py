"""What goes into a backup: all that lies in HERMIT_HOME and is worth keeping, name by name, while others write there.

What agents made is asked of the workspace, so no link is followed and no pipe opened. What can't be taken is noted. The
database is a copy that was made before; nothing here reads the one in use.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from orchestrator.core.db.copies import Inside
from orchestrator.core.errors import NotFound, OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import DirEntry
from orchestrator.files.names import display_path
from orchestrator.files.workspace import Workspaces
from orchestrator.operations.backup import manifest as layout
from orchestrator.operations.backup.manifest import Member, Parts

_PAGE = 5_000
_MOST_HOLES = 1 << 30
"""Of what one cubicle's files claim to be and do not take on the disk, so much is written out."""
_MOST_SAID = 1_000
_TRIES = 3
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Opening = Callable[[], tuple[BinaryIO, os.stat_result]]


@dataclass(frozen=True, slots=True)
class BackupItem:
    """A folder, or a file that is opened when its turn comes."""

    parts: Parts
    open: Opening | None = None
    mode: int = 0o700
    modified: float = 0.0
    key: CubicleKey | None = None
    """Whose cubicle it was found in."""


@dataclass(slots=True)
class Notes:
    """What a person should know of a backup."""

    links: int = 0
    """Links, pipes, sockets, devices and files with several names: they are left out, in number."""
    left_out: list[str] = field(default_factory=list)
    """What else is not in it, a sentence each."""
    unsaid: int = 0
    changing: list[str] = field(default_factory=list)
    """What was being written while it was copied, so that it may be half of one and half of the other."""
    holes: dict[CubicleKey, int] = field(default_factory=dict)

    def leave_out(self, why: str) -> None:
        """One more thing that is not in it."""
        if len(self.left_out) < _MOST_SAID:
            self.left_out.append(why)
        else:
            self.unsaid += 1

    def has_room_for_holes(self, key: CubicleKey | None, facts: os.stat_result) -> bool:
        """A file may claim any size for nothing; within bounds that is written out."""
        claimed = max(0, facts.st_size - facts.st_blocks * 512)
        if key is None or not claimed:
            return True
        in_all = self.holes.get(key, 0) + claimed
        if in_all > _MOST_HOLES:
            return False
        self.holes[key] = in_all
        return True


class BackupCollector:
    """One look through an install."""

    def __init__(self, home: Path, workspaces: Workspaces, inside: Inside, database: BinaryIO, notes: Notes) -> None:
        """``inside`` and ``database``: the copy of the database, which says whose folders are looked for."""
        self._home = os.fsencode(home)
        self._workspaces = workspaces
        self._keys = sorted((agent, str(user)) for agent in inside.agents for user in inside.users)
        self._database = database
        self._notes = notes

    def measure_bytes(self) -> int:
        """About how many bytes there are to be taken."""
        cubicles = (self._workspaces.measure_usage(CubicleKey(agent, int(user))).bytes for agent, user in self._keys)
        own = (facts.st_size for facts in self._own_files())
        return sum(cubicles) + sum(own) + os.fstat(self._database.fileno()).st_size

    def walk_items(self) -> Iterator[BackupItem]:
        """Everything, in the order of a backup."""
        for name in sorted(os.listdir(self._home)):  # noqa: PTH208 - names are bytes here
            if name == layout.WORKSPACES:
                yield BackupItem((name,))
                yield from self._walk_cubicles()
            elif name == layout.DATABASE[0]:
                yield BackupItem((name,))
                yield BackupItem(layout.DATABASE, self._open_database, 0o600)
            else:
                yield from self._walk_own((name,))

    # --- what is the install's ---------------------------------------------------------------------------------------

    def _walk_own(self, parts: Parts) -> Iterator[BackupItem]:
        if not _is_kept(parts):
            return
        path = b"/".join((self._home, *parts))
        try:
            facts = os.lstat(path)
            if stat.S_ISREG(facts.st_mode):
                yield BackupItem(parts, lambda: _opened(path), 0o600, facts.st_mtime)
                return
            if not stat.S_ISDIR(facts.st_mode):
                self._notes.links += 1
                return
            names = sorted(os.listdir(path))  # noqa: PTH208 - names are bytes here
        except FileNotFoundError:
            return  # gone meanwhile, so it is not in this instant
        except OSError as error:
            self._notes.leave_out(f"{display_path(*parts)}: {error.strerror}")
            return
        yield BackupItem(parts, None, 0o700, facts.st_mtime)
        for name in names:
            yield from self._walk_own((*parts, name))

    def _own_files(self) -> Iterator[os.stat_result]:
        for folder, folders, files in os.walk(os.fsdecode(self._home)):
            if folder == os.fsdecode(self._home):
                skipped = {os.fsdecode(name) for name in (*layout.LEFT_OUT, layout.WORKSPACES, layout.DATABASE[0])}
                folders[:] = [name for name in folders if name not in skipped]
            for name in files:
                try:
                    yield Path(folder, name).lstat()
                except FileNotFoundError:  # gone meanwhile
                    continue

    def _open_database(self) -> tuple[BinaryIO, os.stat_result]:
        copy = os.fdopen(os.dup(self._database.fileno()), "rb", buffering=0)
        copy.seek(0)
        return copy, os.fstat(copy.fileno())

    # --- what agents made ------------------------------------------------------------------------------------------

    def _walk_cubicles(self) -> Iterator[BackupItem]:
        begun = ""
        for agent, user in self._keys:
            key = CubicleKey(agent, int(user))
            if not self._workspaces.list_folder(key).entries:
                continue
            if begun != agent:
                begun = agent
                yield BackupItem((layout.WORKSPACES, agent.encode()))
            top = (layout.WORKSPACES, agent.encode(), user.encode())
            yield BackupItem(top)
            yield from self._walk_folder(key, top)

    def _walk_folder(self, key: CubicleKey, top: Parts) -> Iterator[BackupItem]:
        """Without recursion, however deep an agent went."""
        waiting: list[tuple[Parts, Iterator[DirEntry]]] = [((), self._list_entries(key, ()))]
        while waiting:
            folder, entries = waiting[-1]
            entry = next(entries, None)
            if entry is None:
                waiting.pop()
                continue
            below = (*folder, entry.raw)
            if entry.kind == "other":
                self._notes.links += 1
            elif len(b"/".join((*top, *below))) > layout.LONGEST:
                self._notes.leave_out(f"{key}: {display_path(*below)} lies too deep.")
            elif entry.kind == "file":
                yield self._read_file(key, top, below)
            else:
                yield BackupItem((*top, *below), None, 0o755, entry.modified)
                waiting.append((below, self._list_entries(key, below)))

    def _read_file(self, key: CubicleKey, top: Parts, below: Parts) -> BackupItem:
        return BackupItem((*top, *below), lambda: self._workspaces.open_inside(key, below), key=key)

    def _list_entries(self, key: CubicleKey, folder: Parts) -> Iterator[DirEntry]:
        after: bytes | None = None
        try:
            while True:
                page = self._workspaces.list_folder(key, folder, after=after, limit=_PAGE)
                yield from page.entries
                if (after := page.next) is None:
                    return
        except NotFound:
            return  # gone meanwhile
        except OrchestratorError as error:
            self._notes.leave_out(f"{key}: {error.message}")


def take_file(item: BackupItem, notes: Notes, *, most_kept: int) -> tuple[Member, BinaryIO | bytes] | None:
    """A file as it is now: its bytes where it is small, else open for reading. None when it is gone or can't be taken,
    which is noted.
    """
    content = b""
    for attempt in range(_TRIES):
        opened = _opened_or_noted(item, notes)
        if opened is None:
            return None
        file, facts = opened
        member = Member(item.parts, False, facts.st_size, stat.S_IMODE(facts.st_mode), facts.st_mtime)
        if attempt == 0 and not notes.has_room_for_holes(item.key, facts):
            file.close()
            notes.leave_out(f"{display_path(*item.parts)} claims to be much larger than it is.")
            return None
        if facts.st_size > most_kept:
            return member, file
        with file:
            content = file.read(facts.st_size)
            if len(content) == facts.st_size and not has_changed(file, facts):
                return member, content
    notes.changing.append(display_path(*item.parts))
    return member, content.ljust(member.size, b"\0")


def has_changed(file: BinaryIO, before: os.stat_result) -> bool:
    """Somebody wrote to it since."""
    now = os.fstat(file.fileno())
    return (now.st_size, now.st_mtime_ns, now.st_ctime_ns) != (before.st_size, before.st_mtime_ns, before.st_ctime_ns)


def _opened_or_noted(item: BackupItem, notes: Notes) -> tuple[BinaryIO, os.stat_result] | None:
    if item.open is None:
        return None
    try:
        return item.open()
    except (NotFound, FileNotFoundError):
        return None  # gone meanwhile
    except OrchestratorError as error:
        notes.leave_out(error.message)
    except OSError as error:
        notes.leave_out(f"{display_path(*item.parts)}: {error.strerror}")
    return None


def _opened(path: bytes) -> tuple[BinaryIO, os.stat_result]:
    file = os.fdopen(os.open(path, _OPEN), "rb", buffering=0)
    return file, os.fstat(file.fileno())


def _is_kept(parts: Parts) -> bool:
    top = len(parts) == 1 and (parts[0] in layout.LEFT_OUT or parts in (layout.MANIFEST, layout.SUMS))
    return not top and not parts[-1].endswith(layout.UNFINISHED)
