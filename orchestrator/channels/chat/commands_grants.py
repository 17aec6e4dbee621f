"""``/grants``: what an agent may do without asking, each with a button that ends it.

A member sees what holds in their own conversations, and takes back what is theirs alone.
"""

from __future__ import annotations

from orchestrator.approvals.grant_rows import Grant, GrantKind, GrantScope
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.callbacks import ButtonHandler, PressResult
from orchestrator.channels.chat.command_context import ChatCommand, CommandCall, CommandContext
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import MessageBody, MessageButton
from orchestrator.channels.chat.system_text import NoteLine, QuotedText, format_clock, format_count, system_note
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Role, User

REVOKE = "grant.revoke"
_MOST = 10
_SUBJECT_CHARS = 200


def grants(call: CommandCall) -> list[MessageBody]:
    """What it may do without asking."""
    return [_list_grants(call.context, call.agent, call.user, ref=call.ref(), person=call.message.sender.id)]


def _list_grants(context: CommandContext, agent: str, user: User, *, ref: str, person: int) -> MessageBody:
    held, called = context.services.grants.of_agent(agent, viewer=user), context.store.called(agent)
    if not held:
        told = f"{called} asks each time. With a question you can approve for longer; what you allow is listed here."
        return MessageBody(system_note("Nothing is allowed in advance", told))
    lines: list[NoteLine] = []
    buttons: list[MessageButton] = []
    for number, grant in enumerate(held[:_MOST], 1):
        lines.append((f"{number}  ", *_describe(grant)))
        lines.append((f"     {_span(context, grant, user)}, by ", QuotedText(grant.by, 80)))
        if user.role is Role.OPERATOR or grant.user == user.id:
            made = context.buttons.make_button(agent, ref, person, REVOKE, grant.id)
            buttons.append(MessageButton(f"✕ Revoke {number}", made))
    if len(held) > _MOST:
        rest = format_count(len(held) - _MOST, "more grant", "more grants")
        lines.append(f"… and {rest}. The dashboard shows them all.")
    rows = tuple(tuple(buttons[n : n + 2]) for n in range(0, len(buttons), 2))
    return MessageBody(system_note(f"What {called} may do without asking", *lines), buttons=rows)


def _describe(grant: Grant) -> tuple[str | QuotedText, ...]:
    shown = QuotedText(grant.subject, _SUBJECT_CHARS)
    before = {GrantKind.HOST: "download from ", GrantKind.SITE: "browse ", GrantKind.MCP: "call "}.get(grant.kind, "")
    return (before, shown) if before else (shown,)


def _span(context: CommandContext, grant: Grant, user: User) -> str:
    if grant.until is None:
        return "always"
    until = format_clock(grant.until, user.time_zone, context.now())
    return f"one conversation, until {until}" if grant.scope is GrantScope.CONVERSATION else f"until {until}"


def _revoke(context: CommandContext) -> ButtonHandler:
    def press(taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        try:
            context.services.grants.revoke_grant(press.agent, taken.subject, by=user)
            toast = f"{context.store.called(press.agent)} asks again."
        except NotFound:  # it ended, or was taken back elsewhere, and the list shows that
            toast = "That had ended already."
        context.buttons.retire_buttons(taken.ref)
        return PressResult(toast, _list_grants(context, press.agent, user, ref=taken.ref, person=press.sender.id))

    return press


COMMANDS = (ChatCommand("grants", "What is allowed without asking", grants, is_private=True),)


def handlers(context: CommandContext) -> dict[str, ButtonHandler]:
    """What the buttons do."""
    return {REVOKE: _revoke(context)}
