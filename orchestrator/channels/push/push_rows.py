"""Rows of devices that get notifications, and of notes: one thing, told or to be told to one device. A device goes with
its login, and its notes go with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.agents.access_rows import NOT_CLOSED
from orchestrator.core.models import Turn
from orchestrator.turns import rows as turn_rows

_LIVE = "session IN (SELECT sha256 FROM sessions WHERE expires_at > ?)"
_NEWEST_TURNS = 500
"""What ended is looked for among so many, so that a look costs the same however much there is."""


class NoteState(StrEnum):
    """Where a note stands."""

    LATER = "later"
    """Sent from a time on: an answer that may be read first, or what a push service did not take yet."""
    QUEUED = "queued"
    """There is a job for it."""
    SENT = "sent"
    GONE = "gone"
    """It came to nothing, or nobody needs it."""


@dataclass(frozen=True, slots=True)
class PushDevice:
    """One browser that gets notifications."""

    id: str
    user: int
    session: str
    """The digest of its login."""
    endpoint: str
    p256dh: str
    auth: str
    tells: tuple[str, ...]
    """What it is told of."""
    shows_text: bool
    """Notifications say what it is about, also on a lock screen."""
    created_at: float
    sent_at: float | None
    """When a push service took something for it last."""
    trouble: str
    """Why the last one did not get there, as a sentence; empty where it did."""


@dataclass(frozen=True, slots=True)
class PushNote:
    """One thing for one device."""

    device: str
    ref: str
    """``approval:ID``, ``question:ID``, ``turn:ID`` or ``notice:ID``."""
    agent: str
    at: float
    state: NoteState
    is_over: bool
    """It was decided: what the device shows is to say so."""
    tries: int
    due_at: float | None
    used_at: float | None
    """When one of its buttons was used."""


# --- devices -----------------------------------------------------------------------------------------------------


def insert_device(db: sqlite3.Connection, device: PushDevice) -> None:
    """A new device; one with the same login or the same address goes."""
    db.execute("DELETE FROM push_devices WHERE session = ? OR endpoint = ?", (device.session, device.endpoint))
    db.execute(
        "INSERT INTO push_devices (id, user, session, endpoint, p256dh, auth, tells, shows_text, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            device.id,
            device.user,
            device.session,
            device.endpoint,
            device.p256dh,
            device.auth,
            ",".join(device.tells),
            int(device.shows_text),
            device.created_at,
        ),
    )


def list_devices(db: sqlite3.Connection, now: float, *, user: int | None = None) -> list[PushDevice]:
    """The devices whose login lasts, oldest first; of one person where given."""
    found = db.execute(
        f"SELECT * FROM push_devices WHERE {_LIVE} AND (? IS NULL OR user = ?) ORDER BY created_at, id",  # noqa: S608 - constant
        (now, user, user),
    )
    return [_make_device(row) for row in found]


def get_device(db: sqlite3.Connection, device: str, now: float) -> PushDevice | None:
    """The device with this id, as long as its login lasts."""
    row = db.execute(f"SELECT * FROM push_devices WHERE id = ? AND {_LIVE}", (device, now)).fetchone()  # noqa: S608 - constant
    return None if row is None else _make_device(row)


def find_by_endpoint(db: sqlite3.Connection, endpoint: str) -> PushDevice | None:
    """The device with this address, whosever it is."""
    row = db.execute("SELECT * FROM push_devices WHERE endpoint = ?", (endpoint,)).fetchone()
    return None if row is None else _make_device(row)


def update_device(db: sqlite3.Connection, device: str, *, tells: Sequence[str], shows_text: bool) -> None:
    """What it is told of from now on."""
    db.execute(
        "UPDATE push_devices SET tells = ?, shows_text = ? WHERE id = ?", (",".join(tells), int(shows_text), device)
    )


def mark_reached(db: sqlite3.Connection, device: str, now: float) -> None:
    """A push service took something for it."""
    db.execute("UPDATE push_devices SET sent_at = ?, trouble = '' WHERE id = ?", (now, device))


def set_trouble(db: sqlite3.Connection, device: str, trouble: str) -> None:
    """Why the last one did not get there."""
    db.execute("UPDATE push_devices SET trouble = ? WHERE id = ?", (trouble, device))


def delete_device(db: sqlite3.Connection, device: str) -> None:
    """It gets nothing any more; gone already is fine."""
    db.execute("DELETE FROM push_devices WHERE id = ?", (device,))


# --- notes -------------------------------------------------------------------------------------------------------


def insert_note(
    db: sqlite3.Connection,
    device: str,
    ref: str,
    agent: str,
    state: NoteState,
    *,
    now: float,
    due_at: float | None = None,
) -> bool:
    """Write down that a device is to be told, from ``due_at`` on where given, or that it is not; False when it was
    written down before."""
    cursor = db.execute(
        "INSERT INTO push_notes (device, ref, agent, at, state, due_at) SELECT ?, ?, ?, ?, ?, ? "
        "WHERE EXISTS (SELECT 1 FROM push_devices WHERE id = ?) ON CONFLICT DO NOTHING",
        (device, ref, agent, now, state, due_at, device),
    )
    return cursor.rowcount == 1


def get_note(db: sqlite3.Connection, device: str, ref: str) -> PushNote | None:
    """What is known of it."""
    row = db.execute("SELECT * FROM push_notes WHERE device = ? AND ref = ?", (device, ref)).fetchone()
    return None if row is None else _make_note(row)


def list_due(db: sqlite3.Connection, now: float) -> list[PushNote]:
    """What waited for its time, which has come."""
    found = db.execute("SELECT * FROM push_notes WHERE state = 'later' AND due_at <= ? ORDER BY due_at", (now,))
    return [_make_note(row) for row in found]


def next_due(db: sqlite3.Connection) -> float | None:
    """When the next of those is due."""
    row = db.execute("SELECT MIN(due_at) FROM push_notes WHERE state = 'later'").fetchone()
    return None if row[0] is None else float(row[0])


def list_standing(db: sqlite3.Connection) -> list[PushNote]:
    """Questions of any kind that devices were told of, and not yet that they are over."""
    found = db.execute(
        "SELECT * FROM push_notes WHERE is_over = 0 AND state != 'gone' "
        "AND (ref GLOB 'approval:*' OR ref GLOB 'question:*')"
    )
    return [_make_note(row) for row in found]


def save_note(
    db: sqlite3.Connection, note: PushNote, state: NoteState, *, is_over: bool, tries: int, due_at: float | None = None
) -> None:
    """How it stands from now on."""
    db.execute(
        "UPDATE push_notes SET state = ?, is_over = ?, tries = ?, due_at = ? WHERE device = ? AND ref = ?",
        (state, int(is_over), tries, due_at, note.device, note.ref),
    )


def use_note(db: sqlite3.Connection, device: str, ref: str, now: float) -> bool:
    """One of its buttons is used, once; nothing more is told of it to this device. False when one was used before."""
    cursor = db.execute(
        "UPDATE push_notes SET used_at = ?, is_over = 1, state = 'gone' "
        "WHERE device = ? AND ref = ? AND used_at IS NULL",
        (now, device, ref),
    )
    return cursor.rowcount == 1


def forget_notes(db: sqlite3.Connection, before: float) -> None:
    """What was written down before then and is over is not needed any more."""
    db.execute("DELETE FROM push_notes WHERE at < ? AND (is_over = 1 OR state IN ('sent', 'gone'))", (before,))


# --- what devices are told of --------------------------------------------------------------------------------------


def list_ended_turns(db: sqlite3.Connection, device: PushDevice, since: float) -> list[Turn]:
    """The newest turns of a device's person that ended since then and that there is no note of, oldest first; none that
    was taken back or cleared."""
    found = db.execute(
        "SELECT id FROM turns WHERE id > (SELECT COALESCE(MAX(id), 0) - ? FROM turns) AND +user = ? AND ended_at > ? "  # noqa: S608 - constants
        f"AND {NOT_CLOSED.format(user='turns.user')} AND +forgotten = 0 AND NOT EXISTS "
        "(SELECT 1 FROM push_notes WHERE device = ? AND ref = 'turn:' || turns.id) ORDER BY id",
        (_NEWEST_TURNS, device.user, since, device.id),
    )
    turns = (turn_rows.get_turn(db, int(row["id"])) for row in found.fetchall())
    return [turn for turn in turns if turn is not None]


def is_turn_seen(db: sqlite3.Connection, turn: Turn) -> bool:
    """Its person has looked at its end in the dashboard."""
    row = db.execute(
        "SELECT 1 FROM read_marks WHERE conversation = ? AND turn >= ? AND at >= ?",
        (turn.conversation, turn.id, turn.ended_at or 0.0),
    ).fetchone()
    return row is not None


def list_notices(db: sqlite3.Connection, device: PushDevice, kind: str, since: float) -> list[tuple[int, str, float]]:
    """The newest notices of a kind for a device's person since then without a note: number, agent and time."""
    found = db.execute(
        "SELECT id, agent, at FROM notices WHERE id > (SELECT COALESCE(MAX(id), 0) - ? FROM notices) "  # noqa: S608 - constants
        f"AND +user = ? AND kind = ? AND at > ? AND {NOT_CLOSED.format(user='notices.user')} AND NOT EXISTS "
        "(SELECT 1 FROM push_notes WHERE device = ? AND ref = 'notice:' || notices.id) ORDER BY id",
        (_NEWEST_TURNS, device.user, kind, since, device.id),
    )
    return [(int(row["id"]), str(row["agent"]), float(row["at"])) for row in found]


def _make_device(row: sqlite3.Row) -> PushDevice:
    fields = dict(row)
    tells = tuple(filter(None, str(fields.pop("tells")).split(",")))
    return PushDevice(**{**fields, "tells": tells, "shows_text": bool(fields["shows_text"])})


def _make_note(row: sqlite3.Row) -> PushNote:
    return PushNote(**{**dict(row), "state": NoteState(row["state"]), "is_over": bool(row["is_over"])})
