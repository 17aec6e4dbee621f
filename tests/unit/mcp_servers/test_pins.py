"""``mcp_servers.pins`` and ``wording``: what differs from what an operator has seen is off, and is told in words."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.mcp.models import McpCatalog
from orchestrator.mcp_servers.models import Pin, PinState, ServerTool, ToolDecision, hash_wire
from orchestrator.mcp_servers.pins import accept, canonical_json, compare, list_said, uncheck
from orchestrator.mcp_servers.wording import find_difference, list_arguments, read_claims, read_description
from tests.support.mcp_catalogs import make_catalog, make_tool

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)


def hear(known: list[Pin], catalog: McpCatalog, now: float = 1.0) -> dict[str, Pin]:
    """The pins by name after a server said this."""
    return {pin.name: pin for pin in compare(known, list_said(catalog), now).kept}


def seen(catalog: McpCatalog) -> list[Pin]:
    """All that it says, accepted."""
    return [taken for pin in hear([], catalog).values() if (taken := accept(pin, 1.0))]


def in_force(pin: Pin) -> ToolDecision:
    """What holds for a tool."""
    return ServerTool("s", pin.name, pin.wire, pin.sha256, pin.decision, pin.state, pin.seen_at, pin.offered).in_force


def test_a_new_tool_is_off_until_it_is_accepted() -> None:
    """Then it asks."""
    pin = hear([], make_catalog(make_tool("search")))["search"]
    assert (pin.state, in_force(pin)) == (PinState.NEW, ToolDecision.OFF)
    taken = accept(pin, 2.0)
    assert taken is not None
    assert (taken.state, in_force(taken)) == (PinState.SEEN, ToolDecision.ASKS)


def test_a_changed_tool_is_off_and_the_others_go_on() -> None:
    """One that was free asks once its change is accepted; one that comes back as it was is as it was."""
    first = make_catalog(make_tool("search"), make_tool("write"))
    known = [replace(pin, decision=ToolDecision.FREE) for pin in seen(first)]
    other = make_catalog(make_tool("search", "Does other things."), make_tool("write"))
    changes = compare(known, list_said(other), 2.0)
    assert [pin.name for pin in changes.news] == ["search"]
    found = {pin.name: pin for pin in changes.kept}
    assert in_force(found["search"]) is ToolDecision.OFF
    assert in_force(found["write"]) is ToolDecision.FREE
    taken = accept(found["search"], 3.0)
    assert taken is not None
    assert (in_force(taken), json.loads(taken.wire)["description"]) == (ToolDecision.ASKS, "Does other things.")
    back = hear([found["search"]], first)["search"]
    assert (back.state, in_force(back), back.offered) == (PinState.SEEN, ToolDecision.FREE, "")


def test_what_is_gone_is_told_once_and_forgotten_when_accepted() -> None:
    """What nobody had seen is dropped without a word."""
    known = seen(make_catalog(make_tool("search")))
    pin = hear(known, make_catalog())["search"]
    assert (pin.state, pin.is_waiting, in_force(pin)) == (PinState.GONE, True, ToolDecision.OFF)
    assert compare([pin], {}, 2.0).news == ()
    assert accept(pin, 2.0) is None
    fresh = list(hear([], make_catalog(make_tool("other"))).values())
    changes = compare(fresh, {}, 2.0)
    assert (changes.kept, [pin.name for pin in changes.dropped]) == ((), ["other"])


def test_what_runs_is_changed() -> None:
    """Everything seen is to be checked again, and nothing of it may be called before."""
    catalog = make_catalog(make_tool("search"))
    (known,) = seen(catalog)
    unchecked = uncheck(known)
    assert unchecked is not None
    assert (unchecked.state, in_force(unchecked)) == (PinState.UNCHECKED, ToolDecision.OFF)
    assert hear([unchecked], catalog)["search"] == known
    assert uncheck(hear([], catalog)["search"]) is None


def test_instructions_and_prompts_are_pinned_too() -> None:
    """By what they say."""
    known = seen(make_catalog(instructions="Be kind.", prompts=("review",)))
    changes = compare(known, list_said(make_catalog(instructions="Obey.", prompts=("review",))), 2.0)
    assert [(pin.kind, pin.state) for pin in changes.news] == [("instructions", PinState.CHANGED)]


@given(VALUES)
def test_one_notation_for_a_value(value: object) -> None:
    """Which order keys came in doesn't count, and hashing is of the whole."""
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text
    assert len(hash_wire(text)) == 64


@given(VALUES, VALUES)
def test_a_difference_names_every_place(one: object, other: object) -> None:
    """It has parts exactly where the texts differ."""
    before, after = canonical_json(one), canonical_json(other)
    difference = find_difference(before, after)
    assert bool(difference.parts) == (before != after)


def test_a_difference_is_told_in_words() -> None:
    """With hidden characters written out, and from the first that differs on."""
    long = "x" * 300
    before = canonical_json(make_tool("search", long + "fine").wire)
    after = canonical_json(make_tool("search", long + "fine\u200bish", annotations={"readOnlyHint": True}).wire)
    found = {part.where: part for part in find_difference(before, after).parts}
    assert found["annotations"].before is None
    assert found["annotations"].after == '{"readOnlyHint": true}'
    shown = found["description"].after
    assert shown is not None
    assert shown.startswith("…")
    assert shown.endswith("fine\\u200bish")
    assert len(shown) < 100


def test_notation_alone_is_called_that() -> None:
    """Blanks, 1.0 for 1, the order of what is required; nothing else is."""
    pairs: tuple[tuple[dict[str, object], dict[str, object], bool], ...] = (
        ({"d": "a  b\n"}, {"d": "a b"}, True),
        ({"n": 1}, {"n": 1.0}, True),
        ({"required": ["a", "b"]}, {"required": ["b", "a"]}, True),
        ({"d": "a b"}, {"d": "a\u200bb"}, False),
        ({"d": "a"}, {"d": "A"}, False),
        ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, False),
        ({}, {"x": None}, False),
    )
    for one, other, is_notation in pairs:
        assert find_difference(canonical_json(one), canonical_json(other)).is_notation_only is is_notation, (one, other)


def test_claims_and_arguments_of_any_shape() -> None:
    """What is no claim is none; a hidden character in a name is written out."""
    wire = canonical_json(make_tool("t", annotations={"readOnlyHint": False, "destructiveHint": True}).wire)
    assert read_claims(wire) == ("changes things", "may destroy something")
    assert list_arguments(wire) == ("path",)
    for odd in ({"annotations": [1], "inputSchema": 3}, {"annotations": {"readOnlyHint": "yes"}}, "text", 5, None):
        assert (read_claims(canonical_json(odd)), list_arguments(canonical_json(odd))) == ((), ())
    odd_name = {"inputSchema": {"properties": {"a\u202eb": {}}, "required": [["x"]]}}
    assert list_arguments(canonical_json(odd_name)) == ("a\\u202eb?",)
    assert read_description(canonical_json({"description": "a" * 3000}), 10) == "aaaaaaaaaa… [2,990 more characters]"
