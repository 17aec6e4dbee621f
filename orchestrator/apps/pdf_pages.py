"""PDFs that an agent made, to be looked at: their first pages as pictures, drawn by a program in a container that is
thrown away. What comes of it is looked at as a stranger's: its size, its first bytes, and the width and height they
tell. Nothing of a PDF is read on the host, and no picture is decoded.

One is drawn at a time, in the background, since the first one of all may have to wait for an image. Pages are kept for
a while, under whose they are and what exactly the file was.
"""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.apps.thumbnails.png import size_of
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, OrchestratorError, TooMany, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine import helper_folder
from orchestrator.engine.helper_folder import Failed
from orchestrator.engine.helpers import PAGES
from orchestrator.engine.protocol import HelperEngine
from orchestrator.files.magic import content_of
from orchestrator.files.models import FilePath
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, Running
from orchestrator.jobs.pool import Jobs
from orchestrator.jobs.rows import Job

logger = logging.getLogger(__name__)

MOST_BYTES, MOST_PAGES = 20_000_000, 20
LONG_SIDE: Final = 1400
"""Pixels of a page's longer side: sharp on a phone, and to be read on a wide screen."""
MOST_PAGE_BYTES, _MOST_BROUGHT = 6_000_000, 60_000_000
MOST_WAITING = 8
KEPT_S, MOST_KEPT = 1800.0, 20
_TIME_S, _WITH_IMAGE_S = 60.0, 3600.0
_HEAD_BYTES = 1024
KIND = _NAME = "pdf"
_UNREADABLE = (
    "This PDF can't be drawn: it is damaged, or locked with a password. Download it to try a program of yours."
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A PDF's first pages."""

    digest: str
    """SHA-256 of the file, in hex."""
    sizes: tuple[tuple[int, int], ...]
    """Width and height of each page that was drawn, in pixels."""
    count: int
    """How many pages the file says it has, at least those that were drawn."""


@dataclass(slots=True)
class _Drawing:
    """One that was asked for."""

    job: Job
    content: bytes
    over: threading.Event
    outcome: Drawn | OrchestratorError | None = None


class PdfPages:
    """Draws them, and keeps them for a while. All methods may be called from any thread."""

    def __init__(
        self,
        helpers: HelperEngine | None,
        workspaces: Workspaces,
        store: Store,
        jobs: Jobs,
        *,
        folder: Path,
        image: Callable[[], str],
        kept_s: float = KEPT_S,
    ) -> None:
        """``helpers``: who draws, None where nobody does; ``folder`` is private to it; ``image`` gives the name of the
        image to draw in, built first where it is missing, which takes minutes."""
        self._helpers = helpers
        self._workspaces = workspaces
        self._box, self._kept = folder / "box", folder / "kept"
        self._image = image
        self._kept_s = kept_s
        self._store, self._jobs = store, jobs
        self._drawings: dict[str, _Drawing] = {}
        self._lock = threading.Lock()  # protects _drawings
        jobs.add_kind(JobKind(KIND, self._run_job, _WITH_IMAGE_S, outlives=False))

    @property
    def is_there(self) -> bool:
        """Pages can be drawn here."""
        return self._helpers is not None

    @property
    def most_bytes(self) -> int:
        """A larger PDF is not drawn."""
        return MOST_BYTES

    def start(self) -> None:
        """Nothing is left of another run."""
        if self._helpers is None:
            return
        try:
            self._helpers.clear_helpers(PAGES)
        except Unavailable as error:
            logger.warning("what draws PDFs could not be cleared away: %s", error.message)
        for folder in (self._box, self._kept):
            folder.parent.mkdir(mode=0o700, exist_ok=True)
            helper_folder.empty_all(folder)

    def draw_pages(self, key: CubicleKey, path: FilePath, *, wait_s: float) -> Drawn | None:
        """The first pages of the PDF at ``path`` as it is now; None when they are still being drawn after ``wait_s``
        seconds, and may be asked for again. Raises NotFound, UnsafePath, TooLarge, Changing, TooMany, Unavailable, and
        Failed for what can't be drawn."""
        with self._workspaces.copy_out(key, path, max_bytes=MOST_BYTES) as copy:
            content = copy.file.read()
        return self.draw_content(key, copy.sha256, content, wait_s=wait_s)

    def draw_content(self, key: CubicleKey, digest: str, content: bytes, *, wait_s: float) -> Drawn | None:
        """The same for a PDF of this cubicle with these bytes, whose SHA-256 in hex is ``digest``."""
        if self._helpers is None or content_of(content[:_HEAD_BYTES]) != "pdf":
            raise NotFound("There is no PDF here that can be shown.")
        return self._find_pages(key, digest) or self._await_outcome(key, digest, content, wait_s)

    def get_page(self, key: CubicleKey, digest: str, number: int) -> bytes:
        """A page that was drawn, as PNG. Raises NotFound for all others, and when it is not kept any more."""
        path = self._folder_of(key, digest) / f"{number}.png"
        try:
            return path.read_bytes()
        except OSError as error:
            raise NotFound("This page is not kept any more. Open the file again.") from error

    def _await_outcome(self, key: CubicleKey, digest: str, content: bytes, wait_s: float) -> Drawn | None:
        name = self._folder_of(key, digest).name
        with self._lock:
            drawing = self._drawings.get(name)
            if drawing is None:
                self._drop_lost()
                if self._jobs.is_closing or len(self._drawings) >= MOST_WAITING:
                    raise TooMany("Other PDFs are being drawn just now. Try again in a moment.")
                with self._store.writing() as db:
                    job = self._jobs.submit(db, KIND, key, None, {"digest": digest})
                drawing = self._drawings[name] = _Drawing(job, content, threading.Event())
        if not drawing.over.wait(wait_s):
            return None
        if isinstance(drawing.outcome, OrchestratorError):
            raise drawing.outcome
        return drawing.outcome

    def _drop_lost(self) -> None:
        """Those whose jobs went with their agent or person are drawn no more."""
        with self._store.reading() as db:
            going = [name for name, each in self._drawings.items() if rows.get_job(db, KIND, each.job.name) is None]
        for name in going:
            del self._drawings[name]

    def _run_job(self, running: Running) -> dict[str, str]:
        key, digest = running.job.cubicle, running.job.payload["digest"]
        name = self._folder_of(key, digest).name
        with self._lock:
            drawing = self._drawings[name]
        try:
            drawing.outcome = self._draw_job(key, digest, drawing.content, running)
        except OrchestratorError as error:
            drawing.outcome = error
        except Exception:  # whoever waits hears of it
            logger.exception("drawing a PDF broke")
            drawing.outcome = Unavailable("The PDF could not be drawn; the orchestrator's log says why. Download it.")
        with self._lock:
            self._drawings.pop(name, None)
        drawing.over.set()
        return {}

    def _draw_job(self, key: CubicleKey, digest: str, content: bytes, running: Running) -> Drawn:
        assert self._helpers is not None  # noqa: S101 - ``draw_pages`` looked
        self._remove_old()
        task = {"most": MOST_PAGES, "long_side": LONG_SIDE}
        files = {"file.pdf": content, "task.json": json.dumps(task).encode()}
        image = self._image()
        try:
            helper = helper_folder.make_folder(
                self._box, _NAME, PAGES, image, files, time_s=_TIME_S, max_bytes=_MOST_BROUGHT
            )
            self._helpers.run_helper(helper, is_wanted=running.is_wanted)
            return self._collect_pages(helper.brought, key, digest)
        except OSError as error:
            raise Unavailable("The folder for pages in HERMIT_HOME can't be written. Look at the disk.") from error
        finally:
            helper_folder.remove_folder(self._box, _NAME)

    def _collect_pages(self, brought: Path, key: CubicleKey, digest: str) -> Drawn:
        """The pages that came, one after the other up to the first that is none, are kept."""
        fresh, place = self._kept / "new", self._folder_of(key, digest)
        helper_folder.remove_folder(self._kept, fresh.name)
        fresh.mkdir(mode=0o700)
        sizes: list[tuple[int, int]] = []
        for number in range(1, MOST_PAGES + 1):
            content = _read(brought / f"{number}.png", MOST_PAGE_BYTES)
            size = size_of(content)
            if size is None or not 0 < min(size) <= max(size) <= LONG_SIDE:
                break
            (fresh / f"{number}.png").write_bytes(content)
            sizes.append(size)
        if not sizes:
            raise Failed(_UNREADABLE)
        said = _read(brought / "count", 6)
        drawn = Drawn(digest, tuple(sizes), max(len(sizes), int(said) if said.isdigit() else 0))
        (fresh / "drawn.json").write_text(json.dumps([drawn.sizes, drawn.count]), encoding="ascii")
        helper_folder.remove_folder(self._kept, place.name)
        fresh.rename(place)
        broom = threading.Timer(self._kept_s + 1, self._remove_old)
        broom.daemon = True
        broom.start()
        return drawn

    def _find_pages(self, key: CubicleKey, digest: str) -> Drawn | None:
        try:
            sizes, count = json.loads((self._folder_of(key, digest) / "drawn.json").read_text(encoding="ascii"))
        except FileNotFoundError:
            return None
        return Drawn(digest, tuple((int(width), int(height)) for width, height in sizes), int(count))

    def _remove_old(self) -> None:
        """What is older than it is kept goes, and what is too much."""
        made: dict[Path, float] = {}
        for place in self._kept.glob("*-*"):
            with suppress(FileNotFoundError):  # somebody else swept
                made[place] = place.stat().st_mtime
        newest = sorted(made, key=made.__getitem__, reverse=True)
        for number, place in enumerate(newest):
            if number >= MOST_KEPT or time.time() - made[place] > self._kept_s:
                shutil.rmtree(place, ignore_errors=True)

    def _folder_of(self, key: CubicleKey, digest: str) -> Path:
        """Raises NotFound for what is no digest."""
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise NotFound("There is no such page.")
        return self._kept / f"{key.agent}-{key.user}-{digest}"


def _read(path: Path, most: int) -> bytes:
    """A plain file's content; nothing for whatever is none, or is larger."""
    try:
        with helper_folder.open_result(path) as file:
            content = file.read(most + 1)
    except OSError:
        return b""
    return content if len(content) <= most else b""
