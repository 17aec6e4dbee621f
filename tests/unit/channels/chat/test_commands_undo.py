"""``/undo`` in a chat: what would change is said, a button does it, and whatever came between answers plainly."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.callbacks import NO_LONGER
from orchestrator.channels.chat.undo_offers import UndoOffers
from orchestrator.channels.chat.undo_text import UNDONE
from orchestrator.core.models import TurnStatus
from tests.support.chat_commands_fixture import CommandsFixture, commands_fixture
from tests.support.chat_fixture import ADA, BOB, GROUP

Work = Callable[[Path], object]


class Desk:
    """Ada's chat, and an agent whose commands change files."""

    def __init__(self, shop: CommandsFixture) -> None:
        self.shop = shop
        shop.install.services.cubicles.ensure_running(shop.key)
        mounts = shop.install.services.workspaces.prepare_folders(shop.key, uid=os.geteuid(), gid=os.getegid())
        self.work = Path(mounts.work)
        self.steps = 0

    def turn(self, prompt: str, *commands: Work, chat: int = ADA) -> int:
        """A message from the chat with what its commands do; its number, once its last point is taken."""
        taken = self.shop.counter.asks(prompt, key=self.shop.key, chat=chat)
        for command in commands:
            self.steps += 1
            steps, key = self.shop.install.steps, self.shop.key
            steps.start_step(key, taken.id, self.steps, thought="", command="true", approval=None)
            command(self.work)
            steps.end_step(key, taken.id, self.steps, exit_code=0, output="", ended="exited")
        self.shop.install.services.turns.end_turn(self.shop.key, taken.id, TurnStatus.DONE, reply="done")
        undo, deadline = self.shop.install.services.undo, time.monotonic() + 20
        while commands and ((span := undo.get_span(taken.id)) is None or span.after is None):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return taken.id

    def asks(self) -> str:
        """Says /undo; the ref of the answer."""
        (message,) = self.shop.messages("/undo")
        return message.ref

    def answers(self) -> None:
        """What is owed to chats is posted, as after a restart."""
        counter = self.shop.counter
        replies = self.shop.install.app._telegram._runner.parts.turn_replies
        asyncio.run(replies.post_due())
        UndoOffers(
            store=counter.rows,
            outbox=counter.outbox,
            buttons=Buttons(counter.rows),
            turns=counter.turns,
            place_of=replies.place_of,
        ).post_due()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """In a whole install without crabs."""
    with commands_fixture(tmp_path) as shop:
        yield Desk(shop)


def write(name: str, text: str = "x") -> Work:
    """A command that writes a file."""
    return lambda work: (work / name).write_text(text)


def test_the_last_message_is_taken_back(desk: Desk) -> None:
    """After a look and a press; then the message says what was done, and carries nothing that could be pressed."""
    desk.turn("one", write("a", "1"))
    desk.turn("make a mess", write("a", "2"), write("b.txt", "2"))
    ref = desk.asks()
    counter = desk.shop.counter
    assert counter.text(ref).splitlines() == [
        "◆ Undo this?",
        "You wrote: make a mess",
        "2 files change:",
        "– work/a goes back",
        "– work/b.txt is deleted",
    ]
    assert counter.labels(ref) == ["Undo", "Keep"]
    assert (desk.work / "b.txt").exists()
    data = counter.data(ref, "Undo")
    assert counter.press(ref, "Undo") == "Undone."
    assert sorted(path.name for path in desk.work.iterdir()) == ["a"]
    assert (desk.work / "a").read_text() == "1"
    assert counter.text(ref).splitlines() == [
        "◆ Undone",
        "You wrote: make a mess",
        "2 files put back.",
        "The conversation goes on from before this message.",
    ]
    assert counter.labels(ref) == []
    again = counter.a_press(data, by=ADA, chat=ADA, message=counter.arrives(ref))
    assert counter.callbacks.on_press(again) == NO_LONGER
    assert counter.fresh_presses().on_press(again) == NO_LONGER
    assert "You wrote: one" in counter.text(desk.asks())


def test_nothing_happens_to_what_is_kept(desk: Desk) -> None:
    """And the same can be asked again."""
    desk.turn("one", write("a"))
    ref = desk.asks()
    assert desk.shop.counter.press(ref, "Keep") == "Nothing was undone."
    assert desk.shop.counter.labels(ref) == []
    assert (desk.work / "a").exists()
    assert desk.shop.counter.labels(desk.asks()) == ["Undo", "Keep"]


def test_it_names_what_stays(desk: Desk) -> None:
    """Files that were changed again since, and what is not taken back; odd names are nothing but names."""
    memories = desk.shop.install.services.memories
    turn = desk.turn("note it", write("mine", "1"), write("[x](evil.example)", "1"))
    memories.add_fact(desk.shop.key, "likes tea", by="agent", turn=turn)
    (desk.work / "mine").write_text("changed by hand")
    desk.shop.install.services.files_changed(desk.shop.key)
    desk.shop.install.services.restores.create_point(desk.shop.key, "after that")
    ref = desk.asks()
    text = desk.shop.counter.text(ref)
    assert "Changed again since, so these stay:\n– work/mine" in text
    assert "Not taken back:\n– Remembered: likes tea" in text
    body = desk.shop.counter.body(ref)
    units = body.rich.text.encode("utf-16-le")
    codes = [units[2 * e.offset : 2 * e.end].decode("utf-16-le") for e in body.rich.entities if e.type == "code"]
    assert {"work/[x](evil.example)", "work/mine", "note it"} <= set(codes)
    desk.shop.counter.press(ref, "Undo")
    assert "Left as it is:\n– work/mine: " in desk.shop.counter.text(ref)
    assert (desk.work / "mine").read_text() == "changed by hand"


def test_many_files_are_cut_with_a_word(desk: Desk) -> None:
    """The first few are named."""
    desk.turn("many", lambda work: [(work / f"f{n:03}").write_text("x") for n in range(100)])
    lines = desk.shop.counter.text(desk.asks()).splitlines()
    assert lines[2] == "100 files change:"
    assert lines[-1] == "… and 95 more."
    assert len(lines) == 9


def test_what_was_undone_elsewhere_is_told(desk: Desk) -> None:
    """And what can't be done just now may be pressed again."""
    first = desk.turn("one", write("a"))
    ref = desk.asks()
    working = desk.shop.counter.asks("two", key=desk.shop.key)
    assert "is working" in desk.shop.counter.press(ref, "Undo")
    desk.shop.install.services.turns.end_turn(desk.shop.key, working.id, TurnStatus.DONE, reply="done")
    desk.shop.install.services.undo.undo(first, by="ada")
    assert desk.shop.counter.press(ref, "Undo") == UNDONE
    assert desk.shop.counter.text(ref).endswith(UNDONE)
    assert desk.shop.counter.labels(ref) == []


def test_where_there_is_nothing_to_undo(desk: Desk) -> None:
    """It says so; in a group it is private; what still runs is to be stopped first."""
    assert "Nothing to undo" in desk.shop.says("/undo") or "nothing to undo" in desk.shop.says("/undo")
    assert "is private" in desk.shop.says("/undo", chat=GROUP)
    desk.shop.counter.asks("go", key=desk.shop.key)
    assert "Stop it first" in desk.shop.says("/undo")


def test_somebody_else_presses_nothing(desk: Desk) -> None:
    """The button is the person's own."""
    desk.turn("one", write("a"))
    ref = desk.asks()
    counter = desk.shop.counter
    press = counter.a_press(counter.data(ref, "Undo"), by=BOB, chat=ADA, message=counter.arrives(ref))
    assert counter.callbacks.on_press(press) == NO_LONGER
    assert (desk.work / "a").exists()


def test_it_is_in_the_help_and_the_menu(desk: Desk) -> None:
    """In private alone."""
    assert "/undo – Take back what your last message did" in desk.shop.says("/help")
    assert "undo" in dict(desk.shop.commands.menu_entries(is_operator=False))
    assert "undo" not in dict(desk.shop.commands.menu_entries(is_operator=False, is_group=True))


# --- under an answer -------------------------------------------------------------------------------------------


def test_an_answer_whose_turn_changed_files_can_be_undone(desk: Desk) -> None:
    """One button, under its last message, however often is looked; it asks first, and says when it is too late."""
    turn = desk.turn("one", write("a"), write("b"))
    desk.answers()
    desk.answers()
    ref, counter = f"turn:{turn}:1", desk.shop.counter
    assert counter.text(ref) == "◆ crab:\ndone"
    assert counter.labels(ref) == ["Undo (2 files changed)"]
    assert counter.press(ref, "Undo") == ""
    first = counter.refs[-1]
    assert counter.text(first).startswith("◆ Undo this?\nYou wrote: one\n2 files change:")
    counter.press(ref, "Undo")
    second = counter.refs[-1]
    assert counter.press(first, "Undo") == "Undone."
    assert list(desk.work.iterdir()) == []
    assert counter.press(second, "Undo") == UNDONE
    assert counter.press(ref, "Undo") == UNDONE


def test_most_answers_have_no_such_button(desk: Desk) -> None:
    """Not where nothing was changed, where it was taken back already, nor in a group."""
    idle = desk.turn("thanks")
    looked = desk.turn("look", lambda work: work.exists())
    undone = desk.turn("one", write("a"))
    desk.shop.install.services.undo.undo(undone, by="ada")
    group = desk.turn("two", write("b"), chat=GROUP)
    desk.answers()
    for turn in (idle, looked, undone, group):
        assert desk.shop.counter.labels(f"turn:{turn}:1") == [], turn


def test_a_button_under_an_answer_is_its_persons(desk: Desk) -> None:
    """Nobody else's press does anything."""
    turn = desk.turn("one", write("a"))
    desk.answers()
    counter, ref = desk.shop.counter, f"turn:{turn}:1"
    press = counter.a_press(counter.data(ref, "Undo"), by=BOB, chat=ADA, message=counter.arrives(ref))
    assert counter.callbacks.on_press(press) == NO_LONGER
    assert counter.refs[-1] == ref
