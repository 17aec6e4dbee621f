"""Commands about the whole house, for the operator alone and in private: agents, containers, people, groups."""

from __future__ import annotations

from orchestrator.budget import dollars
from orchestrator.channels.telegram.calls import Call, Command, says
from orchestrator.channels.telegram.letters import Body
from orchestrator.channels.telegram.notes import Line, Theirs, ago, many, size, with_rest
from orchestrator.errors import OrchestratorError
from orchestrator.nouns import Agent, CubicleKey, Role, User
from orchestrator.store import telegram_people as rows

_MOST = 25
_MOST_CARDS = 8


def agents(call: Call) -> list[Body]:
    """Every agent: what it does and what it cost today."""
    services = call.desk.services
    bots = {bot.agent: bot.username for bot in services.bots.every()}
    busy = {key.agent for key, _ in services.turns.under_way()}
    every = services.agents.every()
    lines = [_agent(call, agent, bots.get(agent.name, ""), is_busy=agent.name in busy) for agent in every]
    return says(many(len(every), "agent"), *with_rest(lines, _MOST))


def _agent(call: Call, agent: Agent, username: str, *, is_busy: bool) -> Line:
    spent = dollars(call.desk.services.budget.today(agent.name).spent_micro)
    bot = f" @{username}" if username else " (no bot)"
    return (
        f"– {agent.name}{bot}: ",
        Theirs(agent.role, 60),
        f". {'Working' if is_busy else 'Idle'}, {spent} of {dollars(agent.daily_budget_micro)} today.",
    )


def containers(call: Call) -> list[Body]:
    """Which containers run, and what they use."""
    services = call.desk.services
    running = sorted(services.cubicles.running(), key=str)
    if not running:
        return says("No container runs", "They start with the next message.")
    names = {user.id: user.name for user in services.people.every()}
    return says(
        f"{many(len(running), 'container')} running",
        *(_container(call, key, names.get(key.user, "somebody")) for key in running[:_MOST]),
    )


def _container(call: Call, key: CubicleKey, name: str) -> Line:
    try:
        state = call.desk.services.cubicles.state(key)
    except OrchestratorError as error:
        return (f"– {key.agent} for ", Theirs(name), f": {error.message}")
    if not state.running or state.usage is None:
        return (f"– {key.agent} for ", Theirs(name), ": it ended just now.")
    since = ago(state.started_at or 0.0, call.desk.now())
    programs = many(state.usage.pids, "process", "processes")
    uses = f"{size(state.usage.memory_bytes)}, {state.usage.cpu_percent:.0f} % CPU, {programs}"
    return (f"– {key.agent} for ", Theirs(name), f": {uses}, started {since}")


def users(call: Call) -> list[Body]:
    """Everybody; members who use Telegram with a button that ends that."""
    every = call.desk.services.people.every()
    bodies = says(many(len(every), "person", "people"), *with_rest((_person(user) for user in every), _MOST))
    for user in [user for user in every if user.telegram_id and user.role is Role.MEMBER][:_MOST_CARDS]:
        ref = call.ref(len(bodies))
        bodies.append(call.desk.cards.member_body(user, call.agent, ref, call.message.sender.id))
    return bodies


def _person(user: User) -> Line:
    where = f"Telegram id {user.telegram_id}" if user.telegram_id else "not on Telegram"
    return ("– ", Theirs(user.name), f": {user.role}, {where}, {user.time_zone}")


def groups(call: Call) -> list[Body]:
    """The groups that this bot is in, each with a button."""
    with call.desk.store.reading() as db:
        found = rows.groups(db, call.agent)
    if not found:
        return says("No groups", f"Add {call.agent}'s bot to a group, and I'll ask whether it may listen there.")
    bodies = says(many(len(found), "group"), *([f"The first {_MOST_CARDS}:"] if len(found) > _MOST_CARDS else []))
    for chat in found[:_MOST_CARDS]:
        ref = call.ref(len(bodies))
        bodies.append(call.desk.groups.group_body(chat, ref, call.message.sender.id))
    return bodies


COMMANDS = (
    Command("agents", "All agents", agents, is_private=True),
    Command("containers", "What is running", containers, is_private=True),
    Command("users", "Who can talk to your agents", users, is_private=True),
    Command("groups", "Where this bot listens", groups, is_private=True),
)
