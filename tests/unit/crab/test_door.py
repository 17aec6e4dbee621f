"""The crab's HTTP: kept connections, repair after every kind of break, refusals that are not repeated."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from crab.door import Door, DoorRefused
from tests.support.fake_door import FakeDoor


@pytest.fixture
def host(tmp_path: Path) -> Iterator[FakeDoor]:
    """A host that is there."""
    with FakeDoor(tmp_path) as opened:
        yield opened


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    """The crab's end."""
    door = Door(str(tmp_path / "door.sock"))
    yield door
    door.close()


def test_one_connection_serves_many_calls(host: FakeDoor, door: Door) -> None:
    """Calls go over one kept connection; large bodies pass both ways."""
    host.answers = [lambda body: body["messages"][0]["content"][::-1]] * 3
    for text in ("", "aé😀\ud800", "x" * 3_000_000):
        answer = door.post("llm", {"turn": 1, "messages": [{"content": text}]})
        assert answer["output"] == text[::-1]
    assert host.connections == 1


def test_no_content(host: FakeDoor, door: Door) -> None:
    """204 is None, and the connection goes on."""
    assert door.get("turns/next?boot=b&wait=0") is None
    assert door.post("status", {"status": "idle"}) == {}
    assert host.connections == 1


@pytest.mark.parametrize("fault", ["drop", "drop_after", "garbage", "chunked", "500", "503"])
def test_trouble_is_repaired_by_asking_again(host: FakeDoor, door: Door, fault: str) -> None:
    """A call whose answer did not come is made again, whole, until it comes."""
    door.post("status", {"status": "idle"})
    host.faults = [fault, "", fault, fault]
    for status in ("idle", "active"):
        assert door.post("status", {"status": status}) == {}
    assert host.bodies("status")[-1] == {"status": "active"}
    assert host.faults == []


def test_a_host_that_comes_back(host: FakeDoor, door: Door) -> None:
    """While nobody is there the crab keeps trying; when the host is back the call goes through."""
    door.post("status", {"status": "idle"})
    host.shut()
    timer = threading.Timer(0.3, host.open)
    timer.start()
    assert door.post("status", {"status": "active"}) == {}
    timer.join()


@pytest.mark.parametrize("status", ["400", "404", "409", "429"])
def test_a_refusal_is_not_repeated(host: FakeDoor, door: Door, status: str) -> None:
    """4xx is an answer; code and message are the host's, and the connection is still good."""
    host.faults = [status]
    with pytest.raises(DoorRefused) as refused:
        door.post("status", {"status": "idle"})
    assert refused.value.code
    assert refused.value.message == f"Answered {status}."
    assert door.post("status", {"status": "idle"}) == {}
    assert host.connections == 1


def test_a_host_in_trouble_is_asked_a_few_times(host: FakeDoor, door: Door) -> None:
    """5xx of the door itself is tried again, but not for ever."""
    host.faults = ["500"] * 20
    with pytest.raises(DoorRefused):
        door.post("status", {"status": "idle"})
    assert len(host.faults) == 14


@pytest.mark.parametrize("code", ["over_budget", "upstream_failed", "bad_input", "stopped"])
def test_final_codes_are_not_repeated(host: FakeDoor, door: Door, code: str) -> None:
    """What the host says of a model call holds, even with a 5xx."""
    host.answers = [{"status": 503, "code": code, "message": "m"}]
    with pytest.raises(DoorRefused, match=code):
        door.post("llm", {"turn": 1, "messages": []})
    assert len(host.bodies("llm")) == 1


REPLIES = {
    "slowly": [b"HTTP/1.1 200 OK\r\nCont", b"ent-Length: 8\r\n\r", b'\n{"a":', b" 5}"],
    "other letters": [b'HTTP/1.1 200 OK\r\ncontent-LENGTH:   9\r\n\r\n{"a": 5}\n'],
    "closing": [b'HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 8\r\n\r\n{"a": 5}'],
}
BROKEN = [
    b"",
    b"HTTP/1.1\r\n\r\n",
    b"HTTP/1.1 two OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 89999999999\r\n\r\n",
    b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a":',
    b'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{"a',
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
    b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n" + b"[" * 60_000,
    b"x" * 100_000,
]


@pytest.mark.parametrize("parts", REPLIES.values(), ids=REPLIES.keys())
def test_frames(tmp_path: Path, door: Door, parts: list[bytes]) -> None:
    """An answer is read as it is framed, however it is cut up."""
    with RawHost(str(tmp_path / "door.sock"), [parts]) as host:
        assert door.post("x", {"q": "é"}) == {"a": 5}
    head, _, body = host.heard[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /api/internal/x HTTP/1.1\r\nHost: door\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body) == {"q": "é"}


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_frames(tmp_path: Path, door: Door, broken: bytes) -> None:
    """Half an answer, or none at all, is no answer: the call is made again on a new connection."""
    with RawHost(str(tmp_path / "door.sock"), [[broken], REPLIES["closing"]]) as host:
        assert door.post("x", {}) == {"a": 5}
    assert host.heard[0] == host.heard[1]


def test_a_silent_host(tmp_path: Path, door: Door) -> None:
    """A host that hears and never answers is asked again after the time-out."""
    with RawHost(str(tmp_path / "door.sock"), [None, REPLIES["closing"]]):
        assert door.post("x", {}, timeout_s=0.2) == {"a": 5}


class RawHost:
    """Answers one request per connection with the bytes it is given, then hangs up; None stays silent."""

    def __init__(self, path: str, replies: list[list[bytes] | None]) -> None:
        self.heard: list[bytes] = []
        self._replies = replies
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(path)
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, name="raw-host")

    def __enter__(self) -> RawHost:  # noqa: PYI034 - a closed class
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        for reply in self._replies:
            connection, _ = self._socket.accept()
            with connection:
                self.heard.append(connection.recv(65536))
                if reply is None:
                    connection.recv(1)  # until the other side gives up
                    continue
                try:
                    for part in reply:
                        connection.sendall(part)
                except OSError:
                    continue  # it hung up first
