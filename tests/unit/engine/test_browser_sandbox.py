"""``orchestrator.engine.browser_sandbox``: what a trial says, what comes of it, and that it is made once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.core.errors import Unavailable
from orchestrator.core.finding import FindingState
from orchestrator.engine.browser_sandbox import BrowserSandbox, BrowserWalls, examine_sandbox, try_sandbox
from orchestrator.engine.helpers import (
    BARE_LIVE_BROWSER,
    LIVE_BROWSER,
    HelperEnd,
    HelperSpec,
)
from tests.support.fakes import NoHelpers

PAGE = b"<html><head></head><body></body></html>\n"


class Trials(NoHelpers):
    """Shows the page, or something else, by whether the kind shuts itself in."""

    def __init__(self, shut_in: bytes, bare: bytes) -> None:
        self._said = {True: shut_in, False: bare}
        self.tried: list[bool] = []

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """Leaves what it says."""
        assert is_wanted()
        self.tried.append(spec.kind.sandboxes_itself)
        if said := self._said[spec.kind.sandboxes_itself]:
            (spec.brought / "page").write_bytes(said)
        return HelperEnd.ENDED


@pytest.mark.parametrize(
    ("shut_in", "bare", "walls", "tried"),
    [
        (PAGE, b"", BrowserWalls.SANDBOX, [True]),
        (b"", PAGE, BrowserWalls.CONTAINER, [True, False]),
        (b"", b"", BrowserWalls.BROKEN, [True, False]),
        (b"No usable sandbox!", b"x" * 2_000_000, BrowserWalls.BROKEN, [True, False]),
    ],
)
def test_what_stands(tmp_path: Path, shut_in: bytes, bare: bytes, walls: BrowserWalls, tried: list[bool]) -> None:
    """The page is shown with the sandbox, without, or not at all; nothing is left of the trial."""
    trials = Trials(shut_in, bare)
    assert try_sandbox(trials, tmp_path / "trials", "image") is walls
    assert trials.tried == tried
    assert list((tmp_path / "trials").iterdir()) == []


def test_it_is_tried_once_for_each_image(tmp_path: Path) -> None:
    """And again where nothing started, as that may be fixed."""
    trials = Trials(b"", PAGE)
    sandbox = BrowserSandbox(trials, tmp_path)
    assert [sandbox.choose_kind("one") for _ in range(3)] == [BARE_LIVE_BROWSER] * 3
    assert trials.tried == [True, False]
    assert sandbox.choose_kind("two") is BARE_LIVE_BROWSER
    assert len(trials.tried) == 4
    trials = Trials(b"", b"")
    sandbox = BrowserSandbox(trials, tmp_path)
    for _ in range(2):
        with pytest.raises(Unavailable, match="doctor"):
            sandbox.choose_kind("one")
    assert len(trials.tried) == 4
    assert BrowserSandbox(Trials(PAGE, b""), tmp_path).choose_kind("one") is LIVE_BROWSER


def test_what_the_doctor_says() -> None:
    """Well, a warning that says what it means, and a failure; each of the others with its fix."""
    found = [examine_sandbox(walls) for walls in BrowserWalls]
    assert [finding.state for finding in found] == [FindingState.OK, FindingState.WARN, FindingState.FAIL]
    assert [bool(finding.fix) for finding in found] == [False, True, True]
