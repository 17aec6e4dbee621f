"""What a chat app brings to the core, as protocols and data: how it is called, what it takes, one bot's connection, and
the bots that there are. The core works with these alone and knows no app.

Ids are whole numbers. A private chat has the number of its person, which is above zero; groups are below. An app whose
ids are words keeps a table of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import IO, Protocol

from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.rich_text import RichText


@dataclass(frozen=True, slots=True)
class ChannelTraits:
    """A chat app: its names, and what it takes from bots."""

    name: str
    """As rows, the audit log and ``Turn.source`` have it, such as ``telegram``."""
    label: str
    """As people read it, such as ``Telegram``."""
    upload_bytes: int
    """The largest files of one message."""
    upload_limit: str
    """The same for people, such as ``50 MB``."""
    download_bytes: int
    """The largest file that can be fetched."""
    download_limit: str
    message_units: int = 4096
    """The longest message, in UTF-16 units."""
    album_most: int = 10
    """Pictures in one message."""
    can_edit: bool = True
    """A message that was sent can be changed; else what it became is only told in new ones."""
    has_buttons: bool = True
    has_drafts: bool = True
    """An answer can be shown in a private chat before it is sent."""
    deletable_s: float = float("inf")
    """How long after it was sent a bot may delete its message."""
    shared_numbers_above: int = 0
    """Chats with a number above this share one sequence of message numbers for each bot."""


class ChannelAdapter(Protocol):
    """One bot's connection to its app, within the channel's event loop. Every call may raise a ``SendError``."""

    @property
    def answer_count(self) -> int:
        """How many calls the app has answered."""

    async def wait_answered(self, since: int) -> None:
        """Returns when the app has answered a call since :attr:`answer_count` was so many: it is there."""

    async def send_message(self, chat: int, body: MessageBody) -> list[int]:
        """The numbers of the messages that it became: one, or those of an album."""

    async def find_sent(self, chat: int, body: MessageBody, *, after: int, known: Collection[int] = ()) -> int | None:
        """The message that ``body`` became when its sending had no clear end: one with a number above ``after`` that
        is not among the known ones. None when there is none."""

    async def edit_message(self, chat: int, message: int, body: MessageBody) -> None:
        """The message says this now; that it said so already is fine."""

    async def delete_message(self, chat: int, message: int) -> None:
        """The message is gone; already gone is fine."""

    async def send_typing(self, chat: int, thread: int | None) -> None:
        """The bot is seen typing for a moment."""

    async def send_draft(self, chat: int, draft_id: int, rich: RichText, thread: int | None = None) -> None:
        """In a private chat, an answer shows as far as it has come."""

    async def answer_press(self, query: str, text: str = "", *, alert: bool = False) -> None:
        """Whoever pressed a button sees these words; too late is no error."""

    async def download_file(self, file_id: str, sink: IO[bytes], max_bytes: int) -> int:
        """Streams a file that a person sent into ``sink``; its size in bytes."""


class ChannelAccounts(Protocol):
    """A channel's bots: one for an agent at most."""

    def adapter_of(self, agent: str) -> ChannelAdapter | None:
        """The connection of the agent's bot; None while it has none. Called in the loop."""

    def render_markdown(self, markdown: str) -> RichText:
        """An agent's Markdown as the app can show it. Called from any thread, like the next three."""

    def is_linked(self, agent: str) -> bool:
        """The bot has proved whose it is, so people may talk to it."""

    def take_code(self, agent: str, person: int, six_digits: str) -> bool:
        """These digits, from this person, prove it now."""

    def bot_names(self) -> dict[str, str]:
        """What people call the bots, by agent: ``@ada_bot``."""

    def how_to_link(self, agent: str) -> str:
        """A sentence for whoever writes to a bot that is not linked."""

    def note_trouble(self, agent: str, error: Exception) -> None:
        """A bot can't be reached, or is revoked. Called in the loop."""

    async def sync_bots(self) -> list[str]:
        """The bots that there should be run, the others don't; whose were opened now. Called at the start, after news
        of bots, and now and then."""

    async def update_bots(self) -> None:
        """Each bot does what else its row asks for, which may take a while. Called after :meth:`sync_bots`."""

    async def close(self) -> None:
        """No bot runs any more."""

    @property
    def running_agents(self) -> Collection[str]:
        """Whose bots run."""
