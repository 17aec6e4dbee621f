"""Commands: what a person can tell the install itself, beside talking to the agent. A table by name.

Only a message that a person sent is a command, and only its first word; nothing that an agent writes is ever read here.
No command decides a question about a command of an agent: for that there are buttons.
"""

from __future__ import annotations

from dataclasses import replace

from orchestrator.channels.chat import (
    commands_calendar,
    commands_conversations,
    commands_files,
    commands_grants,
    commands_operator,
    commands_own,
    commands_undo,
)
from orchestrator.channels.chat.callbacks import ButtonHandler
from orchestrator.channels.chat.command_context import ChatCommand, CommandCall, CommandContext, note_reply
from orchestrator.channels.chat.events import IncomingMessage
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.replies import build_replies
from orchestrator.channels.chat.system_text import QuotedText
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import Role, User

KEYBOARD = (("/status", "/stop"), ("/files", "/approvals"), ("/help",))
"""What a tap sends; shown with the first words and with the help, in private."""
_WITH_KEYBOARD = ("start", "help")
_FOR_ALL = (
    *commands_own.COMMANDS,
    *commands_undo.COMMANDS,
    *commands_conversations.COMMANDS,
    *commands_calendar.COMMANDS,
    *commands_files.COMMANDS,
    *commands_grants.COMMANDS,
)
_ORDER = (
    *("start", "help", "status", "stop", "undo", "new", "conversations", "switch", "find", "clear", "reset"),
    *("workspace", "files", "calendar", "memory"),
    *("budget", "timezone", "approvals", "grants", "logs", "apps", "agents", "containers", "users", "groups"),
)


class Commands:
    """Every command of every bot. For threads that may wait."""

    def __init__(self, context: CommandContext) -> None:
        self._context = context
        help_command = ChatCommand("help", "What I can do, and all commands", self._show_help)
        self._for_all = {command.name: command for command in (*_FOR_ALL, help_command)}
        self._for_operators = {command.name: command for command in commands_operator.COMMANDS}

    @property
    def handlers(self) -> dict[str, ButtonHandler]:
        """What the buttons under answers do."""
        return {
            **commands_files.handlers(self._context),
            **commands_own.handlers(self._context),
            **commands_undo.handlers(self._context),
            **commands_conversations.handlers(self._context),
            **commands_calendar.handlers(self._context),
            **commands_grants.handlers(self._context),
        }

    def menu_entries(self, *, is_operator: bool, is_group: bool = False) -> list[tuple[str, str]]:
        """Names and descriptions, for the app's own menu."""
        known = {**self._for_all, **self._for_operators} if is_operator else self._for_all
        offered = {name: command for name, command in known.items() if not (is_group and command.is_private)}
        return [(name, offered[name].description) for name in _ORDER if name in offered]

    def run_command(self, message: IncomingMessage, user: User) -> list[Message]:
        """Do what the message commands; the answer, to be posted in this order. Every command has one."""
        bodies = self._answer_call(CommandCall(self._context, message, user))
        has_keyboard = message.command in _WITH_KEYBOARD and message.place.is_private
        first = [replace(bodies[0], keyboard=KEYBOARD)] if has_keyboard else bodies[:1]
        return build_replies(message, [*first, *bodies[1:]])

    def _answer_call(self, call: CommandCall) -> list[MessageBody]:
        name = call.message.command
        command = self._for_all.get(name)
        if command is None and call.user.role is Role.OPERATOR:
            command = self._for_operators.get(name)
        if command is not None and command.is_private and not call.message.place.is_private:
            return note_reply("Not here", f"/{name} is private. Ask me in our private chat.")
        if command is None:
            return note_reply(
                "Unknown command", (QuotedText(f"/{name}", 40), " is not a command. /help lists them all.")
            )
        try:
            return command.run(call)
        except OrchestratorError as error:
            return note_reply("That didn't work", error.message)

    def _show_help(self, call: CommandCall) -> list[MessageBody]:
        return note_reply(
            f"What you can do with {call.called}",
            "Just write what you want done. You can attach files, or reply to a message to refer to it.",
            f"{call.called} works in a locked container without internet access, and asks before doing anything risky.",
            "",
            *(f"/{name} – {description}" for name, description in self._menu_here(call)),
        )

    def _menu_here(self, call: CommandCall) -> list[tuple[str, str]]:
        return self.menu_entries(is_operator=call.is_operator, is_group=not call.message.place.is_private)
