"""``orchestrator.capabilities.actions.json_schema``: what a schema may say, and which values are held to it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.capabilities.actions.field_types import FieldKind, Unfit
from orchestrator.capabilities.actions.fields import fields_of
from orchestrator.capabilities.actions.format import as_object
from orchestrator.capabilities.actions.json_schema import check_schema, read_json
from orchestrator.capabilities.actions.parse import read_action, read_command
from orchestrator.capabilities.capability import Action, Policy
from orchestrator.core.errors import BadInput

SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "maxResults": {"type": "integer", "minimum": 1, "maximum": 20, "description": "how many"},
        "query": {"type": "string", "maxLength": 20},
        "kind": {"type": "string", "enum": ["news", "web"]},
        "sites": {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 2},
        "near": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "is_exact": {"type": "boolean"}},
            "required": ["lat"],
        },
    },
    "required": ["query"],
}
ACTION = Action("SEARCH", SEARCH, Policy.FREE, cost=1)
KNOWN = {"SEARCH": ACTION}


def test_the_fields_of_a_schema() -> None:
    """What is required comes first, for the text form."""
    fields = fields_of(SEARCH)
    assert [field.name for field in fields] == ["query", "maxResults", "kind", "sites", "near"]
    assert [field.is_required for field in fields] == [True, False, False, False, False]
    assert {field.kind for field in fields} == {FieldKind.JSON}
    assert ACTION.form == "SEARCH:query|[maxResults]|[kind]|[sites]|[near]"


@pytest.mark.parametrize(
    ("entry", "given"),
    [
        ("SEARCH:tea", {"query": "tea"}),
        ("SEARCH:tea|5|news", {"query": "tea", "maxResults": 5, "kind": "news"}),
        ({"name": "SEARCH", "query": "tea", "max_results": "5"}, {"query": "tea", "maxResults": 5}),
        ({"name": "search", "fields": {"query": "5", "sites": ["a", "b"]}}, {"query": "5", "sites": ["a", "b"]}),
        ('SEARCH:tea|||["a"]|{"lat": 1.5}', {"query": "tea", "sites": ["a"], "near": {"lat": 1.5}}),
        ({"name": "SEARCH", "query": "x", "near": {"lat": 1, "is_exact": True}},
         {"query": "x", "near": {"lat": 1, "is_exact": True}}),
    ],
)  # fmt: skip
def test_what_fits_is_read(entry: object, given: dict[str, object]) -> None:
    """In both forms, and reads as the same again."""
    asked = read_action(entry, KNOWN)
    assert asked.given == given
    assert read_action(as_object(asked), KNOWN) == asked


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "SEARCH needs query"),
        ({"query": "x" * 21}, "query must be 0 to 20 characters"),
        ({"query": 5}, "query must be a text"),
        ({"query": "a\0"}, "query holds a character"),
        ({"query": "x", "maxResults": 0}, "maxResults must be 1 to 20"),
        ({"query": "x", "maxResults": "many"}, "maxResults must be a whole number"),
        ({"query": "x", "maxResults": True}, "maxResults must be a whole number"),
        ({"query": "x", "maxResults": 2.0}, "maxResults must be a whole number"),
        ({"query": "x", "kind": "other"}, 'kind must be one of "news", "web"'),
        ({"query": "x", "sites": ["a", "b", "c"]}, "sites must be 0 to 2 entries"),
        ({"query": "x", "sites": ["a", "too long"]}, "sites entry 2 must be 0 to 5 characters"),
        ({"query": "x", "sites": "[" * 10_000}, "sites must be a list"),
        ({"query": "x", "near": {}}, "near needs 'lat'"),
        ({"query": "x", "near": {"lat": 1, "\x1b[2J": 1}}, "near has no"),
        ({"query": "x", "near": {"lat": float("nan")}}, "near 'lat' must be"),
        ({"query": "x", "near": {"lat": 10**400}}, "near 'lat' must be"),
        ({"query": "x", "more": 1}, 'has no field "more"'),
    ],
)
def test_what_does_not_fit_is_said(fields: dict[str, object], told: str) -> None:
    """One printable sentence that names the field."""
    with pytest.raises(BadInput) as refused:
        read_command("SEARCH", fields, KNOWN)
    assert told in refused.value.message
    assert refused.value.message.isprintable()


def deep(levels: int) -> dict[str, object]:
    """A list of lists."""
    return {"type": "array", "items": deep(levels - 1)} if levels else {"type": "string"}


@pytest.mark.parametrize(
    "schema",
    [
        None, [], {}, {"type": "null"}, {"type": ["string"]}, {"type": "string", "$ref": "#/x"},
        {"type": "string", "pattern": "(a+)+"}, {"anyOf": [{"type": "string"}]}, {"type": "string", "maxLength": -1},
        {"type": "string", "maxLength": "5"}, {"type": "integer", "minimum": "x"}, {"type": "integer", "maximum": True},
        {"type": "string", "enum": []}, {"type": "string", "enum": "ab"}, {"type": "string", "enum": [0] * 201},
        {"type": "object", "properties": []}, {"type": "object", "required": ["x"]},
        {"type": "object", "properties": {"x": {"type": "string"}}, "required": [["x"]]},
        {"type": "object", "properties": {str(n): {"type": "string"} for n in range(51)}},
        {"type": "object", "properties": {"x": {"type": "string", "$ref": "file:///etc/passwd"}}},
        {"type": "array", "items": [{"type": "string"}]}, deep(7), deep(900),
    ],
)  # fmt: skip
def test_what_a_schema_may_not_say(schema: object) -> None:
    """It is refused when it is read, not when a value comes."""
    with pytest.raises(ValueError, match="schema"):
        check_schema(schema)


def test_an_action_is_an_object() -> None:
    """Its fields have names."""
    with pytest.raises(ValueError, match="of type object"):
        fields_of({"type": "string"})


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*SEARCH["properties"], "lat", "type", "items"]) | st.text(max_size=5), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(_json)
def test_any_value_fits_or_is_refused(value: Any) -> None:
    """Nothing else comes out, and what fits is JSON."""
    with suppress(Unfit):
        json.dumps(read_json(SEARCH, value), allow_nan=False)


@settings(max_examples=300)
@given(_json)
def test_any_schema_is_one_or_is_refused(schema: object) -> None:
    """A stranger's schema never does more than fail."""
    try:
        check_schema(schema)
    except ValueError:
        return
    assert isinstance(schema, dict)
    assert schema["type"] in ("string", "integer", "number", "boolean", "array", "object")
