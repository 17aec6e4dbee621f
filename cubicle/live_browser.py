"""The browser that an agent uses, in a container without a network: starts Chromium, and joins it to two unix sockets
that the host made in a folder which is read-only in here. Both ways lead outwards; nothing in here listens for the
host.

* Every connection that Chromium makes goes to 127.0.0.1:3128, and from there to ``gate.sock``.
* Chromium's debugging pipe (JSON, each message ended by a NUL) goes to ``cdp.sock``, one connection at a time. When the
  host has gone it is looked for again; whoever comes is told first which targets are attached and which dialogs are
  open, then ``Relay.ready``.

How Chromium ended is left in ``/helper/out/ended.json``.

A page may take over all that is in here. Nobody trusts what comes out of it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PORT = 3128
MOST_MESSAGE_BYTES = 16 << 20
"""Of one message. A larger answer becomes an error, a larger event is dropped."""
MOST_KEPT = 256
"""Attachments and dialogs that are told again."""
SAID_BYTES = 2_000
"""Of what Chromium prints: its last words."""
ENDS_S = 5.0
READY = b'{"method":"Relay.ready","params":{}}\0'
_PIECE = 1 << 16
_PAUSES_S = (0.01, 1.0)
"""Before the host is looked for again: the shortest, and the longest."""

SWITCHES = (
    # Where it may go: one proxy, for loopback too. No name is looked up in here.
    f"--proxy-server=http://127.0.0.1:{PORT}",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--dns-over-https-mode=off",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--site-per-process",  # the headless shell does not isolate sites by itself
    # What it would ask of its maker by itself.
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--no-service-autorun",
    "--disable-search-engine-choice-screen",
    (
        "--disable-features=OptimizationHints,OptimizationGuideModelDownloading,MediaRouter,DialMediaRouteProvider,"
        "Translate,AutofillServerCommunication,CertificateTransparencyComponentUpdater,EncryptedClientHello,"
        "DnsOverHttps,AsyncDns,Prerender2,PaintHolding,HttpsUpgrades"
    ),
    # A container: no screen, no keyring, nobody who looks.
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-hang-monitor",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
    "--disable-background-timer-throttling",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
    "--password-store=basic",
    "--remote-debugging-pipe",
    "--user-data-dir=/tmp/profile",
)
UNSANDBOXED = ("--no-sandbox", "--no-zygote")
"""Where the kernel lets Chromium's own sandbox not stand."""


class Chromium:
    """The process, its two pipes and its last words."""

    def __init__(self, program: str, switches: tuple[str, ...]) -> None:
        """It runs."""
        to_read, self.commands = os.pipe()
        self.messages, to_write = os.pipe()
        self.words, says = os.pipe()
        # It reads commands from 3 and writes messages to 4: first out of the way of one another, then there.
        ends = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in (to_read, to_write, says)]
        places = [(os.POSIX_SPAWN_DUP2, ends[0], 3), (os.POSIX_SPAWN_DUP2, ends[1], 4)]
        places += [(os.POSIX_SPAWN_DUP2, ends[2], place) for place in (1, 2)]
        self.process = os.posix_spawn(program, (program, *switches, "about:blank"), os.environ, file_actions=places)
        for descriptor in (to_read, to_write, says, *ends):
            os.close(descriptor)
        self.said = b""

    def note(self, words: bytes) -> None:
        """Something that it printed."""
        self.said = (self.said + words)[-SAID_BYTES:]

    def end(self) -> None:
        """It is told to end; again, or afterwards, is fine."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGTERM)

    def await_end(self) -> int:
        """Its exit code; minus the signal that ended it. It is killed when it does not end."""
        deadline = time.monotonic() + ENDS_S
        while time.monotonic() < deadline:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        os.kill(self.process, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


class Memory:
    """What a host that comes must be told: who is attached to what, and which dialogs are open."""

    def __init__(self) -> None:
        self._attached: dict[str, bytes] = {}
        self._dialogs: dict[str, bytes] = {}

    def note(self, message: bytes) -> None:
        """Something that Chromium told."""
        if message.startswith(b'{"method":"Target.attachedToTarget"'):
            self._keep(self._attached, str(_params(message)["sessionId"]), message)
        elif message.startswith(b'{"method":"Target.detachedFromTarget"'):
            gone = str(_params(message)["sessionId"])
            self._attached.pop(gone, None)
            self._dialogs.pop(gone, None)
        elif message.startswith(b'{"method":"Page.javascriptDialogOpening"'):
            self._keep(self._dialogs, _session(message), message)
        elif message.startswith(b'{"method":"Page.javascriptDialogClosed"'):
            self._dialogs.pop(_session(message), None)

    def __iter__(self) -> Iterator[bytes]:
        """The messages, to be told again."""
        return iter((*self._attached.values(), *self._dialogs.values()))

    def _keep(self, kept: dict[str, bytes], session: str, message: bytes) -> None:
        kept.pop(session, None)
        if len(kept) >= MOST_KEPT:
            del kept[next(iter(kept))]
        kept[session] = message


def _params(message: bytes) -> dict[str, Any]:
    return dict(json.loads(message[:-1])["params"])


def _session(message: bytes) -> str:
    return str(json.loads(message[:-1]).get("sessionId", ""))


class Relay:
    """Between Chromium's pipe and the host's socket."""

    def __init__(self, socket: str, chromium: Chromium, *, alone_s: float) -> None:
        """``alone_s``: how many seconds it goes on while no host is there."""
        self._socket, self._chromium, self._alone_s = socket, chromium, alone_s
        self._memory = Memory()
        self._host: asyncio.StreamWriter | None = None

    async def run(self) -> int:
        """Chromium's exit code, once it has ended; the host's connection stays open up to then."""
        messages = await _reading(self._chromium.messages, MOST_MESSAGE_BYTES)
        words = await _reading(self._chromium.words, _PIECE)
        down = asyncio.create_task(self._serve_hosts())
        listening = asyncio.create_task(self._listen(words))
        await self._pass_up(messages)
        code = await asyncio.to_thread(self._chromium.await_end)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(listening, 1.0)
        down.cancel()
        return code

    async def _listen(self, words: asyncio.StreamReader) -> None:
        while piece := await words.read(_PIECE):
            self._chromium.note(piece)

    async def _pass_up(self, messages: asyncio.StreamReader) -> None:
        """Every whole message of Chromium's goes to the host of the moment, until there are no more."""
        while True:
            try:
                message = await messages.readuntil(b"\0")
            except asyncio.IncompleteReadError:
                return
            except asyncio.LimitOverrunError:
                message = await _pass_over(messages)
            self._memory.note(message)
            await self._tell_host(message)

    async def _tell_host(self, message: bytes) -> None:
        host = self._host
        if host is None or not message:
            return
        try:
            host.write(message)
            await host.drain()
        except OSError:
            if self._host is host:
                self._host = None

    async def _serve_hosts(self) -> None:
        """One host after the other; without any for too long, Chromium ends."""
        commands = await _writing(self._chromium.commands)
        pause_s, since = _PAUSES_S[0], time.monotonic()
        while time.monotonic() - since < self._alone_s:
            try:
                reader, writer = await asyncio.open_unix_connection(self._socket, limit=MOST_MESSAGE_BYTES)
            except OSError:
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, _PAUSES_S[1])
                continue
            await self._serve(reader, writer, commands)
            pause_s, since = _PAUSES_S[0], time.monotonic()
            await asyncio.sleep(pause_s)
        self._chromium.end()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, commands: asyncio.StreamWriter
    ) -> None:
        """Whole commands of this host go to Chromium until it goes; half of one never does."""
        for message in self._memory:
            writer.write(message)
        writer.write(READY)
        self._host = writer
        try:
            while True:
                commands.write(await reader.readuntil(b"\0"))
                await commands.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            self._host = None
            writer.close()


async def _pass_over(messages: asyncio.StreamReader) -> bytes:
    """What is told instead of a message that is too large, which is read to its end and forgotten."""
    head = await messages.read(_PIECE)
    while True:
        try:
            await messages.readuntil(b"\0")
        except asyncio.LimitOverrunError as error:
            await messages.readexactly(max(1, error.consumed))
        else:
            break
    number = re.match(rb'\{"id":(\d{1,18}),', head)
    if number is None:
        return b""
    error_text = f"The answer is larger than {MOST_MESSAGE_BYTES >> 20} MiB."
    return json.dumps({"id": int(number[1]), "error": {"code": -32000, "message": error_text}}).encode() + b"\0"


async def _reading(descriptor: int, limit: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=limit)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb"))
    return reader


async def _writing(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "wb")
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    return asyncio.StreamWriter(transport, protocol, None, loop)


def forward_to(socket: str) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]:
    """What joins each connection to a fresh one to this socket."""

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, out = await asyncio.open_unix_connection(socket)
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(_copy(reader, out), _copy(answers, writer))
        finally:
            out.close()
            writer.close()

    return forward


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the end of one side, which the other is told of."""
    try:
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.close()


async def run(options: argparse.Namespace) -> tuple[int, bytes]:
    """Chromium's exit code and its last words."""
    server = await asyncio.start_server(forward_to(f"{options.sockets}/gate.sock"), "127.0.0.1", options.port)
    switches = SWITCHES if options.sandbox == "on" else SWITCHES + UNSANDBOXED
    chromium = Chromium(options.program, switches)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, chromium.end)
    try:
        code = await Relay(f"{options.sockets}/cdp.sock", chromium, alone_s=options.alone_s).run()
    finally:
        server.close()
    return code, chromium.said


def main() -> int:
    """0 when Chromium ended as it was told to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sandbox", choices=("on", "off"), required=True)
    parser.add_argument("--sockets", default="/run/helper")
    parser.add_argument("--out", type=Path, default=Path("/helper/out"))
    parser.add_argument("--program", default="/usr/bin/chromium-headless-shell")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--alone-s", type=float, default=60.0)
    options = parser.parse_args()
    code, said = asyncio.run(run(options))
    with contextlib.suppress(OSError):  # whoever has taken over in here may have seen to it that it can't be
        (options.out / "ended.json").write_text(json.dumps({"code": code, "said": said.decode("utf-8", "replace")}))
    return 0 if code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
