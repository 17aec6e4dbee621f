"""Sound and video that an agent made, for the player on a file's page: of the type that its first bytes tell, in a
sandbox in which nothing runs or loads, a piece at a time, as players ask for them.

A piece is read from the file itself and not from a copy of it, which for a film would be made again with each press on
its timeline. What is read is whatever the file holds at that moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO

from flask import Response, request

from dashboard.auth import require_asker
from dashboard.headers import HELD
from dashboard.services import get_services
from dashboard.transfers import get_transfers
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey
from orchestrator.files.magic import content_of
from orchestrator.files.mime_types import HEAD_BYTES

PLAYED = {
    "mp4": "video/mp4",
    "webm": "video/webm",
    "mp3": "audio/mpeg",
    "m4a": "audio/mp4",
    "opus": "audio/ogg",
    "ogg": "audio/ogg",
    "wav": "audio/wav",
    "flac": "audio/flac",
}
"""What is played, by what its bytes say."""
MOST_AT_ONCE = 4 * 1024**2
"""Bytes of one answer; a player asks for the next ones."""
_CHUNK = 1 << 18
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")


def send_media(key: CubicleKey, parts: tuple[bytes, ...]) -> Response:
    """A piece of the file, from where the request's Range says. Raises NotFound for whatever is not played, UnsafePath,
    Changing, Unavailable, TooMany."""
    with ExitStack() as until_sent:
        until_sent.callback(get_transfers().begin_transfer(require_asker().user.id))
        file, facts = get_services().workspaces.open_inside(key, parts)
        until_sent.callback(file.close)
        kind = PLAYED.get(content_of(file.read(HEAD_BYTES)))
        if kind is None:
            raise NotFound("There is nothing to play here.")
        response = _answer(file, _read_range(facts.st_size), facts.st_size)
        response.content_type = kind
        response.call_on_close(until_sent.pop_all().close)
    return response


def _answer(file: BinaryIO, asked: tuple[int, int] | None, size: int) -> Response:
    begin, end = asked or (0, size)
    if asked and begin >= size:
        response = Response(status=416)
        response.headers["Content-Range"] = f"bytes */{size}"
    else:
        file.seek(begin)
        response = Response(_read_pieces(file, end - begin), status=206 if asked else 200)
        response.content_length = end - begin
    if response.status_code == 206:
        response.headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Content-Disposition"] = "inline"
    response.headers["Content-Security-Policy"] = HELD
    return response


def _read_range(size: int) -> tuple[int, int] | None:
    """From where to before where; None where all of it is asked for, or a range that makes no sense."""
    found = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    if found is None or found[0] == "bytes=-":
        return None
    if not found[1]:  # so many from the end
        begin, end = max(0, size - int(found[2])), size
    else:
        begin, end = int(found[1]), min(size, int(found[2]) + 1 if found[2] else size)
    if begin < size and begin >= end:
        return None
    return begin, min(end, begin + MOST_AT_ONCE)


def _read_pieces(file: BinaryIO, left: int) -> Iterator[bytes]:
    """As many bytes as were promised; a file that has become shorter breaks the answer off."""
    while left and (piece := file.read(min(_CHUNK, left))):
        left -= len(piece)
        yield piece
