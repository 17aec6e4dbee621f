"""Making a backup: the whole of an install into one file, which has its name only when it was read back and found good.

Whatever goes wrong on the way, nothing is left behind and the install was not touched.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from orchestrator.core import dirs as folders
from orchestrator.core.db import copies
from orchestrator.core.errors import BadInput, Conflict, TooLarge, Unavailable
from orchestrator.core.home import Home
from orchestrator.files.free_space import Reserve
from orchestrator.files.names import display_path
from orchestrator.files.workspace import Workspaces
from orchestrator.operations.backup import manifest as layout
from orchestrator.operations.backup import tar_format as tape
from orchestrator.operations.backup.collect import BackupCollector, BackupItem, Notes, has_changed, take_file
from orchestrator.operations.backup.manifest import Manifest, Member

PACKED, PLAIN = (".tar.gz", ".tgz"), (".tar",)
_MOST_KEPT = 4 << 20
_LOOK_EVERY = 16 << 20
_SPARE = 4 << 30
_MOST_MEMBERS = 50_000_000
_NEW = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC

Meter = Callable[[int, int], None]
"""Told how many bytes are done, of about how many."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was made."""

    manifest: Manifest
    files: int
    bytes: int
    digest: str
    """Of the list of hashes, and so of everything."""
    notes: Notes


def write_archive(
    home: Home,
    target: BinaryIO,
    meter: Meter,
    *,
    packed: bool,
    check: Callable[[], None],
    fits: Callable[[int], None] = lambda _: None,
) -> Written:
    """Everything goes to ``target``. Raises OSError of the target, Unavailable, and what ``check`` raises, which is
    asked now and then whether it may go on, or ``fits``, which is asked first, with about how much there is."""
    notes, workspaces = Notes(), Workspaces(home.path)
    home.backups.mkdir(mode=0o700, exist_ok=True)
    with copies.open_unnamed_copy(home.database, home.backups) as (database, inside):
        gathering = BackupCollector(home.path, workspaces, inside, database, notes)
        measured = gathering.measure_bytes()
        fits(measured)
        manifest = Manifest(
            install=home.install,
            migrations=inside.migrations,
            made_at=round(time.time(), 3),
            agents=len(inside.agents),
            people=len(inside.users),
            turns=inside.turns,
            most_bytes=2 * measured + _SPARE * (1 + len(inside.cubicles)),
            most_members=_MOST_MEMBERS,
        )
        stream = gzip.GzipFile(fileobj=target, mode="wb", compresslevel=1, mtime=0) if packed else target
        writing = _Writing(cast("BinaryIO", stream), manifest, notes, lambda done: meter(done, measured), check)
        digest = writing.run(gathering.walk_items())
        if packed:
            stream.close()
    return Written(manifest, writing.files, writing.bytes, digest, notes)


@contextmanager
def whole_file(path: Path, home: Path, *, may_replace: bool) -> Iterator[BinaryIO]:
    """A private file beside ``path`` that takes its name when all went well, and else is gone. Raises BadInput,
    Conflict, Unavailable."""
    _check_place(path, home)
    if path.exists() and not may_replace:
        raise Conflict(f"{path} is there already. Choose another name, or add --force to replace it.")
    part = path.with_name(f"{path.name}.part")
    try:
        descriptor = os.open(part, _NEW, 0o600)
    except OSError as error:
        raise explain_error(path, error) from error
    with os.fdopen(descriptor, "w+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict(f"Another backup is being written to {path} right now.") from error
        try:
            file.truncate(0)
            os.fchmod(descriptor, 0o600)
            yield file
            _name(part, path, may_replace=may_replace)
        except OSError as error:
            raise explain_error(path, error) from error
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def flush_file(file: BinaryIO) -> None:
    """All that was written is on the disk, and the file is at its beginning again."""
    file.flush()
    os.fsync(file.fileno())
    file.seek(0)


def is_packed(path: Path) -> bool:
    """Whether a name asks for compression; raises BadInput for one that says nothing."""
    if path.name.endswith(PACKED):
        return True
    if path.name.endswith(PLAIN):
        return False
    raise BadInput(f"{path.name} must end in .tar, or compressed in .tar.gz or .tgz.")


def keeps_reserve(home: Path, folder: Path) -> Callable[[], None]:
    """A check that a backup on the install's own disk leaves the install the room that it needs."""
    reserve = Reserve(home, ballast=home)
    if folder.stat().st_dev != home.stat().st_dev:
        return lambda: None

    def check() -> None:
        if reserve.measure_room().is_short:
            raise Unavailable(
                "The disk of HERMIT_HOME would get too full, so the backup was cancelled and nothing of it is left. "
                "Free some space, or write it to another disk."
            )

    return check


def explain_error(path: Path, error: OSError) -> Unavailable:
    """What a refusing disk means for the file."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Unavailable(f"There is no room for {path}, and nothing of it is left. Free some space there.")
    return Unavailable(f"{path} can't be written ({error.strerror}). Choose another place.")


def _check_place(path: Path, home: Path) -> None:
    folder = path.parent.resolve()
    if not folder.is_dir():
        raise BadInput(f"There is no folder {path.parent}. Make it first.")
    own = home.resolve()
    if (folder == own or own in folder.parents) and not (
        folder == own / "backups" or own / "backups" in folder.parents
    ):
        raise BadInput("Within HERMIT_HOME, a backup can only be in the folder backups. Choose another place.")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise BadInput(f"{path} is not a regular file. Choose another name.")


def _name(part: Path, path: Path, *, may_replace: bool) -> None:
    """It has its name now; what another program put there meanwhile is not replaced."""
    if may_replace:
        part.replace(path)
    else:
        try:
            path.hardlink_to(part)
        except FileExistsError as error:
            raise Conflict(f"{path} is there already. Choose another name, or add --force to replace it.") from error
        except OSError:  # a file system without hard links
            part.replace(path)
    folders.flush_folder(path.parent)


class _Writing:
    """One archive on its way."""

    def __init__(
        self, out: BinaryIO, manifest: Manifest, notes: Notes, meter: Callable[[int], None], check: Callable[[], None]
    ) -> None:
        self._out = out
        self._manifest = manifest
        self._notes = notes
        self._meter = meter
        self._check = check
        self._sums = hashlib.sha256()
        self._checked = 0
        self.files = 0
        self.bytes = 0

    def run(self, items: Iterator[BackupItem]) -> str:
        """Everything, from the manifest to the end."""
        order = layout.MemberOrder()
        self._check()
        with tempfile.TemporaryFile() as lines:  # as long as there are names, so it is kept out of memory
            text = self._manifest.encoded()
            lines.write(self._add_member(Member(layout.MANIFEST, False, len(text)), text))
            for item in items:
                member, content = Member(item.parts, True, 0, item.mode, item.modified), None
                if item.open is not None:
                    found = take_file(item, self._notes, most_kept=_MOST_KEPT)
                    if found is None:
                        continue
                    member, content = found
                    self.files += 1
                order.check_member(member)
                lines.write(self._add_member(member, content))
            size = lines.tell()
            lines.seek(0)
            self._add_member(Member(layout.SUMS, False, size), cast("BinaryIO", lines))
        self._out.write(tape.END)
        return self._sums.hexdigest()

    def _add_member(self, member: Member, content: bytes | BinaryIO | None) -> bytes:
        """A member is in the archive; its line for the list of hashes."""
        self._out.write(tape.member_header(member))
        digest = hashlib.sha256()
        if isinstance(content, bytes):
            self._put_piece(content, digest)
        elif content is not None:
            with content:
                before = os.fstat(content.fileno())
                self._copy_content(content, member, digest)
                if member.parts != layout.SUMS and has_changed(content, before):
                    self._notes.changing.append(display_path(*member.parts))
        self._out.write(tape.member_padding(member.size))
        if member.parts == layout.SUMS:
            return b""
        line = layout.sum_line(member, digest.hexdigest())
        self._sums.update(line)
        return line

    def _copy_content(self, content: BinaryIO, member: Member, digest: hashlib._Hash) -> None:
        """Exactly as many bytes as were announced, whatever becomes of the file."""
        left = member.size
        while left:
            piece = content.read(min(tape.CHUNK, left)) or b"\0" * min(tape.CHUNK, left)
            self._put_piece(piece, digest)
            left -= len(piece)

    def _put_piece(self, piece: bytes, digest: hashlib._Hash) -> None:
        digest.update(piece)
        self._out.write(piece)
        self.bytes += len(piece)
        if self.bytes > self._manifest.most_bytes:
            raise TooLarge("HERMIT_HOME grows faster than it can be copied. Stop the agents, then try again.")
        self._meter(self.bytes)
        if self.bytes - self._checked >= _LOOK_EVERY:
            self._checked = self.bytes
            self._check()
