"""``channels.telegram.updates``: with the real library against the Bot API server of the tests, what comes in is kept
once whatever happens to the network, to the disk and to this program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat.events import IncomingMessage
from orchestrator.channels.chat.inbox import Inbox
from orchestrator.channels.chat.send_errors import SendError, SendRefused, Unreachable
from orchestrator.channels.telegram.client import TelegramClient
from orchestrator.channels.telegram.client_types import ClientTimeouts
from orchestrator.channels.telegram.update_inbox import UpdateInbox
from orchestrator.channels.telegram.updates import AWAY, DISK, OTHER, PollPace, UpdatePoller
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import Role, User
from tests.support.bot_api import BotApi, Person
from tests.support.chat_fakes import telegram_store
from tests.support.core_fixture import CoreFixture, core_fixture

pytestmark = pytest.mark.anyio
ADA = 42
_FAST = PollPace(poll_s=2, first_pause_s=0.01, longest_pause_s=0.05)


@dataclass
class _Reports:
    """Writes down what it is told."""

    said: list[str | None] = field(default_factory=list)

    def on_contact(self, agent: str, username: str) -> None:
        """Telegram knows the token."""
        self.said.append(f"met {username}")

    def on_problem(self, agent: str, text: str | None) -> None:
        """Something is wrong."""
        self.said.append(text)

    def mark_revoked(self, agent: str) -> None:
        """The token is refused."""
        self.said.append("revoked")


@dataclass
class Scene:
    """A bot, its owner, an inbox, and what the poller says."""

    api: BotApi
    install: CoreFixture
    token: str
    ada: Person
    inbox: UpdateInbox
    waiting: Inbox
    reports: _Reports = field(default_factory=_Reports)
    told: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    def poller(self, line: Any, pace: PollPace = _FAST) -> UpdatePoller:
        """A poller on this line."""

        def on_kept(agent: str, chats: Sequence[int]) -> None:
            self.told.append((agent, tuple(chats)))

        return UpdatePoller("crab", line, self.inbox, on_kept=on_kept, reports=self.reports, pace=pace)

    @asynccontextmanager
    async def line(self) -> AsyncIterator[TelegramClient]:
        """The bot's line."""
        line = TelegramClient(self.token, api_url=self.api.url, patience=ClientTimeouts(connect_s=2, read_s=2))
        await line.open()
        try:
            yield line
        finally:
            await line.close()

    @asynccontextmanager
    async def polling(self, poller: UpdatePoller | None = None) -> AsyncIterator[asyncio.Task[None]]:
        """While the poller runs."""
        async with self.line() as line:
            task = asyncio.ensure_future((poller or self.poller(line)).run())
            try:
                yield task
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def kept(self) -> list[str]:
        """The texts on disk, in order."""
        with self.install.store.reading() as db:
            count = db.execute("SELECT COUNT(*) FROM chat_inbox").fetchone()[0]
        album = [self.waiting.first_waiting("crab", ADA, "talk")] if count else []
        texts = []
        while album and (waiting := album.pop()) is not None:
            assert isinstance(waiting.item, IncomingMessage)
            texts.append(waiting.item.text)
            self.waiting.mark_done(waiting.item)
            album.append(self.waiting.first_waiting("crab", ADA, "talk"))
        return texts

    def count(self) -> int:
        """How many updates are on disk."""
        with self.install.store.reading() as db:
            return int(db.execute("SELECT COUNT(*) FROM chat_inbox").fetchone()[0])


def _people(_agent: str, telegram_id: int) -> User | None:
    return User(1, "ada", Role.OPERATOR, (("telegram", ADA),), "UTC") if telegram_id == ADA else None


@pytest.fixture
def anyio_backend() -> str:
    """The loop that the program uses."""
    return "asyncio"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A server, a database, and nothing that came in yet."""
    with BotApi() as api, core_fixture(tmp_path / "home") as install:
        token = api.bot("Crab")
        with install.store.writing() as db:
            db.execute(
                "INSERT INTO telegram_bots (agent, bot, username, state, added_at) VALUES ('crab', ?, '', 'paired', 0)",
                (api.bot_user(token)["id"],),
            )
        rows = telegram_store(install.store)
        inbox = Inbox(rows)
        updates = UpdateInbox(rows, inbox, users=_people, groups_enabled=lambda *_: False)
        yield Scene(api, install, token, api.person(ADA), updates, inbox)


async def _until(holds: Callable[[], Any], timeout_s: float = 30.0) -> None:
    for _ in range(int(timeout_s / 0.02)):
        if await asyncio.to_thread(holds):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it didn't come to hold")


async def test_what_came_is_kept_and_then_acknowledged(scene: Scene) -> None:
    """In order, and whoever handles it is told in which chat; Telegram forgets it afterwards."""
    scene.ada.says(scene.token, "one")
    scene.ada.says(scene.token, "two")
    async with scene.polling():
        await _until(lambda: not scene.api.pending(scene.token))
        scene.ada.says(scene.token, "three")
        await _until(lambda: scene.count() == 3 and len(scene.told) >= 2)
    assert scene.kept() == ["one", "two", "three"]
    assert set(scene.told) == {("crab", (ADA,))}
    assert [said for said in scene.reports.said if said is not None] == [
        f"met {scene.api.bot_user(scene.token)['username']}"
    ]


async def test_a_webhook_of_earlier_days_is_removed(scene: Scene) -> None:
    """Else no poll would ever work; what waited is not lost."""
    async with scene.line() as line:
        await line.set_webhook("http://127.0.0.1:9/x", "secret")
        scene.ada.says(scene.token, "hello")
        async with scene.polling():
            await _until(lambda: scene.count() == 1)
            await line.set_webhook("http://127.0.0.1:9/x", "secret")
            scene.ada.says(scene.token, "again")
            await _until(lambda: scene.count() == 2)


async def test_killed_between_keeping_and_acknowledging(scene: Scene) -> None:
    """The next start acknowledges it; it is there once."""
    scene.ada.says(scene.token, "once")
    async with scene.line() as line:
        updates = await line.get_updates(0, timeout_s=0)
        scene.inbox.save_updates("crab", await line.get_me(), updates)
    assert len(scene.api.pending(scene.token)) == 1
    async with scene.polling():
        await _until(lambda: not scene.api.pending(scene.token))
        scene.ada.says(scene.token, "after")
        await _until(lambda: scene.count() == 2)
    assert scene.kept() == ["once", "after"]


async def test_the_same_update_again_has_no_effect(scene: Scene) -> None:
    """Whether Telegram repeats it, or its answer got lost on the way here."""
    scene.ada.says(scene.token, "once")
    update = scene.api.pending(scene.token)[0]
    scene.api.fail_next("getUpdates", after=True, times=2)
    async with scene.polling():
        await _until(lambda: scene.count() == 1)
        assert scene.kept() == ["once"]
        scene.api.repeat(scene.token, update)
        scene.ada.says(scene.token, "next")
        await _until(lambda: scene.count() == 2)
    assert scene.kept() == ["next"]


@pytest.mark.parametrize(
    "broken",
    [
        {"status": 502, "html": "<html>Bad Gateway</html>"},
        {"status": 200, "html": "<html>Log in to this hotel's network</html>"},
        {"status": 500},
        {"status": 429, "retry_after": 1},
        {"status": 403},
        {},
    ],
    ids=["gateway", "hotel", "500", "flood", "403", "reset"],
)
async def test_broken_answers_are_waited_out(scene: Scene, broken: dict[str, Any]) -> None:
    """Of any call that fetching needs; nothing is lost."""
    scene.ada.says(scene.token, "hello")
    for method in ("getMe", "deleteWebhook", "getUpdates"):
        scene.api.fail_next(method, times=1 if "retry_after" in broken else 2, **broken)
    async with scene.polling():
        await _until(lambda: scene.count() == 1)
    assert scene.kept() == ["hello"]


async def test_the_network_goes_and_comes_back(scene: Scene) -> None:
    """In the midst of a long poll; that it is away is said once, and that it is back."""
    async with scene.polling():
        await _until(lambda: scene.api.calls("getUpdates"))
        scene.api.offline()
        await _until(lambda: AWAY in scene.reports.said)
        scene.api.online()
        scene.ada.says(scene.token, "hello")
        await _until(lambda: scene.count() == 1 and scene.reports.said[-1] is None)
    assert scene.reports.said.count(AWAY) == 1


async def test_another_poller_is_said_once(scene: Scene) -> None:
    """However often it gets in the way; once it is gone, that is said too."""
    scene.api.fail_next("getUpdates", 409, times=5)
    scene.ada.says(scene.token, "hello")
    async with scene.polling():
        await _until(lambda: scene.count() == 1 and scene.reports.said[-1] is None)
    assert scene.reports.said.count(OTHER) == 1


async def test_a_refused_token_ends_it(scene: Scene) -> None:
    """While it polls, and at once when it was refused before."""
    async with scene.polling() as task:
        await _until(lambda: scene.api.calls("getUpdates"))
        scene.api.revoke(scene.token)
        await asyncio.wait_for(task, 10)
    assert scene.reports.said[-1] == "revoked"
    async with scene.polling() as task:
        await asyncio.wait_for(task, 10)
    assert scene.reports.said.count("revoked") == 2


async def test_what_the_disk_refuses_is_not_acknowledged(scene: Scene) -> None:
    """It waits at Telegram until it can be written down."""
    refusals = [Unavailable("full")] * 3
    keep = scene.inbox.save_updates

    class _Full(UpdateInbox):
        """Refuses at first."""

        def save_updates(self, *arguments: Any) -> Any:
            """As long as there are refusals."""
            if refusals:
                raise refusals.pop()
            return keep(*arguments)

    rows = telegram_store(scene.install.store)
    scene.inbox = _Full(rows, Inbox(rows), users=_people, groups_enabled=lambda *_: False)
    scene.ada.says(scene.token, "hello")
    async with scene.polling():
        await _until(lambda: not scene.api.pending(scene.token))
    assert scene.count() == 1
    assert scene.reports.said.count(DISK) == 1
    assert scene.reports.said[-1] is None


async def test_no_token_is_in_what_is_said(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in the log nor in a problem, whatever goes wrong."""
    caplog.set_level("DEBUG")
    for broken in ({"status": 502, "html": "<html>"}, {"status": 409}, {"status": 400}, {}):
        scene.api.fail_next("getUpdates", times=2, **broken)
    scene.ada.says(scene.token, "hello")
    async with scene.polling():
        await _until(lambda: scene.count() == 1)
    assert scene.token.partition(":")[2] not in caplog.text + str(scene.reports.said)


async def test_a_posted_update_goes_the_same_way(scene: Scene) -> None:
    """Once, however often it is posted; without being kept it is not acknowledged."""
    scene.ada.says(scene.token, "hello")
    update = scene.api.pending(scene.token)[0]
    async with scene.line() as line:
        poller = scene.poller(line)
        scene.api.fail_next("getMe", 502, html="<html>")
        with pytest.raises(Unreachable):
            await poller.receive_update(update)
        await poller.receive_update(update)
        await poller.receive_update(update)
        await poller.receive_update({"nonsense": True})
    assert scene.kept() == ["hello"]
    assert scene.told == [("crab", (ADA,))] * 2


@pytest.mark.parametrize("status", [404, 400, 502])
async def test_a_server_without_webhooks_is_polled_all_the_same(scene: Scene, status: int) -> None:
    """Where one is set and stays, the polls say so."""
    scene.api.fail_next("deleteWebhook", status, html="<html>" if status == 502 else "")
    scene.ada.says(scene.token, "one")
    async with scene.polling():
        await _until(lambda: not scene.api.pending(scene.token))
    assert scene.kept() == ["one"]
    assert "revoked" not in scene.reports.said


class _Stuck:
    """A line whose updates have no numbers."""

    polls = 0

    async def get_me(self) -> Any:
        """Some bot."""
        return type("Me", (), {"bot": 7, "username": "crab_bot"})()

    async def delete_webhook(self) -> None:
        """Refuses."""

    async def get_updates(self, offset: int, *, timeout_s: int) -> list[Any]:
        """Nothing that could be acknowledged."""
        self.polls += 1
        return [{"update_id": None}]


async def test_what_cannot_be_acknowledged_does_not_spin(scene: Scene) -> None:
    """Between two polls that bring the same nonsense there is a pause."""
    stuck = _Stuck()
    async with scene.polling(scene.poller(stuck, PollPace(poll_s=1, first_pause_s=0.05, longest_pause_s=0.1))):
        await _until(lambda: stuck.polls)
        await asyncio.sleep(0.2)
    assert stuck.polls <= 8


class _Odd(_Stuck):
    """A line that fails in a way nobody thought of, then refuses, then works."""

    def __init__(self) -> None:
        self.errors: list[Exception] = [SendRefused("no"), ZeroDivisionError("odd"), SendError("vague")]

    async def get_updates(self, offset: int, *, timeout_s: int) -> list[Any]:
        """Fails until there is nothing left to fail with."""
        self.polls += 1
        if self.errors:
            raise self.errors.pop()
        await asyncio.sleep(0.1)
        return []


async def test_nothing_ends_it_but_a_refused_token(scene: Scene) -> None:
    """What nobody thought of is logged, and the next poll may work."""
    odd = _Odd()
    async with scene.polling(scene.poller(odd)) as task:
        await _until(lambda: odd.polls >= 5)
        assert not task.done()
