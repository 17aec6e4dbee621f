"""What the browser is given of an app: copies of its files, bounded, under numbers for names; the app's own paths are
data. Each goes with the headers that it would have in a person's browser.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping

from orchestrator.apps.previews.apps import INDEX, WebApp
from orchestrator.apps.previews.csp import SANDBOX, for_kind, policy_headers, security_policy
from orchestrator.apps.previews.shim_loader import PLACE, SCRIPT, shim_script, with_shim
from orchestrator.apps.previews.static_files import MAX_PAGE_BYTES, web_type
from orchestrator.core.errors import Changing, NotFound, TooLarge, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files.workspace import Workspaces

MOST_BYTES, MOST_FILES, MOST_FOLDERS, MOST_DEPTH = 20_000_000, 500, 200, 12
WIDTH, HEIGHT = 1280, 800
_PORT = 8000
_ORIGIN = f"http://127.0.0.1:{_PORT}"
_BASE = f"{_ORIGIN}/a/app/"
_SKIPPED = (NotFound, UnsafePath, TooLarge, Changing)
"""Links, pipes, what is too much, what is being written just now: the picture goes without."""
Path = tuple[bytes, ...]


def pack_app(workspaces: Workspaces, app: WebApp) -> dict[str, bytes]:
    """The files for the helper container, by their names in it. What the app remembers of its person is not among
    them. Raises NotFound when its front page is gone, Unavailable.
    """
    bundle = _Bundle()
    for path, content in _copy_files(workspaces, app.cubicle, (b"www", app.name.encode())):
        bundle.add_file(path, web_type(path.rpartition("/")[2]), content)
    return bundle.pack()


def pack_page(content: bytes) -> dict[str, bytes]:
    """The same for one page by itself."""
    bundle = _Bundle()
    bundle.add_file(INDEX.decode(), "text/html; charset=utf-8", content)
    return bundle.pack()


class _Bundle:
    """The files for one helper container."""

    def __init__(self) -> None:
        self._policy = policy_headers(security_policy(_BASE, _ORIGIN), reach=_BASE)
        self._files: dict[str, bytes] = {}
        self._served: dict[str, Mapping[str, object]] = {}
        self._add(f"{PLACE.decode()}/{SCRIPT.decode()}", "text/javascript; charset=utf-8", shim_script(_BASE, {}))

    def add_file(self, path: str, kind: str, content: bytes) -> None:
        """One of the app's own."""
        is_page = kind.startswith("text/html") and len(content) <= MAX_PAGE_BYTES
        self._add(path, kind, with_shim(content, _BASE) if is_page else content)

    def pack(self) -> dict[str, bytes]:
        """All of them, and what is to be done. Raises NotFound without a front page."""
        if "" not in self._served:
            raise NotFound("The app has no front page any more.")
        task = {"url": _BASE, "port": _PORT, "width": WIDTH, "height": HEIGHT, "sandbox": SANDBOX}
        told = {**task, "headers": dict(self._policy), "files": self._served}
        return {**self._files, "task.json": json.dumps(told).encode()}

    def _add(self, path: str, kind: str, content: bytes) -> None:
        file = str(len(self._files))
        self._files[file] = content
        headers = {**for_kind(self._policy, kind), "Content-Type": kind}
        self._served[path] = {"file": file, "headers": headers}
        if (folder := path.removesuffix(INDEX.decode())) != path and folder[-1:] in ("", "/"):
            self._served[folder] = self._served[path]


def _copy_files(workspaces: Workspaces, key: CubicleKey, top: Path) -> Iterator[tuple[str, bytes]]:
    """The app's files by their paths within it, the front page first."""
    left = MOST_BYTES
    for _, path in zip(range(MOST_FILES), _list_paths(workspaces, key, top), strict=False):
        try:
            name = b"/".join(path).decode("utf-8")
            with workspaces.copy_out(key, (*top, *path), max_bytes=left) as copy:
                content = copy.file.read()
        except (UnicodeDecodeError, *_SKIPPED):
            continue
        left -= len(content)
        yield name, content


def _list_paths(workspaces: Workspaces, key: CubicleKey, top: Path) -> Iterator[Path]:
    yield (INDEX,)
    folders: deque[Path] = deque([()])
    for _ in range(MOST_FOLDERS):
        if not folders:
            return
        here = folders.popleft()
        try:
            entries = workspaces.list_folder(key, (*top, *here), limit=MOST_FILES).entries
        except _SKIPPED:
            continue
        for entry in entries:
            path = (*here, entry.raw)
            if entry.raw.startswith(b".") or path == (INDEX,):
                continue
            if entry.kind == "file":
                yield path
            elif entry.kind == "folder" and len(path) < MOST_DEPTH:
                folders.append(path)
