"""A command as somebody called it, and what commands work with. Data, and the few words that many of them need."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.channels.chat.access_requests import AccessRequests
from orchestrator.channels.chat.approval_prompts import ApprovalPrompts
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.conversation_choices import ConversationChoices
from orchestrator.channels.chat.events import IncomingMessage
from orchestrator.channels.chat.groups import Groups
from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.replies import reply_ref
from orchestrator.channels.chat.system_text import NoteLine, format_clock, system_note
from orchestrator.channels.chat.temp_files import TempFiles
from orchestrator.channels.chat.time_zone_prompt import TimeZonePrompt
from orchestrator.core.models import CubicleKey, Role, User
from orchestrator.services import Services


@dataclass(frozen=True, slots=True)
class CommandContext:
    """What commands work with."""

    services: Services
    store: ChannelStore
    buttons: Buttons
    asking: ApprovalPrompts
    cards: AccessRequests
    groups: Groups
    temp_files: TempFiles
    zones: TimeZonePrompt
    choices: ConversationChoices
    bot_names: Callable[[], dict[str, str]]
    """What people call the bots, by agent."""
    now: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class CommandCall:
    """One command from one person."""

    context: CommandContext
    message: IncomingMessage
    user: User

    @property
    def key(self) -> CubicleKey:
        """The cubicle that it is about: this agent's, for this person."""
        return CubicleKey(self.message.agent, self.user.id)

    @property
    def spot(self) -> ChatSpot:
        """Where the person writes."""
        return ChatSpot(self.key, self.message.place.chat, self.message.place.thread)

    @property
    def called(self) -> str:
        """What people call it."""
        return self.context.store.called(self.agent)

    @property
    def agent(self) -> str:
        """Whose bot was called."""
        return self.message.agent

    @property
    def is_operator(self) -> bool:
        """The operator calls."""
        return self.user.role is Role.OPERATOR

    def ref(self, n: int = 0) -> str:
        """The ref of the answer's first message, or of its n-th after that."""
        return reply_ref(self.message, n)

    def format_time(self, at: float) -> str:
        """A time in this person's zone."""
        return format_clock(at, self.user.time_zone, self.context.now())

    def make_button(self, kind: str, subject: str) -> str:
        """A button under the answer's first message, for this person."""
        return self.context.buttons.make_button(self.agent, self.ref(), self.message.sender.id, kind, subject)


CommandHandler = Callable[[CommandCall], list[MessageBody]]
"""Does the command; what to answer, in order. Raises OrchestratorError with a sentence for the person."""


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command that there is."""

    name: str
    description: str
    run: CommandHandler
    is_private: bool = False
    """Its answer is nobody's business but the person's: not in groups."""


def note_reply(title: str, *lines: NoteLine) -> list[MessageBody]:
    """An answer of one note."""
    return [MessageBody(system_note(title, *lines))]
