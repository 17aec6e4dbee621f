"""``orchestrator.browser.wire``: whatever a hostile browser sends, our memory is bounded and the reading goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.browser import wire as wire_module
from orchestrator.browser.faults import BrowserError, BrowserLost, BrowserSlow
from orchestrator.browser.fields import Fields
from orchestrator.browser.wire import MAX_MESSAGE_BYTES, MessagePace, PipeTransport, Wire
from tests.support.driven_browser import eventually

Heard = list[tuple[str, Fields, str]]


class Peer:
    """The other end: what it writes is what the browser says."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, *messages: bytes) -> None:
        """Each with its end."""
        for message in messages:
            self.writer.write(message + b"\0")
            await self.writer.drain()

    async def next_command(self) -> dict[str, Any]:
        """What we sent."""
        told: dict[str, Any] = json.loads((await self.reader.readuntil(b"\0"))[:-1])
        return told


def with_peer(check: Callable[[Wire, Peer, Heard], Awaitable[None]]) -> None:
    """Run the check with a wire and its other end."""

    async def run() -> None:
        heard: Heard = []
        wire = Wire(lambda *event: heard.append(event))
        peers: asyncio.Queue[Peer] = asyncio.Queue()

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await peers.put(Peer(reader, writer))

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        attending = asyncio.create_task(wire.attend(PipeTransport(reader, writer)))
        peer = await peers.get()
        await eventually(lambda: wire.is_up)
        try:
            await check(wire, peer, heard)
        finally:
            wire.drop()
            peer.writer.close()
            await attending
            server.close()
            await server.wait_closed()

    asyncio.run(run())


END = b'{"method":"End.reached","params":{}}'


def test_answers_find_their_commands_and_events_their_listener() -> None:
    """In whatever order; refusals are errors with the browser's words."""

    async def check(wire: Wire, peer: Peer, heard: Heard) -> None:
        first, second = wire.post("A.a", "s1", {"x": 1}), wire.post("B.b")
        assert await peer.next_command() == {"id": 1, "method": "A.a", "params": {"x": 1}, "sessionId": "s1"}
        assert await peer.next_command() == {"id": 2, "method": "B.b", "params": {}}
        await peer.say(b'{"id":2,"result":{"y":2}}', b'{"method":"E.e","params":{"z":3},"sessionId":"s1"}')
        await peer.say(b'{"id":1,"error":{"code":-1,"message":"No such thing"}}')
        assert await second == {"y": 2}
        with pytest.raises(BrowserError, match="No such thing"):
            await first
        assert heard == [("E.e", {"z": 3}, "s1")]

    with_peer(check)


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=200).map(lambda raw: raw.replace(b"\0", b"")),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
                lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
                max_leaves=10,
            ).map(lambda value: json.dumps(value).encode()),
            st.fixed_dictionaries(
                {},
                optional={
                    "id": st.integers(-2, 3) | st.text(max_size=3) | st.booleans(),
                    "method": st.text(max_size=5) | st.integers(),
                    "params": st.lists(st.integers(), max_size=2) | st.text(max_size=3) | st.none(),
                    "sessionId": st.text(max_size=5) | st.integers(),
                    "error": st.text(max_size=5) | st.none() | st.dictionaries(st.text(max_size=3), st.none()),
                    "result": st.integers() | st.none(),
                },
            ).map(lambda value: json.dumps(value).encode()),
        ),
        max_size=8,
    )
)
def test_nothing_that_comes_in_ends_the_reading(messages: list[bytes]) -> None:
    """Every message after it is still heard, and a command that waits gets an answer or goes on waiting."""

    async def check(wire: Wire, peer: Peer, heard: Heard) -> None:
        waiting = wire.post("A.a")
        await peer.say(*messages, END)
        await eventually(lambda: bool(heard) and heard[-1][0] == "End.reached")
        assert wire.is_up
        if waiting.done():
            assert isinstance(waiting.exception(), (BrowserError, type(None)))

    with_peer(check)


def test_a_message_without_an_end_costs_no_more_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of it is let go; the command that it answers fails, and the next message is read."""
    monkeypatch.setattr(wire_module, "MAX_MESSAGE_BYTES", 1 << 18)

    async def check(wire: Wire, peer: Peer, heard: Heard) -> None:
        waiting = wire.post("A.a")
        peer.writer.write(b'{"id":1,"result":{"a":"')
        most = 0
        for _ in range(64):
            peer.writer.write(b"x" * (1 << 16))
            await peer.writer.drain()
            assert isinstance(wire._transport, PipeTransport)
            most = max(most, len(wire._transport._buffer))
        await peer.say(b'"}}', END)
        with pytest.raises(BrowserError, match="too large"):
            await waiting
        await eventually(lambda: bool(heard))
        assert most <= (1 << 18) + (1 << 16)
        assert wire.unreadable == 1

    with_peer(check)
    assert MAX_MESSAGE_BYTES == 16 << 20


@pytest.mark.parametrize(
    "body",
    [
        b'{"id":1,"result":' + b'{"a":' * 40 + b"1" + b"}" * 41,
        b'{"id":1,"result":{"a":[' + b"0," * 300_000 + b"0]}}",
        b'{"id":1,"result":{"a":NaN}}',
        b'{"id":1,"id":1,"result":{}}',
        b'{"id":1,"result":{"a":"\xff"}}',
    ],
    ids=["deep", "many values", "no number", "twice", "no text"],
)
def test_an_answer_that_cannot_be_read_fails_its_command(body: bytes) -> None:
    """At once, not after the time is up."""

    async def check(wire: Wire, peer: Peer, heard: Heard) -> None:
        waiting = wire.post("A.a")
        await peer.say(body, END)
        with pytest.raises(BrowserError, match=r"to be read"):
            await asyncio.wait_for(waiting, 5)
        await eventually(lambda: bool(heard))

    with_peer(check)


@given(st.text(max_size=30), st.sampled_from(["\ud800", "\udfff", "\ud83d\ude00", "\\ud800", ""]))
def test_halves_of_characters_hide_nothing(text: str, half: str) -> None:
    """What a page wrote is read, with a mark where it wrote half a character; whole ones stay whole."""
    body = json.dumps({"method": "E.e", "params": {"a": text + half + "z"}}).encode()
    read = wire_module._read(body)["params"]["a"]
    assert read.endswith("z")
    assert read.encode()
    if half == "\ud83d\ude00":
        assert read == text + "\U0001f600z"


def test_waiting_ends_with_the_time_or_the_connection() -> None:
    """Each with an error that says which."""

    async def check(wire: Wire, peer: Peer, heard: Heard) -> None:
        with pytest.raises(BrowserSlow, match=r"did not answer A\.a within 0\.05"):
            await wire.call("A.a", within_s=0.05)
        assert not wire._waiting
        waiting = wire.post("B.b")
        peer.writer.close()
        with pytest.raises(BrowserLost):
            await asyncio.wait_for(waiting, 5)
        await eventually(lambda: not wire.is_up)
        with pytest.raises(BrowserLost, match="No browser is connected"):
            await wire.call("C.c")
        wire.tell("D.d")

    with_peer(check)


def test_a_browser_that_answers_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits, and what it leaves unread, is bounded."""
    monkeypatch.setattr(wire_module, "MAX_UNANSWERED", 10)

    async def check(wire: Wire, peer: Peer, heard: Heard) -> None:
        for _ in range(10):
            wire.post("A.a")
        with pytest.raises(BrowserLost, match="answers nothing"):
            wire.post("A.a")

    with_peer(check)
    monkeypatch.setattr(wire_module, "MAX_UNANSWERED", 10_000)
    monkeypatch.setattr(wire_module, "MAX_UNSENT_BYTES", 1 << 20)

    async def check_unread(wire: Wire, peer: Peer, heard: Heard) -> None:
        def flood() -> None:
            for _ in range(300):
                wire.post("A.a", "", {"text": "x" * (1 << 17)})

        with pytest.raises(BrowserLost, match="reads nothing"):
            flood()

    with_peer(check_unread)


def test_a_browser_that_talks_without_end_is_read_at_a_pace() -> None:
    """So many messages and bytes in a second, then none until it is over; a quiet one is read at once."""
    now = 100.0
    pace = MessagePace(lambda: now)
    assert [pace.take(10) for _ in range(wire_module.MAX_MESSAGES_A_SECOND)] == [0.0] * 5000
    assert pace.take(10) == 1.0
    now = 100.4
    assert pace.take(10) == pytest.approx(0.6)
    now = 101.0
    assert pace.take(10) == 0.0
    assert pace.take(wire_module.MAX_BYTES_A_SECOND) == 1.0


def test_a_newer_connection_takes_the_place_of_the_older() -> None:
    """What waits on the older one fails, and the newer one is heard."""

    async def check(wire: Wire, peer: Peer, heard: Heard) -> None:
        waiting = wire.post("A.a")
        await peer.next_command()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(END + b"\0")
            await reader.read()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        newer = asyncio.create_task(wire.attend(PipeTransport(reader, writer)))
        with pytest.raises(BrowserLost):
            await waiting
        await eventually(lambda: bool(heard))
        wire.drop()
        await newer
        server.close()
        await server.wait_closed()

    with_peer(check)
