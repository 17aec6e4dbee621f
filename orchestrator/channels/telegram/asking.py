"""Asking: each open question of an agent becomes a letter with Approve and Deny, where its turn was asked for; when it
is decided, wherever that was, the letter says how it ended and has no such buttons any more.

The rows of the approvals are the truth. This looks at them whenever it is told to, and after a start at all that are
open or still shown as open. Nothing but a pressed button, or another surface's decision, decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from orchestrator.approvals import Approvals
from orchestrator.channels.telegram import decisions
from orchestrator.channels.telegram.buttons import Buttons
from orchestrator.channels.telegram.incoming import Press
from orchestrator.channels.telegram.letters import Attached, Body, Button, Letter
from orchestrator.channels.telegram.papers import Papers
from orchestrator.channels.telegram.presses import NO_LONGER, Handler, Outcome
from orchestrator.channels.telegram.questions import Question, asked, ended
from orchestrator.channels.telegram.seams import Corrects
from orchestrator.channels.telegram.whereabouts import Whereabouts
from orchestrator.errors import Conflict, Forbidden, NotFound
from orchestrator.nouns import Approval, ApprovalStatus, CubicleKey, Event, User
from orchestrator.people import People
from orchestrator.store import telegram_buttons as rows
from orchestrator.store import telegram_people as chats
from orchestrator.store.database import Store
from orchestrator.store.telegram_buttons import Taken
from orchestrator.turns import Turns

APPROVE, DENY, ALWAYS, AGAIN = "approve", "deny", "always", "again"
DECIDING = (APPROVE, DENY, ALWAYS)
_NEEDED = frozenset({APPROVE, DENY})
_GRACE_S = 120.0
"""A press right after the time is up is told so, rather than that the button no longer works; it decides nothing."""
_AGAIN_S = 7 * 24 * 3600.0


class Asking:
    """Every question of every agent that has a bot. For threads that may wait."""

    def __init__(
        self,
        *,
        store: Store,
        approvals: Approvals,
        turns: Turns,
        people: People,
        mail: Corrects,
        buttons: Buttons,
        papers: Papers,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._approvals = approvals
        self._turns = turns
        self._people = people
        self._whereabouts = Whereabouts(store, people)
        self._mail = mail
        self._buttons = buttons
        self._papers = papers
        self._now = now

    @property
    def handlers(self) -> dict[str, Handler]:
        """What its buttons do."""
        return {APPROVE: self._approve, DENY: self._deny, ALWAYS: self._always, AGAIN: self._again}

    def heard(self, event: Event) -> None:
        """News of the house; those of approvals are acted upon."""
        if event.kind == "approval":
            self.tell(str(event.body["id"]))

    def reconcile(self) -> None:
        """After a start, and now and then: what is open is asked, what was decided in the meantime is shown so."""
        with self._store.reading() as db:
            shown = rows.subjects(db, DECIDING)
        for approval in {*shown, *(one.id for one in self._approvals.every(status=ApprovalStatus.PENDING))}:
            self.tell(approval)
        self._buttons.tidy()  # last: what nobody knows any more can't be shown as ended

    def tell(self, approval: str) -> None:
        """The chat shows how this approval stands."""
        try:
            found = self._approvals.get(approval)
        except NotFound:
            return
        if found.status is ApprovalStatus.PENDING:
            self._ask(found)
        else:
            self._settle(found)

    def body(self, approval: Approval, agent: str, ref: str, person: int, reader: User) -> Body:
        """The question for a letter ``ref`` of this agent's bot, with buttons for this Telegram id."""
        now = self._now()
        question = self._question(approval, reader)
        until = approval.expires_at + _GRACE_S
        rows_of: list[tuple[tuple[str, str], ...]] = [(("Approve", APPROVE), ("Deny", DENY))]
        if decisions.host_of(approval):
            rows_of.append(((decisions.always_label(approval), ALWAYS),))
        made = tuple(
            tuple(
                Button(label, self._buttons.make(agent, ref, person, kind, approval.id, expires_at=until))
                for label, kind in row
            )
            for row in rows_of
        )
        return Body(asked(question, now), buttons=made, files=self._file(question))

    # --- telling -----------------------------------------------------------------------------------------------

    def _ask(self, approval: Approval) -> None:
        """Post the question, once; buttons that were pressed to no effect are made anew."""
        ref, now = f"approval:{approval.id}", self._now()
        user, spot = self._whereabouts.owner(approval.cubicle), self._whereabouts.spot(approval.cubicle, approval.turn)
        if user is None or spot is None:
            return
        with self._store.reading() as db:
            is_posted, live = rows.is_posted(db, ref), rows.live(db, ref, now)
        if is_posted and live >= _NEEDED:
            return
        self._buttons.retire(ref)
        plain = self.body(approval, approval.cubicle.agent, ref, user.telegram_id or 0, user)
        body = replace(plain, thread=spot.thread, reply_to=spot.reply_to)
        if not self._mail.post(Letter(approval.cubicle.agent, spot.chat, ref, body)):
            self._mail.amend(ref, body)

    def _settle(self, approval: Approval, *, pressed: Taken | None = None) -> None:
        """Every letter that asks this says how it ended."""
        with self._store.reading() as db:
            letters = {asking.ref: asking for asking in rows.asked(db, approval.id, DECIDING)}
        if pressed is not None and pressed.ref not in letters:
            letters[pressed.ref] = rows.Asked(approval.cubicle.agent, pressed.ref, pressed.person)
        for letter in letters.values():
            self._mail.amend(letter.ref, self._ended(approval, letter))
            self._buttons.retire(letter.ref, kinds=DECIDING)

    def _ended(self, approval: Approval, letter: rows.Asked) -> Body:
        reader = self._people.of_telegram(letter.person) or self._whereabouts.owner(approval.cubicle)
        question = self._question(approval, reader)
        buttons: tuple[tuple[Button, ...], ...] = ()
        if approval.status is ApprovalStatus.EXPIRED and letter.ref == f"approval:{approval.id}":
            self._buttons.retire(letter.ref)
            until = self._now() + _AGAIN_S
            again = self._buttons.make(letter.agent, letter.ref, letter.person, AGAIN, approval.id, expires_at=until)
            buttons = ((Button("Ask again", again),),)
        return Body(ended(question, self._now()), buttons=buttons, files=self._file(question))

    def _question(self, approval: Approval, reader: User | None) -> Question:
        owner = self._whereabouts.owner(approval.cubicle)
        zone = "UTC" if reader is None else reader.time_zone
        return Question(approval, "somebody who was removed" if owner is None else owner.name, zone)

    def _file(self, question: Question) -> tuple[Attached, ...]:
        if not question.is_long:
            return ()
        path = self._papers.write(question.shown.encode("utf-8", "backslashreplace"))
        return (Attached(path, question.file_name, "document"),)

    # --- deciding ----------------------------------------------------------------------------------------------

    def _approve(self, taken: Taken, _: Press, user: User) -> Outcome:
        return self._decide(taken, user, approve=True)

    def _deny(self, taken: Taken, _: Press, user: User) -> Outcome:
        return self._decide(taken, user, approve=False)

    def _always(self, taken: Taken, _: Press, user: User) -> Outcome:
        return self._decide(taken, user, approve=True, always=True)

    def _decide(self, taken: Taken, user: User, *, approve: bool, always: bool = False) -> Outcome:
        try:
            decided = self._approvals.decide(taken.subject, approve=approve, by=user, surface="telegram", always=always)
        except NotFound as error:
            raise NotFound(NO_LONGER) from error
        except Conflict as error:
            self._settle(self._approvals.get(taken.subject), pressed=taken)
            raise Conflict(error.message) from error
        self._settle(decided, pressed=taken)
        return Outcome(decisions.toast(decided))

    def _again(self, taken: Taken, press: Press, user: User) -> Outcome:
        """The person asks the agent to try once more; the question comes anew, about what the agent wants then."""
        approval = self._approvals.get(taken.subject)
        key = approval.cubicle
        if user.id != key.user:
            raise Forbidden("Only the person it was for can ask again.")
        origin = f"telegram:{press.bot}:{press.update}"
        with self._store.writing() as db:
            chats.give_origin(db, press.bot, press.update, origin)
        self._turns.submit(
            CubicleKey(key.agent, user.id),
            decisions.of(approval).again.format(text=approval.text),
            source="telegram",
            origin=origin,
        )
        body = Body(
            ended(self._question(approval, user), self._now()), files=self._file(self._question(approval, user))
        )
        return Outcome(f"{key.agent} is asked to try again.", body)
