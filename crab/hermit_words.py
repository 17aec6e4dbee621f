"""From the words of a command line to a call: strict about what it does not know, and clear about what is missing.

Pure: no files, no door. What the values may be the host says; here is only where each belongs.
"""

from __future__ import annotations

from crab.hermit_commands import Command, Option

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Misused(Exception):
    """The words make no command; the text is one sentence."""


class CommandRequest:
    """What is asked for."""

    __slots__ = ("fields", "is_json", "local", "waits", "wants_help")

    def __init__(self) -> None:
        self.fields: dict[str, object] = {}
        self.local: dict[str, object] = {}
        """What is for the command alone."""
        self.is_json = False
        self.wants_help = False
        self.waits = True


def parse_words(command: Command, words: list[str]) -> CommandRequest:
    """The request that these words mean; raises Misused."""
    request, loose = CommandRequest(), list[str]()
    known = {option.name: option for option in command.options}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            loose += words[at:]
            break
        if word in ("-h", "--help"):
            if "help" in known and loose:
                request.fields["help"] = True
            else:
                request.wants_help = True
        elif word == "--json" and not ("json" in known and words[at : at + 1] and words[at].lstrip().startswith("{")):
            request.is_json = True
        elif word == "--no-wait" and "no-wait" in known:
            request.waits = False
        elif word.startswith("--"):
            at = _take_option(command, known, request, words, at - 1)
        elif len(word) > 1 and word[0] == "-" and not word[1:2].isdigit() and " " not in word:
            raise Misused(f"there is no {word}. Usage: {command.usage}")
        else:
            loose.append(word)
    if not request.wants_help:
        _place_word(command, request, loose)
        _join_choices(request)
        request.local = {name: request.fields.pop(name) for name in command.local if name in request.fields}
    return request


def _take_option(command: Command, known: dict[str, Option], request: CommandRequest, words: list[str], at: int) -> int:
    """Reads the option at this place; where the next word is."""
    name, equals, value = words[at][2:].partition("=")
    option = known.get(name.lower().replace("_", "-"))
    if option is None:
        raise Misused(f"there is no --{name}. Usage: {command.usage}")
    at += 1
    if option.is_flag:
        if equals:
            raise Misused(f"--{name} takes no value. Usage: {command.usage}")
        request.fields[option.field] = True
        return at
    if not equals:
        if at >= len(words) or words[at].startswith("--"):
            raise Misused(f"--{name} needs a value. Usage: {command.usage}")
        value = words[at]
        at += 1
    if option.is_list:
        before = request.fields.get(option.field)
        request.fields[option.field] = [*(before if isinstance(before, list) else []), value]
    elif option.field in request.fields:
        raise Misused(f"--{name} is there twice; give it once.")
    else:
        request.fields[option.field] = _parse_seconds(name, value) if option.is_time else value
    return at


def _parse_seconds(name: str, value: str) -> int:
    number, unit = (value[:-1], value[-1].lower()) if value[-1:].lower() in _UNITS else (value, "s")
    if not (number.isascii() and number.isdecimal() and len(number) < 8):
        raise Misused(f"--{name} must be a number of seconds, or such as 10m or 2h.")
    return int(number) * _UNITS[unit]


def _place_word(command: Command, request: CommandRequest, loose: list[str]) -> None:
    """What stands without a name goes to its place."""
    request.fields = {**command.fields, **request.fields}
    left = list(loose)
    for place in command.places:
        name = place.rstrip("?…*")
        if not left:
            if place.endswith("?") or name in request.fields:
                continue
            raise Misused(f"{name.upper()} is missing. Usage: {command.usage}")
        if place.endswith("…"):
            request.fields[name], left = " ".join(left), []
        elif "*" in place:
            request.fields[name], left = left, []
        else:
            request.fields[name] = left.pop(0)
    if left:
        raise Misused(f"'{left[0]}' is one too many (put text with spaces into quotes). Usage: {command.usage}")
    missing = [
        option for option in command.options if option.field in command.needs and option.field not in request.fields
    ]
    if missing:
        raise Misused(f"--{missing[0].name} is missing. Usage: {command.usage}")


def _join_choices(request: CommandRequest) -> None:
    """Choices may be given in two ways; the host takes one list."""
    single = request.fields.pop("choice", None)
    together = request.fields.get("choices")
    if isinstance(together, str):
        request.fields["choices"] = [choice.strip() for choice in together.split(",") if choice.strip()]
    if isinstance(single, list):
        listed = request.fields.get("choices")
        request.fields["choices"] = [*(listed if isinstance(listed, list) else []), *single]
