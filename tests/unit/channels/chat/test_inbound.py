"""``channels.chat.inbound`` and ``inbound_messages``: with the real library, database, queue and mail, each message in
has one visible outcome, once, and nobody who isn't allowed has any effect.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.conversation_choices import ConversationChoices
from orchestrator.channels.chat.events import (
    ButtonPress,
    IncomingMessage,
    MembershipChange,
    StrangerMessage,
    turn_origin,
)
from orchestrator.channels.chat.inbound import BROKEN, Inbound, InboundHandlers
from orchestrator.channels.chat.inbound_files import FetchPatience, InboundFiles
from orchestrator.channels.chat.inbound_messages import InboundMessages
from orchestrator.channels.chat.inbox import Inbox
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.replies import build_replies
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.telegram.channel import TRAITS
from orchestrator.channels.telegram.client import TelegramClient
from orchestrator.channels.telegram.update_inbox import UpdateInbox
from orchestrator.channels.telegram.updates import PollPace, UpdatePoller
from orchestrator.core.audit import Audit
from orchestrator.core.errors import Conflict, Unavailable
from orchestrator.core.models import CubicleKey, TurnStatus, User
from orchestrator.turns.conversations import Conversations
from tests.support.bot_api import BotApi, Group, Person
from tests.support.chat_fakes import telegram_store
from tests.support.core_fixture import CoreFixture, core_fixture

pytestmark = pytest.mark.anyio
ADA, BOB, EVE = 42, 43, 666
_FAST = PollPace(poll_s=2, first_pause_s=0.01, longest_pause_s=0.05)
Json = dict[str, Any]


class _Reports:
    """Nobody listens."""

    def on_contact(self, *_: object) -> None:
        """Fine."""

    on_problem = mark_revoked = on_contact


@dataclass
class Scene:
    """A whole bot, in and out, except what others decide: that is recorded here, and does what a test says."""

    api: BotApi
    install: CoreFixture
    token: str
    ada: Person
    bob: Person
    eve: Person
    group: Group
    is_paired: bool = True
    code: str = ""
    commands: list[IncomingMessage] = field(default_factory=list)
    pressed: list[ButtonPress] = field(default_factory=list)
    strangers: list[StrangerMessage] = field(default_factory=list)
    memberships: list[MembershipChange] = field(default_factory=list)
    on_command: Callable[[IncomingMessage], list[MessageBody]] = lambda _: [MessageBody(RichText("fine"))]
    on_press: Callable[[ButtonPress], str] = lambda _: "done"
    enter: Callable[[IncomingMessage, User], int | None] = lambda _message, _user: None
    line: TelegramClient | None = None

    def users(self, _agent: str, telegram_id: int) -> User | None:
        """Who is allowed."""
        return self.install.users.of_identity("telegram", telegram_id)

    def run_command(self, message: IncomingMessage, user: User) -> list[Message]:
        """A command."""
        self.commands.append(message)
        return build_replies(message, self.on_command(message))

    def press(self, press: ButtonPress) -> str:
        """A press."""
        self.pressed.append(press)
        return self.on_press(press)

    def is_code(self, agent: str, person: int, digits: str) -> bool:
        """The code of a handshake; it works once."""
        is_right = digits == self.code
        self.is_paired = self.is_paired or is_right
        return is_right

    def inbox(self) -> Inbox:
        """As a start makes it."""
        return Inbox(telegram_store(self.install.store))

    def updates(self, inbox: Inbox) -> UpdateInbox:
        """As a start makes it."""
        groups, rows = {self.group.id}, telegram_store(self.install.store)
        return UpdateInbox(rows, inbox, users=self.users, groups_enabled=lambda _, chat: chat in groups)

    def hearing(self, inbox: Inbox, line: TelegramClient | None, outbox: Any = None) -> Inbound:
        """As a start makes it."""
        inbound_files = InboundFiles(
            traits=TRAITS,
            workspaces=self.install.workspaces,
            audit=Audit(self.install.store),
            room=lambda _: 1 << 30,
            adapter_of=lambda _: line,
            patience=FetchPatience(1.0, 0.01, 0.02),
        )
        return Inbound(
            store=telegram_store(self.install.store),
            inbox=inbox,
            outbox=outbox or Outbox(telegram_store(self.install.store)),
            asks=InboundMessages(
                channel="telegram",
                turns=self.install.turns,
                inbox=inbox,
                inbound_files=inbound_files,
                commands=self.run_command,
                enter=self.enter,
            ),
            deeds=InboundHandlers(
                users=self.users,
                press=self.press,
                stranger=self.strangers.append,
                membership=self.memberships.append,
                is_paired=lambda _: self.is_paired,
                is_code=self.is_code,
                how_to_link=lambda agent: f"Link {agent}.",
            ),
            adapter_of=lambda _: line,
            gather_s=0.1,
            resume_s=10.0,
        )

    @asynccontextmanager
    async def listening(self, outbox: Any = None) -> AsyncIterator[None]:
        """While the bot listens."""
        self.line = line = TelegramClient(self.token, api_url=self.api.url)
        await line.open()
        inbox = self.inbox()
        hearing = self.hearing(inbox, line, outbox)
        poller = UpdatePoller("crab", line, self.updates(inbox), on_kept=hearing.notify, reports=_Reports(), pace=_FAST)
        await hearing.resume_waiting("crab")
        task = asyncio.ensure_future(poller.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await hearing.close()
            await line.close()

    async def settled(self) -> None:
        """Everything that was sent to the bot was handled."""
        await _until(lambda: not self.api.pending(self.token) and not self.inbox().waiting_chats())

    def keep(self, *updates: Json) -> None:
        """What an earlier life kept and did not get to."""
        me = type("Me", (), {"bot": self.api.bot_user(self.token)["id"], "username": "crab_bot"})()
        self.updates(self.inbox()).save_updates("crab", me, updates)

    def prompts(self, user: int = 1) -> list[str]:
        """What the agent was asked, in order."""
        return [turn.prompt for turn in self.install.turns.list_history(CubicleKey("crab", user))]

    def posted(self, chat: int = ADA) -> list[str]:
        """The texts that go to a chat, in order."""
        outbox = Outbox(telegram_store(self.install.store))
        with self.install.store.reading() as db:
            refs = [row["ref"] for row in db.execute("SELECT * FROM chat_outbox WHERE chat = ? ORDER BY id", (chat,))]
        return [body.rich.text for ref in refs if (body := outbox.body_of(ref)) is not None]


async def _until(holds: Callable[[], Any], timeout_s: float = 30.0) -> None:
    for _ in range(int(timeout_s / 0.02)):
        if await asyncio.to_thread(holds):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it didn't come to hold")


@pytest.fixture
def anyio_backend() -> str:
    """The loop that the program uses."""
    return "asyncio"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Ada runs this install, Bob is a member, nobody knows Eve; one group is enabled."""
    with BotApi() as api, core_fixture(tmp_path / "home") as install:
        token = api.bot("Crab", username="crab_bot")
        install.users.update_user(install.operator.id, {"telegram_id": ADA})
        install.users.update_user(install.member.id, {"telegram_id": BOB})
        ada, bob, eve = api.person(ADA, "Ada"), api.person(BOB, "Bob"), api.person(EVE, "Eve")
        group = api.group("The lab", token, ada, bob, eve)
        yield Scene(api, install, token, ada, bob, eve, group)


# --- messages ---------------------------------------------------------------------------------------------------


async def test_messages_become_turns_in_order(scene: Scene) -> None:
    """Each of the person who said it, from Telegram, once."""
    async with scene.listening():
        for text in ("one", "two", "three"):
            scene.ada.says(scene.token, text)
        scene.bob.says(scene.token, "mine")
        await scene.settled()
    assert scene.prompts() == ["one", "two", "three"]
    assert scene.prompts(scene.install.member.id) == ["mine"]
    assert {turn.source for turn in scene.install.turns.list_history(CubicleKey("crab", 1))} == {"telegram"}
    assert scene.posted() == []


async def test_a_group_asks_for_the_one_who_spoke(scene: Scene) -> None:
    """In that person's own cubicle, and only when the bot is meant."""
    mention: Json = {"entities": [{"type": "mention", "offset": 0, "length": 9}]}
    async with scene.listening():
        scene.bob.says(scene.group, "nothing for it")
        scene.bob.says(scene.group, "@crab_bot what time is it?", **mention)
        scene.eve.says(scene.group, "@crab_bot do this", **mention)
        await scene.settled()
    assert scene.prompts(scene.install.member.id) == ["what time is it?"]
    assert scene.prompts() == []


async def test_a_reply_says_what_it_is_about(scene: Scene) -> None:
    """The quote comes before the words."""
    async with scene.listening():
        first = scene.ada.says(scene.token, "the plan")
        scene.ada.says(scene.token, "make it shorter", reply_to=first)
        await scene.settled()
    assert scene.prompts()[1] == "In reply to what I wrote:\n> the plan\n\nmake it shorter"


async def test_what_cannot_be_read_is_answered(scene: Scene) -> None:
    """Not silently swallowed; no turn comes of it."""
    async with scene.listening():
        scene.ada._put(scene.token, {"dice": {"emoji": "🎲", "value": 3}})
        await scene.settled()
    assert scene.prompts() == []
    assert "I can read text and files" in scene.posted()[0]


async def test_a_correction_counts_while_the_message_waits(scene: Scene) -> None:
    """With the files that it had; once a crab has it, nothing changes."""
    async with scene.listening():
        first = scene.ada.says(scene.token, "helo")
        second = scene.ada.sends_document(scene.token, "a.txt", b"x", caption="sum pu")
        await scene.settled()
        taken = scene.install.turns.take_next(CubicleKey("crab", 1), "boot", 0)
        assert taken is not None
        scene.ada.edits(first, "hello")
        with scene.api.world.changed:
            bot = scene.api.world.bots[scene.token]
            scene.api.world.push(bot, {"edited_message": {**second, "caption": "sum up"}})
        await scene.settled()
    told = '\n\n[Files that came with this message: 1]\n- "/app/workspace/in/a.txt" (1 bytes, text/plain)'
    assert scene.prompts() == ["helo", "sum up" + told]
    assert len(scene.install.audited("turn.reworded")) == 1


async def test_a_message_goes_where_its_person_writes(scene: Scene) -> None:
    """Also when that is deleted at this very moment: it is looked up again, and the message is not lost."""
    conversations, key = Conversations(scene.install.store, scene.install.broker), CubicleKey("crab", 1)
    first, boat, gone = conversations.get(key), conversations.create(key, "Boat"), conversations.create(key, "Gone")
    conversations.delete(key, gone.id)
    chosen = [boat.id, gone.id, None]
    scene.enter = lambda _message, _user: chosen.pop(0)
    async with scene.listening():
        scene.ada.says(scene.token, "paint it")
        await scene.settled()
        scene.ada.says(scene.token, "what now?")
        await scene.settled()
    turns = scene.install.turns
    assert [turn.prompt for turn in turns.list_history(key, conversation=boat.id)] == ["paint it"]
    assert [turn.prompt for turn in turns.list_history(key, conversation=first.id)] == ["what now?"]
    assert chosen == []


async def test_a_death_after_the_choice_loses_no_message(scene: Scene) -> None:
    """The conversation was begun, and then the program died: the message that is heard again goes into it."""
    store, key = telegram_store(scene.install.store), CubicleKey("crab", 1)
    conversations = Conversations(scene.install.store, scene.install.broker)
    choices = ConversationChoices(store, conversations, Outbox(store))
    choices.begin_next(ChatSpot(key, ADA), "Boat")

    scene.ada.says(scene.token, "paint it")
    scene.keep(*scene.api.pending(scene.token))
    found = scene.inbox().first_waiting("crab", ADA, "talk")
    assert found is not None
    assert isinstance(found.item, IncomingMessage)
    assert choices.enter(found.item, scene.install.operator) is not None  # and nothing more of this life
    scene.enter = ConversationChoices(store, conversations, Outbox(store)).enter
    async with scene.listening():
        await scene.settled()
    assert [one.name for one in conversations.list_conversations(key)] == ["Boat", ""]
    boat = conversations.list_conversations(key)[0]
    assert [turn.prompt for turn in scene.install.turns.list_history(key, conversation=boat.id)] == ["paint it"]


# --- files ------------------------------------------------------------------------------------------------------


async def test_files_come_along(scene: Scene) -> None:
    """With the caption, or a few words where there is none."""
    async with scene.listening():
        scene.ada.sends_document(scene.token, "a.txt", b"hello", caption="read this")
        scene.ada.sends_voice(scene.token)
        await scene.settled()
    assert [prompt.partition("\n")[0] for prompt in scene.prompts()] == ["read this", "Here is a file."]
    assert '"/app/workspace/in/a.txt" (5 bytes, text/plain)' in scene.prompts()[0]


async def test_an_album_is_one_message(scene: Scene) -> None:
    """All its files with its caption; what is said meanwhile comes after it."""
    pieces = [("photo", f"{n}.jpg", b"\xff\xd8\xff picture") for n in range(3)]
    async with scene.listening():
        scene.ada.sends_album(scene.token, pieces, caption="compare these")
        scene.ada.says(scene.token, "and hurry")
        await scene.settled()
    assert [prompt.partition("\n")[0] for prompt in scene.prompts()] == ["compare these", "and hurry"]
    assert scene.prompts()[0].count("/app/workspace/in/photo") == 3


async def test_the_parts_of_an_album_survive_a_death(scene: Scene) -> None:
    """Kept before, the rest fetched after: still one message."""
    scene.ada.sends_album(scene.token, [("photo", f"{n}.jpg", b"\xff\xd8\xff") for n in range(3)], caption="all")
    scene.keep(*scene.api.pending(scene.token)[:2])
    async with scene.listening():
        await scene.settled()
    assert len(scene.prompts()) == 1
    assert scene.prompts()[0].count("/app/workspace/in/photo") == 3


async def test_an_album_whose_rest_never_comes_is_a_message_all_the_same(scene: Scene) -> None:
    """Kept by an earlier life, and then no more of it: after a while it is what there is."""
    scene.ada.sends_album(scene.token, [("photo", f"{n}.jpg", b"\xff\xd8\xff") for n in range(2)], caption="all")
    updates = scene.api.pending(scene.token)
    scene.keep(*updates[:1])
    with scene.api.world.changed:
        scene.api.world.bots[scene.token].updates.remove(updates[1])
    async with scene.listening():
        await scene.settled()
    (prompt,) = scene.prompts()
    assert prompt.count("/app/workspace/in/photo") == 1


async def test_in_a_group_an_album_is_meant_as_a_whole(scene: Scene) -> None:
    """The caption names the bot for all its parts; an album that names nobody is none of its business."""
    pieces = [("photo", f"{n}.jpg", b"\xff\xd8\xff picture") for n in range(3)]
    async with scene.listening():
        scene.ada.sends_album(scene.group, pieces, caption="holiday")
        await scene.settled()
        assert not scene.api.calls("getFile")
        with scene.api.world.changed:
            scene.ada.sends_album(scene.group, pieces, caption="@crab_bot compare")
            for update in scene.api.world.bots[scene.token].updates:
                if "caption" in update["message"]:
                    update["message"]["caption_entities"] = [{"type": "mention", "offset": 0, "length": 9}]
        await scene.settled()
    assert [prompt.partition("\n")[0] for prompt in scene.prompts()] == ["compare"]
    assert scene.prompts()[0].count("/app/workspace/in/photo") == 3


async def test_the_words_go_on_without_a_file_that_is_too_big(scene: Scene) -> None:
    """The person hears why, the agent that something is missing; a bare file that can't be had asks nothing."""
    async with scene.listening():
        scene.ada.sends_document(scene.token, "big.zip", b"x", size=21 << 20, caption="unpack this")
        scene.ada.sends_document(scene.token, "bare.zip", b"x", size=21 << 20)
        await scene.settled()
    assert [prompt.partition("\n\n")[0] for prompt in scene.prompts()] == ["unpack this"]
    assert "big.zip (21 MB) is too big" in scene.prompts()[0]
    assert ["big.zip" in text or "bare.zip" in text for text in scene.posted()] == [True, True]
    assert not scene.api.calls("getFile")


# --- commands, presses, memberships -----------------------------------------------------------------------------


async def test_a_command_is_run_and_answered(scene: Scene) -> None:
    """In order with what was said; nothing of it reaches the agent."""
    async with scene.listening():
        scene.ada.says(scene.token, "/files report.pdf")
        await scene.settled()
    assert [(one.command, one.argument) for one in scene.commands] == [("files", "report.pdf")]
    assert scene.posted() == ["fine"]
    assert scene.prompts() == []


async def test_a_press_is_answered_and_does_not_wait(scene: Scene) -> None:
    """While a long command runs in the same chat."""
    going = threading.Event()
    scene.on_command = lambda _: [MessageBody(RichText("slow"))] if going.wait(10) else []
    async with scene.listening():
        scene.ada.opens(scene.token)
        with scene.api.world.changed:
            room = scene.ada._room(scene.token)
            message = room.add({"from": scene.api.world.bots[scene.token].user_as_sender(), "text": "?"})
        scene.ada.says(scene.token, "/reset")
        await _until(lambda: scene.commands)
        query = scene.ada.presses(message, data="opaque")
        await _until(lambda: scene.api.answer_to(query))
        assert scene.posted() == []
        going.set()
        await scene.settled()
    assert (scene.api.answer_to(query) or {})["text"] == "done"
    assert scene.posted() == ["slow"]


@pytest.mark.parametrize(
    ("error", "said"), [(Conflict("Bob was faster."), "Bob was faster."), (ZeroDivisionError("odd"), BROKEN)]
)
async def test_whatever_goes_wrong_is_said(scene: Scene, error: Exception, said: str) -> None:
    """To who commanded, and to who pressed; what comes after it is handled."""

    def fail(_: object) -> Any:
        raise error

    scene.on_command = scene.on_press = fail
    async with scene.listening():
        scene.ada.says(scene.token, "/stop")
        query = scene.ada.presses({"message_id": 3, **_of_bot(scene)}, data="opaque")
        scene.ada.says(scene.token, "go on")
        await scene.settled()
    assert scene.posted() == [said]
    assert (scene.api.answer_to(query) or {})["text"] == said
    assert scene.prompts() == ["go on"]


def _of_bot(scene: Scene) -> Json:
    """A message of the bot's that is too old to be shown."""
    scene.ada.opens(scene.token)
    return {"chat": {"id": ADA, "type": "private"}, "from": scene.api.bot_user(scene.token), "date": 0}


async def test_it_is_told_where_it_is(scene: Scene) -> None:
    """Each change, in each chat in order."""
    async with scene.listening():
        scene.ada.blocks(scene.token)
        scene.ada.unblocks(scene.token)
        scene.group.removes(scene.token)
        await scene.settled()
    found = {chat: [one.is_in for one in scene.memberships if one.place.chat == chat] for chat in (ADA, scene.group.id)}
    assert found == {ADA: [False, True], scene.group.id: [True, False]}


# --- who isn't allowed ------------------------------------------------------------------------------------------


async def test_a_strangers_updates_of_every_kind_have_no_effect(scene: Scene) -> None:
    """No turn, no download, no command, no press; whoever looks after strangers hears that there is one."""
    acts: list[Callable[[], Any]] = [
        lambda: scene.eve.says(scene.token, "hello"),
        lambda: scene.eve.says(scene.token, "/reset"),
        lambda: scene.eve.says(scene.token, "123456"),
        lambda: scene.eve.edits(scene.eve.says(scene.token, "a"), "/stop"),
        lambda: scene.eve.sends_document(scene.token, "a.txt", b"x", caption="/stop"),
        lambda: scene.eve.sends_photo(scene.token),
        lambda: scene.eve.sends_voice(scene.token),
        lambda: scene.eve.sends_sticker(scene.token),
        lambda: scene.eve.sends_album(scene.token, [("photo", "a", b"x"), ("photo", "b", b"y")]),
        lambda: scene.eve.sends_location(scene.token),
        lambda: scene.eve.sends_contact(scene.token),
        lambda: scene.eve.presses({"message_id": 3, **_of_bot(scene)}, data="opaque"),
        lambda: scene.eve.says(scene.group, "/stop@crab_bot"),
        lambda: scene.group.anonymous_says("/stop@crab_bot"),
        lambda: scene.eve.blocks(scene.token),
        lambda: scene.api.push(scene.token, {"message_reaction": {"user": scene.eve.user, "chat": {"id": EVE}}}),
        lambda: scene.api.push(scene.token, {"inline_query": {"id": "1", "from": scene.eve.user, "query": "x"}}),
    ]
    async with scene.listening():
        for act in acts:
            act()
        await scene.settled()
    for method in ("getFile", "sendMessage", "answerCallbackQuery"):
        assert not scene.api.calls(method)
    with scene.install.store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM turns").fetchone()[0] == 0
        assert db.execute("SELECT COUNT(*) FROM chat_outbox").fetchone()[0] == 0
    assert (scene.commands, scene.pressed) == ([], [])
    assert {one.sender.id for one in scene.strangers} == {EVE}


async def test_who_is_no_longer_allowed_when_it_is_their_turn(scene: Scene) -> None:
    """What they said before has no effect any more."""
    scene.bob.says(scene.token, "too late")
    scene.keep(*scene.api.pending(scene.token))
    scene.install.users.update_user(scene.install.member.id, {"telegram_id": None})
    async with scene.listening():
        await scene.settled()
    assert scene.prompts(scene.install.member.id) == []
    assert scene.posted(BOB) == []


async def test_before_the_handshake_there_is_one_answer(scene: Scene) -> None:
    """To everything but the code; in a group there is none."""
    scene.is_paired, scene.code = False, "123456"
    async with scene.listening():
        for text in ("hello", "/reset", "654321"):
            scene.ada.says(scene.token, text)
        scene.ada.says(scene.group, "/status@crab_bot")
        await scene.settled()
        assert len(set(scene.posted())) == 1
        assert len(scene.posted()) == 3
        scene.ada.says(scene.token, "123456")
        scene.ada.says(scene.token, "hello")
        await scene.settled()
    assert "You are connected to crab" in scene.posted()[-1]
    assert scene.prompts() == ["hello"]
    assert scene.posted(scene.group.id) == []
    assert scene.commands == []


async def test_a_strangers_code_is_looked_at(scene: Scene) -> None:
    """The operator's Telegram id may be unknown until then."""
    scene.is_paired, scene.code = False, "123456"
    async with scene.listening():
        scene.eve.says(scene.token, "123456")
        await scene.settled()
    assert "You are connected" in scene.posted(EVE)[0]
    assert scene.strangers == []


# --- once -------------------------------------------------------------------------------------------------------


async def test_a_death_between_the_turn_and_its_note(scene: Scene) -> None:
    """The turn is there, the update still waits: it is not asked, and its file not fetched, again."""
    scene.ada.sends_document(scene.token, "a.txt", b"x", caption="once")
    scene.keep(*scene.api.pending(scene.token))
    waiting = scene.inbox().first_waiting("crab", ADA, "talk")
    assert waiting is not None
    assert isinstance(waiting.item, IncomingMessage)
    scene.install.turns.submit(
        CubicleKey("crab", 1), "once", source="telegram", origin=turn_origin("telegram", waiting.item)
    )
    async with scene.listening():
        await scene.settled()
    assert scene.prompts() == ["once"]
    assert not scene.api.calls("getFile")


async def test_the_same_update_twice_is_one_turn_and_one_reply(scene: Scene) -> None:
    """While it is handled, and long after."""
    async with scene.listening():
        scene.ada.says(scene.token, "once")
        scene.ada.says(scene.token, "/status")
        updates = scene.api.pending(scene.token)
        await scene.settled()
        for update in updates:
            scene.api.repeat(scene.token, update)
        await scene.settled()
    assert scene.prompts() == ["once"]
    assert scene.posted() == ["fine"]


class _Refusing(Outbox):
    """A mail whose disk refuses at first, or that never takes anything."""

    def __init__(self, scene: Scene, *errors: Exception) -> None:
        super().__init__(telegram_store(scene.install.store))
        self.errors = list(errors)

    def post_message(self, stored: Message) -> bool:
        """One of the errors, while there are some."""
        if self.errors:
            raise self.errors.pop(0)
        return super().post_message(stored)


async def test_what_the_disk_refuses_is_tried_again(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """The reply comes a little later."""
    async with scene.listening(_Refusing(scene, Unavailable("full"))):
        scene.ada.says(scene.token, "/status")
        await _until(lambda: scene.posted() == ["fine"])
        await scene.settled()
    assert "tried again" in caplog.text


async def test_a_reply_that_cannot_be_posted_does_not_block_the_chat(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and what comes after it is handled."""
    async with scene.listening(_Refusing(scene, ValueError("poison"))):
        scene.ada.says(scene.token, "/status")
        scene.ada.says(scene.token, "go on")
        await scene.settled()
    assert scene.prompts() == ["go on"]
    assert "could not be posted" in caplog.text


async def test_a_refused_token_leaves_the_message_waiting(scene: Scene) -> None:
    """Until there is a new one; nothing is lost or answered in its name."""
    scene.ada.sends_document(scene.token, "a.txt", b"x", caption="later")
    scene.keep(*scene.api.pending(scene.token))
    scene.api.revoke(scene.token)
    async with scene.listening():
        await _until(lambda: scene.api.calls("getFile"))
        await asyncio.sleep(0.05)
    assert scene.inbox().waiting_chats() == [("crab", ADA)]
    assert scene.prompts() == []


async def test_one_chat_does_not_wait_for_another(scene: Scene) -> None:
    """A slow command of Ada's leaves Bob alone."""
    going = threading.Event()
    scene.on_command = lambda _: [MessageBody(RichText("slow"))] if going.wait(10) else []
    async with scene.listening():
        scene.ada.says(scene.token, "/reset")
        scene.ada.says(scene.token, "after")
        await _until(lambda: scene.commands)
        scene.bob.says(scene.token, "mine")
        await _until(lambda: scene.prompts(scene.install.member.id) == ["mine"])
        assert scene.prompts() == []
        going.set()
        await scene.settled()
    assert scene.prompts() == ["after"]
    assert scene.install.turns.list_history(CubicleKey("crab", 1))[0].status is TurnStatus.QUEUED
