"""Commands about a person's own agent: how it is, stop, forget, begin again, money, open questions."""

from __future__ import annotations

from orchestrator.capabilities.ask.questions import PENDING
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.callbacks import ButtonHandler, PressResult
from orchestrator.channels.chat.command_context import ChatCommand, CommandCall, CommandContext, note_reply
from orchestrator.channels.chat.conversation_choices import BACK_IN_FIRST, GONE
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.system_text import NoteLine, QuotedText, format_ago, format_count, format_size
from orchestrator.core.errors import Forbidden, NotFound, OrchestratorError
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey, Role, Turn, TurnStatus, User
from orchestrator.llm.dollars import format_dollars
from orchestrator.turns import rows as turn_rows

STOP = "stop"
_MOST_QUESTIONS = 5
_MOST_FOUND = 5


def start(call: CommandCall) -> list[MessageBody]:
    """The first words."""
    agent = call.context.services.agents.get(call.agent)
    return note_reply(
        f"Hello {call.user.name}, I'm {call.called}",
        ("My role: ", QuotedText(agent.role, 200), "."),
        "Write what you want done, or send me a file. I work in a locked container without internet access, "
        "and ask before doing anything risky.",
        "/help lists everything I can do.",
    )


def status(call: CommandCall) -> list[MessageBody]:
    """What goes on, in a few lines."""
    services, key = call.context.services, call.key
    running, waiting = _open_turns(call.context, key)
    asked = len(_questions(call.context, call.user, only_own=True))
    lines: list[NoteLine] = [_doing(call, running[0] if running else None)]
    lines += [_conversation(call)] if call.message.place.is_private else []
    if waiting:
        lines.append(f"Waiting after that: {format_count(len(waiting), 'message')}.")
    if asked:
        lines.append(f"{format_count(asked, 'question')} for you: /approvals")
    lines += [_container(call), _disk(call), _spent(call)]
    model = services.agents.get(call.agent).model or str(services.models()["default"])
    return note_reply(f"Status of {call.called}", *lines, ("Model: ", QuotedText(model), "."))


def _conversation(call: CommandCall) -> NoteLine:
    here = call.context.choices.get_current(call.spot).conversation
    if here is None:
        return "Your next message begins a conversation."
    return ("Conversation: ", QuotedText(here.shown_name, 60), ".")


def _doing(call: CommandCall, turn: Turn | None) -> NoteLine:
    if turn is None:
        return "Idle."
    since = format_ago(turn.started_at or turn.created_at, call.context.now())
    steps = len(call.context.services.turns.list_steps(turn.id))
    what = "Waiting for your decision" if turn.status is TurnStatus.WAITING else "Working on it"
    return (
        f"{what}: ",
        QuotedText(turn.prompt, 60),
        f" (started {since}, {format_count(steps, 'step')} so far). /stop ends it.",
    )


def _container(call: CommandCall) -> str:
    try:
        state = call.context.services.cubicles.get_state(call.key)
    except OrchestratorError as error:
        return f"Container: {error.message}"
    if not state.running:
        return "Container: asleep. It starts with your next message."
    uses = f", uses {format_size(state.usage.memory_bytes)} of memory" if state.usage else ""
    return f"Container: running, started {format_ago(state.started_at or 0.0, call.context.now())}{uses}."


def _disk(call: CommandCall) -> str:
    try:
        use = call.context.services.quota.use_of(call.key)
    except OrchestratorError as error:
        return f"Workspace: {error.message}"
    return f"Workspace: {format_size(use.used_bytes)} of {format_size(use.limit_bytes)}."


def _spent(call: CommandCall) -> str:
    agent = call.context.services.agents.get(call.agent)
    day = call.context.services.budget.get_today(call.agent)
    return f"Today: {format_dollars(day.spent_micro)} of {format_dollars(agent.daily_budget_micro)}."


def stop(call: CommandCall) -> list[MessageBody]:
    """What runs ends, and what waited before this message is dropped."""
    stopped = _stop_all(call.context, call.key)
    if not stopped:
        return note_reply("Nothing to stop", f"{call.called} has nothing to do for you right now.")
    lines: list[NoteLine] = [("– ", QuotedText(turn.prompt, 80)) for turn in stopped[:5]]
    if len(stopped) > 5:
        lines.append(f"… and {format_count(len(stopped) - 5, 'more message', 'more messages')}.")
    return note_reply("Stopped", *lines, "Files stay as they are. Write again whenever you like.")


def clear(call: CommandCall) -> list[MessageBody]:
    """The conversation that the person writes to is forgotten; never another because that one is gone."""
    current = call.context.choices.get_current(call.spot)
    if current.is_lost:
        call.context.choices.forget_choice(call.spot)
        return note_reply(GONE, "Nothing else was forgotten.", *([] if call.spot.thread else [BACK_IN_FIRST]))
    if current.conversation is None:
        return note_reply("Nothing to forget", "Your next message begins a conversation.")
    forgotten = call.context.services.turns.clear_history(call.key, current.conversation.id)
    if not forgotten:
        return note_reply("Nothing to forget", "There is no message in this conversation yet.")
    lines = [
        f"{call.called} no longer remembers {format_count(forgotten, 'message')} of this conversation. Files stay."
    ]
    if any(_open_turns(call.context, call.key)):
        lines.append("What is running now continues. /stop ends it.")
    return note_reply("Forgotten", *lines)


def find(call: CommandCall) -> list[MessageBody]:
    """The turns that fit the words best, of the conversation that the person writes to."""
    words = call.message.argument.strip()
    if not words:
        return note_reply("What should I look for?", "Write some words after it, as in: /find the name of the boat")
    history, here = call.context.services.history, call.context.choices.get_current(call.spot).conversation
    found = []
    if here is not None:
        found = history.find_passages(call.key, words, conversation=here.id, limit=_MOST_FOUND + 1)
    if not found:
        return note_reply(
            "Nothing found in this conversation",
            "No message or answer has any of these words.",
            "The dashboard searches all of your conversations.",
        )
    lines: list[NoteLine] = []
    for passages in found[:_MOST_FOUND]:
        said, replied = (
            " ".join("".join(text for text, _ in part).split()) for part in (passages.prompt, passages.reply)
        )
        lines += ["", call.format_time(passages.turn.created_at), ("– You: ", QuotedText(said, 200))]
        lines += [(f"– {call.called}: ", QuotedText(replied, 250))] if replied else []
    if len(found) > _MOST_FOUND:
        lines += ["", "These fit best. Other words may find others; the dashboard shows more of them."]
    return note_reply("Found in our conversation", *lines)


def reset(call: CommandCall) -> list[MessageBody]:
    """A new container over the same files."""
    running, _ = _open_turns(call.context, call.key)
    for turn in running:
        call.context.services.turns.stop(turn.id)
    call.context.services.cubicles.reset(call.key)
    what = "What was running in the old one has ended." if not running else "What was running has been stopped."
    return note_reply("Reset: a new container", f"{what} Your files and the conversation are still there.")


def budget(call: CommandCall) -> list[MessageBody]:
    """What was spent today, what is left, and when it begins again."""
    day = call.context.services.budget.get_standing(call.agent)
    lines = [
        f"Spent today: {format_dollars(day.spent_micro)} of {format_dollars(day.budget_micro)}.",
        f"Left: {format_dollars(day.left_micro)}.",
    ]
    if day.held_micro:
        lines.append(f"Reserved for running calls: {format_dollars(day.held_micro)}.")
    if day.tokens:
        used = f"{day.tokens:,} of {day.token_budget:,} tokens"
        lines.append(f"Models with an unknown price: {used}.")
    if day.is_stopped:
        lines.append(f"{call.called} has stopped for today. Commands still work.")
    begins = f"It resets at {call.format_time(day.resets_at)} (midnight UTC)."
    return note_reply(f"{call.called}'s budget", *lines, begins)


def approvals(call: CommandCall) -> list[MessageBody]:
    """Every open question, each with its buttons."""
    only_own = not call.message.place.is_private
    questions = _questions(call.context, call.user, only_own=only_own)
    asked = _asked(call)
    if not questions and asked:
        return note_reply(f"{format_count(len(asked), 'question')} for you", *asked)
    if not questions:
        return note_reply("Nothing is waiting for you", "When a command needs your approval, I ask here.")
    questions.sort(key=lambda approval: (approval.cubicle.agent != call.agent, approval.asked_at))
    shown, rest = questions[:_MOST_QUESTIONS], len(questions) - _MOST_QUESTIONS
    more = [f"These are the first {_MOST_QUESTIONS}. Send this again once they are decided."] if rest > 0 else []
    bodies = note_reply(f"{format_count(len(questions) + len(asked), 'question')} for you", *asked, *more)
    for n, approval in enumerate(shown, 1):
        person = call.message.sender.id
        bodies.append(call.context.asking.prompt_body(approval, call.agent, call.ref(n), person, call.user))
    return bodies


def _asked(call: CommandCall) -> list[NoteLine]:
    """What agents want to know of this person; it is answered where it was asked."""
    pending = call.context.services.questions.list_questions(status=PENDING, user=call.user.id)
    own = [question for question in reversed(pending) if question.cubicle == call.key]
    return [
        (f"{call.called} asks: ", QuotedText(question.text, 120), " Answer it above, where it asked.")
        for question in own
    ]


COMMANDS = (
    ChatCommand("start", "Start", start),
    ChatCommand("status", "What is happening now", status),
    ChatCommand("stop", "Stop the current work", stop),
    ChatCommand("clear", "Forget this conversation", clear),
    ChatCommand("find", "Search this conversation: /find words", find, is_private=True),
    ChatCommand("reset", "Reset: a new container; files stay", reset),
    ChatCommand("budget", "Spent today and what is left", budget),
    ChatCommand("approvals", "What is waiting for your decision", approvals),
)


def handlers(context: CommandContext) -> dict[str, ButtonHandler]:
    """What the buttons do: one ends a turn."""

    def stop_turn(taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        if not taken.subject.isdecimal():
            raise NotFound("There is nothing left to stop.")
        turn = context.services.turns.get(int(taken.subject))
        if turn.cubicle.user != user.id and user.role is not Role.OPERATOR:
            raise Forbidden("Only the person who asked can stop this.")
        if turn.status.is_final:
            return PressResult("It has already ended.")
        context.services.turns.stop(turn.id)
        return PressResult("Stopping.")

    return {STOP: stop_turn}


def _open_turns(context: CommandContext, key: CubicleKey) -> tuple[list[Turn], list[Turn]]:
    """What is under way, and what waits."""
    with context.store.reading() as db:
        held = [claim.turn for _, claim in turn_rows.list_running(db.sql, key)]
        waiting = turn_rows.list_queued(db.sql, key)
    turns = context.services.turns
    return [turns.get(turn) for turn in held], [turns.get(turn) for turn in waiting]


def _stop_all(context: CommandContext, key: CubicleKey) -> list[Turn]:
    """The waiting ones first: else the agent would begin the next as soon as it is free. What was stopped, in order."""
    running, waiting = _open_turns(context, key)
    for turn in (*reversed(waiting), *running):
        context.services.turns.stop(turn.id)
    return [*running, *waiting]


def _questions(context: CommandContext, user: User, *, only_own: bool) -> list[Approval]:
    owner = user.id if only_own or user.role is not Role.OPERATOR else None
    return context.services.approvals.list_approvals(status=ApprovalStatus.PENDING, user=owner)
