"""The reception: what those work with who ask the operator about people and groups, and who may decide there."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.agents.access import Access
from orchestrator.agents.users import Users
from orchestrator.channels.chat import contact_rows as rows
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.core.db import audit_rows
from orchestrator.core.errors import Forbidden
from orchestrator.core.models import CubicleKey, Role, User

MOST_CARDS = 10
"""Cards about strangers, or about groups, that the operator gets of a bot in a day."""


@dataclass(frozen=True, slots=True)
class AccessContext:
    """What cards are made from."""

    store: ChannelStore
    outbox: Outbox
    buttons: Buttons
    users: Users
    access: Access
    now: Callable[[], float] = time.time
    tell: Callable[[], None] = lambda: None
    """Called when it changed who waits to be let in, or who was."""

    def operator_chat(self, agent: str) -> int | None:
        """The operator's private chat with this agent's bot, where it can write."""
        operator = self.users.get_operator().id_in(self.store.channel)
        if operator is None:
            return None
        with self.store.reading() as db:
            return operator if rows.is_open(db, agent, operator) else None

    def find_member(self, agent: str, number: int) -> User | None:
        """Who has this number in the channel, and may use this agent."""
        found = self.users.of_identity(self.store.channel, number)
        return found if found is not None and self.access.is_open(CubicleKey(agent, found.id)) else None

    def write_audit(self, what: str, text: str, *, agent: str, user: int | None = None) -> None:
        """The audit log says it, in the transaction that is open."""
        with self.store.writing() as db:
            audit_rows.insert_record(
                db.sql, f"{self.store.channel}.{what}", text, now=self.now(), agent=agent, user=user
            )


def check_operator(user: User) -> None:
    """Raises Forbidden for everybody else."""
    if user.role is not Role.OPERATOR:
        raise Forbidden("Only the operator may decide this.")


def parts_of(subject: str) -> tuple[str, int]:
    """The agent and the number of a button's subject, ``crab:12345``."""
    agent, _, number = subject.partition(":")
    return agent, int(number)
