"""The standing prompt: it names what the agent has and nothing else, and stays short."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from crab.hermit_commands import CommandList
from crab.prompt import build_system_prompt
from orchestrator.capabilities.actions.parse import read_action
from orchestrator.capabilities.table import REGISTRY, TOOLSETS

WORDS = {
    "calendar": {"CALENDAR_CREATE", "CALENDAR_UPDATE", "CALENDAR_DELETE", "CALENDAR_LIST", "INTERNAL"},
    "memory": {"MEMORY_ADD", "MEMORY_DELETE", "hermit memory"},
    "assets": {"ASSET_REQUEST", "hermit fetch"},
    "packages": {"hermit install"},
    "questions": {"hermit ask"},
    "video": {"CLAWMOTION"},
    "search": {"hermit search"},
    "recall": {"hermit recall"},
    "lessons": {"hermit lesson"},
    "browser": {"hermit browser open"},
}
CHOICES = [list(some) for count in (0, 1, 2) for some in combinations(TOOLSETS, count)]
CHOICES += [
    [one for one in TOOLSETS if one not in some] for count in (0, 1, 2) for some in combinations(TOOLSETS, count)
]
"""None, each, each two, and all but those: what two say together stands in a text of its own where it matters."""
MOST_TOKENS = 1_200
CHARS_PER_TOKEN = 3.3
"""Of this text, by the tokenizer of a small model (SmolLM2, 49,152 tokens), which needs more than those of large ones:
it was 3.36 when this was written, and 3.80 with o200k of OpenAI's models. The tests with a real model count exactly."""


def told(toolsets: list[str]) -> str:
    """What the host says of them."""
    return REGISTRY.prompt_text(toolsets)


def prompt(toolsets: list[str], **more: object) -> str:
    """The prompt of an agent with these."""
    return build_system_prompt({"name": "crab", "image": "studio", "capabilities": told(toolsets)} | more)


def test_every_setting_is_known() -> None:
    """What an agent's settings may name, the prompt has lines for."""
    assert set(TOOLSETS) == set(WORDS)


@pytest.mark.parametrize("toolsets", CHOICES, ids=lambda some: "+".join(some) or "none")
def test_it_names_what_the_agent_has(toolsets: list[str]) -> None:
    """And promises nothing else; the same settings give the same bytes, in whichever order they come."""
    text = prompt(toolsets)
    for toolset, words in WORDS.items():
        for word in words:
            assert (word in text) == (toolset in toolsets), word
    assert ('panelActions": NAME' in text) == bool({"calendar", "memory", "assets", "video"} & set(toolsets))
    assert "hermit send" in text
    assert text == prompt(toolsets[::-1])
    assert not re.search(r"^\[", text, re.MULTILINE)


@pytest.mark.parametrize("odd", [None, 5, ["nonsense", 7, None], {}])
def test_odd_capabilities_are_none(odd: object) -> None:
    """Whatever the host sends, there is a prompt."""
    assert prompt([], capabilities=odd) == prompt([], capabilities="")


def test_what_it_says_is_true() -> None:
    """Each form in it is that of the host's own table, each command exists, and the example can be carried out."""
    text = prompt(list(TOOLSETS))
    for name, form in re.findall(r"\b([A-Z]+_[A-Z]+):([a-z_]+(?:\|[a-z_]+)+)", text):
        fields = form.split("|")
        assert [field.name for field in REGISTRY.actions[name].fields][: len(fields)] == fields, name
    for words in re.findall(r"`hermit ((?:[a-z]+ ?){1,2})", text):
        assert CommandList(REGISTRY.commands).find_command(words.split())[0] is not None, words
    (example,) = re.findall(r'"(CALENDAR_CREATE:.*?)"', text)
    assert read_action(example, REGISTRY.actions)


def test_it_is_short() -> None:
    """All of it, in the larger image, with other services' tools and nothing of the agent's own."""
    assert len(prompt([*TOOLSETS, "mcp-github"], role="x", personality="y")) / CHARS_PER_TOKEN < MOST_TOKENS
