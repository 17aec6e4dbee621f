"""Deliveries: what left a cubicle's ``out/``, who carries it to its person, and the private copies of it.

It begins where a row is written and its copy kept; what a crash left on its way goes on at the next start. Who carries
a file away is a ``Carrier``'s business; without one the row and its download are the delivery. It never looks into a
workspace.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from orchestrator.capabilities.delivery import messages as words
from orchestrator.capabilities.delivery import rows
from orchestrator.capabilities.delivery.download_links import DownloadLinks
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, OrchestratorError
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Carrier, CubicleKey, Delivery, DeliveryStatus, Event
from orchestrator.files.names import display_path
from orchestrator.turns import rows as turn_rows

logger = logging.getLogger(__name__)

DASHBOARD = "dashboard"
KEPT_FOR_S = 30 * 24 * 3600.0
KEPT_BYTES = 2 << 30
"""What the copies of one cubicle may take; the oldest go first."""
_TOLD_AGAIN_S = 3600.0
_ORPHAN_S = 3600.0
"""Long enough for any copy to get its row."""


class Deliveries:
    """What left, and leaves, the cubicles of this install."""

    def __init__(
        self, *, store: Store, broker: Broker, hooks: Hooks, outbox: Path, links: DownloadLinks, base_url: str
    ) -> None:
        self._store = store
        self._broker = broker
        self._hooks = hooks
        self._outbox = outbox
        self._links = links
        self._base_url = base_url
        self._carriers: tuple[Carrier, ...] = ()

    # --- carrying ----------------------------------------------------------------------------------------------

    def add_carrier(self, carrier: Carrier) -> None:
        """From now on this carrier is asked too. To be called before ``reconcile``."""
        self._carriers = (*self._carriers, carrier)

    def find_destination(self, key: CubicleKey, turn: int | None) -> tuple[Carrier | None, str]:
        """Who takes a file of this turn, and where to; nobody but the dashboard when no carrier does."""
        with self._store.reading() as db:
            made_by = None if turn is None else turn_rows.get_turn(db, turn)
        for carrier in self._carriers:
            if to := carrier.find_destination(key, made_by):
                return carrier, to
        return None, DASHBOARD

    def on_inserted(self, made: Delivery) -> None:
        """The row is written: now the deed, and the news."""
        if made.status is DeliveryStatus.KEPT:
            self._hand_over(made)
        else:
            self._send_text(made)
            self._publish_change(made.id)
            self._hooks.delivery_settled.fire(made)

    def mark_sent(self, delivery: int) -> None:
        """A carrier has brought it; again is fine."""
        self._end_delivery(delivery, DeliveryStatus.SENT, None)

    def mark_failed(self, delivery: int, why: str) -> None:
        """A carrier gave up; ``why`` is for the person. Its download stays."""
        self._end_delivery(delivery, DeliveryStatus.FAILED, why)

    def reconcile(self) -> None:
        """After a start, before anything new is taken: what a crash interrupted goes on."""
        with self._store.reading() as db:
            open_ones, notifications = rows.list_open(db), rows.list_unsent(db, since=time.time() - _TOLD_AGAIN_S)
        self._remove_orphans(older_than=float("inf"))
        for delivery in open_ones:
            self._hand_over(delivery, is_repeated=delivery.status is DeliveryStatus.HANDED)
        for notice in notifications:
            self._send_text(notice)

    def remove_old(self, now: float) -> None:
        """Copies that were kept long enough go, and the oldest of a cubicle that has too many."""
        with self._store.reading() as db:
            going = rows.list_old_copies(db, before=now - KEPT_FOR_S)
            for key, size in rows.sum_copied_bytes(db).items():
                excess = size - KEPT_BYTES
                for delivery in rows.list_oldest_copies(db, key) if excess > 0 else ():
                    if excess <= 0:
                        break
                    going.append(delivery)
                    excess -= delivery.size_bytes
        for delivery in going:
            with self._store.writing() as db:
                rows.forget_copy(db, delivery.id)
            (self._outbox / delivery.copy).unlink(missing_ok=True)
        self._remove_orphans(older_than=now - _ORPHAN_S)

    def _remove_orphans(self, *, older_than: float) -> None:
        """Copies of which no row speaks go: a crash left them, or their agent was deleted."""
        files = [path for path in self._outbox.iterdir() if path.stat().st_mtime < older_than]
        with self._store.reading() as db:
            known = rows.list_copies(db)
        for path in files:
            if path.name not in known:
                path.unlink(missing_ok=True)

    # --- looking -----------------------------------------------------------------------------------------------

    def get_delivery(self, delivery: int) -> Delivery:
        """The delivery with this id; raises NotFound."""
        with self._store.reading() as db:
            found = rows.get_delivery(db, delivery)
        if found is None:
            raise NotFound(f"There is no delivery {delivery}.")
        return found

    def list_deliveries(self, key: CubicleKey, *, limit: int, before: int | None = None) -> list[Delivery]:
        """The newest deliveries of a cubicle, newest first; ``before`` is an id to page back from."""
        with self._store.reading() as db:
            return rows.list_deliveries(db, key, limit=limit, before=before)

    def of_turns(self, turns: Sequence[int]) -> list[Delivery]:
        """What these turns delivered, in order."""
        with self._store.reading() as db:
            return rows.list_of_turns(db, turns)

    def copy_of(self, delivery: Delivery) -> Path:
        """Its private copy; raises NotFound when it is not kept any more."""
        path = self._outbox / delivery.copy
        if not delivery.copy or not path.is_file():
            raise NotFound("This file is no longer kept. Look for it in the agent's out/ folder.")
        return path

    def copy_for(self, key: CubicleKey, delivery: int) -> Path:
        """The private copy of a delivery of this cubicle; raises NotFound."""
        found = self.get_delivery(delivery)
        if found.cubicle != key:
            raise NotFound(f"There is no delivery {delivery}.")
        return self.copy_of(found)

    def download_link(self, delivery: Delivery) -> str:
        """A path of the dashboard that gives whoever has it this one file, for seven days."""
        return f"/d/{self._links.make_token(delivery.id, now=time.time())}"

    def of_link(self, token: str) -> Delivery:
        """The delivery that a link is good for; raises NotFound, always with the same words."""
        number = self._links.delivery_of(token, now=time.time())
        try:
            return self.get_delivery(number or 0)
        except NotFound as error:
            raise NotFound(words.NO_LINK) from error

    def _hand_over(self, delivery: Delivery, *, is_repeated: bool = False) -> None:
        with self._store.writing() as db:
            if not rows.claim_delivery(db, delivery.id) and not is_repeated:
                return
        carrier = self._carrier_of(delivery.to)
        try:
            copy = self.copy_of(delivery)
            if carrier is None:
                self.mark_failed(delivery.id, words.NO_CARRIER)
            elif delivery.size_bytes > carrier.largest_bytes:
                carrier.send_text(
                    delivery, words.too_large(delivery, f"{self._base_url}{self.download_link(delivery)}")
                )
            else:
                carrier.send_file(delivery, copy)
        except OrchestratorError as error:
            self.mark_failed(delivery.id, error.message)
        except Exception:  # a carrier's fault must not lose the files that come after
            logger.exception("%s could not take delivery %d", delivery.to, delivery.id)
            self.mark_failed(delivery.id, words.NOT_TAKEN)
        self._publish_change(delivery.id)

    def _send_text(self, notice: Delivery) -> None:
        """What was not sent is said where it would have gone."""
        carrier = self._carrier_of(notice.to)
        if carrier is None or not notice.why:
            return
        try:
            carrier.send_text(notice, notice.why)
        except Exception:  # as above
            logger.exception("%s could not tell of delivery %d", notice.to, notice.id)

    def _end_delivery(self, delivery: int, status: DeliveryStatus, why: str | None) -> None:
        with self._store.writing() as db:
            if not rows.end_delivery(db, delivery, status, why=why):
                return
            settled = rows.get_delivery(db, delivery)
            if settled is not None:
                self._store.after_commit(partial(self._hooks.delivery_settled.fire, settled))
        self._publish_change(delivery)

    def _publish_change(self, delivery: int) -> None:
        if not self._broker.is_wanted("delivery"):
            return
        with suppress(NotFound):  # its agent was deleted meanwhile
            found = self.get_delivery(delivery)
            self._broker.publish(Event("delivery", found.cubicle, as_json(found)))

    def _carrier_of(self, to: str) -> Carrier | None:
        return next((carrier for carrier in self._carriers if carrier.name == to.partition(":")[0]), None)


def as_json(delivery: Delivery) -> dict[str, Any]:
    """The delivery as surfaces show it."""
    url = f"/api/agents/{delivery.cubicle.agent}/deliveries/{delivery.id}/file"
    return {
        "id": delivery.id,
        "agent": delivery.cubicle.agent,
        "user": delivery.cubicle.user,
        "turn": delivery.turn,
        "file": delivery.name,
        "path": display_path(b"out", delivery.path) if delivery.path else "out",
        "kind": delivery.kind,
        "caption": delivery.caption,
        "sha256": delivery.sha256,
        "size": delivery.size_bytes,
        "at": delivery.at,
        "to": delivery.to,
        "status": str(delivery.status),
        "why": delivery.why,
        "url": url if delivery.copy else None,
    }
