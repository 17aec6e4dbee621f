"""Rows of what a transcript brings: turns that ended elsewhere, or long ago, with their steps."""

from __future__ import annotations

import sqlite3

from orchestrator.core.models import Conversation
from orchestrator.turns.transcripts import ToldTurn, Transcript


def insert_transcript(db: sqlite3.Connection, place: Conversation, told: Transcript) -> int:
    """Every turn of the transcript is in the conversation, with new ids. Returns the id of its head."""
    ids: dict[int, int] = {}
    for turn in told.turns:
        parent = None if turn.parent is None else ids[turn.parent]
        ids[turn.id] = _insert_ended_turn(db, place, turn, parent)
    return ids[told.head]


def _insert_ended_turn(db: sqlite3.Connection, place: Conversation, turn: ToldTurn, parent: int | None) -> int:
    key = place.cubicle
    row = db.execute(
        "INSERT INTO turns (agent, user, conversation, parent, source, prompt, status, reply, error, created_at, "
        "started_at, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (
            *(key.agent, key.user, place.id, parent, turn.source, turn.prompt, turn.status, turn.reply, turn.error),
            *(turn.created_at, turn.started_at, turn.ended_at),
        ),
    ).fetchone()
    db.executemany(
        "INSERT INTO steps (turn, n, thought, command, sha256, ruling, reason, status, exit_code, output, started_at, "
        "ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(row["id"], step.n, step.thought, step.command, step.sha256, step.ruling, step.reason, step.status),
                *(step.exit_code, step.output, step.started_at, step.ended_at),
            )
            for step in turn.steps
        ],
    )
    return int(row["id"])
