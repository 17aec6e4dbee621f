"""The chat's ``/`` commands: which there are, what a line asks for, and what completes it. Does none of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from orchestrator.core.text import one_line


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One of them."""

    name: str
    words: str
    """What follows it: ``NAME``, ``[PATH]`` where it may be left out, or nothing."""
    told: str

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.words}".rstrip()


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("help", "", "this list"),
    SlashCommand("new", "[NAME]", "begin another conversation; this one stays"),
    SlashCommand("conversations", "[WORDS]", "your conversations with this agent"),
    SlashCommand("switch", "CONVERSATION", "go on in another, by its number or words of its name"),
    SlashCommand("rename", "NAME", "give this conversation another name"),
    SlashCommand("agents", "", "all agents, and what each is doing"),
    SlashCommand("agent", "NAME", "talk to another agent, in a tab of its own"),
    SlashCommand("close", "", "close this tab"),
    SlashCommand("files", "[FOLDER]", "what is in the agent's out/, or in another of its folders"),
    SlashCommand("get", "PATH", "fetch a file of the agent into this folder"),
    SlashCommand("send", "FILE", "attach a file of this machine to your next message"),
    SlashCommand("detach", "", "attach nothing after all"),
    SlashCommand("diff", "", "what the agent changed last, line by line"),
    SlashCommand("undo", "", "take back what the agent did for your last message"),
    SlashCommand("retry", "", "ask for another answer to your last message"),
    SlashCommand("edit", "", "change your last message and send it again"),
    SlashCommand("stop", "", "stop what the agent is doing here, also from elsewhere"),
    SlashCommand("asked", "", "what waits for your answer, here and elsewhere"),
    SlashCommand("model", "[NAME]", "which model answers, or another from now on"),
    SlashCommand("export", "[FILE]", "save this conversation as Markdown"),
    SlashCommand("clear", "", "the agent forgets this conversation"),
    SlashCommand("quit", "", "leave, as Ctrl-D does"),
)
_BY_NAME = {command.name: command for command in COMMANDS}
_LINE = re.compile(r"/([a-z]+)(?:\s+(.*))?\s*", re.DOTALL)

Names = Callable[[], Iterable[tuple[str, str]]]
"""What can follow a command right now: each word with what is told of it."""


@dataclass(frozen=True, slots=True)
class SlashLine:
    """What a line asks for."""

    name: str
    rest: str


def read_line(text: str) -> SlashLine | None:
    """The command that a line is; None for a message, such as one that begins with a path."""
    found = _LINE.fullmatch(text)
    return SlashLine(found[1], (found[2] or "").strip()) if found else None


def find_command(name: str) -> SlashCommand | None:
    """The command of this name, or the only one that begins so."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    begun = [command for command in COMMANDS if command.name.startswith(name)]
    return begun[0] if len(begun) == 1 else None


def say_unknown(name: str) -> str:
    """A sentence about a command that there is not, with the nearest."""
    close = difflib.get_close_matches(name, list(_BY_NAME), n=1, cutoff=0.5)
    begun = [known for known in _BY_NAME if known.startswith(name)]
    meant = [f"/{one}" for one in (begun or close)]
    hint = f"Did you mean {' or '.join(meant[:3])}?" if meant else "/help lists all."
    return f"There is no /{one_line(name, 40)}. {hint}"


class SlashCompleter(Completer):
    """Completes commands, and what follows each. Of words that agents wrote, what could harm a terminal is not shown,
    and what can't be typed is not offered."""

    def __init__(self, names: Mapping[str, Names]) -> None:
        self._names = names
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """What prompt_toolkit asks for."""
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in document.text:
            return
        name, blank, rest = text[1:].partition(" ")
        if not blank:
            yield from (
                Completion(
                    f"{command.name}{' ' if command.words else ''}",
                    -len(name),
                    display=command.usage,
                    display_meta=command.told,
                )
                for command in COMMANDS
                if command.name.startswith(name)
            )
        elif name == "send":
            yield from self._paths.get_completions(Document(rest, len(rest)), complete_event)
        elif name in self._names:
            yield from _pick(rest, list(self._names[name]()))


def _pick(rest: str, known: Sequence[tuple[str, str]]) -> Iterator[Completion]:
    wanted = rest.casefold()
    for word, told in known:
        if word.isprintable() and (word.casefold().startswith(wanted) or (wanted and wanted in told.casefold())):
            yield Completion(word, -len(rest), display=one_line(word, 60), display_meta=one_line(told, 60))


def expand_path(text: str) -> Path:
    """What somebody typed after ``/send``, also quoted as in a shell."""
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
    return Path(bare).expanduser()
