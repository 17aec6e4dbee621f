"""Commands about the whole install, for the operator alone and in private: agents, containers, people, groups."""

from __future__ import annotations

from orchestrator.channels.chat import contact_rows as rows
from orchestrator.channels.chat.adapter import ChannelTraits
from orchestrator.channels.chat.command_context import ChatCommand, CommandCall, note_reply
from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.system_text import (
    NoteLine,
    QuotedText,
    format_ago,
    format_count,
    format_size,
    with_rest,
)
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import Agent, CubicleKey, Role, User
from orchestrator.llm.dollars import format_dollars

_MOST = 25
_MOST_CARDS = 8


def agents(call: CommandCall) -> list[MessageBody]:
    """Every agent: what it does and what it cost today."""
    services = call.context.services
    bots = call.context.bot_names()
    busy = {key.agent for key, _ in services.turns.list_running()}
    every = services.agents.list_agents()
    lines = [_agent(call, agent, bots.get(agent.name, ""), is_busy=agent.name in busy) for agent in every]
    return note_reply(format_count(len(every), "agent"), *with_rest(lines, _MOST))


def _agent(call: CommandCall, agent: Agent, username: str, *, is_busy: bool) -> NoteLine:
    spent = format_dollars(call.context.services.budget.get_today(agent.name).spent_micro)
    bot = f" {username}" if username else " (no bot)"
    return (
        f"– {call.context.store.called(agent.name)}{bot}: ",
        QuotedText(agent.role, 60),
        f". {'Working' if is_busy else 'Idle'}, {spent} of {format_dollars(agent.daily_budget_micro)} today.",
    )


def containers(call: CommandCall) -> list[MessageBody]:
    """Which containers run, and what they use."""
    services = call.context.services
    running = sorted(services.cubicles.list_running(), key=str)
    if not running:
        return note_reply("No container runs", "They start with the next message.")
    names = {user.id: user.name for user in services.users.list_users()}
    return note_reply(
        f"{format_count(len(running), 'container')} running",
        *(_container(call, key, names.get(key.user, "somebody")) for key in running[:_MOST]),
    )


def _container(call: CommandCall, key: CubicleKey, name: str) -> NoteLine:
    try:
        state = call.context.services.cubicles.get_state(key)
    except OrchestratorError as error:
        return (f"– {call.context.store.called(key.agent)} for ", QuotedText(name), f": {error.message}")
    if not state.running or state.usage is None:
        return (f"– {call.context.store.called(key.agent)} for ", QuotedText(name), ": it ended just now.")
    since = format_ago(state.started_at or 0.0, call.context.now())
    programs = format_count(state.usage.pids, "process", "processes")
    uses = f"{format_size(state.usage.memory_bytes)}, {state.usage.cpu_percent:.0f} % CPU, {programs}"
    return (f"– {call.context.store.called(key.agent)} for ", QuotedText(name), f": {uses}, started {since}")


def users(call: CommandCall) -> list[MessageBody]:
    """Everybody; members who use this app with a button that ends that."""
    every = call.context.services.users.list_users()
    bodies = note_reply(
        format_count(len(every), "person", "people"),
        *with_rest((_person(user, call.context.store.traits) for user in every), _MOST),
    )
    for user in [user for user in every if user.id_in(call.context.store.channel) and user.role is Role.MEMBER][
        :_MOST_CARDS
    ]:
        ref = call.ref(len(bodies))
        bodies.append(call.context.cards.member_body(user, call.agent, ref, call.message.sender.id))
    return bodies


def _person(user: User, app: ChannelTraits) -> NoteLine:
    number = user.id_in(app.name)
    where = f"{app.label} id {number}" if number else f"not on {app.label}"
    return ("– ", QuotedText(user.name), f": {user.role}, {where}, {user.time_zone}")


def groups(call: CommandCall) -> list[MessageBody]:
    """The groups that this bot is in, each with a button."""
    with call.context.store.reading() as db:
        found = rows.list_groups(db, call.agent)
    if not found:
        return note_reply("No groups", f"Add {call.called}'s bot to a group, and I'll ask whether it may listen there.")
    bodies = note_reply(
        format_count(len(found), "group"), *([f"The first {_MOST_CARDS}:"] if len(found) > _MOST_CARDS else [])
    )
    for chat in found[:_MOST_CARDS]:
        ref = call.ref(len(bodies))
        bodies.append(call.context.groups.group_body(chat, ref, call.message.sender.id))
    return bodies


COMMANDS = (
    ChatCommand("agents", "All agents", agents, is_private=True),
    ChatCommand("containers", "What is running", containers, is_private=True),
    ChatCommand("users", "Who can talk to your agents", users, is_private=True),
    ChatCommand("groups", "Where this bot listens", groups, is_private=True),
)
