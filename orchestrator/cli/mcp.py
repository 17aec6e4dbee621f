"""``mcp``: tools from others. Servers are added, checked, decided about and removed."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.cli.mcp_text import list_differences, list_news, list_plan, list_server
from orchestrator.core.errors import BadInput
from orchestrator.core.text import one_line

_DECISIONS = {"ask": "asks", "free": "free", "off": "off"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    mcp = commands.add_parser("mcp", help="tools from others: MCP servers that agents may use")
    verbs = mcp.add_subparsers(dest="verb", metavar="VERB", required=True)
    add_help(
        mcp,
        "Tools from others: servers of the Model Context Protocol. Each runs in a container of its own, without a\n"
        "network but for the hosts that you list. Its tools are off until you have seen what they say, and no agent\n"
        "has it until you give it one.",
        "mcp add time --pip mcp-server-time==2026.10.19",
        "mcp check time",
        "mcp accept time",
        "mcp give time crab",
    )
    _add_looking(verbs)
    _add_adding(verbs)
    _add_deciding(verbs)


def _add_looking(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = verbs.add_parser("list", help="which servers there are")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.set_defaults(run=_list)
    add_help(listing, "The servers, who may use them, and what waits for you.", "mcp list", "mcp list --json")
    showing = _named(verbs, "show", "a server, its tools and what it says", _show)
    showing.add_argument("--json", action="store_true", help="print JSON")
    add_help(showing, "Everything about a server. Its descriptions are its own words.", "mcp show github")
    checking = _named(verbs, "check", "start a server once, and see what it offers", _check)
    add_help(
        checking,
        "Start a server once and write down what it offers. Fetching its packages can take a minute or two.",
        "mcp check github",
    )


def _add_adding(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    adding = _named(verbs, "add", "add a server", _add)
    how = adding.add_mutually_exclusive_group()
    how.add_argument("--npm", metavar="PKG@VERSION", help="a package of npm")
    how.add_argument("--pip", metavar="PKG==VERSION", help="a package of PyPI")
    how.add_argument("--url", metavar="URL", help="a server elsewhere, asked by HTTP")
    adding.add_argument("--env", metavar="K=V", action="append", default=[], help="an environment variable, no secret")
    adding.add_argument("--secret", metavar="K", action="append", default=[], help="a secret; its value is asked for")
    adding.add_argument("--header", metavar="K[=V]", action="append", default=[], help="a header for the URL")
    adding.add_argument("--allow-host", metavar="HOST", action="append", default=[], help="a host that it may reach")
    adding.add_argument("command", metavar="ARG", nargs="*", help="after --: a command, or the package's arguments")
    add_help(
        adding,
        "Add a server. No agent has it yet. Values of secrets are asked for, or read from stdin, one on each line.",
        "mcp add github --npm @example/server-github@1.2.3 --secret GITHUB_TOKEN --allow-host api.github.com",
        "mcp add time --pip mcp-server-time==2026.10.19 -- --local-timezone Europe/Berlin",
        "mcp add notes --url https://mcp.example.com/mcp --header Authorization",
    )
    removing = _named(verbs, "rm", "remove a server with its secrets", _remove)
    add_yes(removing)
    add_help(removing, "Remove a server, its secrets and what was decided about it.", "mcp rm github")
    secret = _named(verbs, "secret", "set the value of a secret", _secret)
    secret.add_argument("key", metavar="K", help="its name")
    secret.add_argument("--forget", action="store_true", help="forget the value")
    add_help(secret, "Set a secret; its value is asked for, or read from stdin.", "mcp secret github GITHUB_TOKEN")
    importing = verbs.add_parser("import", help="add the servers that a file of another program lists")
    importing.add_argument("file", metavar="FILE", type=Path)
    add_yes(importing)
    importing.set_defaults(run=_import)
    add_help(
        importing,
        "Read the servers from a file of Claude, Cursor or VS Code, and add those that can be taken.",
        "mcp import ~/.cursor/mcp.json",
    )


def _add_deciding(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    accepting = _named(verbs, "accept", "take what a server says now as seen", _accept)
    accepting.add_argument("tools", metavar="TOOL", nargs="*", help="these alone; none: everything that waits")
    add_yes(accepting)
    add_help(
        accepting,
        "See what a server says that is new or has changed, and accept it. Accepted tools ask before each call.",
        "mcp accept github",
        "mcp accept github create_issue",
    )
    setting = _named(verbs, "set", "whether a tool asks, is free, or is off", _set)
    setting.add_argument("tool", metavar="TOOL")
    setting.add_argument("decision", metavar="HOW", choices=tuple(_DECISIONS), help="ask, free or off")
    add_help(setting, "Decide about one tool.", "mcp set github get_issue free", "mcp set github delete_repo off")
    for verb, words, run in (("give", "let an agent use a server", _give), ("take", "an agent uses it no more", _take)):
        command = _named(verbs, verb, words, run)
        command.add_argument("agent", metavar="AGENT")
        add_help(command, f"{words[0].upper()}{words[1:]}.", f"mcp {verb} github crab")
    for verb, words, run in (("enable", "run it again", _enable), ("disable", "keep it, but don't run it", _disable)):
        command = _named(verbs, verb, words, run)
        add_help(command, f"{words[0].upper()}{words[1:]}.", f"mcp {verb} github")


def _named(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], verb: str, words: str, run: Any
) -> argparse.ArgumentParser:
    command = verbs.add_parser(verb, help=words)
    command.add_argument("name", metavar="NAME")
    command.set_defaults(run=run)
    return command


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get("/mcp")
    rows = [
        (
            one["name"],
            one_line(one["package"] or one["url"] or " ".join(one["args"]), 60),
            ", ".join(one["agents"]) or "nobody",
            list_news(one),
        )
        for one in body["servers"]
    ]
    lines = (
        format_table(rows, head=("name", "runs", "used by", "to do"), paint=context.paint)
        if rows
        else ["None. './hermit mcp add --help' shows how to add one."]
    )
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _show(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get(_path(options.name))
    print_body(body, as_json=options.json, lines=list_server(body))
    return 0


def _add(context: Context, options: argparse.Namespace) -> int:
    body: dict[str, Any] = {"name": options.name, "hosts": options.allow_host, "secrets": options.secret}
    body["env"] = dict(_split_pair("--env", pair) for pair in options.env)
    headers = [pair.partition("=") for pair in options.header]
    body["headers"] = [name for name, _, _ in headers]
    how = next((how for how in ("npm", "pip", "url") if getattr(options, how)), "command")
    if how == "command":
        body["command"] = options.command
    else:
        body[how] = getattr(options, how)
        if options.command:
            body["args"] = options.command
    values = {name: value for name, _, value in headers if value}
    asked = [*options.secret, *(name for name, _, value in headers if not value)]
    body["values"] = {**values, **{name: _read_value(name) for name in asked}}
    with context.client as client:
        added = client.post("/mcp", {key: value for key, value in body.items() if value})
    print(f"Added {added['name']}. Now see what it offers: './hermit mcp check {added['name']}'.")
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    confirm_deed(f"This removes {options.name} with its secrets", yes=options.yes, undone="removed")
    with context.client as client:
        client.delete(_path(options.name))
    print(f"{one_line(options.name)} is removed.")
    return 0


def _secret(context: Context, options: argparse.Namespace) -> int:
    value = "" if options.forget else _read_value(options.key)
    if not value and not options.forget:
        raise BadInput("value: nothing was given. Write it, or forget the one that there is with --forget.")
    with context.client as client:
        client.put(_path(options.name, "/secrets"), {"name": options.key, "value": value})
    print("Forgotten." if options.forget else "Kept. It is never shown again.")
    return 0


def _check(context: Context, options: argparse.Namespace) -> int:
    print(f"Starting {one_line(options.name)}; fetching its packages can take a minute …", file=sys.stderr, flush=True)
    with context.client as client:
        body = client.post(_path(options.name, "/check"))
    for sentence in body["dropped"]:
        print(f"Left out: {one_line(sentence, 300)}")
    print(f"{options.name} answers: {len(body['tools'])} tools.")
    if body["waiting"]:
        print(f"{body['waiting']} wait for you: './hermit mcp accept {options.name}' shows them.")
    return 0


def _accept(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get(_path(options.name))
        waiting = [one for one in (*body["tools"], *body["said"]) if one["state"] in ("new", "changed", "gone")]
        if options.tools:
            waiting = [one for one in waiting if one["key"] in options.tools]
            if missing := set(options.tools) - {one["key"] for one in waiting}:
                raise BadInput(
                    f"TOOL: nothing of {min(missing)} waits for you. './hermit mcp show {options.name}' lists all."
                )
        if not waiting:
            print("Nothing waits for you.")
            return 0
        print("\n".join(list_differences(waiting)))
        confirm_deed(f"These {len(waiting)} are taken as seen", yes=options.yes, undone="accepted")
        pins = [{"kind": one["kind"], "name": one["key"], "sha256": one["sha256"]} for one in waiting]
        client.post(_path(options.name, "/accept"), {"pins": pins})
    print(f"Accepted {len(waiting)}. New tools ask before each call: './hermit mcp set' changes that.")
    if not body["agents"]:
        print(f"No agent has it yet: './hermit mcp give {options.name} AGENT'.")
    return 0


def _set(context: Context, options: argparse.Namespace) -> int:
    path = _path(options.name, f"/tools/{quote(options.tool, safe='')}")
    with context.client as client:
        client.put(path, {"decision": _DECISIONS[options.decision]})
    words = {"ask": "asks before each call", "free": "is called without asking", "off": "is off"}
    print(f"{one_line(options.tool)} {words[options.decision]}.")
    return 0


def _give(context: Context, options: argparse.Namespace) -> int:
    return _set_agents(context, options, has=True)


def _take(context: Context, options: argparse.Namespace) -> int:
    return _set_agents(context, options, has=False)


def _set_agents(context: Context, options: argparse.Namespace, *, has: bool) -> int:
    with context.client as client:
        others = [name for name in client.get(_path(options.name))["agents"] if name != options.agent]
        client.put(_path(options.name, "/agents"), {"agents": [*others, options.agent] if has else others})
    print(f"{one_line(options.agent)} {'may use' if has else 'no longer has'} {one_line(options.name)}.")
    return 0


def _enable(context: Context, options: argparse.Namespace) -> int:
    return _switch(context, options, is_enabled=True)


def _disable(context: Context, options: argparse.Namespace) -> int:
    return _switch(context, options, is_enabled=False)


def _switch(context: Context, options: argparse.Namespace, *, is_enabled: bool) -> int:
    with context.client as client:
        client.patch(_path(options.name), {"is_enabled": is_enabled})
    print(f"{one_line(options.name)} is {'on' if is_enabled else 'off'}.")
    return 0


def _import(context: Context, options: argparse.Namespace) -> int:
    try:
        text = options.file.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"FILE: {options.file} can't be read ({error}).") from error
    with context.client as client:
        plan = client.post("/mcp-import", {"text": text})
        print("\n".join(list_plan(plan)))
        ready = [one["name"] for one in plan["proposals"] if not one["needs"]]
        if not ready:
            print("Nothing can be added as it is.")
            return 0
        confirm_deed(f"This adds {', '.join(ready)}", yes=options.yes, undone="added")
        done = client.post("/mcp-import", {"text": text, "take": ready})
    for one in done["proposals"]:
        if one["name"] in ready:
            print(f"{one['name']}: {'added' if one['is_added'] else one_line(one['trouble'], 300)}")
            for key in one["asks_for"] if one["is_added"] else ():
                print(f"  its secret: './hermit mcp secret {one['name']} {key}'")
    return 0


def _read_value(name: str) -> str:
    return getpass.getpass(f"{name}: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")


def _split_pair(option: str, pair: str) -> tuple[str, str]:
    name, sign, value = pair.partition("=")
    if not sign:
        raise BadInput(f"{option}: write NAME=VALUE, such as LOG_LEVEL=info.")
    return name, value


def _path(name: str, rest: str = "") -> str:
    return f"/mcp/{quote(name, safe='')}{rest}"
