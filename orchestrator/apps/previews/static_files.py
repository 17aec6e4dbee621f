"""An app's files, as answers: which file a path means, its type, its tag, and which part of it was asked for.

Every file is opened through the workspace, once, and sent from that descriptor. Pages get the install's own script put
in first (``shim``); all else goes out as it is.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes

from orchestrator.apps.previews.connection import PreviewConnection, PreviewRequest
from orchestrator.apps.previews.csp import for_kind
from orchestrator.apps.previews.proxy_headers import with_prefix
from orchestrator.apps.previews.shim_loader import with_shim
from orchestrator.core.errors import NotFound, OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.files.mime_types import type_of
from orchestrator.files.workspace import Workspaces

MAX_PAGE_BYTES = 8 * 1024 * 1024
"""A larger page goes out as it is, without the install's script."""
_SMALL_BYTES = 32 * 1024
_RANGE = re.compile(r"bytes=([0-9]{0,15})-([0-9]{0,15})")
_HTML = "text/html"
_WEB_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "map": "application/json",
    "mjs": "text/javascript",
    "otf": "font/otf",
    "ttf": "font/ttf",
    "wasm": "application/wasm",
    "webmanifest": "application/manifest+json",
    "woff": "font/woff",
    "woff2": "font/woff2",
    "glb": "model/gltf-binary",
    "gltf": "model/gltf+json",
    "ico": "image/x-icon",
    "svg": "image/svg+xml",
}


class StaticFiles:
    """Every static app's files."""

    def __init__(self, workspaces: Workspaces, *, copy_of: Callable[[CubicleKey, int], Path]) -> None:
        """``copy_of``: the private copy of what was delivered to a cubicle's person; raises NotFound."""
        self._workspaces = workspaces
        self._copy_of = copy_of

    async def answer_request(
        self,
        wire: PreviewConnection,
        request: PreviewRequest,
        key: CubicleKey,
        path: tuple[bytes, ...],
        *,
        base: str,
        policy: Mapping[str, str],
    ) -> None:
        """The file at ``path`` below ``www/``, or the front page of the folder there. Raises NotFound."""
        kind = web_type(path[-1].decode("utf-8", "replace"))
        file, facts, start = await asyncio.to_thread(self._open_file, key, path)
        with file:
            tag = f'"{facts.st_ino:x}-{facts.st_mtime_ns:x}-{facts.st_size:x}"'
            headers = {**for_kind(policy, kind), "Content-Type": kind, "ETag": tag, "Cache-Control": "no-cache"}
            headers["Accept-Ranges"] = "bytes"
            if tag in request.header("if-none-match"):
                await wire.send_answer(304, headers.items(), is_head=True)
            elif kind.startswith(_HTML) and facts.st_size <= MAX_PAGE_BYTES:
                is_here = len(start) == facts.st_size
                page = (
                    _insert_shim(start, base)
                    if is_here
                    else await asyncio.to_thread(_read_page, file, facts.st_size, base)
                )
                await wire.send_answer(200, headers.items(), page, is_head=request.method == "HEAD")
            elif len(start) == facts.st_size and not request.header("range"):
                await wire.send_answer(200, headers.items(), start, is_head=request.method == "HEAD")
            else:
                await _send_file(wire, request, file, facts.st_size, headers)

    async def answer_page(
        self,
        wire: PreviewConnection,
        request: PreviewRequest,
        key: CubicleKey,
        path: tuple[bytes, ...],
        *,
        base: str,
        policy: Mapping[str, str],
    ) -> None:
        """The file at ``path`` in the workspace as a page by itself, whatever it is called. Raises NotFound."""
        page = await asyncio.to_thread(self._read_alone, key, path, base)
        headers = {**policy, "Content-Type": f"{_HTML}; charset=utf-8", "Cache-Control": "no-store"}
        await wire.send_answer(200, headers.items(), page, is_head=request.method == "HEAD")

    async def answer_delivered(
        self,
        wire: PreviewConnection,
        request: PreviewRequest,
        key: CubicleKey,
        delivery: int,
        *,
        base: str,
        policy: Mapping[str, str],
    ) -> None:
        """The same for a file that was delivered."""
        page = await asyncio.to_thread(self._read_delivered, key, delivery, base)
        headers = {**policy, "Content-Type": f"{_HTML}; charset=utf-8", "Cache-Control": "no-store"}
        await wire.send_answer(200, headers.items(), page, is_head=request.method == "HEAD")

    def _read_delivered(self, key: CubicleKey, delivery: int, base: str) -> bytes:
        try:
            with self._copy_of(key, delivery).open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size > MAX_PAGE_BYTES:
                    raise NotFound("This page is too large to be shown. Download it.")
                return _read_page(file, size, base)
        except FileNotFoundError as error:
            raise NotFound("This page is not kept any more.") from error

    def _read_alone(self, key: CubicleKey, path: tuple[bytes, ...], base: str) -> bytes:
        try:
            file, facts = self._workspaces.open_inside(key, path)
        except OrchestratorError as error:
            raise NotFound("This page is not there any more.") from error
        with file:
            if facts.st_size > MAX_PAGE_BYTES:
                raise NotFound("This page is too large to be shown. Download it.")
            return _read_page(file, facts.st_size, base)

    def _open_file(self, key: CubicleKey, path: tuple[bytes, ...]) -> tuple[BinaryIO, os.stat_result, bytes]:
        """The file and, where it is small, all of it: it is open, and one change of threads is enough."""
        try:
            file, facts = self._workspaces.open_inside(key, (b"www", *path))
            return file, facts, _read_start(file, facts.st_size) if facts.st_size <= _SMALL_BYTES else b""
        except OrchestratorError as error:  # links, pipes, files with two names, folders: none of them is a file
            raise NotFound("There is no such file in this app.") from error


def parts_below(path: bytes) -> tuple[bytes, ...]:
    """The components of a path within an app, from a URL; empty for the app itself. Raises NotFound for what no link
    needs: hidden names, dots, empty components, control characters."""
    if not path:
        return ()
    parts = tuple(unquote_to_bytes(part) for part in path.split(b"/"))
    if parts[-1] == b"":
        parts = parts[:-1]  # a folder
    if any(not part or part.startswith(b".") or b"/" in part or min(part) < 32 for part in parts) or len(parts) > 32:
        raise NotFound("There is no such file in this app.")
    return parts


async def _send_file(
    wire: PreviewConnection, request: PreviewRequest, file: BinaryIO, size: int, headers: dict[str, str]
) -> None:
    begin, end = 0, size
    status = 200
    wanted = request.header("range")
    if wanted and request.header("if-range") in ("", headers["ETag"]):
        part = _parse_range(wanted, size)
        if part is not None and part[0] >= part[1]:
            await wire.send_answer(416, [*headers.items(), ("Content-Range", f"bytes */{size}")])
            return
        if part is not None:
            begin, end = part
            status = 206
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{size}"
    if request.method == "HEAD":
        await wire.begin_answer(status, [*headers.items(), ("Content-Length", str(end - begin))])
        await wire.end_answer()
    else:
        await wire.answer_file(status, headers.items(), file, begin, end - begin)


def _parse_range(wanted: str, size: int) -> tuple[int, int] | None:
    """From where to before where; None for what is not one plain range, and is then left aside as RFC 9110 allows."""
    found = _RANGE.fullmatch(wanted.strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        return max(0, size - int(found[2])), size if int(found[2]) else 0
    begin = int(found[1])
    end = min(int(found[2]) + 1, size) if found[2] else size
    return (begin, end) if begin < size else (size, size)


@lru_cache(maxsize=1_000)
def web_type(name: str) -> str:
    ending = name.rpartition(".")[2].lower()
    kind = _WEB_TYPES.get(ending) or type_of(name)
    return f"{kind}; charset=utf-8" if kind.startswith("text/") or kind.endswith(("json", "svg+xml")) else kind


def _read_page(file: BinaryIO, size: int, base: str) -> bytes:
    return _insert_shim(_read_start(file, size), base)


def _insert_shim(page: bytes, base: str) -> bytes:
    return with_shim(with_prefix(page, base), base)


def _read_start(file: BinaryIO, size: int) -> bytes:
    """So much from the beginning; less of a file that became shorter."""
    return os.pread(file.fileno(), size, 0)
