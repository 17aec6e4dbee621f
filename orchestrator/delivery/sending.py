"""Sending: a program in a cubicle hands a file of ``out/`` to its person, with a word to go with it.

The call's own row says what is still to be sent, so a death loses nothing; the delivery and the end of the call are one
transaction, so nothing is sent twice. Copying takes its time in a thread of its own, never in the call; each cubicle
has one, so that nobody waits for another's files.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
import threading
import time
from collections import deque
from dataclasses import dataclass
from functools import partial

from orchestrator.capabilities.table import Caller, Capability, Finish, Outcome, Policy
from orchestrator.delivery import words
from orchestrator.delivery.taking import Taking
from orchestrator.errors import BadInput, Changing, OrchestratorError, UnsafePath
from orchestrator.file_names import parts_of, shown
from orchestrator.nouns import CubicleKey, Delivery
from orchestrator.panel.actions import Send
from orchestrator.store import calls as rows
from orchestrator.store.calls import Call
from orchestrator.store.database import Store

logger = logging.getLogger(__name__)

COST = 10
_COPIED_AT_ONCE = 2
_PATIENCE_S, _PAUSE_S = 30.0, 0.5
"""How long a file that is still being written is waited for, and how often it is looked at."""


@dataclass(frozen=True, slots=True)
class _Job:
    reference: str
    key: CubicleKey
    turn: int | None
    path: bytes
    caption: str


class Sending:
    """What programs have asked to be sent."""

    def __init__(self, *, store: Store, taking: Taking, finish: Finish) -> None:
        """``finish`` ends waiting calls within the transaction."""
        self._store = store
        self._taking = taking
        self._finish = finish
        self._ending = threading.Event()
        self._copying = threading.BoundedSemaphore(_COPIED_AT_ONCE)
        self._lock = threading.Lock()  # protects what follows
        self._waiting: dict[CubicleKey, deque[_Job]] = {}
        """What waits, by the cubicles that have a thread."""
        self._threads: set[threading.Thread] = set()

    @property
    def capability(self) -> Capability:
        """What agents send with."""
        return Capability(Send, "", Policy.FREE, COST, self._send)

    def start(self) -> None:
        """What a death left waiting is sent."""
        with self._store.reading() as db:
            waiting = rows.waiting_named(db, "SEND")
        for call in waiting:
            self._begin(_job(call))

    def close(self) -> None:
        """Nothing is sent any more; what is being copied is finished first, the rest is sent after the next start."""
        with self._lock:
            self._ending.set()
            threads = tuple(self._threads)
        for thread in threads:
            thread.join()

    def _send(self, _db: sqlite3.Connection, caller: Caller, action: Send) -> Outcome:
        path = words.within_out(os.fsencode(action.file))
        try:
            parts = parts_of(path)
        except UnsafePath as error:
            raise BadInput(f"SEND: file: {error.message}") from error
        if not parts:
            raise BadInput("SEND: file: name a file or a folder within out/.")
        job = _Job(f"send:{secrets.token_hex(8)}", caller.key, caller.turn, path, action.caption)
        self._store.after_commit(partial(self._begin, job))
        return Outcome(
            f"{shown(path)} is being sent.",
            {"file": os.fsdecode(path), "caption": action.caption},
            waits_for=job.reference,
        )

    def _begin(self, job: _Job) -> None:
        with self._lock:
            if self._ending.is_set():
                return
            if (waiting := self._waiting.get(job.key)) is not None:
                waiting.append(job)
                return
            self._waiting[job.key] = deque([job])
            thread = threading.Thread(target=self._work_through, args=(job.key,), name=f"send {job.key}", daemon=True)
            self._threads.add(thread)
            thread.start()

    def _work_through(self, key: CubicleKey) -> None:
        while (job := self._next(key)) is not None:
            try:
                self._work(job)
            except Exception:  # the top of a thread: not even the failure could be written down; the next start tries
                logger.exception("%s: %s waits for the next start", key, shown(job.path))

    def _next(self, key: CubicleKey) -> _Job | None:
        """The next of this cubicle; without one its thread ends."""
        with self._lock:
            if self._waiting[key] and not self._ending.is_set():
                return self._waiting[key].popleft()
            del self._waiting[key]
            self._threads.discard(threading.current_thread())
            return None

    def _work(self, job: _Job) -> None:
        try:
            self._deliver(job)
        except OrchestratorError as error:
            self._finish(job.reference, ok=False, text=error.message, result={"code": error.code})
        except Exception:  # the top of a thread: whoever waits must hear of it
            logger.exception("%s: %s could not be sent", job.key, shown(job.path))
            self._finish(job.reference, ok=False, text=words.NOT_TAKEN, result={"code": "internal"})

    def _deliver(self, job: _Job) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not self._ending.is_set():
            try:
                with self._copying:
                    self._taking.send(
                        job.key,
                        job.path,
                        turn=job.turn,
                        caption=job.caption,
                        written=lambda delivery: self._written(job, delivery),
                    )
            except Changing:
                if time.monotonic() > deadline:
                    raise
                self._ending.wait(_PAUSE_S)
            else:
                return

    def _written(self, job: _Job, delivery: Delivery) -> None:
        """Within the transaction of the delivery's row."""
        result = {"file": delivery.name, "size": delivery.size_bytes, "sha256": delivery.sha256}
        said = f"{delivery.name} ({words.size(delivery.size_bytes)})"
        text = f"{said} is on its way to the person." if delivery.id else f"{said} was sent in this turn already."
        self._finish(job.reference, ok=True, text=text, result=result)


def _job(call: Call) -> _Job:
    path = os.fsencode(str(call.result["file"]))
    return _Job(call.waits_for, call.cubicle, call.turn, path, str(call.result["caption"]))
