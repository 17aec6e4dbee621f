"""Pictures of web pages that an agent delivered as files: what the page by itself shows when it is opened, taken by the
browser that takes those of apps, in a container that is thrown away, under the headers that a person's browser would
be given. Nothing of the page is read on the host, and the picture is not decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator.apps.helper_views import HelperViews, ViewKind, read_result
from orchestrator.apps.thumbnails.app_bundle import HEIGHT, WIDTH, pack_page
from orchestrator.apps.thumbnails.png import size_of
from orchestrator.apps.thumbnails.renderer import MOST_BYTES as MOST_PICTURE_BYTES
from orchestrator.apps.thumbnails.renderer import SHOT
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helper_folder import Failed
from orchestrator.engine.helpers import PAGE_BROWSER
from orchestrator.engine.protocol import HelperEngine
from orchestrator.jobs.pool import Jobs

MOST_BYTES = 4_000_000
_SIZES = frozenset({(WIDTH, HEIGHT), (WIDTH // 2, HEIGHT // 2)})
_KIND = ViewKind(
    "page-picture",
    PAGE_BROWSER,
    box="page-box",
    kept="page-pictures",
    kept_s=24 * 3600.0,
    most_kept=60,
    most_brought=2 * MOST_PICTURE_BYTES,
    most_waiting=20,
    is_busy="Other pages are being opened just now. Try again in a moment.",
    broke="The page could not be opened; the orchestrator's log says why.",
)


class PagePictures:
    """Takes them, and keeps them for a while. All methods may be called from any thread."""

    def __init__(
        self,
        helpers: HelperEngine | None,
        store: Store,
        jobs: Jobs,
        *,
        folder: Path,
        image: Callable[[], str],
    ) -> None:
        """``helpers``: who takes them, None where nobody does; ``folder`` is private to it; ``image`` gives the
        browser's image, built first where it is missing, which takes minutes."""
        self._views: HelperViews[Path] = HelperViews(
            _KIND, helpers, store, jobs, folder=folder, image=image, pack=pack_page, collect=_collect, read=_find
        )

    @property
    def is_there(self) -> bool:
        """Pictures can be taken here."""
        return self._views.is_there

    def start(self) -> None:
        """Nothing is left of another run."""
        self._views.start()

    def take(self, key: CubicleKey, digest: str, content: bytes, *, wait_s: float) -> Path | None:
        """A picture of this page of the cubicle's, a PNG that nobody has decoded; None when it is still being taken
        after ``wait_s`` seconds. Raises NotFound, TooMany, Unavailable, and Failed for what shows nothing."""
        if not self.is_there or len(content) > MOST_BYTES:
            raise NotFound("There is no picture of this page.")
        return self._views.make(key, digest, content, wait_s=wait_s)

    def find(self, key: CubicleKey, digest: str) -> Path | None:
        """The same where it was taken lately."""
        return self._views.find(key, digest)


def _collect(brought: Path, fresh: Path) -> None:
    content = read_result(brought / SHOT, MOST_PICTURE_BYTES)
    if size_of(content) not in _SIZES:
        raise Failed("The browser brought no picture: the page did not show itself in time.")
    (fresh / SHOT).write_bytes(content)


def _find(place: Path) -> Path:
    if not (place / SHOT).is_file():
        raise FileNotFoundError(place)
    return place / SHOT
