"""Intake: what lies in a cubicle's ``out/`` becomes a delivery, once.

A private copy is made first, then the row, then the deed. The row is unique on where the file lay and what was in it,
so no race and no crash sends it twice; a crash before the row leaves a file that the next look finds again. Nothing is
decided by a time that an agent can set.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from orchestrator.capabilities.delivery import messages as words
from orchestrator.capabilities.delivery import rows
from orchestrator.capabilities.delivery.deliveries import DASHBOARD, Deliveries
from orchestrator.capabilities.delivery.media_types import HEAD_BYTES, judge_file
from orchestrator.capabilities.delivery.outbox_folder import OutboxFolders
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Changing, NotFound, TooLarge, TooMany, Unavailable, UnsafePath
from orchestrator.core.models import CubicleKey, Delivery, DeliveryStatus
from orchestrator.core.rates import USUAL_RATES, Rates
from orchestrator.files.names import display_path, safe_name

logger = logging.getLogger(__name__)

MAX_FILE_BYTES = 1 << 30
BYTES_A_MINUTE, BYTES_A_DAY = 1 << 30, 4 << 30
_MINUTE_S, _DAY_S = 60.0, 24 * 3600.0
_AFTERGLOW_S = 10.0
"""How long after its end a turn is still what made a file: programs that it started in the background end later."""


class IntakeOutcome(StrEnum):
    """What came of taking a name."""

    DONE = "done"
    KNOWN = "known"
    """This content of it was delivered before."""
    AGAIN = "again"
    """It is still being written, or the disk refuses: later."""
    FULL = "full"
    """The cubicle's cap is reached."""


class Intake:
    """Takes files out of outbox folders."""

    def __init__(
        self,
        *,
        store: Store,
        out_folders: OutboxFolders,
        deliveries: Deliveries,
        outbox: Path,
        rates: Rates = USUAL_RATES,
        check_room: Callable[[], None] = lambda: None,
    ) -> None:
        """``check_room`` raises Unavailable while the host's disk has no room for copies."""
        self._store = store
        self.out_folders = out_folders
        self._deliveries = deliveries
        self._outbox = outbox
        self._rates = rates
        self._check_room = check_room
        self._being_sent: set[tuple[CubicleKey, bytes]] = set()
        """What is sent just now because a program asked; a set's own steps are whole, so it needs no lock."""

    def take_file(self, key: CubicleKey, path: bytes, *, found_at: float, asked: int | None = None) -> IntakeOutcome:
        """Deliver what lies at ``path`` within ``out/``, unless that was done; ``asked`` is a turn that asked for it by
        name. May be called from any thread."""
        seen = self.out_folders.look_at(key, path)
        if seen is None:
            return self._not_there(key, path, asked)
        if (key, path) in self._being_sent:
            return IntakeOutcome.AGAIN
        if self._is_full(key, seen.size_bytes if seen.size_bytes <= MAX_FILE_BYTES else 0, asked):
            return self._over_the_cap(key, path, asked)
        draft = _draft(key, path, asked if asked is not None else self._turn_at(key, found_at))
        if seen.kind == "other":
            return self._refuse_file(replace(draft, why=words.not_plain(path)), asked)
        try:
            self._check_room()
            draft = self._copied_zip(draft) if seen.kind == "folder" else self._copied_file(draft)
        except Changing:
            return IntakeOutcome.AGAIN
        except NotFound:
            return self._not_there(key, path, asked)
        except (UnsafePath, TooLarge) as error:
            return self._refuse_file(replace(draft, why=error.message), asked)
        except Unavailable as error:
            logger.warning("%s: %s can't be delivered now: %s", key, display_path(path), error.message)
            return IntakeOutcome.AGAIN
        return self._write_down(draft, asked)

    def send_file(
        self, key: CubicleKey, path: bytes, *, turn: int | None, caption: str, written: Callable[[Delivery], None]
    ) -> None:
        """Deliver what lies at ``path`` because a program asked for it, also again; ``written`` is told within the
        transaction that writes it down, or of what this very turn has sent already and needs no caption.

        Raises NotFound, UnsafePath, TooLarge, TooMany, Changing while a program may still write to it, Unavailable.
        """
        self._being_sent.add((key, path))
        try:
            self._check_room()
            draft = self._copy_file(key, path, turn)
            draft = replace(draft, caption=" ".join(filter(None, [words.quote_caption(caption), draft.caption])))
            self._write_down_sent(draft, is_wanted_again=bool(caption), written=written)
        finally:
            self._being_sent.discard((key, path))

    def _copy_file(self, key: CubicleKey, path: bytes, turn: int | None) -> Delivery:
        seen = self.out_folders.look_at(key, path)
        if seen is None:
            raise NotFound(f"There is no {display_path(path)} in out/.")
        if seen.kind == "other":
            raise UnsafePath(words.not_plain(path))
        if self._is_full(key, min(seen.size_bytes, MAX_FILE_BYTES), None):
            raise TooMany(f"{display_path(path)} was not sent. {words.describe_rate(self._rates)} Try again later.")
        draft = _draft(key, path, turn)
        return self._copied_zip(draft) if seen.kind == "folder" else self._copied_file(draft)

    def _write_down_sent(self, draft: Delivery, *, is_wanted_again: bool, written: Callable[[Delivery], None]) -> None:
        made, key, turn = None, draft.cubicle, draft.turn
        try:
            carrier, to = self._deliveries.find_destination(key, turn)
            status = DeliveryStatus.SENT if carrier is None else DeliveryStatus.KEPT
            with self._store.writing() as db:
                is_sent = turn is not None and rows.is_delivered(db, key, draft.path, draft.sha256, turn=turn)
                if is_wanted_again or not is_sent:
                    made = self._insert_delivery(db, replace(draft, to=to, status=status), is_again=True)
                written(draft if made is None else made)
        finally:
            if made is None:
                self._drop_copy(draft)

    def _drop_copy(self, draft: Delivery) -> None:
        with suppress(OSError):  # the next start finds it
            (self._outbox / draft.copy).unlink(missing_ok=True)

    def withhold_files(self, key: CubicleKey, count: int, until_ns: int) -> None:
        """So many files are not sent, since there were too many: said once. What changed until then is dealt with."""
        draft = replace(
            _draft(key, b"", self._turn_at(key, time.time())),
            name=f"{count:,} files" if count != 1 else "1 file",
            why=words.describe_withheld(key, count, self._rates),
            status=DeliveryStatus.WITHHELD,
            to=self._deliveries.find_destination(key, None)[1],
        )
        with self._store.writing() as db:
            rows.set_mark(db, key, until_ns)
            self._insert_delivery(db, draft, is_again=True)

    def seen_until(self, key: CubicleKey) -> int:
        """Until when, by the kernel's clock in nanoseconds, all in the outbox folder was dealt with."""
        with self._store.reading() as db:
            return rows.get_mark(db, key)

    def set_mark(self, key: CubicleKey, until_ns: int) -> None:
        """Everything in the outbox folder that changed until then was dealt with."""
        with self._store.writing() as db:
            rows.set_mark(db, key, until_ns)

    # --- asking by name ----------------------------------------------------------------------------------------

    def missing_files(self, key: CubicleKey, action: str) -> str:
        """A line for the person about files that an answer promises by name and that are not there; mostly empty."""
        gone = [path for path in words.asked_for(action) if self.out_folders.look_at(key, path) is None]
        return words.not_there(gone)

    def files_asked(self, turn: int) -> tuple[bytes, ...]:
        """The files that a turn's answer asks for by name."""
        with self._store.reading() as db:
            return words.asked_for(rows.get_action(db, turn))

    def list_unanswered(self, *, since: float) -> list[tuple[CubicleKey, int, bytes]]:
        """What turns that ended since then asked for by name, and a crash came between."""
        with self._store.reading() as db:
            return [
                (asking.cubicle, asking.turn, path)
                for asking in rows.list_asking_turns(db, since=since)
                for path in words.asked_for(asking.action)
                if path not in rows.list_asked_paths(db, asking.turn)
            ]

    # --- how ---------------------------------------------------------------------------------------------------

    def _copied_file(self, draft: Delivery) -> Delivery:
        raw_name = draft.path.rpartition(b"/")[2]
        with self.out_folders.copy_file(draft.cubicle, draft.path, max_bytes=MAX_FILE_BYTES) as copy:
            kind, warning = judge_file(raw_name, copy.file.read(HEAD_BYTES), copy.size_bytes)
            name = "" if copy.path is None else copy.path.name
            return replace(draft, kind=kind, caption=warning, sha256=copy.sha256, size_bytes=copy.size_bytes, copy=name)

    def _copied_zip(self, draft: Delivery) -> Delivery:
        made = self.out_folders.zip_folder(draft.cubicle, draft.path, max_bytes=MAX_FILE_BYTES)
        return replace(
            draft,
            name=safe_name(draft.path.rpartition(b"/")[2] + b".zip"),
            caption=words.left_out(made.left_out),
            sha256=made.sha256,
            size_bytes=made.size_bytes,
            copy=made.path.name,
        )

    def _write_down(self, draft: Delivery, asked: int | None) -> IntakeOutcome:
        """The row of a file whose copy is there; without a row the copy goes."""
        outcome, made = IntakeOutcome.KNOWN, None
        try:
            carrier, to = self._deliveries.find_destination(draft.cubicle, draft.turn)
            status = DeliveryStatus.SENT if carrier is None else DeliveryStatus.KEPT
            draft = replace(draft, to=to, status=status)
            with self._store.writing() as db:
                is_known = rows.is_delivered(db, draft.cubicle, draft.path, draft.sha256)
                if asked is not None and rows.is_delivered(db, draft.cubicle, draft.path, draft.sha256, turn=asked):
                    rows.mark_asked(db, asked, draft.path, draft.sha256)
                elif asked is not None or not is_known:
                    if self._is_full_by(db, draft.cubicle, draft.size_bytes, asked):
                        outcome = IntakeOutcome.FULL
                    else:
                        made, outcome = (
                            self._insert_delivery(db, draft, asked=asked, is_again=is_known),
                            IntakeOutcome.DONE,
                        )
        finally:
            if made is None:
                self._drop_copy(draft)
        return self._over_the_cap(draft.cubicle, draft.path, asked) if outcome is IntakeOutcome.FULL else outcome

    def _refuse_file(
        self, draft: Delivery, asked: int | None, status: DeliveryStatus = DeliveryStatus.REFUSED
    ) -> IntakeOutcome:
        """Say once that something is not delivered."""
        draft = replace(draft, status=status, to=self._deliveries.find_destination(draft.cubicle, draft.turn)[1])
        with self._store.writing() as db:
            self._insert_delivery(db, draft, asked=asked, is_again=asked is not None)
        return IntakeOutcome.DONE

    def _not_there(self, key: CubicleKey, path: bytes, asked: int | None) -> IntakeOutcome:
        if asked is None:
            return IntakeOutcome.DONE
        draft = replace(_draft(key, path, asked), why=words.not_there([path]))
        return self._refuse_file(draft, asked, DeliveryStatus.FAILED)

    def _over_the_cap(self, key: CubicleKey, path: bytes, asked: int | None) -> IntakeOutcome:
        if asked is None:
            return IntakeOutcome.FULL
        draft = replace(_draft(key, path, asked), why=words.over_the_day(path, self._rates))
        self._refuse_file(draft, asked, DeliveryStatus.FAILED)
        return IntakeOutcome.DONE

    def _insert_delivery(
        self, db: sqlite3.Connection, draft: Delivery, *, asked: int | None = None, is_again: bool = False
    ) -> Delivery | None:
        made = rows.insert_delivery(db, draft, asked=asked, is_again=is_again)
        if made is None:
            return None
        audit_rows.insert_record(
            db,
            f"delivery.{draft.status}",
            display_path(b"out", draft.path) if draft.path else draft.name,
            now=draft.at,
            agent=draft.cubicle.agent,
            user=draft.cubicle.user,
            turn=draft.turn,
            detail={"sha256": draft.sha256, "size": draft.size_bytes, "to": draft.to, "why": draft.why},
        )
        delivery = replace(draft, id=made)
        self._store.after_commit(partial(self._deliveries.on_inserted, delivery))
        return delivery

    def _turn_at(self, key: CubicleKey, at: float) -> int | None:
        with self._store.reading() as db:
            return rows.find_turn_at(db, key, at, afterglow_s=_AFTERGLOW_S)

    def _is_full(self, key: CubicleKey, more_bytes: int, asked: int | None) -> bool:
        with self._store.reading() as db:
            return self._is_full_by(db, key, more_bytes, asked)

    def _is_full_by(self, db: sqlite3.Connection, key: CubicleKey, more_bytes: int, asked: int | None) -> bool:
        """What a turn asked for by name counts for the day alone."""
        now = time.time()
        files, size = rows.sum_delivered(db, key, since=now - _DAY_S)
        if files >= self._rates.files_per_day or size + more_bytes > BYTES_A_DAY:
            return True
        files, size = rows.sum_delivered(db, key, since=now - _MINUTE_S)
        return asked is None and (
            files >= self._rates.files_per_minute or (size > 0 and size + more_bytes > BYTES_A_MINUTE)
        )


def _draft(key: CubicleKey, path: bytes, turn: int | None) -> Delivery:
    """A delivery that is not written down yet."""
    return Delivery(
        id=0,
        cubicle=key,
        turn=turn,
        path=path,
        name=safe_name(path.rpartition(b"/")[2]),
        kind="document",
        caption="",
        sha256="",
        size_bytes=0,
        at=time.time(),
        to=DASHBOARD,
        status=DeliveryStatus.SENT,
        why="",
        copy="",
    )
