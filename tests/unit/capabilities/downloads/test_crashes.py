"""Downloads through deaths and full disks: what was agreed to comes after the next start, once, and nothing is left
half done."""

from __future__ import annotations

import io
import multiprocessing
import shutil
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.downloads.records import AssetStatus
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.files.free_space import Reserve
from orchestrator.files.models import Readable, Stored
from orchestrator.files.workspace import Workspaces
from orchestrator.web.fetcher import tls_context
from tests.support.core_fixture import KEY
from tests.support.downloads_fixture import BYTES, PATIENCE_S, SHA256, Certificates, DownloadsFixture, fixture
from tests.support.fake_internet import PUBLIC, FakeInternet, FakeSite, Visit, answer, make_certificate, opened

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """The one of files.example, and a server's context with it."""
    return make_certificate(tmp_path_factory.mktemp("tls"), "DNS:files.example")


@pytest.fixture(scope="module")
def certificates(certificate: tuple[Path, ssl.SSLContext]) -> Certificates:
    """The same for both ends."""
    return Certificates(tls_context(str(certificate[0])), certificate[1])


def gives(visit: Visit) -> None:
    """A server that has the paper."""
    visit.send(answer(BYTES))


class Halting(Workspaces):
    """Holds still at the moment when a file is stored, before or after, so that a test can look at the install as a
    death at this moment would leave it.
    """

    def __init__(self, home: Path, *, is_before: bool) -> None:
        super().__init__(home)
        self._is_before = is_before
        self.reached, self.gate = threading.Event(), threading.Event()

    def write_in(
        self, key: CubicleKey, name: str | bytes, stream: Readable, *, max_bytes: int, is_numbered: bool = True
    ) -> Stored:
        """As a workspace does, with a pause."""
        if self._is_before:
            self._hold()
        stored = super().write_in(key, name, stream, max_bytes=max_bytes, is_numbered=is_numbered)
        if not self._is_before:
            self._hold()
        return stored

    def _hold(self) -> None:
        self.reached.set()
        self.gate.wait(PATIENCE_S)


def left_by_a_death(folder: Path, certificates: Certificates, *, is_before: bool) -> tuple[Path, CapabilityCall]:
    """A home as a death around the storing of a file leaves it, and the call that waits for it."""
    alive, dead = folder / "alive", folder / "dead"
    halting: list[Halting] = []

    def workspaces(home: Path) -> Workspaces:
        halting.append(Halting(home, is_before=is_before))
        return halting[0]

    with fixture(alive, certificates, workspaces=workspaces) as at:
        at.site(gives)
        call = at.ask()
        at.decide(call)
        assert halting[0].reached.wait(PATIENCE_S)
        shutil.copytree(alive, dead)
        halting[0].gate.set()
        at.ended(call)
    return dead, call


def unfinished(at: DownloadsFixture) -> list[str]:
    """The ids of what is to be fetched."""
    return [asset.id for asset in at.assets.list_downloads(AssetStatus.FETCHING)]


@pytest.mark.parametrize("is_before", [True, False])
def test_a_death_around_the_storing_loses_and_doubles_nothing(
    tmp_path: Path, certificates: Certificates, *, is_before: bool
) -> None:
    """One file in the end; where it lay there already it is not even fetched again."""
    home, call = left_by_a_death(tmp_path, certificates, is_before=is_before)
    with fixture(home, certificates, is_started=False) as at:
        assert unfinished(at) == [call.waits_for.partition(":")[2]]
        assert at.inbox() == ({} if is_before else {"report.pdf": BYTES})
        site = at.site(gives)
        at.jobs.start()
        ended = at.ended(call)
        assert (ended.status, ended.result["sha256"]) == ("done", SHA256)
        assert site.connections == (1 if is_before else 0)
        assert at.inbox() == {"report.pdf": BYTES}
        assert len(at.install.audited("asset.arrived")) == 1


def test_another_file_of_that_name_is_not_taken_for_it(tmp_path: Path, certificates: Certificates) -> None:
    """A person sent one before the download was taken up again: both lie there."""
    home, call = left_by_a_death(tmp_path, certificates, is_before=True)
    with fixture(home, certificates, is_started=False) as at:
        at.workspaces.write_in(KEY, "report.pdf", io.BytesIO(b"mine"), max_bytes=100)
        at.site(gives)
        at.jobs.start()
        assert at.ended(call).result["path"] == "/app/workspace/in/report-2.pdf"
        assert at.inbox() == {"report.pdf": b"mine", "report-2.pdf": BYTES}


def test_closing_in_the_middle_is_no_failure(tmp_path: Path, certificates: Certificates) -> None:
    """It ends at once, leaves nothing, and is fetched after the next start."""
    home, begun = tmp_path / "home", threading.Event()

    def slow(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        begun.set()
        while not visit.over.wait(0.02) and visit.send(b"x"):
            pass

    with fixture(home, certificates) as at:
        at.site(slow)
        call = at.ask()
        at.decide(call)
        assert begun.wait(5)
        at.jobs.close()
        assert len(unfinished(at)) == 1
        assert (at.inbox(), list((home / "scratch").iterdir())) == ({}, [])
    with fixture(home, certificates, is_started=False) as at:
        at.site(gives)
        at.jobs.start()
        assert at.ended(call).status == "done"
        assert at.inbox() == {"report.pdf": BYTES}


class Port:
    """The way from another process to a site of this one."""

    def __init__(self, port: int) -> None:
        self.port = port


def live(home: Path, certificate: Path, port: int, call: str) -> NoReturn:
    """What the other process does: ask, agree, fetch, until it is killed."""
    context = tls_context(str(certificate))
    with fixture(home, Certificates(context, context), is_started=False) as at:
        town: Any = at.town
        town.sites[PUBLIC] = Port(port)
        at.jobs.start()

        asked = {"description": "the paper", "url": "https://files.example/papers/report.pdf"}
        made = at.calls.run_command(Caller(KEY, None), call, "ASSET_REQUEST", asked)
        at.decide(made)
        threading.Event().wait(30)
    raise SystemExit


MOMENTS: dict[str, float] = {"at once": 0.0, "soon": 0.004, "a little later": 0.012, "later": 0.04}


@pytest.mark.parametrize("pause_s", MOMENTS.values(), ids=MOMENTS)
def test_sigkill(
    tmp_path: Path, certificate: tuple[Path, ssl.SSLContext], certificates: Certificates, pause_s: float
) -> None:
    """A process that is really killed, around the moment when the whole file has come: it comes once."""
    home, sent = tmp_path / "home", threading.Event()

    def script(visit: Visit) -> None:
        gives(visit)
        sent.set()

    with opened(script, certificate[1]) as site:
        other = multiprocessing.get_context("spawn").Process(
            target=live, args=(home, certificate[0], site.port, "c1"), daemon=True
        )
        other.start()
        assert sent.wait(20)
        threading.Event().wait(pause_s)
        other.kill()
        other.join(10)
        other.close()
        with fixture(home, certificates, town=_to(site)) as at:
            at.until(lambda: not unfinished(at))
            assert at.calls.get_call(KEY, "c1").status == "done"
            assert {name: data for name, data in at.inbox().items() if not name.startswith(".arriving-")} == {
                "report.pdf": BYTES
            }
            assert list((home / "scratch").iterdir()) == []


def _to(site: FakeSite) -> FakeInternet:
    return FakeInternet({"files.example": [[PUBLIC]]}, {PUBLIC: site})


class Full(Reserve):
    """A host whose disk is short, from a moment on."""

    is_short: Callable[[], bool] = staticmethod(lambda: True)

    def check_room(self) -> None:
        """Raises while it is."""
        if self.is_short():
            raise Unavailable("The disk of the host is full. Make room on it.")


def test_a_full_host_fetches_nothing(tmp_path: Path, certificates: Certificates) -> None:
    """Not a name is looked up for what could not be kept; with room again it works."""
    with fixture(tmp_path / "home", certificates) as at:
        at.site(gives)
        full = Full(at.install.home, ballast=at.install.home / "ballast")
        at.downloads._landing._reserve, before = full, at.downloads._landing._reserve
        assert "The disk of the host is full" in at.fetched().text
        assert at.is_untouched
        at.downloads._landing._reserve = before
        assert at.fetched().status == "done"


def test_a_disk_that_fills_meanwhile(tmp_path: Path, certificates: Certificates) -> None:
    """The download ends before the file is stored, and nothing of it is left."""
    with fixture(tmp_path / "home", certificates) as at:
        site = at.site(gives)
        full = Full(at.install.home, ballast=at.install.home / "ballast")
        full.is_short = lambda: site.connections > 0
        at.downloads._landing._reserve = full
        assert "The disk of the host is full" in at.fetched().text
        assert at.inbox() == {}
        assert list((at.install.home / "scratch").iterdir()) == []
