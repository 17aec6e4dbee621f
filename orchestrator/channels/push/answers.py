"""What the buttons of a notification do: approve or deny, or answer with a choice. The device's own login says who it
is; the notification's ticket says that it is about exactly this; it works once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from orchestrator.approvals.approvals import Approvals
from orchestrator.capabilities.ask.questions import Questions
from orchestrator.channels.push import push_rows
from orchestrator.channels.push.tickets import PushTickets
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, Forbidden
from orchestrator.core.models import User

SURFACE = "notification"
_NOT_THEIRS = "This notification belongs to another login, so nothing was done. Open HermitShell to decide."
_USED = "This was decided already."


class PushAnswers:
    """Takes what people press."""

    def __init__(
        self,
        store: Store,
        approvals: Approvals,
        questions: Questions,
        secret: str,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._approvals, self._questions = store, approvals, questions
        self._tickets, self._now = PushTickets(secret), now

    def press_button(self, device: str, ref: str, ticket: str, button: str, *, by: User, session: str) -> None:
        """Do what a button says. ``session`` is the digest of the login that the press came with.

        Raises Forbidden when the ticket was made for something else or another login, Conflict when it was decided,
        BadInput for a button that is none.
        """
        kind, _, number = ref.partition(":")
        with self._store.writing() as db:
            found = push_rows.get_device(db, device, self._now())
            is_theirs = found is not None and found.session == session and found.user == by.id
            if not is_theirs or not self._tickets.is_ticket(ticket, device, ref):
                raise Forbidden(_NOT_THEIRS)
            if not push_rows.use_note(db, device, ref, self._now()):
                raise Conflict(_USED)
            if kind == "approval" and button in ("approve", "deny"):
                self._approvals.decide(number, approve=button == "approve", by=by, surface=SURFACE)
            elif kind == "question" and button.startswith("choice:"):
                self._questions.answer_question(number, self._choice(number, button), by=by, surface=SURFACE)
            else:
                raise BadInput("button: this notification has no such button.")

    def _choice(self, question: str, button: str) -> str:
        choices, text = self._questions.get_question(question).choices, button.partition(":")[2]
        if not text.isdecimal() or len(text) > 2 or int(text) >= len(choices):
            raise BadInput("button: this question has no such choice.")
        return choices[int(text)]
