"""The past of workspaces, as far as it is deleted."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.core.models import CubicleKey


@dataclass
class KeptHistories:
    """Remembers whose past was deleted."""

    deleted: list[CubicleKey | str] = field(default_factory=list)

    def delete_cubicle(self, key: CubicleKey) -> None:
        """One cubicle's."""
        self.deleted.append(key)

    def delete_agent(self, agent: str) -> None:
        """All of an agent's."""
        self.deleted.append(agent)
