"""``orchestrator.live_browsers``: who has a browser, who gives way, and what becomes of one whose container,
connection or engine fails."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.core.errors import NotFound, TooMany, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helpers import LIVE_BROWSER, HelperEnd
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.live_browsers.models import BrowserEnded, BrowserLimits, BrowserParts
from tests.support.fake_live_browsers import FakeBrowserHelpers, FakeContainer, FakeGates
from tests.support.raw_driver import RawDriver
from tests.support.real_app import eventually

CRAB, OTHER, THIRD = (CubicleKey(name, 1) for name in ("crab", "other", "third"))
PATIENCE_S = 20.0
QUICK = BrowserLimits(starts_s=20.0, reconnects_s=0.4, lingers_s=0.0)


@dataclass
class Fakes:
    """Live browsers over fakes."""

    folder: Path
    limits: BrowserLimits = QUICK
    prepare: Callable[[FakeContainer], object] = lambda _: None
    gates: FakeGates = field(default_factory=FakeGates)
    awaited: set[CubicleKey] = field(default_factory=set)
    """Whose pages somebody will need."""
    looks: int = 0
    kept: list[CubicleKey] = field(default_factory=list)
    """Whose browsers were asked for what is to be kept of them."""

    def __post_init__(self) -> None:
        self.helpers = FakeBrowserHelpers(self.prepare)
        parts = BrowserParts(
            self.helpers,
            self.folder / "browsers",
            lambda: "image",
            lambda _image: LIVE_BROWSER,
            self.gates.open_gate,
            RawDriver,
            self.looks_whether_awaited,
            self.keep_last,
        )
        self.browsers: LiveBrowsers[RawDriver] = LiveBrowsers(parts, self.limits)
        self.browsers.start()

    def looks_whether_awaited(self, key: CubicleKey) -> bool:
        """As the test says; the look is counted."""
        self.looks += 1
        return key in self.awaited

    async def keep_last(self, key: CubicleKey, driver: RawDriver) -> None:
        """The browser still answers."""
        await driver.command("Some.command")
        self.kept.append(key)

    def ask(self, key: CubicleKey = CRAB, **more: bool) -> int:
        """A call that works; which connection of its browser it came by."""

        async def work(driver: RawDriver) -> int:
            await driver.command("Some.command")
            return driver.connections

        return self.browsers.call(key, work, **more)

    def is_clean(self) -> bool:
        """Nothing of any browser is left."""
        return (
            not self.browsers.list_alive()
            and not self.gates.open_now
            and not list((self.folder / "browsers").iterdir())
            and all(container.stops for container in self.helpers.made)
        )


Make = Callable[..., Fakes]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes them, and closes them after the test."""
    made: list[Fakes] = []

    def one(**more: object) -> Fakes:
        made.append(Fakes(tmp_path, **more))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for fakes in made:
        fakes.browsers.close()


@pytest.fixture
def fakes(make: Make) -> Fakes:
    """With the limits of most tests."""
    return make()


async def wait_for_ever(driver: RawDriver) -> None:
    """A call that nothing ends but the browser's end."""
    await driver.command("never")


def call_meanwhile(fakes: Fakes, key: CubicleKey = CRAB) -> Callable[[], str]:
    """Begins such a call; gives what asks for the sentence that it ended with."""
    said: list[str] = []

    def ask() -> None:
        try:
            fakes.browsers.call(key, wait_for_ever)
        except Unavailable as error:
            said.append(f"{error.code}: {error.message}")

    asking = threading.Thread(target=ask)
    fakes.ask(key)
    asking.start()
    eventually(lambda: fakes.browsers._browsers[key].is_busy, patience_s=PATIENCE_S)

    def outcome() -> str:
        asking.join(PATIENCE_S)
        assert not asking.is_alive()
        return said[0]

    return outcome


# --- its life --------------------------------------------------------------------------------------------------


def test_a_browser_from_its_start_to_its_end(fakes: Fakes) -> None:
    """Started by the first call, paused after each, gone when it is ended; what was left before is cleared away."""
    assert fakes.helpers.cleared == [LIVE_BROWSER.label]
    assert fakes.browsers.list_alive() == []
    assert fakes.ask() == 1
    (container,) = fakes.helpers.made
    assert container.spec.sockets == fakes.gates.open_now[CRAB]
    for paused in (1, 2):
        eventually(lambda: container.is_paused, patience_s=PATIENCE_S)
        assert container.pauses >= paused
        assert fakes.ask(starts=False) == 1
    with fakes.browsers.awake(CRAB):
        fakes.ask()
        assert not container.is_paused
    eventually(lambda: container.is_paused, patience_s=PATIENCE_S)
    assert len(fakes.helpers.made) == 1
    fakes.browsers.end(CRAB)
    assert fakes.is_clean()
    with pytest.raises(BrowserEnded, match=r"was closed\. Its pages are gone"):
        fakes.ask(starts=False)
    with pytest.raises(NotFound, match="Open a page first"):
        fakes.ask(OTHER, starts=False)
    with pytest.raises(BrowserEnded), fakes.browsers.awake(CRAB):
        pass
    assert fakes.ask() == 1
    assert fakes.ask(starts=False) == 1
    fakes.browsers.close()
    assert fakes.is_clean()
    with pytest.raises(Unavailable, match="is stopping"):
        fakes.ask()


def test_what_is_needed_of_a_browser_is_kept_while_it_answers(make: Make) -> None:
    """Before it is paused, and before it ends."""
    fakes = make()
    fakes.ask()
    eventually(lambda: fakes.helpers.made[0].is_paused, patience_s=PATIENCE_S)
    assert set(fakes.kept) == {CRAB}
    with fakes.browsers.awake(CRAB):
        before = len(fakes.kept)
        fakes.browsers.end(CRAB)
        assert len(fakes.kept) > before
    assert fakes.is_clean()


def test_what_another_run_left(make: Make, tmp_path: Path) -> None:
    """Whoever had a browser then learns why it is gone; whatever else lies there is no browser's."""
    for name in ("crab-1", "crab", "-1", "other-x", "a-b-12"):
        (tmp_path / "browsers" / name / "out").mkdir(parents=True)
    fakes = make()
    assert fakes.is_clean()
    for key in (CRAB, CubicleKey("a-b", 12)):
        with pytest.raises(BrowserEnded, match=r"HermitShell was restarted\. Its pages are gone"):
            fakes.ask(key, starts=False)
    with pytest.raises(NotFound):
        fakes.ask(OTHER, starts=False)


def test_closing_in_the_middle_of_calls(fakes: Fakes) -> None:
    """Each call ends and says why, and nothing is left."""
    outcomes = [call_meanwhile(fakes, key) for key in (CRAB, OTHER)]
    fakes.browsers.close()
    for outcome in outcomes:
        assert outcome() == "browser_ended: HermitShell is stopping, and the browser with it."
    assert fakes.is_clean()


def test_a_call_that_comes_as_the_loop_ends(fakes: Fakes) -> None:
    """It is refused, and nobody waits for what will never be done; a time-out of its own is its own."""

    async def be_late(_driver: RawDriver) -> None:
        raise TimeoutError("the page's")

    with pytest.raises(TimeoutError, match="the page's"):
        fakes.browsers.call(CRAB, be_late)
    loop, thread = fakes.browsers._loop, fakes.browsers._thread
    assert loop is not None
    assert thread is not None
    fakes.browsers.close()
    still_open = asyncio.new_event_loop()  # one that nobody runs any more
    fakes.browsers._loop, fakes.browsers._thread = still_open, thread
    with pytest.raises(Unavailable, match="is stopping"):
        fakes.ask()
    fakes.browsers._loop = fakes.browsers._thread = None
    still_open.close()


def test_many_callers_share_one(fakes: Fakes) -> None:
    """However they come."""
    came: list[int] = []
    threads = [threading.Thread(target=lambda: came.append(fakes.ask())) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert came == [1] * 12
    assert len(fakes.helpers.made) == 1


def test_the_one_needed_longest_ago_gives_way(make: Make) -> None:
    """Never a busy one; its agent learns why."""
    fakes = make(limits=BrowserLimits(most=2, lingers_s=0.0))
    for key in (CRAB, OTHER):
        fakes.ask(key)
    fakes.ask(CRAB)
    fakes.ask(THIRD)
    assert fakes.browsers.list_alive() == [CRAB, THIRD]
    with pytest.raises(BrowserEnded, match="Another agent needed a browser, and 2 may run at once"):
        fakes.ask(OTHER, starts=False)
    with fakes.browsers.awake(CRAB), fakes.browsers.awake(THIRD):
        with pytest.raises(TooMany, match="All 2 browsers of this install are busy"):
            fakes.ask(OTHER)
        assert fakes.ask(CRAB) == 1
    assert fakes.ask(OTHER) == 1


def test_one_that_nobody_needs(make: Make) -> None:
    """It ends after a while, and says so to whoever needs its pages."""
    fakes = make(limits=BrowserLimits(idle_s=0.2, lingers_s=0.0))
    fakes.ask()
    eventually(fakes.is_clean, patience_s=PATIENCE_S)
    with pytest.raises(BrowserEnded, match="Nobody used the browser for a while"):
        fakes.ask(starts=False)


def test_one_whose_page_somebody_will_need(make: Make) -> None:
    """It stays until that is over, however long it is idle."""
    fakes = make(limits=BrowserLimits(idle_s=0.05, lingers_s=0.0))
    fakes.awaited = {CRAB}
    fakes.ask()
    fakes.ask(OTHER)
    eventually(lambda: fakes.browsers.list_alive() == [CRAB], patience_s=PATIENCE_S)
    seen = fakes.looks
    eventually(lambda: fakes.looks > seen + 3, patience_s=PATIENCE_S)
    assert fakes.ask(starts=False) == 1
    fakes.awaited = set()
    eventually(fakes.is_clean, patience_s=PATIENCE_S)


def test_a_cubicle_that_stops(fakes: Fakes) -> None:
    """A call after that has another browser, however soon it comes; the call of before says why it ended."""
    outcome = call_meanwhile(fakes)
    fakes.browsers.end_soon(CRAB)
    assert fakes.ask() == 1
    assert "The agent was stopped." in outcome()
    assert len(fakes.helpers.made) == 2
    fakes.browsers.end_soon(OTHER)


# --- what fails ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "report", "why"),
    [
        (HelperEnd.ENDED, json.dumps({"code": -11, "said": "…"}).encode(), "ended by itself"),
        (HelperEnd.ENDED, json.dumps({"code": -9, "said": ""}).encode(), "most likely a page took all of its memory"),
        (HelperEnd.ENDED, b"", "most likely a page took all of its memory"),
        (HelperEnd.ENDED, b"[" * 20_000, "most likely"),
        (HelperEnd.ENDED, b"[1]", "most likely"),
        (HelperEnd.TOO_MUCH, b"", "brought more files than it may"),
        (HelperEnd.TOO_LONG, b"", "has run for as long as one may"),
    ],
)
def test_a_container_that_ends_in_the_middle_of_a_call(fakes: Fakes, end: HelperEnd, report: bytes, why: str) -> None:
    """The call says why, whatever the container left as its last word, and the next has another browser."""
    outcome = call_meanwhile(fakes)
    fakes.helpers.made[0].finish(end, report)
    said = outcome()
    assert said.startswith("browser_ended: ")
    assert why in said
    assert said.endswith("Its pages are gone. The next call starts another browser.")
    assert fakes.ask() == 1
    assert len(fakes.helpers.made) == 2


def test_a_lost_connection_comes_back(fakes: Fakes) -> None:
    """The call of the moment fails as its driver does, the browser stays."""
    fakes.ask()

    async def wait_lost(driver: RawDriver) -> None:
        waiting = asyncio.ensure_future(driver.command("never"))
        await asyncio.sleep(0)
        driver.drop()
        await waiting

    with pytest.raises(Unavailable, match=r"^The connection was lost\.$"):
        fakes.browsers.call(CRAB, wait_lost)
    assert fakes.ask(starts=False) == 2
    assert len(fakes.helpers.made) == 1


def test_a_connection_that_does_not_come_back(make: Make) -> None:
    """The browser is given up."""
    fakes = make(prepare=lambda container: setattr(container, "calls_back", False))
    outcome = call_meanwhile(fakes)
    fakes.helpers.made[0].hang_up()
    assert "browser_ended: The browser does not answer any more." in outcome()
    eventually(fakes.is_clean, patience_s=PATIENCE_S)


def test_a_connection_that_breaks_again_and_again(make: Make) -> None:
    """A container that makes a game of it is ended."""
    fakes = make(limits=BrowserLimits(most_connections=5, lingers_s=0.0))

    async def play(driver: RawDriver) -> None:
        while True:
            await driver.wait_ready(PATIENCE_S)
            driver.drop()
            await asyncio.sleep(0.01)

    with pytest.raises(BrowserEnded, match="broke again and again"):
        fakes.browsers.call(CRAB, play)
    eventually(fakes.is_clean, patience_s=PATIENCE_S)


def test_a_container_that_calls_without_end(make: Make) -> None:
    """One that besieges the socket is ended too, although no such call is answered."""
    fakes = make(limits=BrowserLimits(most_connections=5, lingers_s=0.0))
    outcome = call_meanwhile(fakes)
    (container,) = fakes.helpers.made
    for _ in range(4):
        with container.dial() as second:
            second.settimeout(PATIENCE_S)
            assert second.recv(1) == b""
    assert "broke again and again" in outcome()


def test_a_second_connection_gets_no_answer(fakes: Fakes) -> None:
    """Whatever else calls at the socket is hung up on, and disturbs nobody."""
    fakes.ask()
    with fakes.browsers.awake(CRAB):
        for _ in range(5):
            with fakes.helpers.made[0].dial() as second:
                second.settimeout(PATIENCE_S)
                assert second.recv(1) == b""
        assert fakes.ask(starts=False) == 1


def test_one_that_does_not_start(make: Make) -> None:
    """It never calls, ends at once, or the engine or the gate refuses: a sentence each, and nothing is left."""
    mute = make(
        limits=BrowserLimits(starts_s=0.3, lingers_s=0.0), prepare=lambda container: setattr(container, "is_mute", True)
    )
    with pytest.raises(Unavailable, match=r"did not start in time|does not answer any more"):
        mute.ask()
    assert mute.is_clean()

    def end_at_once(container: FakeContainer) -> None:
        container.is_mute, container.end = True, HelperEnd.ENDED

    short = make(prepare=end_at_once)
    with pytest.raises(BrowserEnded):
        short.ask()
    eventually(short.is_clean, patience_s=PATIENCE_S)

    def refuse(_: FakeContainer) -> None:
        raise Unavailable("The image is missing.")

    refused = make(prepare=refuse)
    with pytest.raises(Unavailable, match="image is missing"):
        refused.ask()
    assert refused.is_clean()
    closed = make(gates=FakeGates(fails=True))
    with pytest.raises(Unavailable, match="gate"):
        closed.ask()
    assert closed.is_clean()


def test_a_machine_too_busy_to_pause(make: Make) -> None:
    """A call does not wait until a pause has come about; once it can, it does."""
    fakes = make(prepare=lambda container: setattr(container, "is_starved", True))
    for _ in range(3):
        assert fakes.ask() == 1
    (container,) = fakes.helpers.made
    assert not container.pauses
    container.is_starved = False
    eventually(lambda: container.is_paused, patience_s=PATIENCE_S)


def test_an_engine_that_is_silent(fakes: Fakes) -> None:
    """A browser that could not be paused runs on; one that can't be woken says so, and lives when the engine is back;
    ending it leaves nothing of ours."""
    fakes.ask()
    (container,) = fakes.helpers.made
    eventually(lambda: container.is_paused, patience_s=PATIENCE_S)
    container.is_silent = True
    with pytest.raises(Unavailable, match="engine"):
        fakes.ask()
    container.is_silent = False
    assert fakes.ask(starts=False) == 1
    assert len(fakes.helpers.made) == 1


def test_an_end_that_goes_badly(make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The gate, the driver and the engine each fail at it: the log says so, the rest is done, and the next call has
    another browser."""
    fakes = make(gates=FakeGates(closes_badly=True), prepare=lambda container: setattr(container, "stops_badly", True))
    fakes.ask()

    async def spoil(driver: RawDriver) -> None:
        monkeypatch.setattr(driver, "drop", driver.evaluate)

    fakes.browsers.call(CRAB, spoil)
    fakes.browsers.end(CRAB)
    assert fakes.is_clean()
    for what in ("closing the gate", "letting go of the driver", "removing the container"):
        assert what in caplog.text
    assert fakes.ask() == 1


def test_one_that_went_while_it_was_paused(fakes: Fakes) -> None:
    """The next call that needs its pages says so."""
    fakes.ask()
    (container,) = fakes.helpers.made
    eventually(lambda: container.is_paused, patience_s=PATIENCE_S)
    container.finish(HelperEnd.ENDED)
    with pytest.raises(BrowserEnded):
        fakes.ask(starts=False)
    assert fakes.ask() == 1
