"""Seams: what the parts of the channel need of the mail and of the turns, so that none has to know those. No deeds."""

from __future__ import annotations

from typing import Protocol

from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.nouns import Turn


class Post(Protocol):
    """Where letters are posted."""

    def post(self, letter: Message) -> bool:
        """The letter goes out; False when its ref was posted before. Joins the transaction that is open."""


class Corrects(Post, Protocol):
    """Where letters are posted and changed."""

    def amend(self, ref: str, body: MessageBody) -> object:
        """The letter of this ref says something else from now on."""

    def ref_of(self, agent: str, chat: int, message: int) -> str | None:
        """The letter that became this message."""

    def body_of(self, ref: str) -> MessageBody | None:
        """What the letter says, or soon will; None when there is none."""


class Withdraws(Post, Protocol):
    """Where letters are posted, and taken back."""

    def withdraw(self, ref: str) -> object:
        """A letter that was not sent yet is not sent any more."""


class Asked(Protocol):
    """Where turns are."""

    def get(self, turn: int) -> Turn:
        """The turn with this id; raises NotFound."""
