"""``hermit``: what the host does for the agent, as a command for scripts and programs of every kind.

Reads the command line, puts one call to the door under a random id, waits while a person is asked, prints what came of
it and ends with a code that scripts can use. Knows nothing of how the host decides; the door says whose call it is.
"""

from __future__ import annotations

import json
import os

from crab.door import Door, DoorRefused
from crab.hermit_commands import FILE, Command, CommandList, read_commands
from crab.hermit_files import NoFile, into_out, within
from crab.hermit_words import CommandRequest, Misused, parse_words

DONE, FAILED, MISUSED, REFUSED, NOT_OFFERED, INTERRUPTED = 0, 1, 2, 3, 4, 130
NO_CODES = frozenset({"denied", "expired", "cancelled"})
"""How a person's answer, or the lack of one, is called in a call's result."""
PATIENCE_S = 600.0
"""How long a host that does not answer is tried again: it may be restarted meanwhile."""
HELP_PATIENCE_S = 3.0
POLL_S = 25
PYTHON = "/usr/bin/python3"
MOST_READ = 5
"""So many addresses are read at once."""


class NotOffered(Exception):
    """This agent does not have it."""


def main(arguments: list[str], run: str = "/run/hermit", workspace: str = "/app/workspace") -> int:
    """Does what the command line says; the exit code."""
    try:
        return _main(arguments, f"{run}/door.sock", workspace)
    except Misused as misused:
        return _print_error(str(misused), MISUSED)
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(arguments: list[str], door: str, workspace: str) -> int:
    words = arguments[1:] if arguments[:1] == ["help"] else arguments
    is_help = words is not arguments or not words or words[0] in ("-h", "--help")
    try:
        with open(f"{workspace}/data/{FILE}", encoding="utf-8") as file:
            commands = read_commands(file.read())
    except (OSError, ValueError, TypeError, LookupError):
        return _print_error("the host has not said yet what it does for you. Try again later.", FAILED)
    if is_help and (not words or words[0].startswith("-")):
        with Door(door, patience_s=HELP_PATIENCE_S) as opened:
            return _print_line(commands.get_overview(_list_offered(opened)))
    command, count = commands.find_command(words)
    if command is None:
        return _no_command(commands, words, is_help=is_help)
    request = parse_words(command, ["--help"] if is_help else words[count:])
    return _print_line(command.page()) if request.wants_help else _run_request(command, request, door, workspace)


# --- calling ---------------------------------------------------------------------------------------------------


def _run_request(command: Command, request: CommandRequest, door: str, workspace: str) -> int:
    """What came of it is said; the exit code."""
    try:
        if command.file:
            request.fields[command.file] = into_out(str(request.fields[command.file]), workspace)
        for field in command.paths:
            request.fields[field] = [within(path, workspace) for path in _list_of(request.fields[field])]
        with Door(door, patience_s=PATIENCE_S) as opened:
            if command.reads:
                return _read_all(opened, command, request)
            call = _wait_call(opened, _make_call(opened, command.call, request.fields), request)
        return _print_report(call, request)
    except NoFile as error:
        return _print_error(str(error), FAILED, request, "no_file")
    except NotOffered as error:
        return _print_error(str(error), NOT_OFFERED, request, "not_available")
    except DoorRefused as refused:
        return _print_error(refused.message, FAILED, request, refused.code)


def _list_of(given: object) -> list[str]:
    return list(map(str, given)) if isinstance(given, list) else [str(given)]


def _read_turn() -> int | None:
    """The turn whose command this program belongs to, by the mark that its shell put on it; a terminal has none."""
    number = os.environ.get("HERMIT_STEP", "").partition(".")[0]
    return int(number) if number.isdecimal() and len(number) < 16 else None


def _make_call(door: Door, name: str, fields: dict[str, object]) -> dict[str, object]:
    """Put one call; what the host says of it. Raises NotOffered and DoorRefused."""
    call_id = os.urandom(12).hex()
    try:
        call = door.post("calls", {"call": call_id, "name": name, "fields": fields, "turn": _read_turn()})
    except DoorRefused as refused:
        if refused.code == "not_found" and name not in (_list_offered(door) or {name}):
            raise NotOffered(refused.message) from None
        raise
    return {**call, "call": call_id}


def _wait_call(door: Door, call: dict[str, object], request: CommandRequest) -> dict[str, object]:
    """The call at its end, or while it waits and nobody wants to wait. Raises DoorRefused."""
    call_id, told = call["call"], ""
    while call.get("status") == "waiting" and request.waits:
        if told != (told := str(call.get("text") or "Waiting.")):
            _write_bytes(2, told)
        call = {**(door.get(f"calls/{call_id}?wait={POLL_S}") or {}), "call": call_id}
    return call


def _read_all(door: Door, command: Command, request: CommandRequest) -> int:
    """Each address is asked for at once, and what comes is printed as text, one after the other; the exit code of the
    last one that failed."""
    others, code = request.local.get("others"), DONE
    urls = [str(request.fields.get(command.reads) or ""), *map(str, others if isinstance(others, list) else ())]
    if len(urls) > MOST_READ:
        raise Misused(f"{len(urls)} addresses are too many at once; read up to {MOST_READ}.")
    name, fields = command.call, dict(request.fields)
    if request.local.get("browser"):
        name, fields = "BROWSER", {"do": "read", "why": str(fields.get("description") or "")}
    calls = [_make_call(door, name, {**fields, command.reads: url}) for url in urls]
    for url, made in zip(urls, calls, strict=True):
        call = _wait_call(door, made, request)
        if not os.path.exists(_path_of(call) or "/"):  # an earlier copy, which was deleted
            again = {**fields, command.reads: url}
            again.pop("max_age", None)
            call = _wait_call(door, _make_call(door, name, again), request)
        if len(urls) > 1 and not request.is_json:
            _print_line(f"== {url}")
        path = _path_of(call)
        ended = _read_file(path, url, request) if path else _print_report(call, request)
        code = ended or code
    return code


def _path_of(call: dict[str, object]) -> str:
    """The file that came of it; empty where none did."""
    given = call.get("result")
    return str(given.get("path") or "") if isinstance(given, dict) and call.get("status") == "done" else ""


def _read_file(path: str, url: str, request: CommandRequest) -> int:
    """What lies there is printed; a program of its own does it, as no other command needs that."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hermit_read.py")
    form = "json" if request.is_json else "links" if request.local.get("links") else "text"
    arguments = [PYTHON, "-Xutf8", program, path, url, str(request.local.get("from", 0)), form]
    return FAILED if os.spawnv(os.P_WAIT, PYTHON, arguments) else DONE  # noqa: S606 - no shell is wanted


def _print_report(call: dict[str, object], request: CommandRequest) -> int:
    given, text = call.get("result"), str(call.get("text") or "")
    result = given if isinstance(given, dict) else {}
    if call.get("status") == "failed":
        code = str(result.get("code") or "failed")
        return _print_error(text, REFUSED if code in NO_CODES else FAILED, request, code)
    if call.get("status") == "done" and "folder" in result:
        return _install_packages(result, text, request)
    if call.get("status") == "waiting":
        result = {**result, "call": call.get("call"), "status": "waiting"}
    return _print_line(json.dumps(result, ensure_ascii=False, indent=1) if request.is_json else text)


def _install_packages(result: dict[str, object], text: str, request: CommandRequest) -> int:
    """The packages are there; what installs them is a program of its own, as no other command needs it."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hermit_install.py")
    arguments = [PYTHON, "-ISXutf8", program, str(result["folder"]), os.environ.get("HOME", "/app/workspace/work")]
    if os.spawnv(os.P_WAIT, PYTHON, arguments):  # noqa: S606 - no shell is wanted
        return _print_error("the packages are there, but were not installed.", FAILED, request, "not_installed")
    return _print_line(
        json.dumps(result, ensure_ascii=False, indent=1) if request.is_json else f"{text} They are installed."
    )


def _list_offered(door: Door) -> frozenset[str] | None:
    """The names of what this agent may call; None where the host does not say."""
    try:
        commands = (door.get("calls") or {}).get("commands")
    except DoorRefused:
        return None
    return frozenset(map(str, commands)) if isinstance(commands, list) else None


# --- saying ----------------------------------------------------------------------------------------------------


def _no_command(commands: CommandList, words: list[str], *, is_help: bool) -> int:
    """A first word alone lists its commands; anything else is a mistake, with the nearest command named."""
    first, rest = words[0].lower(), [word for word in words[1:] if word not in ("-h", "--help", "--json")]
    groups = commands.list_groups()
    if first not in groups:
        return _print_error(
            f"there is no hermit {words[0]}. There are {', '.join(groups)}; 'hermit --help' tells more."
        )
    choices = f"There are {', '.join(command.words.split()[-1] for command in groups[first])}."
    if rest:
        return _print_error(f"there is no hermit {first} {rest[0]}. {choices}")
    asked = is_help or len(words) > 1
    return (
        _print_line(commands.get_overview(None, first))
        if asked
        else _print_error(f"hermit {first} needs another word. {choices}")
    )


def _print_error(text: str, code: int = MISUSED, request: CommandRequest | None = None, name: str = "") -> int:
    line = " ".join(text.split())
    if request is not None and request.is_json:
        _write_bytes(1, json.dumps({"error": {"code": name, "message": line}}, ensure_ascii=False))
    _write_bytes(2, f"hermit: {line}")
    return code


def _print_line(text: str) -> int:
    _write_bytes(1, text)
    return DONE


def _write_bytes(file: int, text: str) -> None:
    """Bytes, so that no setting of the environment makes a character fail; a reader that went away is no matter."""
    left = text.encode("utf-8", "replace") + b"\n"
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        pass  # `hermit … | head -1`
