"""What notifications are about, read anew each time: what waits for somebody, what ended, what the calendar has to say.
The rows of those nouns are the truth; a notification is made of them in the moment in which it is sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.ask.questions import ANSWERED, PENDING, Questions
from orchestrator.capabilities.calendar.notifications import KIND as CALENDAR_NOTICES
from orchestrator.capabilities.calendar.visibility import is_told
from orchestrator.channels.push import push_rows, texts
from orchestrator.channels.push.devices import ANSWERS, APPROVALS, CALENDAR, QUESTIONS
from orchestrator.channels.push.push_rows import PushDevice
from orchestrator.channels.push.texts import PushText
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound
from orchestrator.core.models import ApprovalStatus, Role, Turn, TurnStatus, User
from orchestrator.languages.speech import IN_ENGLISH, SpokenLanguage
from orchestrator.turns import rows as turn_rows

ANSWERED_ELSEWHERE = frozenset({"telegram", "terminal"})
"""Who asked there is answered there."""
OLDEST_S = 24 * 3600.0
"""What is older is told to nobody: it was missed."""


@dataclass(frozen=True, slots=True)
class PushSubject:
    """Something that a person may be told of."""

    ref: str
    agent: str
    topic: str
    """Which of a device's choices it falls under; empty for none."""
    at: float
    can_wait: bool
    """Nobody needs it who reads it in the dashboard in the next seconds."""


class PushSubjects:
    """Everything that notifications can be about."""

    def __init__(
        self,
        store: Store,
        approvals: Approvals,
        questions: Questions,
        notifications: Notifications,
        *,
        called: Callable[[str], str] = str,
        speak: Callable[[int], SpokenLanguage] = lambda _: IN_ENGLISH,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``speak``: in which language a person is spoken to."""
        self._store, self._speak, self._now = store, speak, now
        self._called = called
        self._approvals, self._questions, self._notifications = approvals, questions, notifications

    def list_waiting(self) -> list[tuple[int, PushSubject]]:
        """What waits for a person's word, with whose it is."""
        found = [
            (
                asked.cubicle.user,
                PushSubject(f"approval:{asked.id}", asked.cubicle.agent, APPROVALS, asked.asked_at, False),
            )
            for asked in self._approvals.list_approvals(status=ApprovalStatus.PENDING)
        ]
        found += [
            (
                asked.cubicle.user,
                PushSubject(f"question:{asked.id}", asked.cubicle.agent, QUESTIONS, asked.asked_at, False),
            )
            for asked in self._questions.list_questions(status=PENDING)
        ]
        return found

    def list_news(self, device: PushDevice) -> Iterator[PushSubject]:
        """What ended for a device's person since it was turned on, and what the calendar said, as far as there is no
        note of it. What nobody is told of has no topic."""
        since = max(self._now() - OLDEST_S, device.created_at)
        with self._store.reading() as db:
            turns = push_rows.list_ended_turns(db, device, since)
            notices = push_rows.list_notices(db, device, CALENDAR_NOTICES, since)
        for turn in turns:
            yield PushSubject(f"turn:{turn.id}", turn.cubicle.agent, _topic_of(turn), turn.ended_at or 0.0, True)
        for number, agent, at in notices:
            yield PushSubject(f"notice:{number}", agent, CALENDAR, at, True)

    def count_waiting(self, user: User) -> int:
        """How much waits for a person, as the dashboard counts it."""
        whose = None if user.role is Role.OPERATOR else user.id
        approvals = self._approvals.list_approvals(status=ApprovalStatus.PENDING, user=whose)
        return len(approvals) + len(self._questions.list_questions(status=PENDING, user=whose))

    def is_open(self, ref: str) -> bool:
        """A question of any kind still waits for an answer."""
        kind, _, number = ref.partition(":")
        try:
            if kind == "approval":
                return self._approvals.get(number).status is ApprovalStatus.PENDING
            return self._questions.get_question(number).status == PENDING
        except NotFound:
            return False

    def write_text(self, ref: str, device: PushDevice) -> PushText | None:
        """What to say of it to this device; None when there is nothing to say any more."""
        kind, _, number = ref.partition(":")
        try:
            match kind:
                case "approval":
                    return self._approval_text(number, device)
                case "question":
                    return self._question_text(number, device)
                case "turn":
                    return self._turn_text(int(number), device)
                case _:
                    told = self._notifications.get(int(number))
                    return texts.notice_text(
                        told,
                        self._called(told.cubicle.agent),
                        shows_text=device.shows_text,
                        speech=self._speak(device.user),
                    )
        except NotFound:
            return None

    def write_test(self, device: PushDevice) -> PushText:
        """What a device shows when somebody tries it out."""
        return texts.test_text(self._speak(device.user))

    def list_worker_texts(self, device: PushDevice) -> dict[str, str]:
        """What the device's own script says when something goes wrong; nothing where that is English, as it has it."""
        return texts.worker_texts(self._speak(device.user))

    def write_end(self, ref: str, device: PushDevice) -> PushText:
        """What to say where a device still shows a question that is over."""
        kind, _, number = ref.partition(":")
        speech = self._speak(device.user)
        try:
            if kind == "approval":
                found = self._approvals.get(number)
                return texts.approval_end_text(found, self._called(found.cubicle.agent), speech)
            asked = self._questions.get_question(number)
            how = speech.say("No longer needed.")
            if asked.status == ANSWERED:
                how = speech.say("Answered by %(person)s.", person=asked.answered_by)
            return texts.end_text(ref, self._called(asked.cubicle.agent), how, speech)
        except NotFound:
            return texts.end_text(ref, "HermitShell", speech.say("No longer needed."), speech)

    def _approval_text(self, number: str, device: PushDevice) -> PushText | None:
        found = self._approvals.get(number)
        is_open = found.status is ApprovalStatus.PENDING and found.expires_at > self._now()
        if not is_open:
            return None
        called = self._called(found.cubicle.agent)
        return texts.approval_text(
            found, called, shows_text=device.shows_text, now=self._now(), speech=self._speak(device.user)
        )

    def _question_text(self, number: str, device: PushDevice) -> PushText | None:
        found = self._questions.get_question(number)
        is_open = found.status == PENDING and found.expires_at > self._now()
        if not is_open:
            return None
        called = self._called(found.cubicle.agent)
        return texts.question_text(
            found, called, shows_text=device.shows_text, now=self._now(), speech=self._speak(device.user)
        )

    def _turn_text(self, number: int, device: PushDevice) -> PushText | None:
        with self._store.reading() as db:
            found = turn_rows.get_turn(db, number)
            is_news = found is not None and not found.is_cleared and not push_rows.is_turn_seen(db, found)
        if found is None or not is_news:
            return None
        called = self._called(found.cubicle.agent)
        return texts.turn_text(found, called, shows_text=device.shows_text, speech=self._speak(device.user))


def _topic_of(turn: Turn) -> str:
    if turn.source in ANSWERED_ELSEWHERE or turn.status is TurnStatus.STOPPED or not is_told(turn):
        return ""
    return CALENDAR if turn.may_be_silent else ANSWERS
