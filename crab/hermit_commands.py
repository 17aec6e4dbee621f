"""The commands of ``hermit``: their words, what each asks of the host, and their help. It runs nothing.

The host describes each command beside what the command asks for, and writes all of them into one file that its cubicles
read; both sides share these classes. Help is for a small model as much as for a person: a usage line, a sentence, one
example that works.
"""

from __future__ import annotations

import json

FILE = "hermit.json"
"""Where they stand in ``data/``."""

EXIT_CODES = """\
Exit codes: 0 done; 1 it failed; 2 the command was not understood; 3 the person said no, or nobody answered in time;
4 this agent does not have it. What went wrong is one line on stderr."""
ALIASES = {
    "create": "add",
    "new": "add",
    "ls": "list",
    "change": "update",
    "edit": "update",
    "set": "update",
    "delete": "rm",
    "remove": "rm",
    "del": "rm",
    "forget": "rm",
    "find": "search",
}
"""Other words for the second one of a command."""


class Option:
    """``--name``; with a ``field`` it fills that field of the call."""

    __slots__ = ("field", "help", "is_list", "is_time", "name", "value")

    def __init__(
        self,
        name: str,
        help: str,  # noqa: A002 - what it is
        *,
        value: str = "",
        field: str = "",
        is_list: bool = False,
        is_time: bool = False,
    ) -> None:
        self.name = name
        self.help = help
        self.value = value
        """What stands for its value in a usage line; empty for a flag, which takes none."""
        self.field = field or name.replace("-", "_")
        self.is_list = is_list
        """It may be there several times."""
        self.is_time = is_time
        """A length of time, sent as whole seconds."""

    @property
    def is_flag(self) -> bool:
        """It takes no value."""
        return not self.value


class Command:
    """One command: the call it makes, and how its words become the call's fields."""

    __slots__ = (
        "call",
        "example",
        "fields",
        "file",
        "help",
        "local",
        "needs",
        "options",
        "paths",
        "places",
        "reads",
        "words",
    )

    def __init__(
        self,
        words: str,
        help: str,  # noqa: A002 - what it is
        *,
        places: tuple[str, ...] = (),
        options: tuple[Option, ...] = (),
        fields: dict[str, object] | None = None,
        needs: tuple[str, ...] = (),
        example: str = "",
        file: str = "",
        call: str = "",
        local: tuple[str, ...] = (),
        reads: str = "",
        paths: tuple[str, ...] = (),
    ) -> None:
        self.words = words
        self.call = call
        """The action that it asks for; the action itself sets it."""
        self.help = help
        self.places = places
        """What stands without a name, in order: ``field``, ``field?`` where it may be left out, ``field…`` for all the
        rest of the line as one text, ``field*`` for all the rest as a list (``field*?`` where there may be none)."""
        self.options = options
        self.fields = fields or {}
        """What is always sent."""
        self.needs = needs
        """Fields of options that can't be left out."""
        self.example = example
        self.file = file
        """The field that names a file to be sent: it is brought into ``out/`` first."""
        self.local = tuple(local)
        """Fields for what the command does with the result; the host never hears them."""
        self.reads = reads
        """The field that names what is fetched to be read: the file that comes of it is printed as text."""
        self.paths = tuple(paths)
        """Fields that name files of the workspace, as lists: the host gets their paths within it."""

    @property
    def usage(self) -> str:
        """Its one line."""
        parts = ["hermit", self.words]
        for place in self.places:
            name = place.rstrip("?…*").upper()
            shown = f"{name}…" if "*" in place else name
            may_miss = place.endswith("?") or place.rstrip("*") in self.fields
            parts.append(f"[{shown}]" if may_miss else shown)
        for option in self.options:
            given = f"--{option.name} {option.value}".strip()
            parts.append(given if option.field in self.needs else f"[{given}]")
        return " ".join(parts)

    def page(self) -> str:
        """Its help."""
        lines = [self.usage, "", self.help]
        given = [(f"--{option.name} {option.value}".strip(), option.help) for option in self.options]
        if not any(option.name == "json" for option in self.options):
            given.append(("--json", "print the result as JSON"))
        width = max(len(name) for name, _ in given)
        lines += ["", *(f"  {name:{width}}  {told}" for name, told in given)]
        if self.example:
            lines += ["", "Example:", f"  {self.example}"]
        return "\n".join([*lines, "", EXIT_CODES])


class CommandList:
    """Those that there are, in order."""

    __slots__ = ("every",)

    def __init__(self, every: tuple[Command, ...]) -> None:
        self.every = every

    def find_command(self, words: list[str]) -> tuple[Command | None, int]:
        """The command that the first words name, and how many they are."""
        plain = [word.lower() for word in words[:2]]
        for count in (2, 1):
            if len(plain) < count:
                continue
            wanted = [ALIASES.get(word, word) if at else word for at, word in enumerate(plain[:count])]
            for command in self.every:
                if command.words.split() in (plain[:count], wanted):
                    return command, count
        return None, 0

    def list_groups(self) -> dict[str, list[Command]]:
        """The commands by their first word."""
        found: dict[str, list[Command]] = {}
        for command in self.every:
            found.setdefault(command.words.split()[0], []).append(command)
        return found

    def get_overview(self, offered: frozenset[str] | None, word: str = "") -> str:
        """What there is: of one group, or all that is offered; None where nobody could be asked."""
        listed = [
            c for c in self.every if (not word or c.words.split()[0] == word) and (offered is None or c.call in offered)
        ]
        if not listed:
            return "This agent has none of the host's commands."
        width = max(len(command.words) for command in listed)
        lines = [f"  hermit {command.words:{width}}  {command.help}" for command in listed]
        head = "What the host does for you:" if not word else f"hermit {word}:"
        foot = "Each has --help and --json."
        if offered is None and not word:
            foot += " The host could not be asked what of it this agent has."
        return "\n".join([head, *lines, "", foot, EXIT_CODES])


def write_commands(commands: CommandList) -> str:
    """The file's text."""
    listed = [_stored(one) | {"options": [_stored(option) for option in one.options]} for one in commands.every]
    return json.dumps(listed, ensure_ascii=False)


def read_commands(text: str) -> CommandList:
    """The commands of the file; raises ValueError, TypeError or LookupError for anything else."""
    listed = json.loads(text)
    return CommandList(
        tuple(Command(**one | {"options": tuple(Option(**o) for o in one["options"])}) for one in listed)
    )


def _stored(one: Command | Option) -> dict[str, object]:
    return {name: value for name in one.__slots__ if (value := getattr(one, name))}
