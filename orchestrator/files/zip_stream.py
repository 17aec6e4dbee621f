"""A folder of a workspace as a zip archive, made while it is sent: neither the archive nor any file is ever whole in
memory. It asks the workspace for everything and opens nothing itself.

A name is data: whatever an agent called a file, in the archive it is one harmless component. What is not a regular file
is left out, and the archive says so in its last entry.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from stat import S_IFDIR, S_IFREG
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import MOST_FILE_BYTES, DirEntry
from orchestrator.files.names import add_number, archived_name, display_path
from orchestrator.files.workspace import Workspaces

MOST_ENTRIES = 100_000
MOST_BYTES = 16 * 1024**3
LEFT_OUT = "HERMITSHELL-LEFT-OUT.txt"
"""The last entry, where there is something to say."""
_LONGEST_PATH = 2_000
"""Bytes of a path in the archive; programs that unpack it give up at twice that."""
_MOST_SAID = 1_000
_PAGE = 5_000
_CHUNK = 1 << 18
_EPOCH, _LAST = 315_532_800, 4_354_819_198
"""The times that a zip archive can tell: from 1980 to 2107."""
_NOT_PLAIN = "is not a regular file: a link, a pipe, a socket, a device, or a file with several names"


def stream_zip(
    workspaces: Workspaces,
    key: CubicleKey,
    folder: tuple[bytes, ...],
    *,
    only: tuple[bytes, ...] = (),
    most_file_bytes: int = MOST_FILE_BYTES,
    most_entries: int = MOST_ENTRIES,
) -> Iterator[bytes]:
    """The archive of ``folder``, piece by piece; without components, of the whole workspace; of what is named by
    ``only`` in it, where anything is.

    What can't be read is left out and listed, so that nothing makes it fail half way.
    """
    outlet = _Outlet()
    with closing(ZipFile(outlet, "w", ZIP_DEFLATED, compresslevel=1)) as archive:  # type: ignore[call-overload]  # writes only
        packing = _Packing(workspaces, key, archive, most_file_bytes, most_entries)
        for _ in packing.pack_folder(folder, only):
            if outlet.waiting >= _CHUNK:
                yield outlet.take()
        packing.say_what_is_missing()
    yield outlet.take()


class _Outlet:
    """A file that can only be written to, and emptied."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.waiting = 0
        """How many bytes may be taken."""

    def write(self, data: bytes) -> int:
        """Keep it until it is taken."""
        self._pieces.append(bytes(data))
        self.waiting += len(data)
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        self.waiting = 0
        return taken


class _Packing:
    """Where a packing stands: how much may still go in, and what was left out."""

    def __init__(
        self, workspaces: Workspaces, key: CubicleKey, archive: ZipFile, most_file_bytes: int, most_entries: int
    ) -> None:
        self._workspaces = workspaces
        self._key = key
        self._archive = archive
        self._most_file_bytes = most_file_bytes
        self._entries_left, self._bytes_left = most_entries, MOST_BYTES
        self._said: list[str] = []
        self._unsaid = 0
        self._top = ""

    def pack_folder(self, folder: tuple[bytes, ...], only: tuple[bytes, ...] = ()) -> Iterator[None]:
        """Everything beneath ``folder`` goes in; it pauses whenever something was written."""
        self._top = f"{archived_name(folder[-1])}/" if folder else ""
        waiting = [(folder, self._top)]
        while waiting:
            parts, inside = waiting.pop()
            if inside:
                self._archive.writestr(_make_info(inside, time.time()), b"")
            taken: dict[str, int] = {}
            entries = self._list_entries(parts) if parts != folder or not only else self._get_entries(parts, only)
            for entry in entries:
                if self._entries_left <= 0:
                    self._leave_out(parts, "and what comes after it is not all here: there are too many files")
                    return
                self._entries_left -= 1
                below, called = (*parts, entry.raw), _free_name(taken, entry.raw)
                name = inside + called
                if called.encode() != entry.raw:
                    self._report(f"{display_path(*below)} is called {name} here")
                if len(name.encode()) > _LONGEST_PATH:
                    self._leave_out(below, "lies too deep")
                elif entry.kind == "folder":
                    waiting.append((below, f"{name}/"))
                elif entry.kind == "file":
                    yield from self._pack_file(below, name, entry)
                else:
                    self._leave_out(below, _NOT_PLAIN)
            yield

    def say_what_is_missing(self) -> None:
        """The last entry, when there is anything to say."""
        if not self._said:
            return
        more = [f"… and {self._unsaid:,} more"] if self._unsaid else []
        text = "\n".join(["What is not in this archive, or has another name in it:", "", *self._said, *more, ""])
        name = LEFT_OUT if f"{LEFT_OUT}/" != self._top else add_number(LEFT_OUT, "2")
        self._archive.writestr(_make_info(name, time.time()), text)

    def _list_entries(self, folder: tuple[bytes, ...]) -> Iterator[DirEntry]:
        after: bytes | None = None
        try:
            while True:
                page = self._workspaces.list_folder(self._key, folder, after=after, limit=_PAGE)
                yield from page.entries
                if (after := page.next) is None:
                    return
        except OrchestratorError as error:  # gone, shut or too wide: the others go on
            self._report(f"{display_path(*folder)}: {error.message}")

    def _get_entries(self, folder: tuple[bytes, ...], names: tuple[bytes, ...]) -> Iterator[DirEntry]:
        for name in dict.fromkeys(names):
            try:
                yield self._workspaces.get_entry(self._key, (*folder, name))
            except OrchestratorError as error:  # gone meanwhile: the others go on
                self._report(error.message)

    def _pack_file(self, parts: tuple[bytes, ...], name: str, entry: DirEntry) -> Iterator[None]:
        try:
            snapshot = self._workspaces.copy_out(
                self._key, parts, max_bytes=min(self._most_file_bytes, self._bytes_left)
            )
        except OrchestratorError as error:  # gone, changing or too large: the others go on
            self._report(error.message)
            return
        with snapshot:
            self._bytes_left -= snapshot.size_bytes
            with self._archive.open(_make_info(name, entry.modified, snapshot.size_bytes), "w") as target:
                while chunk := snapshot.file.read(_CHUNK):
                    target.write(chunk)
                    yield
        yield

    def _leave_out(self, parts: tuple[bytes, ...], why: str) -> None:
        self._report(f"{display_path(*parts) or 'The workspace'} {why}")

    def _report(self, line: str) -> None:
        if len(self._said) < _MOST_SAID:
            self._said.append(line)
        else:
            self._unsaid += 1


def _free_name(taken: dict[str, int], raw: bytes) -> str:
    """What a file is called within its folder in the archive: no two alike, though two raw names may look so."""
    wanted = name = archived_name(raw)
    while name in taken:
        taken[wanted] += 1
        name = add_number(wanted, str(taken[wanted]))
    taken[name] = 1
    return name


def _make_info(name: str, modified: float, size_bytes: int = 0) -> ZipInfo:
    info = ZipInfo(name, time.gmtime(min(max(modified, _EPOCH), _LAST))[:6])
    is_folder = name.endswith("/")
    info.compress_type = ZIP_STORED if is_folder else ZIP_DEFLATED
    info.external_attr = (S_IFDIR | 0o755 if is_folder else S_IFREG | 0o644) << 16 | (0x10 if is_folder else 0)
    info.file_size = size_bytes
    return info
