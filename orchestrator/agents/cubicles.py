"""Cubicles: each agent's container for each person, with its door. Wanted here, made by the engine.

What runs is always asked of the engine, never remembered; a container of an older image or with older settings is
replaced the next time it is needed, never under a turn.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from orchestrator.agents import agent_rows as rows
from orchestrator.agents import deletion_rows
from orchestrator.agents import user_rows as people_rows
from orchestrator.agents.agents import Agents
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, OrchestratorError
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Container, CubicleKey, CubicleSpec, Event, Exit, Usage
from orchestrator.engine.protocol import CubicleEngine
from orchestrator.files.workspace import Workspaces

logger = logging.getLogger(__name__)

_FIRST_UID = 20_000
_STOPPED_AT_ONCE = 8
_UIDS = 1_000
"""The image knows a user ``hermit`` for each of these uids; later cubicles share them again from the first."""


class Histories(Protocol):
    """Keeps the past of workspaces."""

    def delete_cubicle(self, key: CubicleKey) -> None:
        """Nothing is left of a cubicle's; gone is success."""

    def delete_agent(self, agent: str) -> None:
        """Nothing is left of an agent's, for any person; gone is success."""


class SocketOpener(Protocol):
    """Opens and closes the sockets."""

    def open(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """The cubicle's door answers; open already is fine."""

    def renew(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Another door in the place of the one there was, which nobody sees who saw that one."""

    def close(self, key: CubicleKey) -> None:
        """Nobody answers there any more; closed already is fine."""


@dataclass(frozen=True, slots=True)
class InstallId:
    """Whose containers these are."""

    id: str
    home: str
    runtime: str
    is_root: bool
    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class CubicleState:
    """A cubicle as a person sees it."""

    running: bool
    started_at: float | None
    usage: Usage | None


class Cubicles:
    """All cubicles of this install."""

    def __init__(
        self,
        *,
        install: InstallId,
        store: Store,
        engine: CubicleEngine,
        workspaces: Workspaces,
        histories: Histories,
        doors: SocketOpener,
        agents: Agents,
        broker: Broker,
        hooks: Hooks,
        image_tag: Callable[[str], str],
    ) -> None:
        """``image_tag`` gives the image for ``base`` or ``studio``, building it first where it is missing."""
        self._install = install
        self._store = store
        self._engine = engine
        self._workspaces = workspaces
        self._histories = histories
        self._doors = doors
        self._agents = agents
        self._broker = broker
        self._image_tag = image_tag
        self._hooks = hooks
        hooks.agent_changed.subscribe(self.mark_agent_changed)
        self._locks: dict[CubicleKey, threading.Lock] = {}  # one change at a time for each cubicle
        self._table_lock = threading.Lock()  # protects _locks and _doubts
        self._doubts: dict[CubicleKey, object] = {}
        """Perhaps not as their agents want them by now, or stopped; each doubt is another object."""

    def start(self, key: CubicleKey) -> None:
        """The cubicle runs. One that runs is left as it is, even with older settings: a turn may be under way in it."""
        if self.poll(key) is not None:
            self.ensure_running(key)

    def ensure_running(self, key: CubicleKey) -> Container:
        """The cubicle runs with its door open. Raises NotFound, Unavailable or UnsafePath."""
        with self._change_lock(key):
            self._check_wanted(key)
            before = self._engine.poll(self.container_name(key))
            if before is not None:
                self._mark_changed(key)  # no turn is handed to a crab before the engine has vouched for its walls
            doubt = self._doubts.get(key)
            spec = self._make_spec(key)
            self._hooks.cubicle_starting.run_checks(key)
            # An engine that was killed may have forgotten a container that still runs. Its door is not the next one's.
            renew = partial(self._doors.renew, key, uid=spec.uid, gid=spec.gid)
            container = self._engine.start(spec, anew=renew)
            self._doors.open(key, uid=spec.uid, gid=spec.gid)
            with self._table_lock:
                if self._doubts.get(key) is doubt:  # a change in the meantime is a doubt of its own
                    self._doubts.pop(key, None)
            if before is not None:
                self._record_change(key, "started")
            return container

    def mark_agent_changed(self, agent: str) -> None:
        """The agent was changed: its cubicles may have to be replaced before their next turn."""
        for key in self.list_cubicles(agent):
            self._mark_changed(key)

    def is_fresh(self, key: CubicleKey) -> bool:
        """Nothing has changed since it was started, nor was it stopped; else ``ensure_running`` adopts, replaces or
        starts it, between two turns.
        """
        return key not in self._doubts

    def stop(self, key: CubicleKey, *, grace_s: float = 2.0) -> None:
        """The cubicle does not run; its workspace stays. Its door stays open for the next start."""
        with self._change_lock(key):
            self._mark_changed(key)  # from here on a message waits for no crab of it, but has it started again
            if self._engine.poll(self.container_name(key)) is None:
                self._engine.stop(self.container_name(key), grace_s=grace_s)
                self._record_change(key, "stopped")

    def give_up(self, key: CubicleKey) -> Exit | None:
        """How the cubicle's container ended; None while it runs, and then nothing changes.

        The engine may be wrong, and a crab live on in a container that it has forgotten. So its door is replaced first:
        whatever becomes of its turn, that crab does not hear of it, nor can it end it.
        """
        with self._change_lock(key):
            exit_ = self._engine.poll(self.container_name(key))
            if exit_ is not None:
                self._mark_changed(key)
                uid, gid = self._choose_ids(key)
                try:
                    self._doors.renew(key, uid=uid, gid=gid)
                except OrchestratorError as error:  # the old one is closed; the next start opens another, or says why
                    logger.warning("the door of %s could not be replaced: %s", key, error.message)
            return exit_

    def put_to_sleep(self, key: CubicleKey, *, is_idle: Callable[[], bool]) -> bool:
        """Stopped until its next turn, unless something runs in it; True when it was.

        From the doubt on no turn is handed to what runs there, so none that ``is_idle`` did not see is cut.
        """
        name = self.container_name(key)
        with self._change_lock(key):
            if self._engine.poll(name) is not None or not self._engine.is_at_rest(name):
                return False
            self._mark_changed(key)
            if not is_idle():
                return False
            self._engine.stop(name, grace_s=2.0)
            self._engine.remove(name)  # a start makes it again anyway, and should not have to clear the old one away
            self._record_change(key, "stopped", ", as it had nothing to do")
            return True

    @contextmanager
    def hold_still(self, key: CubicleKey) -> Iterator[None]:
        """Nothing in the cubicle gets the processor meanwhile, and it is neither started nor stopped. Raises
        Unavailable when the engine does not answer."""
        name = self.container_name(key)
        with self._change_lock(key):
            self._engine.freeze(name)
            try:
                yield
            finally:
                self._engine.thaw(name)

    def reset(self, key: CubicleKey) -> Container:
        """A fresh container over the same workspace: whatever ran inside, and /tmp, is gone."""
        with self._change_lock(key):
            self._engine.remove(self.container_name(key))
        return self.ensure_running(key)

    def remove(self, key: CubicleKey) -> None:
        """Container, door and workspace are gone, with the workspace's past."""
        with self._change_lock(key):
            self._engine.remove(self.container_name(key))
            self._doors.close(key)
            self._workspaces.remove_cubicle(key)
            self._histories.delete_cubicle(key)
            self._record_change(key, "removed")

    def remove_agent(self, agent: str) -> None:
        """Every cubicle of an agent is gone, with all its folders; once it is leaving, none comes back."""
        self._remove_those(lambda key: key.agent == agent)
        self._workspaces.remove_agent(agent)
        self._histories.delete_agent(agent)

    def remove_user(self, user: int) -> None:
        """Every cubicle of a person is gone, with all its folders, those that were never started too."""
        self._remove_those(lambda key: key.user == user)
        for agent in self._agents.list_agents():
            self._workspaces.remove_cubicle(CubicleKey(agent.name, user))
            self._histories.delete_cubicle(CubicleKey(agent.name, user))

    def poll(self, key: CubicleKey) -> Exit | None:
        """None while the cubicle runs, else how it ended."""
        return self._engine.poll(self.container_name(key))

    def get_state(self, key: CubicleKey) -> CubicleState:
        """Whether it runs, since when, and what it uses; the engine takes most of a second to measure that."""
        glance = self.get_brief_state(key)
        usage = self.get_usage(key) if glance.running else None
        if usage is None:  # it does not run, or ended just now
            return CubicleState(running=False, started_at=None, usage=None)
        return replace(glance, usage=usage)

    def get_brief_state(self, key: CubicleKey) -> CubicleState:
        """Whether it runs and since when, at once; what it uses is left out."""
        name = self.container_name(key)
        running = next((c for c in self._engine.list_containers() if c.name == name and c.running), None)
        return CubicleState(running is not None, None if running is None else running.started_at, usage=None)

    def get_usage(self, key: CubicleKey) -> Usage | None:
        """What it uses now, by one question to the engine; None when it does not run."""
        try:
            return self._engine.get_usage(self.container_name(key))
        except NotFound:
            return None

    def list_running(self) -> set[CubicleKey]:
        """Which cubicles run now."""
        return {container.key for container in self._engine.list_containers() if container.running}

    def list_containers(self) -> list[Container]:
        """What the engine has of ours, running or not."""
        return self._engine.list_containers()

    def list_cubicles(self, agent: str | None = None) -> list[CubicleKey]:
        """The cubicles that were ever started, of one agent or of all."""
        with self._store.reading() as db:
            return rows.list_cubicles(db, agent)

    def reconcile(self) -> None:
        """After a start: running cubicles get their doors back, and go on where a death of ours left them frozen;
        containers of deleted agents go."""
        known = set(self.list_cubicles())
        for container in self._engine.list_containers():
            if container.key not in known:
                self._engine.remove(container.name)
            elif container.running:
                with self._change_lock(container.key):
                    self._mark_changed(container.key)  # the image may be another since it was started
                    uid, gid = self._choose_ids(container.key)
                    self._doors.open(container.key, uid=uid, gid=gid)
                    if container.is_frozen:
                        self._engine.thaw(container.name)

    def stop_all(self) -> None:
        """No cubicle of this install runs."""
        with ThreadPoolExecutor(_STOPPED_AT_ONCE) as pool:
            list(pool.map(self.stop, self.list_running()))

    def container_name(self, key: CubicleKey) -> str:
        """The container's name."""
        return f"hermit-{self._install.id}-{key.agent}-{key.user}"

    def _remove_those(self, are_meant: Callable[[CubicleKey], bool]) -> None:
        with self._table_lock:
            touched = set(self._locks)
        for key in filter(are_meant, touched | set(self.list_cubicles())):
            self.remove(key)

    def _check_wanted(self, key: CubicleKey) -> None:
        with self._store.reading() as db:
            if deletion_rows.is_being_deleted(db, key):
                raise NotFound(f"The agent {key.agent}, or the person whom it works for, is being deleted.")

    def _change_lock(self, key: CubicleKey) -> threading.Lock:
        with self._table_lock:
            return self._locks.setdefault(key, threading.Lock())

    def _mark_changed(self, key: CubicleKey) -> None:
        with self._table_lock:
            self._doubts[key] = object()

    def _make_spec(self, key: CubicleKey) -> CubicleSpec:
        agent = self._agents.get(key.agent)
        uid, gid = self._choose_ids(key)
        mounts = self._workspaces.prepare_folders(key, uid=uid, gid=gid)
        return CubicleSpec(
            name=self.container_name(key),
            install=self._install.id,
            home=self._install.home,
            key=key,
            image=self._image_tag(agent.image),
            uid=uid,
            gid=gid,
            mounts=mounts,
            limits=agent.limits,
            runtime=self._install.runtime,
        )

    def _choose_ids(self, key: CubicleKey) -> tuple[int, int]:
        """The user that the cubicle runs as: one of its own where we may choose, else ours."""
        with self._store.writing() as db:
            number = rows.get_cubicle_number(db, key, time.time())
        if not self._install.is_root:
            return self._install.uid, self._install.gid
        uid = uid_of(number)
        return uid, uid

    def _record_change(self, key: CubicleKey, what: str, why: str = "") -> None:
        with self._store.writing() as db:
            person = people_rows.get_user(db, key.user)
            whose = person.name if person else "somebody who was removed"
            text = f"The cubicle of {key.agent} for {whose} {what}{why}."
            audit_rows.insert_record(db, f"cubicle.{what}", text, now=time.time(), agent=key.agent, user=key.user)
        self._broker.publish(Event("cubicle", key, {"state": what}))


def uid_of(number: int) -> int:
    """The user that a cubicle with this number runs as, where we may choose."""
    return _FIRST_UID + (number - 1) % _UIDS
