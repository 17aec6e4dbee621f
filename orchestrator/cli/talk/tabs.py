"""The agents that somebody talks to, one tab each: where the conversation stands, what was not printed yet, and what
was being typed. Knows neither network nor screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from orchestrator.cli.talk.cards import Card
from orchestrator.cli.talk.dropped import LocalFile
from orchestrator.cli.talk.pieces import Piece
from orchestrator.cli.talk.story import Story

Mark = Literal["", "asks", "works", "new"]
"""What a tab's mark says, the most urgent first."""
_MOST_UNPRINTED = 400
"""Pieces of a tab that nobody looks at."""


class Tab:
    """A conversation with one agent."""

    def __init__(self, agent: str, conversation: int | None) -> None:
        self.agent = agent
        self.conversation = conversation
        self.name = ""
        self.facts: Mapping[str, Any] = {}
        """The agent's settings, as the API has them."""
        self.spent: dict[int, tuple[int, float]] = {}
        """Tokens and dollars of each turn that is known here."""
        self.has_more = False
        """There are earlier turns, which are not among them."""
        self.files: list[LocalFile] = []
        self.editing: int | None = None
        """The turn whose message is being sent again with other words."""
        self.last_turn: Mapping[str, Any] | None = None
        """The newest that ended, for ``/undo``, ``/retry`` and ``/edit``."""
        self.stories: dict[int, Story] = {}
        self.cards: list[Card] = []
        self.unprinted: list[Piece] = []
        self.has_news = False
        self.sending = 0
        """Messages on their way. Until the API has named their turns, nobody knows whose a new turn is."""
        self.unclaimed: list[Mapping[str, Any]] = []
        """Turns that began meanwhile."""
        self.listed: dict[str, list[tuple[str, str]]] = {}
        """What completes the words after a command: of conversations and files."""
        self.code = 0
        """How the last turn ended, as an exit code."""

    @property
    def called(self) -> str:
        """What people call the agent."""
        return str(self.facts.get("display_name") or self.agent)

    @property
    def open_stories(self) -> list[Story]:
        """Turns under way, in their order."""
        return [self.stories[turn] for turn in sorted(self.stories) if not self.stories[turn].is_over]

    @property
    def mark(self) -> Mark:
        """What goes on in it."""
        if self.cards:
            return "asks"
        if self.open_stories:
            return "works"
        return "new" if self.has_news else ""

    @property
    def tokens(self) -> int:
        """Of what is known of this conversation."""
        return sum(tokens for tokens, _ in self.spent.values())

    @property
    def cost_usd(self) -> float:
        """Of what is known of this conversation."""
        return sum(cost for _, cost in self.spent.values())

    def add(self, *told: Piece) -> None:
        """What is printed when it is looked at."""
        self.unprinted += told
        del self.unprinted[:-_MOST_UNPRINTED]

    def go_to(self, conversation: int | None, name: str = "") -> None:
        """Another conversation with the same agent. What goes on in the old one goes on there."""
        self.conversation, self.name, self.editing, self.last_turn = conversation, name, None, None
        self.stories, self.cards, self.spent, self.has_more = {}, [], {}, False


class Tabs:
    """All of them, and the one that is looked at."""

    def __init__(self, first: Tab) -> None:
        self.all = [first]
        self.current = first

    def find(self, agent: str) -> Tab | None:
        """The tab of an agent."""
        return next((tab for tab in self.all if tab.agent == agent), None)

    def find_turn(self, turn: int) -> tuple[Tab, Story] | None:
        """Where a turn is told."""
        return next(((tab, tab.stories[turn]) for tab in self.all if turn in tab.stories), None)

    def add(self, tab: Tab) -> None:
        """A new one, behind the others."""
        self.all.append(tab)

    def neighbour(self, step: int) -> Tab:
        """The next one, or the one before, around the end."""
        return self.all[(self.all.index(self.current) + step) % len(self.all)]

    def remove(self, tab: Tab) -> None:
        """Without it; the last one stays."""
        if len(self.all) > 1:
            if tab is self.current:
                self.current = self.neighbour(-1)
            self.all.remove(tab)
