"""``cubicle/live_browser.py``, run as it is in its container, with a program in Chromium's place that does what it is
told over the debugging pipe."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.free_ports import free_port

PROGRAM = Path(__file__).resolve().parents[3] / "cubicle/live_browser.py"
PATIENCE_S = 20.0
CHROMIUM = """import json, os, signal, sys
rest = b""
while piece := os.read(3, 1 << 16):
    *messages, rest = (rest + piece).split(b"\\0")
    for message in map(json.loads, messages):
        do, answer = message["method"], {"id": message["id"], "result": {}}
        if do == "switches":
            answer["result"] = sys.argv[1:]
        if do == "say":
            os.write(1, message["params"]["words"].encode())
        if do == "emit":
            for text in message["params"]["messages"]:
                os.write(4, text.encode() + b"\\0")
        if do == "fill":
            answer["result"] = "x" * message["params"]["bytes"]
        if do == "event":
            answer = {"method": "Some.event", "params": "x" * message["params"]["bytes"]}
        if do == "exit":
            os._exit(message["params"]["code"])
        if do == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        out = json.dumps(answer, separators=(",", ":")).encode() + b"\\0"
        while out:
            out = out[os.write(4, out):]
"""
ATTACHED = '{"method":"Target.attachedToTarget","params":{"sessionId":"%s"}}'
DETACHED = '{"method":"Target.detachedFromTarget","params":{"sessionId":"%s"}}'
OPENED = '{"method":"Page.javascriptDialogOpening","params":{"message":"Sure?"},"sessionId":"%s"}'
CLOSED = '{"method":"Page.javascriptDialogClosed","params":{},"sessionId":"%s"}'


@dataclass
class Host:
    """One connection of the relay's."""

    connection: socket.socket
    rest: bytes = b""
    number: int = 0

    def receive(self) -> dict[str, Any]:
        """The next message."""
        while b"\0" not in self.rest:
            piece = self.connection.recv(1 << 20)
            assert piece, "the relay hung up"
            self.rest += piece
        text, _, self.rest = self.rest.partition(b"\0")
        return dict(json.loads(text))

    def call(self, method: str, **params: Any) -> Any:
        """What is answered next."""
        self.send(method, **params)
        answer = self.receive()
        assert answer["id"] == self.number
        return answer.get("result", answer.get("error"))

    def send(self, method: str, **params: Any) -> None:
        """Ask."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        self.connection.sendall(json.dumps(message).encode() + b"\0")

    def replay(self) -> list[str]:
        """What is told up to ``Relay.ready``, by method and session."""
        told = []
        while (message := self.receive())["method"] != "Relay.ready":
            session = message.get("sessionId") or message["params"].get("sessionId")
            told.append(f"{message['method'].partition('.')[2]} {session}")
        return told


@dataclass
class RelayRun:
    """The program, and the host's side of its sockets."""

    folder: Path
    alone_s: float = 60.0
    sandbox: str = "on"
    port: int = field(default_factory=free_port)
    hosts: list[Host] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(self.folder / "cdp.sock"))
        self.listening.settimeout(PATIENCE_S)
        self.listening.listen(4)
        chromium = self.folder / "chromium"
        script = self.folder / "chromium.py"
        script.write_text(CHROMIUM, encoding="utf-8")
        chromium.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
        chromium.chmod(0o700)
        argv = [sys.executable, "-I", str(PROGRAM), f"--sandbox={self.sandbox}", f"--sockets={self.folder}"]
        argv += [f"--out={self.folder}", f"--program={chromium}", f"--port={self.port}", f"--alone-s={self.alone_s}"]
        self.process = subprocess.Popen(argv)

    def accept(self) -> Host:
        """The relay calls."""
        connection, _ = self.listening.accept()
        connection.settimeout(PATIENCE_S)
        self.hosts.append(Host(connection))
        return self.hosts[-1]

    def ended(self) -> dict[str, Any]:
        """What it left when it ended."""
        self.process.wait(PATIENCE_S)
        return dict(json.loads((self.folder / "ended.json").read_text(encoding="utf-8")))


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[RelayRun]:
    """One that runs."""
    made = RelayRun(tmp_path)
    yield made
    _end(made)


def _end(made: RelayRun) -> None:
    for host in made.hosts:
        host.connection.close()
    made.listening.close()
    made.process.kill()
    made.process.wait(PATIENCE_S)


def test_how_chromium_is_started(relay: RelayRun, tmp_path: Path) -> None:
    """With everything through the proxy, and its own sandbox unless that can't stand."""
    host = relay.accept()
    assert host.replay() == []
    switches = host.call("switches")
    assert {
        "--proxy-server=http://127.0.0.1:3128",
        "--proxy-bypass-list=<-loopback>",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--disable-quic",
        "--site-per-process",
        "--remote-debugging-pipe",
        "about:blank",
    } <= set(switches)
    assert not {"--no-sandbox", "--no-zygote"} & set(switches)
    (tmp_path / "bare").mkdir()
    bare = RelayRun(tmp_path / "bare", sandbox="off")
    try:
        host = bare.accept()
        host.replay()
        assert set(host.call("switches")) - set(switches) == {"--no-sandbox", "--no-zygote"}
    finally:
        _end(bare)


def test_a_host_that_comes_back_is_told_what_is_open(relay: RelayRun) -> None:
    """Who is attached and which dialogs wait, not those that are over; what happened meanwhile is not told."""
    host = relay.accept()
    assert host.replay() == []
    messages = [ATTACHED % "a", ATTACHED % "b", ATTACHED % "c", OPENED % "a", OPENED % "b", OPENED % "c"]
    messages += [CLOSED % "b", DETACHED % "c", '{"method":"Some.event","params":{}}']
    host.send("emit", messages=messages)
    for _ in (*messages, "the answer"):
        host.receive()
    for _ in range(2):
        host.connection.close()
        host = relay.accept()
        assert host.replay() == [
            "attachedToTarget a",
            "attachedToTarget b",
            "javascriptDialogOpening a",
        ]
        assert host.call("switches")


def test_half_a_command_never_reaches_chromium(relay: RelayRun) -> None:
    """A host that dies in the middle of one leaves nothing of it."""
    host = relay.accept()
    host.replay()
    host.connection.sendall(b'{"id": 1, "method": "exit", "para')
    host.connection.close()
    host = relay.accept()
    host.replay()
    assert host.call("switches")


def test_what_is_too_large(relay: RelayRun) -> None:
    """An answer becomes an error of its number, an event is dropped, and what follows is whole."""
    host = relay.accept()
    host.replay()
    assert len(host.call("fill", bytes=15 << 20)) == 15 << 20
    for size in (16 << 20, 40 << 20):
        assert host.call("fill", bytes=size) == {"code": -32000, "message": "The answer is larger than 16 MiB."}
    host.send("event", bytes=17 << 20)
    assert host.call("switches")


def test_text_of_a_page_is_no_event(relay: RelayRun) -> None:
    """An answer that holds the words of one is passed on and not remembered."""
    host = relay.accept()
    host.replay()
    tricks = ['{"id":1,"result":"Target.attachedToTarget"}', '{"id":1,"result":{"m":"Page.javascriptDialogOpening"}}']
    host.send("emit", messages=tricks)
    for _ in (*tricks, "the answer"):
        host.receive()
    host.connection.close()
    host = relay.accept()
    assert host.replay() == []


@pytest.mark.parametrize(("how", "params", "code"), [("exit", {"code": 3}, 3), ("die", {}, -signal.SIGSEGV)])
def test_how_chromium_ended_is_left(relay: RelayRun, how: str, params: dict[str, int], code: int) -> None:
    """With its last words, at most so many of them; the host's connection ends."""
    host = relay.accept()
    host.replay()
    host.call("say", words="x" * 5_000 + "No usable sandbox!")
    host.send(how, **params)
    assert host.connection.recv(1) == b""
    ended = relay.ended()
    assert ended["code"] == code
    assert ended["said"].endswith("x" * 100 + "No usable sandbox!")
    assert len(ended["said"]) == 2_000
    assert relay.process.returncode == 1


def test_alone_for_too_long(tmp_path: Path) -> None:
    """Without a host Chromium ends, and all of it."""
    made = RelayRun(tmp_path, alone_s=0.5)
    try:
        host = made.accept()
        host.replay()
        made.listening.close()
        host.connection.close()
        assert made.ended()["code"] == -signal.SIGTERM
    finally:
        _end(made)


def test_told_to_end(relay: RelayRun) -> None:
    """As by the engine."""
    relay.accept().replay()
    relay.process.terminate()
    assert relay.ended()["code"] == -signal.SIGTERM


def test_the_way_to_the_gate(relay: RelayRun) -> None:
    """Bytes go both ways, each side's end is told to the other, and without a gate the connection ends."""
    relay.accept().replay()
    with socket.create_connection(("127.0.0.1", relay.port), PATIENCE_S) as caller:
        assert caller.recv(1) == b""
    with socket.socket(socket.AF_UNIX) as gate:
        gate.bind(str(relay.folder / "gate.sock"))
        gate.listen(4)

        def answer() -> None:
            connection, _ = gate.accept()
            said = b""
            with connection:
                while piece := connection.recv(1 << 16):
                    said += piece
                connection.sendall(said.upper())

        answering = threading.Thread(target=answer)
        answering.start()
        with socket.create_connection(("127.0.0.1", relay.port), PATIENCE_S) as caller:
            caller.sendall(b"hello " * 50_000)
            caller.shutdown(socket.SHUT_WR)
            said = b""
            while piece := caller.recv(1 << 16):
                said += piece
        answering.join(PATIENCE_S)
    assert said == b"HELLO " * 50_000
