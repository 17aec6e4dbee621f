"""Turns: each message that comes in, one at a time per cubicle, with exactly one visible outcome.

The row comes first: a message is queued in the database before anything is woken, and its outcome is written before
anybody is told. A crab that asks for work while it is said to hold some has died in it; that, and a cubicle that ended,
is how a turn gets lost, and a lost turn goes back into the queue if nothing had been done yet, else it fails.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial

from orchestrator.approvals import grant_rows, source_rows
from orchestrator.approvals.lock_files import LockFiles
from orchestrator.approvals.source_rows import NewSource, SourceKind
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Conflict, NotFound, Stopped, TooMany
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks, TurnMoment
from orchestrator.core.long_poll import LongPoll
from orchestrator.core.models import Approval, Conversation, CubicleKey, Event, Step, Turn, TurnStatus
from orchestrator.files.attachments import split_prompt
from orchestrator.languages.told import worded
from orchestrator.turns import branch_rows, conversation_rows, rows, summary_rows
from orchestrator.turns import partial_reply_rows as partial_replies
from orchestrator.turns.live_output import LiveOutput
from orchestrator.turns.prompts import check_prompt
from orchestrator.turns.serialize import turn_json

_AFTERGLOW_S = 0.25
"""How long a crab that ended a turn is expected to ask for the next (if it does not, the watch wakes it)."""
_NO_CONVERSATION = "There is no conversation {conversation} with {agent}."
MAX_QUEUED = 10_000
MAX_REPLY_CHARS = 500_000
_INTERRUPTED = (
    "This turn was interrupted: {why}. What the agent did until then is in its workspace. "
    "Send the message again to go on."
)


class Turns:
    """The queue of every cubicle."""

    def __init__(
        self,
        *,
        store: Store,
        broker: Broker,
        hooks: Hooks,
        locks: LockFiles,
        wake: Callable[[CubicleKey], None],
        is_fresh: Callable[[CubicleKey], bool],
        check_room: Callable[[], None] = lambda: None,
        check_open: Callable[[CubicleKey], None] = lambda _key: None,
    ) -> None:
        """``wake`` gets a cubicle going, or up to date, without waiting for it; ``is_fresh`` says that it need not;
        ``check_room`` raises Unavailable when no work is taken on, ``check_open`` NotFound when the cubicle's person
        may not use its agent."""
        self._store = store
        self._broker = broker
        self._hooks = hooks
        self._locks = locks
        self._wake = wake
        self._is_fresh = is_fresh
        self._check_room = check_room
        self._check_open = check_open
        self._long_poll = LongPoll()
        self._ended_at: dict[CubicleKey, float] = {}
        self._ended = threading.Condition()  # notified whenever a turn gets its outcome; protects _is_closed
        self._is_closed = False
        self.outputs = LiveOutput(broker)
        hooks.turn_ended.subscribe(self._on_turn_ended)
        hooks.approval_asked.subscribe(self._show_status)
        hooks.approval_decided.subscribe(self._show_status)
        hooks.cubicle_ready.subscribe(self._long_poll.wake_listeners)
        hooks.cubicle_failed.subscribe(lambda failed: self.fail_queued(failed.cubicle, failed.why))

    def submit(
        self,
        key: CubicleKey,
        text: str,
        *,
        source: str,
        origin: str | None = None,
        conversation: int | None = None,
        instead_of: int | None = None,
        forwarded: str = "",
    ) -> Turn:
        """Queue a message in a conversation of the cubicle; with an ``origin`` seen before, the older turn comes back
        and nothing happens.

        Args:
            key: whose.
            text: the message.
            source: the surface that it comes from.
            origin: what makes a repeated message the same one.
            conversation: where it belongs, the first one for None.
            instead_of: the turn beside which it begins another branch; without, it follows the newest one.
            forwarded: from whom the words in it are, where its person only passes them on.

        Raises BadInput for an empty message, NotFound for what is not in the conversation, TooLarge, TooMany when the
        queue is full, or Unavailable.
        """
        check_prompt(text)
        self._check_open(key)
        self._check_room()
        now = time.time()
        with self._store.writing() as db:
            seen = None if origin is None else rows.get_turn_by_origin(db, origin)
            if seen is not None:
                return seen
            if rows.count_queued(db, key) >= MAX_QUEUED:
                raise TooMany(
                    worded(
                        "%(count)s messages are waiting for %(agent)s already. Wait, or stop some.",
                        count=f"{MAX_QUEUED:,}",
                        agent=key.agent,
                    )
                )
            place = self._find_conversation(db, key, conversation, now)
            parent = place.head if instead_of is None else self._get_member(db, place, instead_of).parent
            turn_id = rows.insert_turn(db, place, source=source, prompt=text, origin=origin, now=now, parent=parent)
            _note_sources(db, key, turn_id, text, forwarded)
            audit_rows.insert_record(
                db, "turn.asked", text, now=now, agent=key.agent, user=key.user, turn=turn_id, detail={"source": source}
            )
        turn = self.get(turn_id)
        self._publish_turn(turn)
        self._hooks.message_sent.fire(turn)
        if not self._is_asked_for(key):
            self._wake(key)
        return turn

    def change_prompt(self, origin: str, text: str) -> bool:
        """The turn of this origin asks something else; False when there is none, or no longer only queued.

        Raises BadInput or TooLarge as ``submit`` does.
        """
        check_prompt(text)
        with self._store.writing() as db:
            turn = rows.set_prompt(db, origin, text)
            if turn is None:
                return False
            key = turn.cubicle
            audit_rows.insert_record(
                db, "turn.reworded", text, now=time.time(), agent=key.agent, user=key.user, turn=turn.id
            )
        self._publish_turn(turn)
        return True

    def get_by_origin(self, origin: str) -> Turn | None:
        """The turn that this origin made."""
        with self._store.reading() as db:
            return rows.get_turn_by_origin(db, origin)

    def get(self, turn: int) -> Turn:
        """The turn with this id; raises NotFound."""
        with self._store.reading() as db:
            return self._get_turn(db, turn)

    def list_steps(self, turn: int) -> list[Step]:
        """The turn's commands in order; of one that runs, what it has printed so far."""
        with self._store.reading() as db:
            return self.outputs.add_output(rows.list_steps(db, turn))

    def get_last_step(self, turn: int) -> Step | None:
        """The command that was begun last; None before the first."""
        with self._store.reading() as db:
            return rows.get_last_step(db, turn)

    def list_history(
        self, key: CubicleKey, *, conversation: int | None = None, limit: int = 50, before: int | None = None
    ) -> list[Turn]:
        """The newest turns of a conversation, oldest first: of the branch that goes on, or with ``before``, the id of
        one of its turns, of what led to that. Raises NotFound."""
        with self._store.reading() as db:
            place = conversation_rows.find_conversation(db, key, conversation)
            if place is None:
                if conversation is not None:
                    raise NotFound(_NO_CONVERSATION.format(conversation=conversation, agent=key.agent))
                return []
            if before is None:
                return branch_rows.list_branch(db, place.head, limit=limit)
            turn = rows.get_turn(db, before)
            is_theirs = turn is not None and turn.cubicle == key
            return branch_rows.list_branch(db, turn.parent, limit=limit) if turn and is_theirs else []

    def clear_history(self, key: CubicleKey, conversation: int | None = None) -> int:
        """Forget a conversation; returns how many turns that were. The audit log keeps them. Raises NotFound."""
        now, told = time.time(), "The history was cleared."
        with self._store.writing() as db:
            cleared = self._find_conversation(db, key, conversation, now)
            place = cleared.id
            branch_rows.hand_over_shared(db, cleared)
            forgotten = rows.clear_conversation(db, place)
            left = branch_rows.join_open(db, place)
            conversation_rows.empty_conversation(db, place, left)
            if left is None:  # else what is under way knows it all
                source_rows.forget_sources(db, place)
            summary_rows.delete_summaries(db, place)
            grant_rows.end_conversation(db, key, place)
            audit_rows.insert_record(
                db,
                "history.cleared",
                told,
                now=now,
                agent=key.agent,
                user=key.user,
                detail={"conversation": place},
            )
        self._broker.publish(Event("conversation", key, {"conversation": place}))
        return forgotten

    def wait_for_end(self, turn: int, timeout_s: float) -> Turn:
        """The turn when it has ended, or as it stands when the time is up."""
        deadline = time.monotonic() + timeout_s
        with self._ended:
            while not (found := self.get(turn)).status.is_final:
                left = deadline - time.monotonic()
                if left <= 0 or self._is_closed:
                    return found
                self._ended.wait(left)
        return found

    def stop(self, turn: int) -> Turn:
        """A person wants the turn to end: at once when it only waits, else as soon as the crab hears. Again is fine."""
        found = self.get(turn)
        with self._store.writing() as db:
            is_under_way = rows.ask_stop(db, turn, time.time())
            if not is_under_way:
                self._write_end(db, found.cubicle, turn, TurnStatus.STOPPED)
        if is_under_way:
            self._hooks.turn_stopping.fire(TurnMoment(found.cubicle, turn))
            self._locks.write_stop(found.cubicle, turn)
            if self.get(turn).status.is_final:  # just now, so nobody else takes the file away
                self._locks.clear_stop(found.cubicle, turn)
        return self.get(turn)

    def withdraw(self, turn: int) -> Turn:
        """A person takes back a message that still waits: the conversation has no trace of it. Raises NotFound, or
        Conflict once the agent has begun with it."""
        now = time.time()
        with self._store.writing() as db:
            found = self._get_turn(db, turn)
            key = found.cubicle
            if not rows.delete_queued(db, turn):
                raise Conflict(
                    worded("%(agent)s has begun with this message already, so it can only be stopped.", agent=key.agent)
                )
            branch_rows.remove_turn(db, turn, found.parent)
            self._show_rest(db, found)
            self._write_end(db, key, turn, TurnStatus.STOPPED)
            audit_rows.insert_record(
                db, "turn.withdrawn", "Withdrawn", now=now, agent=key.agent, user=key.user, turn=turn
            )
        return self.get(turn)

    def close(self) -> None:
        """Whoever waits for an outcome waits no longer: the program is shutting down."""
        with self._ended:
            self._is_closed = True
            self._ended.notify_all()

    # --- the crab's side ---------------------------------------------------------------------------------------

    def take_next(self, key: CubicleKey, boot: str, wait_s: float, *, hang_up: int | None = None) -> Turn | None:
        """The next turn for a crab that holds none, waiting for one; None when the time is up or the crab hung up, as
        ``hang_up`` tells, the descriptor of its connection."""
        deadline = time.monotonic() + wait_s
        with self._long_poll.listening(key, hang_up) as waiter:
            while True:
                if (turn := self._claim_next(key, boot)) is not None:
                    self._publish_turn(turn)
                    self._hooks.turn_started.fire(turn)
                    return turn
                if not waiter.wait(deadline):
                    return None

    def end_turn(
        self,
        key: CubicleKey,
        turn: int,
        status: TurnStatus,
        *,
        reply: str | None = None,
        error: str | None = None,
        action: str | None = None,
    ) -> bool:
        """Give a turn its outcome; False when it has one already, and then nothing changes."""
        with self._store.writing() as db:
            return self._write_end(db, key, turn, status, reply=reply, error=error, action=action)

    def check_wanted(self, key: CubicleKey, turn: int) -> None:
        """Raises NotFound unless the turn is this cubicle's, Stopped unless it is under way and nobody wants it
        to end."""
        with self._store.reading() as db:
            may_go_on = rows.may_go_on(db, turn, key)
        if may_go_on is None:
            raise NotFound("There is no such turn in this cubicle.")
        if not may_go_on:
            raise Stopped("The turn was stopped.")

    def list_held(self, key: CubicleKey) -> frozenset[int]:
        """The turns that crabs of this cubicle work on."""
        with self._store.reading() as db:
            return frozenset(claim.turn for _, claim in rows.list_running(db, key))

    def on_crab_lost(self, key: CubicleKey, why: str) -> None:
        """The crab that held this cubicle's turn is no more."""
        with self._store.reading() as db:
            held = rows.list_running(db, key)
        for _, claim in held:
            self._release_claim(key, claim, why)

    def fail_queued(self, key: CubicleKey, error: str) -> None:
        """Nothing more is done in the cubicle: everything that waits for it fails with the reason."""
        with self._store.reading() as db:
            waiting = rows.list_queued(db, key)
        for turn in waiting:
            self.end_turn(key, turn, TurnStatus.FAILED, error=error)

    def list_running(self) -> list[tuple[CubicleKey, rows.TurnClaim]]:
        """Every turn that some crab holds."""
        with self._store.reading() as db:
            return rows.list_running(db)

    def list_waiting(self) -> list[CubicleKey]:
        """Every cubicle with a queue."""
        with self._store.reading() as db:
            return rows.list_waiting_cubicles(db)

    def list_unserved(self) -> list[CubicleKey]:
        """Cubicles with a queue and no crab that serves it. One that listens is told again."""
        with self._store.reading() as db:
            busy = {key for key, _ in rows.list_running(db)}
            waiting = rows.list_waiting_cubicles(db)
        return [key for key in waiting if key not in busy and not self._long_poll.wake_listeners(key)]

    def _find_conversation(
        self, db: sqlite3.Connection, key: CubicleKey, conversation: int | None, now: float
    ) -> Conversation:
        found = conversation_rows.find_conversation(db, key, conversation)
        if found is None and conversation is not None:
            raise NotFound(_NO_CONVERSATION.format(conversation=conversation, agent=key.agent))
        return found or conversation_rows.ensure_first(db, key, now)

    def _get_member(self, db: sqlite3.Connection, place: Conversation, turn: int) -> Turn:
        found = rows.get_turn(db, turn)
        if found is None or not branch_rows.is_member(db, place, found):
            raise NotFound(f"There is no message {turn} in this conversation.")
        return found

    def _show_rest(self, db: sqlite3.Connection, withdrawn: Turn) -> None:
        """A conversation that would have gone on with a withdrawn message goes on with what was there before it."""
        place = conversation_rows.get_conversation(db, withdrawn.conversation)
        if place is not None and place.head == withdrawn.parent:
            conversation_rows.set_head(db, place.id, branch_rows.find_newest_leaf(db, place, withdrawn.parent))

    def _get_turn(self, db: sqlite3.Connection, turn: int) -> Turn:
        found = rows.get_turn(db, turn)
        if found is None:
            raise NotFound(f"There is no turn {turn}.")
        return found

    def _is_asked_for(self, key: CubicleKey) -> bool:
        """A crab takes the next turn by itself: it listens, has just ended one, or holds one, and then nothing may be
        replaced under it. Of a cubicle that is not fresh only the last counts: the crab may be dead by now, or go."""
        is_fresh = self._is_fresh(key)
        is_heard = self._long_poll.wake_listeners(key) or time.monotonic() < self._ended_at.get(key, 0.0) + _AFTERGLOW_S
        return (is_fresh and is_heard) or bool(self.list_held(key))

    def _claim_next(self, key: CubicleKey, boot: str) -> Turn | None:
        with self._store.reading() as db:
            held = rows.list_running(db, key)
            waiting = rows.get_first_queued(db, key)
        for _, claim in held:
            self._release_claim(key, claim, "the agent's loop was restarted")
        if held:
            return self._claim_next(key, boot)
        if waiting is None:
            return None
        if not self._is_fresh(key):
            self._wake(key)  # this crab holds no turn, so its container may be replaced under it
            return None
        with self._store.writing() as db:
            # Again, for good: meanwhile another crab may have taken the turn before, or this cubicle be put to sleep.
            is_free = self._is_fresh(key) and not rows.list_running(db, key)
            claimed = is_free and rows.claim_turn(db, waiting, boot, time.time())
        return self.get(waiting) if claimed else None

    def _release_claim(self, key: CubicleKey, claim: rows.TurnClaim, why: str) -> None:
        self._hooks.turn_stopping.fire(TurnMoment(key, claim.turn))
        if claim.stop_asked:
            self.end_turn(key, claim.turn, TurnStatus.STOPPED)
            return
        with self._store.writing() as db:
            if rows.requeue_turn(db, claim.turn):
                return
        self.end_turn(key, claim.turn, TurnStatus.FAILED, error=_INTERRUPTED.format(why=why))

    def _write_end(
        self,
        db: sqlite3.Connection,
        key: CubicleKey,
        turn: int,
        status: TurnStatus,
        *,
        reply: str | None = None,
        error: str | None = None,
        action: str | None = None,
    ) -> bool:
        now = time.time()
        if status is TurnStatus.STOPPED or (status is TurnStatus.FAILED and rows.is_stop_asked(db, turn)):
            status, error = TurnStatus.STOPPED, None  # what broke is that a person ended it
        reply = partial_replies.get_final_reply(db, turn, status, None if reply is None else reply[:MAX_REPLY_CHARS])
        if not rows.end_turn(db, turn, status, now=now, reply=reply, error=error, action=action):
            return False
        text = (reply if error is None else error) or str(status)
        audit_rows.insert_record(db, f"turn.{status}", text, now=now, agent=key.agent, user=key.user, turn=turn)
        self._store.after_commit(partial(self._tell_end, key, turn))
        return True

    def _tell_end(self, key: CubicleKey, turn: int) -> None:
        try:
            self._hooks.turn_ended.fire(TurnMoment(key, turn))
            self._publish_turn(self.get(turn))
        finally:
            self._ended_at[key] = time.monotonic()
            with self._ended:
                self._ended.notify_all()

    def _on_turn_ended(self, ended: TurnMoment) -> None:
        """What was kept for a turn while it was under way goes."""
        self.outputs.forget_turn(ended.turn)
        with self._store.reading() as db:
            was_stop_asked = rows.is_stop_asked(db, ended.turn)
        if was_stop_asked:
            self._locks.clear_stop(ended.cubicle, ended.turn)

    def _show_status(self, approval: Approval) -> None:
        """A turn may wait for a person, or not any more."""
        with self._store.reading() as db:
            turn = None if approval.turn is None else rows.get_turn(db, approval.turn)
        if turn is not None and not turn.status.is_final:
            self._broker.publish(Event("turn", approval.cubicle, {"turn": turn.id, "status": str(turn.status)}))

    def _publish_turn(self, turn: Turn) -> None:
        self._broker.publish(Event("turn", turn.cubicle, turn_json(turn)))


def _note_sources(db: sqlite3.Connection, key: CubicleKey, turn: int, prompt: str, forwarded: str) -> None:
    """What of the message its person need not have written: its files, and words that they pass on."""
    found = [NewSource(SourceKind.FILE, file.path, ref=f"turn:{turn}") for file in split_prompt(prompt)[1]]
    found += [NewSource(SourceKind.MESSAGE, forwarded, ref=f"turn:{turn}")] if forwarded else []
    for one in found:
        source_rows.add_source(db, key, turn, one, now=time.time())
