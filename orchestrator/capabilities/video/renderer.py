"""The video renderer: has a text animated by a container that is thrown away, and looks at what it brought as a
stranger's: its size and its first bytes. Nothing decodes it on the host.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from orchestrator.capabilities.video import messages as sentences
from orchestrator.core.errors import BadInput, Stopped, Unavailable
from orchestrator.core.strict_json import read_object
from orchestrator.core.text import escape_invisible, one_line
from orchestrator.engine import helper_folder
from orchestrator.engine.helper_folder import Failed
from orchestrator.engine.helpers import STUDIO
from orchestrator.engine.protocol import HelperEngine
from orchestrator.files.magic import content_of

logger = logging.getLogger(__name__)

MOST_BYTES = 48_000_000
"""What most chats still take."""
PROGRAM = Path(__file__).resolve().parents[3] / "cubicle" / "clawmotion"
_REPORT_BYTES = 20_000
_HEAD_BYTES = 64
_START_S, _A_SECOND_S = 60.0, 5.0


@dataclass(frozen=True, slots=True)
class Made:
    """A video as its container left it, of the kind and size that it must be."""

    path: Path
    size_bytes: int
    left_out: int


class VideoRenderer:
    """Makes videos, one at a time."""

    def __init__(
        self, helpers: HelperEngine, *, folder: Path, image: Callable[[], str], program: Path = PROGRAM
    ) -> None:
        """``folder`` is private to the video renderer; ``image`` gives its image, built first where it is missing."""
        self._helpers = helpers
        self._folder = folder
        self._image = image
        self._program = program

    def clear_leftovers(self) -> None:
        """None is being made, and nothing of one is left."""
        self._helpers.clear_helpers(STUDIO)
        helper_folder.empty_all(self._folder)

    def make_video(self, name: str, text: str, seconds: float, ending: str, *, is_wanted: Callable[[], bool]) -> Made:
        """The video; drop it (``drop_file``) when it is stored. Raises Failed, Stopped, Unavailable."""
        task = {"text": text, "seconds": seconds, "ending": ending, "bytes": MOST_BYTES}
        image = self._image()
        try:
            files = {f"{self._program.name}/{path.name}": path.read_bytes() for path in self._program.glob("*.py")}
            helper = helper_folder.make_folder(
                self._folder,
                name,
                STUDIO,
                image,
                {"task.json": json.dumps(task).encode(), **files},
                time_s=_START_S + _A_SECOND_S * seconds,
                max_bytes=2 * MOST_BYTES,  # mp4 is written a second time to put its index first
            )
        except OSError as error:
            raise Unavailable("The studio's folder in HERMIT_HOME can't be written. Look at the disk.") from error
        self._helpers.run_helper(helper, is_wanted=is_wanted)
        if not is_wanted():
            raise Stopped("HermitShell is stopping.")
        left_out = _left_out(helper.brought / "report.json")
        path = helper.brought / f"video.{ending}"
        return Made(path, _checked_size(path, ending), left_out)

    def drop_file(self, name: str) -> None:
        """It is no longer needed here."""
        helper_folder.remove_folder(self._folder, name)


def _left_out(path: Path) -> int:
    """How many letters could not be drawn, by the report; raises Failed when it tells of no video."""
    try:
        with helper_folder.open_result(path) as file:
            report = read_object(file.read(_REPORT_BYTES))
    except (OSError, BadInput) as error:
        raise Failed(sentences.TOO_SLOW) from error
    if report.get("ok") is not True:
        logger.warning("a video was not made: %s", one_line(escape_invisible(str(report)), 500))
        raise Failed(sentences.UNREADABLE if report.get("why") == "unreadable" else sentences.NOT_MADE)
    count = report.get("left_out")
    return min(count, 1_000_000) if isinstance(count, int) and count > 0 else 0


def _checked_size(path: Path, ending: str) -> int:
    try:
        with helper_folder.open_result(path) as file:
            size, head = os.fstat(file.fileno()).st_size, file.read(_HEAD_BYTES)
    except OSError as error:
        raise Failed(sentences.NOT_MADE) from error
    if content_of(head) != ending:
        raise Failed(sentences.NOT_MADE)
    if size > MOST_BYTES:
        raise Failed(f"It has {size / 1e6:.0f} MB, more than the {MOST_BYTES / 1e6:.0f} MB that a video may have.")
    return size
