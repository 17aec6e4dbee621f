"""The program inside a helper container that joins a proxy on loopback to the host's socket."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, opened
from tests.support.gate_fixture import gate_fixture

ROOT = Path(__file__).resolve().parents[3]
ASK = """
import os, sys, urllib.request, urllib.error
assert "evil" not in repr(dict(os.environ)), os.environ
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            print(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.headers["X-Hermit-Gate"])
    except OSError as error:
        print("no:", type(error).__name__)
sys.stdout.flush()
sys.exit(7)
"""


@pytest.fixture
def gateway() -> ModuleType:
    """The program."""
    spec = importlib.util.spec_from_file_location("gateway_program", ROOT / "cubicle" / "gateway.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def greet(visit: Visit) -> None:
    """A long answer."""
    visit.send(answer(b"a" * 300_000))


def run(gateway: ModuleType, gate: Path, program: str, *arguments: str) -> int:
    """Its exit code."""
    code: int = asyncio.run(gateway.run([sys.executable, "-c", program, *arguments], gate=str(gate), port=0))
    return code


def test_a_program_reaches_what_the_gate_lets_through(
    gateway: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the proxy alone that its environment names, whatever that named before; its exit code is ours."""
    for name in ("http_proxy", "HTTPS_PROXY", "no_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://evil.example:1")
    with opened(greet) as site:
        town = FakeInternet({"files.example": [[PUBLIC]]}, {PUBLIC: site})
        with gate_fixture(tmp_path, town) as at:
            code = run(gateway, tmp_path / "gate.sock", ASK, "http://files.example/x", "http://evil2.example/",
                "http://127.0.0.1:1/")  # fmt: skip
            assert at.reasons() == {"host-not-approved", "port-not-allowed"}
    lines = capfd.readouterr().out.splitlines()
    assert code == 7
    assert lines == ["200 " + "a" * 300_000, "403 host-not-approved", "403 port-not-allowed"]


def test_without_a_gate_nothing_is_reached(
    gateway: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The host has gone: connections end, and so does the program."""
    assert run(gateway, tmp_path / "gate.sock", ASK, "http://files.example/") == 7
    assert capfd.readouterr().out.startswith("no: ")


def test_a_signal_counts_as_shells_count_it(gateway: ModuleType, tmp_path: Path) -> None:
    """So that whoever looks at the container's end sees one."""
    assert run(gateway, tmp_path / "gate.sock", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)") == 137


def test_more_connections_than_the_gate_takes_wait(gateway: ModuleType, tmp_path: Path) -> None:
    """None of them is refused there."""
    count, done = gateway.MOST + 60, []

    async def serve() -> None:
        async def one(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert len(live) < gateway.MOST
            live.add(writer)
            await asyncio.sleep(0.01)
            live.discard(writer)
            writer.write(b"x")
            writer.close()

        live: set[asyncio.StreamWriter] = set()
        places = asyncio.Semaphore(gateway.MOST)
        gate = await asyncio.start_unix_server(one, str(tmp_path / "g.sock"), backlog=1024)
        server = await asyncio.start_server(
            lambda r, w: gateway.join(str(tmp_path / "g.sock"), places, r, w), "127.0.0.1", 0, backlog=1024
        )
        port = server.sockets[0].getsockname()[1]

        def ask() -> None:
            with socket.create_connection(("127.0.0.1", port), 10) as sock:
                done.append(sock.recv(10))

        threads = [threading.Thread(target=ask) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join, 20)
        server.close()
        gate.close()

    asyncio.run(serve())
    assert done == [b"x"] * count
