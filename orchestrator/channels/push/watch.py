"""Whom to tell: after every piece of news, and now and then, it looks at what waits and what ended, and writes a note
for each device that is to hear of it, with the job that sends it, in one transaction.

News is a hint to look; the rows are the truth. So what a death came between is found at the next start.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable

from orchestrator.channels.push import push_rows
from orchestrator.channels.push.push_rows import NoteState, PushDevice
from orchestrator.channels.push.subjects import PushSubject, PushSubjects
from orchestrator.core.db.database import Store
from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey
from orchestrator.core.periodic import guarded
from orchestrator.jobs.pool import Jobs

JOB = "push"
READ_FIRST_S = 4.0
"""So long an answer waits, in case its person is just reading it elsewhere."""
_ROUND_S = 60.0
_KEPT_S = 3 * 24 * 3600.0
_NEWS = ("turn", "approval", "question", "notice")


class PushWatch:
    """The thread that looks."""

    def __init__(
        self,
        store: Store,
        broker: Broker,
        jobs: Jobs,
        subjects: PushSubjects,
        *,
        read_first_s: float = READ_FIRST_S,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._jobs, self._subjects = store, jobs, subjects
        self._read_first_s, self._now = read_first_s, now
        self._broker, self._news = broker, broker.subscribe(*_NEWS)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._go_round, name="push", daemon=True)

    def start(self) -> None:
        """Look at once, then after every piece of news."""
        self._thread.start()

    def close(self) -> None:
        """Nothing is looked at any more."""
        self._ending.set()
        self._news.close()
        self._broker.unsubscribe(self._news)
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> bool:
        """Write down whom to tell of what, and what is over. True when there is any device."""
        with self._store.reading() as db:
            devices = push_rows.list_devices(db, self._now())
        if not devices:
            return False
        waiting = self._subjects.list_waiting()
        for device in devices:
            for whose, subject in waiting:
                if whose == device.user and subject.at > device.created_at:
                    self._note_subject(device, subject)
            for subject in self._subjects.list_news(device):
                self._note_subject(device, subject)
        self._end_settled({device.id: device for device in devices})
        self._take_up_due({device.id: device for device in devices})
        return True

    def _note_subject(self, device: PushDevice, subject: PushSubject) -> None:
        """Write down, once, that the device is to be told of it, or that it is not: then it isn't looked at again."""
        with self._store.reading() as db:
            if push_rows.get_note(db, device.id, subject.ref) is not None:
                return
        now = self._now()
        state, due_at = NoteState.QUEUED, None
        if subject.topic not in device.tells:
            state = NoteState.GONE
        elif subject.can_wait:
            state, due_at = NoteState.LATER, now + self._read_first_s
        with self._store.writing() as db:
            is_new = push_rows.insert_note(db, device.id, subject.ref, subject.agent, state, now=now, due_at=due_at)
            if is_new and state is NoteState.QUEUED:
                self._submit(db, device, subject.ref, subject.agent)

    def _end_settled(self, devices: dict[str, PushDevice]) -> None:
        """What was decided elsewhere is taken back from the devices that show it."""
        with self._store.reading() as db:
            standing = push_rows.list_standing(db)
        for note in standing:
            if note.device not in devices or self._subjects.is_open(note.ref):
                continue
            with self._store.writing() as db:
                if (
                    push_rows.get_note(db, note.device, note.ref) != note
                ):  # its button was used meanwhile, or it was sent
                    continue
                is_shown = note.state is NoteState.SENT
                state = NoteState.QUEUED if is_shown else note.state
                if note.state is NoteState.LATER:  # it never got there
                    state = NoteState.GONE
                push_rows.save_note(db, note, state, is_over=True, tries=0)
                if is_shown:
                    self._submit(db, devices[note.device], note.ref, note.agent)

    def _take_up_due(self, devices: dict[str, PushDevice]) -> None:
        with self._store.reading() as db:
            due = [note for note in push_rows.list_due(db, self._now()) if note.device in devices]
        for note in due:
            with self._store.writing() as db:
                if push_rows.get_note(db, note.device, note.ref) != note:
                    continue
                push_rows.save_note(db, note, NoteState.QUEUED, is_over=note.is_over, tries=note.tries)
                self._submit(db, devices[note.device], note.ref, note.agent)

    def _submit(self, db: sqlite3.Connection, device: PushDevice, ref: str, agent: str) -> None:
        self._jobs.submit(db, JOB, CubicleKey(agent, device.user), None, {"device": device.id, "ref": ref})

    def _go_round(self) -> None:
        forget_at = 0.0
        while not self._ending.is_set():
            has_devices = guarded("looking whom to notify", self.look)
            if has_devices and time.monotonic() >= forget_at:
                guarded("forgetting old notifications", self._forget_old)
                forget_at = time.monotonic() + 3600.0
            self._news.get(self._pause_s() if has_devices else _ROUND_S)
            while self._news.get(0.0) is not None:  # one look is enough for all that is known by now
                pass

    def _pause_s(self) -> float:
        with self._store.reading() as db:
            due_at = push_rows.next_due(db)
        return _ROUND_S if due_at is None else min(max(due_at - self._now(), 0.05), _ROUND_S)

    def _forget_old(self) -> None:
        with self._store.writing() as db:
            push_rows.forget_notes(db, self._now() - _KEPT_S)
