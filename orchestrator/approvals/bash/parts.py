"""What a text of bash consists of, as frozen data: commands, redirections, what feeds them. Nothing here decides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from orchestrator.approvals.bash.words import Word


class Problem(StrEnum):
    """Why a text was not read to its end."""

    NONE = ""
    UNPARSABLE = "unparsable"
    TOO_LONG = "too long"


class Stdin(NamedTuple):
    """What a command reads, as far as it can be told. Neither: nothing, or a file."""

    is_piped: bool = False
    text: str | None = None


NO_INPUT = Stdin()


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command."""

    words: tuple[Word, ...]
    stdin: Stdin
    function: str
    """The function in whose body it stands, or empty."""
    is_forked: bool
    """It stands in a pipeline or in the background."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection of output to a file."""

    target: Word
    raw: str
    empties: bool
    """Nothing is written: the file is only emptied."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """``NAME=VALUE``, wherever it stands."""

    name: str
    raw: str
    value: str | None = None
    """What the variable then holds, where that is written out plainly."""

    @property
    def is_scratch(self) -> bool:
        """The variable holds the name of a file or folder that was just made by ``mktemp``."""
        return _MKTEMP.fullmatch(self.raw.partition("=")[2]) is not None


_MKTEMP = re.compile(r'"?\$\(mktemp(?:[ \t]+[\w./=-]+)*\)"?')


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """All that a text would run, in the order it is written."""

    parts: tuple[Simple | Redirect | str, ...] = ()
    """A ``str`` is a text that stood in backquotes, to be read on its own."""
    own_jobs: frozenset[str] = frozenset()
    """Variables that hold nothing but the process id of a job the text itself started (``X=$!``)."""
    assignments: tuple[Assignment, ...] = ()
    expands_prompt: bool = False
    """It has ``${x@P}``, or a subscript that is worked out again, so that a value is run as text."""
    problem: Problem = Problem.NONE
