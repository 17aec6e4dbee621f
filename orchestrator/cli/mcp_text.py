"""What ``mcp`` prints of a server: its words are told as its words. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.core.text import one_line, terminal_safe

_DECIDED = {"off": "off", "asks": "asks", "free": "free"}
_STATES = {
    "new": "new, off until you accept it",
    "changed": "changed, off until you accept it",
    "gone": "no longer there",
    "unchecked": "to be checked again",
}
_LONGEST = 2_000


def list_news(server: dict[str, Any]) -> str:
    """What an operator has to do about a server, in a few words."""
    if not server["is_enabled"]:
        return "off"
    if missing := [one["name"] for one in server["secrets"] if not one["is_set"]]:
        return f"set {', '.join(missing)}"
    if server["checked_at"] is None:
        return "check it"
    return f"accept {server['waiting']}" if server["waiting"] else ""


def list_server(body: dict[str, Any]) -> list[str]:
    """A server with everything that it says."""
    runs = body["package"] or body["url"] or "a command"
    secrets = ", ".join(f"{one['name']} ({'set' if one['is_set'] else 'not set'})" for one in body["secrets"])
    facts = (
        ("runs", " ".join((runs, *body["args"]))),
        ("hosts", ", ".join(body["hosts"]) or ("" if body["url"] else "none: it has no network")),
        ("env", ", ".join(f"{name}={value}" for name, value in body["env"].items())),
        ("secrets", secrets),
        ("used by", ", ".join(body["agents"]) or "nobody: './hermit mcp give' lets an agent use it"),
        ("added by", body["created_by"]),
        ("to do", list_news(body)),
    )
    lines = [f"{label:9} {one_line(text, 1_000)}" for label, text in facts if text]
    if body["tools"] or body["said"]:
        lines += ["", "What follows are the server's own words."]
    for tool in body["tools"]:
        holds = _STATES.get(tool["state"]) or _DECIDED[tool["decision"]]
        claims = f" It claims: {', '.join(tool['claims'])}." if tool["claims"] else ""
        arguments = ", ".join(tool["arguments"])
        lines += [
            "",
            f"{one_line(tool['name'])}({one_line(arguments, 500)}) — {holds}.{claims}",
            *_indent(tool["description"]),
        ]
    for said in body["said"]:
        lines += ["", f"{said['kind']} {one_line(said['name'])} — {_STATES.get(said['state'], 'seen')}"]
        lines += _indent(said["description"])
    return lines


def list_differences(waiting: list[dict[str, Any]]) -> list[str]:
    """What is new or has changed, in words."""
    lines = ["What follows are the server's own words."]
    for one in waiting:
        name = f"{one['kind']} {one_line(one['name'])}".strip()
        lines += ["", f"{name}: {_STATES[one['state']]}"]
        if one["difference"] is None:
            lines += _indent(one["description"])
            continue
        if one["difference"]["is_notation_only"]:
            lines.append("  It says the same in other notation.")
        for part in one["difference"]["parts"]:
            lines += [f"  {one_line(part['where'], 400)}", *_sided(part)]
        if one["difference"]["more"]:
            lines.append(f"  and {one['difference']['more']} more places: './hermit mcp show NAME --json' has all.")
    return lines


def list_plan(plan: dict[str, Any]) -> list[str]:
    """What a file of another program lists."""
    lines = []
    for one in plan["proposals"]:
        fields = one["fields"]
        runs = fields.get("npm") or fields.get("pip") or fields.get("url") or ""
        lines.append(f"{one['name']}: {one_line(' '.join((runs, *fields.get('args', []))), 300)}")
        lines += [f"  {one_line(sentence, 300)}" for sentence in (*one["needs"], *one["notes"])]
        if one["asks_for"]:
            lines.append(f"  Secrets to set: {', '.join(map(one_line, one['asks_for']))}.")
    lines += [f"Can't be taken: {one_line(sentence, 400)}" for sentence in plan["refused"]]
    return lines


def _sided(part: dict[str, Any]) -> Iterator[str]:
    for sign, side in (("-", part["before"]), ("+", part["after"])):
        if side is not None:
            yield from (f"    {sign} {line}" for line in terminal_safe(side).splitlines() or [""])


def _indent(text: str) -> list[str]:
    return [f"  {line}" for line in terminal_safe(text[:_LONGEST]).splitlines()]
