"""The registry: what there is to look up in a list of capabilities."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from crab.hermit_commands import Command
from orchestrator.capabilities.approval_kind import COMMAND_KIND, ApprovalKind
from orchestrator.capabilities.capability import Action, Capability, Deeds, Toolset

T = TypeVar("T")
_PANEL = 'As "panelActions": NAME:field|field; results come back.'


class Registry:
    """All capabilities of a list, in its order."""

    def __init__(self, capabilities: Iterable[Capability]) -> None:
        """Two actions, toolsets or kinds of approval of one name are a mistake of ours: ValueError."""
        self._capabilities = tuple(capabilities)
        self.actions: Mapping[str, Action] = MappingProxyType(
            _by_name((action.name, action) for one in self._capabilities for action in one.actions)
        )
        self.toolsets: Mapping[str, Toolset] = MappingProxyType(
            _by_name((one.toolset.name, one.toolset) for one in self._capabilities if one.toolset)
        )
        self.approvals: Mapping[str, ApprovalKind] = MappingProxyType(
            _by_name(
                (kind.name, kind)
                for kind in (
                    COMMAND_KIND,
                    *(k for one in self._capabilities for k in (one.approval, one.first_approval, *one.more_approvals)),
                )
                if kind
            )
        )
        self._prefix_of = {a.name: one.toolset_prefix for one in self._capabilities for a in one.actions}
        self._toolset_of = {a.name: one.toolset.name for one in self._capabilities if one.toolset for a in one.actions}

    @property
    def commands(self) -> tuple[Command, ...]:
        """Every command of ``hermit``."""
        return tuple(command for action in self.actions.values() for command in action.commands)

    def approval_kind(self, name: str) -> ApprovalKind:
        """How approvals of this kind are spoken of; one that nobody knows is a command."""
        return self.approvals.get(name, COMMAND_KIND)

    def toolset_of(self, action: str) -> str:
        """The toolset that an agent needs for an action; empty for what every agent has."""
        return self._toolset_of.get(action, "")

    def is_allowed(self, action: str, toolsets: Collection[str]) -> bool:
        """An agent with these toolsets has it."""
        return self.toolset_of(action) in ("", *toolsets) and _has_prefix(self._prefix_of.get(action, ""), toolsets)

    def collect_deeds(self, *brought: Deeds) -> Deeds:
        """The deed of every action, from what nouns bring. One that is missing, or too many, is a mistake of ours:
        ValueError."""
        own = ((action.name, action.run) for action in self.actions.values() if action.run is not None)
        deeds = _by_name([*own, *(deed for some in brought for deed in some.items())])
        if deeds.keys() != self.actions.keys():
            raise ValueError(
                f"actions without a deed, or deeds without an action: {deeds.keys() ^ self.actions.keys()}"
            )
        return MappingProxyType(deeds)

    def prompt_text(self, toolsets: Collection[str]) -> str:
        """What an agent with these toolsets is told of what it may set in motion."""
        held = [one for one in self._capabilities if not one.toolset or one.toolset.name in toolsets]
        told = [one.prompt for one in held if _has_prefix(one.toolset_prefix, toolsets)]
        bare, actions = [one.bare for one in told if one.bare], [f"- {one.action}" for one in told if one.action]
        parts = [f"- {', '.join(bare)}."] if bare else []
        parts += [f"- {one.command}" for one in sorted(told, key=lambda one: one.rank) if one.command]
        parts += ["", _PANEL, *actions] if actions else []
        parts += [part for one in told if one.rule for part in ("", one.rule)]
        parts += [part for one in told if one.example for part in ("", one.example)]
        return "\n".join(parts)


def _has_prefix(prefix: str, toolsets: Collection[str]) -> bool:
    return not prefix or any(name.startswith(prefix) for name in toolsets)


def _by_name(named: Iterable[tuple[str, T]]) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, one in named:
        if name in found:
            raise ValueError(f"two of the name {name}")
        found[name] = one
    return found
