"""``/undo``: the last message of the conversation is taken back, after a look at what that would change; the same under
an answer whose turn changed files."""

from __future__ import annotations

from orchestrator.channels.chat import undo_text
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.callbacks import ButtonHandler, PressResult
from orchestrator.channels.chat.command_context import ChatCommand, CommandCall, CommandContext, note_reply
from orchestrator.channels.chat.conversation_choices import BACK_IN_FIRST, GONE
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import MessageBody, MessageButton
from orchestrator.channels.chat.replies import reply_ref
from orchestrator.core.errors import Conflict, NotFound
from orchestrator.core.models import Turn, User
from orchestrator.operations.undo import UndoPlan

OFFER = "undo offer"
"""Under an answer: asks whether it is meant. May be pressed again."""
UNDO, KEEP = "undo", "undo keep"


def undo(call: CommandCall) -> list[MessageBody]:
    """What taking back the last message would change, with a button to do it. Raises what ``Undo.preview`` does."""
    current = call.context.choices.get_current(call.spot)
    if current.is_lost:
        return note_reply(GONE, "Nothing was undone.", *([] if call.spot.thread else [BACK_IN_FIRST]))
    if current.conversation is None:
        return note_reply("Nothing to undo", "Your next message begins a conversation.")
    service = call.context.services.undo
    plan = service.preview(service.find_last(call.key, current.conversation.id).id)
    return [_build_preview(call.context, plan, call.ref(), call.message.sender.id)]


COMMANDS = (ChatCommand("undo", "Take back what your last message did", undo, is_private=True),)


def handlers(context: CommandContext) -> dict[str, ButtonHandler]:
    """What the buttons do: one shows what would change, one does it, one does not."""
    service = context.services.undo

    def offer(taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        plan = service.preview(_find_own(context, taken, user).id)
        if plan.undone_at is not None:
            raise Conflict(undo_text.UNDONE)
        return PressResult("", also=_build_preview(context, plan, reply_ref(press), press.sender.id))

    def do_it(taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        turn = _find_own(context, taken, user)
        try:
            done = service.undo(turn.id, by=user.name)
        except Conflict:
            span = service.get_span(turn.id)
            if span is None or span.undone_at is None:  # it works just now: later it may be undone all the same
                context.buttons.give_back(taken)
                raise
            context.buttons.retire_buttons(taken.ref)
            return PressResult(undo_text.UNDONE, MessageBody(undo_text.undone_note(turn)))
        context.buttons.retire_buttons(taken.ref)
        return PressResult("Undone.", MessageBody(undo_text.done_note(turn, done)))

    def keep(taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        turn = _find_own(context, taken, user)
        context.buttons.retire_buttons(taken.ref)
        return PressResult("Nothing was undone.", MessageBody(undo_text.kept_note(turn)))

    return {OFFER: offer, UNDO: do_it, KEEP: keep}


def _find_own(context: CommandContext, taken: TakenButton, user: User) -> Turn:
    """The turn that a button is about, for the person whose it is. Raises NotFound."""
    turn = context.services.turns.get(int(taken.subject))
    if turn.cubicle.user != user.id:
        raise NotFound("This is someone else's message.")
    return turn


def _build_preview(context: CommandContext, plan: UndoPlan, ref: str, person: int) -> MessageBody:
    """The message ``ref`` that says what would change, and asks."""
    if plan.undone_at is not None:
        raise Conflict(undo_text.UNDONE)
    agent, subject = plan.turn.cubicle.agent, str(plan.turn.id)
    made = [
        MessageButton(label, context.buttons.make_button(agent, ref, person, kind, subject))
        for label, kind in (("Undo", UNDO), ("Keep", KEEP))
    ]
    return MessageBody(undo_text.preview_note(plan), buttons=(tuple(made),))
