"""What becomes of an allowed person's message: a command is run, an edit corrects what still waits, an answer
goes to whoever asked, everything else is a prompt for the agent, with its files and what it is about.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from orchestrator.channels.chat.events import IncomingMessage, turn_origin
from orchestrator.channels.chat.inbound_files import InboundFiles
from orchestrator.channels.chat.inbox import Inbox
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.replies import build_replies
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.system_text import system_note
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey, User
from orchestrator.files.attachments import prompt_with_files, replace_text
from orchestrator.turns.queue import Turns


class InboundMessages:
    """From messages to turns."""

    def __init__(
        self,
        *,
        channel: str,
        turns: Turns,
        inbox: Inbox,
        inbound_files: InboundFiles,
        commands: Callable[[IncomingMessage, User], list[Message]],
        answers: Callable[[IncomingMessage, User], list[Message] | None] = lambda _message, _user: None,
        met: Callable[[IncomingMessage, User], None] = lambda _message, _user: None,
        enter: Callable[[IncomingMessage, User], int | None] = lambda _message, _user: None,
    ) -> None:
        """In threads: ``commands`` runs what begins with a slash, and gives its answer; ``answers`` takes what answers
        a question of the agent, and gives None where a message doesn't; ``met`` hears who wrote; ``enter`` gives the
        conversation that a message goes to, None for the first."""
        self._channel = channel
        self._turns = turns
        self._inbox = inbox
        self._inbound_files = inbound_files
        self._commands = commands
        self._answers = answers
        self._met = met
        self._enter = enter

    async def on_message(self, message: IncomingMessage, user: User) -> list[Message]:
        """Do what it says, or have the agent do it; what there is to reply at once. Again does nothing again."""
        if message.is_edit:
            await asyncio.to_thread(self._correct_message, message)
            return []
        if message.command:
            return await asyncio.to_thread(self._commands, message, user)
        if not (message.text or message.quoted or message.files):
            return build_replies(
                message,
                [
                    MessageBody(
                        system_note("I can read text and files", "I can't read other things, such as polls or games.")
                    )
                ],
            )
        taken = await asyncio.to_thread(self._answers, message, user)
        if taken is not None:
            return taken
        return await self._submit_turn(message, user)

    async def _submit_turn(self, message: IncomingMessage, user: User) -> list[Message]:
        key, origin = CubicleKey(message.agent, user.id), turn_origin(self._channel, message)
        if await asyncio.to_thread(self._turns.get_by_origin, origin) is not None:
            return []  # it was asked before this program was killed
        arrived = await self._inbound_files.fetch_files(key, message.files)
        if prompt_text(message) or arrived.attachments:
            text = prompt_with_files(
                "\n\n".join([*filter(None, [prompt_text(message)]), *map(_missing, arrived.trouble)]),
                arrived.attachments,
            )
            await asyncio.to_thread(self._submit_text, message, user, text)
            await asyncio.to_thread(self._met, message, user)
        return build_replies(message, [MessageBody(RichText(sentence)) for sentence in arrived.trouble])

    def _submit_text(self, message: IncomingMessage, user: User, text: str) -> None:
        """The turn is in the conversation that the person writes to, whatever is deleted meanwhile."""
        key, origin = CubicleKey(message.agent, user.id), turn_origin(self._channel, message)
        submit = partial(self._turns.submit, key, text, source=self._channel, origin=origin, forwarded=message.others)
        try:
            submit(conversation=self._enter(message, user))
        except NotFound:  # it was deleted at this very moment
            submit(conversation=self._enter(message, user))

    def _correct_message(self, edit: IncomingMessage) -> None:
        """What the agent has not begun to read, it reads as it is now."""
        origin = self._inbox.origin_of(edit)
        turn = None if origin is None else self._turns.get_by_origin(origin)
        text = prompt_text(edit)
        if origin is None or turn is None or not (text or edit.files):
            return
        self._turns.change_prompt(origin, replace_text(text, turn.prompt) if edit.files else text)


def prompt_text(message: IncomingMessage) -> str:
    """The words of a message for the agent: what it is about, then what it says."""
    return "\n\n".join(filter(None, (message.quoted, message.text)))


def _missing(trouble: str) -> str:
    return f"[A file of this message is not here: {trouble}]"
