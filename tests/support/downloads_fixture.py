"""An install whose agents may ask for files, over an internet of our own: real rows, real threads, real TLS on
loopback, and nobody looks a name up or connects but through `Town`, which counts.
"""

from __future__ import annotations

import hashlib
import itertools
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.approvals.grant_rows import Grant
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.downloads.downloads import DownloadRequests
from orchestrator.capabilities.downloads.outcome import DownloadOutcomes
from orchestrator.capabilities.downloads.records import Asset, AssetStatus
from orchestrator.capabilities.downloads.worker import DownloadWorker
from orchestrator.capabilities.landing import WorkspaceStore
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.models import Approval, CubicleKey, User
from orchestrator.files.free_space import Reserve
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs.pool import Jobs
from orchestrator.web.body import FetchLimits
from orchestrator.web.limits import Internet
from orchestrator.web.urls import UrlRules
from tests.support.core_fixture import KEY, CoreFixture, core_fixture
from tests.support.fake_internet import PUBLIC, FakeInternet, FakeSite, Script, opened

URL = "https://files.example/papers/report.pdf"
BYTES = b"%PDF-1.7 of a paper\n" * 300
SHA256 = hashlib.sha256(BYTES).hexdigest()
SMALL = FetchLimits(file_bytes=200_000, total_s=10, connect_s=5, silence_s=1, pace_bytes=1, pace_window_s=5)
PATIENCE_S = 10.0
Found = TypeVar("Found")


@dataclass
class Certificates:
    """A certificate at both ends."""

    client: ssl.SSLContext
    server: ssl.SSLContext


@dataclass
class DownloadsFixture:
    """All of it, and what tests do with it."""

    install: CoreFixture
    town: FakeInternet
    certificates: Certificates
    calls: Calls
    notifications: Notifications
    jobs: Jobs
    assets: DownloadRequests
    downloads: DownloadWorker
    stack: ExitStack
    workspaces: Workspaces
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def site(self, script: Script, address: str = PUBLIC) -> FakeSite:
        """A server with a certificate at this address."""
        site = self.stack.enter_context(opened(script, self.certificates.server))
        self.town.sites[address] = site
        return site

    def ask(self, url: str = URL, *, key: CubicleKey = KEY, turn: int | None = None, **fields: Any) -> CapabilityCall:
        """A command in the cubicle asks."""
        asked = {"description": "the paper", "url": url, **fields}
        return self.calls.run_command(Caller(key, turn), f"c{next(self._numbers)}", "ASSET_REQUEST", asked)

    def asset(self, call: CapabilityCall) -> Asset:
        """What a call is about, as it stands."""
        return self.assets.get_download(call.waits_for.partition(":")[2])

    def pending(self) -> list[Approval]:
        """The open questions, the newest first."""
        return [each for each in self.install.approvals.list_approvals() if str(each.status) == "pending"]

    def held(self) -> list[Grant]:
        """What the agent may do without asking."""
        return self.install.grants.of_agent("crab", viewer=self.install.operator)

    def decide(
        self, call: CapabilityCall, *, approve: bool = True, always: bool = False, by: User | None = None
    ) -> Approval:
        """A person's answer to what a call asked."""
        asset = call.waits_for.partition(":")[2]
        who = by or self.install.operator
        return self.install.approvals.decide(asset, approve=approve, by=who, surface="test", always=always)

    def ended(self, call: CapabilityCall) -> CapabilityCall:
        """The call, once it has ended."""
        found = self.calls.wait_call(call.cubicle, call.id, PATIENCE_S)
        assert found.status != "waiting", found
        return found

    def fetched(self, url: str = URL, **options: Any) -> CapabilityCall:
        """Asked for, agreed to, and over."""
        call = self.ask(url, **options)
        self.decide(call)
        return self.ended(call)

    def until(self, look: Callable[[], Found]) -> Found:
        """What ``look`` finds, once it finds something."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := look()):
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.01)
        return found

    def settled(self, asset: str) -> Asset:
        """The asset, once it has ended."""
        ends = (AssetStatus.DONE, AssetStatus.FAILED)
        return self.until(lambda: (found := self.assets.get_download(asset)).status in ends and found)  # type: ignore[return-value]  # False is never returned

    def inbox(self, key: CubicleKey = KEY) -> dict[str, bytes]:
        """What lies in ``in/``, hidden files too."""
        folder = self.install.home / "workspaces" / key.agent / str(key.user) / "in"
        return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}

    @property
    def is_untouched(self) -> bool:
        """Nobody looked a name up or connected."""
        return not self.town.looked_up and not self.town.connected


@contextmanager
def fixture(
    home: Path,
    certificates: Certificates,
    *,
    town: FakeInternet | None = None,
    limits: FetchLimits = SMALL,
    rules: UrlRules | None = None,
    workspaces: Callable[[Path], Workspaces] = Workspaces,
    is_started: bool = True,
    **agent: Any,
) -> Iterator[DownloadsFixture]:
    """A fixture over ``home``, opened again when it was there before; ``workspaces`` may die at a moment of its own."""
    rules = rules or UrlRules()
    with ExitStack() as stack:
        install = stack.enter_context(core_fixture(home, **agent))
        (home / "scratch").mkdir(exist_ok=True)
        notifications = Notifications(install.store, install.broker)
        calls = Calls(store=install.store, agents=install.agents)
        jobs = Jobs(install.store, notifications, finish=calls.finish_calls)
        endings = DownloadOutcomes(install.store, install.broker, jobs)
        assets = DownloadRequests(
            store=install.store,
            agents=install.agents,
            approvals=install.approvals,
            grants=install.grants,
            jobs=jobs,
            endings=endings,
            rules=rules,
        )
        calls.set_registry(REGISTRY, assets.deeds)
        place = workspaces(home)
        town = town or FakeInternet({"files.example": [[PUBLIC]]})
        downloads = DownloadWorker(
            assets=assets,
            endings=endings,
            landing=WorkspaceStore(place, install.agents, Reserve(home, ballast=home / "ballast"), home),
            internet=Internet(town, certificates.client, limits),
            rules=rules,
            folder=home / "scratch",
        )
        jobs.add_kind(downloads.kind)
        sites = stack.enter_context(ExitStack())
        made = DownloadsFixture(
            install, town, certificates, calls, notifications, jobs, assets, downloads, sites, place
        )
        stack.callback(jobs.close)
        if is_started:
            jobs.start()
        yield made
