"""Branches: a conversation is a tree. A message that is edited, or asked again, stands beside the one before it, and
nothing is overwritten; one branch at a time is shown and goes on.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Conflict, NotFound
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks, TurnMoment
from orchestrator.core.models import Conversation, Event, Turn
from orchestrator.files.attachments import prompt_with_files, split_prompt
from orchestrator.turns import branch_rows, conversation_rows, summary_rows
from orchestrator.turns import rows as turn_rows
from orchestrator.turns.branch_rows import TurnLink
from orchestrator.turns.prompts import check_prompt
from orchestrator.turns.queue import Turns
from orchestrator.turns.titles import make_title

Siblings = Mapping[int, tuple[int, ...]]
"""By turn: the turns that stand beside it, itself too."""
MOST_IN_A_TREE = 20_000
"""Turns of a conversation that its tree is drawn from: the newest."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Turns that follow each other, between two forks of a conversation."""

    first: Turn
    last: Turn
    count: int
    """How many turns it has."""
    depth: int
    """How many forks come before it."""
    is_shown: bool
    """It is on the branch that goes on."""


class Branches:
    """The branches of every conversation."""

    def __init__(self, store: Store, broker: Broker, turns: Turns, hooks: Hooks) -> None:
        self._store = store
        self._broker = broker
        self._turns = turns
        self._hooks = hooks

    def send_again(
        self,
        conversation: Conversation,
        turn: int,
        text: str | None = None,
        *,
        source: str,
        origin: str | None = None,
    ) -> Turn:
        """Send a message once more, beside itself: with other words, or for another answer.

        Args:
            conversation: where.
            turn: the one whose message it is.
            text: the new words, without the files that came with the message, which stay; None for the same message.
            source: the surface that it is sent from.
            origin: what makes a repeated request the same one.

        Returns the new turn, which the conversation goes on with. Raises as ``Turns.submit`` does.
        """
        return self._turns.submit(
            conversation.cubicle,
            self.make_prompt(conversation, turn, text),
            source=source,
            origin=origin,
            conversation=conversation.id,
            instead_of=turn,
        )

    def make_prompt(self, conversation: Conversation, turn: int, text: str | None) -> str:
        """What ``send_again`` sends. Raises NotFound for a turn that is not in the conversation, BadInput or TooLarge
        for what is no message."""
        found = self._check_member(conversation, turn)
        prompt = found.prompt if text is None else prompt_with_files(text, split_prompt(found.prompt)[1])
        check_prompt(prompt)
        return prompt

    def select(self, conversation: Conversation, turn: int) -> Conversation:
        """Show the branch with this turn, by its newest end, and go on with it. Raises NotFound."""
        with self._store.writing() as db:
            found = turn_rows.get_turn(db, turn)
            if found is None or not branch_rows.is_member(db, conversation, found):
                raise NotFound(f"There is no message {turn} in this conversation.")
            conversation_rows.set_head(db, conversation.id, branch_rows.find_newest_leaf(db, conversation, turn))
            now = conversation_rows.get_conversation(db, conversation.id) or conversation
        self._broker.publish(Event("conversation", now.cubicle, {"conversation": now.id, "head": now.head}))
        return now

    def go_before(self, turn: Turn, *, with_later: bool) -> bool:
        """The conversation goes on from what was before this turn, which stays on a branch of its own; False where it
        goes another way anyway, or, unless ``with_later``, has gone on since."""
        with self._store.writing() as db:
            place = conversation_rows.get_conversation(db, turn.conversation)
            if place is None or place.head is None:
                return False
            if place.head != turn.id and not (with_later and branch_rows.has_ancestor(db, place.head, turn.id)):
                return False
            conversation_rows.set_head(db, place.id, turn.parent)
        self._broker.publish(Event("conversation", place.cubicle, {"conversation": place.id, "head": turn.parent}))
        return True

    def delete_turn(self, turn: int, *, by: str) -> None:
        """Delete one message with its answer and what its commands printed: it leaves every conversation that it can be
        reached in, and the agent is told no word of it any more. What followed it follows what was before it. Files,
        memories and the audit log stay.

        Raises NotFound, or Conflict for one that has not ended.
        """
        now = time.time()
        with self._store.writing() as db:
            found = turn_rows.get_turn(db, turn)
            if found is None or found.is_cleared:
                raise NotFound(f"There is no message {turn}.")
            key, places = found.cubicle, branch_rows.find_sharing(db, found)
            was_summed_up = summary_rows.forget_turn(db, key, turn)
            headed = branch_rows.find_headed(db, turn)
            if not turn_rows.erase_turn(db, turn, now):
                raise Conflict(f"{key.agent} has not finished with this message. Stop it first, then delete it.")
            branch_rows.remove_turn(db, turn, found.parent)
            for place in headed:
                fork = conversation_rows.get_conversation(db, place.id) or place
                conversation_rows.set_head(db, place.id, branch_rows.find_newest_leaf(db, fork, found.parent))
            _rename(db, found)
            text, detail = f"A message was deleted by {by}.", {"conversation": found.conversation}
            audit_rows.insert_record(
                db, "turn.deleted", text, now=now, agent=key.agent, user=key.user, turn=turn, detail=detail
            )
            heads = {one: conversation_rows.get_conversation(db, one) for one in places}
        for sharing, now_there in heads.items():
            head = now_there.head if now_there else None
            self._broker.publish(Event("conversation", key, {"conversation": sharing, "head": head, "deleted": turn}))
            if was_summed_up and head is not None:
                self._hooks.summary_dropped.fire(TurnMoment(key, head))

    def list_siblings(self, turns: Sequence[Turn], conversation: Conversation | None = None) -> Siblings:
        """For each of these turns all that could stand in its place, itself too, oldest first: in this conversation, or
        each in its own for None."""
        with self._store.reading() as db:
            if conversation is not None:
                return branch_rows.list_siblings(db, conversation, turns)
            found: dict[int, tuple[int, ...]] = {}
            for place in {turn.conversation for turn in turns}:
                own = conversation_rows.get_conversation(db, place)
                theirs = [turn for turn in turns if turn.conversation == place]
                found |= branch_rows.list_siblings(db, own, theirs) if own else {}
            return found

    def list_children(self, turn: int) -> list[int]:
        """The turns that follow one, in its conversation and in those that go on from it."""
        with self._store.reading() as db:
            return branch_rows.list_children(db, turn)

    def list_turns(self, conversation: Conversation) -> list[int]:
        """The newest turns of the whole conversation, on whatever branch, each after the one that it follows."""
        with self._store.reading() as db:
            return [link.turn for link in branch_rows.list_links(db, conversation, most=MOST_IN_A_TREE)]

    def get_tree(self, conversation: Conversation) -> list[Stretch]:
        """The whole conversation, each stretch before those that go on from it; older branches first."""
        with self._store.reading() as db:
            links = branch_rows.list_links(db, conversation, most=MOST_IN_A_TREE)
            found = _cut_into_stretches(links, conversation.head)
            ends = {turn for ids, _, _ in found for turn in (ids[0], ids[-1])}
            known = {turn: turn_rows.get_turn(db, turn) for turn in ends}
        tree = []
        for ids, depth, is_shown in found:
            first, last = known[ids[0]], known[ids[-1]]
            if first is not None and last is not None:
                tree.append(Stretch(first, last, len(ids), depth, is_shown))
        return tree

    def _check_member(self, conversation: Conversation, turn: int) -> Turn:
        """The turn, if it can be reached in this conversation; raises NotFound."""
        with self._store.reading() as db:
            found = turn_rows.get_turn(db, turn)
            if found is None or not branch_rows.is_member(db, conversation, found):
                raise NotFound(f"There is no message {turn} in this conversation.")
        return found


def _rename(db: sqlite3.Connection, deleted: Turn) -> None:
    """A conversation that was called by the words of a message that was deleted is called by those of its oldest."""
    place = conversation_rows.get_conversation(db, deleted.conversation)
    if place is not None and place.title == make_title(deleted.prompt):
        left = branch_rows.find_oldest(db, place.id)
        conversation_rows.set_title(db, place.id, make_title(left.prompt) if left else "")


def _cut_into_stretches(links: Sequence[TurnLink], head: int | None) -> list[tuple[list[int], int, bool]]:
    """Each stretch's turns, its depth, and whether the way to ``head`` goes through it."""
    parents = dict(links)
    children: dict[int | None, list[int]] = {}
    for turn, parent in links:
        children.setdefault(parent if parent in parents else None, []).append(turn)
    shown: set[int] = set()
    while head in parents:
        shown.add(head)
        head = parents[head]
    found = []
    waiting = [(turn, 0 if len(children[None]) == 1 else 1) for turn in reversed(children.get(None, []))]
    while waiting:
        turn, depth = waiting.pop()
        ids = [turn]
        while len(following := children.get(ids[-1], [])) == 1:
            ids.append(following[0])
        found.append((ids, depth, ids[0] in shown))
        waiting += [(child, depth + 1) for child in reversed(following)]
    return found
