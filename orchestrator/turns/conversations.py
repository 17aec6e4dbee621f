"""Conversations: a person has several with an agent, each with its own context. They are listed, begun, named and
deleted here; the turns in them are ``queue``'s.

What names no conversation goes to the first one, the oldest that there is.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from functools import partial

from orchestrator.approvals import grant_rows, source_rows
from orchestrator.approvals.source_rows import NewSource, Source, SourceKind
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany
from orchestrator.core.events import Broker
from orchestrator.core.models import Conversation, CubicleKey, Event
from orchestrator.core.text import one_line
from orchestrator.languages.told import worded
from orchestrator.turns import branch_rows, read_mark_rows, search_rows, summary_rows, transcript_rows
from orchestrator.turns import conversation_rows as rows
from orchestrator.turns import rows as turn_rows
from orchestrator.turns.titles import make_title
from orchestrator.turns.transcripts import Transcript

MOST = 2_000
"""Conversations of one person with one agent."""
MAX_NAME_CHARS = 100
_MOST_FOUND = 500
"""Turns that a search for conversations looks at."""


class Conversations:
    """The conversations of every cubicle."""

    def __init__(self, store: Store, broker: Broker, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._broker = broker
        self._now = now

    def get(self, key: CubicleKey, conversation: int | None = None) -> Conversation:
        """The cubicle's conversation with this id, or the first one, which begins now if there is none yet.

        Raises NotFound for an id that is not this cubicle's, or deleted.
        """
        with self._store.reading() as db:
            found = rows.find_conversation(db, key, conversation)
        if found is not None:
            return found
        if conversation is not None:
            raise NotFound(f"There is no conversation {conversation} with {key.agent}.")
        with self._store.writing() as db:
            return rows.ensure_first(db, key, self._now())

    def list_conversations(
        self, key: CubicleKey, *, words: str = "", limit: int = 50, before: int | None = None
    ) -> list[Conversation]:
        """The cubicle's conversations, the one that was used last first.

        Args:
            key: whose.
            words: only those with these words in their name, or in a message and its reply; all of them if empty.
            limit: how many at most.
            before: the id of the conversation to go on after; one that is gone begins from the front.
        """
        words = words.replace("\0", " ").strip()[: search_rows.MAX_CHARS]
        with self._store.reading() as db:
            start = None if before is None else rows.find_conversation(db, key, before)
            if not words:
                return rows.list_conversations(db, key, limit=limit, before=start)
            hits = search_rows.find_turns(db, key, words, limit=_MOST_FOUND)
            turns = [turn for turn in (turn_rows.get_turn(db, hit) for hit in hits) if turn is not None]
            ids = {turn.conversation for turn in turns}
            ids |= set(rows.search_names(db, key, words))
            found = [made for made in (rows.find_conversation(db, key, one) for one in ids) if made is not None]
        found.sort(key=lambda made: (made.used_at, made.id), reverse=True)
        if start is not None:
            found = [made for made in found if (made.used_at, made.id) < (start.used_at, start.id)]
        return found[:limit]

    def list_sources(self, conversation: int) -> list[Source]:
        """What the conversation has read that strangers may have written, the oldest first."""
        with self._store.reading() as db:
            found = rows.get_conversation(db, conversation)
            return [] if found is None else source_rows.list_sources(db, found.cubicle, conversation)

    def list_turn_sources(self, turn: int) -> list[Source]:
        """What of that came in in this turn."""
        with self._store.reading() as db:
            return source_rows.list_turn_sources(db, turn)

    def create(self, key: CubicleKey, name: str = "", *, turn: int | None = None) -> Conversation:
        """Begin a conversation.

        Args:
            key: whose.
            name: what it is called; by its first words if empty.
            turn: the turn of another conversation that it goes on from, where it does not begin with nothing.

        Raises BadInput for a name, NotFound for a turn that is not there, Conflict for one that has not ended, or
        TooMany.
        """
        name, now = check_name(name), self._now()
        with self._store.writing() as db:
            self._check_fork(db, key, turn)
            self._check_count(db, key, now)
            made = rows.insert_conversation(db, key, name=name, now=now, forked_from=turn)
            if turn is not None:
                source_rows.inherit_sources(db, turn, made.id)
            self._store.after_commit(partial(self._tell, made))
        return made

    def import_transcript(self, key: CubicleKey, told: Transcript) -> Conversation:
        """Begin a conversation with everything that a transcript tells, all of it read. Nothing in it runs again.

        Raises BadInput for its name, or TooMany.
        """
        name, now = check_name(told.name), self._now()
        with self._store.writing() as db:
            self._check_count(db, key, now)
            made = rows.insert_conversation(db, key, name=name, now=now)
            head = transcript_rows.insert_transcript(db, made, told)
            rows.add_turn(db, made.id, head, title=make_title(told.turns[0].prompt), used_at=now)
            read_mark_rows.mark_read(db, key, head, now)
            brought = NewSource(SourceKind.TRANSCRIPT, told.name or make_title(told.turns[0].prompt))
            source_rows.add_source(db, key, head, brought, now=now)
            text = f"A conversation of {len(told.turns):,} messages was imported."
            audit_rows.insert_record(
                db,
                "conversation.imported",
                text,
                now=now,
                agent=key.agent,
                user=key.user,
                detail={"conversation": made.id},
            )
        imported = self.get(key, made.id)
        self._tell(imported)
        return imported

    def rename(self, key: CubicleKey, conversation: int, name: str) -> Conversation:
        """Give it a name; an empty one brings its first words back. Raises BadInput or NotFound."""
        name = check_name(name)
        self.get(key, conversation)
        with self._store.writing() as db:
            rows.set_name(db, conversation, name)
        renamed = self.get(key, conversation)
        self._tell(renamed)
        return renamed

    def delete(self, key: CubicleKey, conversation: int) -> None:
        """Delete it: it leaves every list and search, and the agent forgets it. Memories, files and the audit log stay.

        Raises NotFound, or Conflict while the agent works on a message in it.
        """
        found = self.get(key, conversation)
        with self._store.writing() as db:
            if turn_rows.has_open(db, conversation):
                raise Conflict(
                    worded(
                        "%(agent)s is still working in this conversation. Stop that first, then delete it.",
                        agent=key.agent,
                    )
                )
            branch_rows.hand_over_shared(db, found)
            turn_rows.clear_conversation(db, conversation)
            branch_rows.join_open(db, conversation)
            summary_rows.delete_summaries(db, conversation)
            grant_rows.end_conversation(db, key, conversation)
            source_rows.forget_sources(db, conversation)
            read_mark_rows.delete_mark(db, conversation)
            rows.archive_conversation(db, conversation, self._now())
            text = f"The conversation “{found.shown_name}” was deleted."
            detail = {"conversation": conversation}
            audit_rows.insert_record(
                db, "conversation.deleted", text, now=self._now(), agent=key.agent, user=key.user, detail=detail
            )
        self._tell(found)

    def _check_count(self, db: sqlite3.Connection, key: CubicleKey, now: float) -> None:
        rows.ensure_first(db, key, now)  # else the new one would be where everything goes that names none
        if rows.count_conversations(db, key) >= MOST:
            raise TooMany(
                worded(
                    "You have %(count)s conversations with %(agent)s. Delete some first.",
                    count=f"{MOST:,}",
                    agent=key.agent,
                )
            )

    def _check_fork(self, db: sqlite3.Connection, key: CubicleKey, turn: int | None) -> None:
        if turn is None:
            return
        found = turn_rows.get_turn(db, turn)
        if found is None or found.cubicle != key or found.is_cleared:
            raise NotFound(f"There is no message {turn} with {key.agent}.")
        if not found.status.is_final:
            raise Conflict(
                worded("%(agent)s is still working on this message. Go on from it when it has ended.", agent=key.agent)
            )

    def _tell(self, conversation: Conversation) -> None:
        self._broker.publish(Event("conversation", conversation.cubicle, {"conversation": conversation.id}))


def check_name(name: str) -> str:
    """The name as it is kept, on one line. Raises BadInput."""
    name = " ".join(name.split())
    if len(name) > MAX_NAME_CHARS:
        raise BadInput(worded("name: use at most %(count)s characters.", count=MAX_NAME_CHARS))
    if one_line(name, MAX_NAME_CHARS) != name:
        raise BadInput("name: leave out invisible characters and control characters.")
    return name
