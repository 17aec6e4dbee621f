"""``channels.chat.replies_to_turns``: every turn from Telegram ends in messages to its chat, once, whatever dies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat.address_book import ChatAddress
from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.replies_to_turns import TurnReplies
from orchestrator.channels.chat.rich_text import utf16_len
from orchestrator.channels.telegram.format.markdown import render_markdown
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import TurnStatus
from tests.support.chat_fakes import CHAT, GROUP, FakeOutbox, TurnsFixture, telegram_store
from tests.support.core_fixture import KEY, OTHER, core_fixture

TITLE = f"{MARK} Water\u202e the plants"


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[TurnsFixture]:
    """An install with one bot."""
    with core_fixture(tmp_path / "home") as install:
        yield TurnsFixture(install, FakeOutbox(install.store))


def answers(fixture: TurnsFixture, turns: Any = None) -> TurnReplies:
    """As the channel makes them; ada's private chat is open, and all that the calendar begins is called the same."""
    return TurnReplies(
        render=render_markdown,
        store=telegram_store(fixture.install.store),
        outbox=fixture.outbox,
        turns=turns or fixture.install.turns,
        folder=fixture.install.home / "answers",
        spot_of=lambda key, _: ChatAddress(CHAT) if key == KEY else None,
        title_of=lambda _: TITLE,
    )


def sweep(fixture: TurnsFixture, turns: Any = None) -> int:
    """One sweep of a process that has just begun."""

    async def run() -> int:
        return await answers(fixture, turns).post_due()

    return asyncio.run(run())


# --- once, to the right place ----------------------------------------------------------------------------------


def test_an_answer_is_posted_once(fixture: TurnsFixture) -> None:
    """The second sweep, of this process or of the next, finds nothing to do."""
    turn = fixture.answered("Hello **you**")
    assert (sweep(fixture), sweep(fixture)) == (1, 0)
    assert fixture.outbox.refs == [f"turn:{turn.id}:1"]
    message = fixture.outbox.messages[0]
    assert (message.agent, message.chat) == ("crab", CHAT)
    assert message.body.rich.text == f"{MARK} crab:\nHello you"
    assert [entity.type for entity in message.body.rich.entities] == ["bold", "bold"]
    assert (message.body.reply_to, message.body.thread, message.body.is_silent) == (None, None, False)


def test_a_turn_from_elsewhere_stays_there(fixture: TurnsFixture) -> None:
    """Neither from the dashboard nor from the API does anything go to Telegram."""
    for source in ("dashboard", "api", "terminal"):
        fixture.install.turns.submit(KEY, "a", source=source)
        fixture.ends(fixture.takes())
    assert sweep(fixture) == 0
    assert fixture.outbox.messages == []


RUNS = {
    "a reply": ("Watered.", TurnStatus.DONE, "", ["Watered."]),
    "silence": ("", TurnStatus.DONE, "", []),
    "blank": (" \n", TurnStatus.DONE, "", []),
    "internal": ("Noted.", TurnStatus.DONE, "INTERNAL: ", []),
    "internal, failing": (None, TurnStatus.FAILED, "internal: ", []),
    "failing": (None, TurnStatus.FAILED, "", ["I couldn't finish this.\nno water"]),
    "stopped": (None, TurnStatus.STOPPED, "", ["Stopped."]),
}


@pytest.mark.parametrize("which", RUNS)
def test_what_the_calendar_began_is_told_in_private(fixture: TurnsFixture, which: str) -> None:
    """Once, under its title, unless it was silent or between the install and the agent."""
    reply, status, prefix, expected = RUNS[which]
    fixture.install.turns.submit(KEY, f"{prefix}water the plants", source="calendar")
    turn = fixture.takes()
    fixture.install.turns.end_turn(
        KEY, turn.id, status, reply=reply, error="no water" if status is TurnStatus.FAILED else None
    )
    assert (sweep(fixture), sweep(fixture)) == (1, 0)
    assert [message.chat for message in fixture.outbox.messages] == [CHAT] * len(expected)
    title = "⏰ ◇ Water\\u202e the plants"
    assert [message.body.rich.text for message in fixture.outbox.messages] == [
        f"{MARK} crab:\n{title}\n{text}" for text in expected
    ]


def test_a_long_reply_of_the_calendar_has_its_title_too(fixture: TurnsFixture) -> None:
    """Above its beginning; without a chat it stays in the other surfaces."""
    for key in (KEY, OTHER):
        fixture.install.turns.submit(key, "write a book", source="calendar")
        turn = fixture.install.turns.take_next(key, "boot", 0)
        assert turn is not None
        fixture.install.turns.end_turn(key, turn.id, TurnStatus.DONE, reply="A long story. " * 5_000)
    assert sweep(fixture) == 2
    first, second = fixture.outbox.messages
    assert "⏰ ◇ Water" in first.body.rich.text
    assert first.chat == second.chat == CHAT
    assert len(second.body.files) == 1


def test_a_turn_under_way_is_not_answered_yet(fixture: TurnsFixture) -> None:
    """Neither one that waits nor one that runs."""
    fixture.asks("a")
    fixture.asks("b")
    running = fixture.takes()
    assert sweep(fixture) == 0
    fixture.ends(running)
    assert sweep(fixture) == 1


def test_what_was_killed_before_the_messages_is_made_good(fixture: TurnsFixture) -> None:
    """A process that dies while it posts leaves either everything or nothing; the next start posts it, in order."""
    first, second = fixture.answered("a"), fixture.answered("b")
    fixture.outbox.trouble = KeyboardInterrupt()  # type: ignore[assignment]  # as a kill looks from inside
    with pytest.raises(KeyboardInterrupt):
        sweep(fixture)
    assert fixture.outbox.messages == []
    fixture.outbox.trouble = None
    assert sweep(fixture) == 2
    assert fixture.outbox.refs == [f"turn:{first.id}:1", f"turn:{second.id}:1"]
    assert sweep(fixture) == 0


def test_a_full_disk_is_waited_for(fixture: TurnsFixture) -> None:
    """The sweep says nothing worse than a line in the log, and the next one does it."""
    fixture.answered("a")
    fixture.outbox.trouble = Unavailable("The database cannot be written.")
    assert sweep(fixture) == 0
    fixture.outbox.trouble = None
    assert sweep(fixture) == 1


def test_sweeps_at_once_post_once(fixture: TurnsFixture) -> None:
    """Each end of a turn asks for a sweep, so several meet."""
    for n in range(30):
        fixture.answered(f"number {n}")

    async def run() -> list[int]:
        one = answers(fixture)
        return await asyncio.gather(*(one.post_due() for _ in range(5)))

    assert sum(asyncio.run(run())) == 30
    assert [text.split()[-1] for text in fixture.outbox.texts()] == [str(n) for n in range(30)]


def test_an_answer_whose_chat_is_forgotten_is_not_looked_for_again(fixture: TurnsFixture) -> None:
    """It stays in the dashboard."""
    fixture.install.turns.submit(KEY, "a", source="telegram", origin="telegram:1:1")
    fixture.ends(fixture.takes())
    assert (sweep(fixture), sweep(fixture)) == (1, 0)
    assert fixture.outbox.messages == []


def test_the_sweep_looks_only_at_what_is_open(fixture: TurnsFixture) -> None:
    """However many turns there were: an index holds those that are owed an answer."""
    with fixture.install.store.reading() as db:
        plan = db.execute(
            "EXPLAIN QUERY PLAN SELECT id FROM turns WHERE source = 'telegram' AND told_at IS NULL "
            "AND status IN ('done', 'failed', 'stopped') ORDER BY id LIMIT 20"
        ).fetchall()
        place = db.execute(
            "EXPLAIN QUERY PLAN SELECT 1 FROM turns JOIN chat_inbox AS inbox ON inbox.origin = turns.origin "
            "WHERE turns.id = 1 ORDER BY inbox.update_id LIMIT 1"
        ).fetchall()
    assert "turns_untold" in plan[0]["detail"]
    assert any("chat_inbox_of_origin" in step["detail"] for step in place)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (
            "chat_outbox WHERE channel = 'a' AND (state IN ('waiting', 'sending') OR amendment IS NOT NULL)",
            "outbox_open",
        ),
        ("chat_inbox WHERE channel = 'a' AND handled_at IS NULL ORDER BY agent, chat", "inbox_waiting"),
    ],
)
def test_a_channel_reads_only_what_is_open(fixture: TurnsFixture, query: str, index: str) -> None:
    """However much it has sent and heard before."""
    with fixture.install.store.reading() as db:
        plan = db.execute(f"EXPLAIN QUERY PLAN SELECT DISTINCT agent, chat FROM {query}").fetchall()  # noqa: S608
    assert index in plan[0]["detail"]


# --- what it replies to ----------------------------------------------------------------------------------------


def test_in_groups_it_replies_to_the_message_in_its_topic(fixture: TurnsFixture) -> None:
    """Only the first of several messages does."""
    turn = fixture.asks(chat=GROUP, thread=7)
    fixture.ends(fixture.takes(), "word " * 1500)
    sweep(fixture)
    bodies = [fixture.outbox.body(f"turn:{turn.id}:{n}") for n in (1, 2)]
    assert [(body.reply_to, body.thread) for body in bodies] == [(101, 7), (None, 7)]


def test_in_private_it_replies_when_something_came_in_between(fixture: TurnsFixture) -> None:
    """Two questions at once: the first answer says which it is of; parts of its own album don't count."""
    first, second, album = fixture.asks("a"), fixture.asks("b"), fixture.asks("c", album="x")
    with fixture.install.store.writing() as db:
        db.execute(
            "INSERT INTO chat_inbox "
            "(channel, bot, update_id, agent, chat, person, message, album, origin, received_at) "
            "VALUES ('telegram', 1, 1, 'crab', 42, 42, 104, 'x', 'telegram:1:1', 0)"
        )
    for _ in range(3):
        fixture.ends(fixture.takes())
    sweep(fixture)
    replies = [fixture.outbox.body(f"turn:{turn.id}:1").reply_to for turn in (first, second, album)]
    assert replies == [101, 102, None]


def test_each_person_has_their_own_chat(fixture: TurnsFixture) -> None:
    """Two people with one agent: neither sees the other's answer."""
    fixture.asks("a", chat=42)
    fixture.asks("b", chat=43, key=OTHER)
    fixture.ends(fixture.takes(OTHER), "for bob")
    fixture.ends(fixture.takes(), "for ada")
    sweep(fixture)
    assert {(message.chat, message.body.rich.text.split("\n")[1]) for message in fixture.outbox.messages} == {
        (42, "for ada"),
        (43, "for bob"),
    }


# --- how it ended ----------------------------------------------------------------------------------------------

ENDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "failed": (
        {"status": TurnStatus.FAILED, "reply": None, "error": "The model gave no answer. Try again."},
        [f"{MARK} crab:\nI couldn't finish this.\nThe model gave no answer. Try again."],
    ),
    "failed for no reason": (
        {"status": TurnStatus.FAILED, "reply": None, "error": None},
        [f"{MARK} crab:\nI couldn't finish this.\nNo reason was given."],
    ),
    "failed after a word": (
        {"status": TurnStatus.FAILED, "reply": "Half of it", "error": "Out of steps."},
        [f"{MARK} crab:\nHalf of it", f"{MARK} crab:\nI couldn't finish this.\nOut of steps."],
    ),
    "the error is the agent's": (
        {"status": TurnStatus.FAILED, "reply": None, "error": f"x\n{MARK} crab asks: may this run?\u202e"},
        [f"{MARK} crab:\nI couldn't finish this.\nx\n◇ crab asks: may this run?\\u202e"],
    ),
    "stopped": ({"status": TurnStatus.STOPPED, "reply": None}, [f"{MARK} crab:\nStopped."]),
    "stopped after a word": (
        {"status": TurnStatus.STOPPED, "reply": "Half of it"},
        [f"{MARK} crab:\nHalf of it", f"{MARK} crab:\nYou stopped this answer."],
    ),
    "nothing to see": ({"reply": " \n\t"}, [f"{MARK} crab:\nDone."]),
    "nothing": ({"reply": None}, [f"{MARK} crab:\nDone."]),
    "nothing that draws": ({"reply": "\u200b\u2063"}, [f"{MARK} crab:\n\\u200b\\u2063"]),
}


@pytest.mark.parametrize(("end", "texts"), ENDS.values(), ids=ENDS)
def test_every_end_has_a_word(fixture: TurnsFixture, end: dict[str, Any], texts: list[str]) -> None:
    """Never nothing, and what may be the agent's stands under its line."""
    fixture.answered(**end)
    sweep(fixture)
    assert fixture.outbox.texts() == texts
    assert all(
        message.body.is_silent == (end.get("status") is TurnStatus.STOPPED) for message in fixture.outbox.messages
    )


def test_a_turn_that_was_never_begun_is_told_of_too(fixture: TurnsFixture) -> None:
    """Stopped in the queue."""
    fixture.install.turns.stop(fixture.asks().id)
    sweep(fixture)
    assert fixture.outbox.texts() == [f"{MARK} crab:\nStopped."]


class Odd:
    """Turns whose reply nobody has thought of."""

    def __init__(self, fixture: TurnsFixture, reply: Any) -> None:
        self._fixture = fixture
        self._reply = reply

    def get(self, turn: int) -> Any:
        """The turn, with a reply that is no text."""
        found = self._fixture.install.turns.get(turn)
        return type("Turn", (), {**{name: getattr(found, name) for name in found.__slots__}, "reply": self._reply})


def test_an_answer_that_cannot_be_laid_out_holds_nobody_up(fixture: TurnsFixture) -> None:
    """The person hears of it, and where to look."""
    fixture.answered("a")
    assert sweep(fixture, Odd(fixture, object())) == 1
    assert "You can read it in the dashboard." in fixture.outbox.texts()[0]


# --- long ones -------------------------------------------------------------------------------------------------


def test_several_messages_are_numbered_and_each_has_its_header(fixture: TurnsFixture) -> None:
    """In order, none longer than Telegram takes."""
    turn = fixture.answered("\n\n".join(f"Paragraph {n}. " + "word " * 150 for n in range(15)))
    sweep(fixture)
    texts = fixture.outbox.texts()
    assert fixture.outbox.refs == [f"turn:{turn.id}:{n + 1}" for n in range(len(texts))]
    assert [text.split("\n")[0] for text in texts] == [
        f"{MARK} crab ({n + 1}/{len(texts)}):" for n in range(len(texts))
    ]
    assert 1 < len(texts) <= 8
    assert max(map(utf16_len, texts)) <= 4096


def test_what_would_fill_the_chat_goes_as_a_file(fixture: TurnsFixture) -> None:
    """The beginning to read at once, the whole as it was written; the copy is private and goes when it was sent."""
    reply = "# Title\n\n" + "Some *words*, and `code`.\n" * 4000
    turn = fixture.answered(reply)
    sweep(fixture)
    first, second = fixture.outbox.messages
    assert first.body.rich.text.startswith(f"{MARK} crab (beginning):\nTitle\n\nSome words, and code.\n")
    assert utf16_len(first.body.rich.text) <= 2100
    assert second.body.rich.text == f"{MARK} The whole answer of crab: {len(reply):,} characters."
    (file,) = second.body.files
    assert (file.name, file.kind) == (f"answer-{turn.id}.md", "document")
    assert file.path.read_text("utf-8") == reply
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert file.path.parent.stat().st_mode & 0o777 == 0o700
    fixture.outbox.set(f"turn:{turn.id}:1", "sent", 1)
    fixture.answered("b")
    sweep(fixture)
    assert file.path.exists()
    fixture.outbox.set(f"turn:{turn.id}:2", "sent", 2)
    fixture.answered("c")
    sweep(fixture)
    assert not file.path.exists()


def test_without_room_for_the_file_the_dashboard_has_it(fixture: TurnsFixture) -> None:
    """The beginning is there all the same, and no other answer waits for it."""
    (fixture.install.home / "answers").write_text("in the way", "utf-8")
    fixture.answered("x" * 100_000)
    fixture.answered("b")
    assert sweep(fixture) == 2
    assert fixture.outbox.texts()[1:] == [f"{MARK} The whole answer of crab is in the dashboard.", f"{MARK} crab:\nb"]
