"""An install whose agents may ask for packages, with helpers that never leave: what they bring is what a test says."""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.approvals import source_rows
from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.packages.indexes import PackageIndexes
from orchestrator.capabilities.packages.installs import Packages
from orchestrator.capabilities.packages.resolver import PackageResolver
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from orchestrator.gate.gate import Gates
from orchestrator.gate.traffic_log import TrafficLog
from orchestrator.gate.upstream_proxy import UpstreamProxies
from orchestrator.jobs.pool import Jobs
from tests.support.core_fixture import KEY, CoreFixture, core_fixture
from tests.support.fake_internet import FakeInternet
from tests.support.fakes import NoHelpers

CONTENT = b"a wheel, for all the host knows"


def listed(name: str, version: str = "1.0", content: bytes = CONTENT, **other: Any) -> dict[str, Any]:
    """A package of pip's as a package resolver reports it."""
    return {
        "name": name,
        "version": version,
        "file": f"{name.replace('-', '_')}-{version}-py3-none-any.whl",
        "url": f"https://files.example/{name}.whl",
        "hash": "sha256:" + hashlib.sha256(content).hexdigest(),
        "size": len(content),
        "places": [],
        **other,
    }


class FakeHelpers(NoHelpers):
    """Helpers that never leave: they report what they are told to."""

    def __init__(self) -> None:
        self.report: object = {"ok": True, "packages": [listed("six")]}
        """What a look-up brings; bytes are written as they are, None is no report at all."""
        self.files: dict[str, bytes] | None = None
        """What a download brings in the place of the right files."""
        self.tasks: list[dict[str, Any]] = []
        self.cleared = 0
        self.is_broken = False
        self.during: Callable[[dict[str, Any]], None] = lambda _: None
        """Happens while a package resolver is under way."""

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """Read the task, bring what was said."""
        task = json.loads((spec.given / "task.json").read_bytes())
        self.tasks.append(task)
        self.during(task)
        if self.is_broken:
            raise Unavailable("The Docker engine does not answer.")
        report = self.report if task["do"] == "resolve" else {"ok": True}
        if task["do"] == "fetch":
            right = {package["file"]: CONTENT for package in task["packages"]}
            for name, content in (right if self.files is None else self.files).items():
                (spec.brought / name).write_bytes(content)
        if report is not None:
            written = report if isinstance(report, bytes) else json.dumps(report).encode()
            (spec.brought / "report.json").write_bytes(written)
        return HelperEnd.ENDED

    def clear_helpers(self, kind: HelperKind) -> None:
        """Counted."""
        self.cleared += 1


MOST_AN_HOUR = 10


@dataclass
class PackagesFixture:
    """All of it, and what tests do with it."""

    install: CoreFixture
    calls: Calls
    notifications: Notifications
    jobs: Jobs
    packages: Packages
    helpers: FakeHelpers
    shelf: Path
    clock: list[float]
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def ask(self, *names: str, system: str = "pip", key: CubicleKey = KEY, turn: int | None = None) -> CapabilityCall:
        """A command in the cubicle asks."""
        fields = {"system": system, "packages": list(names or ("six",))}
        return self.calls.run_command(
            Caller(key, turn), f"c{time.monotonic_ns()}-{next(self._numbers)}", "INSTALL", fields
        )

    def work(self) -> int:
        """All that there is to do is done; how much."""
        done = 0
        while self.jobs.run_next():
            done += 1
        return done

    def pending(self) -> list[Approval]:
        """The open questions, the newest first."""
        return self.install.approvals.list_approvals(status=ApprovalStatus.PENDING)

    def decide(self, *, approve: bool = True) -> None:
        """A person's answer to the newest question."""
        self.install.approvals.decide(self.pending()[0].id, approve=approve, by=self.install.operator, surface="test")

    def now(self, call: CapabilityCall) -> CapabilityCall:
        """The call as it stands."""
        return self.calls.get_call(call.cubicle, call.id)

    def read(self) -> list[tuple[str, str, int | None]]:
        """What was read of strangers: its kind, its name and in which conversation."""
        with self.install.store.reading() as db:
            found = source_rows.list_sources(db, KEY, None)
        return [(str(one.kind), one.subject, one.conversation) for one in found]

    def on_the_shelf(self) -> dict[str, bytes]:
        """What lies in ``data/packages``, by its path."""
        return {str(p.relative_to(self.shelf)): p.read_bytes() for p in self.shelf.rglob("*") if p.is_file()}


@contextmanager
def fixture(
    home: Path, helpers: FakeHelpers | None = None, *, asks_about_names: bool = False, **agent: Any
) -> Iterator[PackagesFixture]:
    """A fixture over ``home``, opened again when it was there before. Unless it ``asks_about_names``, any name may be
    looked up."""
    helpers = helpers or FakeHelpers()
    with core_fixture(home, **agent) as install:
        install.workspaces.prepare_folders(KEY, uid=0, gid=0)
        for system in () if asks_about_names else ("pip", "npm"):
            subject = f"look up packages of {system}"
            install.grants.add_grant(
                KEY.agent, GrantKind.COMMAND, subject, GrantScope.ALWAYS, by=install.operator, surface="test"
            )
        notifications, clock = Notifications(install.store, install.broker), [time.time()]
        calls = Calls(store=install.store, agents=install.agents)
        (home / "helpers").mkdir(exist_ok=True)
        gates = Gates(FakeInternet(), proxies=UpstreamProxies(), write=TrafficLog(install.store).write_rows)
        jobs = Jobs(install.store, notifications, finish=calls.finish_calls, now=lambda: clock[0])
        packages = Packages(
            store=install.store,
            agents=install.agents,
            approvals=install.approvals,
            grants=install.grants,
            jobs=jobs,
            workspaces=install.workspaces,
            resolver=PackageResolver(
                helpers, gates, folder=home / "helpers", image=lambda: "resolver", outside=PackageIndexes()
            ),
            most_an_hour=MOST_AN_HOUR,
            now=lambda: clock[0],
        )
        calls.set_registry(REGISTRY, packages.deeds)
        jobs.reconcile()
        shelf = home / "workspaces" / KEY.agent / str(KEY.user) / "data" / "packages"
        try:
            yield PackagesFixture(install, calls, notifications, jobs, packages, helpers, shelf, clock)
        finally:
            gates.close()
