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


class Desk:
    """A house with thumbnails, and a cubicle's ``www``."""

    def __init__(self, house: CoreFixture, browser: FakeBrowser) -> None:
        self.house, self.browser, self.now = house, browser, 1_000_000.0
        self.images = 0
        house.workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid())
        self.www = house.home / "workspaces" / KEY.agent / str(KEY.user) / "www"
        self.folder = house.home / "thumbnails"
        self.folder.mkdir(exist_ok=True)
        self.news = house.broker.subscribe("app")
        apps = Apps(house.workspaces)
        photographer = ThumbnailRenderer(browser, house.workspaces, folder=house.home / "browser", image=self._image)
        notices = Notifications(house.store, house.broker)
        self.jobs = Jobs(
            house.store,
            notices,
            finish=Calls(store=house.store, agents=house.agents).finish_calls,
            now=lambda: self.now,
        )
        self.thumbnails = Thumbnails(
            house.store,
            apps,
            house.broker,
            self.jobs,
            folder=self.folder,
            photographer=photographer,
            now=lambda: self.now,
        )
        changes = AppChanges(house.store, apps, house.workspaces)
        house.hooks.turn_ended.subscribe(lambda ended: changes.on_turn_end(ended.turn))
        house.hooks.turn_ended.subscribe(lambda ended: self.thumbnails.on_turn_end(ended.turn))
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
        turn = self.house.under_way(key=key)
        self.house.steps.start_step(key, turn.id, 1, thought="", command="ls", approval=None)
        deed()
        self.house.turns.end_turn(key, turn.id, TurnStatus.DONE, reply="Made it.")
        return turn.id

    def works(self) -> int:
        """All that is to be done is done; how many pictures were taken or given up."""
        known = self._open()
        while self.jobs.run_next():
            known |= self._open()
        self.jobs.delete_old()
        return len(known - self._open())

    def _open(self) -> set[int]:
        with self.house.store.reading() as db:
            return {job.id for job in job_rows.list_jobs(db, KIND)}

    def picture(self, app: str = "game") -> bytes | None:
        """The picture of an app."""
        path = self.thumbnails.picture_of(KEY, app)
        return None if path is None else path.read_bytes()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A house with a browser."""
    with core_fixture(tmp_path / "home") as house:
        made = Desk(house, FakeBrowser())
        yield made
        house.broker.unsubscribe(made.news)


def made(desk: Desk, app: str = "game") -> None:
    """A turn made this app."""
    desk.turn(lambda: desk.write(f"{app}/index.html"))


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
def test_what_is_no_picture_of_that_size_is_not_kept(desk: Desk, brings: bytes | None) -> None:
    """The app has no picture then, not even the one from before, and nobody tries again until it changes."""
    made(desk)
    assert desk.works() == 1
    assert desk.picture() == png()
    desk.browser.brings = brings
    made(desk)
    assert (desk.works(), desk.works()) == (1, 0)
    assert desk.picture() is None
    assert not desk.thumbnails.is_coming(KEY, "game")
    assert list(desk.folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_lies_in_the_place_of_a_picture_is_not_opened(desk: Desk, tmp_path: Path, kind: str) -> None:
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

    desk.browser.during, desk.browser.brings = leave, None
    made(desk)
    assert desk.works() == 1
    assert desk.picture() is None


def test_a_smaller_one_is_fine(desk: Desk) -> None:
    """The browser halves what would be too many bytes."""
    desk.browser.brings = png(640, 400)
    made(desk)
    desk.works()
    assert desk.picture() == png(640, 400)


# --- when one is taken -----------------------------------------------------------------------------------------


def test_an_app_that_a_turn_made_gets_a_picture(desk: Desk) -> None:
    """It is private to the house's own user, and those who show apps are told."""
    made(desk)
    assert desk.thumbnails.is_coming(KEY, "game")
    assert desk.works() == 1
    assert not desk.thumbnails.is_coming(KEY, "game")
    assert desk.picture() == png()
    path = desk.thumbnails.picture_of(KEY, "game")
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    event = desk.news.get(0)
    assert event is not None
    assert (event.cubicle, event.body) == (KEY, {"agent": "crab", "app": "game"})
    assert desk.thumbnails.picture_of(OTHER, "game") is None
    assert list((desk.house.home / "browser").iterdir()) == []


def test_one_that_changed_gets_a_new_one(desk: Desk) -> None:
    """The old file goes; a turn that changed nothing asks for nothing."""
    made(desk)
    desk.works()
    before = desk.thumbnails.picture_of(KEY, "game")
    time.sleep(0.05)  # the kernel's clock for files has ticks
    desk.turn(lambda: None)
    assert desk.works() == 0
    desk.turn(lambda: desk.write("game/more.js", b"1"))
    assert desk.works() == 1
    after = desk.thumbnails.picture_of(KEY, "game")
    assert before is not None
    assert after != before
    assert list(desk.folder.iterdir()) == [after]


def test_what_changes_while_a_picture_is_taken_is_taken_once_more(desk: Desk) -> None:
    """Turns that end one after the other, while the browser is busy, are one wish."""
    made(desk)

    def meanwhile(_: HelperSpec) -> None:
        desk.browser.during = lambda _: None
        for _n in range(3):
            desk.now += 1
            made(desk)

    desk.browser.during = meanwhile
    assert desk.works() == 2


def test_live_and_unfinished_apps_have_none(desk: Desk) -> None:
    """An app that becomes one of these has none any more."""

    def deed() -> None:
        desk.write("live/app.json", b'{"port": 8080}')
        desk.write("nothing/notes.txt", b"")

    desk.turn(deed)
    assert desk.works() == 0
    made(desk)
    desk.works()
    desk.turn(lambda: desk.write("game/app.json", b'{"port": 8080}'))
    assert desk.works() == 0
    assert desk.picture() is None
    assert list(desk.folder.iterdir()) == []


def test_a_picture_goes_with_its_app_and_with_its_agent(desk: Desk) -> None:
    """Its file too."""
    made(desk)
    made(desk, "other")
    desk.works()
    desk.turn((desk.www / "game" / "index.html").unlink)
    desk.works()
    assert desk.picture() is None
    assert len(list(desk.folder.iterdir())) == 1
    desk.house.agents.remove("crab")
    desk.works()
    assert desk.thumbnails.picture_of(KEY, "other") is None
    assert list(desk.folder.iterdir()) == []


def test_so_many_an_hour(desk: Desk) -> None:
    """The next one waits, and is taken later; another person's does not wait."""
    for _ in range(MOST_AN_HOUR):
        made(desk)
        assert desk.works() == 1
    made(desk)
    assert desk.works() == 0
    assert desk.thumbnails.is_coming(KEY, "game")
    desk.now += 3601
    assert desk.works() == 1


def test_what_a_death_left_is_taken_after_the_start(desk: Desk) -> None:
    """What is broken off because the house stops as well; what broke off three times is given up."""
    made(desk)
    desk.browser.during = lambda _: desk.jobs.close()
    assert desk.works() == 0
    desk.browser.during = lambda _: None
    desk = Desk(desk.house, desk.browser)
    assert desk.works() == 1

    def dies(_: HelperSpec) -> None:
        raise KeyboardInterrupt

    made(desk)
    desk.browser.during = dies
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            desk.jobs.run_next()
        desk.jobs.reconcile()
    again = Desk(desk.house, desk.browser)
    assert desk.browser.cleared == 3
    assert again.works() == 1
    assert again.picture() is None
    desk.house.broker.unsubscribe(again.news)


def test_a_picture_that_a_restored_house_lost_is_taken_anew(desk: Desk) -> None:
    """The row alone came back."""
    made(desk)
    desk.works()
    for path in desk.folder.iterdir():
        path.unlink()
    assert desk.picture() is None
    desk.jobs.prepare_kinds()
    assert desk.works() == 1
    assert desk.picture() == png()


def test_without_an_engine_one_waits(desk: Desk) -> None:
    """It is not tried all the time, and nothing is lost."""
    desk.browser.is_broken = True
    made(desk)
    assert (desk.works(), desk.works(), desk.images) == (0, 0, 1)
    desk.browser.is_broken = False
    assert desk.works() == 0
    desk.now += 601
    assert desk.works() == 1
    assert desk.picture() == png()


def test_what_nobody_could_take_for_a_day_is_given_up(desk: Desk) -> None:
    """Nobody waits for it any more."""
    made(desk)
    desk.now += 25 * 3600
    assert desk.works() == 1
    assert not desk.thumbnails.is_coming(KEY, "game")
    assert desk.browser.given == []


# --- what the browser is given ---------------------------------------------------------------------------------


def test_the_browser_gets_copies_under_numbers(desk: Desk, tmp_path: Path) -> None:
    """Each file has its type and the app's own restrictions; links, pipes and hidden files are none."""
    (tmp_path / "secret").write_text("secret")

    def deed() -> None:
        desk.write("game/index.html")
        desk.write("game/js/main.js", b"let x;")
        desk.write("game/pages/index.html")
        desk.write("game/.env", b"hidden")
        desk.write("game/p\xe4th \xf0\x9f\x90\x9a.css", b"b{}")
        (desk.www / "game/link.txt").symlink_to(tmp_path / "secret")
        os.mkfifo(desk.www / "game/pipe")
        (desk.www / "game/up").symlink_to(tmp_path, target_is_directory=True)
        os.link(desk.www / "game/js/main.js", desk.www / "game/twice.js")

    desk.turn(deed)
    assert desk.works() == 1
    task, given = desk.browser.task(), desk.browser.given[0]
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


def test_a_large_app_is_cut(desk: Desk) -> None:
    """The front page is always among what is taken."""

    def deed() -> None:
        for n in range(520):
            desk.write(f"game/{n:03}.txt", b"x")
        desk.write("game/index.html")
        for n in range(3):
            desk.write(f"large/{n}.bin", bytes(9_000_000))
        desk.write("large/index.html")

    desk.turn(deed)
    assert desk.works() == 2
    by_name = {len(desk.browser.task(n)["files"]): desk.browser.given[n] for n in range(2)}
    few, many = min(by_name), max(by_name)
    assert many <= 502
    assert few == 5  # the front page under both its names, the house's script, two that fit
    assert sum(len(content) for content in by_name[few].values()) < 20_100_000


def test_an_app_that_is_gone_when_its_turn_comes_has_none(desk: Desk) -> None:
    """Nothing is sent for it."""
    made(desk)
    (desk.www / "game/index.html").unlink()
    assert desk.works() == 1
    assert desk.browser.given == []
    assert desk.picture() is None
