"""``thumbnails``: pictures of web apps, with a browser on paper: what it brings is what a test says."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.approvals.notifications import Notifications
from orchestrator.apps.previews.apps import Apps
from orchestrator.apps.previews.changed_apps import AppChanges
from orchestrator.apps.thumbnails.png import size_of
from orchestrator.apps.thumbnails.renderer import MOST_BYTES, ThumbnailRenderer
from orchestrator.apps.thumbnails.thumbnails import KIND, MOST_AN_HOUR, Thumbnails
from orchestrator.capabilities.calls import Calls
from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.engine.helpers import HelperSpec
from orchestrator.jobs import rows as job_rows
from orchestrator.jobs.pool import Jobs
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture
from tests.support.fake_browser import FakeBrowser, png

FRONT = b"<!doctype html><title>Game</title><canvas></canvas>"


class Fixture:
    """An install with thumbnails, and a cubicle's ``www``."""

    def __init__(self, install: CoreFixture, browser: FakeBrowser) -> None:
        self.install, self.browser, self.now = install, browser, 1_000_000.0
        self.images = 0
        install.workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid())
        self.www = install.home / "workspaces" / KEY.agent / str(KEY.user) / "www"
        self.folder = install.home / "thumbnails"
        self.folder.mkdir(exist_ok=True)
        self.news = install.broker.subscribe("app")
        apps = Apps(install.workspaces)
        photographer = ThumbnailRenderer(
            browser, install.workspaces, folder=install.home / "browser", image=self._image
        )
        notifications = Notifications(install.store, install.broker)
        self.jobs = Jobs(
            install.store,
            notifications,
            finish=Calls(store=install.store, agents=install.agents).finish_calls,
            now=lambda: self.now,
        )
        self.thumbnails = Thumbnails(
            install.store,
            apps,
            install.broker,
            self.jobs,
            folder=self.folder,
            photographer=photographer,
            now=lambda: self.now,
        )
        changes = AppChanges(install.store, apps, install.workspaces)
        install.hooks.turn_ended.subscribe(lambda ended: changes.on_turn_end(ended.turn))
        install.hooks.turn_ended.subscribe(lambda ended: self.thumbnails.on_turn_end(ended.turn))
        self.jobs.reconcile()
        self.jobs.prepare_kinds()

    def _image(self) -> str:
        self.images += 1
        return "browser"

    def write(self, path: str, content: bytes = FRONT) -> None:
        """The agent writes a file."""
        (self.www / path).parent.mkdir(parents=True, exist_ok=True)
        (self.www / path).write_bytes(content)

    def turn(self, deed: Callable[[], None], key: CubicleKey = KEY) -> int:
        """A turn in which this happened."""
        turn = self.install.under_way(key=key)
        self.install.steps.start_step(key, turn.id, 1, thought="", command="ls", approval=None)
        deed()
        self.install.turns.end_turn(key, turn.id, TurnStatus.DONE, reply="Made it.")
        return turn.id

    def works(self) -> int:
        """All that is to be done is done; how many pictures were taken or given up."""
        known = self._open()
        while self.jobs.run_next():
            known |= self._open()
        self.jobs.delete_old()
        return len(known - self._open())

    def _open(self) -> set[int]:
        with self.install.store.reading() as db:
            return {job.id for job in job_rows.list_jobs(db, KIND)}

    def picture(self, app: str = "game") -> bytes | None:
        """The picture of an app."""
        path = self.thumbnails.picture_of(KEY, app)
        return None if path is None else path.read_bytes()


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """An install with a browser."""
    with core_fixture(tmp_path / "home") as install:
        made = Fixture(install, FakeBrowser())
        yield made
        install.broker.unsubscribe(made.news)


def made(fixture: Fixture, app: str = "game") -> None:
    """A turn made this app."""
    fixture.turn(lambda: fixture.write(f"{app}/index.html"))


# --- which bytes are a picture ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (png(), (1280, 800)),
        (png(4_000_000_000, 1), (4_000_000_000, 1)),
        (png()[:-1], None),
        (png()[1:], None),
        (b"", None),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"GIF89a" + png(), None),
        (png().replace(b"IHDR", b"IDAT", 1), None),
        (png() + b"<script>", None),
    ],
)
def test_a_size_is_read_from_the_header_alone(content: bytes, size: tuple[int, int] | None) -> None:
    """What is no whole PNG has none."""
    assert size_of(content) == size


@pytest.mark.parametrize(
    "brings",
    [None, b"", b"<svg/>", png(1281, 800), png(40_000, 40_000), png(800, 1280), png(extra=bytes(MOST_BYTES))],
    ids=["nothing", "an empty file", "no PNG", "too wide", "a bomb", "upright", "too long"],
)
def test_what_is_no_picture_of_that_size_is_not_kept(fixture: Fixture, brings: bytes | None) -> None:
    """The app has no picture then, not even the one from before, and nobody tries again until it changes."""
    made(fixture)
    assert fixture.works() == 1
    assert fixture.picture() == png()
    fixture.browser.brings = brings
    made(fixture)
    assert (fixture.works(), fixture.works()) == (1, 0)
    assert fixture.picture() is None
    assert not fixture.thumbnails.is_coming(KEY, "game")
    assert list(fixture.folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_lies_in_the_place_of_a_picture_is_not_opened(fixture: Fixture, tmp_path: Path, kind: str) -> None:
    """A container that was taken over may leave anything."""
    secret = tmp_path / "secret.png"
    secret.write_bytes(png())

    def leave(spec: HelperSpec) -> None:
        path = spec.brought / "shot.png"
        if kind == "link":
            path.symlink_to(secret)
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            path.mkdir()

    fixture.browser.during, fixture.browser.brings = leave, None
    made(fixture)
    assert fixture.works() == 1
    assert fixture.picture() is None


def test_a_smaller_one_is_fine(fixture: Fixture) -> None:
    """The browser halves what would be too many bytes."""
    fixture.browser.brings = png(640, 400)
    made(fixture)
    fixture.works()
    assert fixture.picture() == png(640, 400)


# --- when one is taken -----------------------------------------------------------------------------------------


def test_an_app_that_a_turn_made_gets_a_picture(fixture: Fixture) -> None:
    """It is private to the install's own user, and those who show apps are told."""
    made(fixture)
    assert fixture.thumbnails.is_coming(KEY, "game")
    assert fixture.works() == 1
    assert not fixture.thumbnails.is_coming(KEY, "game")
    assert fixture.picture() == png()
    path = fixture.thumbnails.picture_of(KEY, "game")
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    event = fixture.news.get(0)
    assert event is not None
    assert (event.cubicle, event.body) == (KEY, {"agent": "crab", "app": "game"})
    assert fixture.thumbnails.picture_of(OTHER, "game") is None
    assert list((fixture.install.home / "browser").iterdir()) == []


def test_one_that_changed_gets_a_new_one(fixture: Fixture) -> None:
    """The old file goes; a turn that changed nothing asks for nothing."""
    made(fixture)
    fixture.works()
    before = fixture.thumbnails.picture_of(KEY, "game")
    time.sleep(0.05)  # the kernel's clock for files has ticks
    fixture.turn(lambda: None)
    assert fixture.works() == 0
    fixture.turn(lambda: fixture.write("game/more.js", b"1"))
    assert fixture.works() == 1
    after = fixture.thumbnails.picture_of(KEY, "game")
    assert before is not None
    assert after != before
    assert list(fixture.folder.iterdir()) == [after]


def test_what_changes_while_a_picture_is_taken_is_taken_once_more(fixture: Fixture) -> None:
    """Turns that end one after the other, while the browser is busy, are one request."""
    made(fixture)

    def meanwhile(_: HelperSpec) -> None:
        fixture.browser.during = lambda _: None
        for _n in range(3):
            fixture.now += 1
            made(fixture)

    fixture.browser.during = meanwhile
    assert fixture.works() == 2


def test_live_and_unfinished_apps_have_none(fixture: Fixture) -> None:
    """An app that becomes one of these has none any more."""

    def deed() -> None:
        fixture.write("live/app.json", b'{"port": 8080}')
        fixture.write("nothing/notes.txt", b"")

    fixture.turn(deed)
    assert fixture.works() == 0
    made(fixture)
    fixture.works()
    fixture.turn(lambda: fixture.write("game/app.json", b'{"port": 8080}'))
    assert fixture.works() == 0
    assert fixture.picture() is None
    assert list(fixture.folder.iterdir()) == []


def test_a_picture_goes_with_its_app_and_with_its_agent(fixture: Fixture) -> None:
    """Its file too."""
    made(fixture)
    made(fixture, "other")
    fixture.works()
    fixture.turn((fixture.www / "game" / "index.html").unlink)
    fixture.works()
    assert fixture.picture() is None
    assert len(list(fixture.folder.iterdir())) == 1
    fixture.install.agents.remove("crab")
    fixture.works()
    assert fixture.thumbnails.picture_of(KEY, "other") is None
    assert list(fixture.folder.iterdir()) == []


def test_so_many_an_hour(fixture: Fixture) -> None:
    """The next one waits, and is taken later; another person's does not wait."""
    for _ in range(MOST_AN_HOUR):
        made(fixture)
        assert fixture.works() == 1
    made(fixture)
    assert fixture.works() == 0
    assert fixture.thumbnails.is_coming(KEY, "game")
    fixture.now += 3601
    assert fixture.works() == 1


def test_what_a_death_left_is_taken_after_the_start(fixture: Fixture) -> None:
    """What is broken off because the install stops as well; what broke off three times is given up."""
    made(fixture)
    fixture.browser.during = lambda _: fixture.jobs.close()
    assert fixture.works() == 0
    fixture.browser.during = lambda _: None
    fixture = Fixture(fixture.install, fixture.browser)
    assert fixture.works() == 1

    def dies(_: HelperSpec) -> None:
        raise KeyboardInterrupt

    made(fixture)
    fixture.browser.during = dies
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            fixture.jobs.run_next()
        fixture.jobs.reconcile()
    again = Fixture(fixture.install, fixture.browser)
    assert fixture.browser.cleared == 3
    assert again.works() == 1
    assert again.picture() is None
    fixture.install.broker.unsubscribe(again.news)


def test_a_picture_that_a_restored_install_lost_is_taken_again(fixture: Fixture) -> None:
    """The row alone came back."""
    made(fixture)
    fixture.works()
    for path in fixture.folder.iterdir():
        path.unlink()
    assert fixture.picture() is None
    fixture.jobs.prepare_kinds()
    assert fixture.works() == 1
    assert fixture.picture() == png()


def test_without_an_engine_one_waits(fixture: Fixture) -> None:
    """It is not tried all the time, and nothing is lost."""
    fixture.browser.is_broken = True
    made(fixture)
    assert (fixture.works(), fixture.works(), fixture.images) == (0, 0, 1)
    fixture.browser.is_broken = False
    assert fixture.works() == 0
    fixture.now += 601
    assert fixture.works() == 1
    assert fixture.picture() == png()


def test_what_nobody_could_take_for_a_day_is_given_up(fixture: Fixture) -> None:
    """Nobody waits for it any more."""
    made(fixture)
    fixture.now += 25 * 3600
    assert fixture.works() == 1
    assert not fixture.thumbnails.is_coming(KEY, "game")
    assert fixture.browser.given == []


# --- what the browser is given ---------------------------------------------------------------------------------


def test_the_browser_gets_copies_under_numbers(fixture: Fixture, tmp_path: Path) -> None:
    """Each file has its type and the app's own restrictions; links, pipes and hidden files are none."""
    (tmp_path / "secret").write_text("secret")

    def deed() -> None:
        fixture.write("game/index.html")
        fixture.write("game/js/main.js", b"let x;")
        fixture.write("game/pages/index.html")
        fixture.write("game/.env", b"hidden")
        fixture.write("game/p\xe4th \xf0\x9f\x90\x9a.css", b"b{}")
        (fixture.www / "game/link.txt").symlink_to(tmp_path / "secret")
        os.mkfifo(fixture.www / "game/pipe")
        (fixture.www / "game/up").symlink_to(tmp_path, target_is_directory=True)
        os.link(fixture.www / "game/js/main.js", fixture.www / "game/twice.js")

    fixture.turn(deed)
    assert fixture.works() == 1
    task, given = fixture.browser.task(), fixture.browser.given[0]
    files = task["files"]
    assert set(files) == {
        *("", "index.html", ".hermit/shim.js", "pages/", "pages/index.html", "p\xe4th \xf0\x9f\x90\x9a.css")
    }
    assert set(given) == {"task.json", *(one["file"] for one in files.values())}
    assert given[files[""]["file"]].startswith(b"<!doctype html><script src=")
    assert files[""]["headers"]["Content-Type"] == "text/html; charset=utf-8"
    policy = files[""]["headers"]["Content-Security-Policy"]
    assert "sandbox allow-scripts" in policy
    assert "connect-src http://127.0.0.1:8000/a/app/ " in policy
    assert task["sandbox"] in policy
    assert b"secret" not in b"".join(given.values())


def test_a_large_app_is_cut(fixture: Fixture) -> None:
    """The front page is always among what is taken."""

    def deed() -> None:
        for n in range(520):
            fixture.write(f"game/{n:03}.txt", b"x")
        fixture.write("game/index.html")
        for n in range(3):
            fixture.write(f"large/{n}.bin", bytes(9_000_000))
        fixture.write("large/index.html")

    fixture.turn(deed)
    assert fixture.works() == 2
    by_name = {len(fixture.browser.task(n)["files"]): fixture.browser.given[n] for n in range(2)}
    few, many = min(by_name), max(by_name)
    assert many <= 502
    assert few == 5  # the front page under both its names, the install's script, two that fit
    assert sum(len(content) for content in by_name[few].values()) < 20_100_000


def test_an_app_that_is_gone_when_its_turn_comes_has_none(fixture: Fixture) -> None:
    """Nothing is sent for it."""
    made(fixture)
    (fixture.www / "game/index.html").unlink()
    assert fixture.works() == 1
    assert fixture.browser.given == []
    assert fixture.picture() is None
