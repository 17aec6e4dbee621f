"""``channels.chat.app_messages``: what a turn made can be opened from the chat, once told, and by whom it may."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dashboard.app import create_app
from orchestrator.apps.previews.apps import AppKind, WebApp
from orchestrator.apps.thumbnails.thumbnails import Thumbnails
from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.app_messages import LOGIN_S, WAITS_S, AppMessages
from orchestrator.channels.chat.temp_files import TempFiles
from orchestrator.channels.chat.turn_reply_rows import TurnPlace
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey, Turn
from orchestrator.turns import rows as turn_rows
from tests.support.app_fixture import AppFixture, Scene, run_app
from tests.support.bot_api import BotApi
from tests.support.chat_fakes import CHAT, GROUP, FakeOutbox, TurnsFixture, telegram_store
from tests.support.core_fixture import KEY, core_fixture
from tests.support.fake_browser import FakeBrowser, png

PUBLIC = "https://hermit.example"
AT = 1_000_000.0


@dataclass
class FakePictures(Thumbnails):
    """Pictures as a test says."""

    folder: Path
    coming: set[str] = field(default_factory=set)

    def picture_of(self, key: CubicleKey, app: str) -> Path | None:
        """The file, if there is one."""
        path = self.folder / f"{app}.png"
        return path if path.exists() else None

    def is_coming(self, key: CubicleKey, app: str) -> bool:
        """As said."""
        return app in self.coming


class Gallery:
    """An install with one bot, and apps."""

    def __init__(self, fixture: TurnsFixture, folder: Path) -> None:
        self.fixture, self.install, self.outbox = fixture, fixture.install, fixture.outbox
        self.pictures = FakePictures(folder)
        self.apps: dict[str, WebApp] = {}
        self.now = AT
        self.place = TurnPlace("crab", CHAT, None, 7, "")
        self.install.users.update_user(1, {"telegram_id": CHAT})
        self.folder = folder

    def messages(self, dashboard: str = PUBLIC) -> AppMessages:
        """As the channel makes them."""
        return AppMessages(
            store=telegram_store(self.install.store),
            outbox=self.outbox,
            turns=self.install.turns,
            users=self.install.users,
            pictures=self.pictures,
            temp_files=TempFiles(telegram_store(self.install.store), self.folder / "papers"),
            app_of=self._app,
            place_of=lambda _: self.place,
            dashboard=dashboard,
            now=lambda: self.now,
        )

    def made(self, *names: str, title: str = "A game", kind: AppKind = AppKind.STATIC) -> Turn:
        """A turn that made these apps was answered."""
        turn = self.fixture.answered("Here.")
        for name in names:
            self.apps[name] = WebApp(KEY, name, title, kind, None, 0.0, "")
        with self.install.store.writing() as db:
            turn_rows.add_apps(db, turn.id, names)
            db.execute("UPDATE turns SET told_at = ? WHERE id = ?", (self.now, turn.id))
        return turn

    def _app(self, _: CubicleKey, name: str) -> WebApp:
        if name not in self.apps:
            raise NotFound("There is no such app.")
        return self.apps[name]


@pytest.fixture
def gallery(tmp_path: Path) -> Iterator[Gallery]:
    """An install with one bot; ada's chat with it is private."""
    with core_fixture(tmp_path / "home") as install:
        yield Gallery(TurnsFixture(install, FakeOutbox(install.store)), tmp_path)


def test_each_app_has_a_message_once(gallery: Gallery) -> None:
    """Whoever looks again, in this process or the next, at the same time or later, tells nobody twice."""
    turn = gallery.made("game", "to-do")
    others = [threading.Thread(target=gallery.messages().post_due) for _ in range(6)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    gallery.messages().post_due()
    assert gallery.outbox.refs == [f"turn:{turn.id}:app:1", f"turn:{turn.id}:app:2"]
    body = gallery.outbox.messages[0].body
    assert body.rich.text == f"{MARK} A web app by crab\nA game"
    assert [entity.type for entity in body.rich.entities] == ["bold", "code"]
    assert body.files == ()


def test_the_button_is_a_way_in_for_its_owner(gallery: Gallery) -> None:
    """It logs in once, for an hour, and leads to the app's page."""
    gallery.made("a&b")
    gallery.messages().post_due()
    ((button,),) = gallery.outbox.messages[0].body.buttons
    found = re.fullmatch(rf"{PUBLIC}/login/([\w-]{{43}})\?next=%2Fagents%2Fcrab%2Fapps%2Fa%2526b", button.url)
    assert (button.text, button.data) == ("Open A game", "")
    assert found is not None
    with gallery.install.store.reading() as db:
        (expires,) = db.execute("SELECT expires_at - unixepoch() FROM login_links").fetchone()
    assert LOGIN_S - 60 < expires < LOGIN_S + 2
    assert gallery.install.users.of_session(gallery.install.users.use_link(found[1])) is not None
    with pytest.raises(NotFound):
        gallery.install.users.use_link(found[1])


@pytest.mark.parametrize("chat", [GROUP, 77])
def test_where_others_read_it_is_no_way_in(gallery: Gallery, chat: int) -> None:
    """In a group, or another person's chat, it leads to the page, which asks who one is."""
    gallery.place = TurnPlace("crab", chat, 5, 7, "")
    gallery.made("game")
    gallery.messages().post_due()
    stored = gallery.outbox.messages[0]
    assert (stored.chat, stored.body.thread) == (chat, 5)
    assert stored.body.buttons[0][0].url == f"{PUBLIC}/agents/crab/apps/game"
    with gallery.install.store.reading() as db:
        assert db.execute("SELECT count(*) FROM login_links").fetchone()[0] == 0


@pytest.mark.parametrize("dashboard", ["http://127.0.0.1:3000", "http://hermit.example"])
def test_without_a_public_address_it_says_where(gallery: Gallery, dashboard: str) -> None:
    """Telegram takes no button to this machine, and no login goes over a plain line."""
    gallery.made("game")
    gallery.messages(dashboard).post_due()
    body = gallery.outbox.messages[0].body
    assert body.buttons == ()
    assert body.rich.text.splitlines()[2:] == [
        f"It's in the dashboard, on crab's Apps page: {dashboard}/agents/crab/apps/game"
    ]


def test_the_picture_goes_along(gallery: Gallery) -> None:
    """As a copy that stays, whatever becomes of the app meanwhile."""
    (gallery.folder / "game.png").write_bytes(png())
    gallery.made("game")
    gallery.messages().post_due()
    (gallery.folder / "game.png").unlink()
    (file,) = gallery.outbox.messages[0].body.files
    assert (file.name, file.kind, file.path.read_bytes()) == ("app.png", "photo", png())


def test_a_picture_is_waited_for_a_while(gallery: Gallery) -> None:
    """Then it goes without."""
    gallery.made("game")
    gallery.pictures.coming = {"game"}
    gallery.messages().post_due()
    gallery.now += WAITS_S - 1
    gallery.messages().post_due()
    assert gallery.outbox.messages == []
    gallery.now += 1
    gallery.messages().post_due()
    assert len(gallery.outbox.messages) == 1
    gallery.made("to-do")
    gallery.messages().post_due()
    assert len(gallery.outbox.messages) == 2


def test_a_title_is_a_stranger_s_words(gallery: Gallery) -> None:
    """On one line, without our mark, as code; not too long for a button."""
    gallery.made("game", title=f"{MARK} crab: \u202eopen\nhttps://evil.example " + "x" * 100)
    gallery.messages().post_due()
    body = gallery.outbox.messages[0].body
    assert body.rich.text.count(MARK) == 1
    assert len(body.rich.text.splitlines()) == 2
    code = body.rich.entities[1]
    assert (code.type, code.offset + code.length) == ("code", len(body.rich.text.encode("utf-16-le")) // 2)
    assert len(body.buttons[0][0].text) <= 46
    assert "\u202e" not in body.buttons[0][0].text


def test_not_more_than_a_few(gallery: Gallery) -> None:
    """The last one says how many more there are; what is gone or unfinished is none."""
    gallery.made("a", "b", "c", "d", "e")
    del gallery.apps["b"]
    gallery.messages().post_due()
    texts = gallery.outbox.texts()
    assert len(texts) == 3
    assert [text.splitlines()[2:] for text in texts] == [[], [], ["And 1 more on the Apps page in the dashboard."]]
    gallery.made("half", kind=AppKind.INCOMPLETE)
    gallery.messages().post_due()
    assert len(gallery.outbox.texts()) == 3


def test_what_was_long_ago_is_left_alone(gallery: Gallery) -> None:
    """An upgrade tells nobody of old apps."""
    gallery.made("game")
    gallery.now += 3601
    gallery.messages().post_due()
    assert gallery.outbox.messages == []


# --- with a real bot -------------------------------------------------------------------------------------------


@pytest.fixture
def telegram() -> Iterator[BotApi]:
    """Telegram."""
    with BotApi() as api:
        yield api


@pytest.fixture
def install(tmp_path: Path, telegram: BotApi) -> Iterator[AppFixture]:
    """A whole install behind a proxy, with a browser on paper and a bot."""
    environment = {
        "HERMIT_TELEGRAM_API_URL": telegram.url,
        "TELEGRAM_BOT_TOKEN": telegram.bot("Crab"),
        "HERMIT_TELEGRAM_OPERATOR_ID": "42",
        "HERMIT_PUBLIC_URL": PUBLIC,
    }
    with run_app(tmp_path, environment=environment, browser=FakeBrowser()) as made:
        yield made


def test_an_app_from_a_chat_is_opened_from_the_chat(install: AppFixture, telegram: BotApi) -> None:
    """The answer, then one photo with a button, which logs in and leads to the app's page."""
    www = install.services.workspaces.prepare_folders(CubicleKey("crab", 1), uid=os.getuid(), gid=os.getgid()).www

    def play(scene: Scene) -> None:
        scene.run(1, "touch")
        (www / "game").mkdir()
        (www / "game" / "index.html").write_text("<title>Sea game</title>")
        scene.say("Here it is.")

    install.plays["make a game"] = play
    bot = install.services.bots.token_of("crab")
    assert bot is not None
    ada = telegram.person(42, "Ada")
    ada.opens(bot)
    ada.says(bot, "make a game")

    def photos() -> list[Any]:
        return [message for message in telegram.messages(ada, bot=bot) if "photo" in message]

    telegram.wait_for(photos)
    said = [message.get("text") or message.get("caption") for message in telegram.messages(ada, bot=bot)]
    answer, stored = f"{MARK} crab:\nHere it is.", f"{MARK} A web app by crab\nSea game"
    assert said.index(answer) < said.index(stored)
    (photo,) = photos()
    ((button,),) = photo["reply_markup"]["inline_keyboard"]
    assert button["text"] == "Open Sea game"
    address = urlsplit(button["url"])
    browser = create_app(install.services).test_client()
    own = {"Host": "hermit.example", "Origin": PUBLIC, "X-Forwarded-Proto": "https"}
    page = browser.get(f"{address.path}?{address.query}", headers=own).get_data(as_text=True)
    hidden = re.search(r'name="next" value="([^"]+)"', page)
    assert hidden is not None
    entered = browser.post(address.path, data={"next": hidden[1]}, headers=own)
    assert (entered.status_code, entered.location) == (303, "/agents/crab/apps/game")
    again = create_app(install.services).test_client().post(address.path, data={"next": hidden[1]}, headers=own)
    assert again.status_code == 404
    assert json.dumps(telegram.messages(ada, bot=bot)).count("Sea game") == 2  # the caption and the button
