"""``orchestrator.capabilities.registry``: what is looked up in the list of capabilities, and mistakes in the list."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crab.hermit_commands import Command
from orchestrator.capabilities.approval_kind import COMMAND_KIND
from orchestrator.capabilities.capability import Action, Capability, Outcome, Policy, Prompt, Run, Toolset
from orchestrator.capabilities.registry import Registry
from orchestrator.capabilities.table import CAPABILITIES, REGISTRY

NO_FIELDS = {"type": "object"}
RUN: Run = lambda *_: Outcome("Done.")  # noqa: E731 - one line is all that it is


def capability(
    name: str, toolset: Toolset | None = None, prompt: Prompt | None = None, run: Run | None = None
) -> Capability:
    """A small one with one action of that name."""
    action = Action(name.upper(), NO_FIELDS, Policy.FREE, cost=1, run=run, commands=(Command(name, "Does it."),))
    return Capability(name, (action,), toolset=toolset, prompt=prompt or Prompt())


def test_the_list_is_in_order() -> None:
    """Folders are called as they say, and every command is one of its action."""
    for one in CAPABILITIES:
        assert one.actions
        assert all(command.call == action.name for action in one.actions for command in action.commands)
    assert tuple(REGISTRY.toolsets)[:6] == ("calendar", "memory", "assets", "packages", "questions", "video")
    assert tuple(REGISTRY.approvals)[:3] == ("command", "asset", "packages")
    assert REGISTRY.approval_kind("nonsense") is COMMAND_KIND


def test_two_of_a_name_are_a_mistake() -> None:
    """Of actions, toolsets, kinds of approval and deeds."""
    one, twin = capability("a", Toolset("t", "T", "")), capability("b", Toolset("t", "T", ""))
    for wrong in ((one, one), (one, twin), (replace(one, approval=COMMAND_KIND),)):
        with pytest.raises(ValueError, match="two of the name"):
            Registry(wrong)
    with pytest.raises(ValueError, match="two of the name A"):
        Registry((capability("a", run=RUN),)).collect_deeds({"A": RUN})


def test_every_action_needs_its_deed() -> None:
    """Its own, or one that is brought; not one too many."""
    registry = Registry((capability("a", run=RUN), capability("b")))
    assert set(registry.collect_deeds({"B": RUN})) == {"A", "B"}
    for brought in ({}, {"B": RUN, "C": RUN}):
        with pytest.raises(ValueError, match="without a deed"):
            registry.collect_deeds(brought)


def test_who_has_what() -> None:
    """By toolsets; what has none is everybody's."""
    registry = Registry((capability("a", Toolset("t", "T", "")), capability("b")))
    assert [registry.is_allowed(name, ("t",)) for name in ("A", "B")] == [True, True]
    assert [registry.is_allowed(name, ()) for name in ("A", "B")] == [False, True]
    assert (registry.toolset_of("A"), registry.toolset_of("B")) == ("t", "")


def test_the_prompt_is_put_together() -> None:
    """Commands by their rank, then actions, rules and examples in the order of the list; of toolsets that are there."""
    registry = Registry(
        (
            capability("a", Toolset("t", "T", ""), Prompt(command="`hermit a`", action="A:", rule="Mind.", rank=1)),
            capability("b", None, Prompt(bare="`hermit b`", example="Like so.")),
            capability("c", None, Prompt(bare="`hermit c`", command="`hermit c` twice")),
        )
    )
    assert registry.prompt_text(()) == "- `hermit b`, `hermit c`.\n- `hermit c` twice\n\nLike so."
    everything = registry.prompt_text(("t",))
    assert everything.index("`hermit c` twice") < everything.index("`hermit a`") < everything.index("- A:")
    assert everything.index("- A:") < everything.index("Mind.") < everything.index("Like so.")
    assert Registry(()).prompt_text(("t",)) == ""
