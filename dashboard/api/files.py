"""Files between a person and an agent's workspace: listing, search, download, upload into ``in/``, deletion. What else
a person changes there by hand is ``file_changes``.

What an agent made is sent as what it is, bytes: as an attachment of a harmless type, from a private copy, under a name
that hides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from shutil import disk_usage
from typing import Any, BinaryIO
from urllib.parse import quote

from flask import Blueprint, Response, request
from werkzeug.exceptions import LengthRequired

from dashboard import bodies, hand_changes
from dashboard.api.file_changes import has_precondition, save_text
from dashboard.auth import own_cubicle, require_asker
from dashboard.headers import HELD
from dashboard.paths import asked_for, decode_path, encode_path
from dashboard.services import get_services
from dashboard.times import iso_time
from dashboard.transfers import get_transfers
from orchestrator.core.errors import BadInput, Forbidden, NotFound, OrchestratorError, TooLarge, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files import zip_stream as archives
from orchestrator.files.finding import find_entries
from orchestrator.files.mime_types import HEAD_BYTES, PLAIN, UNKNOWN, showable_type, type_of
from orchestrator.files.models import MOST_FILE_BYTES, DirEntry, Readable, Stored
from orchestrator.files.names import display_path, safe_name
from orchestrator.languages.told import worded

api = Blueprint("files", __name__)

_CHUNK = 1 << 18
_DEFAULT_PAGE, _LONGEST_PAGE = 200, 1_000
_ONLY_IN = (
    "Uploads go into in/ alone, such as PUT …/files/in/report.pdf. To save another file, send If-Match with the ETag "
    "that it had when you read it, or If-None-Match: * for a new one."
)
_MOST_NAMED = 200
"""Names of a folder that are packed into one archive."""
_NO_FILE = "{} is a link or something else that is no plain file or folder, so it is left alone."


@api.get("/api/agents/<name>/files/", strict_slashes=False)
def read_top(name: str) -> Any:
    """The workspace's own folders, or the whole workspace as a zip archive."""
    return _folder_page(own_cubicle(name), ())


@api.get("/api/agents/<name>/files/<any_path:path>")
def read_path(name: str, path: str) -> Any:  # noqa: ARG001 - the path is read as it was sent
    """A folder's page, a folder as a zip archive, or a file."""
    key, parts = own_cubicle(name), asked_for()
    try:
        if len(parts) < 2:
            return _folder_page(key, parts)
        entry = get_services().workspaces.get_entry(key, parts)
        if entry.kind == "folder":
            return _folder_page(key, parts)
        if entry.kind == "other":
            raise NotFound(_NO_FILE.format(display_path(*parts)))
        return _send_file(key, parts, entry)
    except UnsafePath as error:  # for whoever reads, what may not be opened is not there
        raise NotFound(error.message) from error


@api.put("/api/agents/<name>/files/<any_path:path>")
def upload_file(name: str, path: str) -> Any:  # noqa: ARG001 - as above
    """The body is a new file in ``in/``; it replaces nothing, so it may get another name. With a precondition it is the
    text of that one file."""
    key, parts = own_cubicle(name), asked_for()
    if has_precondition():
        return save_text(key, parts)
    if len(parts) != 2 or parts[0] != b"in":
        raise Forbidden(_ONLY_IN)
    if request.content_length is None:
        raise LengthRequired("Send the file as the request's body, with Content-Length.")
    room = _free_bytes(key)
    if request.content_length > room:
        raise TooLarge(
            worded("A new file may have %(bytes)s bytes here at present, so this one was not taken.", bytes=f"{room:,}")
        )
    with ExitStack() as until_stored:
        until_stored.callback(get_transfers().begin_transfer(require_asker().user.id))
        request.max_content_length = room
        body = _Body(request.stream)
        stored = get_services().workspaces.write_in(key, parts[1], body, max_bytes=room)
    _note_upload(key, stored)
    if key.user == require_asker().user.id:
        get_services().folder_looks.mark_seen(key, (b"in",))
    return {
        "path": encode_path(b"in", stored.name.encode()),
        "size": stored.size_bytes,
        "sha256": stored.sha256,
        "type": type_of(stored.name, body.head),
    }, 201


@api.delete("/api/agents/<name>/files/<any_path:path>")
def delete_path(name: str, path: str) -> Any:  # noqa: ARG001 - as above
    """A file, or a folder with all that is in it, is gone."""
    key, parts = own_cubicle(name), asked_for()
    with hand_changes.remembered(key, parts):
        hand_changes.delete(key, parts)
    return "", 204


# --- folders ---------------------------------------------------------------------------------------------------


def _folder_page(key: CubicleKey, parts: tuple[bytes, ...]) -> Any:
    if _query_flag("zip"):
        return _zip_folder(key, parts)
    if words := request.args.get("find", ""):
        return _find_below(key, parts, words)
    after = decode_path(request.args.get("after", ""))
    if len(after) > 1:
        raise BadInput("after: send what the page before gave as next.")
    limit = bodies.limit_arg(default=_DEFAULT_PAGE, most=_LONGEST_PAGE)
    page = get_services().workspaces.list_folder(key, parts, after=after[0] if after else None, limit=limit)
    return {
        "entries": [_entry_json(parts, entry) for entry in page.entries],
        "next": None if page.next is None else encode_path(page.next),
    }


def _find_below(key: CubicleKey, parts: tuple[bytes, ...], words: str) -> Any:
    found = find_entries(get_services().workspaces, key, parts, words)
    return {
        "entries": [_entry_json(one.folder, one.entry) for one in found.entries],
        "next": None,
        "is_complete": found.is_complete,
    }


def _entry_json(folder: tuple[bytes, ...], entry: DirEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "path": encode_path(*folder, entry.raw),
        "kind": entry.kind,
        "size": entry.size_bytes,
        "modified": iso_time(entry.modified),
    }


def _zip_folder(key: CubicleKey, parts: tuple[bytes, ...]) -> Response:
    services = get_services()
    services.workspaces.list_folder(key, parts, limit=1)  # what is no folder is said while it can be
    only = _named_in(parts)
    with ExitStack() as until_sent:
        until_sent.callback(get_transfers().begin_transfer(require_asker().user.id))
        name = f"{safe_name(parts[-1] if parts else key.agent)}.zip"
        pieces = archives.stream_zip(services.workspaces, key, parts, only=only, most_file_bytes=_most_bytes())
        response = file_response(pieces, "application/zip", name)
        response.call_on_close(until_sent.pop_all().close)
    return response


def _named_in(folder: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """The names that ``only`` gives, once or more, each within the folder; none for all of it."""
    named = request.args.getlist("only")
    paths = [decode_path(one) for one in named]
    if len(paths) > _MOST_NAMED or any(len(path) != 1 for path in paths):
        raise BadInput(f"only: send at most {_MOST_NAMED} names of this folder, each percent-encoded.")
    if paths and not folder:
        raise BadInput("only: name a folder of the workspace first.")
    return tuple(path[0] for path in paths)


# --- files -----------------------------------------------------------------------------------------------------


def _send_file(key: CubicleKey, parts: tuple[bytes, ...], entry: DirEntry) -> Response:
    if _query_flag("zip"):
        raise BadInput("zip: this is a file; only folders are sent as archives.")
    name = safe_name(parts[-1])
    showable = showable_type(name)
    kind = f"{PLAIN}; charset=utf-8" if showable == PLAIN else showable or UNKNOWN
    is_inline = showable is not None and _query_flag("inline")
    if request.method == "HEAD":
        return file_response(iter(()), kind, name, is_inline=is_inline, size_bytes=entry.size_bytes)
    with ExitStack() as until_sent:
        until_sent.callback(get_transfers().begin_transfer(require_asker().user.id))
        copy = until_sent.enter_context(get_services().workspaces.copy_out(key, parts, max_bytes=_most_bytes()))
        response = file_response(_read_pieces(copy.file), kind, name, is_inline=is_inline, size_bytes=copy.size_bytes)
        response.set_etag(copy.sha256)
        response.call_on_close(until_sent.pop_all().close)
    return response


def _read_pieces(file: BinaryIO) -> Iterator[bytes]:
    """All of it; the file is closed when it was read, also where nobody ends the answer."""
    with file:
        while piece := file.read(_CHUNK):
            yield piece


def file_response(
    pieces: Iterator[bytes], kind: str, name: str, *, is_inline: bool = False, size_bytes: int | None = None
) -> Response:
    """An answer that is a file, of which nothing can run."""
    response = Response(pieces, content_type=kind)
    if size_bytes is not None:
        response.content_length = size_bytes
    response.headers["Content-Disposition"] = _content_disposition(name, is_inline=is_inline)
    response.headers["Content-Security-Policy"] = HELD
    response.headers["Accept-Ranges"] = "none"
    return response


def _content_disposition(name: str, *, is_inline: bool) -> str:
    """RFC 6266: a plain name for old clients, the whole one for all others. ``safe_name`` left no quote in it."""
    plain = "".join(char if " " <= char <= "~" and char not in '%\\"' else "_" for char in name)
    return f"{'inline' if is_inline else 'attachment'}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


# --- uploads ---------------------------------------------------------------------------------------------------


class _Body:
    """What is uploaded, with its beginning kept."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self.head = b""

    def read(self, size: int, /) -> bytes:
        """The next bytes."""
        piece = self._stream.read(size)
        if len(self.head) < HEAD_BYTES:
            self.head += piece[: HEAD_BYTES - len(self.head)]
        return piece


def _free_bytes(key: CubicleKey) -> int:
    """How many bytes a new file may have. Measured now: what was known a moment ago lacks the upload before."""
    services = get_services()
    limit_bytes = services.agents.get(key.agent).limits.disk_mb * 1024**2
    return max(0, min(_most_bytes(), limit_bytes - services.workspaces.measure_usage(key).bytes))


def _most_bytes() -> int:
    """What one file may have in either direction: never more than half of what is free on the host's disk."""
    return min(MOST_FILE_BYTES, disk_usage(get_services().settings.home).free // 2)


def _note_upload(key: CubicleKey, stored: Stored) -> None:
    """No file stays that the audit log does not know."""
    services, path = get_services(), display_path(b"in", stored.name.encode())
    try:
        text = f"{_current_person()} uploaded {path} ({stored.size_bytes:,} bytes)."
        services.audit.record_event(
            "file.uploaded", text, key, path=path, size=stored.size_bytes, sha256=stored.sha256, by=_current_person()
        )
    except OrchestratorError:
        services.workspaces.delete_path(key, (b"in", stored.name.encode()))
        raise


def _query_flag(flag: str) -> bool:
    return request.args.get(flag) == "1"


def _current_person() -> str:
    return require_asker().user.name
