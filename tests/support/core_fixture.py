"""The rules of the install put together without its surfaces: a real database, real lock files, everything else as a
test wants it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.agents.users import Users
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.lock_files import LockFiles
from orchestrator.approvals.scripts import ScriptHashes
from orchestrator.capabilities.table import TOOLSETS
from orchestrator.core.audit import Audit
from orchestrator.core.db.audit_rows import AuditRow
from orchestrator.core.db.database import Store
from orchestrator.core.events import Broker, Subscription
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Agent, CubicleKey, Event, Role, Turn, User
from orchestrator.files.workspace import Workspaces
from orchestrator.llm.budget import Budget
from orchestrator.turns.queue import Turns
from orchestrator.turns.step_approvals import StepApprovals
from orchestrator.turns.steps import Steps
from tests.support.made_once import put_empty_database

KEY = CubicleKey("crab", 1)
OTHER = CubicleKey("crab", 2)
PASSWORD = "correct horse battery"


@dataclass
class CoreFixture:
    """All that decides, and what it did to the outside."""

    home: Path
    store: Store
    broker: Broker
    hooks: Hooks
    workspaces: Workspaces
    locks: LockFiles
    approvals: Approvals
    step_approvals: StepApprovals
    turns: Turns
    agents: Agents
    steps: Steps
    grants: Grants
    users: Users
    budget: Budget
    operator: User
    member: User
    woken: list[CubicleKey] = field(default_factory=list)
    aborted: list[int] = field(default_factory=list)

    @property
    def crab(self) -> Agent:
        """The one agent."""
        return self.agents.get("crab")

    def lock_names(self, key: CubicleKey = KEY) -> set[str]:
        """The lock files of a cubicle."""
        return {path.name for path in (self.home / "run" / key.agent / str(key.user)).glob("*.lock")}

    def under_way(self, text: str = "go", key: CubicleKey = KEY) -> Turn:
        """A turn that a crab has taken."""
        self.turns.submit(key, text, source="test")
        taken = self.turns.take_next(key, "boot", 0)
        assert taken is not None
        return taken

    def audited(self, kind: str) -> list[AuditRow]:
        """What the audit log holds of one kind, oldest first."""
        return Audit(self.store).search_records(kind=kind)[::-1]


@contextmanager
def core_fixture(home: Path, **agent: Any) -> Iterator[CoreFixture]:
    """The rooms over ``home``, with agent ``crab``, operator ``ada`` and member ``bob``; opened again when they were
    there before."""
    home.mkdir(exist_ok=True)
    put_empty_database(home / "hermit.db")
    store, broker, hooks = Store(home / "hermit.db"), Broker(), Hooks()
    workspaces = Workspaces(home)
    locks = LockFiles(workspaces)
    woken: list[CubicleKey] = []
    aborted: list[int] = []
    agents = Agents(store, providers=("fake", "other"), toolsets=TOOLSETS, hooks=hooks)
    grants = Grants(store=store, agents=agents, broker=broker)
    approvals = Approvals(store, broker, grants, hooks)
    step_approvals = StepApprovals(store, approvals, locks, hooks)
    turns = Turns(
        store=store,
        broker=broker,
        hooks=hooks,
        locks=locks,
        wake=woken.append,
        is_fresh=lambda _: True,
    )
    for over in (hooks.turn_stopping, hooks.turn_ended):
        over.subscribe(lambda moment: aborted.append(moment.turn))
    steps = Steps(
        store=store,
        broker=broker,
        hooks=hooks,
        agents=agents,
        approvals=step_approvals,
        grants=grants,
        scripts=ScriptHashes(workspaces),
        outputs=turns.outputs,
    )
    users = Users(store)
    operator = users.ensure_operator("ada", "")
    member = next((user for user in users.list_users() if user.role is Role.MEMBER), None) or users.add({"name": "bob"})
    if not agents.list_agents():
        agents.create({"name": "crab", **agent})
    try:
        yield CoreFixture(
            home,
            store,
            broker,
            hooks,
            workspaces,
            locks,
            approvals,
            step_approvals,
            turns,
            agents,
            steps,
            grants,
            users,
            Budget(store),
            operator,
            member,
            woken,
            aborted,
        )
    finally:
        store.close()


@contextmanager
def watching(broker: Broker) -> Iterator[Subscription]:
    """A subscription for a while."""
    subscription = broker.subscribe()
    try:
        yield subscription
    finally:
        broker.unsubscribe(subscription)


def heard(subscription: Subscription) -> list[Event]:
    """The news so far."""
    events = []
    while (event := subscription.get(0.01)) is not None:
        events.append(event)
    return events


def at_once(*deeds: Any, timeout_s: float = 30.0) -> list[Any]:
    """Do everything at the same moment, each in a thread; what each returned or raised."""
    results: list[Any] = [None] * len(deeds)
    barrier = threading.Barrier(len(deeds))

    def do(index: int) -> None:
        barrier.wait(timeout_s)
        try:
            results[index] = deeds[index]()
        except Exception as error:  # noqa: BLE001 - what was raised is a result here
            results[index] = error

    threads = [threading.Thread(target=do, args=(index,)) for index in range(len(deeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
    return results


def of_kind(events: list[Event], kind: str) -> list[Mapping[str, Any]]:
    """The bodies of one kind of news."""
    return [event.body for event in events if event.kind == kind]
