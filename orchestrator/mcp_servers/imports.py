"""The files in which other programs list MCP servers, read as proposals of ours: ``mcpServers`` of Claude and Cursor,
``servers`` of VS Code. Pure: nothing is looked up, and nothing in such a file is run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.core.errors import BadInput
from orchestrator.core.strict_json import read_object
from orchestrator.core.text import in_quotes, one_line

MAX_FILE = 1 << 20
MOST = 64
"""Servers of one file."""
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}|<[^>]*>|(?i:your[_ -].*)|(?i:xxx+)|\.\.\.")
_SECRET_NAME = re.compile(r"(?i)token|secret|passw|api_?key|_key$|^key$|credential|auth|_pat$|cookie|dsn|private")
_NPM_RUNNERS, _PIP_RUNNERS = ("npx", "bunx", "pnpx"), ("uvx", "pipx")
_TAKES_VALUE = ("-p", "--package", "--from", "--with", "--python", "-c", "--call", "--index-url", "--spec")
_NPM_EXACT, _PIP_EXACT = re.compile(r".+@[0-9]+\.[0-9]+\.[0-9]+.*"), re.compile(r".+==.+")


@dataclass(frozen=True, slots=True)
class ServerProposal:
    """A server as it would be added."""

    name: str
    fields: Mapping[str, Any]
    """As ``McpServers.add`` takes them."""
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Of secrets that stand in the file, by name."""
    asks_for: tuple[str, ...] = ()
    """Secrets whose values the file leaves out."""
    needs: tuple[str, ...] = ()
    """What is missing before it can be added, one sentence each; empty: it can be."""
    notes: tuple[str, ...] = ()
    """What to know of it, one sentence each."""


@dataclass(frozen=True, slots=True)
class McpImportPlan:
    """What can be taken from a file."""

    proposals: tuple[ServerProposal, ...]
    refused: tuple[str, ...]
    """Servers that can't be taken, and why, one sentence each."""


@dataclass(frozen=True, slots=True)
class _Package:
    how: str
    name: str
    args: list[str]


def plan_import(text: str) -> McpImportPlan:
    """The servers that a file lists. Raises BadInput for one that lists none."""
    if len(text) > MAX_FILE:
        raise BadInput(f"file: it has more than {MAX_FILE:,} characters. Take out what is not about MCP servers.")
    try:
        document = read_object(text.encode())
    except (BadInput, UnicodeEncodeError) as error:
        raise BadInput(
            "file: it isn't one JSON object. Take out comments and commas before closing brackets."
        ) from error
    inner = document.get("mcp")
    listed = document.get("mcpServers") or document.get("servers")
    if listed is None and isinstance(inner, dict):  # settings.json of VS Code
        listed = inner.get("servers") or inner.get("mcpServers")
    if not isinstance(listed, dict) or not listed:
        raise BadInput('file: it lists no servers. They stand in an object "mcpServers" or "servers".')
    if len(listed) > MOST:
        raise BadInput(f"file: it lists {len(listed):,} servers; {MOST} can be taken at once.")
    proposals, refused, taken = [], [], set[str]()
    for called, entry in listed.items():
        name = _make_name(called, taken)
        taken.add(name)
        try:
            proposals.append(_propose(name, entry if isinstance(entry, dict) else {}))
        except _Refused as error:
            refused.append(f"{in_quotes(called, 80)}: {error}")
    return McpImportPlan(tuple(proposals), tuple(refused))


class _Refused(Exception):
    """This server can't be taken; the text says why."""


def _propose(name: str, entry: Mapping[str, Any]) -> ServerProposal:
    if entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl"):
        return _propose_url(name, entry)
    command, args = entry.get("command"), entry.get("args") or []
    if not isinstance(command, str) or not command:
        raise _Refused("it names neither a command nor a URL.")
    if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
        raise _Refused("its args are no list of texts.")
    package = _read_command(command.strip(), args)
    env, secrets, values, asks_for = _split_env(entry.get("env") or {})
    needs, notes = [], []
    exact = _NPM_EXACT if package.how == "npm" else _PIP_EXACT
    if not exact.fullmatch(package.name):
        sign = "@" if package.how == "npm" else "=="
        bare = package.name.removesuffix("@latest")
        package = _Package(package.how, bare, package.args)
        needs.append(f"Name the exact version: --{package.how} {one_line(bare)}{sign}VERSION.")
    if any("${" in arg for arg in package.args):
        needs.append("Its arguments hold a place of the other program's, such as ${workspaceFolder}. Write them out.")
    if any(re.match(r"(?:[A-Za-z]:\\|~?/)", arg) for arg in package.args):
        notes.append("Its arguments name folders of this computer, which it doesn't have in its container.")
    notes.append("It has no network. List the hosts that it needs with --allow-host.")
    fields: dict[str, Any] = {package.how: package.name, "args": package.args, "env": env, "secrets": secrets}
    return ServerProposal(name, fields, values, asks_for, tuple(needs), tuple(notes))


def _propose_url(name: str, entry: Mapping[str, Any]) -> ServerProposal:
    url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
    if not isinstance(url, str):
        raise _Refused("its URL is no text.")
    headers = entry.get("headers") or {}
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise _Refused("its headers are no texts.")
    values = {key: value for key, value in headers.items() if not _PLACEHOLDER.search(value)}
    asks_for = tuple(key for key in headers if key not in values)
    needs = ("Its URL holds a place of the other program's. Write it out.",) if "${" in url else ()
    return ServerProposal(name, {"url": url, "headers": list(headers)}, values, asks_for, needs)


def _read_command(command: str, args: list[str]) -> _Package:
    program = re.split(r"[/\\]", command)[-1].lower().removesuffix(".exe").removesuffix(".cmd")
    if program == "cmd" and args[:1] and args[0].lower() == "/c" and len(args) > 1:  # how Windows starts npx
        return _read_command(args[1], args[2:])
    if program in _NPM_RUNNERS:
        return _read_runner("npm", args)
    if program == "uv" and args[:2] == ["tool", "run"]:
        return _read_runner("pip", args[2:])
    if program in _PIP_RUNNERS:
        return _read_runner("pip", args[1:] if program == "pipx" and args[:1] == ["run"] else args)
    if program in ("docker", "podman"):
        raise _Refused("it is an image of a container, which is not run here. Look for its package of npm or PyPI.")
    raise _Refused(
        f"{one_line(command, 80)} is a program of the other computer. Only packages of npm (npx) and PyPI (uvx, pipx) "
        "can be taken."
    )


def _read_runner(how: str, args: list[str]) -> _Package:
    """The package among the arguments of npx, uvx or pipx, and what follows it."""
    package, n = "", 0
    while n < len(args) and args[n].startswith("-"):
        option, _, value = args[n].partition("=")
        if option in _TAKES_VALUE and not value:
            n += 1
            value = args[n] if n < len(args) else ""
        if option in ("-p", "--package", "--from", "--spec") and not package:
            package = value
        n += 1
    rest = args[n:]
    if package:  # then the first of the rest is the program's name
        rest = rest[1:]
    elif rest:
        package, rest = rest[0], rest[1:]
    if not package:
        raise _Refused("its command names no package.")
    if "://" in package or package.startswith((".", "/", "git+")):
        raise _Refused("its package stands in a folder or a repository. Only packages of npm and PyPI can be taken.")
    if how == "pip" and "@" in package:  # uvx writes a version so
        name, _, version = package.partition("@")
        package = name if version == "latest" else f"{name}=={version}"
    return _Package(how, package, rest)


def _split_env(given: Any) -> tuple[dict[str, str], list[str], dict[str, str], tuple[str, ...]]:
    if not isinstance(given, dict):
        raise _Refused("its env is no object.")
    env: dict[str, str] = {}
    secrets: list[str] = []
    values: dict[str, str] = {}
    asks_for: list[str] = []
    for key, value in given.items():
        text = value if isinstance(value, str) else str(value)
        is_left_out = bool(_PLACEHOLDER.search(text)) or not text
        if not is_left_out and not _SECRET_NAME.search(key):
            env[key] = text
            continue
        secrets.append(key)
        if is_left_out:
            asks_for.append(key)
        else:
            values[key] = text
    return env, secrets, values, tuple(asks_for)


def _make_name(called: str, taken: set[str]) -> str:
    base = re.sub(r"[^a-z0-9]+", "-", called.lower()).strip("-")[:28] or "server"
    if base in ("find", "import", "new"):
        base = f"{base}-1"
    return next(name for name in (base, *(f"{base}-{n}" for n in range(2, 200))) if name not in taken)
