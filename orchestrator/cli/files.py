"""``files``: list, find, fetch, send, move and delete files of an agent's workspace. What it writes on this machine
replaces nothing unless told so, and has a name that is safe here."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, unquote_to_bytes

from orchestrator.cli.client import ApiClient, agent_path
from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, format_table, print_body
from orchestrator.cli.help import add_help
from orchestrator.cli.upload import Meter, upload_file
from orchestrator.core.errors import BadInput, Conflict
from orchestrator.core.text import one_line
from orchestrator.files.names import display_path, parts_of, safe_name


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its verbs."""
    files = commands.add_parser("files", help="files of an agent's workspace: ls, get, put, mv, mkdir, rm")
    verbs = files.add_subparsers(dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("ls", help="what is in a folder, e.g. ls crab out")
    listing.add_argument("--json", action="store_true", help="print JSON")
    listing.add_argument("--find", metavar="WORDS", help="what has all the words in its name, in the folder or below")
    getting = verbs.add_parser("get", help="fetch a file, e.g. get crab out/report.pdf")
    getting.add_argument("-o", "--output", metavar="FILE", help="where to; - is standard output")
    getting.add_argument("--force", action="store_true", help="replace a file that is there")
    getting.add_argument(
        "--zip", action="store_true", help="fetch a folder, or without PATH everything, as one archive"
    )
    putting = verbs.add_parser("put", help="send files into in/, e.g. put crab report.pdf")
    moving = verbs.add_parser("mv", help="rename or move, e.g. mv crab work/a.txt work/b.txt")
    making = verbs.add_parser("mkdir", help="make a folder, e.g. mkdir crab work/notes")
    removing = verbs.add_parser("rm", help="delete files, or folders with all that is in them")
    for verb, run in (
        (listing, _list),
        (getting, _get),
        (putting, _put),
        (moving, _move),
        (making, _make_folders),
        (removing, _remove),
    ):
        verb.add_argument("agent", metavar="AGENT")
        verb.add_argument("--user", metavar="ID", type=int, help="another person's workspace (operator)")
        verb.set_defaults(run=run)
    for verb in (listing, getting):
        verb.add_argument("path", metavar="PATH", nargs="?", default="", help="in the workspace, e.g. out/report.pdf")
    putting.add_argument("files", metavar="FILE", nargs="+", type=Path, help="on this machine")
    for verb in (moving, making, removing):
        verb.add_argument("paths", metavar="PATH", nargs="+", help="in the workspace")
    moving.add_argument("to", metavar="TO", help="its new path; a folder that is there ends with /")
    add_yes(removing)
    _add_helps(
        files, listing=listing, getting=getting, putting=putting, moving=moving, making=making, removing=removing
    )


def _add_helps(files: argparse.ArgumentParser, **verbs: argparse.ArgumentParser) -> None:
    add_help(
        files,
        "Files of your workspace with an agent: what you sent is in in/, what it made for you in out/.",
        "files ls crab out",
        "files get crab out/report.pdf",
        "files put crab a.pdf b.csv",
    )
    add_help(
        verbs["listing"],
        "What is in a folder of your workspace.",
        "files ls crab",
        "files ls crab --find report",
        "files ls crab out --json",
    )
    add_help(
        verbs["getting"],
        "Fetch a file, or with --zip a folder. Nothing here is replaced without --force.",
        "files get crab out/report.pdf",
        "files get crab out/report.pdf -o - | less",
        "files get crab out --zip",
    )
    add_help(verbs["putting"], "Send files into in/.", "files put crab report.pdf", "files put crab a.pdf b.csv")
    add_help(
        verbs["moving"],
        "Rename files and folders, or move them into a folder, which ends with /. Nothing is replaced.",
        "files mv crab work/a.txt work/b.txt",
        "files mv crab work/a.txt work/b.txt out/",
    )
    add_help(verbs["making"], "Make folders.", "files mkdir crab work/notes")
    add_help(verbs["removing"], "Delete files, or folders with all that is in them.", "files rm crab work/build")


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        entries = list(_entries(client, options))
    called = _path if options.find else _name
    rows = [(entry["modified"][:16].replace("T", " "), _size(entry), called(entry)) for entry in entries]
    width = max((len(size) for _, size, _ in rows), default=0)
    head = ("MODIFIED (UTC)", "SIZE", "NAME")
    padded = [(at, size.rjust(width), name) for at, size, name in rows]
    lines = [context.paint(line, "bold") if n == 0 else line for n, line in enumerate(format_table(padded, head=head))]
    print_body({"entries": entries}, as_json=options.json, lines=lines)
    return 0


def _get(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        if options.output == "-":
            with _download(client, options.agent, options.path, user=options.user, as_zip=options.zip) as pieces:
                _write(sys.stdout.buffer, pieces)
            return 0
        target = fetch_file(
            client,
            options.agent,
            options.path,
            wanted=options.output,
            user=options.user,
            as_zip=options.zip,
            may_replace=options.force,
        )
    print(one_line(str(target), 500))
    return 0


def fetch_file(
    client: ApiClient,
    agent: str,
    path: str,
    *,
    wanted: str | None = None,
    user: int | None = None,
    as_zip: bool = False,
    may_replace: bool = False,
    shows_progress: bool = True,
) -> Path:
    """A file of an agent is in this folder, or at ``wanted``; where it is. Raises Conflict when something is there, and
    BadInput for a folder that was not asked for as an archive."""
    target = _target(wanted, _local_name(agent, path, as_zip=as_zip), may_replace=may_replace)
    with (
        _download(client, agent, path, user=user, as_zip=as_zip, shows_progress=shows_progress) as pieces,
        _new_file(target, may_replace=may_replace) as file,
    ):
        _write(file, pieces)
    return target


@contextmanager
def _download(
    client: ApiClient, agent: str, path: str, *, user: int | None, as_zip: bool, shows_progress: bool = True
) -> Iterator[Iterable[bytes]]:
    with client.download(remote_path(agent, path), user=user, zip="1" if as_zip else None) as answer:
        if "Content-Disposition" not in answer.headers:
            shown = display_path(*os.fsencode(path.rstrip("/")).split(b"/"))
            raise BadInput(f"{shown or 'This'} is a folder. Add --zip to fetch it as an archive.")
        length = answer.headers.get("Content-Length")
        name = _local_name(agent, path, as_zip=as_zip)
        meter = Meter(name, int(length) if length else None, is_shown=shows_progress)
        yield meter.count_pieces(client.read_pieces(answer))


def _local_name(agent: str, path: str, *, as_zip: bool) -> str:
    last = os.fsencode(path.rstrip("/")).split(b"/")[-1]
    return safe_name(last or agent) + (".zip" if as_zip else "")


def _put(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        for file in options.files:
            stored = upload_file(client, options.agent, file, user=options.user)
            print(f"{display_path(unquote_to_bytes(stored['path']))}  {stored['size']:,} bytes  {stored['type']}")
    return 0


def _move(context: Context, options: argparse.Namespace) -> int:
    into = options.to.endswith("/")
    if len(options.paths) > 1 and not into:
        raise BadInput("Several are moved into a folder: end its path with /.")
    to = parts_of(options.to.removesuffix("/"))
    with context.client as client:
        for path in options.paths:
            remote, parts = remote_path(options.agent, path), parts_of(path.removesuffix("/"))
            target = (*to, parts[-1]) if into else to
            body = {"to": "/".join(quote(part, safe="") for part in target)}
            moved = client.patch(remote, body, user=options.user)
            print(f"{one_line(path, 300)} is now {display_path(unquote_to_bytes(moved['path']))}")
    return 0


def _make_folders(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        for path in options.paths:
            made = client.post(remote_path(options.agent, path), user=options.user)
            print(f"{display_path(unquote_to_bytes(made['path']))}/ is made.")
    return 0


def _remove(context: Context, options: argparse.Namespace) -> int:
    remotes = [(path, remote_path(options.agent, path)) for path in options.paths]
    named = ", ".join(one_line(path, 100) for path in options.paths[:5])
    more = f" and {len(remotes) - 5} more" if len(remotes) > 5 else ""
    confirm_deed(f"This deletes {named}{more} from {options.agent}'s workspace", yes=options.yes)
    with context.client as client:
        for path, remote in remotes:
            client.delete(remote, user=options.user)
            print(f"{one_line(path, 500)} is deleted.")
    return 0


# --- there -----------------------------------------------------------------------------------------------------


def _entries(client: ApiClient, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    path, after = remote_path(options.agent, options.path), None
    while True:
        body = client.get(path, after=after, limit=1000, find=options.find, user=options.user)
        if not isinstance(body, dict) or "entries" not in body:
            raise BadInput(f"{one_line(options.path)} is a file. './hermit files get' fetches it.")
        yield from body["entries"]
        if options.find and not body["is_complete"]:
            print("There may be more: not everything was looked at.", file=sys.stderr)
        if (after := body["next"]) is None:
            return


def remote_path(agent: str, path: str) -> str:
    """The URL of what somebody typed, whatever bytes are in it; raises UnsafePath where it would lead elsewhere."""
    parts = parts_of(path.removesuffix("/"))
    return agent_path(agent, "/files/" + "/".join(quote(part, safe="") for part in parts))


def _size(entry: dict[str, Any]) -> str:
    return f"{entry['size']:,}" if entry["kind"] == "file" else ""


def _path(entry: dict[str, Any]) -> str:
    """Where it lies, for what was found somewhere below."""
    return _name({**entry, "name": display_path(unquote_to_bytes(entry["path"]))})


def _name(entry: dict[str, Any]) -> str:
    ends = {"file": "", "folder": "/", "other": "  (a link or another special file)"}
    return one_line(entry["name"], 500) + ends.get(entry["kind"], "")


# --- here ------------------------------------------------------------------------------------------------------


def _target(wanted: str | None, name: str, *, may_replace: bool) -> Path:
    """Where to write; raises Conflict when something is there."""
    target = Path(wanted or name)
    if target.is_dir():
        target /= name
    _check_free(target, may_replace=may_replace)
    return target


def _check_free(target: Path, *, may_replace: bool) -> None:
    if not may_replace and os.path.lexists(target):
        raise Conflict(f"{target} is there already. Add --force to replace it, or -o FILE for another name.")


@contextmanager
def _new_file(target: Path, *, may_replace: bool) -> Iterator[BinaryIO]:
    """A file that has its name once it is whole, and is gone when it does not become so."""
    part = target.with_name(f".hermit-{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            yield file
        _check_free(target, may_replace=may_replace)
        part.replace(target)
    except OSError as error:
        raise BadInput(f"{target} can't be written ({error.strerror}).") from error
    finally:
        with suppress(OSError):
            part.unlink()


def _write(file: BinaryIO, pieces: Iterable[bytes]) -> None:
    file.writelines(pieces)
    file.flush()
