"""Server-sent events and careful reading: the pure parts of the upstreams."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.models import TokenUse
from orchestrator.llm.upstreams import sse
from orchestrator.llm.upstreams.lenient_json import (
    TextJoiner,
    chat_usage,
    cost_micro,
    get_token_count,
    json_object,
    text_of,
)

STREAMS = [
    (b"data: a\n\n", [("", b"a")]),
    (b"data:a\n\n", [("", b"a")]),
    (b"data:  a\n\n", [("", b" a")]),
    (b"data: a\r\n\r\ndata: b\r\n\r\n", [("", b"a"), ("", b"b")]),
    (b": OPENROUTER PROCESSING\n\ndata: a\n\n", [("", b"a")]),
    (b"event: ping\ndata: {}\n\n", [("ping", b"{}")]),
    (b"data: a\ndata: b\n\n", [("", b"a\nb")]),
    (b"data\n\n", [("", b"")]),
    (b"id: 1\nretry: 5\nfoo\ndata: a\n\n", [("", b"a")]),
    (b"event: lonely\n\ndata: a\n\n", [("", b"a")]),
    (b"\n\n\ndata: a\n\n\n\n", [("", b"a")]),
    (b"\xef\xbb\xbfdata: a\n\n", [("", b"a")]),
    (b"data: a\n\ndata: [DONE]", [("", b"a"), ("", b"[DONE]")]),
    (b"data: a\n\ndata: [DONE]\r\n", [("", b"a"), ("", b"[DONE]")]),
    (b"", []),
    (b"no field at all", []),
]


@pytest.mark.parametrize(("stream", "expected"), STREAMS)
def test_events(stream: bytes, expected: list[tuple[str, bytes]]) -> None:
    """Spaces, comments, line ends, names, several lines and a missing end are read as the standard and life want."""
    assert [tuple(event) for event in sse.read_events([stream])] == expected


@given(st.integers(1, 40), st.sampled_from([stream for stream, _ in STREAMS]))
def test_boundaries_do_not_matter(size: int, stream: bytes) -> None:
    """However a stream is cut into pieces, the events are the same."""
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert list(sse.read_events(pieces)) == list(sse.read_events([stream]))


@given(st.lists(st.binary(max_size=50)))
def test_no_bytes_break_the_reader(pieces: list[bytes]) -> None:
    """Any bytes give some events and no error."""
    assert all(isinstance(event.data, bytes) for event in sse.read_events(pieces))


@pytest.mark.parametrize(
    "pieces",
    [
        [b"data: " + b"x" * sse.MAX_LINE_BYTES],
        [b"x" * 1024] * 2048,
        [b"data: " + b"x" * 1000 + b"\n"] * 4096,
        [b"x" * (sse.MAX_LINE_BYTES + 1) + b"\n"],
    ],
)
def test_lines_and_events_are_bounded(pieces: list[bytes]) -> None:
    """A line over 1 MiB or an event over 2 MiB is an error, whether it comes in one piece or in many."""
    with pytest.raises(sse.TooLongError):
        list(sse.read_events(pieces))


def test_a_line_byte_by_byte_costs_no_more_than_its_length() -> None:
    """A megabyte in pieces of one byte is read without copying what came before for each of them."""
    pieces = [b"d", b"a", b"t", b"a", b":", *([b"x"] * 1_000_000), b"\n", b"\n"]
    assert [len(event.data) for event in sse.read_events(pieces)] == [1_000_000]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (7, 7),
        (10**9, 10**9),
        (10**9 + 1, None),
        (-1, None),
        (True, None),
        (1.5, None),
        (2.0, None),
        (math.nan, None),
        ("7", None),
        (None, None),
        ([], None),
    ],
)
def test_tokens_are_counts(value: Any, expected: int | None) -> None:
    """Only whole numbers from 0 to a billion count tokens."""
    assert get_token_count(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (0.0, 0),
        (0.00003, 30),
        (0.0000301, 31),
        (1, 1_000_000),
        (0.1 + 0.2, 300_000),
        (1e-12, 1),
        (-0.1, None),
        (math.nan, None),
        (math.inf, None),
        (1e9, None),
        (True, None),
        ("0.1", None),
        (None, None),
    ],
)
def test_costs_are_finite_and_not_negative(value: Any, expected: int | None) -> None:
    """Dollars become micro-dollars, rounded up; what is no sum of money is nothing."""
    assert cost_micro(value) == expected


USAGES = [
    ({"prompt_tokens": 5, "completion_tokens": 7}, TokenUse(5, 7)),
    ({"prompt_tokens": 5, "completion_tokens": 7, "cost": 0.001}, TokenUse(5, 7, 1000)),
    ({"prompt_tokens": "5", "completion_tokens": -7, "cost": -1}, TokenUse()),
    (
        {"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}},
        TokenUse(5, 7, None, 4),
    ),
    ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 400}}, TokenUse(5, None, None, 5)),
    ({"prompt_tokens": 5, "prompt_tokens_details": None}, TokenUse(5)),
    ({"cost": 0.1, "cost_details": {"upstream_inference_cost": 0.2}}, TokenUse(None, None, 100_000)),
    ({"cost": 0.1, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, TokenUse(None, None, 300_000)),
    ({}, TokenUse()),
]


@pytest.mark.parametrize(("usage", "expected"), USAGES)
def test_usage(usage: dict[str, Any], expected: TokenUse) -> None:
    """Counts, caches and costs are taken where they can be true, each by itself."""
    assert chat_usage(usage) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'{"a": NaN, "b": -Infinity}', {"a": None, "b": None}),
        (b"[]", None),
        (b"7", None),
        (b"", None),
        (b"\xff\xfe", None),
        (b'{"a": ' + b"9" * 5000 + b"}", None),
        (b'{"a":' * 200_000, None),
    ],
)
def test_json_objects(text: bytes, expected: dict[str, Any] | None) -> None:
    """Only an object is one; depth, size of numbers and odd bytes raise nothing."""
    assert json_object(text) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a", "a"),
        (None, ""),
        ([{"type": "text", "text": "a"}, {"type": "thinking", "text": "b"}, {"type": "text", "text": 7}, "c"], "a"),
        (7, ""),
    ],
)
def test_text_of_content(content: Any, expected: str) -> None:
    """Text, or the text parts of a list; the rest is left out."""
    assert text_of(content) == expected


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        (["a", "ü"], "aü"),
        (["\ud83e", "\udd80"], "🦀"),
        (["x\ud83e", "", "\udd80y"], "x🦀y"),
        (["\ud83e", "a"], "\ufffda"),
        (["\udd80"], "\ufffd"),
    ],
)
def test_split_characters_are_joined(deltas: list[str], expected: str) -> None:
    """A character whose halves come in two deltas is whole again; a half alone becomes a question mark."""
    joiner = TextJoiner()
    joined = "".join(joiner.push_text(delta) for delta in deltas)
    assert joined == expected
    joined.encode()
