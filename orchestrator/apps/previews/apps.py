"""The web apps of a cubicle: each folder of ``www/`` is one, found by looking. What an agent wrote there is data: names
are shown, never opened but through the workspace, and a description is read strictly and bounded.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.core.errors import BadInput, NotFound, OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.core.strict_json import read_object
from orchestrator.core.text import one_line
from orchestrator.files.workspace import Workspaces

INDEX = b"index.html"
ABOUT = b"app.json"
MOST_APPS = 200
_ABOUT_BYTES = 4_096
_TITLE_BYTES = 16_384
_KNOWN_FOR_S = 0.25
"""A page asks for many files at once, and what the app is need not be found for each."""
_MOST_KNOWN = 1_000
_TITLE_CHARS = 80
_TITLE = re.compile(rb"<title[^>]*>([^<]{1,400})", re.IGNORECASE)


class AppKind(StrEnum):
    """What an app is made of."""

    STATIC = "static"
    """Files."""
    LIVE = "live"
    """A server that runs in the cubicle."""
    INCOMPLETE = "incomplete"
    """A folder that is no app yet."""


@dataclass(frozen=True, slots=True)
class WebApp:
    """One web app."""

    cubicle: CubicleKey
    name: str
    """The folder's name; it is plain text, or the folder is no app."""
    title: str
    """What it calls itself, on one line."""
    kind: AppKind
    port: int | None
    """Where a live app listens, inside."""
    changed_at: float
    """When its description or front page was changed last, as the file claims; Unix seconds."""
    missing: str
    """What it lacks, as a sentence for a person; empty for one that can be opened."""


class Apps:
    """Every cubicle's apps."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._known: dict[tuple[CubicleKey, str], tuple[float, WebApp]] = {}
        """Apps that were looked at a moment ago, and when."""

    def list_apps(self, key: CubicleKey) -> list[WebApp]:
        """The apps of a cubicle, by name; what is in ``www/`` beside folders is none."""
        listing = self._workspaces.list_folder(key, b"www", limit=1_000)
        folders = [entry for entry in listing.entries if entry.kind == "folder" and not entry.raw.startswith(b".")]
        found = [self._read_app(key, name) for entry in folders if (name := _plain(entry.raw)) is not None]
        return found[:MOST_APPS]

    def get_app(self, key: CubicleKey, name: str) -> WebApp:
        """The app of this name; raises NotFound."""
        raw = name.encode("utf-8", "surrogateescape")
        if _plain(raw) is None or raw.startswith(b"."):
            raise NotFound(f"There is no app called {one_line(name, 40)}.")
        try:
            entry = self._workspaces.get_entry(key, (b"www", raw))
        except OrchestratorError as error:
            raise NotFound(f"There is no app called {one_line(name, 40)}.") from error
        if entry.kind != "folder":
            raise NotFound(f"There is no app called {one_line(name, 40)}.")
        return self._read_app(key, name)

    def recent_app(self, key: CubicleKey, name: str) -> WebApp | None:
        """The app as it was a moment ago, if somebody looked then. For one thread."""
        at, app = self._known.get((key, name), (0.0, None))
        return app if time.monotonic() - at < _KNOWN_FOR_S else None

    def cache_app(self, app: WebApp) -> None:
        """It was just looked at. For one thread."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[app.cubicle, app.name] = (time.monotonic(), app)

    def has_front(self, key: CubicleKey, folder: tuple[bytes, ...]) -> bool:
        """There is a folder at this path below ``www/``, with a front page."""
        try:
            return self._workspaces.get_entry(key, (b"www", *folder, INDEX)).kind == "file"
        except OrchestratorError:
            return False

    def _read_app(self, key: CubicleKey, name: str) -> WebApp:
        raw = name.encode()
        about, about_at = self._read_file(key, (b"www", raw, ABOUT), _ABOUT_BYTES)
        if about is not None:
            return self._read_live_app(key, name, about, about_at)
        front, front_at = self._read_file(key, (b"www", raw, INDEX), _TITLE_BYTES)
        if front is not None:
            return WebApp(key, name, _title(front) or name, AppKind.STATIC, None, front_at, "")
        missing = f"It has no index.html. Ask the agent to put one into www/{name}/."
        return WebApp(key, name, name, AppKind.INCOMPLETE, None, 0.0, missing)

    def _read_live_app(self, key: CubicleKey, name: str, about: bytes, at: float) -> WebApp:
        try:
            body = read_object(about)
            port, title = body.get("port"), body.get("title", "")
        except BadInput:
            port, title = None, ""
        if type(port) is not int or not 1 <= port <= 65_535:
            missing = f'Its app.json names no port, such as {{"port": 8080}}. Ask the agent to fix www/{name}/app.json.'
            return WebApp(key, name, name, AppKind.INCOMPLETE, None, at, missing)
        shown = one_line(title, _TITLE_CHARS) if isinstance(title, str) else ""
        return WebApp(key, name, shown or name, AppKind.LIVE, port, at, "")

    def _read_file(self, key: CubicleKey, path: tuple[bytes, ...], max_bytes: int) -> tuple[bytes | None, float]:
        """The beginning of a file and when it was changed; None for what is not a regular file."""
        try:
            entry = self._workspaces.get_entry(key, path)
            return self._workspaces.read_head(key, path, max_bytes=max_bytes), entry.modified
        except OrchestratorError:  # whatever else the agent made of it
            return None, 0.0


def _plain(raw: bytes) -> str | None:
    """A folder's name as text; None for one that no link could say."""
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return name if name.isprintable() and len(name) <= 100 else None


def _title(front: bytes) -> str:
    found = _TITLE.search(front)
    return "" if found is None else one_line(found[1].decode("utf-8", "replace").strip(), _TITLE_CHARS)
