"""A command as somebody called it, and what commands work with. Data, and the few words that many of them need."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.channels.telegram.asking import Asking
from orchestrator.channels.telegram.buttons import Buttons
from orchestrator.channels.telegram.cards import Cards
from orchestrator.channels.telegram.groups import Groups
from orchestrator.channels.telegram.incoming import Message
from orchestrator.channels.telegram.letters import Body
from orchestrator.channels.telegram.notes import Line, clock, note
from orchestrator.channels.telegram.papers import Papers
from orchestrator.channels.telegram.replies import reply_ref
from orchestrator.channels.telegram.zones import Zones
from orchestrator.nouns import CubicleKey, Role, User
from orchestrator.services import Services
from orchestrator.store.database import Store


@dataclass(frozen=True, slots=True)
class Desk:
    """What commands work with."""

    services: Services
    store: Store
    buttons: Buttons
    asking: Asking
    cards: Cards
    groups: Groups
    papers: Papers
    zones: Zones
    now: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class Call:
    """One command from one person."""

    desk: Desk
    message: Message
    user: User

    @property
    def key(self) -> CubicleKey:
        """The cubicle that it is about: this agent's, for this person."""
        return CubicleKey(self.message.agent, self.user.id)

    @property
    def agent(self) -> str:
        """Whose bot was called."""
        return self.message.agent

    @property
    def is_operator(self) -> bool:
        """The operator calls."""
        return self.user.role is Role.OPERATOR

    def ref(self, n: int = 0) -> str:
        """The ref of the answer's first letter, or of its n-th after that."""
        return reply_ref(self.message, n)

    def clock(self, at: float) -> str:
        """A time in this person's zone."""
        return clock(at, self.user.time_zone, self.desk.now())

    def button(self, kind: str, subject: str) -> str:
        """A button under the answer's first letter, for this person."""
        return self.desk.buttons.make(self.agent, self.ref(), self.message.sender.id, kind, subject)


Handler = Callable[[Call], list[Body]]
"""Does the command; what to answer, in order. Raises OrchestratorError with a sentence for the person."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command that there is."""

    name: str
    description: str
    run: Handler
    is_private: bool = False
    """Its answer is nobody's business but the person's: not in groups."""


def says(title: str, *lines: Line) -> list[Body]:
    """An answer of one note."""
    return [Body(note(title, *lines))]
