"""Outbox folders: looking at what lies in the ``out/`` of each cubicle, and taking private copies of it, a folder as
one zip.

Everything goes from descriptors of folders and follows no link; names are data; every look is bounded. Nothing that an
agent made is ever unpacked here, and nothing is decided by times that an agent can set.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.core.errors import Changing, NotFound, TooLarge, Unavailable, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import Kind, OutFile, PrivateCopy, Survey
from orchestrator.files.names import display_path, parts_of, safe_name
from orchestrator.files.workspace import Workspaces

OUT = b"out"
MOST_NAMES = 1_000_000
MOST_FILES, MOST_FOLDERS, MOST_DEPTH = 2_000, 500, 32
"""What a folder may hold to be sent as one zip."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The same content is the same zip, whenever it is made."""


class OutboxFolders:
    """The ``out/`` folders of all cubicles, and the private folder where copies of what is in them go."""

    def __init__(self, workspaces: Workspaces, outbox: Path) -> None:
        self._workspaces = workspaces
        self._outbox = outbox

    def changed_ns(self, key: CubicleKey) -> int | None:
        """When a name last came or went in the outbox folder; None when there is no outbox folder."""
        try:
            with self._workspaces.out_folder(key) as folder:
                return os.fstat(folder).st_ctime_ns
        except (OSError, UnsafePath):
            return None

    def look_at(self, key: CubicleKey, path: bytes) -> OutFile | None:
        """How one name in the outbox folder stands, or a path beneath it; None when it is gone, or behind a link."""
        try:
            *above, name = parts_of(path or b".")  # refuses whatever leads up or elsewhere
            with self._workspaces.out_folder(key) as out_folder:
                if not above:
                    return _seen(out_folder, name)
                folder = _opened(out_folder, tuple(above))
                try:
                    return _seen(folder, name)
                finally:
                    os.close(folder)
        except (OSError, UnsafePath):
            return None

    def list_names(self, key: CubicleKey) -> Iterator[OutFile]:
        """All names in the outbox folder as they stand, in no order, one by one, so that a wide outbox folder can
        be looked at in parts. Close it when done.
        """
        try:
            with self._workspaces.out_folder(key) as folder, os.scandir(folder) as entries:
                for number, entry in enumerate(entries):
                    if number >= MOST_NAMES:
                        return
                    found = _seen(folder, os.fsencode(entry.name))
                    if found is not None:
                        yield found
        except (OSError, UnsafePath):
            return

    def survey_folder(self, key: CubicleKey, path: bytes) -> Survey | None:
        """What is in a folder of the outbox folder; None when it is none, or gone."""
        try:
            parts = parts_of(path or b".")
            with self._workspaces.out_folder(key) as folder:
                return _survey(folder, parts)
        except (OSError, UnsafePath):
            return None

    def copy_file(self, key: CubicleKey, path: bytes, *, max_bytes: int) -> PrivateCopy:
        """A private copy of a file in the outbox folder, kept in the outbox.

        Raises NotFound, UnsafePath, TooLarge, Changing while a program may still write to it, Unavailable.
        """
        parts = (OUT, *path.split(b"/"))
        return self._workspaces.copy_out(key, parts, max_bytes=max_bytes, keep_in=self._outbox, only_finished=True)

    def zip_folder(self, key: CubicleKey, name: bytes, *, max_bytes: int) -> Zipped:
        """A private zip of the plain files in a folder of the outbox folder, kept in the outbox.

        Raises NotFound, TooLarge for a folder with too much in it, Changing, Unavailable; nothing is left then.
        """
        survey = self.survey_folder(key, name)
        if survey is None:
            raise NotFound(f"{display_path(name)} is not there any more.")
        if not survey.is_complete:
            raise TooLarge(
                f"{display_path(name)} holds more than is sent as one zip ({MOST_FILES:,} files, "
                f"{MOST_FOLDERS} folders, {MOST_DEPTH} deep). Have the agent pack it."
            )
        if not survey.files:
            raise NotFound(f"{display_path(name)} holds no file.")
        path = self._outbox / f"copy-{secrets.token_hex(16)}"
        try:
            left_out = self._write_zip(key, name, survey, path, max_bytes=max_bytes)
            self._check_unchanged(key, name, survey)
            return Zipped(path, *_measured(path), left_out=left_out + survey.left_out)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise Unavailable(f"{display_path(name)} can't be packed ({error.strerror}). Is the disk full?") from error
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def _check_unchanged(self, key: CubicleKey, name: bytes, survey: Survey) -> None:
        now = self.survey_folder(key, name)
        if now is None or (now.changed_ns, now.files) != (survey.changed_ns, survey.files):
            raise Changing(f"{display_path(name)} is still being filled. Try again when it is finished.")

    def _write_zip(self, key: CubicleKey, name: bytes, survey: Survey, path: Path, *, max_bytes: int) -> int:
        """Writes the zip; how many files could not be taken."""
        left, left_out, names = max_bytes, 0, set[str]()
        with path.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            path.chmod(0o600)
            for parts in survey.files:
                try:
                    copy = self._workspaces.copy_out(
                        key, (OUT, *parts_of(name), *parts), max_bytes=left, only_finished=True
                    )
                except (NotFound, UnsafePath):
                    left_out += 1
                    continue
                with copy:
                    left -= copy.size_bytes
                    about = zipfile.ZipInfo(_name_in_zip(parts, names), _ZIP_TIME)
                    about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                    with archive.open(about, "w", force_zip64=copy.size_bytes >= 1 << 31) as target:
                        shutil.copyfileobj(copy.file, target, 1 << 18)
        return left_out


@dataclass(frozen=True, slots=True)
class Zipped:
    """A folder as one file."""

    path: Path
    size_bytes: int
    sha256: str
    left_out: int
    """How much was in the folder that nobody opens."""


def _seen(folder: int, name: bytes) -> OutFile | None:
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:  # gone, or a name that no call takes
        return None
    return OutFile(name, _kind(facts), facts.st_size, facts.st_ino, facts.st_ctime_ns)


def _kind(facts: os.stat_result) -> Kind:
    if stat.S_ISDIR(facts.st_mode):
        return "folder"
    return "file" if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1 else "other"


@dataclass(slots=True)
class _Tally:
    above: int
    """How many parts of each path belong to the folder that is surveyed."""
    files: list[tuple[bytes, ...]] = field(default_factory=list)
    left_out: int = 0
    folders: int = 0
    names: int = 0
    changed_ns: int = 0
    is_complete: bool = True


def _survey(out_folder: int, top: tuple[bytes, ...]) -> Survey:
    """Folder by folder with a list instead of recursion, each opened by steps from the outbox folder's descriptor."""
    tally, waiting = _Tally(len(top)), [top]
    while waiting and tally.is_complete:
        parts = waiting.pop()
        try:
            folder = _opened(out_folder, parts)
        except OSError:
            if parts == top:
                raise
            tally.left_out += 1  # closed to us, or gone
            continue
        try:
            waiting += _look_into(folder, parts, tally)
        finally:
            os.close(folder)
    return Survey(tuple(sorted(tally.files)), tally.left_out, tally.changed_ns, tally.is_complete)


def _opened(out_folder: int, parts: tuple[bytes, ...]) -> int:
    here = os.open(parts[0], _FOLDER, dir_fd=out_folder)
    for part in parts[1:]:
        try:
            below = os.open(part, _FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def _look_into(folder: int, parts: tuple[bytes, ...], tally: _Tally) -> list[tuple[bytes, ...]]:
    """Counts what a folder holds; the folders in it."""
    below = []
    tally.changed_ns = max(tally.changed_ns, os.fstat(folder).st_ctime_ns)
    with os.scandir(folder) as entries:
        for entry in entries:
            found = _seen(folder, raw := os.fsencode(entry.name))
            if found is None:
                continue
            tally.names += 1
            tally.changed_ns = max(tally.changed_ns, found.changed_ns)
            if found.kind == "folder":
                tally.folders += 1
                below.append((*parts, raw))
            elif found.kind == "file":
                tally.files.append((*parts[tally.above :], raw))
            else:
                tally.left_out += 1
            is_deep = bool(below) and len(parts) - tally.above >= MOST_DEPTH
            if is_deep or tally.folders > MOST_FOLDERS or tally.names > MOST_FILES:
                tally.is_complete = False
                break
    return below


def _name_in_zip(parts: tuple[bytes, ...], taken: set[str]) -> str:
    """A path that no unpacker can be led astray by, each of them once."""
    safe = "/".join(safe_name(part) for part in parts)
    name, number = safe, 2
    while name.casefold() in taken:
        name, number = f"{safe}-{number}", number + 1
    taken.add(name.casefold())
    return name


def _measured(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()
