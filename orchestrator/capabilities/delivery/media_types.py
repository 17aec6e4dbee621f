"""What kind of thing a delivered file is, by its first bytes and its name: photo, video, animation, audio, voice or
document; and whether its name pretends to be something else.

Pure, and it never decodes: a few numbers of an image's header are all that is read. In doubt a file is a document.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from typing import Literal, NamedTuple

from orchestrator.files.magic import content_of
from orchestrator.files.names import display_path

Kind = Literal["photo", "video", "animation", "audio", "voice", "document"]

HEAD_BYTES = 1 << 18
"""How much of a file's beginning is looked at."""
PHOTO_BYTES, PHOTO_SIDES, PHOTO_RATIO = 10_000_000, 10_000, 20
"""What a chat shows as a photo: so many bytes, width and height together, and the longer side to the shorter."""

_KINDS: dict[str, Kind] = {
    "png": "photo",
    "jpeg": "photo",
    "webp": "photo",
    "gif": "animation",
    "mp4": "video",
    "mp3": "audio",
    "m4a": "audio",
    "opus": "voice",
}
_CALLED = {
    "png": "a PNG image",
    "jpeg": "a JPEG image",
    "webp": "a WebP image",
    "gif": "a GIF image",
    "mp4": "an MP4 video",
    "mp3": "MP3 sound",
    "m4a": "M4A sound",
    "opus": "Ogg sound",
    "ogg": "Ogg sound",
    "wav": "WAV sound",
    "flac": "FLAC sound",
    "webm": "a WebM or Matroska video",
    "pdf": "a PDF",
    "zip": "a zip archive",
    "gzip": "a gzip archive",
    "program": "a program",
    "page": "a web page",
}
_BY_EXTENSION: dict[str, tuple[str, ...]] = {
    "png": ("png",),
    "jpg": ("jpeg",),
    "jpeg": ("jpeg",),
    "webp": ("webp",),
    "gif": ("gif",),
    "mp4": ("mp4",),
    "m4v": ("mp4",),
    "mp3": ("mp3",),
    "m4a": ("m4a", "mp4"),
    "ogg": ("opus", "ogg"),
    "oga": ("opus", "ogg"),
    "opus": ("opus",),
    "wav": ("wav",),
    "flac": ("flac",),
    "webm": ("webm",),
    "mkv": ("webm",),
    "pdf": ("pdf",),
    "zip": ("zip",),
    "docx": ("zip",),
    "xlsx": ("zip",),
    "pptx": ("zip",),
    "odt": ("zip",),
}
"""What a file with such a name must begin like."""
_HARMLESS = frozenset(re.findall(r"\w+", "txt md csv tsv json doc xls ppt rtf bmp tif tiff avi mov")) | set(
    _BY_EXTENSION
)
_RISKY = frozenset(
    re.findall(
        r"\w+",
        "exe scr com bat cmd pif msi hta js jse vbs wsf ps1 jar apk app lnk reg html htm xhtml svg xml sh py dmg",
    )
)
_UNSEEN = {"Cc", "Cf", "Co", "Cn", "Zl", "Zp"}


class Judged(NamedTuple):
    """How a file is delivered."""

    kind: Kind
    warning: str
    """A sentence for whoever may open it; empty when nothing is odd."""


def judge_file(raw_name: bytes, head: bytes, size_bytes: int) -> Judged:
    """The kind of a file that is called so and begins so. Whatever is disguised is a document with a warning."""
    extension = _extension(raw_name)
    content = content_of(head)
    warning = _warning(raw_name, extension, content)
    if warning:
        return Judged("document", warning)
    is_sound_alone = content == "mp4" and extension == "m4a"
    kind = "audio" if is_sound_alone else _KINDS.get(content, "document")
    if extension and extension not in _BY_EXTENSION:  # a picture under a name of another trade is left as it is
        kind = "document"
    if kind == "photo" and not _fits_a_photo(content, head, size_bytes):
        kind = "document"
    return Judged(kind, "")


def size_of_image(content: str, head: bytes) -> tuple[int, int] | None:
    """Width and height, as the header of an image of that sort says; None when it does not say."""
    try:
        return _SIZES[content](head)
    except (KeyError, IndexError, struct.error):
        return None


# --- the name against the content ------------------------------------------------------------------------------


def _warning(raw_name: bytes, extension: str, content: str) -> str:
    text = raw_name.decode("utf-8", "replace")
    if any(unicodedata.category(char) in _UNSEEN for char in text):
        return f"Careful: its name holds characters that hide or reorder others ({display_path(raw_name)})."
    before = _extension(raw_name.rpartition(b".")[0])
    if extension in _RISKY and before in _HARMLESS:
        return f"Careful: it looks like .{before} but is .{extension}."
    expected = _BY_EXTENSION.get(extension)
    if expected is not None and content not in expected:
        found = f"is {_CALLED[content]}" if content else "is something else"
        return f"Careful: it is called .{extension} but {found}."
    if content == "program" and extension in _HARMLESS:
        return f"Careful: it is called .{extension} but is a program."
    return ""


def _extension(raw_name: bytes) -> str:
    stem, dot, extension = raw_name.rpartition(b".")
    text = extension.strip().decode("ascii", "replace").lower()
    return text if dot and stem and len(text) <= 10 and text.isalnum() else ""


# --- photos ----------------------------------------------------------------------------------------------------


def _fits_a_photo(content: str, head: bytes, size_bytes: int) -> bool:
    size = size_of_image(content, head)
    if size is None or size_bytes > PHOTO_BYTES:
        return False
    short, long = sorted(size)
    return short > 0 and short + long <= PHOTO_SIDES and long <= short * PHOTO_RATIO


def _png(head: bytes) -> tuple[int, int] | None:
    if head[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", head, 16)
    return width, height


def _gif(head: bytes) -> tuple[int, int]:
    width, height = struct.unpack_from("<HH", head, 6)
    return width, height


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """From segment to segment until the frame's own; each step goes forward, so it ends."""
    at = 2
    while at + 9 <= len(head):
        if head[at] != 0xFF:
            return None
        marker = head[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in (0x01, *range(0xD0, 0xD8)):
            at += 2
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", head, at + 5)
            return width, height
        elif marker in (0xD9, 0xDA):
            return None
        else:
            at += 2 + max(2, struct.unpack_from(">H", head, at + 2)[0])
    return None


def _webp(head: bytes) -> tuple[int, int] | None:
    form = head[12:16]
    if form == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if form == b"VP8L" and head[20] == 0x2F:
        bits = struct.unpack_from("<I", head, 21)[0]
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if form == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


_SIZES = {"png": _png, "gif": _gif, "jpeg": _jpeg, "webp": _webp}
