"""One outbox folder's watch: what it waits for, what it has dealt with, and the next bit of work in it.

It is told of events, and of commands and turns that ended (under the lock it was given) and works in slices, one
thread at a time. A *mark*, kept in the database, says until when everything in the outbox folder was dealt with, by the
kernel's own clock; so a look through the outbox folder costs a glance a name, and what came before is never read again.
Of a flood it takes what the cap lets through, and counts the rest once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import islice

from orchestrator.capabilities.delivery.debounce import QUIET_S, Debouncer, Ready
from orchestrator.capabilities.delivery.intake import Intake, IntakeOutcome
from orchestrator.capabilities.delivery.messages import is_ignored
from orchestrator.capabilities.delivery.outbox_folder import OutboxFolders
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import OutFile

_SLICE_NAMES = 2_000
_SLICE_S = 0.5
_AT_ONCE = 8
_AFTER_REPLY_S = 0.03
_LATE_S = 0.02
"""How much later than a command's end the kernel's news of its last files may be heard."""
_MOST_FOLDERS = 200
"""Folders in one outbox folder that are looked into; of more, only their own names count."""
_MOST_DONE = 5_000
_SLACK_NS = 2 * 10**9
_FLOOD_QUIET_S, _FLOOD_LONGEST_S = 2.0, 30.0
_REST = 10.0
"""After reading in vain, so many times as long as it took, the outbox folder has to wait: nobody keeps the disk
busy by touching files.
"""
_LONGEST_REST_S = 60.0
_FOLDER_TRIES = 4


class FolderState:
    """What goes on in one ``out/``."""

    def __init__(self, key: CubicleKey, out_folders: OutboxFolders, intake: Intake, lock: threading.Condition) -> None:
        """``lock`` protects what is told from other threads: all that does not begin with ``run_slice``."""
        self._key = key
        self._out_folders = out_folders
        self._intake = intake
        self._lock = lock
        self.is_heard = True
        """Events tell of this outbox folder."""
        self.next_look = 0.0
        self.look_took_s = 0.0
        self.ended_turns: list[int] = []
        self._settling = Debouncer()
        self._wants_look = self._is_thorough = self._is_closed = False
        self._rest_until = self._look_from = self._late_until = 0.0
        self._flood_began = self._flood_heard = 0.0
        # Only whoever works touches these:
        self._names: Iterator[OutFile] | None = None
        self._look_began_ns = 0
        self._looked_ns: int | None = None
        self._folders: set[bytes] = set()
        self._done: dict[bytes, tuple[int, int]] = {}
        self._mark_ns: int | None = None

    # --- told by others ----------------------------------------------------------------------------------------

    def on_event(self, name: bytes, now: float, *, at: float, is_whole: bool) -> None:
        """Something happened to a name."""
        if self._flood_began:
            self._flood_heard = now
        elif is_whole or now < self._late_until:
            self._settling.on_complete(name, now, at=at)
        else:
            self._settling.on_created(name, now, at=at)

    def ask_file(self, turn: int, path: bytes, now: float) -> None:
        """A turn asked for a file by name."""
        self._settling.on_complete(path, now, at=time.time(), asked=turn)

    def look_soon(self, *, is_thorough: bool = False) -> None:
        """Look through the outbox folder; ``is_thorough`` also when no name came or went."""
        self._wants_look, self._look_from = True, 0.0
        self._is_thorough = self._is_thorough or is_thorough

    def end_command(self, now: float) -> None:
        """A command has ended: what it closed is whole."""
        self._settling.hurry_all(now)
        self._late_until = now + _LATE_S

    def end_turn(self, turn: int, now: float) -> None:
        """A turn has its outcome. The look waits a moment, so that it takes nothing from the reply that goes out."""
        self.ended_turns.append(turn)
        if not self._wants_look:
            self._wants_look, self._look_from = True, now + _AFTER_REPLY_S

    def close(self) -> None:
        """Do nothing more."""
        self._is_closed = True

    @property
    def has_work(self) -> bool:
        """Something is waited for or to be looked at."""
        return bool(len(self._settling) or self.ended_turns or self._wants_look or self._names)

    def next_due(self) -> float | None:
        """When there is something to do; None while nothing is waited for."""
        if self._is_closed:
            return None
        dues = [self._settling.next_due(), self._flood_due()]
        if self.ended_turns or self._wants_look or self._names is not None:
            dues.append(self._look_from if self._names is None else 0.0)
        known = [due for due in dues if due is not None]
        return max(min(known), self._rest_until) if known else None

    def is_due(self, now: float) -> bool:
        """There is something to do now."""
        due = self.next_due()
        return due is not None and due <= now

    def _flood_due(self) -> float | None:
        if not self._flood_began:
            return None
        return min(self._flood_heard + _FLOOD_QUIET_S, self._flood_began + _FLOOD_LONGEST_S)

    # --- work --------------------------------------------------------------------------------------------------

    def run_slice(self) -> None:
        """A slice of what there is to do."""
        self._answer_turns()
        self._look_on()
        began = time.monotonic()
        for _ in range(_AT_ONCE):
            with self._lock:
                taken = None if self._is_closed else self._settling.take_due(time.monotonic())
            if taken is None:
                break
            self._take_file(*taken)
            if time.monotonic() - began > _SLICE_S or self._rest_until > time.monotonic():
                break
        self._end_flood()
        self._make_up_for_the_dropped()
        self._advance_mark()

    def _make_up_for_the_dropped(self) -> None:
        """More was heard than is remembered: once the rest is done, all names are looked at."""
        with self._lock:
            if self._settling.is_overrun and not len(self._settling):
                self._settling.is_overrun = False
                self.look_soon(is_thorough=True)

    def _answer_turns(self) -> None:
        with self._lock:
            turns, self.ended_turns = self.ended_turns, []
        for turn in turns:
            for path in self._intake.files_asked(turn):
                with self._lock:
                    self.ask_file(turn, path, time.monotonic())

    def _take_file(self, ready: Ready, tries: int) -> None:
        seen = self._out_folders.look_at(self._key, ready.name)
        state = None if seen is None else self._state(seen)
        if ready.asked is None and state is not None and self._done.get(ready.name) == state:
            return
        if state is not None and seen is not None and seen.kind == "folder" and _age_s(state[1]) < QUIET_S:
            self._retry_later(ready, min(tries + 1, _FOLDER_TRIES))
            return
        began = time.monotonic()
        outcome = self._intake.take_file(self._key, ready.name, found_at=ready.found_at, asked=ready.asked)
        if outcome is IntakeOutcome.AGAIN:
            self._retry_later(ready, tries + 1)
        elif outcome is IntakeOutcome.FULL:
            self._begin_flood()
        elif state is not None:
            self._done[ready.name] = state
        if outcome in (IntakeOutcome.AGAIN, IntakeOutcome.KNOWN) and ready.asked is None:
            took = time.monotonic() - began
            self._rest_until = time.monotonic() + min(took * _REST, _LONGEST_REST_S)

    def _retry_later(self, ready: Ready, tries: int) -> None:
        with self._lock:
            self._settling.retry_later(ready, time.monotonic(), tries)

    def _state(self, seen: OutFile) -> tuple[int, int]:
        """What changes when the name stands for something else, or something else is in it."""
        if seen.kind != "folder":
            return seen.inode, seen.changed_ns
        survey = self._out_folders.survey_folder(self._key, seen.raw)
        return seen.inode, seen.changed_ns if survey is None else max(seen.changed_ns, survey.changed_ns)

    # --- looking through ---------------------------------------------------------------------------------------

    def _look_on(self) -> None:
        with self._lock:
            is_wanted, is_thorough = self._wants_look and self._names is None, self._is_thorough
            if is_wanted:
                self._wants_look = self._is_thorough = False
        if is_wanted:
            self._names = self._begin_look(is_thorough=is_thorough)
            self.look_took_s = 0.0
        if self._names is None:
            return
        began, count = time.monotonic(), 0
        for seen in islice(self._names, _SLICE_NAMES):
            self._consider_file(seen)
            count += 1
        if count < _SLICE_NAMES:
            self._names = None
        self.look_took_s += time.monotonic() - began

    def _begin_look(self, *, is_thorough: bool) -> Iterator[OutFile]:
        """All names, or only the folders where events and the outbox folder's own time say that no name came or
        went.
        """
        changed_ns = self._out_folders.changed_ns(self._key)
        self._look_began_ns = time.time_ns()
        if self.is_heard and not is_thorough and changed_ns is not None and changed_ns == self._looked_ns:
            found = (self._out_folders.look_at(self._key, name) for name in tuple(self._folders))
            return iter([seen for seen in found if seen is not None])
        self._looked_ns = changed_ns
        self._folders.clear()
        return self._out_folders.list_names(self._key)

    def _consider_file(self, seen: OutFile) -> None:
        if not self._is_new(seen):
            return
        now, age_s = time.monotonic(), _age_s(seen.changed_ns)
        with self._lock:
            if seen.raw in self._settling or self._flood_began:
                return
            if age_s >= QUIET_S:
                self._settling.on_complete(seen.raw, now, at=seen.changed_ns / 1e9)
            else:
                self._settling.on_created(seen.raw, now, at=seen.changed_ns / 1e9)

    def _is_new(self, seen: OutFile) -> bool:
        """It changed since the mark, and was not dealt with since."""
        if is_ignored(seen.raw):
            return False
        state = (seen.inode, seen.changed_ns)
        if seen.kind == "folder" and len(self._folders) < _MOST_FOLDERS:
            self._folders.add(seen.raw)
            state = self._state(seen)
        return state[1] > self._write_mark() and self._done.get(seen.raw) != state

    def _write_mark(self) -> int:
        if self._mark_ns is None:
            known = self._intake.seen_until(self._key)
            self._mark_ns = known if known <= time.time_ns() else 0  # the clock was set back: look at all once more
        return self._mark_ns

    def _advance_mark(self) -> None:
        """Nothing is waited for, and the outbox folder was looked through: what came before that is done with."""
        with self._lock:
            is_idle = not len(self._settling) and self._names is None and not self._flood_began and not self._wants_look
        until_ns = self._look_began_ns - _SLACK_NS
        if is_idle and any(state[1] <= until_ns for state in self._done.values()):
            self._intake.set_mark(self._key, until_ns)
            self._marked(until_ns)
        while len(self._done) > _MOST_DONE:
            del self._done[next(iter(self._done))]

    def _marked(self, until_ns: int) -> None:
        self._mark_ns = until_ns
        self._done = {name: state for name, state in self._done.items() if state[1] > until_ns}

    # --- floods ------------------------------------------------------------------------------------------------

    def _begin_flood(self) -> None:
        with self._lock:
            self._settling.clear_pending()
            if not self._flood_began:
                self._flood_began = self._flood_heard = time.monotonic()

    def _end_flood(self) -> None:
        """When it is over, count what was not taken, and say so."""
        with self._lock:
            due = self._flood_due()
        if due is None or time.monotonic() < due:
            return
        count, until_ns = 0, self._write_mark()
        for seen in self._out_folders.list_names(self._key):
            if self._is_new(seen):
                count += 1
            until_ns = max(until_ns, seen.changed_ns)
        until_ns = min(until_ns, time.time_ns())
        if count:
            self._intake.withhold_files(self._key, count, until_ns)
        else:
            self._intake.set_mark(self._key, until_ns)
        self._marked(until_ns)
        with self._lock:
            self._flood_began = 0.0


def _age_s(changed_ns: int) -> float:
    """How long ago something changed; negative when the clock was set back since."""
    return time.time() - changed_ns / 1e9
