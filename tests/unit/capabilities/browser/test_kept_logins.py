"""Logins that stay: which sites, for whom, and what of a browser's state is kept or given back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.browser.faults import BrowserError, BrowserLost
from orchestrator.browser.storage_state import StorageState, StoredCookie
from orchestrator.capabilities.browser import kept_logins
from orchestrator.capabilities.browser.kept_logins import MOST, KeptLogins, SeenLogins
from orchestrator.core.errors import BadInput, NotFound, TooMany
from orchestrator.core.models import CubicleKey
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture


def cookie(name: str, domain: str, value: str = "v") -> StoredCookie:
    """One of a site."""
    return StoredCookie(name, value, domain, "/", -1.0, is_secure=True, is_http_only=True, same_site="Lax")


@dataclass
class FakeState:
    """What a driver knows of cookies."""

    now: StorageState = field(default_factory=StorageState)
    given: list[StorageState] = field(default_factory=list)
    restored: set[str] = field(default_factory=set)
    cleared: list[str] = field(default_factory=list)
    fails: bool = False
    hangs: bool = False
    restoring: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def read(self) -> StorageState:
        """The present state."""
        if self.fails:
            raise BrowserError("A dialog is open.")
        if self.hangs:
            await asyncio.Event().wait()
        return self.now

    async def restore(self, state: StorageState) -> None:
        """Taken as it is."""
        if self.fails:
            raise BrowserLost("The connection is gone.")
        self.given.append(state)

    async def clear(self, host: str) -> None:
        """Noted."""
        if self.fails:
            raise BrowserError("A dialog is open.")
        self.cleared.append(host)


@dataclass
class FakeSession:
    """A driver."""

    state: FakeState = field(default_factory=FakeState)


@dataclass
class FakeBrowsers:
    """At most one browser."""

    session: FakeSession
    alive: list[CubicleKey] = field(default_factory=list)
    ended: list[CubicleKey] = field(default_factory=list)

    def list_alive(self) -> list[CubicleKey]:
        """Whose there are."""
        return self.alive

    def call(self, key: CubicleKey, work: Callable[[Any], Awaitable[Any]], *, starts: bool) -> Any:
        """In a loop of its own."""
        assert not starts
        if key not in self.alive:
            raise NotFound("No browser is open.")
        return asyncio.run(_awaited(work(self.session)))

    def end(self, key: CubicleKey, why: str) -> None:
        """Noted."""
        assert why
        self.ended.append(key)


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


@dataclass
class FakeAccesses:
    """What may be opened now."""

    sites: tuple[str, ...] = ()

    def get_access(self, _: CubicleKey) -> FakeAccesses:
        """Everybody's."""
        return self

    def list_sites(self) -> tuple[str, ...]:
        """As a person allowed."""
        return self.sites


@dataclass
class World:
    """Logins with what they stand on."""

    install: CoreFixture
    session: FakeSession
    browsers: FakeBrowsers
    accesses: FakeAccesses
    logins: KeptLogins

    def restored(self, key: CubicleKey = KEY) -> list[StorageState]:
        """What a browser is given now."""
        asyncio.run(self.logins.restore(key, self.session))  # type: ignore[arg-type]
        given, self.session.state.given = self.session.state.given, []
        return given

    def saved(self, state: StorageState, *given: str, key: CubicleKey = KEY) -> None:
        """A browser that was given what was kept of these sites has this now."""
        self.logins.save(key, SeenLogins(state, frozenset(given or ("shop.example",))))

    def fresh(self) -> None:
        """Another browser."""
        self.session.state = FakeState()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """An install without any kept login."""
    with core_fixture(tmp_path / "home") as install:
        session = FakeSession()
        browsers, accesses = FakeBrowsers(session), FakeAccesses()
        logins = KeptLogins(install.store, browsers, accesses)  # type: ignore[arg-type]
        yield World(install, session, browsers, accesses, logins)


SHOP = StorageState((cookie("sid", ".shop.example"),), {"https://www.shop.example": {"token": "t"}})
OTHERS = StorageState(
    (cookie("x", "evil.example"), cookie("y", "myshop.example")), {"https://evil.example": {"a": "b"}}
)
ALL = StorageState((*SHOP.cookies, *OTHERS.cookies), {**SHOP.local, **OTHERS.local})


def test_a_kept_site_comes_back_and_no_other(world: World) -> None:
    """For the same cubicle, once its pages may be opened, once for each browser."""
    kept = world.logins.keep(KEY, "www.Shop.example", by="ada")
    assert (kept.site, kept.by, kept.saved_at, kept.cookies) == ("shop.example", "ada", None, 0)
    world.saved(ALL)
    (now,) = world.logins.list_logins(KEY)
    assert now.cookies == 1
    assert now.saved_at is not None
    assert world.restored() == []
    world.accesses.sites = ("evil.example", "myshop.example")
    assert world.restored() == []
    world.accesses.sites = ("shop.example", "evil.example")
    assert world.restored(OTHER) == []
    world.fresh()
    assert world.restored() == [SHOP]
    assert world.restored() == []
    world.fresh()
    assert world.restored() == [SHOP]
    restored = [row.text for row in world.install.audited("login.restored")]
    assert restored == ["Kept logins of shop.example were given to the browser of crab."] * 2


def test_a_name_below_gets_its_own_part(world: World) -> None:
    """And a site that is allowed as a whole gets what is kept of one of its names."""
    world.logins.keep(KEY, "shop.example", by="ada")
    below = cookie("in", "login.shop.example")
    world.saved(StorageState((*SHOP.cookies, below), SHOP.local))
    world.accesses.sites = ("login.shop.example",)
    assert world.restored() == [StorageState((below,))]
    world.logins.forget(KEY, "shop.example", by="ada")
    world.logins.keep(KEY, "login.shop.example", by="ada")
    world.saved(StorageState((below,)))
    world.accesses.sites = ("shop.example",)
    assert world.restored() == [StorageState((below,))]


def test_an_empty_state_takes_no_ones_place(world: World) -> None:
    """Nor do cookies go because none were there for a moment; other storage is kept beside what is new."""
    world.logins.keep(KEY, "shop.example", by="ada")
    world.saved(SHOP)
    world.logins.save(KEY, None)
    for state in (StorageState(), OTHERS, StorageState(local={"https://www.shop.example": {}})):
        world.saved(state)
    world.saved(StorageState(local={"https://a.shop.example": {"k": "v"}}))
    world.accesses.sites = ("shop.example",)
    (back,) = world.restored()
    assert back.cookies == SHOP.cookies
    assert back.local == {**SHOP.local, "https://a.shop.example": {"k": "v"}}
    world.saved(StorageState((cookie("sid", ".shop.example", "new"),)))
    world.fresh()
    assert world.restored()[0].cookies[0].value == "new"


def test_a_browser_that_was_given_nothing_spoils_nothing(world: World) -> None:
    """A site that another one's page loads from is no login; with nothing kept yet, what there is counts."""
    world.logins.keep(KEY, "shop.example", by="ada")
    first = StorageState((cookie("anonymous", "shop.example"),))
    world.saved(first, "news.example")
    world.accesses.sites = ("shop.example",)
    assert world.restored() == [first]
    world.saved(SHOP)
    world.saved(first, "news.example", "myshop.example")
    world.fresh()
    assert world.restored() == [SHOP]


def test_a_browser_that_has_a_part_changes_that_part(world: World) -> None:
    """Of a site, where only one of its names is allowed."""
    world.logins.keep(KEY, "shop.example", by="ada")
    below = cookie("in", "login.shop.example")
    world.saved(StorageState((*SHOP.cookies, below), SHOP.local))
    newer = cookie("in", "login.shop.example", "newer")
    world.saved(StorageState((newer, cookie("sid", ".shop.example", "forged"))), "login.shop.example")
    world.accesses.sites = ("shop.example",)
    assert world.restored() == [StorageState((*SHOP.cookies, newer), SHOP.local)]


def test_a_browser_that_could_not_be_given_it_is_given_it_later(world: World) -> None:
    """And what it has meanwhile is not kept."""
    world.logins.keep(KEY, "shop.example", by="ada")
    world.saved(SHOP)
    world.accesses.sites = ("shop.example",)
    world.session.state.fails = True
    with pytest.raises(BrowserLost):
        world.restored()
    world.session.state.fails = False
    world.session.state.now = StorageState((cookie("sid", ".shop.example", "anonymous"),))
    asyncio.run(world.logins.keep_last(KEY, world.session))  # type: ignore[arg-type]
    assert world.restored() == [SHOP]
    asyncio.run(world.logins.keep_last(KEY, world.session))  # type: ignore[arg-type]
    world.fresh()
    assert world.restored()[0].cookies[0].value == "anonymous"


def test_a_page_that_hangs_keeps_nobody_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was kept stays."""
    monkeypatch.setattr(kept_logins, "_READS_S", 0.01)
    world.logins.keep(KEY, "shop.example", by="ada")
    world.saved(SHOP)
    world.session.state.hangs = True
    asyncio.run(world.logins.keep_last(KEY, world.session))  # type: ignore[arg-type]
    world.accesses.sites = ("shop.example",)
    assert world.restored() == [SHOP]


def test_names_are_shown_and_values_are_not(world: World) -> None:
    """Of cookies, by site."""
    world.logins.keep(KEY, "shop.example", by="ada")
    world.logins.keep(KEY, "empty.example", by="ada")
    world.saved(StorageState((cookie("b", "shop.example"), cookie("a", "shop.example"), *SHOP.cookies)))
    assert world.logins.list_cookies(KEY) == {"shop.example": ["a", "b", "sid"]}
    assert world.logins.list_cookies(OTHER) == {}


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.Shop.example/login?next=/", "shop.example"),
        ("http://shop.example:80/", "shop.example"),
        ("about:blank", ""),
        ("https://10.0.0.1/", ""),
        ("data:text/html,x", ""),
        ("", ""),
    ],
)
def test_the_site_of_a_page_is_offered(world: World, url: str, site: str) -> None:
    """Where it has one that can be kept."""
    assert world.logins.find_site(url) == site


def test_they_go_with_their_agent(world: World) -> None:
    """Nothing is left of one that was deleted."""
    world.logins.keep(KEY, "shop.example", by="ada")
    world.saved(SHOP)
    with world.install.store.writing() as db:
        db.execute("DELETE FROM agents WHERE name = ?", (KEY.agent,))
        assert db.execute("SELECT count(*) FROM kept_logins").fetchone()[0] == 0


def test_what_is_open_is_kept_at_once_and_forgotten_at_once(world: World) -> None:
    """A browser that can't be cleared ends."""
    world.browsers.alive = [KEY]
    world.session.state.now = ALL
    assert world.logins.keep(KEY, "shop.example", by="ada").cookies == 1
    world.logins.forget(KEY, "shop.example", by="ada")
    assert world.session.state.cleared == ["shop.example"]
    assert world.browsers.ended == []
    world.logins.keep(KEY, "shop.example", by="ada")
    world.session.state.fails = True
    world.logins.save_open(KEY)
    world.logins.forget(KEY, "shop.example", by="ada")
    assert world.browsers.ended == [KEY]
    assert world.logins.list_logins(KEY) == []
    with pytest.raises(NotFound):
        world.logins.forget(KEY, "shop.example", by="ada")


@pytest.mark.parametrize(
    "site", ["", "a b", "https://shop.example", "shop.example/x", "10.0.0.1", "shop", "x:8443", "-"]
)
def test_what_is_no_site_is_refused(world: World, site: str) -> None:
    """With the field's name; nothing is kept."""
    with pytest.raises(BadInput, match=r"^site: "):
        world.logins.keep(KEY, site, by="ada")
    assert world.logins.list_logins(KEY) == []


def test_there_are_bounds(world: World) -> None:
    """Of sites, and of what a site has: what is too much is not kept, and what was stays."""
    world.logins.keep(KEY, "shop.example", by="ada")
    world.saved(SHOP)
    huge = {f"https://{n}.shop.example": {"k": "x" * 90_000} for n in range(12)}
    world.saved(StorageState(SHOP.cookies, huge))
    world.accesses.sites = ("shop.example",)
    assert world.restored() == [SHOP]
    for n in range(MOST - 1):
        world.logins.keep(KEY, f"s{n}.example", by="ada")
    with pytest.raises(TooMany):
        world.logins.keep(KEY, "more.example", by="ada")
    world.logins.keep(KEY, "shop.example", by="ada")


def test_a_hostile_state_goes_back_to_its_site_alone(world: World) -> None:
    """Whatever stands in the database: other sites' cookies are left out, and what can't be read is nothing."""
    world.logins.keep(KEY, "shop.example", by="ada")
    world.accesses.sites = ("shop.example", "evil.example")
    for text in (ALL.to_json(), "{", "[]", json.dumps({"cookies": 7, "local": [1]}), "x" * 2_000_000):
        with world.install.store.writing() as db:
            db.execute("UPDATE kept_logins SET state = ?", (text,))
        world.fresh()
        assert world.restored() in ([], [SHOP])
