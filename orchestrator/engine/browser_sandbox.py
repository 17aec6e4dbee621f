"""Whether Chromium's own sandbox can stand in the container of a live browser. That is the kernel's affair, so it is
tried: the first time for each image, and by the doctor."""

from __future__ import annotations

import logging
import threading
from enum import StrEnum
from pathlib import Path

from orchestrator.core.errors import Unavailable
from orchestrator.core.finding import Finding, fail, ok, warn
from orchestrator.engine import helper_folder
from orchestrator.engine.helpers import BARE_LIVE_BROWSER, BARE_TRIAL, LIVE_BROWSER, SANDBOX_TRIAL, HelperKind
from orchestrator.engine.protocol import HelperEngine

logger = logging.getLogger(__name__)

PART = "browser"
_TRIAL_S, _MOST_BYTES = 40.0, 1_000_000
_NO_FOLDER = "The folder for browsers in HERMIT_HOME can't be written. Look at the disk."


class BrowserWalls(StrEnum):
    """What a page is behind, beside the container's own walls."""

    SANDBOX = "sandbox"
    """Chromium's own sandbox too."""
    CONTAINER = "container"
    """Nothing more."""
    BROKEN = "broken"
    """A browser does not even start."""


def try_sandbox(
    helpers: HelperEngine,
    folder: Path,
    image: str,
    *,
    name: str = "first",
    trial: HelperKind = SANDBOX_TRIAL,
    bare: HelperKind = BARE_TRIAL,
) -> BrowserWalls:
    """What stands, tried in a container or two that are thrown away.

    Args:
        helpers: who runs them.
        folder: private to it.
        image: the browser's.
        name: tells this trial from others of the moment.
        trial: the kind that shows an empty page with the sandbox.
        bare: the kind that shows it without.

    Raises:
        Unavailable: the engine does not answer, or the folder can't be written.
    """
    if _shows_page(helpers, folder, image, name, trial):
        return BrowserWalls.SANDBOX
    return BrowserWalls.CONTAINER if _shows_page(helpers, folder, image, name, bare) else BrowserWalls.BROKEN


def examine_sandbox(walls: BrowserWalls) -> Finding:
    """What the doctor says."""
    if walls is BrowserWalls.SANDBOX:
        return ok(PART, "Agents' browsers: Chromium's own sandbox stands within the walls of their container.")
    if walls is BrowserWalls.CONTAINER:
        return warn(
            PART,
            "Agents' browsers run without Chromium's own sandbox, which this kernel does not let stand. A page that"
            " takes over its process has that browser's logins, and the walls of the container around it.",
            "Allow user namespaces for ordinary users (user.max_user_namespaces, kernel.unprivileged_userns_clone or"
            " kernel.apparmor_restrict_unprivileged_userns), or leave it so.",
        )
    return fail(
        PART,
        "Chromium does not start in its container.",
        "Remove its image, which is built again: docker image rm $(docker images -q 'hermitshell/cubicle:browser-*').",
    )


class BrowserSandbox:
    """Remembers for each image what stands. May be used from any thread."""

    def __init__(self, helpers: HelperEngine, folder: Path) -> None:
        """``folder`` is private to it."""
        self._helpers, self._folder = helpers, folder
        self._found: dict[str, BrowserWalls] = {}
        self._lock = threading.Lock()  # one trial at a time; protects _found

    def choose_kind(self, image: str) -> HelperKind:
        """The kind of helper that live browsers of this image are. Raises Unavailable where none starts."""
        with self._lock:
            walls = self._found.get(image)
            if walls is None:
                walls = try_sandbox(self._helpers, self._folder, image)
                logger.info("browsers of %s: %s", image, walls)
            if walls is BrowserWalls.BROKEN:
                raise Unavailable("Chromium does not start in its container. './hermit doctor' shows more.")
            self._found[image] = walls
        return LIVE_BROWSER if walls is BrowserWalls.SANDBOX else BARE_LIVE_BROWSER


def _shows_page(helpers: HelperEngine, folder: Path, image: str, name: str, kind: HelperKind) -> bool:
    try:
        spec = helper_folder.make_folder(folder, name, kind, image, {}, time_s=_TRIAL_S, max_bytes=_MOST_BYTES)
        helpers.run_helper(spec, is_wanted=lambda: True)
        try:
            with helper_folder.open_result(spec.brought / "page") as file:
                return b"<html>" in file.read(_MOST_BYTES)
        except FileNotFoundError:
            return False
    except OSError as error:
        raise Unavailable(_NO_FOLDER) from error
    finally:
        helper_folder.remove_folder(folder, name)
