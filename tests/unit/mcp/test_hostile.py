"""Hostile MCP servers, each a real process: every call ends in its time, with little memory, and without a word of the
server's in what we say."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from orchestrator.core.errors import Stopped
from orchestrator.mcp.faults import McpBroken, McpSlow
from orchestrator.mcp.models import McpLimits
from orchestrator.mcp.session import McpSession
from orchestrator.mcp.stdio import StdioTransport
from tests.support.mcp_streams import hostile_server

MIB = 1 << 20
LIMITS = McpLimits(connect_s=60.0, call_s=60.0)


@contextmanager
def session_of(mode: str) -> Iterator[McpSession]:
    session = McpSession(StdioTransport(hostile_server(mode)), LIMITS, client_version="1")
    try:
        session.connect()
        yield session
    finally:
        session.close()


@contextmanager
def little_memory(*, most: int = 10 * MIB) -> Iterator[None]:
    """What is within needs no more of it at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("line", "more than 4 MiB"),
        ("flood", "more than 10,000 messages"),
        ("banner", "more than 10,000 messages"),
        ("deep", "can't be read"),
        ("lists", "more than 50,000 values"),
        ("die", "The server ended"),
    ],
)
def test_a_call_is_ended_when_a_bound_is_passed(mode: str, sentence: str) -> None:
    """Size, depth, values and messages each end the call with a sentence of ours, within 10 MiB."""
    with session_of(mode) as session, little_memory(), pytest.raises(McpBroken, match=sentence):
        session.call("t", {})


@pytest.mark.parametrize("mode", ["silent", "stderr"])
def test_a_call_that_is_not_answered_ends_in_its_time(mode: str) -> None:
    """Silence, and noise where nobody listens, are the same."""
    with session_of(mode) as session, little_memory(), pytest.raises(McpSlow, match=r"did not answer within 0\.3 s"):
        session.call("t", {}, timeout_s=0.3)


def test_a_call_can_be_stopped_and_the_server_is_told() -> None:
    """Whoever waits no more says so, and the session goes on."""
    with session_of("silent") as session:
        asked: list[int] = []

        def should_stop() -> bool:
            asked.append(1)
            return len(asked) > 3

        with pytest.raises(Stopped):
            session.call("t", {}, should_stop=should_stop)
        # The server answers a cancellation with news, which the next list hears.
        assert [tool.name for tool in session.fetch_catalog().tools] == ["t"]
        assert session.is_changed


def test_pages_without_end_are_ended() -> None:
    """After 20 pages, with what there was until then."""
    with session_of("pages") as session:
        catalog = session.fetch_catalog()
    assert len(catalog.tools) == 20
    assert catalog.dropped == ("The list of tools has more than 20 pages; the rest was left out.",)


def test_a_list_that_is_too_large_is_refused() -> None:
    """It is a message like any other."""
    with session_of("many") as session, little_memory(), pytest.raises(McpBroken, match="more than 4 MiB"):
        session.fetch_catalog()


def test_only_so_many_tools_are_taken() -> None:
    """The first 200 stay."""
    with session_of("crowd") as session:
        catalog = session.fetch_catalog()
    assert len(catalog.tools) == 200
    assert catalog.dropped == ("100 tools were left out: no more than 200 are taken.",)


def test_malformed_tools_are_left_out_one_by_one() -> None:
    """The others stay, and no sentence holds a word of the server's."""
    with session_of("weird") as session:
        catalog = session.fetch_catalog()
    assert [(tool.name, tool.description) for tool in catalog.tools] == [("add", "does it")]
    assert len(catalog.dropped) == 7
    assert not [sentence for sentence in catalog.dropped if "obey" in sentence or "\u202e" in sentence]
    assert "Tool 7 was left out: it is larger than 32 KiB." in catalog.dropped


def test_a_changed_tool_is_seen() -> None:
    """A list is read again each time, so a pin can tell."""
    with session_of("rug") as session:
        first, second = session.fetch_catalog(), session.fetch_catalog()
    assert first.tools[0].description == "Adds."
    assert first.tools != second.tools


@pytest.mark.parametrize("mode", ["redos", "ref"])
def test_no_schema_is_evaluated(mode: str) -> None:
    """A pattern that takes years and a reference to another host are data."""
    with session_of(mode) as session:
        assert session.fetch_catalog().tools[0].output_schema
        assert session.call("t", {}).structured["a"]  # type: ignore[index]


def test_what_is_not_offered_is_refused() -> None:
    """A model's words and folders get an error as answer."""
    with session_of("sample") as session:
        result = session.call("t", {})
    assert json.loads(result.content[0].text) == [-32601, -32601]


def test_half_characters_are_replaced() -> None:
    """Servers that cut texts in the middle of a character are understood."""
    with session_of("half") as session:
        assert session.call("t", {}).content[0].text == "\ufffd half"


def test_a_session_goes_on_after_a_slow_call() -> None:
    """The late answer is no answer to the next question."""
    with session_of("silent") as session:
        calls: list[Callable[[], object]] = [lambda: session.call("t", {}, timeout_s=0.2)] * 2
        for call in calls:
            with pytest.raises(McpSlow):
                call()
        assert len(session.fetch_catalog().tools) == 1
