"""File names as data: the parts of a path that somebody asked for, a name fit to be stored, a name fit to be shown.

Pure: it knows bytes and characters and never asks the disk.
"""

from __future__ import annotations

import os
import re
import unicodedata

from orchestrator.core.errors import UnsafePath
from orchestrator.core.text import one_line
from orchestrator.files.models import FilePath

MOST_BYTES = 255
"""What a name may have on the file systems of this world."""
_MOST_PARTS = 20_000
_MOST_EXTENSION = 32
_EXTENSION = re.compile(r"(?<=.)(?:\.tar)?\.[A-Za-z0-9_]{1,16}\Z", re.DOTALL)
_AWKWARD = re.compile(r'[<>:"|?*\\/\x00]')
_DEVICES = re.compile(r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³])(?=\.|\s|\Z)", re.IGNORECASE)
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def parts_of(path: FilePath) -> tuple[bytes, ...]:
    """The components of a path within a workspace; empty for the workspace itself.

    Raises UnsafePath for whatever is no plain downward path: ``..``, ``.``, empty or overlong parts, NUL, a leading
    slash.
    """
    try:
        parts = _split_extension(path)
    except UnicodeEncodeError as error:
        raise UnsafePath("This path holds characters that no file name can hold.") from error
    if len(parts) > _MOST_PARTS:
        raise UnsafePath("This path has too many folders.")
    for part in parts:
        if part in (b"", b".", b"..") or b"/" in part or b"\0" in part or len(part) > MOST_BYTES:
            raise UnsafePath(f"{display_path(*parts)} is not a path in the workspace. Write it like out/report.pdf.")
    return parts


def _split_extension(path: FilePath) -> tuple[bytes, ...]:
    if isinstance(path, tuple):
        return tuple(os.fsencode(part) for part in path)
    whole = os.fsencode(path)
    return tuple(whole.split(b"/")) if whole else ()


def display_path(*parts: bytes) -> str:
    """The path on one line for a person, everything invisible written out."""
    return one_line(b"/".join(parts).decode("utf-8", "backslashreplace"), 300)


def safe_name(untrusted: str | bytes) -> str:
    """A base name for a file that somebody sends: no folder, nothing hidden, no option, no device, at most 255 bytes.

    Whatever comes in, a usable name comes out; ``file`` where nothing is left.
    """
    text = untrusted.decode("utf-8", "replace") if isinstance(untrusted, bytes) else untrusted
    text = re.split(r"[/\\]", text[-4096:].rstrip("/\\"))[-1]
    text = unicodedata.normalize("NFC", "".join(_clean_name(char) for char in text))
    text = _AWKWARD.sub("_", text)
    text = " ".join(text.split()).lstrip(".-~ ").rstrip(". ")
    if _DEVICES.match(text):
        text = f"_{text}"
    return _fit_name(*_split_name(text)) if text.strip("_.- ") else "file"


def archived_name(raw: bytes) -> str:
    """The name as one component in an archive, which any program may unpack anywhere: no separator of any system,
    nothing hidden, no device, nothing that a system drops from the end. Dots at the beginning stay."""
    text = _AWKWARD.sub("_", "".join(_clean_name(char) for char in raw.decode("utf-8", "surrogateescape")))
    kept = text.rstrip(". ")
    text = kept + "_" * (len(text) - len(kept))
    return _fit_name(f"_{text}" if _DEVICES.match(text) else text or "_", "")


def add_number(name: str, suffix: str) -> str:
    """The name with a suffix before its extension: ``report-2.pdf``; still at most 255 bytes."""
    stem, extension = _split_name(name)
    return _fit_name(stem, f"-{suffix}{extension}")


def _clean_name(char: str) -> str:
    category = unicodedata.category(char)
    if category == "Zs" or char in "\t\n\r":
        return " "
    return "_" if category in _HIDDEN else char


def _split_name(name: str) -> tuple[str, str]:
    """Stem and extension; what is longer than an extension is none."""
    found = _EXTENSION.search(name)
    if found is None or len(found[0]) > _MOST_EXTENSION:
        return name, ""
    return name[: found.start()], found[0]


def _fit_name(stem: str, ending: str) -> str:
    room = MOST_BYTES - len(ending.encode())
    return stem.encode()[:room].decode("utf-8", "ignore") + ending
