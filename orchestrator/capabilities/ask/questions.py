"""Questions: an agent asks its person something, and a program in the cubicle waits for the answer.

The row is the truth. A question is answered once, by a person known to a surface, by one of its choices or, where that
is allowed, by a text; one that nobody answers in time expires, one whose turn ends is cancelled. Nothing that an agent
writes is an answer.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from orchestrator.agents import access_rows
from orchestrator.agents.agents import Agents
from orchestrator.capabilities.ask import rows
from orchestrator.capabilities.ask.capability import ASK, Ask
from orchestrator.capabilities.ask.rows import ANSWERED, CANCELLED, EXPIRED, PENDING, STATUSES, Question
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey, Event, Role, User
from orchestrator.core.short_ids import typed_id
from orchestrator.core.text import escape_invisible, is_unicode, one_line
from orchestrator.jobs.kinds import Finish
from orchestrator.turns import rows as turn_rows

__all__ = ["ANSWERED", "CANCELLED", "EXPIRED", "PENDING", "STATUSES", "Question", "Questions", "as_json"]

MAX_OPEN = 5
"""Open questions of one cubicle at a time; a person who is asked too much stops reading."""
MAX_ANSWER_CHARS = 4_000
LONGEST_S = 24 * 3600
"""A question holds its turn, and the person's own messages wait behind that."""

_UNKNOWN = "There is no question with this id. './hermit questions' shows what is waiting."
_WHY = {EXPIRED: "nobody answered in time", CANCELLED: "the turn ended"}


class Questions:
    """Everything that agents asked."""

    def __init__(
        self,
        *,
        store: Store,
        agents: Agents,
        broker: Broker,
        hooks: Hooks,
        finish: Finish,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``finish`` ends waiting calls within the transaction."""
        self._store = store
        self._agents = agents
        self._broker = broker
        self._finish = finish
        self._now = now
        hooks.turn_ended.subscribe(lambda ended: self._cancel_turn(ended.turn))

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {ASK.name: self._ask_person}

    def list_questions(self, *, status: str | None = None, user: int | None = None, limit: int = 200) -> list[Question]:
        """The newest questions, of one status and one person where given."""
        self.expire_due()
        with self._store.reading() as db:
            return rows.list_questions(db, status=status, user=user, limit=limit)

    def of_turn(self, turn: int) -> list[Question]:
        """What was asked in a turn, in order."""
        with self._store.reading() as db:
            return rows.list_of_turn(db, turn)

    def get_question(self, question: str) -> Question:
        """The question with this id; raises NotFound."""
        with self._store.reading() as db:
            found = rows.get_question(db, question)
        if found is None:
            raise NotFound(_UNKNOWN)
        return found

    def answer_question(
        self,
        question: str,
        text: str,
        *,
        by: User,
        surface: str,
        along: Callable[[Question], None] | None = None,
    ) -> Question:
        """Answer, once; ``along`` is done in the same transaction. Raises NotFound when it is not theirs, BadInput when
        it is no choice and no other text is taken, Conflict when somebody was faster or it is too late."""
        found = self.get_question(question)
        if by.role is not Role.OPERATOR and (found.cubicle.user != by.id or self._is_closed(found.cubicle)):
            raise NotFound(_UNKNOWN)
        if found.status != PENDING:
            raise Conflict(_too_late(found))
        answered = self._end_question(
            found, ANSWERED, f"{by.name} ({surface})", answer=_fitting(found, text), along=along
        )
        if answered is None:
            self.expire_due()
            raise Conflict(_too_late(self.get_question(question)))
        return answered

    def expire_due(self) -> None:
        """Questions whose time is up are expired."""
        with self._store.reading() as db:
            overdue = rows.list_overdue(db, self._now())
        self._end_all(overdue, EXPIRED)

    def end_expired(self) -> None:
        """What time or a crash has ended is ended. Called regularly."""
        self.expire_due()
        with self._store.reading() as db:
            orphans = rows.list_pending_of_ended_turns(db)
        self._end_all(orphans, CANCELLED)

    def reconcile(self) -> None:
        """After a start: what ended meanwhile is ended, and what is open is asked again."""
        self.end_expired()
        for question in self.list_questions(status=PENDING):
            self._publish_question(question)

    def abandon(self, is_theirs: Callable[[CubicleKey], bool], why: str) -> None:
        """Nothing more is done for these cubicles: their open questions are cancelled."""
        for question in self.list_questions(status=PENDING, limit=10_000):
            if is_theirs(question.cubicle):
                self._end_question(question, CANCELLED, why)

    # --- asking and ending -------------------------------------------------------------------------------------

    def _ask_person(self, db: sqlite3.Connection, caller: Caller, action: Ask) -> Outcome:
        question = self._made(caller, action)
        if question.turn is not None and not turn_rows.is_open(db, question.turn):
            raise Conflict("The turn has ended, so nobody is asked any more.")
        asked = rows.find_same_question(db, question)
        if asked is None:
            if rows.count_pending(db, caller.key) >= MAX_OPEN:
                raise TooMany(f"{MAX_OPEN} questions of this agent are waiting for an answer already.")
            rows.insert_question(db, question)
            self._write_audit(db, question, "question.asked", f"Asked: {escape_invisible(question.text)}")
            asked = question
        self._store.after_commit(partial(self._publish_question, asked))
        return Outcome(
            "The person was asked. The answer comes here.",
            {"question": asked.id},
            waits_for=f"question:{asked.id}",
        )

    def _made(self, caller: Caller, action: Ask) -> Question:
        now = self._now()
        own_s = self._agents.get(caller.key.agent).approval_timeout_s
        timeout_s = own_s if action.timeout is None else min(action.timeout, max(own_s, LONGEST_S))
        return Question(
            id=typed_id(),
            cubicle=caller.key,
            turn=caller.turn,
            text=action.question,
            choices=action.choices,
            free_text=action.free_text or not action.choices,
            status=PENDING,
            answer=None,
            asked_at=now,
            expires_at=now + timeout_s,
            answered_at=None,
            answered_by=None,
        )

    def _is_closed(self, key: CubicleKey) -> bool:
        with self._store.reading() as db:
            return access_rows.is_closed(db, key)

    def _cancel_turn(self, turn: int) -> None:
        """The turn has ended: nobody waits for its answers any more."""
        with self._store.reading() as db:
            pending = rows.list_pending_of_turn(db, turn)
        self._end_all(pending, CANCELLED)

    def _end_all(self, questions: list[str], status: str) -> None:
        for question in questions:
            self._end_question(self.get_question(question), status, _WHY[status])

    def _end_question(
        self,
        question: Question,
        status: str,
        by: str,
        *,
        answer: str | None = None,
        along: Callable[[Question], None] | None = None,
    ) -> Question | None:
        """End it once, and with it the calls that wait; None when somebody or something was faster."""
        with self._store.writing() as db:
            if not rows.end_question(db, question.id, status, by, self._now(), answer=answer):
                return None
            ended = rows.get_question(db, question.id)
            assert ended is not None  # noqa: S101 - it was updated just now, in this transaction
            self._finish(f"question:{ended.id}", ok=status == ANSWERED, text=_told(ended), result=_result(ended))
            how = f"Answered by {by}: {escape_invisible(answer)}" if answer is not None else f"Not answered: {by}."
            self._write_audit(db, ended, f"question.{status}", how)
            if along is not None:
                along(ended)
        self._publish_question(ended)
        return ended

    def _publish_question(self, question: Question) -> None:
        self._broker.publish(Event("question", question.cubicle, as_json(question)))

    def _write_audit(self, db: sqlite3.Connection, question: Question, kind: str, text: str) -> None:
        key, detail = question.cubicle, {"question": question.id, "choices": list(question.choices)}
        audit_rows.insert_record(
            db, kind, text, now=self._now(), agent=key.agent, user=key.user, turn=question.turn, detail=detail
        )


def as_json(question: Question) -> dict[str, Any]:
    """The question as surfaces show it: ``text`` exact, ``shown`` with everything invisible written out."""
    return {
        "id": question.id,
        "agent": question.cubicle.agent,
        "user": question.cubicle.user,
        "turn": question.turn,
        "text": question.text,
        "shown": escape_invisible(question.text),
        "choices": list(question.choices),
        "free_text": question.free_text,
        "status": question.status,
        "answer": question.answer,
        "asked_at": question.asked_at,
        "expires_at": question.expires_at,
        "answered_at": question.answered_at,
        "answered_by": question.answered_by,
    }


def _fitting(question: Question, text: str) -> str:
    """The choice that this text names, or the text itself where any is taken."""
    said = text.strip()
    same = [choice for choice in question.choices if choice == said] or [
        choice for choice in question.choices if choice.casefold() == said.casefold()
    ]
    if len(same) == 1:
        return same[0]
    if not said:
        raise BadInput("answer: it is empty. Write something.")
    if not question.free_text:
        raise BadInput(f"answer: choose one of {', '.join(one_line(choice) for choice in question.choices)}.")
    if len(said) > MAX_ANSWER_CHARS:
        raise BadInput(f"answer: at most {MAX_ANSWER_CHARS:,} characters fit. Send more as a message or a file.")
    if not is_unicode(said):
        raise BadInput("answer: it holds half a character (a lone surrogate). Send plain Unicode.")
    return said


def _told(question: Question) -> str:
    """What the program reads that waits."""
    if question.answer is not None:
        return question.answer
    if question.status == EXPIRED:
        return "Nobody answered in time."
    return "Nobody will answer: the turn has ended."


def _result(question: Question) -> dict[str, Any]:
    if question.answer is None:
        return {"code": question.status, "question": question.id}
    return {"question": question.id, "answer": question.answer, "is_choice": question.answer in question.choices}


def _too_late(question: Question) -> str:
    if question.status == EXPIRED:
        return "Too late: nobody answered in time. Write to the agent instead."
    if question.status == CANCELLED:
        return "Too late: the turn has ended, so nobody waits for an answer any more."
    return f"It was answered already, by {question.answered_by}: {one_line(question.answer or '')}"
