"""Messages go out in order, once, through everything that networks, Telegram and deaths do to them."""

from __future__ import annotations

import itertools
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat import outbox_rows as rows
from orchestrator.channels.chat.channel_store import ChannelDb
from orchestrator.channels.chat.message import AttachedFile, Message, MessageBody, MessageButton
from orchestrator.channels.chat.message_json import body_from_json, body_to_json
from orchestrator.channels.chat.rich_text import RichText, TextEntity
from orchestrator.core.db.audit_rows import search_records
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Unavailable
from tests.support.bot_api import BotApi, Person
from tests.support.outbox_fixture import WAIT_S, OutboxFixture, store_with

BUTTONS = (
    (MessageButton("Yes", "b1"), MessageButton("No", "b2")),
    (MessageButton("Open", url="https://example.org/"),),
)


@pytest.fixture
def ben(api: BotApi, bot: str) -> Person:
    """Somebody else."""
    person = api.person(43, "Ben")
    person.opens(bot)
    return person


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A database with two agents."""
    made = store_with(tmp_path, "crab", "otter")
    yield made
    made.close()


@pytest.fixture
def office(api: BotApi, store: Store, bot: str, ada: Person) -> Iterator[OutboxFixture]:
    """Messages go out."""
    with OutboxFixture(api, store, crab=bot) as opened:
        yield opened


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Something to send."""
    path = tmp_path / "private-copy"
    path.write_bytes(b"some bytes")
    return path


def accepted(api: BotApi, method: str = "") -> list[str]:
    """The texts that Telegram took, in order."""
    sending = [call for call in api.calls(method) if call.is_ok and call.method.startswith("send")]
    return [str(call.parameters.get("text", call.parameters.get("caption"))) for call in sending]


def died_while_sending(store: Store, ref: str) -> None:
    """The row as a death between the call and its answer leaves it, however it went."""
    with store.writing() as db:
        stored = rows.get_first(ChannelDb(db, "telegram"), "crab", 42)
        assert stored is not None
        assert stored.ref == ref
        assert rows.mark_sending(ChannelDb(db, "telegram"), stored, shared_above=0)


def wait_until_silent(store: Store) -> None:
    """The bot has heard that it has to be silent, and that is written down."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with store.reading() as db:
            if rows.silent_until(ChannelDb(db, "telegram"), "crab"):
                return
        time.sleep(0.01)
    raise AssertionError("nobody heard")


def message_of(office: OutboxFixture, ref: str) -> int | None:
    """The number of the message that a message became; None while there is none."""
    found = office.outbox.status_of(ref)
    return None if found is None else found.message


# --- the plain way ---------------------------------------------------------------------------------------------


def test_a_message_becomes_a_message_once(api: BotApi, office: OutboxFixture) -> None:
    """It is sent, its number is known both ways, and posting it again is posting nothing."""
    assert office.post("a", "Hello") is True
    office.wait_for("a")
    assert office.post("a", "Hello again") is False
    office.post("b")
    office.wait_for("b")
    number = message_of(office, "a")
    assert number is not None
    assert office.outbox.ref_of("crab", 42, number) == "a"
    assert office.outbox.ref_of("otter", 42, number) is None
    assert message_of(office, "nothing") is None
    assert api.said(42) == ["Hello", "b"]
    office.wait_until(lambda: office.told == [("a", None), ("b", None)])


def test_a_message_for_nobody_is_no_message(office: OutboxFixture) -> None:
    """An agent that was deleted meanwhile has no messages, and nobody fails over it."""
    assert office.post("a", agent="squid") is False
    assert office.outbox.status_of("a") is None


def test_a_chat_keeps_the_order(api: BotApi, office: OutboxFixture) -> None:
    """Messages that are posted at once from many threads arrive in the order of their rows."""
    starts = [threading.Thread(target=office.post, args=(f"t{n}",)) for n in range(20)]
    for thread in starts:
        thread.start()
    for thread in starts:
        thread.join()
    office.wait_for(*(f"t{n}" for n in range(20)))
    with office.store.reading() as db:
        posted = [row["ref"] for row in db.execute("SELECT ref FROM chat_outbox ORDER BY id")]
    assert api.said(42) == posted


def test_a_message_joins_what_its_poster_writes(office: OutboxFixture) -> None:
    """Posted within a transaction, it is there when that is over, and never was when that fails."""

    def post_and_fail() -> None:
        with office.store.writing() as db:
            office.post("gone")
            db.execute("INSERT INTO agents (name) VALUES (NULL)")

    with pytest.raises(sqlite3.IntegrityError):
        post_and_fail()
    with office.store.writing():
        office.post("kept")
        time.sleep(0.05)
        assert office.outbox.status_of("kept") is None, "not before the transaction is over"
    office.wait_for("kept")
    assert office.outbox.status_of("gone") is None


def test_chats_do_not_wait_for_one_another(api: BotApi, office: OutboxFixture, ben: Person) -> None:
    """While one chat's message hangs, another's arrives."""
    hanging = api.fail_next("sendMessage", hang=True)
    office.post("slow")
    api.wait_for(lambda: hanging.hits == 1)
    office.post("quick", chat=43)
    office.wait_for("quick")
    assert office.stands("slow") == "sending"
    hanging.release()
    office.wait_for("slow")


def test_bots_do_not_wait_for_one_another(api: BotApi, store: Store, bot: str, ada: Person) -> None:
    """A bot that must be silent keeps no other one silent."""
    other = api.bot("Otter")
    ada.opens(other)
    with OutboxFixture(api, store, crab=bot, otter=other) as office:
        api.fail_next("sendMessage", retry_after=2)
        office.post("a")
        api.wait_for(lambda: api.calls("sendMessage"))
        office.post("b", agent="otter")
        office.wait_for("b")
        assert office.stands("a") in ("waiting", "sending")


def test_nothing_is_fetched_and_nothing_previewed(api: BotApi, office: OutboxFixture, file: Path) -> None:
    """Every text that goes out or is changed has previews off, nothing has a parse mode, files go as bytes."""
    office.post("a", "see https://example.org <b>x</b> *y*", entities=(TextEntity("bold", 0, 3),), buttons=BUTTONS)
    office.post("b", "with a file", files=(AttachedFile(file, "https://evil.example/x.png", "photo"),))
    office.wait_for("a", "b")
    office.outbox.amend_message("a", MessageBody(RichText("now https://example.com")))
    office.outbox.amend_message("b", MessageBody(RichText("another caption")))
    office.wait_for("a", "b")
    texts = [call for call in api.calls() if "text" in call.parameters]
    assert len(texts) == 2
    assert all(call.has_preview_off for call in texts)
    assert not any(call.parse_modes or call.named_files for call in api.calls())
    assert api.said(42) == ["now https://example.com", "another caption"]


# --- amending and withdrawing ----------------------------------------------------------------------------------


def test_an_amendment_changes_the_message(api: BotApi, office: OutboxFixture) -> None:
    """Text and buttons; the same once more is fine."""
    office.post("a", "Really?", buttons=BUTTONS)
    office.wait_for("a")
    for _ in range(2):
        assert office.outbox.amend_message("a", MessageBody(RichText("Done.")))
        office.wait_for("a")
    message = api.messages(42)[-1]
    assert message["text"] == "Done."
    assert "reply_markup" not in message
    body = office.outbox.body_of("a")
    assert body is not None
    assert body.rich.text == "Done."


def test_the_latest_amendment_wins(api: BotApi, office: OutboxFixture) -> None:
    """Also while an earlier one is on its way, and after a time without Telegram."""
    office.post("a")
    office.wait_for("a")
    hanging = api.fail_next("editMessageText", hang=True)
    office.outbox.amend_message("a", MessageBody(RichText("one")))
    api.wait_for(lambda: hanging.hits == 1)
    office.outbox.amend_message("a", MessageBody(RichText("two")))
    office.outbox.amend_message("a", MessageBody(RichText("three")))
    hanging.release()
    office.wait_for("a")
    assert api.said(42) == ["three"]


def test_what_was_not_sent_is_amended_before(api: BotApi, office: OutboxFixture) -> None:
    """Then only the last version is ever seen."""
    with office.store.writing():
        office.post("a", "old")
        office.outbox.amend_message("a", MessageBody(RichText("new")))
    office.wait_for("a")
    assert api.said(42) == ["new"]
    assert "old" not in accepted(api)


def test_what_could_not_be_sent_is_amended(api: BotApi, office: OutboxFixture) -> None:
    """While Telegram can't be reached too; whichever version comes first, the last one stands."""
    api.offline()
    office.post("a", "old")
    office.outbox.amend_message("a", MessageBody(RichText("new")))
    api.online()
    office.wait_for("a")
    assert api.said(42) == ["new"]


def test_an_amendment_of_what_is_gone_ends(api: BotApi, office: OutboxFixture, ada: Person) -> None:
    """A message that the person deleted is not tried again and again, and others are not held up."""
    office.post("a")
    office.wait_for("a")
    api.world.rooms[next(iter(api.world.rooms))].messages.clear()
    office.outbox.amend_message("a", MessageBody(RichText("new")))
    office.post("b")
    office.wait_for("a", "b")
    assert len(api.calls("editMessageText")) == 1


def test_only_what_waits_can_be_withdrawn(api: BotApi, office: OutboxFixture) -> None:
    """Before it is sent yes, afterwards no; and its ref is used up."""
    api.fail_next("sendMessage", retry_after=1)
    office.post("first")
    api.wait_for(lambda: api.calls("sendMessage"))
    office.post("second")
    assert office.outbox.withdraw_message("second") is True
    office.wait_for("first")
    assert office.outbox.withdraw_message("first") is False
    assert office.post("second") is False
    assert office.outbox.amend_message("second", MessageBody(RichText("x"))) is False
    assert api.said(42) == ["first"]


# --- Telegram is slow, silent, wrong or away -------------------------------------------------------------------


def test_no_call_is_made_while_telegram_wants_silence(api: BotApi, office: OutboxFixture, ben: Person) -> None:
    """Twice asked to wait a second: nothing is called in the meantime for any chat, then all arrives once, in order."""
    api.fail_next("sendMessage", retry_after=1, times=2)
    office.post("a")
    wait_until_silent(office.store)
    office.post("b")
    office.post("c", chat=43)
    office.wait_for("a", "b", "c")
    calls = api.calls("sendMessage")
    refusals = [call.at for call in calls if call.is_faulty]
    for start in refusals:
        assert not [call.at - start for call in calls if start < call.at < start + 0.99]
    assert len(refusals) == 2
    assert api.said(42) == ["a", "b"]
    assert api.said(43) == ["c"]


def test_silence_is_kept_over_a_restart(api: BotApi, store: Store, bot: str, ada: Person) -> None:
    """The next program waits as long as the one before was told."""
    with OutboxFixture(api, store, crab=bot) as office:
        api.fail_next("sendMessage", retry_after=1)
        office.post("a")
        office.wait_for("a", state="waiting")
        wait_until_silent(store)
    with OutboxFixture(api, store, crab=bot) as office:
        office.wait_for("a")
    first, second = api.calls("sendMessage")
    assert second.at - first.at > 0.99


FAULTS: dict[str, dict[str, Any]] = {
    "a 500": {"status": 500},
    "a 502 with a web page": {"status": 502, "html": "<html>Bad Gateway</html>"},
    "a 503": {"status": 503},
    "a web page that says 200": {"status": 200, "html": "<html>Please log in to the hotel's network</html>"},
    "a web page that says 403": {"status": 403, "html": "<html>Blocked by the firewall</html>"},
    "a web page that says 401": {"status": 401, "html": "<html>Who are you?</html>"},
    "a reset": {},
    "a reset after it was taken": {"after": True},
    "a 502 after it was taken": {"status": 502, "html": "<html></html>", "after": True},
    "silence": {"hang": True},
    "silence after it was taken": {"hang": True, "after": True},
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("kind", ["text", "buttons", "file", "album"])
def test_each_arrives_once_in_order(
    api: BotApi, office: OutboxFixture, file: Path, fault: dict[str, Any], kind: str
) -> None:
    """Whether the call arrived or not, the message is there once, and those behind it come after it."""
    one = AttachedFile(file, "a.txt", "document")
    shapes: dict[str, dict[str, Any]] = {
        "text": {},
        "buttons": {"buttons": BUTTONS},
        "file": {"files": (one,), "buttons": BUTTONS},
        "album": {"files": (one, one, one)},
    }
    more = shapes[kind]
    office.post("before")
    office.wait_for("before")
    method = {"text": "sendMessage", "buttons": "sendMessage", "file": "sendDocument", "album": "sendMediaGroup"}[kind]
    broken = api.fail_next(method, **fault)
    office.post("broken", "The text", entities=(TextEntity("bold", 0, 3),), **more)
    office.post("behind")
    if fault.get("hang"):
        api.wait_for(lambda: broken.hits)
    office.wait_for("broken", "behind")
    broken.release()
    said = [text for text in api.said(42) if text]
    assert said == ["before", "The text", "behind"]
    assert len(api.messages(42)) == (5 if kind == "album" else 3)
    number = message_of(office, "broken")
    assert next(m for m in api.messages(42) if m["message_id"] == number).get("caption", "The text") == "The text"


def test_fifty_messages_outlast_an_outage(api: BotApi, office: OutboxFixture, ben: Person) -> None:
    """Nothing is lost, nothing doubled, the order stays, and it goes on soon after Telegram is back."""
    office.post("before")
    office.wait_for("before")
    api.offline()
    refs = [f"n{n:02}" for n in range(50)]
    for ref, chat in zip(refs, itertools.cycle((42, 43)), strict=False):
        office.post(ref, chat=chat)
    until = time.monotonic() + 10
    while len(office.troubles) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    assert office.troubles
    api.online()
    office.wait_for(*refs)
    assert api.said(42) == ["before", *refs[::2]]
    assert api.said(43) == refs[1::2]


def test_it_goes_on_at_once_when_telegram_answers_anything(api: BotApi, store: Store, bot: str, ada: Person) -> None:
    """A long pause between tries ends when another call on the line, such as the next poll, gets an answer."""
    with OutboxFixture(api, store, crab=bot, first_pause_s=60.0) as office:
        api.offline()
        office.post("a")
        until = time.monotonic() + WAIT_S
        while not office.troubles and time.monotonic() < until:
            time.sleep(0.02)
        assert office.troubles
        api.online()
        office.run(office.lines["crab"].get_updates(None, timeout_s=0))
        office.wait_for("a")


# --- those who can't be written to -----------------------------------------------------------------------------


def test_a_blocked_bot_fails_all_that_waits(api: BotApi, office: OutboxFixture, ada: Person, bot: str) -> None:
    """With one call, a reason for a person and an audit row; unblocked, the next message goes."""
    office.post("a")
    office.wait_for("a")
    api.offline()
    for ref in ("b", "c", "d"):
        office.post(ref)
    ada.blocks(bot)
    api.online()
    office.wait_for("b", "c", "d", state="failed")
    outcome = office.outbox.status_of("c")
    assert outcome is not None
    assert "blocked" in (outcome.why or "")
    office.wait_until(lambda: sorted(ref for ref, why in office.told if why) == ["b", "c", "d"])
    with office.store.reading() as db:
        state = db.execute("SELECT state FROM chat_rooms WHERE chat = 42").fetchone()[0]
        assert state == "closed"
        assert len(search_records(db, kind="telegram")) == 1
    ada.unblocks(bot)
    office.post("e")
    office.wait_for("e")
    assert api.said(42) == ["a", "e"]
    with office.store.reading() as db:
        assert db.execute("SELECT state FROM chat_rooms WHERE chat = 42").fetchone()[0] == "open"


def test_nobody_there(api: BotApi, office: OutboxFixture) -> None:
    """A chat that nobody opened fails with what to do."""
    office.post("a", chat=99)
    office.wait_for("a", state="failed")
    outcome = office.outbox.status_of("a")
    assert outcome is not None
    assert "tap Start" in (outcome.why or "")


def test_a_revoked_token_keeps_the_messages(api: BotApi, store: Store, bot: str, ada: Person) -> None:
    """Nothing is lost; it is told, tried no more, and with a new line it goes on."""
    with OutboxFixture(api, store, crab=bot) as office:
        api.revoke(bot)
        office.post("a")
        until = time.monotonic() + 10
        while not office.troubles and time.monotonic() < until:
            time.sleep(0.01)
        assert [type(error).__name__ for _, error in office.troubles] == ["TokenRevoked"]
        assert office.stands("a") == "waiting"
        calls = len(api.calls("sendMessage"))
        office.post("b")
        time.sleep(0.05)
        assert len(api.calls("sendMessage")) == calls
    other = api.bot("New")
    ada.opens(other)
    with OutboxFixture(api, store, crab=other) as office:
        office.wait_for("a", "b")
    assert api.said(42, bot=other) == ["a", "b"]


def test_without_a_line_messages_wait(api: BotApi, store: Store, bot: str, ada: Person) -> None:
    """An agent whose bot is not up yet keeps its messages until it is."""
    with OutboxFixture(api, store) as office:
        office.post("a")
        time.sleep(0.05)
        assert office.stands("a") == "waiting"
    with OutboxFixture(api, store, crab=bot) as office:
        office.wait_for("a")


def test_a_group_that_grew_keeps_its_messages(api: BotApi, office: OutboxFixture, bot: str) -> None:
    """When Telegram says that the chat has another number, the messages go there."""
    group = api.group("The group", bot)
    with office.store.writing() as db:
        rows.insert_message(
            ChannelDb(db, "telegram"), "crab", -5, "a", body_to_json(MessageBody(RichText("hello"))), now=0.0
        )
        rows.move_chat(ChannelDb(db, "telegram"), "crab", -5, group.id)
    office.post("b", chat=group.id)
    office.wait_for("a", "b")
    assert api.said(group) == ["hello", "b"]


# --- what Telegram does not take -------------------------------------------------------------------------------


def test_refused_entities_go_as_plain_text(api: BotApi, office: OutboxFixture) -> None:
    """The text arrives all the same, also as an amendment."""
    bad = (TextEntity("bold", 0, 500),)
    office.post("a", "hello", entities=bad)
    office.wait_for("a")
    office.outbox.amend_message("a", MessageBody(RichText("bye", bad)))
    office.wait_for("a")
    assert api.said(42) == ["bye"]
    assert accepted(api) == ["hello"]


@pytest.mark.parametrize("text", [" \n ", "x" * 4097, "🦀" * 2049])
def test_what_is_never_taken_is_given_up(api: BotApi, office: OutboxFixture, text: str) -> None:
    """A text that is empty or too long (in UTF-16 units) fails, once, with an audit row; the next one goes."""
    office.post("a", text)
    office.post("b")
    office.wait_for("b")
    assert office.stands("a") == "failed"
    assert accepted(api) == ["b"]
    assert len(api.calls("sendMessage")) == 2
    with office.store.reading() as db:
        assert [row.detail["letter"] for row in search_records(db, kind="telegram")] == ["a"]


@pytest.mark.parametrize("text", ["x" * 4096, "🦀" * 2048, "half \ud83e a crab"])
def test_what_just_fits_is_taken(api: BotApi, office: OutboxFixture, text: str) -> None:
    """Up to the last unit; half characters become question marks."""
    office.post("a", text)
    office.wait_for("a")
    assert api.said(42) == [text.encode("utf-8", "replace").decode()]


def test_a_lost_file_is_a_failed_message(api: BotApi, office: OutboxFixture, tmp_path: Path) -> None:
    """A private copy that is gone is said, and what comes after goes."""
    office.post("a", files=(AttachedFile(tmp_path / "gone", "gone.txt", "document"),))
    office.post("b")
    office.wait_for("b")
    outcome = office.outbox.status_of("a")
    assert outcome is not None
    assert outcome.why == "Telegram refused: the file is no longer there."


def test_too_large_a_file_is_never_tried(api: BotApi, office: OutboxFixture, tmp_path: Path) -> None:
    """More than Telegram takes is not uploaded first."""
    large = tmp_path / "large"
    with large.open("wb") as made:
        made.truncate(60_000_000)
    office.post("a", files=(AttachedFile(large, "large.bin", "document"),))
    office.wait_for("a", state="failed")
    assert api.calls("sendDocument") == []
    outcome = office.outbox.status_of("a")
    assert outcome is not None
    assert "50 MB" in (outcome.why or "")


def test_our_own_mistakes_hold_nobody_up(
    api: BotApi, office: OutboxFixture, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A message at which the code itself fails is given up after some tries."""
    send = office.lines["crab"].send_message

    async def fails(chat: int, body: MessageBody) -> list[int]:
        if body.rich.text == "a":
            raise KeyError("a mistake")
        return await send(chat, body)

    monkeypatch.setattr(office.lines["crab"], "send_message", fails)
    office.post("a")
    office.post("b")
    office.wait_for("b")
    assert office.stands("a") == "failed"
    assert api.said(42) == ["b"]
    assert "a mistake" in caplog.text


# --- deaths ----------------------------------------------------------------------------------------------------


SHAPES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "text": lambda _: {},
    "formatted": lambda _: {"entities": (TextEntity("bold", 0, 3), TextEntity("pre", 4, 4, language="sh"))},
    "buttons": lambda _: {"buttons": BUTTONS},
    "photo": lambda path: {"files": (AttachedFile(path, "a.png", "photo"),), "buttons": BUTTONS},
    "document": lambda path: {"files": (AttachedFile(path, "a.txt", "document"),)},
    "album": lambda path: {"files": tuple(AttachedFile(path, f"{n}.png", "photo") for n in range(3))},
    "silent": lambda _: {"is_silent": True},
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("had_arrived", [True, False])
def test_a_death_while_sending_doubles_and_loses_nothing(
    api: BotApi,
    store: Store,
    bot: str,
    ada: Person,
    file: Path,
    *,
    shape: Callable[[Path], dict[str, Any]],
    had_arrived: bool,
) -> None:
    """The next program finds out whether the message is there, and goes on with the rest."""
    more = shape(file)
    with OutboxFixture(api, store, crab=bot) as office:
        office.post("before")
        office.wait_for("before")
    stored = MessageBody(RichText("The text", more.pop("entities", ())), **more)
    office.outbox.post_message(Message("crab", 42, "a", stored))
    office.outbox.post_message(Message("crab", 42, "b", MessageBody(RichText("b"))))
    died_while_sending(store, "a")
    ada.says(bot, "meanwhile somebody writes")
    if had_arrived:
        with OutboxFixture(api, store_with_nothing(file.parent), crab=bot) as elsewhere:
            elsewhere.run(elsewhere.lines["crab"].send_message(42, stored))
            elsewhere.store.close()
    with OutboxFixture(api, store, crab=bot) as office:
        office.wait_for("a", "b")
        number = message_of(office, "a")
    shown = [text for text in api.said(42) if text]
    assert shown == ["before", "The text", "b"]
    message = next(one for one in api.messages(42) if one["message_id"] == number)
    assert "The text" in (message.get("text"), message.get("caption"))


class Fills(Store):
    """A database whose disk takes nothing for some writings, as soon as something is so."""

    left = 3
    is_full: Callable[[], bool] = staticmethod(lambda: False)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Raises Unavailable while it is full."""
        if self.left and self.is_full():
            self.left -= 1
            raise Unavailable("The database cannot be written (database or disk is full). Is the disk full?")
        with super().writing() as db:
            yield db


def test_an_arrival_that_can_not_be_written_down_comes_once(api: BotApi, tmp_path: Path, bot: str, ada: Person) -> None:
    """The disk fills up between the call and its answer: that it arrived is known, and written as soon as can be."""
    store_with(tmp_path, "crab").close()
    store = Fills(tmp_path / "hermit.db")
    with OutboxFixture(api, store, crab=bot) as office:
        office.post("a")
        store.is_full = lambda: "a" in api.said(42)  # from now on
        office.wait_for("a")
        office.post("b")
        office.wait_for("b")
    store.close()
    assert store.left == 0
    assert api.said(42) == ["a", "b"]


def test_a_message_with_a_keyboard_rather_comes_twice(api: BotApi, office: OutboxFixture) -> None:
    """Telegram lets nobody edit such a message, so it can't be looked for; a lost one would be worse."""
    api.fail_next("sendMessage", after=True)
    office.post("help", keyboard=(("/help", "/stop"),))
    office.post("b")
    office.wait_for("help", "b")
    assert api.said(42) == ["help", "help", "b"]


def store_with_nothing(folder: Path) -> Store:
    """Another database."""
    path = folder / "elsewhere"
    path.mkdir()
    return store_with(path)


def test_a_message_is_found_behind_those_of_other_chats(
    api: BotApi, store: Store, bot: str, ada: Person, ben: Person
) -> None:
    """A bot's private chats share their numbers: what went on elsewhere is not searched, nor does it hide anything."""
    with OutboxFixture(api, store, crab=bot) as office:
        office.post("old")
        office.wait_for("old")
        for n in range(40):
            office.post(f"ben{n}", chat=43)
        office.wait_for("ben39")
        office.post("a")
        api.fail_next("sendMessage", after=True)
        office.wait_for("a")
    assert api.said(42) == ["old", "a"]
    assert len(api.calls("editMessageText")) == 1


def test_somebody_elses_messages_are_never_taken_for_ours(api: BotApi, store: Store, bot: str, ada: Person) -> None:
    """Between what was known and the lost message there may be messages of the person, and nothing happens to them."""
    with OutboxFixture(api, store, crab=bot) as office:
        office.post("before")
        office.wait_for("before")
    office.outbox.post_message(Message("crab", 42, "a", MessageBody(RichText("same words"))))
    died_while_sending(store, "a")
    for _ in range(5):
        ada.says(bot, "same words")
    with OutboxFixture(api, store, crab=bot) as office:
        office.wait_for("a")
    assert api.said(42) == ["before", "same words"]


def test_looking_for_a_message_ends(api: BotApi, store: Store, bot: str, ada: Person) -> None:
    """After so many numbers it counts as not there."""
    with OutboxFixture(api, store, crab=bot) as office:
        office.post("before")
        office.wait_for("before")
    office.outbox.post_message(Message("crab", 42, "a", MessageBody(RichText("a"))))
    died_while_sending(store, "a")
    with OutboxFixture(api, store, crab=bot) as office:
        office.wait_for("a")
    assert len(api.calls("editMessageText")) == 25


@pytest.mark.parametrize("round_", range(6))
def test_deaths_at_any_moment(api: BotApi, store: Store, bot: str, ada: Person, round_: int) -> None:
    """Programs that end in the middle of anything, one after the other: each message is there once, in order."""
    refs = [f"n{n:02}" for n in range(30)]
    with OutboxFixture(api, store, crab=bot) as office:
        for ref in refs:
            office.post(ref)
        api.wait_for(lambda: len(api.calls("sendMessage")) > 1 + round_)
    for _ in range(3):
        seen = len(api.calls("sendMessage"))
        with OutboxFixture(api, store, crab=bot):
            api.wait_for(lambda most=seen + round_ % 3: len(api.calls("sendMessage")) > most or api.said(42) == refs)  # type: ignore[misc]
    with OutboxFixture(api, store, crab=bot) as office:
        office.wait_for(*refs)
    assert api.said(42) == refs


def test_a_body_survives_its_row(file: Path) -> None:
    """What is kept comes back as it was."""
    body = MessageBody(
        RichText("🦀 text \u202e", (TextEntity("pre", 0, 2, language="py"), TextEntity("bold", 3, 4))),
        buttons=BUTTONS,
        keyboard=(("/a", "/b"), ("/c",)),
        files=(AttachedFile(file, "ä.txt", "document"),),
        reply_to=7,
        thread=3,
        is_silent=True,
    )
    assert body_from_json(body_to_json(body)) == body
    assert body_from_json(body_to_json(MessageBody(RichText("")))) == MessageBody(RichText(""))


def test_no_log_holds_a_token(
    api: BotApi, store: Store, bot: str, ada: Person, caplog: pytest.LogCaptureFixture
) -> None:
    """Not even when everybody logs everything, through all that goes wrong."""
    caplog.set_level(logging.DEBUG)
    for name in list(logging.root.manager.loggerDict):
        caplog.set_level(logging.DEBUG, logger=name)
    with OutboxFixture(api, store, crab=bot) as office:
        for name, fault in FAULTS.items():
            if not fault.get("hang"):
                api.fail_next("sendMessage", **fault)
                office.post(name)
                office.wait_for(name)
        api.offline()
        office.post("b")
        seen, until = len(office.troubles), time.monotonic() + 10
        while len(office.troubles) < seen + 2 and time.monotonic() < until:
            time.sleep(0.01)
        api.online()
        office.wait_for("b")
        api.revoke(bot)
        office.post("c")
        time.sleep(0.1)
        said = [f"{error!s} {error!r}" for _, error in office.troubles]
    assert caplog.text
    assert bot not in caplog.text
    assert bot.partition(":")[2] not in caplog.text + " ".join(said)


def test_a_clock_that_goes_back_silences_no_bot_for_years(api: BotApi, store: Store, bot: str, ada: Person) -> None:
    """Telegram asked for two seconds; what that came to on a clock that was ahead is not waited for."""
    with OutboxFixture(api, store, crab=bot) as office:
        api.fail_next("sendMessage", retry_after=2)
        office.post("a", "Late")
        wait_until_silent(store)
    with store.writing() as db:
        rows.silence_bot(ChannelDb(db, "telegram"), "crab", time.time() + 365 * 24 * 3600.0)
    with OutboxFixture(api, store, crab=bot) as office:
        office.post("b", "Later")
        office.wait_for("b")
    assert accepted(api) == ["Late", "Later"]
