"""A real headless Chromium as a process of this machine, and the small relay that joins its DevTools pipe to a socket
that a host listens on, outwards, as the relay in a browser's container does."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.browser.downloads import PageDownload
from orchestrator.browser.policy import DriverSettings
from orchestrator.browser.session import BrowserSession
from orchestrator.core.errors import Forbidden

PROGRAM = (
    os.environ.get("CHROMIUM_SHELL") or shutil.which("chromium-headless-shell") or "/usr/bin/chromium-headless-shell"
)
_LIMIT = 1 << 26
_READY_S = 30.0
SWITCHES = (
    "--site-per-process",
    "--no-sandbox",
    "--no-zygote",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-pings",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-features=OptimizationHints,MediaRouter,Translate,AsyncDns,Prerender2,PaintHolding,HttpsUpgrades",
    "--disable-quic",
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-hang-monitor",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-renderer-backgrounding",
    "--disable-background-timer-throttling",
    "--force-color-profile=srgb",
    "--mute-audio",
    "--password-store=basic",
    "--remote-debugging-pipe",
)


@dataclass
class LenientPolicy:
    """Says yes to everything that is not in its lists, and notes what it was asked."""

    closed_hosts: dict[str, str] = field(default_factory=lambda: {"evil.test": "nobody approved it"})
    closed_files: dict[str, str] = field(default_factory=dict)
    secrets: dict[tuple[str, str], str] = field(default_factory=dict)
    upload_refusal: str | None = None
    asked: list[str] = field(default_factory=list)

    def may_open(self, host: str) -> str | None:
        """By the list."""
        self.asked.append(f"open {host}")
        return self.closed_hosts.get(host)

    def note_pages(self, hosts: Collection[str]) -> None:
        """As it may."""

    def may_download(self, download: PageDownload) -> str | None:
        """By the list."""
        self.asked.append(f"download {download.suggested_name}")
        return self.closed_files.get(download.suggested_name)

    async def may_upload(self, origin: str, paths: Sequence[str]) -> str | None:
        """As told."""
        self.asked.append(f"upload {origin} {len(paths)}")
        return self.upload_refusal

    async def secret_for(self, name: str, origin: str) -> str:
        """By the list."""
        self.asked.append(f"secret {name} {origin}")
        if (name, origin) not in self.secrets:
            raise Forbidden(f"There is no secret {name} for {origin}.")
        return self.secrets[name, origin]


class DrivenBrowser:
    """The process, its relay, and the socket of the host."""

    def __init__(self, folder: Path, port: int) -> None:
        """``port``: where every name that ends in ``.test`` leads to, and who is asked for tunnels."""
        self.down = folder / "down"
        self.up = folder / "up"
        for one in (self.down, self.up):
            one.mkdir()
        self._socket = folder / "cdp.sock"
        self._profile = folder / "profile"
        self._port = port
        self._pid = 0
        self._listener: asyncio.Server | None = None
        self._relay: asyncio.Task[None] | None = None
        self._session: BrowserSession | None = None
        self._attending: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """The browser is there and its relay looks for a host."""
        self._listener = await asyncio.start_unix_server(self._connected, str(self._socket))
        rules = f"--host-resolver-rules=MAP *.test 127.0.0.1:{self._port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        proxy = f"--proxy-server=https=127.0.0.1:{self._port}"
        self._pid, to, from_ = _spawn([*SWITCHES, rules, proxy, f"--user-data-dir={self._profile}", "about:blank"])
        self._relay = asyncio.create_task(_relay(to, from_, self._socket))

    async def drive(self, session: BrowserSession) -> BrowserSession:
        """From now on this is the host; the connection of a former one is cut."""
        self._session = session
        for task in list(self._attending):
            task.cancel()
        await session.wait_ready(_READY_S)
        return session

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._session is None:
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None
        self._attending.add(task)
        try:
            await self._session.attend(reader, writer)
        except asyncio.CancelledError:
            return  # the host went, as a process that ends does
        finally:
            self._attending.discard(task)
            writer.close()

    async def stop(self) -> None:
        """Nothing is left of it."""
        if self._relay is not None:
            self._relay.cancel()
            await asyncio.gather(self._relay, return_exceptions=True)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        await asyncio.to_thread(os.waitpid, self._pid, 0)
        if self._listener is not None:
            self._listener.close()
        for task in list(self._attending):
            task.cancel()
        await asyncio.gather(*self._attending, return_exceptions=True)


@contextlib.asynccontextmanager
async def driven_browser(
    port: int, policy: LenientPolicy | None = None, settings: Callable[[DrivenBrowser], DriverSettings] | None = None
) -> AsyncIterator[tuple[BrowserSession, DrivenBrowser]]:
    """A browser with one empty page, and a session with it."""
    folder = Path(tempfile.mkdtemp(prefix="driven-"))
    browser = DrivenBrowser(folder, port)
    session = BrowserSession(policy or LenientPolicy(), (settings or settings_of)(browser))
    try:
        await browser.start()
        yield await browser.drive(session), browser
    finally:
        await session.close()
        await browser.stop()
        shutil.rmtree(folder, ignore_errors=True)


def settings_of(browser: DrivenBrowser) -> DriverSettings:
    """With the folders of this browser."""
    return DriverSettings(download_dir=str(browser.down), upload_dirs=(str(browser.up),))


async def eventually(holds: Callable[[], Awaitable[bool] | bool], within_s: float = 10.0) -> None:
    """Until it holds."""
    async with asyncio.timeout(within_s):
        while True:
            told = holds()
            if told if isinstance(told, bool) else await told:
                return
            await asyncio.sleep(0.02)


def _spawn(switches: list[str]) -> tuple[int, int, int]:
    """The process, and the ends of its pipe: to it, and from it."""
    to_read, to = os.pipe()
    from_, to_write = os.pipe()
    ends = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to_read, to_write)]
    silence = os.open(os.devnull, os.O_WRONLY)
    places = [(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in ((3, ends[0]), (4, ends[1]), (2, silence))]
    pid = os.posix_spawn(PROGRAM, (PROGRAM, *switches), os.environ, file_actions=places)
    for fd in (to_read, to_write, silence, *ends):
        os.close(fd)
    return pid, to, from_


async def _relay(to: int, from_: int, socket: Path) -> None:
    reader, writer = await _pipe_ends(to, from_)
    kept: dict[tuple[str, str], bytes] = {}
    hosts: list[asyncio.StreamWriter] = []

    async def upwards() -> None:
        while True:
            message = await reader.readuntil(b"\0")
            _remember(kept, message)
            for host in [one for one in hosts if not one.is_closing()]:
                host.write(message)
                with contextlib.suppress(OSError):
                    await host.drain()

    up = asyncio.create_task(upwards())
    try:
        while not up.done():
            try:
                host_reader, host = await asyncio.open_unix_connection(str(socket), limit=_LIMIT)
            except OSError:
                await asyncio.sleep(0.01)
                continue
            for message in list(kept.values()):
                host.write(message)
            host.write(b'{"method":"Relay.ready","params":{}}\0')
            hosts[:] = [host]
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while True:
                    writer.write(await host_reader.readuntil(b"\0"))
                    await writer.drain()
            hosts.clear()
            host.close()
            await asyncio.sleep(0.01)
    finally:
        up.cancel()
        await asyncio.gather(up, return_exceptions=True)
        for host in hosts:
            host.close()
        writer.close()
        reader._transport.close()  # type: ignore[attr-defined]


def _remember(kept: dict[tuple[str, str], bytes], message: bytes) -> None:
    """What a host that comes (back) must know: who is attached to what, and which dialogs are open."""
    start = message[:80]
    if b'"Target.attachedToTarget"' in start:
        kept["session", json.loads(message[:-1])["params"]["sessionId"]] = message
    elif b'"Target.detachedFromTarget"' in start:
        gone = json.loads(message[:-1])["params"]["sessionId"]
        kept.pop(("session", gone), None)
        kept.pop(("dialog", gone), None)
    elif b'"Page.javascriptDialogOpening"' in start:
        kept["dialog", json.loads(message[:-1]).get("sessionId", "")] = message
    elif b'"Page.javascriptDialogClosed"' in start:
        kept.pop(("dialog", json.loads(message[:-1]).get("sessionId", "")), None)


async def _pipe_ends(to: int, from_: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_, "rb"))
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(to, "wb"))
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
