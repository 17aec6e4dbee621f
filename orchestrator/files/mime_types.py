"""Which MIME type a file is said to have: by its first bytes where they tell, else by the end of its name.

Pure, and a word for people and agents alone: nothing is ever opened, shown or run because of it, but for the few types
in ``SHOWABLE``, which a browser may be given under their own names.
"""

from __future__ import annotations

from orchestrator.files.magic import content_of

HEAD_BYTES = 64
"""How much of a file's beginning tells what it is."""
UNKNOWN = "application/octet-stream"
PLAIN = "text/plain"

_SHOWABLE = {
    "avif": "image/avif",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "ogg": "audio/ogg",
    "wav": "audio/wav",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "pdf": "application/pdf",
    "log": PLAIN,
    "md": PLAIN,
    "txt": PLAIN,
}
_TYPES = {
    **_SHOWABLE,
    "bz2": "application/x-bzip2",
    "csv": "text/csv",
    "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "epub": "application/epub+zip",
    "gz": "application/gzip",
    "htm": "text/html",
    "html": "text/html",
    "ics": "text/calendar",
    "json": "application/json",
    "mkv": "video/x-matroska",
    "mov": "video/quicktime",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odt": "application/vnd.oasis.opendocument.text",
    "oga": "audio/ogg",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "py": "text/x-python",
    "rtf": "application/rtf",
    "svg": "image/svg+xml",
    "tar": "application/x-tar",
    "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "xml": "application/xml",
    "xz": "application/x-xz",
    "zip": "application/zip",
}
_OF_CONTENT = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "opus": "audio/ogg",
    "ogg": "audio/ogg",
    "pdf": "application/pdf",
    "gzip": "application/gzip",
    "program": "application/x-executable",
}
"""Contents that are of one type whatever the file is called; the others share their beginning with several."""


def type_of(name: str, head: bytes = b"") -> str:
    """The type of a file that is called so and begins so; bytes that tell are believed before the name."""
    content = content_of(head)
    by_bytes = _OF_CONTENT.get(content)
    by_name = _TYPES.get(_get_extension(name), UNKNOWN)
    if content == "zip":  # many formats are zip archives, and only the name says which
        return (
            by_name if "officedocument" in by_name or "opendocument" in by_name or "epub" in by_name else _TYPES["zip"]
        )
    return by_bytes or by_name


def showable_type(name: str) -> str | None:
    """The type under which a browser may be shown the file: none that could hold a script, whatever is in it."""
    return _SHOWABLE.get(_get_extension(name))


def _get_extension(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""
