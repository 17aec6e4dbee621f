"""The connection to a remote browser that is hostile: each answer ends within bounds, with a sentence, and never shows
the key that the operator's address holds."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from websockets.asyncio.server import ServerConnection

from orchestrator.browser.faults import BrowserError, BrowserLost
from orchestrator.browser.fields import Fields
from orchestrator.browser.remote_address import RemoteAddress
from orchestrator.browser.web_socket import open_web_socket
from orchestrator.browser.wire import Wire
from orchestrator.web.limits import Internet
from tests.support.cdp_endpoint import Talk, cdp_endpoint, redirect_to

KEY = "very-secret-key"


def _quiet(_method: str, _fields: Fields, _session: str) -> None:
    return


async def _call(port: int) -> Fields:
    transport = await open_web_socket(f"ws://127.0.0.1:{port}/?token={KEY}", "there", Internet().tls)
    wire = Wire(_quiet)
    reading = asyncio.create_task(wire.attend(transport))
    await asyncio.sleep(0)
    try:
        return await wire.call("Browser.getVersion", within_s=20.0)
    finally:
        wire.drop()
        await asyncio.gather(reading, return_exceptions=True)


def _answering(*answers: str) -> Talk:
    async def talk(connection: ServerConnection) -> None:
        await connection.recv()
        for answer in answers:
            await connection.send(answer)
        await connection.wait_closed()

    return talk


def test_a_command_is_answered() -> None:
    """What can't be read comes before the answer, and is skipped."""
    told = ["{", "[]", "null", '{"id": "x"}', "[" * 10_000, '{"method": 5}', '{"id":1,"result":{"product":"P/1"}}']
    with cdp_endpoint(_answering(*told)) as port:
        assert asyncio.run(_call(port)) == {"product": "P/1"}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"id":1,"result":{"x":"' + "a" * (17 << 20) + '"}}', "too large"),
        ('{"id":1,"result":' + "[" * 400 + "]" * 400 + "}", "too large or too deeply nested"),
        ('{"id":1,"error":{"message":5}}', "it gave no reason"),
    ],
    ids=["huge", "deep", "no reason"],
)
def test_an_answer_that_is_none(answer: str, said: str) -> None:
    """It fails with a sentence."""
    with cdp_endpoint(_answering(answer)) as port, pytest.raises((BrowserLost, BrowserError), match=said):
        asyncio.run(_call(port))


def test_compressed_messages_are_not_agreed_to() -> None:
    """A megabyte of zeros in a kilobyte is a bomb."""
    offered: list[str] = []

    async def talk(connection: ServerConnection) -> None:
        assert connection.request is not None
        offered.extend(connection.request.headers.get_all("Sec-WebSocket-Extensions"))
        await _answering('{"id":1,"result":{}}')(connection)

    with cdp_endpoint(talk) as port:
        asyncio.run(_call(port))
    assert offered == []


def test_a_redirect_is_not_followed(caplog: pytest.LogCaptureFixture) -> None:
    """To wherever; and nothing of the address is logged or told."""
    caplog.set_level(logging.DEBUG)
    reached: list[bool] = []

    async def note(_: ServerConnection) -> None:
        reached.append(True)

    with (
        cdp_endpoint(note) as inside,
        cdp_endpoint(note, redirect_to(f"ws://127.0.0.1:{inside}/")) as port,
        pytest.raises(BrowserLost, match="sends on to another address") as caught,
    ):
        asyncio.run(_call(port))
    assert reached == []
    assert KEY not in caplog.text + str(caught.value)


def test_nobody_is_there() -> None:
    """It says where, and nothing of the key."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(BrowserLost, match="there could not be reached") as caught:
        asyncio.run(_call(port))
    assert KEY not in str(caught.value)


# --- who is asked for the address of the WebSocket


@contextmanager
def _http(answer: bytes, *, again: bytes = b"") -> Iterator[tuple[int, list[bytes]]]:
    """Answers each connection so, and then with ``again`` until it is closed; what was asked."""
    asked: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                near, _ = server.accept()
            except OSError:
                return
            with near:
                asked.append(near.recv(65536))
                try:
                    near.sendall(answer)
                    while again:
                        near.sendall(again)
                except OSError:
                    continue

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1], asked
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


def _json(body: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
    return f"{head}\r\n\r\n{body}".encode()


def _find(port: int) -> str:
    return RemoteAddress(f"http://127.0.0.1:{port}?token={KEY}").find_socket(Internet())


def test_the_address_is_asked_for() -> None:
    """With the key; only the path of the answer counts, wherever it claims to be."""
    told = '{"webSocketDebuggerUrl": "ws://169.254.169.254/devtools/browser/abc"}'
    with _http(_json(told)) as (port, asked):
        assert _find(port) == f"ws://127.0.0.1:{port}/devtools/browser/abc?token={KEY}"
    assert asked[0].startswith(f"GET /json/version?token={KEY} ".encode())


@pytest.mark.parametrize(
    ("answer", "again", "said"),
    [
        (_json("[]"), b"", "did not answer with a JSON object"),
        (_json("{}"), b"", "is no browser"),
        (_json('{"webSocketDebuggerUrl": "file:///etc/passwd"}'), b"", "is no browser"),
        (_json('{"webSocketDebuggerUrl": ["ws://x/"]}'), b"", "is no browser"),
        (_json('{"webSocketDebuggerUrl": "ws://[/"}'), b"", "is no browser"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n", b"", "not followed"),
        (b"HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", b"", "HTTP 401"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536, "sent more than"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"y" * 1000 + b"\r\n", "can't be asked"),
    ],
    ids=["list", "empty", "file", "type", "no host", "redirect", "no", "endless body", "endless head"],
)
def test_an_answer_that_gives_no_address(answer: bytes, again: bytes, said: str) -> None:
    """It is refused within bounds, and the key is not told."""
    with _http(answer, again=again) as (port, _), pytest.raises(BrowserLost, match=said) as caught:
        _find(port)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("wss://connect.example.org?apiKey=k", "connect.example.org"),
        ("ws://127.0.0.1:9222/devtools/browser/k", "127.0.0.1:9222"),
        ("https://[::1]:443/k", "[::1]"),
    ],
)
def test_only_the_host_is_shown(url: str, host: str) -> None:
    """Of an address that may hold a key."""
    address = RemoteAddress(url)
    assert address.host == host
    assert "k" not in repr(address).removeprefix("RemoteAddress")
