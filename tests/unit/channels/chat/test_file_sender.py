"""Deliveries go to the chat that they belong to, once, each by its kind, pictures of a turn together."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.agents.users import Users
from orchestrator.channels.chat.channel_store import ChannelDb
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot, ConversationChoice, put_choice
from orchestrator.channels.chat.file_sender import FileSender
from orchestrator.channels.chat.outbox_rows import note_number
from orchestrator.channels.telegram.accounts import rows as bots
from orchestrator.channels.telegram.accounts.rows import BotState, BotStatus
from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey, Delivery, DeliveryStatus
from orchestrator.turns import rows as turn_rows
from orchestrator.turns.conversation_rows import ensure_first, insert_conversation
from tests.support.bot_api import BotApi, Person
from tests.support.chat_fakes import telegram_store
from tests.support.delivery_fixture import KEY, DeliveryFixture, outgoing
from tests.support.outbox_fixture import OutboxFixture

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + b"\0\0\1\0\0\0\1\0" + b"\10\6\0\0\0" + bytes(8)
GATHER_S = 0.5


@dataclass
class Fixture:
    """Deliveries, a bot, and what is between them."""

    out: DeliveryFixture
    office: OutboxFixture
    carrier: FileSender

    def take(self, name: str, content: bytes = b"content") -> None:
        """A file appears in ``out/`` and is found."""
        self.out.put(name, content)
        self.out.intake.take_file(KEY, name.encode(), found_at=time.time())

    def wait(self, count: int, status: DeliveryStatus = DeliveryStatus.SENT) -> list[Delivery]:
        """So many deliveries stand like that."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            found = [one for one in self.out.rows() if one.status is status]
            if len(found) >= count:
                return found
            time.sleep(0.01)
        raise AssertionError([(one.name, one.status, one.why) for one in self.out.rows()])


def turn_from_telegram(out: DeliveryFixture, chat: int = 42, *, thread: int | None = None, message: int = 7) -> int:
    """A turn under way that somebody asked for in a chat."""
    with out.store.writing() as db:
        db.execute(
            "INSERT INTO chat_inbox (channel, bot, update_id, agent, chat, thread, person, message, album, origin, "
            "received_at) VALUES ('telegram', 1, ?, 'crab', ?, ?, 42, ?, '', ?, 0)",
            (chat % 1000, chat, thread, message, f"telegram:1:{chat}"),
        )
        origin = f"telegram:1:{chat}"
        turn = turn_rows.insert_turn(
            db, ensure_first(db, KEY, 0.0), source="telegram", prompt="x", origin=origin, now=time.time()
        )
        turn_rows.claim_turn(db, turn, "boot", time.time() - 1)
    return turn


@pytest.fixture
def install(tmp_path: Path, api: BotApi, bot: str, ada: Person) -> Iterator[Fixture]:
    """All of it, with the private chat open."""
    with outgoing(tmp_path) as out, OutboxFixture(api, out.store, crab=bot) as office:
        yield furnished(out, office)


def furnished(out: DeliveryFixture, office: OutboxFixture) -> Fixture:
    """A carrier between deliveries and messages."""
    users = Users(out.store)
    users.update_user(KEY.user, {"telegram_id": 42})
    with out.store.writing() as db:
        bots.put_bot(db, BotState("crab", 7, "crab_bot", BotStatus.PAIRED))
        note_number(ChannelDb(db, "telegram"), "crab", 42, 1, 0.0)
    carrier = FileSender(
        store=telegram_store(out.store),
        outbox=office.outbox,
        users=users,
        deliveries=out.deliveries,
        is_linked=lambda agent: _is_linked(out.store, agent),
        gather_s=GATHER_S,
    )
    out.deliveries.add_carrier(carrier)
    return Fixture(out, office, carrier)


def _is_linked(store: Store, agent: str) -> bool:
    with store.reading() as db:
        bot = bots.of_agent(db, agent)
    return bot is not None and bot.state is BotStatus.PAIRED


def test_a_file_arrives(api: BotApi, install: Fixture) -> None:
    """As bytes under its name, once; then its delivery is sent."""
    install.take("report.pdf", b"%PDF-1.4 hello")
    (made,) = install.wait(1)
    assert made.to == "telegram:42"
    message = api.messages(42)[-1]
    assert message["document"]["file_name"] == "report.pdf"
    assert api.bytes_of(message["document"]["file_id"]) == b"%PDF-1.4 hello"
    assert not any(call.named_files for call in api.calls())


def test_pictures_of_a_turn_are_an_album(api: BotApi, install: Fixture) -> None:
    """Those that come together; a document goes by itself and does not wait."""
    turn_from_telegram(install.out)
    for n in range(3):
        install.take(f"{n}.png", PNG + bytes([n]))
    install.take("data.csv", b"1,2,3")
    install.wait(4)
    album = [one for one in api.messages(42) if "media_group_id" in one]
    assert [one["photo"][0]["file_id"] is not None for one in album] == [True] * 3
    assert len({one["media_group_id"] for one in album}) == 1
    assert len(api.calls("sendMediaGroup")) == 1
    assert len(api.calls("sendDocument")) == 1


def test_a_picture_alone_is_a_picture(api: BotApi, install: Fixture) -> None:
    """After a moment in which no other came."""
    install.take("one.png", PNG)
    install.wait(1)
    assert "photo" in api.messages(42)[-1]
    assert api.calls("sendMediaGroup") == []


def test_an_album_has_ten_at_most(api: BotApi, install: Fixture) -> None:
    """The eleventh begins another."""
    for n in range(11):
        install.take(f"{n:02}.png", PNG + bytes([n]))
    install.wait(11)
    assert len(api.calls("sendMediaGroup")) == 1
    assert len(api.calls("sendPhoto")) == 1


def test_what_an_album_can_not_take_goes_one_by_one(api: BotApi, install: Fixture) -> None:
    """One file that Telegram refuses keeps no other one back."""
    api.fail_next("sendMediaGroup", 400, times=2)
    for n in range(2):
        install.take(f"{n}.png", PNG + bytes([n]))
    install.wait(2)
    assert len(api.calls("sendPhoto")) == 2


def test_a_turn_of_a_group_is_answered_there(api: BotApi, install: Fixture, bot: str, ada: Person) -> None:
    """In its topic, in answer to the message that asked."""
    group = api.group("The group", bot, ada)
    asked = ada.says(group, "@crab make it")["message_id"]
    turn_from_telegram(install.out, group.id, thread=5, message=asked)
    install.take("report.txt")
    install.wait(1)
    call = api.calls("sendDocument")[0]
    assert call.parameters["chat_id"] == group.id
    assert call.parameters["message_thread_id"] == 5
    assert call.parameters["reply_parameters"]["message_id"] == asked


@pytest.mark.parametrize("source", ["dashboard", "api", "terminal"])
def test_what_was_asked_for_elsewhere_stays_there(install: Fixture, source: str) -> None:
    """A turn of the dashboard delivers to the dashboard."""
    with install.out.store.writing() as db:
        turn = turn_rows.insert_turn(
            db, ensure_first(db, KEY, 0.0), source=source, prompt="x", origin=None, now=time.time()
        )
        turn_rows.claim_turn(db, turn, "boot", time.time() - 1)
    install.take("report.txt")
    (made,) = install.wait(1)
    assert made.to == "dashboard"


def test_without_a_turn_only_an_open_chat_is_reached(install: Fixture) -> None:
    """Of a paired bot, with the cubicle's own person."""
    carrier = install.carrier
    assert carrier.find_destination(KEY, None) == "telegram:42"
    assert carrier.find_destination(CubicleKey("crab", 99), None) is None
    with install.out.store.writing() as db:
        bots.put_bot(db, BotState("crab", 7, "crab_bot", BotStatus.PAIRING))
    assert carrier.find_destination(KEY, None) is None
    with install.out.store.writing() as db:
        bots.put_bot(db, BotState("crab", 7, "crab_bot", BotStatus.PAIRED))
        db.execute("UPDATE chat_rooms SET state = 'closed'")
    assert carrier.find_destination(KEY, None) is None


def test_too_large_a_file_goes_as_a_link(api: BotApi, install: Fixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is uploaded; the message carries the link without a preview, and that was the delivery."""
    monkeypatch.setattr(install.carrier, "largest_bytes", 3)
    install.take("large.bin", b"four")
    install.wait(1)
    assert api.calls("sendDocument") == []
    (said,) = api.said(42)
    assert "http://house/d/" in said
    assert api.calls("sendMessage")[0].has_preview_off


def test_a_blocked_bot_is_said(api: BotApi, install: Fixture, ada: Person, bot: str) -> None:
    """The delivery failed, with a sentence for the person; its download stays."""
    ada.blocks(bot)
    install.take("report.txt")
    (made,) = install.wait(1, DeliveryStatus.FAILED)
    assert "blocked" in made.why
    assert install.out.deliveries.copy_of(made).exists()


def test_an_outage_loses_and_doubles_nothing(api: BotApi, install: Fixture) -> None:
    """Files wait like every message."""
    api.offline()
    install.take("a.txt", b"a")
    install.take("b.png", PNG)
    time.sleep(0.05)
    api.online()
    install.wait(2)
    assert len(api.messages(42)) == 2


def test_a_death_before_the_message_was_posted(api: BotApi, tmp_path: Path, bot: str, ada: Person) -> None:
    """Pictures that were gathering are handed over again; what was sent is only reported."""
    with outgoing(tmp_path) as out, OutboxFixture(api, out.store, crab=bot) as office:
        install = furnished(out, office)
        install.take("a.txt", b"a")
        install.wait(1)
        install.carrier._gather_s = 60.0
        install.take("one.png", PNG)
        (album,) = install.carrier._albums.values()
        album.timer.cancel()  # the install dies here
        with out.store.writing() as db:
            db.execute("UPDATE deliveries SET status = 'handed' WHERE name = 'a.txt'")
    with outgoing(tmp_path) as out, OutboxFixture(api, out.store, crab=bot) as office:
        install = furnished(out, office)
        out.deliveries.reconcile()
        install.wait(2)
    assert len(api.calls("sendDocument")) == 1
    assert len(api.calls("sendPhoto")) == 1


def test_closing_hands_over_what_gathers(api: BotApi, install: Fixture) -> None:
    """A good shutdown waits for nobody."""
    install.carrier._gather_s = 60.0
    install.take("one.png", PNG)
    install.carrier.close()
    install.wait(1)
    assert len(api.calls("sendPhoto")) == 1


def test_giving_it_twice_changes_nothing(api: BotApi, install: Fixture) -> None:
    """The same delivery again, while it waits, while it gathers and when it is there."""
    for name, content in (("a.txt", b"a"), ("b.png", PNG)):
        install.take(name, content)
    for _ in range(2):
        for one in install.out.rows():
            install.carrier.send_file(one, install.out.deliveries.copy_of(one))
        install.wait(2)
    assert len(api.messages(42)) == 2


def test_what_the_calendar_made_for_a_topic_goes_there(api: BotApi, install: Fixture) -> None:
    """The turn is in the conversation that the person has as a topic in their private chat."""
    store = telegram_store(install.out.store)
    with store.writing() as db:
        place = insert_conversation(db.sql, KEY, name="Boat", now=1.0)
        put_choice(db, ChatSpot(KEY, 42, 9), ConversationChoice(place.id))
        turn = turn_rows.insert_turn(db.sql, place, source="calendar", prompt="x", origin=None, now=time.time())
        turn_rows.claim_turn(db.sql, turn, "boot", time.time() - 1)
    install.take("report.txt")
    install.wait(1)
    assert api.calls("sendDocument")[0].parameters["message_thread_id"] == 9
