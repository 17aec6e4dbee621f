"""``channels.chat.callbacks``: a pressed button does its deed once, for the right person, and everything else does
nothing and says the same."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.callbacks import NO_LONGER, TOO_EARLY, PressResult
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.system_text import system_note
from orchestrator.core.errors import Conflict, Forbidden, Unavailable
from orchestrator.core.models import ApprovalStatus, User
from tests.support.bot_api import BotApi
from tests.support.chat_fixture import ADA, BOB, DANGEROUS, EVE, GROUP, ChatFixture, chat_fixture
from tests.support.core_fixture import OTHER, CoreFixture, at_once
from tests.support.outbox_fixture import OutboxFixture


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ChatFixture, CoreFixture]]:
    """A counter and its rooms."""
    with chat_fixture(tmp_path) as made:
        yield made


@pytest.fixture
def fixture(pair: tuple[ChatFixture, CoreFixture]) -> ChatFixture:
    """A counter."""
    return pair[0]


def question(fixture: ChatFixture, label: str = "Approve") -> tuple[str, ButtonPress]:
    """Ada's agent asks, and she is about to press."""
    approval = fixture.wants()
    ref = f"approval:{approval.id}"
    return approval.id, fixture.a_press(fixture.data(ref, label), by=ADA, chat=ADA, message=fixture.arrives(ref))


@pytest.mark.parametrize(("label", "status"), [("Approve", "approved"), ("Deny", "denied")])
def test_a_press_decides(fixture: ChatFixture, label: str, status: str) -> None:
    """Once; the second press finds nothing to decide."""
    approval, press = question(fixture, label)
    assert fixture.callbacks.on_press(press).startswith(status.capitalize())
    decided = fixture.approvals.get(approval)
    assert (decided.status, decided.decided_by) == (status, "ada (telegram)")
    assert fixture.callbacks.on_press(press) == NO_LONGER


FORGED = {
    "another's id": lambda press: replace(press, sender=replace(press.sender, id=EVE)),
    "a member's id": lambda press: replace(press, sender=replace(press.sender, id=BOB)),
    "the bot's own id": lambda press: replace(press, sender=replace(press.sender, id=press.bot)),
    "an anonymous admin": lambda press: replace(press, sender=replace(press.sender, id=1_087_968_824)),
    "Telegram itself": lambda press: replace(press, sender=replace(press.sender, id=777_000)),
    "another chat": lambda press: replace(press, place=replace(press.place, chat=BOB)),
    "a group": lambda press: replace(press, place=replace(press.place, chat=GROUP, is_private=False)),
    "another message": lambda press: replace(press, message=press.message - 1),
    "another agent": lambda press: replace(press, agent="shrimp"),
    "words": lambda press: replace(press, data=f"approve:crab:{DANGEROUS}"),
    "64 random bytes": lambda press: replace(press, data=secrets.token_bytes(64).decode("latin-1")),
    "64 random letters": lambda press: replace(press, data=secrets.token_urlsafe(48)),
    "as long as an id": lambda press: replace(press, data=secrets.token_urlsafe(24)),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_press_decides_nothing(fixture: ChatFixture, how: str) -> None:
    """Pending stays pending, one constant is said, and the real button still works."""
    approval, press = question(fixture)
    assert fixture.callbacks.on_press(FORGED[how](press)) == NO_LONGER
    assert fixture.approvals.get(approval).status is ApprovalStatus.PENDING
    assert fixture.callbacks.on_press(press) == "Approved. It runs now."


def test_the_id_of_an_approval_is_no_button(fixture: ChatFixture) -> None:
    """Nor of a decided one."""
    approval, press = question(fixture)
    for data in (approval, f"approval:{approval}", f"approve {approval}", f"/approve {approval}"):
        assert fixture.callbacks.on_press(replace(press, data=data)) == NO_LONGER
    fixture.approvals.decide(approval, approve=False, by=fixture.users.get_operator(), surface="dashboard")
    assert fixture.callbacks.on_press(replace(press, data=approval)) == NO_LONGER


def test_a_member_decides_for_themselves_alone(fixture: ChatFixture) -> None:
    """In a group where both are, bob can't decide what ada's agent asks; ada, the operator, can decide what bob's
    asks."""
    adas, bobs = fixture.wants(turn=fixture.asks(chat=GROUP)), fixture.wants(turn=fixture.asks(chat=GROUP, key=OTHER))
    assert fixture.press(f"approval:{adas.id}", "Approve", by=BOB) == NO_LONGER
    assert fixture.approvals.get(adas.id).status is ApprovalStatus.PENDING
    assert fixture.press(f"approval:{bobs.id}", "Deny", by=ADA).startswith("Denied")
    assert fixture.approvals.get(bobs.id).decided_by == "ada (telegram)"


def test_who_is_removed_presses_nothing(pair: tuple[ChatFixture, CoreFixture]) -> None:
    """A button that was made for somebody works only while they are somebody."""
    fixture, install = pair
    bobs = fixture.wants(turn=fixture.asks(chat=BOB, key=OTHER))
    install.users.update_user(install.member.id, {"telegram_id": None})
    assert fixture.press(f"approval:{bobs.id}", "Approve", by=BOB) == NO_LONGER
    assert fixture.approvals.get(bobs.id).status is ApprovalStatus.PENDING


def test_buttons_survive_a_restart(fixture: ChatFixture) -> None:
    """A used one stays used, an unused one works."""
    first, press = question(fixture)
    fixture.callbacks.on_press(press)
    assert fixture.fresh_presses().on_press(press) == NO_LONGER
    second = fixture.wants()
    ref = f"approval:{second.id}"
    again = fixture.a_press(fixture.data(ref, "Deny"), by=ADA, chat=ADA, message=fixture.arrives(ref))
    assert fixture.fresh_presses().on_press(again).startswith("Denied")
    assert fixture.approvals.get(first).status is ApprovalStatus.APPROVED


def test_fifty_presses_are_one_decision(fixture: ChatFixture) -> None:
    """Of Approve and Deny, all at the same moment: one transition, which is what the message then says."""
    approval, approve = question(fixture)
    deny = replace(approve, data=fixture.data(f"approval:{approval}", "Deny"))
    said = at_once(*[lambda: fixture.callbacks.on_press(approve), lambda: fixture.callbacks.on_press(deny)] * 25)
    decided = fixture.approvals.get(approval)
    assert all(isinstance(words, str) for words in said), said
    assert len([words for words in said if words in ("Approved. It runs now.", "Denied. It will not run.")]) == 1
    with fixture.store.reading() as db:
        rows = db.execute("SELECT kind FROM audit WHERE kind IN ('approval.approved', 'approval.denied')").fetchall()
    assert [row["kind"] for row in rows] == [f"approval.{decided.status}"]
    assert f"{str(decided.status).capitalize()} by ada (telegram)" in fixture.text(f"approval:{approval}")
    assert fixture.labels(f"approval:{approval}") == []


def test_who_was_slower_hears_who_was_faster(fixture: ChatFixture) -> None:
    """The dashboard decided a moment ago, and the chat does not show it yet."""
    approval, press = question(fixture)
    fixture.approvals.decide(approval, approve=False, by=fixture.users.get_operator(), surface="dashboard")
    assert fixture.callbacks.on_press(press) == "It was denied already, by ada (dashboard)."
    assert "Denied by ada (dashboard)" in fixture.text(f"approval:{approval}")
    assert fixture.labels(f"approval:{approval}") == []


def test_after_the_end_of_time_nothing_is_decided(fixture: ChatFixture) -> None:
    """A press that comes a moment too late is told so; much later the button is dead."""
    approval, press = question(fixture)
    with fixture.store.writing() as db:
        db.execute("UPDATE approvals SET expires_at = ? WHERE id = ?", (fixture.now() - 1, approval))
    assert fixture.callbacks.on_press(press).startswith("Too late")
    assert fixture.approvals.get(approval).status is ApprovalStatus.EXPIRED
    assert fixture.callbacks.on_press(press) == NO_LONGER


# --- the table itself ------------------------------------------------------------------------------------------


class Deed:
    """Does what the test says, and counts."""

    def __init__(self, end: PressResult | Exception) -> None:
        self.end = end
        self.done = 0

    def __call__(self, taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        self.done += 1
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


def under(fixture: ChatFixture, kind: str, deed: Deed | None = None) -> ButtonPress:
    """A button of this kind, about to be pressed by ada."""
    if deed is not None:
        fixture.handlers[kind] = deed
    fixture.callbacks = fixture.fresh_presses()
    data = fixture.buttons.make_button("crab", "a-letter", ADA, kind, "x")
    fixture.outbox.post_message(Message("crab", ADA, "a-letter", MessageBody(RichText("?"))))
    return fixture.a_press(data, by=ADA, chat=ADA, message=fixture.arrives("a-letter"))


def test_an_unknown_kind_does_nothing(fixture: ChatFixture) -> None:
    """A button of another version, say."""
    assert fixture.callbacks.on_press(under(fixture, "launch")) == NO_LONGER


def test_the_message_says_what_came_of_it(fixture: ChatFixture) -> None:
    """And another one follows where there is one."""
    press = under(
        fixture,
        "deed",
        Deed(PressResult("x" * 500, MessageBody(system_note("Done")), also=MessageBody(system_note("More")))),
    )
    assert fixture.callbacks.on_press(press) == "x" * 200
    assert fixture.text("a-letter") == "◆ Done"
    assert fixture.text(f"update:{press.bot}:{press.update}") == "◆ More"


@pytest.mark.parametrize(
    ("error", "works_again"),
    [
        (Unavailable("The disk is full. Free some."), True),
        (Forbidden("Not you."), True),
        (Conflict("Somebody was faster."), False),
    ],
)
def test_what_failed_may_be_pressed_again(fixture: ChatFixture, error: Exception, works_again: bool) -> None:  # noqa: FBT001 - a table
    """Unless it is settled; the sentence is said over the chat."""
    deed = Deed(error)
    press = under(fixture, "deed", deed)
    assert fixture.callbacks.on_press(press) == str(error)
    fixture.callbacks.on_press(press)
    assert deed.done == (2 if works_again else 1)


def test_what_broke_may_be_pressed_again(fixture: ChatFixture) -> None:
    """The defect is the caller's to log."""
    deed = Deed(ZeroDivisionError("oops"))
    press = under(fixture, "deed", deed)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            fixture.callbacks.on_press(press)
    assert deed.done == 2


def test_a_press_waits_for_the_number_of_its_message(fixture: ChatFixture) -> None:
    """It was faster than Telegram's answer to what it is under."""
    deed = Deed(PressResult("Done."))
    press = under(fixture, "deed", deed)
    with fixture.store.writing() as db:
        db.execute("UPDATE chat_outbox SET state = 'sending', message = NULL")
    assert fixture.callbacks.on_press(press) == TOO_EARLY
    assert fixture.pauses
    assert deed.done == 0

    def meanwhile(_: float) -> None:
        fixture.arrives("a-letter", press.message)

    fixture.callbacks._pause = meanwhile
    assert fixture.callbacks.on_press(press) == "Done."


def test_the_number_may_come_while_a_press_is_looked_at(fixture: ChatFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks at the same button: it is no button of nobody's then."""
    press = under(fixture, "deed", Deed(PressResult("Done.")))
    with fixture.store.writing() as db:
        db.execute("UPDATE chat_outbox SET state = 'sending', message = NULL")
    take = fixture.callbacks._buttons.take_press

    def take_and_see_it_arrive(press: ButtonPress, *, is_operator: bool) -> TakenButton | None:
        taken = take(press, is_operator=is_operator)
        fixture.arrives("a-letter", press.message)
        return taken

    monkeypatch.setattr(fixture.callbacks._buttons, "take_press", take_and_see_it_arrive)
    assert fixture.callbacks.on_press(press) == "Done."


# --- over the wire ---------------------------------------------------------------------------------------------


def test_a_question_is_asked_and_settled_at_telegram(pair: tuple[ChatFixture, CoreFixture]) -> None:
    """A short one as a message, a long one under its file: what Telegram holds at the end has no buttons, and says how
    it ended; the data of the buttons came back as it went out."""
    plain, install = pair
    with BotApi() as api:
        token = api.bot("Crab")
        api.person(ADA, "Ada").opens(token)
        with OutboxFixture(api, install.store, crab=token) as office:
            fixture = replace(plain, post=office.outbox)
            turn = fixture.asks()
            short, long = (
                f"approval:{fixture.wants(text, turn=turn).id}" for text in (DANGEROUS, f"rm {'a/' * 3_000}")
            )
            office.wait_for(short, long)
            for said, ref, label in zip(api.messages(ADA), (short, long), ("Approve", "Deny"), strict=True):
                (approve, deny) = said["reply_markup"]["inline_keyboard"][0]
                data = {"Approve": approve, "Deny": deny}[label]["callback_data"]
                press = fixture.a_press(data, by=ADA, chat=ADA, message=said["message_id"])
                assert fixture.callbacks.on_press(press).startswith(label[:3])
                office.wait_for(ref)
            first, second = api.messages(ADA)
    assert "Approved by ada (telegram)" in first["text"]
    assert "Denied by ada (telegram)" in second["caption"]
    assert second["document"]["file_name"].endswith(".txt")
    assert "reply_markup" not in first
    assert "reply_markup" not in second
