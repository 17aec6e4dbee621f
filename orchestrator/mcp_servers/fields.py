"""The fields of a server: what each may be, for every surface. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from orchestrator.core.errors import BadInput
from orchestrator.mcp_servers.models import McpHow, McpServer
from orchestrator.web.urls import UrlRules, parse_url

RESERVED = ("find", "import", "new")
"""Words that stand where a server's name could: in ``hermit mcp find``, in addresses of pages."""
RUNS_BY: tuple[McpHow, ...] = ("npm", "pip", "command", "url")
"""Exactly one of these says how a server runs."""
FIELDS = (*RUNS_BY, "args", "env", "secrets", "headers", "hosts", "is_enabled")
"""Every field that may be given or changed, but for the name."""
CHANGES_WHAT_RUNS = ("how", "package", "argv", "env", "secret_names", "hosts", "url", "header_names")
"""What is pinned of it: a change of any drops what was seen of its words."""
MAX_SECRET = 8_000
LEAST_SECRET = 4
"""Characters. A shorter one could not be looked for in results without refusing half of them."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_NPM = re.compile(
    r"(?:@[a-z0-9][a-z0-9._-]{0,39}/)?[a-z0-9][a-z0-9._-]{0,63}@[0-9]{1,6}(?:\.[0-9]{1,6}){2}(?:[-+][0-9A-Za-z.+-]{1,24})?"
)
_PIP = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?==[0-9][A-Za-z0-9.!+_-]{0,29}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_OURS = re.compile(
    r"(?i)host|content-.*|transfer-encoding|connection|cookie|accept|user-agent|origin|mcp-.*|last-event-id"
)
"""Headers that the program sends itself."""
_MOST_ARGS, _MOST_ARG = 64, 4_000
_MOST_NAMES = 32


def parse_name(value: Any) -> str:
    """A server's name. Raises BadInput."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise BadInput("name: use 1 to 32 lowercase letters, digits and hyphens, such as github.")
    if value in RESERVED:
        raise BadInput(f"name: {value} means something else in commands. Choose another name, such as {value}-1.")
    return value


def apply_fields(server: McpServer, fields: Mapping[str, Any], private_hosts: frozenset[tuple[str, int]]) -> McpServer:
    """The server with these fields changed.

    Args:
        server: as it is; a new one has no package, command or URL.
        fields: of ``FIELDS``. ``secrets`` and ``headers`` are lists of names here.
        private_hosts: which hosts of a private network the settings name, with their ports.

    Raises:
        BadInput: a field is of no use; the message names it.
    """
    for field in fields:
        if field not in FIELDS:
            raise BadInput(f"{field[:40]}: a server has no such field; there are {', '.join(FIELDS)}.")
    changed = _choose_run(server, fields)
    if "env" in fields:
        changed = replace(changed, env=_parse_env(fields["env"]))
    if "secrets" in fields:
        changed = replace(changed, secret_names=_parse_names("secrets", fields["secrets"], _VARIABLE, "GITHUB_TOKEN"))
    if "headers" in fields:
        changed = replace(changed, header_names=_parse_headers(fields["headers"]))
    if "hosts" in fields:
        changed = replace(changed, hosts=_parse_hosts(fields["hosts"], private_hosts))
    if "is_enabled" in fields:
        if not isinstance(fields["is_enabled"], bool):
            raise BadInput("is_enabled: send true or false.")
        changed = replace(changed, is_enabled=fields["is_enabled"])
    _check_whole(changed)
    return changed


def check_secret(server: McpServer, key: str, value: str) -> None:
    """A value for one of the server's secrets. Raises BadInput that never quotes the value."""
    if key not in server.secret_keys:
        known = ", ".join(server.secret_keys) or "none"
        raise BadInput(f"secret: {server.name} has no secret {key[:80]!r}. Its secrets: {known}.")
    is_clean = all(char.isprintable() or (char in "\r\n\t" and server.how != "url") for char in value)
    if not LEAST_SECRET <= len(value) <= MAX_SECRET or not is_clean:
        raise BadInput(f"value of {key}: write {LEAST_SECRET} to {MAX_SECRET:,} visible characters.")
    if server.how == "url" and not value.isascii():
        raise BadInput(f"value of {key}: a header has letters, digits and signs of ASCII alone.")


def _choose_run(server: McpServer, fields: Mapping[str, Any]) -> McpServer:
    named: list[McpHow] = [how for how in RUNS_BY if fields.get(how)]
    if len(named) > 1:
        raise BadInput(f"{named[1]}: {named[0]} is given already. A server has exactly one of {', '.join(RUNS_BY)}.")
    changed = server
    if named:
        how = named[0]
        value = fields[how]
        blank = replace(server, how=how, package="", url="", argv=server.argv if how == server.how else ())
        if how == "url":
            changed = replace(blank, url=_parse_url(value), argv=())
        elif how == "command":
            changed = replace(blank, argv=_parse_args("command", value))
        else:
            changed = replace(blank, package=_parse_package(how, value))
    if fields.get("args") is not None and "args" in fields:
        if changed.how not in ("npm", "pip"):
            if fields["args"] != []:
                raise BadInput("args: only a server of npm or pip has these. Put them into command.")
            return changed
        changed = replace(changed, argv=_parse_args("args", fields["args"]))
    return changed


def _check_whole(server: McpServer) -> None:
    if not server.package and not server.argv and not server.url:
        raise BadInput("npm: say how the server runs, by one of npm, pip, command or url.")
    if server.how == "url" and (server.env or server.secret_names or server.hosts):
        raise BadInput("env: a server at a URL has headers alone. Leave env, secrets and hosts out.")
    if server.how != "url" and server.header_names:
        raise BadInput("headers: only a server at a URL has headers. Use secrets.")
    if both := {name for name, _ in server.env} & set(server.secret_names):
        raise BadInput(f"env: {min(both)} is among the secrets too. Write it in one place.")


def _parse_package(how: str, value: Any) -> str:
    pattern, example = (_NPM, "@scope/server@1.2.3") if how == "npm" else (_PIP, "mcp-server-time==1.2.3")
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise BadInput(f"{how}: name the package with its exact version, such as {example}.")
    return value


def _parse_args(field: str, value: Any) -> tuple[str, ...]:
    is_list = isinstance(value, list) and len(value) <= _MOST_ARGS
    if not is_list or not all(isinstance(one, str) and len(one) <= _MOST_ARG and "\0" not in one for one in value):
        raise BadInput(f"{field}: send a list of at most {_MOST_ARGS} texts of {_MOST_ARG:,} characters.")
    if field == "command" and not value[0].strip():
        raise BadInput("command: its first text is the program.")
    return tuple(value)


def _parse_env(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or len(value) > _MOST_NAMES:
        raise BadInput(f"env: send an object of at most {_MOST_NAMES} names with their values.")
    for name, text in value.items():
        if not _VARIABLE.fullmatch(name):
            raise BadInput(f"env: {name[:40]!r} is no name of an environment variable, such as LOG_LEVEL.")
        if not isinstance(text, str) or len(text) > _MOST_ARG or "\0" in text:
            raise BadInput(f"env: the value of {name} must be a text of at most {_MOST_ARG:,} characters.")
    return tuple(sorted(value.items()))


def _parse_names(field: str, value: Any, pattern: re.Pattern[str], example: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _MOST_NAMES:
        raise BadInput(f"{field}: send a list of at most {_MOST_NAMES} names, such as {example}.")
    for name in value:
        if not isinstance(name, str) or not pattern.fullmatch(name):
            raise BadInput(f"{field}: {str(name)[:40]!r} is no name such as {example}.")
    return tuple(dict.fromkeys(value))


def _parse_headers(value: Any) -> tuple[str, ...]:
    names = _parse_names("headers", value, _HEADER, "Authorization")
    for name in names:
        if _OURS.fullmatch(name):
            raise BadInput(f"headers: {name} is sent by the program itself. Leave it out.")
    if len({name.lower() for name in names}) < len(names):
        raise BadInput("headers: one of them stands there twice.")
    return names


def _parse_hosts(value: Any, private_hosts: frozenset[tuple[str, int]]) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > _MOST_NAMES:
        raise BadInput(f"hosts: send a list of at most {_MOST_NAMES} hosts, such as api.github.com.")
    return tuple(dict.fromkeys(_parse_host(one, private_hosts) for one in value))


def _parse_host(value: Any, private_hosts: frozenset[tuple[str, int]]) -> str:
    hint = "hosts: write each host alone, such as api.github.com, or with its port, such as api.example.com:8443."
    if not isinstance(value, str) or not value or any(char in value for char in "/?#@"):
        raise BadInput(hint)
    name, port = _split_port(value.strip(), 443)
    is_named = (name.lower(), port) in private_hosts
    try:
        link = parse_url(f"https://{value.strip()}/", UrlRules(ports=frozenset({port}), local_names=is_named))
    except BadInput as error:
        raise BadInput(f"{hint} {error.message}") from error
    return link.host if link.port == 443 else f"{link.host}:{link.port}"


def _parse_url(value: Any) -> str:
    hint = "url: write the server's whole address, such as https://mcp.example.com/mcp."
    if not isinstance(value, str):
        raise BadInput(hint)
    text = value.strip()
    scheme, _, rest = text.partition("://")
    if scheme not in ("https", "http"):
        raise BadInput(hint)
    _, port = _split_port(rest.partition("/")[0].partition("?")[0], 443 if scheme == "https" else 80)
    try:
        link = parse_url(text, UrlRules.of_own_server(scheme, port))
    except BadInput as error:
        raise BadInput(f"{hint} {error.message}") from error
    if scheme == "http" and _is_public(text, port):
        raise BadInput("url: this address isn't encrypted, so everybody on the way could read along. Use https://.")
    return link.url


def _is_public(text: str, port: int) -> bool:
    """It names something beyond the private network."""
    try:
        parse_url(text, UrlRules(plain_http=True, ports=frozenset({port})))
    except BadInput:
        return False
    return True


def _split_port(authority: str, usual: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{authority}")
        return parts.hostname or "", parts.port or usual
    except ValueError:  # it is no authority: whoever reads it next says so
        return "", usual
