"""A zip from outside, read within bounds: names that can't lead anywhere else, no links, no passwords, no bombs.
Nothing is ever unpacked onto a disk.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass, field

from orchestrator.core.errors import BadInput, TooLarge

MOST_ZIP_BYTES = 16 << 20
MOST_ENTRIES = 5_000
MOST_FILE_BYTES = 256 << 10
"""Of one file that is read."""
MOST_READ_BYTES = 4 << 20
"""Of all files that are read."""
MOST_DEPTH = 12
_MOST_NAME_CHARS = 400
_MOST_LIST_BYTES = 1 << 20
"""The list of names at a zip's end."""
_END = struct.Struct("<4s4H2LH")
_END_MARK, _ZIP64_MARK, _ZIP64_BYTES = b"PK\x05\x06", b"PK\x06\x07", 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_NO_ZIP = "This is no zip that can be read here. Pack the folder again, without a password or a comment."


@dataclass(slots=True)
class ForeignZip:
    """What is in a zip, as far as it may be looked at."""

    _zip: zipfile.ZipFile
    files: dict[str, zipfile.ZipInfo] = field(default_factory=dict)
    """By path, in the order of their names."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Paths that are not looked at, and why."""
    _read: dict[str, bytes] = field(default_factory=dict)
    _read_bytes: int = 0

    def read(self, path: str) -> bytes:
        """The content of a file. Raises TooLarge over the bounds, BadInput for one that is damaged."""
        if path in self._read:
            return self._read[path]
        info = self.files[path]
        if info.file_size > MOST_FILE_BYTES:
            raise TooLarge(f"It is larger than {MOST_FILE_BYTES >> 10} KB.")
        try:
            with self._zip.open(info) as opened:
                content = opened.read(MOST_FILE_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise BadInput("It is damaged.") from error
        self._read_bytes += len(content)
        if len(content) > MOST_FILE_BYTES:
            raise TooLarge(f"It is larger than {MOST_FILE_BYTES >> 10} KB.")
        if self._read_bytes > MOST_READ_BYTES:
            raise TooLarge(f"All files together are more than {MOST_READ_BYTES >> 20} MB.")
        self._read[path] = content
        return content

    def read_text(self, path: str) -> str:
        """The same as text. Raises as ``read``, and BadInput for what is no UTF-8."""
        try:
            text = self.read(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadInput("It is no text in UTF-8.") from error
        if "\0" in text:
            raise BadInput("It is no text.")
        return text.replace("\r\n", "\n").replace("\r", "\n")


def open_archive(content: bytes) -> ForeignZip:
    """The zip. Raises BadInput for what is none, or is made to harm, and TooLarge."""
    if len(content) > MOST_ZIP_BYTES:
        raise TooLarge(f"The zip is larger than {MOST_ZIP_BYTES >> 20} MB. Leave out media and conversations.")
    _check_end(content)
    try:
        opened = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
        raise BadInput(_NO_ZIP) from error
    archive = ForeignZip(opened)
    infos = opened.infolist()
    if len(infos) > MOST_ENTRIES:
        raise TooLarge(f"The zip holds more than {MOST_ENTRIES:,} files.")
    folded: set[str] = set()
    for info in sorted(infos, key=lambda one: one.filename):
        if info.is_dir():
            continue
        path = _check_name(info.orig_filename)
        if path.casefold() in folded:
            raise BadInput("The zip holds two files of the same name, so it is not taken.")
        folded.add(path.casefold())
        why = _why_not(path, info)
        if why:
            archive.left_out.append((path, why))
        else:
            archive.files[path] = info
    return archive


def _check_end(content: bytes) -> None:
    """The list of names is as long as it may be, told before anything of it is read; a second end, which readers
    disagree about, is refused."""
    end = content[-_END.size :]
    if len(end) < _END.size or not end.startswith(_END_MARK):
        raise BadInput(_NO_ZIP)
    _, disk, list_disk, here, total, size, _, comment = _END.unpack(end)
    before = content[-_END.size - _ZIP64_BYTES : -_END.size]
    if disk or list_disk or here != total or comment or before.startswith(_ZIP64_MARK):
        raise BadInput(_NO_ZIP)
    if size > _MOST_LIST_BYTES or total > MOST_ENTRIES:
        raise TooLarge(f"The zip holds more than {MOST_ENTRIES:,} files.")


def _check_name(name: str) -> str:
    """A path that leads nowhere else. Raises BadInput."""
    parts = name.split("/")
    is_bad = (
        len(name) > _MOST_NAME_CHARS
        or "\\" in name
        or ":" in parts[0]
        or any(part in ("", ".", "..") for part in parts)
        or any(ord(char) < 32 or ord(char) == 127 or "\ud800" <= char <= "\udfff" for char in name)
    )
    if is_bad:
        raise BadInput("The zip holds a file whose name leads out of it or can't be read, so it is not taken.")
    return name


def _why_not(path: str, info: zipfile.ZipInfo) -> str:
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "It is a link."
    if kind not in (0, stat.S_IFREG):
        return "It is no regular file."
    if info.flag_bits & 0x41:
        return "It is locked with a password."
    if info.compress_type not in _METHODS:
        return "It is packed in a way that is not read here."
    return f"It lies deeper than {MOST_DEPTH} folders." if path.count("/") >= MOST_DEPTH else ""
