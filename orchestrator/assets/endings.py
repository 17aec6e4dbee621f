"""How what was asked for ends: the row, the calls that wait for it, what a person and the agent hear of it.

Within the transaction that is given, all of it; who shows it is told once that is committed. Owns no decision.
"""

from __future__ import annotations

import sqlite3
import time
from functools import partial

from orchestrator.assets import words
from orchestrator.capabilities.table import Finish
from orchestrator.events import Broker
from orchestrator.notices import Notices
from orchestrator.nouns import Event
from orchestrator.store import assets as rows
from orchestrator.store import audit as audit_rows
from orchestrator.store import calls as call_rows
from orchestrator.store import turns as turn_rows
from orchestrator.store.assets import Asset, AssetStatus
from orchestrator.store.database import Store


def reference(asset: str) -> str:
    """What a call waits for that waits for this asset."""
    return f"asset:{asset}"


class Endings:
    """Ends assets."""

    def __init__(self, *, store: Store, broker: Broker, notices: Notices, finish: Finish) -> None:
        """``finish`` ends waiting calls within the transaction."""
        self._store = store
        self._broker = broker
        self._notices = notices
        self._finish = finish

    def end(self, db: sqlite3.Connection, asset: Asset, status: AssetStatus, error: str = "") -> None:
        """It ends so, and what waits for it with it; ended before is fine."""
        led_here = rows.led_here(db, asset.id)
        if not rows.end(db, asset.id, status, time.time(), error=error):
            return
        ended = _read(db, asset.id)
        self._tell_person(db, ended, led_here)
        self._call_finished(ended)
        others = [self._end_like(db, waiting, ended) for waiting in led_here]
        self._audit(db, ended)
        for each in (ended, *others):
            self._store.after_commit(partial(self.tell, each))

    def tell(self, asset: Asset) -> None:
        """Surfaces show where it stands."""
        self._broker.publish(Event("asset", asset.cubicle, words.as_json(asset)))

    def _end_like(self, db: sqlite3.Connection, waiting: Asset, ended: Asset) -> Asset:
        """What sends on to another ends as that did; people and the agent hear of the other alone."""
        is_done = ended.status is AssetStatus.DONE
        rows.copy_result(db, waiting.id, ended)
        status = AssetStatus.DONE if is_done else AssetStatus.FAILED
        error = "" if is_done else words.led_astray(waiting, ended)
        rows.end(db, waiting.id, status, time.time(), error=error)
        rows.withhold(db, waiting.id)
        found = _read(db, waiting.id)
        self._call_finished(found)
        return found

    def _call_finished(self, asset: Asset) -> None:
        is_done = asset.status is AssetStatus.DONE
        self._finish(reference(asset.id), ok=is_done, text=words.outcome(asset), result=words.result(asset))

    def _tell_person(self, db: sqlite3.Connection, ended: Asset, led_here: list[Asset]) -> None:
        """Whoever waits in a turn under way hears it there; everybody else by a notice, the agent by a note."""
        if any(call_rows.is_awaited(db, reference(each.id)) for each in (ended, *led_here)):
            rows.withhold(db, ended.id)
            return
        is_under_way = ended.turn is not None and turn_rows.is_open(db, ended.turn)
        if is_under_way or ended.status not in (AssetStatus.DONE, AssetStatus.FAILED):
            return
        self._notices.post(ended.cubicle, "asset", words.notice(ended), turn=ended.turn, subject=ended.id)

    def _audit(self, db: sqlite3.Connection, ended: Asset) -> None:
        key, is_done = ended.cubicle, ended.status is AssetStatus.DONE
        found = {"name": ended.name, "size": ended.size_bytes, "sha256": ended.sha256} if is_done else {}
        audit_rows.add(
            db,
            "asset.arrived" if is_done else f"asset.{ended.status}",
            words.audited(ended),
            now=time.time(),
            agent=key.agent,
            user=key.user,
            turn=ended.turn,
            detail={"asset": ended.id, "url": ended.url, "content_type": ended.content_type, **found},
        )


def _read(db: sqlite3.Connection, asset: str) -> Asset:
    found = rows.one(db, asset)
    assert found is not None  # noqa: S101 - it was updated just now, in this transaction
    return found
