"""Reading back: a conversation searched by its words, looked at around one of its turns, and the summary that stands
for its older part. It only reads; what was cleared is not there any more.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey, Turn
from orchestrator.turns import branch_rows, conversation_rows, summary_rows
from orchestrator.turns import rows as turn_rows
from orchestrator.turns import search_rows as turn_words
from orchestrator.turns.summary_rows import Summary

Pieces = tuple[tuple[str, bool], ...]
"""A text in pieces, each with whether it is a word that was looked for."""


@dataclass(frozen=True, slots=True)
class Passages:
    """A turn that was found, and where the words stand in it."""

    turn: Turn
    prompt: Pieces
    reply: Pieces


@dataclass(frozen=True, slots=True)
class Recalled:
    """A turn that was found, with what was said around it."""

    turn: Turn
    prompt: str
    """Where the words stand in the message; its beginning where they don't."""
    reply: str
    """The same of the reply."""
    before: Turn | None
    after: Turn | None
    conversation: str
    """The name of its conversation."""


class History:
    """Every conversation, to be read."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def search_turns(
        self,
        key: CubicleKey,
        words: str,
        *,
        conversation: int | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> list[Turn]:
        """The turns that fit the words, the best first, of one conversation or of all; ``before`` is the id of the turn
        to go on after. A turn is found as soon as it has ended."""
        with self._store.reading() as db:
            ids = _go_on(turn_words.rank_turns(db, key, words, conversation=conversation), limit, before)
            return [turn for turn in (turn_rows.get_turn(db, turn) for turn in ids) if turn is not None]

    def find_passages(
        self,
        key: CubicleKey,
        words: str,
        *,
        conversation: int | None = None,
        limit: int = 50,
        before: int | None = None,
    ) -> list[Passages]:
        """The same turns, with what to show of each."""
        with self._store.reading() as db:
            ids = _go_on(turn_words.rank_turns(db, key, words, conversation=conversation), limit, before)
            found = turn_words.find_passages(db, key, words, ids)
            turns = [(turn_rows.get_turn(db, turn), *found.get(turn, ("", ""))) for turn in ids]
        return [
            Passages(turn, _split_passage(prompt), _split_passage(reply))
            for turn, prompt, reply in turns
            if turn is not None
        ]

    def recall(self, key: CubicleKey, words: str, *, since: float = 0.0, limit: int = 5) -> list[Recalled]:
        """What was said about something, with the turns around it, the best first. It reads one cubicle's
        conversations and no other's.

        Args:
            key: whose conversations.
            words: what it was about.
            since: in Unix seconds; what was asked before is left out.
            limit: how many at most.
        """
        with self._store.reading() as db:
            ids = turn_words.rank_turns(db, key, words, since=since)[:limit]
            passages = turn_words.find_passages(db, key, words, ids, length=turn_words.MOST_PASSAGE_WORDS)
            return [self._look_around(db, turn, passages.get(turn, ("", ""))) for turn in ids]

    def _look_around(self, db: sqlite3.Connection, turn: int, passage: tuple[str, str]) -> Recalled:
        *before, found = branch_rows.list_branch(db, turn, limit=2)
        place = conversation_rows.get_conversation(db, found.conversation)
        after = branch_rows.list_following(db, place, turn, limit=1) if place else []
        prompt, reply = ("".join(text for text, _ in _split_passage(part)) for part in passage)
        name = place.shown_name if place else ""
        return Recalled(found, prompt, reply, before[0] if before else None, after[0] if after else None, name)

    def list_following(self, turn: Turn, *, limit: int = 50) -> list[Turn]:
        """The turns that came next after one in its conversation, oldest first."""
        with self._store.reading() as db:
            place = conversation_rows.get_conversation(db, turn.conversation)
            return branch_rows.list_following(db, place, turn.id, limit=limit) if place else []

    def list_around(self, turn: Turn, *, limit: int) -> tuple[list[Turn], list[Turn]] | None:
        """So many turns before this one and after it, oldest first; None when it was cleared."""
        with self._store.reading() as db:
            until = branch_rows.list_branch(db, turn.id, limit=limit + 1)
        return (until[:-1], self.list_following(turn, limit=limit)) if until else None

    def get_summary(self, key: CubicleKey, conversation: int | None = None) -> Summary | None:
        """What the agent is told instead of the conversation's older part; None while it is told everything."""
        with self._store.reading() as db:
            place = conversation_rows.find_conversation(db, key, conversation)
            return summary_rows.get_latest(db, place.head if place else None)


def _go_on(turns: list[int], limit: int, before: int | None) -> list[int]:
    """A page of what was put in order; nothing after a turn that is not in it any more."""
    start = 0 if before is None else turns.index(before) + 1 if before in turns else len(turns)
    return turns[start : start + limit]


def _split_passage(passage: str) -> Pieces:
    """The marks out of the text. One that the text brought itself may begin or end a piece, and nothing worse."""
    first, *rest = passage.split(turn_words.BEGINS)
    pieces = [(first, False)]
    for piece in rest:
        found, _, after = piece.partition(turn_words.ENDS)
        pieces += [(found, True), (after, False)]
    return tuple((text.replace(turn_words.ENDS, ""), is_found) for text, is_found in pieces if text)
