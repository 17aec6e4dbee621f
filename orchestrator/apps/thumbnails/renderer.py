"""The photographer: sends a copy of an app to a browser in a container that is thrown away, and looks at what that
brought as a stranger's: its size, its first bytes, and the width and height they tell. Nothing decodes it on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator.apps.previews.apps import WebApp
from orchestrator.apps.thumbnails import app_bundle as parcel
from orchestrator.apps.thumbnails.png import size_of
from orchestrator.core.errors import NotFound, Stopped, Unavailable
from orchestrator.engine import helper_folder
from orchestrator.engine.helper_folder import Failed
from orchestrator.engine.helpers import BROWSER
from orchestrator.engine.protocol import HelperEngine
from orchestrator.files.workspace import Workspaces

MOST_BYTES = 2_000_000
SHOT = "shot.png"
_TIME_S = 60.0
_SIZES = frozenset({(parcel.WIDTH, parcel.HEIGHT), (parcel.WIDTH // 2, parcel.HEIGHT // 2)})
"""Half the size is for what would be too many bytes else."""


class ThumbnailRenderer:
    """Takes pictures, one at a time."""

    def __init__(
        self, helpers: HelperEngine, workspaces: Workspaces, *, folder: Path, image: Callable[[], str]
    ) -> None:
        """``folder`` is private to it; ``image`` gives the browser's image, built first where it is missing, which
        takes minutes."""
        self._helpers = helpers
        self._workspaces = workspaces
        self._folder = folder
        self._image = image

    def clear_leftovers(self) -> None:
        """None is being taken, and nothing of one is left."""
        self._helpers.clear_helpers(BROWSER)
        helper_folder.empty_all(self._folder)

    def take_picture(self, name: str, app: WebApp, *, is_wanted: Callable[[], bool]) -> bytes:
        """A PNG of what the app shows when it is opened. Raises Failed, Stopped, Unavailable."""
        image = self._image()
        try:
            files = parcel.pack_app(self._workspaces, app)
            helper = helper_folder.make_folder(
                self._folder, name, BROWSER, image, files, time_s=_TIME_S, max_bytes=2 * MOST_BYTES
            )
            self._helpers.run_helper(helper, is_wanted=is_wanted)
            if not is_wanted():
                raise Stopped("HermitShell is stopping.")
            return _checked(helper.brought / SHOT)
        except NotFound as error:
            raise Failed(error.message) from error
        except OSError as error:
            raise Unavailable("The folder for pictures in HERMIT_HOME can't be written. Look at the disk.") from error
        finally:
            helper_folder.remove_folder(self._folder, name)


def _checked(path: Path) -> bytes:
    try:
        with helper_folder.open_result(path) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Failed("The browser brought no picture: the app did not show itself in time.") from error
    if len(content) > MOST_BYTES or size_of(content) not in _SIZES:
        raise Failed("The browser brought something that is no picture of this size.")
    return content
