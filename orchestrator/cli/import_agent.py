"""``import``: an agent comes over from a folder of OpenClaw, Hermes or nanobot, after a look at what would come."""

from __future__ import annotations

import argparse
import io
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.cli.client import ApiClient
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput, TooLarge
from orchestrator.core.text import one_line
from orchestrator.operations.agent_import.archive import MOST_DEPTH, MOST_ENTRIES, MOST_FILE_BYTES, MOST_ZIP_BYTES

_SHOWN = 8
"""Of each kind, on a terminal; ``--json`` has all."""
_NAMED_ONLY = re.compile(r"/(?:sessions|logs?|cache|media|runs|output|browser)/|\.(?:jsonl|db|sqlite)$")
"""Of these the name is enough to say that they don't come."""
_PASSED_BY = {".git", "node_modules", "__pycache__", ".venv", "venv"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = commands.add_parser("import", help="bring an agent over from OpenClaw, Hermes or nanobot")
    command.add_argument("folder", metavar="FOLDER", help="the other product's folder, or a zip of it")
    command.add_argument("--agent", metavar="NAME", help="a new agent of this name, or one that is there")
    command.add_argument("--dry-run", action="store_true", help="only say what would come")
    command.add_argument(
        "--with-secret", action="append", default=[], metavar="PATH", help="this file comes although it holds a secret"
    )
    add_yes(command)
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=_import)
    add_help(
        command,
        "Bring an agent over from a folder of OpenClaw, Hermes or nanobot: who it is, what it remembers, skills and\n"
        "schedules. It says first what would come and what would not. Schedules arrive paused. Files that look like\n"
        "secrets stay behind unless you name them.",
        "import ~/.openclaw --dry-run",
        "import ~/.hermes --agent juno",
        "import ~/.nanobot --with-secret .nanobot/workspace/TOOLS.md",
    )


def _import(context: Context, options: argparse.Namespace) -> int:
    content = _read(Path(options.folder).expanduser())
    with context.client as client:
        plan: dict[str, Any] = client.upload("/imports", content)
        name = options.agent or plan["name"]
        if options.dry_run:
            print_body(plan, as_json=options.json, lines=_plan_lines(plan, name))
            return 0
        if not options.json:
            print("\n".join(_plan_lines(plan, name)))
        confirm_deed(f"This imports all of that into {name}", yes=options.yes, undone="imported")
        body = client.post(f"/imports/{plan['id']}", _choice(client, plan, name, options.with_secret))
    print_body(body, as_json=options.json, lines=_done_lines(body))
    return 0


def _choice(client: ApiClient, plan: Mapping[str, Any], name: str, ticked: list[str]) -> dict[str, Any]:
    """What it is called comes along, unless another agent is called so already: then it is called by its name."""
    called = plan["persona"]["display_name"].casefold()
    taken = {
        str(agent[key]).casefold() for agent in client.get("/agents")["agents"] for key in ("name", "display_name")
    }
    return {"agent": name, "secrets": ticked, **({"display_name": ""} if called in taken else {})}


def _plan_lines(plan: Mapping[str, Any], name: str) -> list[str]:
    persona = plan["persona"]
    called = persona["display_name"] or name
    lines = [
        f"{one_line(called, 40)}, from {plan['product']} (time zone {plan['time_zone']}), would be the agent {name}."
    ]
    lines += (
        [f"Personality: {one_line(' '.join(persona['personality'].split()), 160)}"] if persona["personality"] else []
    )
    for one_title, title, found in (
        ("memory", "memories", [fact["text"] for fact in plan["memories"]]),
        ("file into in/", "files into in/", [f"{file['name']}  from {file['path']}" for file in plan["files"]]),
        ("schedule, paused", "schedules, paused", [f"{one['title']}: {one['when']}" for one in plan["schedules"]]),
        ("doesn't come", "don't come", [f"{one['path']}: {one['why']}" for one in plan["left_out"]]),
    ):
        if not found:
            continue
        lines += [
            "",
            _count(len(found), one_title, title),
            *(f"  {one_line(' '.join(text.split()), 150)}" for text in found[:_SHOWN]),
        ]
        lines += [f"  … and {len(found) - _SHOWN:,} more"] if len(found) > _SHOWN else []
    if plan["secrets"]:
        told = _count(len(plan["secrets"]), "file looks like a secret and stays", "files look like secrets and stay")
        lines += ["", f"{told} behind, unless you add --with-secret PATH"]
        lines += [f"  {one_line(one['path'], 200)}: {one_line(one['why'])}" for one in plan["secrets"]]
    return [*lines, ""]


def _done_lines(body: Mapping[str, Any]) -> list[str]:
    counts = ", ".join(
        (
            _count(body["memories"], "memory", "memories"),
            _count(body["files"], "file", "files"),
            f"{_count(body['schedules'], 'schedule', 'schedules')} (paused)",
        )
    )
    lines = [f"{body['agent']} has {counts}. Talk to it: ./hermit chat {body['agent']}"]
    if body["pending"]:
        waiting = _count(body["pending"], "file waits", "files wait")
        lines.append(f"{waiting} for room on the disk; the next start tries again.")
    return lines


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _read(path: Path) -> bytes:
    """The zip, or the folder as one. Raises BadInput or TooLarge."""
    shown = one_line(str(path))
    try:
        if path.is_dir():
            return _pack(path)
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadInput(f"{shown} is neither a folder nor a zip.")
            content = file.read(MOST_ZIP_BYTES + 1)
    except OSError as error:
        raise BadInput(f"{shown} can't be read ({error.strerror}).") from error
    if len(content) > MOST_ZIP_BYTES:
        raise TooLarge(f"{shown} is larger than {MOST_ZIP_BYTES >> 20} MB. Leave out media and conversations.")
    return content


def _pack(folder: Path) -> bytes:
    """Small files as they are; of large ones the name alone. Links are not followed."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for count, (name, file) in enumerate(_walk(folder, folder.resolve().name)):
            if count >= MOST_ENTRIES:
                raise TooLarge(f"The folder holds more than {MOST_ENTRIES:,} files. Name the workspace in it instead.")
            is_named = _NAMED_ONLY.search(name) is not None
            archive.writestr(zipfile.ZipInfo(name), b"" if is_named else _content(file), zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _walk(folder: Path, name: str, depth: int = 1) -> Iterator[tuple[str, Path]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            path = f"{name}/{entry.name}"
            if entry.is_symlink() or not entry.name.isprintable() or "\\" in entry.name:
                continue
            if entry.is_dir() and entry.name not in _PASSED_BY and depth < MOST_DEPTH:
                yield from _walk(Path(entry.path), path, depth + 1)
            elif entry.is_file(follow_symlinks=False):
                yield path, Path(entry.path)


def _content(file: Path) -> bytes:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            return b""
        content = opened.read(MOST_FILE_BYTES + 1)
    return content if len(content) <= MOST_FILE_BYTES else b""
