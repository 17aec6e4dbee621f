"""``telegram``: agents' bots, and the handshake that proves whose they are. A token is read from the terminal or from
standard input, never from the command line, which others on this machine can see."""

from __future__ import annotations

import argparse
import getpass
import sys
import time
from typing import Any

from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput
from orchestrator.core.text import one_line, terminal_safe

_SENT_WITHIN_S = 5.0
"""How long somebody who added a bot waits to hear which way the code goes."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its five verbs."""
    telegram = commands.add_parser("telegram", help="agents' Telegram bots")
    verbs = telegram.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="all bots, and what to do next")
    adding = verbs.add_parser("add", help="give an agent a bot; asks for the token that @BotFather gave you")
    confirming = verbs.add_parser("confirm", help="the six digits that the bot sent you")
    coding = verbs.add_parser("code", help="make a new code")
    removing = verbs.add_parser("rm", help="remove an agent's bot; its files and history stay")
    for verb in (adding, confirming, coding, removing):
        verb.add_argument("agent", metavar="AGENT")
    confirming.add_argument("code", metavar="CODE")
    add_yes(removing)
    for verb, run in (
        (listing, _list),
        (adding, _add),
        (confirming, _confirm),
        (coding, _code),
        (removing, _remove),
    ):
        verb.set_defaults(run=run)
        if verb is not removing:
            verb.add_argument("--json", action="store_true", help="print JSON")
    add_help(
        telegram,
        "Talk to agents in Telegram: each may have a bot, which you make with @BotFather.",
        "telegram add crab",
        "telegram confirm crab 123456",
    )
    add_help(listing, "All bots, and what is to be done about each.", "telegram list")
    add_help(
        adding,
        "Give an agent a bot. The token is asked for, or read from standard input: others on this machine can see a\n"
        "command line.",
        "telegram add crab",
        "telegram add crab < token.txt",
    )
    add_help(
        confirming, "Prove that a bot is yours, by the six digits that it sent you.", "telegram confirm crab 123456"
    )
    add_help(coding, "Make a new code, to prove that a bot is yours.", "telegram code crab")
    add_help(removing, "Take an agent's bot away. Its files and history stay.", "telegram rm crab")


def list_bots(client: ApiClient) -> list[dict[str, Any]]:
    """Every agent's bot."""
    agents = [agent["name"] for agent in client.get("/agents")["agents"] if agent["telegram"]]
    return [client.get(agent_path(name, "/telegram")) for name in agents]


def to_do(bot: dict[str, Any]) -> str:
    """What a person does about a bot now, as a sentence."""
    agent, name = bot["agent"], f"@{bot['username']}" if bot["username"] else "the bot"
    link = f" (https://t.me/{bot['username']})" if bot["username"] else ""
    if bot["state"] == "revoked":
        return str(bot["problem"])
    if bot["state"] == "paired":
        return f"Write to {name} in Telegram{link}."
    if bot["code"]:
        return f"Send {bot['code']} to {name} in Telegram{link} within ten minutes: this proves that it is yours."
    if bot["code_way"] is None:
        return f"'./hermit telegram code {agent}' makes a new code, to prove that the bot is yours."
    sends = f"{name} sent you a code in Telegram" if bot["code_sent_at"] else f"{name} is about to send you a code"
    return f"{sends}: type './hermit telegram confirm {agent} CODE'."


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        found = list_bots(client)
    rows = [(b["agent"], f"@{b['username']}" if b["username"] else str(b["bot"]), b["state"], _note(b)) for b in found]
    lines = format_table(rows, head=("AGENT", "BOT", "STATE", "WHAT TO DO"), paint=context.paint) if rows else [_none()]
    print_body({"bots": found}, as_json=options.json, lines=lines)
    return 0


def _add(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        client.get(agent_path(options.agent))  # an agent that is not there is said before anybody pastes a token
        bot = client.post(agent_path(options.agent, "/telegram"), {"token": _token()})
        bot = _settled(client, bot)
    print_body(bot, as_json=options.json, lines=_said(bot, f"{options.agent} has a Telegram bot."))
    return 0


def _confirm(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        bot = client.post(agent_path(options.agent, "/telegram/confirm"), {"code": options.code})
    print_body(bot, as_json=options.json, lines=_said(bot, f"The bot of {options.agent} is linked to you."))
    return 0


def _code(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        bot = _settled(client, client.post(agent_path(options.agent, "/telegram/code")))
    print_body(bot, as_json=options.json, lines=_said(bot, "There is a new code."))
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    path = agent_path(options.agent, "/telegram")
    with context.client as client:
        bot = client.get(path)
        name = f"the bot @{bot['username']}" if bot["username"] else "its bot"
        confirm_deed(f"This removes {name} from {options.agent}", yes=options.yes, undone="removed")
        client.delete(path)
    print(f"{options.agent} has no Telegram bot any more.")
    if context.settings.secrets.get("TELEGRAM_BOT_TOKEN"):
        print("TELEGRAM_BOT_TOKEN is still set: remove it, or the next start brings that bot back.")
    return 0


def _token() -> str:
    text = getpass.getpass("Token from @BotFather: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not text.strip():
        raise BadInput("No token was given. @BotFather shows it after /newbot, such as 123456789:AAE….")
    return text.strip()


def _settled(client: ApiClient, bot: dict[str, Any]) -> dict[str, Any]:
    """The bot, once it is known whether it could send its code; or as it is after a while."""
    deadline = time.monotonic() + _SENT_WITHIN_S
    while bot["code_way"] == "sent" and not (bot["code_sent_at"] or bot["problem"]) and time.monotonic() < deadline:
        time.sleep(0.2)
        bot = client.get(agent_path(bot["agent"], "/telegram"))
    return bot


def _said(bot: dict[str, Any], what: str) -> list[str]:
    return [what, terminal_safe(_note(bot))]


def _note(bot: dict[str, Any]) -> str:
    """What is wrong with it, and what to do; of a revoked one both are one sentence."""
    return one_line(" ".join(dict.fromkeys(text for text in (bot["problem"], to_do(bot)) if text)), 300)


def _none() -> str:
    return "No agent has a bot. Make one with @BotFather in Telegram, then './hermit telegram add AGENT'."
