"""Server-sent events out of pieces of bytes, whatever the boundaries of the pieces.

Pure: bytes in, events out, with a cap on every line and every event so that a provider without line breaks costs no
memory. It knows nothing of JSON, of models or of HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_LINE_BYTES = 1024 * 1024
MAX_EVENT_BYTES = 2 * 1024 * 1024

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TooLongError(ValueError):
    """A line or an event is over its cap."""


class ServerEvent(NamedTuple):
    """One event: its name (mostly empty) and its data lines joined."""

    name: str
    data: bytes


def read_events(pieces: Iterable[bytes]) -> Iterator[ServerEvent]:
    """The events in order. Comments and unknown fields are skipped; an event that the end cuts short still counts,
    since several providers leave out the last blank line. Raises TooLongError."""
    name, size = "", 0
    data: list[bytes] = []
    for line in split_lines(pieces):
        if not line:
            if data:
                yield ServerEvent(name, b"\n".join(data))
            name, data, size = "", [], 0
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            size += len(line)
            if size > MAX_EVENT_BYTES:
                raise TooLongError
            data.append(value)
        elif field == b"event":
            name = value[:64].decode("utf-8", "replace")
    if data:
        yield ServerEvent(name, b"\n".join(data))


def split_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without their ends (LF or CRLF), and what stands behind the last one. Raises TooLongError."""
    rest = bytearray()
    is_first = True
    for piece in pieces:
        if b"\n" not in piece:
            # Appended, not joined: a line that comes byte by byte must not be copied for each of them.
            rest += piece
            if len(rest) > MAX_LINE_BYTES:
                raise TooLongError
            continue
        whole, _, tail = piece.rpartition(b"\n")
        for line in (bytes(rest) + whole).split(b"\n"):
            if len(line) > MAX_LINE_BYTES:
                raise TooLongError
            yield line.removeprefix(_BYTE_ORDER_MARK).removesuffix(b"\r") if is_first else line.removesuffix(b"\r")
            is_first = False
        rest = bytearray(tail)
    if rest:
        yield bytes(rest).removesuffix(b"\r")
