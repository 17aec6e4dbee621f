"""PDFs that an agent made, to be looked at: their first pages as pictures, drawn by a program in a container that is
thrown away, and a small picture of the first one alone for a conversation. What comes of it is looked at as a
stranger's: its size, its first bytes, and the width and height they tell. Nothing of a PDF is read on the host, and no
picture is decoded.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from orchestrator.apps.helper_views import HelperViews, ViewKind, read_result
from orchestrator.apps.thumbnails.png import size_of
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helper_folder import Failed
from orchestrator.engine.helpers import PAGES
from orchestrator.engine.protocol import HelperEngine
from orchestrator.files.magic import content_of
from orchestrator.files.models import FilePath
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs.pool import Jobs

MOST_BYTES, MOST_PAGES = 20_000_000, 20
LONG_SIDE: Final = 1400
"""Pixels of a page's longer side: sharp on a phone, and to be read on a wide screen."""
COVER_SIDE: Final = 700
"""Of the first page in a conversation."""
MOST_PAGE_BYTES, _MOST_BROUGHT = 6_000_000, 60_000_000
MOST_COVER_BYTES = 1_500_000
MOST_WAITING = 8
KEPT_S, MOST_KEPT = 1800.0, 20
_HEAD_BYTES = 1024
_UNREADABLE = (
    "This PDF can't be drawn: it is damaged, or locked with a password. Download it to try a program of yours."
)
_PAGES = ViewKind(
    "pdf",
    PAGES,
    box="box",
    kept="kept",
    kept_s=KEPT_S,
    most_kept=MOST_KEPT,
    most_brought=_MOST_BROUGHT,
    most_waiting=MOST_WAITING,
    is_busy="Other PDFs are being drawn just now. Try again in a moment.",
    broke="The PDF could not be drawn; the orchestrator's log says why. Download it.",
)
_COVERS = replace(
    _PAGES,
    name="pdf-cover",
    box="cover-box",
    kept="covers",
    kept_s=24 * 3600.0,
    most_kept=100,
    most_brought=2 * MOST_COVER_BYTES,
    most_waiting=40,
    time_s=30.0,
)
"""A conversation shows many, and is looked at again and again."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A PDF's first pages."""

    digest: str
    """SHA-256 of the file, in hex."""
    sizes: tuple[tuple[int, int], ...]
    """Width and height of each page that was drawn, in pixels."""
    count: int
    """How many pages the file says it has, at least those that were drawn."""


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
        self._workspaces = workspaces

        def view(kind: ViewKind, most: int, long_side: int, most_bytes: int) -> HelperViews[Drawn]:
            return HelperViews(
                kind,
                helpers,
                store,
                jobs,
                folder=folder,
                image=image,
                pack=lambda content: _pack(content, most, long_side),
                collect=lambda brought, fresh: _collect_pages(brought, fresh, most, long_side, most_bytes),
                read=_read_pages,
            )

        self._pages = view(replace(_PAGES, kept_s=kept_s), MOST_PAGES, LONG_SIDE, MOST_PAGE_BYTES)
        self._covers = view(_COVERS, 1, COVER_SIDE, MOST_COVER_BYTES)

    @property
    def is_there(self) -> bool:
        """Pages can be drawn here."""
        return self._pages.is_there

    @property
    def most_bytes(self) -> int:
        """A larger PDF is not drawn."""
        return MOST_BYTES

    def start(self) -> None:
        """Nothing is left of another run."""
        self._pages.start()
        self._covers.start()

    def draw_pages(self, key: CubicleKey, path: FilePath, *, wait_s: float) -> Drawn | None:
        """The first pages of the PDF at ``path`` as it is now; None when they are still being drawn after ``wait_s``
        seconds, and may be asked for again. Raises NotFound, UnsafePath, TooLarge, Changing, TooMany, Unavailable, and
        Failed for what can't be drawn."""
        with self._workspaces.copy_out(key, path, max_bytes=MOST_BYTES) as copy:
            content = copy.file.read()
        return self.draw_content(key, copy.sha256, content, wait_s=wait_s)

    def draw_content(self, key: CubicleKey, digest: str, content: bytes, *, wait_s: float) -> Drawn | None:
        """The same for a PDF of this cubicle with these bytes, whose SHA-256 in hex is ``digest``."""
        self._check_pdf(content)
        return self._pages.make(key, digest, content, wait_s=wait_s)

    def draw_cover(self, key: CubicleKey, digest: str, content: bytes, *, wait_s: float) -> Drawn | None:
        """Its first page alone, small."""
        self._check_pdf(content)
        return self._covers.make(key, digest, content, wait_s=wait_s)

    def find_cover(self, key: CubicleKey, digest: str) -> Drawn | None:
        """The same where it was drawn lately."""
        return self._covers.find(key, digest)

    def get_page(self, key: CubicleKey, digest: str, number: int) -> bytes:
        """A page that was drawn, as PNG. Raises NotFound for all others, and when it is not kept any more."""
        return _get_picture(self._pages.folder_of(key, digest) / f"{number}.png")

    def get_cover(self, key: CubicleKey, digest: str) -> bytes:
        """The small picture of the first page, as PNG. Raises NotFound as ``get_page`` does."""
        return _get_picture(self._covers.folder_of(key, digest) / "1.png")

    def _check_pdf(self, content: bytes) -> None:
        if not self.is_there or content_of(content[:_HEAD_BYTES]) != "pdf":
            raise NotFound("There is no PDF here that can be shown.")


def _pack(content: bytes, most: int, long_side: int) -> dict[str, bytes]:
    return {"file.pdf": content, "task.json": json.dumps({"most": most, "long_side": long_side}).encode()}


def _collect_pages(brought: Path, fresh: Path, most: int, long_side: int, most_bytes: int) -> None:
    """The pages that came, one after the other up to the first that is none, are kept."""
    sizes: list[tuple[int, int]] = []
    for number in range(1, most + 1):
        content = read_result(brought / f"{number}.png", most_bytes)
        size = size_of(content)
        if size is None or not 0 < min(size) <= max(size) <= long_side:
            break
        (fresh / f"{number}.png").write_bytes(content)
        sizes.append(size)
    if not sizes:
        raise Failed(_UNREADABLE)
    said = read_result(brought / "count", 6)
    count = max(len(sizes), int(said) if said.isdigit() else 0)
    (fresh / "drawn.json").write_text(json.dumps([sizes, count]), encoding="ascii")


def _read_pages(place: Path) -> Drawn:
    sizes, count = json.loads((place / "drawn.json").read_text(encoding="ascii"))
    return Drawn(place.name.rpartition("-")[2], tuple((int(width), int(height)) for width, height in sizes), int(count))


def _get_picture(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NotFound("This page is not kept any more. Open the file again.") from error
