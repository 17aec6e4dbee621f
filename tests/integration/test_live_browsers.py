"""Live browsers on the real engine: a real Chromium behind the walls, shown pages through a way out of the test's own;
paused, woken, broken in each of its parts, and ended."""

from __future__ import annotations

import io
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import docker
import pytest

from orchestrator.core.errors import NotFound, TooMany
from orchestrator.core.models import CubicleKey
from orchestrator.engine.browser_sandbox import BrowserWalls, try_sandbox
from orchestrator.engine.docker.hardening import host_config, sandbox_helper
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.helpers import BARE_LIVE_BROWSER, BARE_TRIAL, LIVE_BROWSER, SANDBOX_TRIAL, HelperKind
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.live_browsers.models import BrowserEnded, BrowserLimits, BrowserParts
from tests.integration.test_engine_helpers import as_listed
from tests.support.raw_driver import RawDriver, gate_maker
from tests.support.real_app import eventually

pytestmark = pytest.mark.docker

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0
CRAB, OTHER, THIRD = (CubicleKey(name, 1) for name in ("crab", "other", "third"))
PAGES = {
    "http://site.test/": b"<!doctype html><title>Here</title><p>Hello",
    "http://site.test/busy": b"<!doctype html><title>0</title><script>setInterval(() => {"
    b"const end = performance.now() + 8; while (performance.now() < end); document.title++ }, 10)</script>",
    "http://site.test/ask": b"<!doctype html><title>Asks</title><script>"
    b"setTimeout(() => { document.title = confirm('Sure?') }, 100)</script>",
    "http://site.test/bomb": b"<!doctype html><title>Bomb</title><script>setTimeout(() => { const all = [];"
    b"for (;;) { const one = new Uint8Array(64 << 20); one.fill(7); all.push(one) } }, 100)</script>",
    "http://site.test/frame": b"<!doctype html><title>Frames</title><iframe src='http://other.test/'></iframe>",
    "http://other.test/": b"<!doctype html><p>Another site",
    "http://site.test/file.bin": b"x" * 100_000,
    "http://site.test/form": b"<!doctype html><input type=file id=f>",
}


@dataclass
class Live:
    """The live browsers of one install."""

    client: docker.DockerClient
    image: str
    folder: Path
    install: str
    kind: HelperKind = LIVE_BROWSER
    limits: BrowserLimits = field(default_factory=BrowserLimits)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.helpers = DockerHelpers(self.client, self.install, str(self.folder))
        parts = BrowserParts(
            self.helpers,
            self.folder / "browsers",
            lambda: self.image,
            lambda _image: self.kind,
            gate_maker(PAGES, self.asked),
            RawDriver,
        )
        self.browsers: LiveBrowsers[RawDriver] = LiveBrowsers(parts, self.limits)
        self.browsers.start()

    def there(self) -> list[dict[str, Any]]:
        """The containers that the engine has."""
        filters = {"label": f"{LIVE_BROWSER.label}={self.install}"}
        return list(self.client.api.containers(all=True, filters=filters))

    def state(self) -> str:
        """Of the only one."""
        return str(self.there()[0]["State"])

    def run(self, *command: str) -> str:
        """What a program prints that is run in the only one, by its own user."""
        run = self.client.api.exec_create(self.there()[0]["Id"], list(command))
        return str(self.client.api.exec_start(run["Id"]).decode())

    def cpu_ns(self) -> int:
        """What the only one has used."""
        found = self.client.api.stats(self.there()[0]["Id"], stream=False, one_shot=True)
        return int(found["cpu_stats"]["cpu_usage"]["total_usage"])

    def open(self, url: str, key: CubicleKey = CRAB) -> str:
        """The session of a new tab with this page."""

        async def work(driver: RawDriver) -> str:
            session = await driver.open_tab()
            await driver.navigate(session, url)
            return session

        return self.browsers.call(key, work)

    def evaluate(self, session: str, script: str, key: CubicleKey = CRAB) -> Any:
        """What a script gives in a tab."""
        return self.browsers.call(key, lambda driver: driver.evaluate(session, script))

    def diagnostics(self) -> str:
        """For a test that failed."""
        return f"{[(one['Names'], one['Status']) for one in self.there()]}\nasked for: {self.asked[-20:]}"


Make = Callable[..., Live]


@pytest.fixture
def make(client: docker.DockerClient, image_tag: Callable[[str], str], tmp_path: Path) -> Iterator[Make]:
    """Makes live browsers, all of which are gone after the test."""
    made: list[Live] = []
    install = f"live{secrets.token_hex(4)}"

    def one(**more: Any) -> Live:
        made.append(Live(client, image_tag("browser"), tmp_path, install, **more))
        return made[-1]

    yield one
    for live in made:
        live.browsers.close()
    assert [live.there() for live in made] == [[] for _ in made]


@pytest.fixture
def live(make: Make) -> Live:
    """With Chromium's own sandbox, as on most machines."""
    return make()


@pytest.fixture(params=[LIVE_BROWSER, BARE_LIVE_BROWSER], ids=["sandbox", "bare"])
def either(request: pytest.FixtureRequest, make: Make) -> Live:
    """With the sandbox, and without."""
    return make(kind=request.param)


# --- the walls -------------------------------------------------------------------------------------------------

INSIDE = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(call, *given):
    child = os.fork()
    if not child:
        os._exit(0 if getattr(libc, call)(*given) == 0 else ctypes.get_errno())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
facts = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print("net", *sorted(os.listdir("/sys/class/net")))
print("who", os.getuid(), facts["CapEff"], facts["CapBnd"], facts["NoNewPrivs"], facts["Seccomp"])
for path in ("/x", "/app/x", "/run/helper/x", "/helper/in/x", "/etc/x", "/usr/bin/x"):
    try:
        open(path, "w")
        print("wrote", path)
    except OSError:
        pass
print("apps", *sorted(os.listdir("/app")))
print("sockets", *sorted(os.listdir("/run/helper")))
print("unshare", *[tried("unshare", flag) for flag in (0x10000000, 0x20000, 0x40000000, 0x10020000)])
def mounts():
    libc.unshare(0x10000000)
    return libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)
libc.mounts = mounts
print("mount", tried("mounts"))
for family in (16, 17, 40):
    try:
        socket.socket(family, socket.SOCK_RAW if family == 16 else socket.SOCK_DGRAM if family == 17 else 1)
        print("socket", family)
    except OSError:
        pass
"""
RENDERERS = """
import os
for name in os.listdir("/proc"):
    try:
        said = open(f"/proc/{name}/cmdline", "rb").read() if name.isdigit() else b""
        if b"--type=renderer" in said and not said.startswith(b"/usr/bin/python3"):
            facts = dict(l.split(":\\t", 1) for l in open(f"/proc/{name}/status").read().splitlines() if ":\\t" in l)
            print(len(facts["NSpid"].split()), facts["CapEff"], facts["Seccomp"], facts["Seccomp_filters"])
    except FileNotFoundError:
        pass
"""


def test_the_walls_are_those_of_the_table(either: Live) -> None:
    """As the engine lists them, with numbers of its own, and a network of nobody."""
    either.open("http://site.test/")
    listed = either.client.api.inspect_container(either.there()[0]["Id"])
    spec = either.browsers._spec_of(CRAB)
    asked = host_config(either.client.api, sandbox_helper(spec, most_cpus=either.client.info()["NCPU"]))
    assert as_listed(asked, listed["HostConfig"]) == {}
    assert list(listed["NetworkSettings"]["Networks"]) == ["none"]
    assert listed["HostConfig"]["Memory"] == listed["HostConfig"]["MemorySwap"] == 1 << 30
    assert listed["Config"]["User"].partition(":")[0] not in ("", "0", "root")
    mounts = {mount["Destination"]: mount["RW"] for mount in listed["Mounts"]}
    assert mounts == {"/run/helper": False, "/helper/in": False, "/helper/out": True}


def test_the_walls_from_inside(either: Live) -> None:
    """No interface but the loopback, an ordinary user without powers, nothing writable, no workspace, no mount even in
    a user namespace, and none of the sockets that are rich in bugs. Without the sandbox no user namespace either."""
    either.open("http://site.test/")
    with either.browsers.awake(CRAB):
        said = either.run("/usr/bin/python3", "-I", "-c", INSIDE).splitlines()
    uid = either.browsers._spec_of(CRAB).uid
    nothing = "0000000000000000"
    assert said == [
        "net lo",
        f"who {uid} {nothing} {nothing} 1 2",
        "apps browser.py live_browser.py pages.py",
        "sockets cdp.sock gate.sock",
        "unshare 0 1 1 1" if either.kind is LIVE_BROWSER else "unshare 1 1 1 1",
        "mount 1",
    ]


def test_pages_are_shut_in_once_more(live: Live) -> None:
    """Each renderer is in a process namespace of its own, without capabilities, and under a filter beside ours; a frame
    of another site has a process of its own."""
    live.open("http://site.test/frame")
    with live.browsers.awake(CRAB):
        found = [line.split() for line in live.run("/usr/bin/python3", "-I", "-c", RENDERERS).splitlines()]
    assert len(found) >= 2
    for spaces, powers, filtered, filters in found:
        assert int(spaces) >= 2
        assert int(powers, 16) == 0
        assert (filtered, int(filters) >= 2) == ("2", True)


# --- whether the sandbox stands --------------------------------------------------------------------------------


def test_whether_the_sandbox_stands_is_tried(live: Live) -> None:
    """It does here. Under the filter of all others it can't, and then a browser starts without; one that starts in no
    way is told too."""

    def tried(trial: HelperKind = SANDBOX_TRIAL, bare: HelperKind = BARE_TRIAL) -> BrowserWalls:
        return try_sandbox(live.helpers, live.folder / "trials", live.image, trial=trial, bare=bare)

    walled = replace(SANDBOX_TRIAL, sandboxes_itself=False)
    assert tried() is BrowserWalls.SANDBOX
    assert tried(trial=walled) is BrowserWalls.CONTAINER
    assert tried(trial=walled, bare=replace(BARE_TRIAL, program=("/bin/false",))) is BrowserWalls.BROKEN
    assert not list((live.folder / "trials").iterdir())
    assert live.client.api.containers(all=True, filters={"label": f"{SANDBOX_TRIAL.label}={live.install}"}) == []


# --- a browser's day -------------------------------------------------------------------------------------------


def test_a_page_comes_through_the_gate_and_through_nothing_else(either: Live) -> None:
    """It is shown; what the gate refuses is not, loopback and addresses go the same way, and the browser itself asks
    for nothing."""
    session = either.open("http://site.test/")
    assert either.evaluate(session, "document.title + document.body.innerText") == "HereHello"
    refused = "Promise.all(%s.map(u => fetch(u, {mode: 'no-cors'}).then(r => r.status, e => 'failed')))"
    urls = ["https://elsewhere.test/", "http://127.0.0.1:3128/x", "http://localhost/x", "ws://site.test/"]
    script = refused % urls[:3]
    either.browsers.call(
        CRAB,
        lambda driver: driver.command("Runtime.evaluate", session, expression=script, awaitPromise=True),
    )
    assert {"http://site.test/", "elsewhere.test:443", "http://127.0.0.1:3128/x", "http://localhost/x"} <= {
        *either.asked
    }
    assert {one.split("/")[2] if "//" in one else one for one in either.asked} <= {
        "site.test",
        "elsewhere.test:443",
        "127.0.0.1:3128",
        "localhost",
    }


def test_it_is_paused_between_calls(live: Live) -> None:
    """A page that keeps a processor busy uses none while nobody calls, and goes on where it was."""
    session = live.open("http://site.test/busy")
    eventually(lambda: live.state() == "paused", patience_s=PATIENCE_S)
    before = live.cpu_ns()
    time.sleep(1.0)
    assert live.cpu_ns() == before
    counted = int(live.evaluate(session, "document.title"))
    assert counted > 0
    with live.browsers.awake(CRAB):
        time.sleep(0.5)
        assert live.state() == "running"
        assert live.cpu_ns() > before + 50_000_000
    eventually(lambda: live.state() == "paused", patience_s=PATIENCE_S)
    assert int(live.evaluate(session, "document.title")) > counted


def test_our_end_goes_away_while_a_dialog_is_open(live: Live) -> None:
    """The relay comes back, tells of the tab and of the dialog, and the dialog can be answered."""

    async def work(driver: RawDriver) -> tuple[str, int, str]:
        session = await driver.open_tab()
        await driver.navigate(session, "http://site.test/ask")
        await driver.wait_event("Page.javascriptDialogOpening")
        since = len(driver.events)
        driver.drop()
        await driver.wait_event("Relay.ready", since=since)
        told = [event["method"] for event in driver.events[since:]]
        assert told == ["Target.attachedToTarget", "Page.javascriptDialogOpening", "Relay.ready"]
        assert driver.events[since]["params"]["sessionId"] == session
        await driver.command("Page.handleJavaScriptDialog", session, accept=True)
        return session, driver.connections, await driver.evaluate(session, "document.title")

    _, connections, title = live.browsers.call(CRAB, work)
    assert (connections, title) == (2, "true")


def test_files_in_and_out(live: Live) -> None:
    """An upload lies inside under the name that the page sees; a download is taken once."""
    session = live.open("http://site.test/form")
    inside = live.browsers.put_upload(CRAB, "notes ü.txt", io.BytesIO(b"my notes"))

    async def work(driver: RawDriver) -> tuple[str, str]:
        root = (await driver.command("DOM.getDocument", session))["root"]["nodeId"]
        field_id = (await driver.command("DOM.querySelector", session, nodeId=root, selector="#f"))["nodeId"]
        await driver.command("DOM.setFileInputFiles", session, files=[str(inside)], nodeId=field_id)
        script = "f.files[0].text().then(t => f.files[0].name + '=' + t)"
        found = await driver.command(
            "Runtime.evaluate", session, expression=script, awaitPromise=True, returnByValue=True
        )
        await driver.command(
            "Browser.setDownloadBehavior", behavior="allowAndName", downloadPath="/helper/out", eventsEnabled=True
        )
        since = len(driver.events)
        await driver.command("Page.navigate", session, url="http://site.test/file.bin")
        begun = await driver.wait_event("Browser.downloadWillBegin", since=since)
        await driver.wait_event("Browser.downloadProgress", since=since, state="completed")
        return found["result"]["value"], begun["params"]["guid"]

    said, guid = live.browsers.call(CRAB, work)
    assert said == "notes ü.txt=my notes"
    target = io.BytesIO()
    assert live.browsers.take_download(CRAB, guid, target) == 100_000
    assert target.getvalue() == PAGES["http://site.test/file.bin"]
    with pytest.raises(NotFound):
        live.browsers.take_download(CRAB, guid, target)


# --- what breaks -----------------------------------------------------------------------------------------------


def test_a_page_that_takes_all_memory(either: Live) -> None:
    """Its own process is killed, and the browser shows the next page."""
    before = {one["Id"] for one in either.there()}

    async def work(driver: RawDriver) -> str:
        session = await driver.open_tab()
        await driver.command("Inspector.enable", session)
        await driver.navigate(session, "http://site.test/bomb")
        await driver.wait_event("Inspector.targetCrashed", within_s=120)
        other = await driver.open_tab()
        await driver.navigate(other, "http://site.test/")
        return str(await driver.evaluate(other, "document.title"))

    assert either.browsers.call(CRAB, work) == "Here"
    assert len({one["Id"] for one in either.there()} | before) == 1


def test_chromium_crashes_in_the_middle_of_a_call(live: Live) -> None:
    """The call says so, nothing is left, and the next one has another browser."""
    live.open("http://site.test/")
    with pytest.raises(BrowserEnded, match=r"ended by itself.*another browser"):
        live.browsers.call(CRAB, lambda driver: driver.command("Browser.crash"))
    eventually(lambda: live.there() == [], patience_s=PATIENCE_S)
    assert live.evaluate(live.open("http://site.test/"), "document.title") == "Here"


@pytest.mark.parametrize("is_paused", [False, True])
def test_the_container_is_removed_by_somebody(live: Live, *, is_paused: bool) -> None:
    """In the middle of a call, or while it is paused: the call says so, and the next one has another browser."""
    session = live.open("http://site.test/")

    def remove() -> None:
        live.client.api.remove_container(live.there()[0]["Id"], force=True)

    async def work(driver: RawDriver) -> None:
        remover = threading.Thread(target=remove)
        remover.start()
        while True:
            await driver.evaluate(session, "document.title")

    if is_paused:
        eventually(lambda: live.state() == "paused", patience_s=PATIENCE_S)
        remove()
    with pytest.raises(BrowserEnded, match="another browser"):
        live.browsers.call(CRAB, work, starts=False)
    assert live.evaluate(live.open("http://site.test/"), "document.title") == "Here"


DIES = """
import sys, time
from pathlib import Path
import docker
from tests.integration.test_live_browsers import Live
live = Live(docker.DockerClient(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), sys.argv[4])
live.open("http://site.test/")
print("open", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("is_paused", [False, True])
def test_what_a_killed_orchestrator_leaves_is_swept(make: Make, *, is_paused: bool) -> None:
    """The next start removes the container, and the next call has another one. Nobody answers at the sockets meanwhile,
    so nothing gets out."""
    seen = make()
    url = seen.client.api.base_url.replace("http+docker://localhost", "unix:///var/run/docker.sock")
    argv = [sys.executable, "-P", "-c", DIES, url, seen.image, str(seen.folder), seen.install]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT), "PATH": ""}) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"open\n"
        if is_paused:
            eventually(lambda: seen.state() == "paused", patience_s=PATIENCE_S)
        host.send_signal(signal.SIGKILL)
    left = seen.there()[0]["Id"]
    for name in ("cdp.sock", "gate.sock"):
        with socket.socket(socket.AF_UNIX) as caller, pytest.raises(ConnectionRefusedError):
            caller.connect(str(seen.folder / "browsers/crab-1/run" / name))
    new = make()
    assert new.there() == []
    assert not list((new.folder / "browsers").iterdir())
    with pytest.raises(BrowserEnded, match="HermitShell was restarted"):
        new.browsers.call(CRAB, RawDriver.open_tab, starts=False)
    assert new.evaluate(new.open("http://site.test/"), "document.title") == "Here"
    assert new.there()[0]["Id"] != left


# --- how many, and how long ------------------------------------------------------------------------------------


def test_one_for_each_cubicle(live: Live) -> None:
    """Calls at once start one, and share it."""
    titles: list[Any] = []

    def ask() -> None:
        titles.append(live.evaluate(live.open("http://site.test/"), "document.title"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert titles == ["Here"] * 4
    assert len(live.there()) == 1


def test_who_gives_way(make: Make) -> None:
    """The one that was needed longest ago, never one that is busy; when all are, the asker is told."""
    live = make(limits=BrowserLimits(most=2))
    for key in (CRAB, OTHER, THIRD):
        live.open("http://site.test/", key)
    assert live.browsers.list_alive() == [OTHER, THIRD]
    with live.browsers.awake(OTHER):
        live.open("http://site.test/", CRAB)
        assert live.browsers.list_alive() == [CRAB, OTHER]
        with live.browsers.awake(CRAB), pytest.raises(TooMany, match="All 2 browsers"):
            live.open("http://site.test/", THIRD)
    assert len(live.there()) == 2


def test_as_many_as_may_be_at_once(live: Live) -> None:
    """Four, each with its page, within the gigabyte of each; the fifth takes the place of the first."""
    keys = [CubicleKey(f"crab-{number}", 1) for number in range(5)]
    sessions = {key: live.open("http://site.test/", key) for key in keys[:4]}
    assert [live.evaluate(session, "document.title", key) for key, session in sessions.items()] == ["Here"] * 4
    found = [live.client.api.inspect_container(one["Id"])["HostConfig"] for one in live.there()]
    assert [(one["Memory"], one["MemorySwap"]) for one in found] == [(1 << 30, 1 << 30)] * 4
    live.open("http://site.test/", keys[4])
    assert live.browsers.list_alive() == keys[1:]
    assert len(live.there()) == 4


def test_one_that_nobody_needs_ends(make: Make) -> None:
    """After a while without a call; not while it is held."""
    live = make(limits=BrowserLimits(idle_s=1.0))
    live.open("http://site.test/")
    with live.browsers.awake(CRAB):
        time.sleep(2.0)
        assert len(live.there()) == 1
    eventually(lambda: live.browsers.list_alive() == [], patience_s=PATIENCE_S)
    assert live.there() == []


def test_a_cubicle_that_stops_takes_its_browser_along(live: Live) -> None:
    """Also in the middle of a call, which says why; the call after that has another one."""
    session = live.open("http://site.test/")
    failures: list[str] = []

    def ask() -> None:
        try:
            live.evaluate(session, "new Promise(() => {})")
            live.browsers.call(CRAB, lambda driver: driver.wait_event("never", within_s=60))
        except BrowserEnded as error:
            failures.append(error.message)

    asking = threading.Thread(target=ask)
    asking.start()
    eventually(lambda: live.browsers._browsers[CRAB].is_busy, patience_s=PATIENCE_S)
    live.browsers.end_soon(CRAB)
    asking.join(PATIENCE_S)
    assert failures == ["The agent was stopped. Its pages are gone. The next call starts another browser."]
    assert live.evaluate(live.open("http://site.test/"), "document.title") == "Here"
    live.browsers.end(CRAB)
    assert live.there() == []
    with pytest.raises(BrowserEnded, match="The browser was closed"):
        live.browsers.call(CRAB, RawDriver.open_tab, starts=False)
    with pytest.raises(NotFound, match="Open a page first"):
        live.browsers.call(OTHER, RawDriver.open_tab, starts=False)
    with pytest.raises(NotFound):
        live.browsers.take_download(CRAB, "1", io.BytesIO())
