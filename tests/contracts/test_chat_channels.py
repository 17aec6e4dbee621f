"""The contract of chat channels: what every adapter has to make true, whichever app it is for. Run with Telegram and
with the app of one file (``tests/support/loopback_channel.py``)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.capabilities.ask.capability import Ask
from orchestrator.capabilities.capability import Caller
from orchestrator.channels.chat.callbacks import NO_LONGER
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.core.models import CubicleKey
from tests.contracts.chat_phones import ADA, EVE, PHONES, Phone, Shown, wait_for
from tests.support.app_fixture import Scene


@pytest.fixture(params=sorted(PHONES))
def phone(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Phone]:
    """Ada's phone, with the bot of the agent ``crab``."""
    with PHONES[request.param](tmp_path) as found:
        yield found


def _seen(phone: Phone, words: str, *, person: int = ADA) -> list[Shown]:
    """The bot's messages that hold these words."""
    return [one for one in phone.shown(person) if words in one.text]


def _wait(phone: Phone, words: str, *, person: int = ADA) -> Shown:
    """The message that holds these words, once it is there."""
    wait_for(lambda: _seen(phone, words, person=person))
    return _seen(phone, words, person=person)[-1]


def test_a_message_becomes_a_turn_and_its_answer_comes_back(phone: Phone) -> None:
    """Once, under the line that says whose it is; a long one in pieces that the app takes."""
    phone.says("hello there")
    answer = _wait(phone, "You said: hello there")
    assert answer.text.startswith("◆ crab:\n")
    (turn,) = phone.install.services.turns.list_history(CubicleKey("crab", 1))
    assert turn.source == phone.source
    phone.install.plays["tell me more"] = lambda scene: scene.say("\n\n".join(["A paragraph of words. " * 10] * 24))
    phone.says("tell me more")
    wait_for(lambda: len(_seen(phone, "A paragraph of words.")) > 1)
    assert len(_seen(phone, "You said: hello there")) == 1


def test_people_see_what_an_agent_is_called(phone: Phone) -> None:
    """Over its answers, in what it asks and in commands; in any script, and never with the install's own mark."""
    before = [one.number for one in phone.shown(ADA)]
    phone.install.services.agents.update_agent("crab", {"display_name": "Łucja ◆ 海"})
    phone.says("hello there")
    assert _wait(phone, "You said: hello there").text.startswith("◆ Łucja ◇ 海:\n")
    phone.install.plays["tidy up"] = lambda scene: [scene.run(1, "rm -rf build")].clear()
    phone.says("tidy up")
    asked = _wait(phone, "Łucja ◇ 海 asks: may this run?")
    phone.presses(asked.number, "Deny")
    _wait(phone, "Łucja ◇ 海 asked: may this run?")
    phone.says("/budget")
    assert _wait(phone, "Łucja ◇ 海's budget")
    phone.says("/start")
    assert _wait(phone, "I'm Łucja ◇ 海")
    assert [one for one in _seen(phone, "crab") if one.number not in before] == []


def test_progress_is_one_message_that_changes_and_goes(phone: Phone) -> None:
    """A turn that takes a while shows what it does, and in the end only the answer is left."""

    def play(scene: Scene) -> None:
        scene.run(1, "ls")
        wait_for(lambda: _seen(phone, "step 1") or _seen(phone, "thinking"))
        wait_for(lambda: phone.edits() > 0)
        scene.say("That was all.")

    phone.install.plays["take your time"] = play
    phone.says("take your time")
    _wait(phone, "That was all.")
    wait_for(lambda: not _seen(phone, "thinking") and not _seen(phone, "step 1"))


def test_an_approval_is_decided_once(phone: Phone) -> None:
    """By a button; a second press decides nothing, and the message says how it ended."""
    ran: list[bool] = []
    phone.install.plays["tidy up"] = lambda scene: ran.append(scene.run(1, "rm -rf build"))
    phone.says("tidy up")
    asked = _wait(phone, "may this run?")
    assert {"Approve", "Deny"} <= set(asked.buttons)
    phone.presses(asked.number, "Approve")
    wait_for(lambda: ran == [True])
    assert NO_LONGER in phone.presses(asked.number, "Deny")
    wait_for(lambda: "Approve" not in _wait(phone, "asked: may this run?").buttons)
    (decided,) = phone.install.services.approvals.list_approvals()
    assert (decided.status, decided.decided_by) == ("approved", f"ada ({phone.source})")


def test_a_question_is_answered(phone: Phone) -> None:
    """By a button of its own, or by a reply."""
    questions = phone.install.services.questions

    def play(scene: Scene) -> None:
        with phone.install.app._store.writing() as db:
            action = Ask("Which colour?", ("red", "blue"), free_text=True)
            asked = questions.deeds["ASK"](db, Caller(scene.key, scene.turn.id), action).result["question"]
        wait_for(lambda: questions.get_question(str(asked)).answer)
        scene.say(f"So it is {questions.get_question(str(asked)).answer}.")

    for n, answer in enumerate(("red", "something like green")):
        phone.install.plays[f"ask me {n}"] = play
        phone.says(f"ask me {n}")
        wait_for(lambda n=n: len(_seen(phone, "Which colour?")) > n)  # type: ignore[misc]  # mypy can't type a bound default
        shown = _seen(phone, "Which colour?")[-1]
        if n:
            phone.says(answer, reply_to=shown.number)
        else:
            phone.presses(shown.number, "red")
        _wait(phone, f"So it is {answer}.")


def test_what_a_message_did_is_taken_back(phone: Phone) -> None:
    """By the button under its answer, which asks first, or by /undo; a second press does nothing."""
    key = CubicleKey("crab", 1)
    mounts = phone.install.services.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
    file = Path(mounts.work) / "notes.txt"

    def play(scene: Scene) -> None:
        scene.install.steps.start_step(key, scene.turn.id, 1, thought="", command="true", approval=None)
        file.write_text(scene.turn.prompt)
        scene.install.steps.end_step(key, scene.turn.id, 1, exit_code=0, output="", ended="exited")
        scene.say(f"Wrote {scene.turn.prompt}.")

    phone.install.plays |= {"one": play, "two": play}
    for prompt in ("one", "two"):
        phone.says(prompt)
        wait_for(lambda prompt=prompt: "Undo (1 file changed)" in _wait(phone, f"Wrote {prompt}.").buttons)  # type: ignore[misc]  # mypy can't type a bound default
    phone.presses(_wait(phone, "Wrote two.").number, "Undo (1 file changed)")
    asked = _wait(phone, "Undo this?")
    assert "work/notes.txt goes back" in asked.text
    assert asked.buttons == ("Undo", "Keep")
    phone.presses(asked.number, "Undo")
    wait_for(lambda: _seen(phone, "1 file put back."))
    assert file.read_text() == "one"
    assert NO_LONGER in phone.presses(asked.number, "Undo")
    phone.says("/undo")
    phone.presses(_wait(phone, "You wrote: one").number, "Keep")
    wait_for(lambda: _seen(phone, "Nothing was undone"))
    assert file.exists()


def test_a_person_has_several_conversations(phone: Phone) -> None:
    """One is begun, gone to by a button and by its name; a restart keeps which one it is."""
    phone.says("hello there")
    _wait(phone, "You said: hello there")
    phone.says("/new Boat")
    _wait(phone, "Your next message begins it")
    phone.says("paint it")
    _wait(phone, "You said: paint it")
    phone.restart()
    phone.says("and varnish it")
    _wait(phone, "You said: and varnish it")
    phone.says("/conversations")
    listed = _wait(phone, "Your conversations with crab")
    assert phone.presses(listed.number, "hello there") == "You write in “hello there” now."
    phone.says("I am back")
    _wait(phone, "You said: I am back")
    phone.says("/switch boa")
    _wait(phone, "now goes to Boat")
    phone.says("is it dry?")
    _wait(phone, "You said: is it dry?")
    assert _prompts(phone) == {
        "hello there": ["hello there", "I am back"],
        "Boat": ["paint it", "and varnish it", "is it dry?"],
    }
    assert not _seen(phone, "In “")


def test_an_answer_of_another_conversation_says_which(phone: Phone) -> None:
    """The person went on in another while the agent worked; what the calendar ran there says so too."""
    went_on = threading.Event()

    def play(scene: Scene) -> None:
        went_on.wait(30)
        scene.say("That took a while.")

    phone.install.plays["take your time"] = play
    phone.says("take your time")
    wait_for(lambda: _prompts(phone) == {"take your time": ["take your time"]})
    phone.says("/new Boat")
    _wait(phone, "Your next message begins it")
    went_on.set()
    assert _wait(phone, "That took a while.").text == "◆ crab:\nIn “take your time”:\nThat took a while."
    phone.says("paint it")
    assert "In “" not in _wait(phone, "You said: paint it").text
    services, key = phone.install.services, CubicleKey("crab", 1)
    (turn,) = services.turns.list_history(key)
    fields = {"title": "Look", "prompt": "look after it", "start": "2099-01-01T10:00"}
    entry = services.calendar.create_entry(key, fields, by=None, turn=turn.id)
    services.calendar.run_now(entry.id)
    assert (
        _wait(phone, "You said: look after it").text
        == "◆ crab:\nIn “take your time”:\n⏰ Look\nYou said: look after it"
    )
    assert "In “take your time”:" in _wait(phone, "put “Look” into the calendar").text


def _prompts(phone: Phone) -> dict[str, list[str]]:
    """What the agent was asked, by conversation."""
    services, key = phone.install.services, CubicleKey("crab", 1)
    return {
        one.shown_name: [turn.prompt for turn in services.turns.list_history(key, conversation=one.id)]
        for one in services.conversations.list_conversations(key)
    }


def test_a_file_in_and_a_file_out(phone: Phone) -> None:
    """What a person sends lies in ``in/``; what an agent leaves in ``out/`` arrives with its bytes."""
    home = phone.install.services.settings.home / "workspaces" / "crab" / "1"
    phone.sends_file("plan.txt", b"the plan", "look at this")
    wait_for(lambda: phone.install.services.turns.list_history(CubicleKey("crab", 1)))
    (turn,) = phone.install.services.turns.list_history(CubicleKey("crab", 1))
    assert "in/plan.txt" in turn.prompt
    assert (home / "in" / "plan.txt").read_bytes() == b"the plan"

    def play(scene: Scene) -> None:
        (home / "out" / "report.txt").write_bytes(b"the report")
        scene.say("There it is.")

    phone.install.plays["make a report"] = play
    phone.says("make a report")
    wait_for(lambda: any(b"the report" in one.files for one in phone.shown()))


def test_a_stranger_asks_to_be_let_in(phone: Phone) -> None:
    """They get one fixed answer, the operator a card; then they are a member, and talk."""
    phone.says("let me in", person=EVE)
    _wait(phone, "This bot is private", person=EVE)
    card = _wait(phone, "Somebody new wrote to crab")
    phone.presses(card.number, "Allow as a member")
    _wait(phone, "Welcome", person=EVE)
    phone.says("thank you", person=EVE)
    _wait(phone, "You said: thank you", person=EVE)
    assert not _seen(phone, "let me in", person=EVE)


def test_a_sending_without_a_clear_end_is_not_lost_nor_doubled(phone: Phone) -> None:
    """It arrived, and the answer was lost: the message is there once, and known as sent."""
    phone.lose_next_answer()
    _post(phone, "unclear:1", "Only once, please.")
    wait_for(lambda: _state(phone, "unclear:1") == "sent")
    assert len(_seen(phone, "Only once, please.")) == 1


def test_a_restart_resumes_the_outbox(phone: Phone) -> None:
    """What could not be sent before goes out afterwards, in order."""
    phone.set_offline(is_offline=True)
    for n in (1, 2):
        _post(phone, f"late:{n}", f"Late {n}.")
    phone.restart()
    assert not _seen(phone, "Late")
    phone.set_offline(is_offline=False)
    wait_for(lambda: [one.text for one in _seen(phone, "Late")] == ["Late 1.", "Late 2."])


def test_a_flood_wait_is_honoured(phone: Phone) -> None:
    """Until the time is over nothing else is tried; then it goes out."""
    phone.flood(2)
    began = time.monotonic()
    _post(phone, "flood:1", "After a while.")
    wait_for(lambda: _state(phone, "flood:1") == "sent")
    assert time.monotonic() - began >= 1.8
    assert len(_seen(phone, "After a while.")) == 1


def _post(phone: Phone, ref: str, text: str) -> None:
    phone.outbox.post_message(Message("crab", ADA, ref, MessageBody(RichText(text))))


def _state(phone: Phone, ref: str) -> str:
    outcome = phone.outbox.status_of(ref)
    return "" if outcome is None else outcome.state
