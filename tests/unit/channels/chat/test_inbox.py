"""``channels.chat.inbox``: kept once, before it is acknowledged; handled in order; forgotten after its effect."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat.channel_store import ChannelDb
from orchestrator.channels.chat.events import ButtonPress, IncomingMessage, StrangerMessage
from orchestrator.channels.chat.inbox import Inbox
from orchestrator.channels.chat.outbox_rows import known_after
from orchestrator.channels.telegram.client_types import BotIdentity
from orchestrator.channels.telegram.update_inbox import UpdateInbox
from orchestrator.core.models import Role, User
from tests.support.chat_fakes import telegram_store
from tests.support.core_fixture import CoreFixture, core_fixture

ADA, EVE, BOT = 42, 666, 7
Json = dict[str, Any]
_ME = BotIdentity(BOT, "crab_bot", "Crab", can_read_groups=False)


@dataclass
class Scene:
    """An inbox over a real database, and its clock."""

    install: CoreFixture
    inbox: Inbox
    updates: UpdateInbox
    now: float = 1_000.0

    def keep(self, *updates: object) -> list[int]:
        """The chats where something waits."""
        return list(self.updates.save_updates("crab", _ME, updates).chats)

    def rows(self) -> list[Json]:
        """What is in the table."""
        with self.install.store.reading() as db:
            return [dict(row) for row in db.execute("SELECT * FROM chat_inbox ORDER BY update_id")]

    def texts(self, chat: int = ADA) -> list[str]:
        """Handles everything that was said in a chat."""
        said = []
        while (waiting := self.inbox.first_waiting("crab", chat, "talk")) is not None:
            said.append(waiting.item.text if isinstance(waiting.item, IncomingMessage) else type(waiting.item).__name__)
            self.inbox.mark_done(waiting.item)
        return said


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """With agent ``crab``, whose bot is known, and Ada, who is allowed."""
    with core_fixture(tmp_path / "home") as install:
        with install.store.writing() as db:
            db.execute(
                "INSERT INTO telegram_bots (agent, bot, username, state, added_at) VALUES ('crab', 7, '', 'paired', 0)"
            )
        yield opened(install)


def opened(install: CoreFixture) -> Scene:
    """An inbox as a start finds it."""
    scene: Scene

    def now() -> float:
        return scene.now

    rows = telegram_store(install.store)
    inbox = Inbox(rows, now=now)
    updates = UpdateInbox(rows, inbox, users=_people, groups_enabled=lambda _, chat: chat == -5)
    scene = Scene(install, inbox, updates)
    return scene


def _people(_agent: str, telegram_id: int) -> User | None:
    return User(1, "ada", Role.OPERATOR, (("telegram", ADA),), "UTC") if telegram_id == ADA else None


def update(number: int, text: str = "hello", *, by: int = ADA, kind: str = "message", **more: Any) -> Json:
    """A private message as Telegram sends it."""
    user = {"id": by, "is_bot": False, "first_name": "Somebody"}
    message = {"message_id": number, "date": 1, "from": user, "chat": {"id": by, "type": "private"}, "text": text}
    return {"update_id": number, kind: {**message, **more}}


def press(number: int) -> Json:
    """A pressed button."""
    message = {"message_id": 3, "date": 0, "chat": {"id": ADA, "type": "private"}}
    user = {"id": ADA, "is_bot": False, "first_name": "Somebody"}
    return {"update_id": number, "callback_query": {"id": "q", "from": user, "message": message, "data": "opaque"}}


def test_a_batch_is_kept_and_says_where_to_go_on(scene: Scene) -> None:
    """In the order in which it came, with the number after the last, which a restart finds again."""
    kept = scene.updates.save_updates(
        "crab", _ME, [update(10, "a"), update(11, "x", by=EVE), {"update_id": 12, "poll": {}}]
    )
    assert (kept.next_update, sorted(kept.chats)) == (13, [ADA, EVE])
    again = opened(scene.install)
    assert again.updates.next_update("crab", BOT) == 13
    assert again.inbox.waiting_chats() == [("crab", ADA), ("crab", EVE)]
    assert again.texts() == ["a"]


def test_the_same_update_twice_is_one(scene: Scene) -> None:
    """Before it was handled and after, in one batch and in two, and across a restart."""
    assert scene.keep(update(10), update(10)) == [ADA]
    assert scene.keep(update(10)) == [ADA]
    assert scene.texts() == ["hello"]
    assert opened(scene.install).keep(update(10)) == []
    assert scene.texts() == []


def test_what_is_lower_than_the_last_is_kept_all_the_same(scene: Scene) -> None:
    """After a week of silence Telegram begins again with any number."""
    scene.keep(update(900))
    kept = scene.updates.save_updates("crab", _ME, [update(20)])
    assert (kept.next_update, kept.chats) == (21, (ADA,))


def test_nothing_with_a_number_changes_nothing(scene: Scene) -> None:
    """Garbage in a batch has no effect, and none on where to go on."""
    scene.keep(update(10))
    kept = scene.updates.save_updates("crab", _ME, [None, 5, "x", {}, {"update_id": "11"}, {"update_id": True}])
    assert (kept.next_update, kept.chats) == (11, ())
    assert scene.updates.save_updates("crab", _ME, []).next_update == 11


def test_nothing_that_a_stranger_wrote_is_on_disk(scene: Scene) -> None:
    """Neither while it waits nor afterwards; a thousand words are one row, and the row goes."""
    scene.keep(*(update(number, f"SECRET {number}", by=EVE, caption="SECRET") for number in range(10, 40)))
    assert len(scene.rows()) == 1
    assert "SECRET" not in str(scene.rows())
    assert scene.texts(EVE) == ["StrangerMessage"]
    assert scene.rows() == []


def test_a_strangers_code_is_kept_beside_other_words(scene: Scene) -> None:
    """It may be what proves who they are."""
    scene.keep(update(10, "hi", by=EVE), update(11, "123456", by=EVE))
    first = scene.inbox.first_waiting("crab", EVE, "talk")
    assert first is not None
    scene.inbox.mark_done(first.item)
    second = scene.inbox.first_waiting("crab", EVE, "talk")
    assert second is not None
    assert isinstance(second.item, StrangerMessage)
    assert second.item.six_digits == "123456"


def test_what_was_handled_is_known_without_its_words(scene: Scene) -> None:
    """For a month; what waits stays as long as it has to."""
    scene.keep(update(10, "PRIVATE"))
    assert scene.texts() == ["PRIVATE"]
    assert "PRIVATE" not in str(scene.rows())
    scene.keep(update(11, "waits"))
    scene.now += 29 * 24 * 3600
    assert scene.inbox.forget_old() == 0
    scene.now += 2 * 24 * 3600
    assert scene.inbox.forget_old() == 1
    assert scene.texts() == ["waits"]


def test_presses_do_not_wait_for_what_was_said(scene: Scene) -> None:
    """Each lane has its own order."""
    scene.keep(update(10), press(11), press(12))
    found = [scene.inbox.first_waiting("crab", ADA, lane) for lane in ("talk", "presses")]
    assert [one.item.update for one in found if one] == [10, 11]
    assert found[1] is not None
    assert isinstance(found[1].item, ButtonPress)


def test_a_pressed_message_is_none_of_theirs(scene: Scene) -> None:
    """After a crash a message whose fate is unknown is looked for among the numbers that nobody knows of: that somebody
    pressed its button already must not hide it, or it would be sent again and the button be dead."""
    scene.keep(update(2), press(11))
    with scene.install.store.reading() as db:
        assert known_after(ChannelDb(db, "telegram"), "crab", ADA, 0, 0) == {2}


def test_everything_comes_back_as_it_was_sorted(scene: Scene) -> None:
    """With files, place, quote and half characters made whole."""
    file = {"file_id": "F", "file_name": "ü\ud800.pdf", "file_size": 5, "mime_type": "application/pdf"}
    scene.keep(update(10, "🦀 \ud83e", document=file, media_group_id="9", reply_to_message={"text": "before"}))
    waiting = scene.inbox.first_waiting("crab", ADA, "talk")
    assert waiting is not None
    assert isinstance(waiting.item, IncomingMessage)
    assert (waiting.item.text, waiting.item.files[0].name, waiting.item.album) == ("🦀 \ufffd", "ü\ufffd.pdf", "9")
    assert waiting.item.quoted.endswith("> before")
    assert scene.inbox.album_parts(waiting.item) == [waiting]


@pytest.mark.parametrize(
    ("more", "has_origin"),
    [
        ({}, True),
        ({"kind": "edited_message"}, False),
        ({"text": "/stop", "entities": [{"type": "bot_command", "offset": 0, "length": 5}]}, False),
    ],
)
def test_only_what_becomes_a_turn_has_an_origin(scene: Scene, more: Json, has_origin: bool) -> None:  # noqa: FBT001  # a column of a table
    """An edit is found by the origin of what it edits."""
    scene.keep(update(10, **{"text": "hello", **more}))
    waiting = scene.inbox.first_waiting("crab", ADA, "talk")
    assert waiting is not None
    assert isinstance(waiting.item, IncomingMessage)
    assert scene.inbox.origin_of(waiting.item) == ("telegram:7:10" if has_origin else None)


def test_a_row_that_cannot_be_read_does_not_block_the_chat(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """It is said in the log and dropped."""
    scene.keep(update(10, "broken"), update(11, "fine"))
    with scene.install.store.writing() as db:
        db.execute("""UPDATE chat_inbox SET body = '{"kind": "message"}' WHERE update_id = 10""")
    assert scene.texts() == ["fine"]
    assert "update 10 for crab" in caplog.text


def test_a_chat_is_open_once_a_person_wrote(scene: Scene) -> None:
    """And how far its numbers have got is known."""
    scene.keep(update(10), update(12), update(11, kind="edited_message"), update(13, by=EVE))
    with scene.install.store.writing() as db:
        assert [(row["chat"], row["state"], row["last_message"]) for row in db.execute("SELECT * FROM chat_rooms")] == [
            (ADA, "open", 12)
        ]
        db.execute("UPDATE chat_rooms SET state = 'closed'")
    scene.keep(update(14))
    with scene.install.store.reading() as db:
        assert db.execute("SELECT state FROM chat_rooms").fetchone()["state"] == "open"


def test_a_disk_that_refuses_keeps_nothing_at_all(scene: Scene) -> None:
    """Half a batch would be acknowledged as a whole."""
    scene.keep(update(10))
    with scene.install.store.writing() as db:
        db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON chat_inbox WHEN new.update_id = 12 "
            "BEGIN SELECT RAISE (ABORT, 'full'); END"
        )
    with pytest.raises(Exception, match="full"):
        scene.keep(update(11), update(12))
    assert scene.updates.next_update("crab", BOT) == 11
    assert [row["update_id"] for row in scene.rows()] == [10]
