"""Live browsers: from nothing to the first page, a call to one that is paused, what they keep. The pages are the
bench's own, behind a gate that leads nowhere else. ``python -m bench.browsers [--write]``."""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import docker

from bench import browser_peers
from bench.figures import Row, circumstances, keep, table
from orchestrator.browser.dialogs import DialogCloser
from orchestrator.browser.remote_address import RemoteAddress
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.browser.remote_backend import RemoteBackend
from orchestrator.capabilities.browser.site_access import Allowed, SiteAccess
from orchestrator.core.models import CubicleKey
from orchestrator.engine.browser_sandbox import BrowserSandbox
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.helpers import LIVE_BROWSER
from orchestrator.engine.setup.cubicle_image import ensure_image
from orchestrator.engine.setup.docker_setup import find_engine, require_usable
from orchestrator.engine.setup.machine import LocalMachine
from orchestrator.engine.setup.progress import SetupProgress
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.live_browsers.models import BrowserLimits, BrowserParts
from orchestrator.web.limits import Internet
from tests.support.driven_browser import LenientPolicy
from tests.support.driven_site import driven_site
from tests.support.fakes import NoHelpers
from tests.support.page_refs import ref_in
from tests.support.raw_driver import RawDriver, gate_maker
from tests.support.remote_chromium import remote_chromium

ROUNDS, MOST = 10, 4
STILL_S = 3.0
KEYS = [CubicleKey(f"crab-{number}", 1) for number in range(MOST)]
ROWS = "".join(f"<tr><td><a href='#{n}'>Row {n}</a><td><button>Do {n}</button>" for n in range(200))
PAGES = {
    "http://site.test/": f"<!doctype html><title>Rows</title><table>{ROWS}</table>".encode(),
    "http://site.test/busy": b"<!doctype html><title>Busy</title><script>const go = () => {"
    b"document.title++; requestAnimationFrame(go) }; go()</script>",
}
RUN, PAUSE = "`docker run … true` of the same image", "`docker pause` and `unpause`"
Times = dict[str, list[float]]


class BrowserBench:
    """The live browsers of an install of the bench's own, and an engine to ask."""

    def __init__(self, client: docker.DockerClient, image: str, folder: Path) -> None:
        self.client, self.image, self.install = client, image, f"bench{os.getpid()}"
        helpers = DockerHelpers(client, self.install, str(folder))
        sandbox = BrowserSandbox(helpers, folder / "trials")
        sandbox.choose_kind(image)  # which is tried once, and not what is measured
        gate = gate_maker(PAGES | browser_peers.PAGES, [])
        parts = BrowserParts(helpers, folder / "browsers", lambda: image, sandbox.choose_kind, gate, RawDriver)
        self.browsers: LiveBrowsers[RawDriver] = LiveBrowsers(parts, BrowserLimits(most=MOST, lingers_s=0.0))
        self.browsers.start()
        self._sessions = BrowserParts(
            helpers,
            folder / "sessions",
            lambda: image,
            sandbox.choose_kind,
            gate,
            lambda _key: BrowserSession(LenientPolicy()),
        )

    def compare(self, folder: Path) -> str:
        """The table beside a peer; the other browsers have been closed."""
        browsers: LiveBrowsers[BrowserSession] = LiveBrowsers(self._sessions, BrowserLimits(most=1))
        browsers.start()
        try:
            return browser_peers.compare(browsers, self.memory_mib, folder)
        finally:
            browsers.close()

    def open(self, url: str, key: CubicleKey = KEYS[0]) -> str:
        """The session of a fresh tab that has loaded this page."""

        async def work(driver: RawDriver) -> str:
            session = await driver.open_tab()
            await driver.navigate(session, url)
            return session

        return self.browsers.call(key, work)

    def read(self, session: str, key: CubicleKey = KEYS[0]) -> object:
        """Something of the page."""
        script = "document.body.innerText.length"
        return self.browsers.call(key, lambda driver: driver.evaluate(session, script), starts=False)

    def containers(self) -> list[str]:
        """The ids of those that live."""
        filters = {"label": f"{LIVE_BROWSER.label}={self.install}"}
        return [str(one["Id"]) for one in self.client.api.containers(filters=filters)]

    def wait_paused(self) -> str:
        """The id of the only one, once it is paused."""
        (container,) = self.containers()
        while not self.client.api.inspect_container(container)["State"]["Paused"]:
            time.sleep(0.01)
        return container

    def memory_mib(self) -> float:
        """Of all of them, without what the kernel gives back when it is asked to."""
        total = 0
        for container in self.containers():
            found = self.client.api.stats(container, stream=False, one_shot=True)["memory_stats"]
            kept = found.get("stats", {})
            total += found["usage"] - kept.get("inactive_file", kept.get("total_inactive_file", 0))
        return total / 2**20

    def cpu_ms(self, container: str) -> float:
        """What it has used of processors."""
        found = self.client.api.stats(container, stream=False, one_shot=True)
        return float(found["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e6


def took_ms(work: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.monotonic_ns()
    work()
    return (time.monotonic_ns() - began) / 1e6


def starts(bench: BrowserBench, times: Times) -> None:
    """One round: the floor, then a browser from nothing, its first page, and its end."""
    run = bench.client.containers.run
    times["run"].append(took_ms(lambda: run(bench.image, ["true"], network_mode="none", remove=True)))

    async def ask(driver: RawDriver) -> None:
        await driver.command("Browser.getVersion")

    began = time.monotonic_ns()
    bench.browsers.call(KEYS[0], ask)
    times["ready"].append((time.monotonic_ns() - began) / 1e6)
    bench.open("http://site.test/")
    times["page"].append((time.monotonic_ns() - began) / 1e6)
    times["memory"].append(bench.memory_mib())
    times["end"].append(took_ms(lambda: bench.browsers.end(KEYS[0])))


def calls(bench: BrowserBench, times: Times) -> None:
    """A call to one that is paused and to one that is awake, beside what pausing takes; a connection that is lost."""
    session = bench.open("http://site.test/")
    api, container = bench.client.api, bench.wait_paused()
    for _ in range(ROUNDS * 2):
        times["paused"].append(took_ms(lambda: bench.read(session)))
        bench.wait_paused()
        times["pause"].append(took_ms(lambda: api.unpause(container)) + took_ms(lambda: api.pause(container)))
    with bench.browsers.awake(KEYS[0]):
        times["awake"] += [took_ms(lambda: bench.read(session)) for _ in range(ROUNDS * 5)]

        async def lose(driver: RawDriver) -> None:
            driver.drop()
            before = driver.connections
            while driver.connections == before:
                await driver.wait_event("Relay.ready", since=len(driver.events))
            await driver.command("Browser.getVersion")

        times["back"] += [took_ms(lambda: bench.browsers.call(KEYS[0], lose)) for _ in range(ROUNDS)]
    bench.open("http://site.test/busy")
    with bench.browsers.awake(KEYS[0]):
        before = bench.cpu_ms(container)
        time.sleep(STILL_S)
        times["busy"].append((bench.cpu_ms(container) - before) / STILL_S)
    bench.wait_paused()
    before = bench.cpu_ms(container)
    time.sleep(STILL_S)
    times["still"].append((bench.cpu_ms(container) - before) / STILL_S)
    bench.browsers.end(KEYS[0])


def crowd(bench: BrowserBench, times: Times) -> None:
    """As many as may be, each with a page."""
    for key in KEYS:
        bench.open("http://site.test/", key)
    times["crowd"].append(bench.memory_mib())
    times["crowd_call"] += [took_ms(partial(bench.open, "http://site.test/", key)) for key in KEYS * 2]


async def _open_dialog(driver: BrowserSession) -> None:
    await driver.click(ref_in((await driver.snapshot()).body, "Delete"))
    await asyncio.sleep(0.1)  # a request that breaks off at once is held for forbidden by the page's policy


async def _relink(driver: BrowserSession, cut: Callable[[], None]) -> None:
    """The connection breaks, and the page answers again."""
    supervisor = driver.supervisor
    before = supervisor.connections
    cut()
    while supervisor.connections == before or not supervisor.is_ready.is_set():  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0.001)
    await supervisor.wire.call("Browser.getVersion")


def remote(folder: Path, times: Times) -> None:
    """A remote browser on this machine: from nothing to its first page, a connection that is cut with a dialog open."""
    access = SiteAccess()
    access.set_granted(Allowed(frozenset({"lab.test"})))
    with driven_site() as site, remote_chromium(site.port) as relay:
        backend = RemoteBackend(
            RemoteAddress(f"http://127.0.0.1:{relay.port}"),
            Internet(),
            folder / "remote.json",
            get_access=lambda _: access,
            private_hosts=frozenset(),
        )

        def none(*_: object) -> Any:
            raise AssertionError("A remote browser needs no container.")

        parts = BrowserParts(
            NoHelpers(), folder / "remote", none, none, none, backend.make_driver, remote=backend.parts
        )
        browsers: LiveBrowsers[BrowserSession] = LiveBrowsers(parts)
        browsers.start()
        try:
            for _ in range(ROUNDS):
                times["remote_page"].append(
                    took_ms(lambda: browsers.call(KEYS[0], lambda driver: driver.open("http://lab.test/")))
                )
                browsers.call(KEYS[0], _open_dialog)
                times["remote_back"].append(
                    took_ms(lambda: browsers.call(KEYS[0], lambda one: _relink(one, relay.cut)))
                )
                dialog = browsers.call(KEYS[0], lambda driver: driver.dialog("accept"))
                assert dialog.closed_by is DialogCloser.AGENT, dialog
                browsers.end(KEYS[0])
        finally:
            browsers.close()


def rows_of(times: Times) -> str:
    """The table."""
    floors = {"run": Row(RUN, times["run"]), "pause": Row(PAUSE, times["pause"])}
    rows = [
        Row("from nothing until it takes commands", times["ready"], "run", most=1_000),
        Row("from nothing to its first page", times["page"], "run", most=1_500),
        Row("ended, with nothing left", times["end"], "run"),
        Row("a call to one that is awake", times["awake"], most=10),
        Row("a call to one that is paused", times["paused"], "pause", most=100),
        Row("a fresh tab with a page, four browsers at once", times["crowd_call"]),
        Row("our end lost until it takes commands again", times["back"], most=100),
        Row("a remote browser of this machine: from nothing to its first page", times["remote_page"], most=1_500),
        Row("its connection cut with a dialog open, until that can be answered", times["remote_back"], most=100),
        Row("memory with one page of 1,000 elements", times["memory"], most=130, unit="MiB"),
        Row("memory of four, a page each", times["crowd"], most=520, unit="MiB"),
        Row("a page that moves, while it is awake", times["busy"], unit="ms of a processor in a second"),
        Row("the same, paused", times["still"], most=0, unit="ms of a processor in a second"),
    ]
    return table(rows, floors)


def make_folder(folder: str) -> Path:
    """Where the peer may write."""
    made = Path(folder) / "peer"
    made.mkdir()
    return made


def main() -> None:
    """Measure, print, and with ``--write`` keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    times: Times = defaultdict(list)
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory(prefix="hermit-browsers-") as folder:
        machine = LocalMachine(Path(folder), os.environ)
        client = require_usable(find_engine(machine), machine)
        image = ensure_image(client, "browser", machine=machine, progress=SetupProgress())
        bench = BrowserBench(client, image, Path(folder))
        try:
            for _ in range(ROUNDS):
                starts(bench, times)
            calls(bench, times)
            crowd(bench, times)
            remote(Path(folder), times)
            bench.browsers.close()
            beside = bench.compare(make_folder(folder))
        finally:
            bench.browsers.close()
            client.close()
    loads.append(os.getloadavg()[0])
    text = f"{rows_of(times)}\n\n{beside}\n\n{circumstances(loads)}"
    print(text)
    if options.write:
        keep("browser", text)


if __name__ == "__main__":
    main()
