"""One MCP server in its container: from its start to its end, and the bytes between. Its secrets go in over its
standard input alone, so that no list of containers and no file shows them."""

from __future__ import annotations

import json
import os
import queue
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.core.strict_json import read_object
from orchestrator.core.text import escape_invisible, one_line
from orchestrator.engine import helper_folder
from orchestrator.engine.helpers import MCP_SERVER, HelperSpec
from orchestrator.engine.protocol import HelperEngine, LivingHelper
from orchestrator.gate.gate import Gates, OpenGate
from orchestrator.gate.policy import ExactHosts, HostPort
from orchestrator.gate.traffic_log import GateUser
from orchestrator.mcp_servers.models import McpServer

_PROGRAM: Final = Path(__file__).resolve().parents[3] / "cubicle" / "mcp_server.py"
_LIVES_S = 24 * 3600.0
_MOST_BROUGHT = 1 << 20
_SAID_BYTES = 200_000
_SAID_CHARS = 300
_PIECES = 64
"""So many pieces wait to be read; then the container waits."""
_FIRST_LOOPBACK = 2
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class ServerHosts:
    """The hosts that a server may reach, and the address on its loopback for each."""

    places: tuple[HostPort, ...]

    def names(self) -> tuple[tuple[str, str], ...]:
        """Each name with its address."""
        return tuple((host, _loopback(at)) for at, host in enumerate(dict.fromkeys(host for host, _ in self.places)))

    def listeners(self) -> list[list[Any]]:
        """Host, port and address of each."""
        address_of = dict(self.names())
        return [[host, port, address_of[host]] for host, port in self.places]


class ServerStream:
    """The standard input and output of a server, as `mcp.stdio.ByteStream`."""

    def __init__(self, helper: LivingHelper) -> None:
        self._helper = helper
        self._pieces: queue.Queue[bytes] = queue.Queue(_PIECES)
        self._is_closed = threading.Event()
        threading.Thread(target=self._pump, name="mcp-server-output", daemon=True).start()

    def read(self, timeout_s: float) -> bytes:
        """What it wrote next; ``b""`` when it ended. Raises TimeoutError."""
        try:
            piece = self._pieces.get(timeout=timeout_s)
        except queue.Empty:
            if self._is_closed.is_set():
                return b""
            raise TimeoutError from None
        if not piece:
            self._pieces.put(b"")  # whoever reads again hears it again
        return piece

    def write(self, data: bytes) -> None:
        """It gets this. Raises OSError."""
        try:
            self._helper.write(data)
        except Unavailable as error:
            raise OSError(error.message) from error

    def close(self) -> None:
        """Nobody reads any more."""
        self._is_closed.set()

    def _pump(self) -> None:
        while not self._is_closed.is_set():
            piece = self._helper.read()
            while not self._is_closed.is_set():
                try:
                    self._pieces.put(piece, timeout=1.0)
                    break
                except queue.Full:
                    continue
            if not piece:
                return


class ServerProcess:
    """One that runs."""

    def __init__(self, spec: HelperSpec, helper: LivingHelper, gate: OpenGate, folder: Path) -> None:
        self._spec, self._helper, self._gate, self._folder = spec, helper, gate, folder
        self.stream = ServerStream(helper)
        self._is_paused = False

    def pause(self) -> None:
        """It gets no processor until it is resumed. Raises Unavailable."""
        if not self._is_paused:
            self._is_paused = self._helper.pause()

    def resume(self) -> None:
        """It goes on; again is fine. Raises Unavailable."""
        if self._is_paused:
            self._helper.resume()
            self._is_paused = False

    def read_last_words(self) -> str:
        """What it said on standard error before it ended: a stranger's words, on one line; empty where it said
        nothing or runs."""
        try:
            with helper_folder.open_result(self._spec.brought / "ended.json") as file:
                said = read_object(file.read(_SAID_BYTES)).get("said")
        except (OSError, OrchestratorError):
            return ""
        lines = [line for line in str(said or "").splitlines() if line.strip()]
        return one_line(escape_invisible(" ".join(lines[-3:])), _SAID_CHARS)

    def is_over_limits(self) -> bool:
        """It has ended, or brought more than it may. Raises Unavailable."""
        return self._helper.poll() is not None

    def stop(self) -> None:
        """Nothing of it is left. Raises Unavailable when the engine does not answer; what is left then goes at the next
        start."""
        self._gate.close()
        self.stream.close()
        try:
            self._helper.stop()
        finally:
            helper_folder.remove_folder(self._folder, self._spec.id)


class ServerStarter:
    """Starts servers in containers. Any thread may call."""

    def __init__(self, helpers: HelperEngine, gates: Gates, *, folder: Path) -> None:
        """``folder`` is private to this; it must lie on the disk of the archives."""
        self._helpers, self._gates, self._folder = helpers, gates, folder

    def clear_leftovers(self) -> None:
        """None runs, and nothing of one is left. Raises Unavailable."""
        self._helpers.clear_helpers(MCP_SERVER)
        helper_folder.empty_all(self._folder)

    def start(
        self,
        server: McpServer,
        secrets: Mapping[str, str],
        *,
        image: str,
        tree: Path | None,
        key: CubicleKey | None,
        name: str,
        private_hosts: frozenset[HostPort],
    ) -> ServerProcess:
        """It runs. ``key`` is the cubicle that it is for, ``name`` tells it from others. Raises Unavailable."""
        hosts = ServerHosts(tuple(_read_host(host) for host in server.hosts))
        program = {"mcp_server.py": _PROGRAM.read_bytes()}
        try:
            spec = helper_folder.make_folder(
                self._folder,
                name,
                MCP_SERVER,
                image,
                program,
                time_s=_LIVES_S,
                max_bytes=_MOST_BROUGHT,
                has_sockets=True,
            )
            if tree is not None:
                _link(tree, spec.given / "tree.tar")
        except OSError as error:
            raise Unavailable("The folder of MCP servers in HERMIT_HOME can't be written. Look at the disk.") from error
        assert spec.sockets is not None  # noqa: S101 - it was asked for
        policy = ExactHosts(frozenset(hosts.places))
        user, named = GateUser(f"mcp {server.name}", key), frozenset(hosts.places) & private_hosts
        gate = self._gates.open_gate(spec.sockets, policy, user, uid=spec.uid, gid=spec.gid, named=named)
        try:
            helper = self._helpers.start_helper(replace(spec, hosts=hosts.names()))
        except BaseException:
            gate.close()
            helper_folder.remove_folder(self._folder, name)
            raise
        process = ServerProcess(spec, helper, gate, self._folder)
        try:
            helper.write(_start_line(server, secrets, hosts))
        except BaseException:
            process.stop()
            raise
        return process


def _start_line(server: McpServer, secrets: Mapping[str, str], hosts: ServerHosts) -> bytes:
    package = server.package.partition("==")[0] if server.how == "pip" else server.package.rpartition("@")[0]
    start = {
        "how": server.how,
        "name": package,
        "argv": list(server.argv),
        "env": {**dict(server.env), **secrets},
        "hosts": hosts.listeners(),
    }
    return json.dumps(start).encode() + b"\n"


def _read_host(text: str) -> HostPort:
    host, colon, port = text.rpartition(":")
    return (host, int(port)) if colon else (text, _HTTPS)


def _loopback(at: int) -> str:
    number = at + _FIRST_LOOPBACK
    return f"127.0.{number >> 8}.{number & 255}"


def _link(source: Path, target: Path) -> None:
    """The file is there too, without a copy where the disk allows that."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
        target.chmod(0o444)
