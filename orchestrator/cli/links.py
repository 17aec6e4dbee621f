"""``open``, ``login-link`` and ``token``: ways in for a person with a browser, and for a program."""

from __future__ import annotations

import argparse
import html
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from orchestrator.cli.client import ApiClient
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.cli.tunnel import has_browser, ssh_command
from orchestrator.cli.users import find_person, how_long, say_where
from orchestrator.core import atomic_files as whole_files
from orchestrator.core.errors import NotFound
from orchestrator.core.text import one_line


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the three commands."""
    opening = commands.add_parser("open", help="open the dashboard in your browser, logged in")
    add_help(
        opening,
        "Open the dashboard in your browser with a fresh login link. Where there is no browser, as over SSH,\n"
        "the link is printed instead.",
        "open",
    )
    opening.set_defaults(run=_open)
    link = commands.add_parser("login-link", help="a fresh one-time link into the dashboard")
    link.add_argument("--user", metavar="NAME", help="for this person instead of the operator")
    link.add_argument("--json", action="store_true", help="print JSON")
    add_help(link, "Print a link that logs one browser in, once.", "login-link", "login-link --user ben")
    link.set_defaults(run=_login_link)
    _add_token(commands)


def _add_token(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    token = commands.add_parser("token", help="API tokens")
    add_help(
        token, "API tokens, with which programs use the HTTP API.", "token create phone", "token list", "token rm phone"
    )
    verbs = token.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="every token, without its secret")
    listing.add_argument("--json", action="store_true", help="print JSON")
    add_help(listing, "Every token with its owner and when it was used last. The secrets aren't kept.", "token list")
    create = verbs.add_parser("create", help="make one")
    create.add_argument("name", metavar="NAME", help="what it is for, e.g. phone")
    create.add_argument("--user", metavar="NAME", help="for this person instead of the operator")
    add_help(
        create,
        "Make a token. It is printed once, alone on standard output, and can't be shown again.",
        "token create phone",
        "token create backup-job --user ben",
    )
    removing = verbs.add_parser("rm", help="end a token: programs that use it can't get in any more")
    removing.add_argument("name", metavar="NAME")
    add_yes(removing)
    add_help(removing, "End a token. Programs that use it can't get in any more.", "token rm phone")
    for verb, run in ((listing, _list), (create, _create), (removing, _remove)):
        verb.set_defaults(run=run)


def _open(context: Context, _options: argparse.Namespace) -> int:
    with context.client as client:
        made = client.post("/login-links")
    if has_browser(context.environment) and webbrowser.open(_page(context.home.path / "run", made["url"]).as_uri()):
        print("The dashboard opens in your browser. If it doesn't, open this link:", file=sys.stderr)
    else:
        print("There is no browser here. Open this link where you have one:", file=sys.stderr)
    print(made["url"])
    _say_tunnel(context)
    print(_validity(made), file=sys.stderr)
    return 0


def _page(folder: Path, url: str) -> Path:
    """A page that leads to the link. A browser gets its address as an argument, which others on this machine can see:
    the link itself is only in the file, which they can't read."""
    page = folder / "open.html"
    target = html.escape(url)
    whole_files.replace_file(
        page,
        f'<!doctype html><meta charset="utf-8"><title>HermitShell</title>'
        f'<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={target}">'
        f'<p><a href="{target}">Open the dashboard</a></p>\n',
    )
    return page


def _login_link(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        made = client.post("/login-links", _for(client, options.user))
    print_body(made, as_json=options.json, lines=[made["url"]])
    if not options.json:
        print(_validity(made), file=sys.stderr)
        if options.user is None:
            _say_tunnel(context)
        else:
            say_where(made)
    return 0


def _say_tunnel(context: Context) -> None:
    """Beside standard output, which is the link alone."""
    if line := ssh_command(context.settings, context.environment):
        print(f"On another computer, first run this there: {line}", file=sys.stderr)


def _validity(link: Mapping[str, Any]) -> str:
    return f"It works once, for {how_long(link)}."


def _for(client: ApiClient, user: str | None) -> dict[str, Any]:
    return {} if user is None else {"user": find_person(client, user)["id"]}


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get("/tokens")
        names = {user["id"]: user["name"] for user in client.get("/users")["users"]}
    rows = [
        (one_line(token["name"]), one_line(names.get(token["user"], "?")), _day(token["created_at"]), _used(token))
        for token in body["tokens"]
    ]
    head = ("NAME", "PERSON", "MADE (UTC)", "LAST USED (UTC)")
    lines = (
        format_table(rows, head=head, paint=context.paint)
        if rows
        else ["There are no tokens. './hermit token create NAME' makes one."]
    )
    print_body(body, as_json=options.json, lines=lines)
    return 0


def _create(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.post("/tokens", {"name": options.name, **_for(client, options.user)})
    print(body["token"])
    print("Keep it: it is shown only this once.", file=sys.stderr)
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        if all(token["name"] != options.name for token in client.get("/tokens")["tokens"]):
            raise NotFound(f"There is no token called {one_line(options.name, 60)!r}. './hermit token list' shows all.")
        deed = f"This ends the token {one_line(options.name, 60)}; programs that use it can't get in any more"
        confirm_deed(deed, yes=options.yes)
        client.delete(f"/tokens/{quote(options.name)}")
    print(f"The token {one_line(options.name, 60)} is deleted.")
    return 0


def _day(at: str) -> str:
    return at[:16].replace("T", " ")


def _used(token: Mapping[str, Any]) -> str:
    return "never" if token["used_at"] is None else _day(token["used_at"])
