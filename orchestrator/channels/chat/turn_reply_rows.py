"""Rows about answers in chats: which turns are owed one, where it belongs, and which status messages are up."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.channels.chat.channel_store import ChannelDb

_ENDED = "('done', 'failed', 'stopped')"
_OWED_OFFER = (
    "turn_points.changed > 0 AND turn_points.undone_at IS NULL AND NOT EXISTS (SELECT 1 FROM chat_buttons WHERE "
    "ref > 'turn:' || turns.id || ':' AND ref < 'turn:' || turns.id || ';' AND channel = :channel AND kind = :kind)"
)


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where a turn was asked for, and so where its answer belongs."""

    agent: str
    chat: int
    thread: int | None
    message: int | None
    """The message that asked."""
    album: str

    @property
    def is_private(self) -> bool:
        """A chat with one person: it has that person's number; groups have one below zero."""
        return self.chat > 0


@dataclass(frozen=True, slots=True)
class ShownStatus:
    """A status message that is in a chat, or on its way there."""

    turn: int
    agent: str
    chat: int
    message: int
    """0 while only the outbox knows it."""


def list_unposted(db: ChannelDb, limit: int) -> list[int]:
    """The oldest turns from this channel and from the calendar that have ended and whose answer was not posted. Whom
    the calendar may tell in another channel alone is left to that."""
    rows = db.sql.execute(
        f"SELECT id FROM turns WHERE source = :channel AND told_at IS NULL AND status IN {_ENDED} "  # noqa: S608 - constant
        f"UNION ALL SELECT id FROM turns WHERE source = 'calendar' AND told_at IS NULL AND status IN {_ENDED} "
        "AND (EXISTS (SELECT 1 FROM identities WHERE user = turns.user AND channel = :channel) "
        "OR NOT EXISTS (SELECT 1 FROM identities WHERE user = turns.user)) ORDER BY id LIMIT :limit",
        {"channel": db.channel, "limit": limit},
    )
    return [int(row["id"]) for row in rows]


def set_told(db: ChannelDb, turn: int, now: float) -> bool:
    """The answer is posted, in this transaction; False when it was before."""
    cursor = db.sql.execute("UPDATE turns SET told_at = ? WHERE id = ? AND told_at IS NULL", (now, turn))
    return cursor.rowcount == 1


def told_with_apps(db: ChannelDb, since: float) -> list[tuple[int, float]]:
    """The turns that made or changed web apps and whose answer was posted since, and when; without those whose apps
    were posted, too."""
    rows = db.sql.execute(
        "SELECT id, told_at FROM turns WHERE apps <> '[]' AND told_at > :since AND source IN (:channel, 'calendar') "
        "AND NOT EXISTS (SELECT 1 FROM chat_outbox WHERE channel = :channel "
        "AND ref = 'turn:' || turns.id || ':app:1') ORDER BY id",
        {"channel": db.channel, "since": since},
    )
    return [(int(row["id"]), float(row["told_at"])) for row in rows]


def told_with_changes(db: ChannelDb, kind: str, since: float) -> list[tuple[int, int]]:
    """The turns that changed files, were not taken back and whose answer was posted since, with how many files; without
    those that there is a button of this kind for."""
    rows = db.sql.execute(
        "SELECT turns.id, turn_points.changed FROM turns JOIN turn_points ON turn_points.turn = turns.id "  # noqa: S608 - constant
        f"WHERE {_OWED_OFFER} AND turns.id > (SELECT MAX(id) FROM turns) - 500 "
        "AND told_at > :since AND source IN (:channel, 'calendar') ORDER BY turns.id",
        {"channel": db.channel, "kind": kind, "since": since},
    )
    return [(int(row["id"]), int(row["changed"])) for row in rows]


def is_owed_offer(db: ChannelDb, kind: str, turn: int) -> bool:
    """The turn changed files, was not taken back, and has no button of this kind."""
    row = db.sql.execute(
        "SELECT 1 FROM turns JOIN turn_points ON turn_points.turn = turns.id "  # noqa: S608 - constant
        f"WHERE {_OWED_OFFER} AND turns.id = :turn",
        {"channel": db.channel, "kind": kind, "turn": turn},
    ).fetchone()
    return row is not None


def under_way(db: ChannelDb) -> list[int]:
    """The turns from this channel that a crab works on."""
    rows = db.sql.execute(
        "SELECT id FROM turns WHERE source = ? AND told_at IS NULL "
        "AND status IN ('running', 'waiting_approval') ORDER BY id",
        (db.channel,),
    )
    return [int(row["id"]) for row in rows]


def place_of(db: ChannelDb, turn: int) -> TurnPlace | None:
    """Where the turn was asked for; None when nothing is known of it any more."""
    row = db.sql.execute(
        "SELECT inbox.agent, inbox.chat, inbox.thread, inbox.message, inbox.album FROM turns "
        "JOIN chat_inbox AS inbox ON inbox.origin = turns.origin AND inbox.channel = ? WHERE turns.id = ? "
        "ORDER BY inbox.update_id LIMIT 1",
        (db.channel, turn),
    ).fetchone()
    return None if row is None else TurnPlace(**dict(row))


def was_followed(db: ChannelDb, place: TurnPlace) -> bool:
    """Another message for the agent came into the chat after the one that asked."""
    row = db.sql.execute(
        "SELECT 1 FROM chat_inbox WHERE channel = ? AND agent = ? AND chat = ? AND message > ? AND origin IS NOT NULL "
        "AND (album = '' OR album <> ?) LIMIT 1",
        (db.channel, place.agent, place.chat, place.message, place.album),
    ).fetchone()
    return row is not None


def get_message(db: ChannelDb, ref: str) -> tuple[str, int | None] | None:
    """How the message of this ref stands, and the number it got; None when there is none."""
    row = db.sql.execute(
        "SELECT state, message FROM chat_outbox WHERE channel = ? AND ref = ?", (db.channel, ref)
    ).fetchone()
    return None if row is None else (str(row["state"]), row["message"])


# --- status messages -------------------------------------------------------------------------------------------


def insert_status(db: ChannelDb, turn: int, agent: str, chat: int) -> bool:
    """A status message of this turn is about to be in the chat; False when it has one, or the turn has ended."""
    cursor = db.sql.execute(
        "INSERT INTO chat_progress (turn, channel, agent, chat, message) SELECT id, ?, ?, ?, 0 FROM turns "  # noqa: S608 - constant
        f"WHERE id = ? AND status NOT IN {_ENDED} ON CONFLICT DO NOTHING",
        (db.channel, agent, chat, turn),
    )
    return cursor.rowcount == 1


def set_message(db: ChannelDb, turn: int, message: int) -> None:
    """The status message has its number."""
    db.sql.execute("UPDATE chat_progress SET message = ? WHERE turn = ? AND channel = ?", (message, turn, db.channel))


def list_statuses(db: ChannelDb) -> list[ShownStatus]:
    """Every status message that may be in a chat."""
    rows = db.sql.execute(
        "SELECT turn, agent, chat, message FROM chat_progress WHERE channel = ? ORDER BY turn", (db.channel,)
    )
    return [ShownStatus(**dict(row)) for row in rows]


def status_of(db: ChannelDb, turn: int) -> ShownStatus | None:
    """The turn's status message."""
    row = db.sql.execute(
        "SELECT turn, agent, chat, message FROM chat_progress WHERE turn = ? AND channel = ?", (turn, db.channel)
    ).fetchone()
    return None if row is None else ShownStatus(**dict(row))


def delete_status(db: ChannelDb, turn: int) -> None:
    """The turn's status message is gone, or nothing can be done about it."""
    db.sql.execute("DELETE FROM chat_progress WHERE turn = ? AND channel = ?", (turn, db.channel))
