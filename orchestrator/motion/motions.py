"""Motions: an agent wishes for a video, a worker has it made in the studio, and it lies in the cubicle's ``out/``.

The row is the truth. A video lies hidden in the tray before the row says which name it gets, and gets it in one rename,
so after a death one look tells how far it came: it is made again or named, and never there twice.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

from orchestrator.agents import Agents
from orchestrator.capabilities.table import Caller, Capability, Finish, Outcome, Policy
from orchestrator.disk import rules
from orchestrator.engine import helper_folder
from orchestrator.engine.helper_folder import Failed, NotWanted
from orchestrator.errors import OrchestratorError, Stopped, TooMany
from orchestrator.motion import sentences
from orchestrator.motion.studio import Made, Studio
from orchestrator.motion.wishes import ending_of, read_wish
from orchestrator.notices import Notices
from orchestrator.nouns import CubicleKey, Turn
from orchestrator.panel.actions import Clawmotion
from orchestrator.store import audit as audit_rows
from orchestrator.store import calls as call_rows
from orchestrator.store import motions as rows
from orchestrator.store.database import Store
from orchestrator.store.motions import Motion
from orchestrator.workspace import Workspaces

KIND = "video"
COST = 60
MOST_OPEN = 2
MOST_SECONDS_A_DAY = 1_800.0
MOST_TRIES = 3
_DAY_S = 86_400.0
_KEPT_S = 7 * _DAY_S


class Motions:
    """Every video that an agent wished for."""

    def __init__(
        self,
        *,
        store: Store,
        agents: Agents,
        notices: Notices,
        workspaces: Workspaces,
        studio: Studio,
        check_room: Callable[[], None],
        finish: Finish,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``check_room`` raises Unavailable when the house's disk is full; ``finish`` ends waiting calls within the
        transaction."""
        self._store, self._agents, self._notices, self._workspaces = store, agents, notices, workspaces
        self._studio, self._check_room = studio, check_room
        self._finish, self._now = finish, now
        self._wake: Callable[[], None] = _nobody

    def when_there_is_work(self, wake: Callable[[], None]) -> None:
        """From now on this is called when there is a video to make."""
        self._wake = wake

    @property
    def capability(self) -> Capability:
        """What agents ask with."""
        return Capability(Clawmotion, KIND, Policy.FREE, COST, self._ask)

    def note(self, turn: Turn) -> str:
        """What this turn's agent has yet to hear: how wishes ended that nobody waited for."""
        with self._store.reading() as db:
            found = rows.untold(db, turn.cubicle, turn.id)
        if found:
            with self._store.writing() as db:
                rows.set_told(db, [one.id for one in found], turn.id)
        return "\n".join(sentences.note(one.name, one.error, _done(one)) for one in found)

    def reconcile(self) -> None:
        """After a start: nothing of a dead house is being made."""
        self._studio.clear()

    def tidy(self) -> None:
        """Records of long ago go."""
        with self._store.writing() as db:
            rows.forget(db, self._now() - _KEPT_S)

    def _ask(self, db: sqlite3.Connection, caller: Caller, action: Clawmotion) -> Outcome:
        key, now, wish = caller.key, self._now(), read_wish(action)
        if rows.open_count(db, key) >= MOST_OPEN:
            raise TooMany(f"{MOST_OPEN} videos are being made already. Ask again when one of them is there.")
        left = MOST_SECONDS_A_DAY - rows.seconds_since(db, key, now - _DAY_S)
        if wish.seconds > left:
            most = MOST_SECONDS_A_DAY / 60
            raise TooMany(f"At most {most:.0f} minutes of video are made within a day; {left:.0f} seconds are left.")
        number = rows.add(db, key, caller.turn, text=wish.text, seconds=wish.seconds, name=wish.name, now=now)
        result = {"video": number, "file": f"out/{wish.name}"}
        self._store.after_commit(self._wake)
        return Outcome(sentences.begun(wish.name), result, waits_for=_reference(number))

    # --- the work ----------------------------------------------------------------------------------------------

    def do_next(self, is_wanted: Callable[[], bool]) -> bool:
        """Make the next video, or end what a death left nearly done; False when there is nothing."""
        with self._store.writing() as db:
            one = rows.next_to_do(db)
            if one is None:
                return False
            rows.begin(db, one.id)
        try:
            if one.tries >= MOST_TRIES:
                raise Failed(sentences.GAVE_UP)
            self._do(one, is_wanted)
        except NotWanted:
            with self._store.writing() as db:
                rows.put_back(db, one.id)
        except Stopped:
            return True  # its agent is being deleted
        except OrchestratorError as error:
            self._end(one, error=error.message)
        return True

    def _do(self, one: Motion, is_wanted: Callable[[], bool]) -> None:
        try:
            if one.status == rows.PLACING:
                self._show(one, one.size_bytes, one.left_out)  # where nothing lies hidden any more, it has its name
            else:
                self._make(one, is_wanted)
        except OSError as error:
            raise Failed(sentences.NO_OUT) from error
        self._end(one, error="")

    def _make(self, one: Motion, is_wanted: Callable[[], bool]) -> None:
        """The video is made, and lies in the tray."""
        self._check_room()
        try:
            made = self._studio.make(one.id, one.text, one.seconds, ending_of(one.name), is_wanted=is_wanted)
            self._check_wanted(one.id)
            self._check_space(one.cubicle, made)
            with helper_folder.opened(made.path) as file:
                self._workspaces.lay_out(one.cubicle, _hidden(one.id), file, max_bytes=made.size_bytes)
            if not self._show(one, made.size_bytes, made.left_out):
                raise Failed(sentences.TAKEN_AWAY)
        finally:
            self._studio.drop(one.id)

    def _show(self, one: Motion, size_bytes: int, left_out: int) -> bool:
        """What lies hidden has its name; False when nothing does."""

        def chosen(name: str) -> None:
            with self._store.writing() as db:
                if not rows.is_wanted(db, one.id):
                    raise Stopped("Nobody wants this video any more.")
                rows.set_placing(db, one.id, name, size_bytes=size_bytes, left_out=left_out)

        return self._workspaces.show_out(one.cubicle, _hidden(one.id), one.name, chosen=chosen) is not None

    def _check_wanted(self, number: int) -> None:
        with self._store.reading() as db:
            if not rows.is_wanted(db, number):
                raise Stopped("Nobody wants this video any more.")

    def _check_space(self, key: CubicleKey, made: Made) -> None:
        limit = rules.allowance(self._agents.get(key.agent).limits)
        if self._workspaces.measure(key).bytes + made.size_bytes > limit.bytes:
            raise Failed(sentences.NO_ROOM)

    def _end(self, one: Motion, *, error: str) -> None:
        """It has ended, and with it the calls that wait; who is told of it is told once that is committed."""
        with self._store.writing() as db:
            self._write_end(db, one.id, error)

    def _write_end(self, db: sqlite3.Connection, number: int, error: str) -> None:
        is_late = not call_rows.is_awaited(db, _reference(number))
        status, now = rows.FAILED if error else rows.DONE, self._now()
        if not rows.end(db, number, status, error=error, is_late=is_late, now=now):
            return
        one = rows.one(db, number)
        assert one is not None  # noqa: S101 - it was changed just now
        key, text = one.cubicle, error or _done(one)
        self._finish(_reference(number), ok=not error, text=text, result=_result(one))
        detail = {"video": number, "file": one.placed, "seconds": one.seconds, "size_bytes": one.size_bytes}
        audit_rows.add(
            db, f"video.{status}", text, now=now, agent=key.agent, user=key.user, turn=one.turn, detail=detail
        )
        if is_late and error:
            said = sentences.notice(key.agent, one.name, error)
            self._notices.post(key, KIND, said, turn=one.turn, subject=str(number))


def _nobody() -> None:
    """There is no worker yet; it looks for work when it starts."""


def _reference(number: int) -> str:
    return f"motion:{number}"


def _hidden(number: int) -> str:
    """No delivery looks at such a name."""
    return f".clawmotion-{number}.part"


def _done(one: Motion) -> str:
    return sentences.done(one.placed, one.size_bytes, one.left_out)


def _result(one: Motion) -> dict[str, Any]:
    if one.error:
        return {"code": "failed", "video": one.id}
    return {
        "video": one.id,
        "file": f"out/{one.placed}",
        "seconds": one.seconds,
        "size": one.size_bytes,
        "left_out": one.left_out,
    }
