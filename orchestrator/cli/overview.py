"""What ``./hermit --help``, ``--version`` and ``help`` print. Loads nothing of the program but these words: it is the
first thing that a newcomer types."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from orchestrator.core.config import SETTINGS
from orchestrator.core.text import one_line
from orchestrator.core.version import VERSION

GROUPS: dict[str, dict[str, str]] = {
    "Run it": {
        "up": "set everything up and run it; safe to run again",
        "down": "stop the orchestrator and its cubicles; nothing is lost",
        "restart": "stop the orchestrator and start it again; cubicles go on meanwhile",
        "status": "what is running",
        "doctor": "check every part, and say how to fix what is wrong",
        "open": "open the dashboard in your browser, logged in",
        "login-link": "a fresh one-time link into the dashboard",
        "service": "a systemd unit that runs this install",
        "update": "fetch a newer version with git, after asking",
        "version": "which HermitShell this is",
    },
    "Talk to agents": {
        "chat": "send TEXT to an agent and print its reply; without TEXT, a conversation",
        "history": "the conversation with an agent, searched with --find",
        "conversations": "your conversations with an agent",
        "files": "files of an agent's workspace: ls, get, put, mv, mkdir, rm",
        "undo": "take back what an agent did for your last message",
        "checkpoints": "points of time of an agent's files, to go back to",
        "calendar": "what an agent does for you, and when",
        "memory": "what an agent remembers about you",
        "lessons": "what an agent learned from failed commands",
        "apps": "web apps that agents made, with their addresses",
        "logs": "an agent's own log",
        "cubicle": "an agent's container: status, start, stop, restart",
    },
    "Decide": {
        "approvals": "what waits for your approval",
        "approve": "approve what waits, by its id",
        "deny": "deny what waits, by its id",
        "grants": "what an agent may do without asking",
        "secrets": "passwords that agents' browsers may type into pages of one host",
        "logins": "sites that an agent's browser stays logged in to",
        "hosts": "hosts that an agent can download from without asking",
        "questions": "what agents want to know from you",
        "answer": "answer an agent's question, by its id",
    },
    "Set up": {
        "agent": "agents and their settings",
        "import": "bring an agent over from OpenClaw, Hermes or nanobot",
        "mcp": "tools from others: MCP servers that agents may use",
        "telegram": "agents' Telegram bots",
        "user": "people who may talk to your agents",
        "token": "API tokens",
        "budget": "what agents and people have spent, and have left",
        "prices": "what models cost, in dollars per million tokens",
        "completion": "what lets your shell complete commands with Tab",
    },
    "Keep it safe": {
        "prove": "let an agent try twelve ways out of its cubicle",
        "backup": "everything in HERMIT_HOME in one file; works while it runs",
        "restore": "restore a backup into an empty HERMIT_HOME",
        "recover": "save what is readable in a damaged database; it is kept as it is",
        "audit": "everything that happened: who did what, when",
        "sbom": "what this program is made of, as CycloneDX 1.5 JSON",
    },
    "Work on it": {
        "test": "set up for the tests, then run them; arguments go to pytest",
        "bench": "measure speed and size here, against floors of the same run",
    },
}
"""Every command once, under what a person wants to do."""

_EXAMPLES = """Examples:
  ./hermit up -d                          start in the background
  ./hermit chat crab "What can you do?"   one message, and the reply
  ./hermit chat crab                      a conversation
  ./hermit files get crab out/report.pdf  fetch what an agent made

Run './hermit COMMAND --help' for more about a command, './hermit help settings' for all settings."""


def is_asked_for(arguments: Sequence[str]) -> bool:
    """The command line asks for nothing but words about the program."""
    return not arguments or arguments[0] in ("-h", "--help", "help", "--version") or list(arguments) == ["version"]


def show_overview(arguments: Sequence[str]) -> str:
    """The version, the settings, or all commands."""
    if list(arguments[:1]) in (["--version"], ["version"]):
        return f"HermitShell {VERSION}"
    if list(arguments[:2]) == ["help", "settings"]:
        settings = "\n".join(f"  {name:28} {text}" for name, text in SETTINGS.items())
        return f"Settings, from the environment or HERMIT_HOME/hermit.env:\n\n{settings}"
    groups = [
        "\n".join([f"{title}:", *(f"  {name:12} {text}" for name, text in commands.items())])
        for title, commands in GROUPS.items()
    ]
    head = "usage: hermit COMMAND …\n\nYour own AI agents, each locked into its own air-gapped container."
    return "\n\n".join([head, *groups, _EXAMPLES])


def suggest_command(command: str, known: Sequence[str]) -> str:
    """A sentence about a command that there is not, with the one that was probably meant."""
    close = difflib.get_close_matches(command, known, n=1, cutoff=0.5)
    meant = f" Did you mean '{close[0]}'?" if close else ""
    return f"There is no command '{one_line(command, 40)}'.{meant}"
