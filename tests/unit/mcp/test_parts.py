"""The pure parts of the client: events, headers, questions, messages."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from orchestrator.core.errors import BadInput
from orchestrator.mcp.events import McpEventReader
from orchestrator.mcp.faults import McpBroken
from orchestrator.mcp.headers import read_mirrored, write_mirrored, write_value
from orchestrator.mcp.messages import is_answer_to, read_message
from orchestrator.mcp.models import McpAnswer
from orchestrator.mcp.questions import read_question, write_answer

STREAM = (
    b"\xef: x\nevent: endpoint\ndata: /a\n\n"
    b'id: 7\nretry: 250\ndata: {"a":\r\ndata: 1}\r\n\r\n'
    b": only a comment\n\ndata\n\n"
)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_events_are_read_however_they_are_cut(size: int) -> None:
    """Line ends of both kinds, comments, several lines of data."""
    reader = McpEventReader(1000)
    pieces = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert [(event.kind, event.data) for event in reader.read(pieces)] == [
        ("endpoint", b"/a"),
        ("message", b'{"a":\n1}'),
        ("message", b""),
    ]
    assert (reader.last_id, reader.retry_s) == ("7", 0.25)


@pytest.mark.parametrize("value", ["plain", "a b", "", "v1.2"])
def test_plain_values_stay_in_headers(value: str) -> None:
    """As the protocol has it."""
    assert write_value(value) == value


@pytest.mark.parametrize("value", [" a", "a\r\nX: y", "é", "=?base64?YQ==?="])
def test_other_values_are_packed(value: str) -> None:
    """So that no value makes a header of its own."""
    written = write_value(value)
    assert b64decode(written.removeprefix("=?base64?").removesuffix("?=")).decode() == value


def test_arguments_are_mirrored_where_the_schema_wants_it() -> None:
    """Those that are given."""
    inner = {"properties": {"deep": {"type": "boolean", "x-mcp-header": "Deep"}}}
    schema = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "o": inner}}
    mirrored = read_mirrored(schema)
    arguments = {"region": "eu", "o": {"deep": True}, "other": 1}
    assert write_mirrored(mirrored, arguments) == {"Mcp-Param-Region": "eu", "Mcp-Param-Deep": "true"}
    assert write_mirrored(mirrored, {"region": None}) == {}


@pytest.mark.parametrize(
    "mark",
    [
        {"type": "string", "x-mcp-header": "a b"},
        {"type": "string", "x-mcp-header": "a\r\nHost: x"},
        {"type": "object", "x-mcp-header": "A"},
        {"type": "string", "x-mcp-header": 5},
        {"items": {"type": "string", "x-mcp-header": "A"}},
    ],
)
def test_marks_that_break_the_rules_are_refused(mark: dict[str, Any]) -> None:
    """A tool with such a mark can't be called."""
    with pytest.raises(BadInput, match="x-mcp-header"):
        read_mirrored({"properties": {"p": mark}})


def form(**properties: Any) -> dict[str, Any]:
    return {"message": "m", "requestedSchema": {"type": "object", "properties": properties}}


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "params",
    [
        {"mode": "url", "url": "https://evil.example"},
        {},
        form(password=TEXT),
        form(userPassword=TEXT),
        form(API_KEY=TEXT),
        form(x={**TEXT, "title": "Your access token"}),
        form(x={**TEXT, "description": "the PIN of your card"}),
        form(x={**TEXT, "format": "password"}),
        form(x={"type": "object"}),
        form(x={"type": "array", "items": {"type": "object"}}),
        form(x={"type": "string", "enum": [1, 2]}),
        form(**{f"f{number}": TEXT for number in range(11)}),
    ],
)
def test_what_no_person_is_asked_is_no_question(params: dict[str, Any]) -> None:
    """Pages to open, secrets, nested values, more than ten fields."""
    with pytest.raises(BadInput):
        read_question(params)


def test_every_kind_of_field_is_read() -> None:
    """With defaults where they fit; a pattern is not evaluated."""
    question = read_question(
        form(
            text={**TEXT, "format": "email", "minLength": 2, "pattern": "^(a+)+$", "default": "ab"},
            maxTokens={"type": "integer", "minimum": 1, "maximum": 9, "default": 10},
            size={**TEXT, "oneOf": [{"const": "s", "title": "Small"}], "default": "s"},
            many={"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1, "default": ["b"]},
            sure={"type": "boolean", "default": False},
            number={"type": "number"},
        )
    )
    assert [(field.kind, field.default, field.options) for field in question.fields] == [
        ("text", "ab", ()),
        ("integer", None, ()),
        ("choice", "s", (("s", "Small"),)),
        ("choices", ("b",), (("a", "a"), ("b", "b"))),
        ("yes_no", False, ()),
        ("number", None, ()),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [("text", 5), ("text", "x" * 5_000), ("size", "l"), ("many", ["a", "z"]), ("number", True), ("number", "1")],
)
def test_answers_are_checked_by_field(name: str, value: Any) -> None:
    """The error names the field; a no needs no values."""
    wire = {"text": TEXT, "size": {**TEXT, "enum": ["s"]}, "number": {"type": "number"}}
    wire["many"] = {"type": "array", "items": {"enum": ["a"]}}
    question = read_question(form(**wire))
    with pytest.raises(BadInput, match=f"^{name}: "):
        write_answer(question, McpAnswer("accept", {name: value}))
    assert write_answer(question, McpAnswer("decline", {name: value})) == {"action": "decline"}


def test_whole_characters_stay_and_halves_are_replaced() -> None:
    """An escaped backslash before a u is none of either."""
    raw = rb'{"a":"\ud83d\ude00 \\ud83d \ud83d \ude00"}'
    assert read_message(raw, 1000) == {"a": "\U0001f600 \\ud83d \ufffd \ufffd"}


@pytest.mark.parametrize("raw", [b"[]", b"{", b'{"a":NaN}', b'{"a":1,"a":2}', b"{" + b'"a":{' * 40 + b"}" * 41])
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    """Arrays, halves, NaN, double keys, depth."""
    with pytest.raises(McpBroken, match="can't be read"):
        read_message(raw, 1000)


def test_an_answer_is_told_by_its_id() -> None:
    """Of the same type, too."""
    assert is_answer_to({"id": 1, "result": {}}, 1)
    assert is_answer_to({"id": None, "error": {}}, 1)
    for message in (
        {"id": True, "result": {}},
        {"id": "1", "result": {}},
        {"id": 1},
        {"id": 1, "result": {}, "method": "x"},
    ):
        assert not is_answer_to(message, 1)
