"""Live browsers without an engine: in each container's place a thread calls at the socket as the relay does, and
answers every command with nothing."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from tests.support.fakes import ENGINE_SILENT, NoHelpers

READY = b'{"method":"Relay.ready","params":{}}\0'


@dataclass(eq=False)
class FakeContainer:
    """One that lives."""

    spec: HelperSpec
    is_mute: bool = False
    """It never calls."""
    calls_back: bool = True
    """After a connection was lost."""
    end: HelperEnd | None = None
    is_paused: bool = False
    is_silent: bool = False
    """The engine answers no question about it."""
    stops_badly: bool = False
    is_starved: bool = False
    """The machine is too busy to pause it."""
    stops: int = 0
    pauses: int = 0
    connections: list[socket.socket] = field(default_factory=list)

    def begin(self) -> None:
        """It runs."""
        if not self.is_mute:
            threading.Thread(target=self._call_host, name="fake-relay", daemon=True).start()

    def read(self) -> bytes:
        """It says nothing."""
        return b""

    def write(self, data: bytes) -> None:
        """It reads nothing."""

    def poll(self) -> HelperEnd | None:
        """As the test says."""
        self._ask()
        return self.end

    def pause(self, *, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """Counted; a starved one takes as many tries as are wanted."""
        self._ask()
        while self.is_starved:
            if not is_wanted():
                return False
            time.sleep(0.01)
        self.is_paused, self.pauses = True, self.pauses + 1
        return True

    def resume(self) -> None:
        """It goes on, unless it is gone."""
        self._ask()
        if self.end is not None:
            raise Unavailable("The container is gone.")
        self.is_paused = False

    def stop(self) -> None:
        """It is gone."""
        self.stops += 1
        self.finish(HelperEnd.ENDED)
        if self.stops_badly:
            raise Unavailable(ENGINE_SILENT)

    def finish(self, end: HelperEnd, report: bytes = b"") -> None:
        """It ends by itself."""
        if report:
            (self.spec.brought / "ended.json").write_bytes(report)
        self.end, self.calls_back = self.end or end, False
        self.hang_up()

    def hang_up(self) -> None:
        """The connection of the moment ends."""
        for connection in self.connections:
            with contextlib.suppress(OSError):  # it has ended
                connection.shutdown(socket.SHUT_RDWR)

    def dial(self) -> socket.socket:
        """A connection to the host."""
        assert self.spec.sockets is not None
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(self.spec.sockets / "cdp.sock"))
        except OSError:
            connection.close()
            raise
        return connection

    def _ask(self) -> None:
        if self.is_silent:
            raise Unavailable(ENGINE_SILENT)

    def _call_host(self) -> None:
        while True:
            try:
                connection = self.dial()
            except OSError:
                return  # nobody listens any more
            self.connections.append(connection)
            with connection:
                self._answer(connection)
            if not self.calls_back:
                return

    def _answer(self, connection: socket.socket) -> None:
        rest = b""
        try:
            connection.sendall(READY)
            while piece := connection.recv(1 << 16):
                *messages, rest = (rest + piece).split(b"\0")
                for message in map(json.loads, messages):
                    if message["method"] != "never":
                        connection.sendall(json.dumps({"id": message["id"], "result": {}}).encode() + b"\0")
        except OSError:
            return  # it is cut


class FakeBrowserHelpers(NoHelpers):
    """Starts them."""

    def __init__(self, prepare: Callable[[FakeContainer], object] = lambda _: None) -> None:
        """``prepare`` sees each before it runs, and may raise."""
        self.made: list[FakeContainer] = []
        self.cleared: list[str] = []
        self._prepare = prepare

    def start_helper(self, spec: HelperSpec) -> FakeContainer:
        """One that lives."""
        container = FakeContainer(spec)
        self._prepare(container)
        self.made.append(container)
        container.begin()
        return container

    def clear_helpers(self, kind: HelperKind) -> None:
        """Noted."""
        self.cleared.append(kind.label)


@dataclass(eq=False)
class FakeGates:
    """Ways out that lead nowhere, and whether they are open."""

    open_now: dict[CubicleKey, Path | None] = field(default_factory=dict)
    fails: bool = False
    closes_badly: bool = False

    def open_gate(self, key: CubicleKey, spec: HelperSpec) -> _FakeGate:
        """One."""
        if self.fails:
            raise Unavailable("The gate can't be opened.")
        self.open_now[key] = spec.sockets
        return _FakeGate(self, key)


@dataclass
class _FakeGate:
    gates: FakeGates
    key: CubicleKey

    def close(self) -> None:
        """It leads nowhere any more."""
        self.gates.open_now.pop(self.key, None)
        if self.gates.closes_badly:
            raise RuntimeError("what went through could not be written down")
