"""The commands of ``hermit``: their words, what each asks of the host, and their help. One table; it runs nothing.

A command's fields are those of its panel action, so what the host takes is described in one place there and named in
one place here. Help is for a small model as much as for a person: a usage line, a sentence, one example that works.
"""

from __future__ import annotations

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

    __slots__ = ("field", "help", "is_flag", "is_list", "is_time", "name", "value")

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
        self.is_flag = not value
        self.is_list = is_list
        """It may be there several times."""
        self.is_time = is_time
        """A length of time, sent as whole seconds."""


class Command:
    """One command: the call it makes, and how its words become the call's fields."""

    __slots__ = ("call", "example", "fields", "help", "needs", "options", "places", "words")

    def __init__(
        self,
        words: str,
        call: str,
        help: str,  # noqa: A002 - what it is
        *,
        places: tuple[str, ...] = (),
        options: tuple[Option, ...] = (),
        fields: dict[str, object] | None = None,
        needs: tuple[str, ...] = (),
        example: str = "",
    ) -> None:
        self.words = words
        self.call = call
        self.help = help
        self.places = places
        """What stands without a name, in order: ``field``, ``field?`` where it may be left out, ``field…`` for all the
        rest of the line as one text, ``field*`` for all the rest as a list."""
        self.options = options
        self.fields = fields or {}
        """What is always sent."""
        self.needs = needs
        """Fields of options that can't be left out."""
        self.example = example

    @property
    def usage(self) -> str:
        """Its one line."""
        parts = ["hermit", self.words]
        for place in self.places:
            name = place.rstrip("?…*").upper()
            parts.append(f"[{name}]" if place.endswith("?") else f"{name}…" if place.endswith("*") else name)
        for option in self.options:
            given = f"--{option.name} {option.value}".strip()
            parts.append(given if option.field in self.needs else f"[{given}]")
        return " ".join(parts)

    def page(self) -> str:
        """Its help."""
        lines = [self.usage, "", self.help]
        given = [(f"--{option.name} {option.value}".strip(), option.help) for option in self.options]
        given.append(("--json", "print the result as JSON"))
        width = max(len(name) for name, _ in given)
        lines += ["", *(f"  {name:{width}}  {told}" for name, told in given)]
        if self.example:
            lines += ["", "Example:", f"  {self.example}"]
        return "\n".join([*lines, "", EXIT_CODES])


_WHEN = "2026-02-28T09:00 (the person's clock), or with Z or an offset"
_END = Option("end", "when it ends, for show", value="WHEN")
_COLOR = Option("color", "a name such as red, or #rrggbb", value="COLOR")
_REPEAT = Option(
    "repeat",
    "such as 'FREQ=WEEKLY;BYDAY=MO' or a cron line '0 9 * * 1'; ';EXDATE=20261224' behind it leaves a day out",
    value="RULE",
)
_LIMIT = Option("limit", "the most to list", value="N")
_NO_WAIT = Option("no-wait", "return at once; what comes of it shows later")

COMMANDS: tuple[Command, ...] = (
    Command(
        "calendar add",
        "CALENDAR_CREATE",
        "At START, and again by --repeat, you are given PROMPT as a message of its own.",
        places=("title", "prompt"),
        options=(Option("start", _WHEN, value="WHEN"), _REPEAT, _END, _COLOR),
        needs=("start",),
        example="hermit calendar add 'Weekly report' 'Write the report on ../in/sales.csv' --start 2026-03-02T09:00"
        " --repeat 'FREQ=WEEKLY;BYDAY=MO'",
    ),
    Command(
        "calendar list",
        "CALENDAR_LIST",
        "What is in the calendar, with the numbers that update and rm take.",
        options=(
            Option("from", f"from then on: {_WHEN}", value="WHEN"),
            Option("to", "until then", value="WHEN"),
        ),
    ),
    Command(
        "calendar update",
        "CALENDAR_UPDATE",
        "Changes what is given; '-' empties --end, --repeat or --color.",
        places=("id",),
        options=(
            Option("title", "another title", value="TEXT"),
            Option("prompt", "another prompt", value="TEXT"),
            Option("start", _WHEN, value="WHEN"),
            _REPEAT,
            _END,
            _COLOR,
        ),
        example="hermit calendar update 12 --start 2026-03-02T10:00",
    ),
    Command("calendar rm", "CALENDAR_DELETE", "The entry goes.", places=("id",)),
    Command(
        "memory add",
        "MEMORY_ADD",
        "Keeps one fact for later conversations.",
        places=("text…",),
        example="hermit memory add 'Reports are wanted as PDF.'",
    ),
    Command(
        "memory search",
        "MEMORY_SEARCH",
        "The remembered facts that fit best.",
        places=("query…",),
        options=(_LIMIT,),
        example="hermit memory search 'form of reports'",
    ),
    Command("memory list", "MEMORY_SEARCH", "The newest remembered facts.", options=(_LIMIT,), fields={"query": ""}),
    Command("memory rm", "MEMORY_DELETE", "The fact with this number is forgotten.", places=("id",)),
    Command(
        "fetch",
        "ASSET_REQUEST",
        "A person is asked; when they agree the file is downloaded into /app/workspace/in.",
        places=("url",),
        options=(
            Option("why", "what it is and what for: the person reads it", value="TEXT", field="description"),
            Option("type", "the type of file, such as pdf", value="TYPE", field="file_type"),
            _NO_WAIT,
        ),
        needs=("description",),
        example="hermit fetch https://example.com/prices.csv --why 'the price list for the report'",
    ),
    Command(
        "install",
        "INSTALL",
        "A person is asked; when they agree the packages are downloaded and installed for you. SYSTEM: pip or npm.",
        places=("system", "packages*"),
        options=(_NO_WAIT,),
        example="hermit install pip 'humanize==4.9.0'",
    ),
    Command(
        "ask",
        "ASK",
        "Asks the person and prints the answer.",
        places=("question…",),
        options=(
            Option("choices", "answers to choose from, commas between them", value="A,B,C"),
            Option("choice", "one answer to choose from; may be there several times", value="TEXT", is_list=True),
            Option("free-text", "other answers are taken too"),
            Option("timeout", "how long to wait: seconds, or such as 10m", value="S", is_time=True),
        ),
        example="hermit ask 'Which format?' --choices pdf,docx --timeout 10m",
    ),
    Command(
        "video",
        "CLAWMOTION",
        "Animates a text (letters only, no pictures) as a video in out/, which is sent to the person.",
        places=("prompt…",),
        options=(
            Option("seconds", "how long it is, 1 to 600", value="N", field="duration"),
            Option("out", "its name, ending in .mp4, .webm or .gif", value="NAME", field="output_file"),
            _NO_WAIT,
        ),
        needs=("duration",),
        example="hermit video 'Title: Good news. Sales are up by ten percent.' --seconds 10 --out intro.mp4",
    ),
    Command(
        "send",
        "SEND",
        "Sends a file of the workspace to the person. One that is not in out/ is copied there first.",
        places=("file",),
        options=(Option("caption", "a line to go with it", value="TEXT"),),
        example="hermit send chart.png --caption 'Sales by month'",
    ),
    Command("status", "STATUS", "Your budget, disk, open questions, next calendar entry, and what you may call."),
)


def find(words: list[str]) -> tuple[Command | None, int]:
    """The command that the first words name, and how many they are."""
    plain = [word.lower() for word in words[:2]]
    for count in (2, 1):
        if len(plain) < count:
            continue
        wanted = [ALIASES.get(word, word) if at else word for at, word in enumerate(plain[:count])]
        for command in COMMANDS:
            if command.words.split() == wanted:
                return command, count
    return None, 0


def groups() -> dict[str, list[Command]]:
    """The commands by their first word."""
    found: dict[str, list[Command]] = {}
    for command in COMMANDS:
        found.setdefault(command.words.split()[0], []).append(command)
    return found


def overview(offered: frozenset[str] | None, word: str = "") -> str:
    """What there is: of one group, or all that is offered; None where nobody could be asked."""
    listed = [
        c for c in COMMANDS if (not word or c.words.split()[0] == word) and (offered is None or c.call in offered)
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
