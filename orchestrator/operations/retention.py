"""How long the install keeps what it knows. A thread looks a few times a day and lets go of what is older than the
settings say, in pieces of a few milliseconds with pauses between them, so that no turn waits for it.

Conversations and the audit log are kept for ever unless somebody said otherwise. Workspaces are never touched.
"""

from __future__ import annotations

import itertools
import logging
import sqlite3
import time
from collections.abc import Callable

from orchestrator.core.config import Keep
from orchestrator.core.db import audit_rows as audit
from orchestrator.core.db.database import Store
from orchestrator.core.periodic import Periodic
from orchestrator.operations import retention_rows as rows

logger = logging.getLogger(__name__)

AT_ONCE = 200
"""Rows in one piece of work; the slowest kind, rows of the audit log with their words, takes some 10 ms for these."""
_FIRST_S = 300.0
_PERIOD_S = 6 * 3600.0
_PAUSE_S = 0.1
_DAY_S = 24 * 3600.0
_LETTERS_DAYS = 30
"""Longer than any question waits: what has no letter is told on Telegram, once more where it had one."""
_USUAL_S = 3 * _DAY_S
"""After a look that lies longer back, or ahead, the date is believed once the install has run with it for a day."""

Piece = Callable[[sqlite3.Connection, float, int], int]


class Retention:
    """Lets go, in a thread of its own."""

    def __init__(
        self,
        store: Store,
        keep: Keep,
        *,
        expire_backups: Callable[[float], int],
        now: Callable[[], float] = time.time,
        running: Callable[[], float] = time.monotonic,
        pause_s: float = _PAUSE_S,
    ) -> None:
        """``expire_backups`` deletes the backups that were made before a time, and says how many. ``running`` counts
        seconds, whatever becomes of the date."""
        self._store, self._keep, self._now, self._pause_s = store, keep, now, pause_s
        self._running, self._doubted_at = running, -_DAY_S
        self._expire_backups = expire_backups
        waits = itertools.chain([_FIRST_S], itertools.repeat(_PERIOD_S))
        self._rounds = Periodic("retention", self.run_once, every_s=lambda: next(waits))

    def start(self) -> None:
        """Begin; the first look is some minutes after the start, when everything else has settled."""
        self._rounds.start()

    def close(self) -> None:
        """End after the current piece."""
        self._rounds.close()

    def run_once(self) -> dict[str, int]:
        """Let go of all that is old enough; how much of what that was, which the audit log gets as one line."""
        if not self._is_date_believed():
            return {}
        gone = {name: self._let_go(piece, days) for name, piece, days in self._list_rules() if days}
        if self._keep.backups_days:
            gone["backups"] = self._expire_backups(self._cutoff_of(self._keep.backups_days))
        gone = {name: count for name, count in gone.items() if count}
        if gone:
            text = "What was older than it is kept is gone: " + ", ".join(
                f"{count} {name}" for name, count in gone.items()
            )
            with self._store.writing() as db:
                audit.insert_record(db, "retention", f"{text}.", now=self._now(), detail=gone)
        return gone

    def _list_rules(self) -> tuple[tuple[str, Piece, int], ...]:
        """What goes, and after how many days; 0 for never. What belongs to a conversation goes with it."""
        keep = self._keep
        details = min((days for days in (keep.details_days, keep.conversations_days) if days), default=0)
        return (
            ("conversations' turns", rows.delete_conversations, keep.conversations_days),
            ("turns' outputs", rows.delete_outputs, details),
            ("notices", rows.delete_notifications, details),
            ("questions", rows.delete_questions, details),
            ("downloads asked for", rows.delete_downloads, details),
            ("approvals", rows.delete_approvals, details),
            ("messages to Telegram", rows.delete_messages, max(details, _LETTERS_DAYS) if details else 0),
            ("audit rows", rows.delete_audit, keep.audit_days),
        )

    def _is_date_believed(self) -> bool:
        """A clock that jumped ahead makes everything old: what is let go of then is gone, also when it is set right."""
        now, running = self._now(), self._running()
        with self._store.writing() as db:
            last = rows.get_last_run(db)
            rows.set_last_run(db, now)
        if last is not None and abs(now - last) > _USUAL_S:
            days = abs(now - last) / _DAY_S
            logger.warning("the last look is %.0f days away by the clock: nothing is let go of for a day", days)
            self._doubted_at = running
        return running - self._doubted_at >= _DAY_S

    def _let_go(self, piece: Piece, days: int) -> int:
        count, before = 0, self._cutoff_of(days)
        while not self._rounds.is_ending:
            with self._store.writing() as db:
                gone = piece(db, before, AT_ONCE)
            if not gone:
                break
            count += gone
            self._rounds.pause(self._pause_s)
        return count

    def _cutoff_of(self, days: int) -> float:
        return self._now() - days * _DAY_S
