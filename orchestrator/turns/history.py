"""Reading back: a conversation searched by its words, looked at around one of its turns, and the summary that stands
for its older part. It only reads; what was cleared is not there any more.
"""

from __future__ import annotations

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
        """The turns that hold every word or one that begins with it, newest first, of one conversation or of all;
        ``before`` is the id to go on from. A turn is found as soon as it has ended."""
        with self._store.reading() as db:
            ids = turn_words.find_turns(db, key, words, conversation=conversation, limit=limit, before=before)
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
            found = turn_words.find_passages(db, key, words, conversation=conversation, limit=limit, before=before)
            turns = [(turn_rows.get_turn(db, turn), prompt, reply) for turn, prompt, reply in found]
        return [
            Passages(turn, _split_passage(prompt), _split_passage(reply))
            for turn, prompt, reply in turns
            if turn is not None
        ]

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


def _split_passage(passage: str) -> Pieces:
    """The marks out of the text. One that the text brought itself may begin or end a piece, and nothing worse."""
    first, *rest = passage.split(turn_words.BEGINS)
    pieces = [(first, False)]
    for piece in rest:
        found, _, after = piece.partition(turn_words.ENDS)
        pieces += [(found, True), (after, False)]
    return tuple((text.replace(turn_words.ENDS, ""), is_found) for text, is_found in pieces if text)
