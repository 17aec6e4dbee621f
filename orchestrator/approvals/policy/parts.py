"""What policy works on, as data: a command to judge, a text to read first, a finding. And how options are seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from orchestrator.approvals.bash.parts import NO_INPUT, Stdin
from orchestrator.approvals.bash.words import UNKNOWN, Word, literal_word
from orchestrator.approvals.policy.kinds import Act


@dataclass(frozen=True, slots=True)
class AskReason:
    """A reason to ask: what it does, in words that fit before a colon, and the piece of the command that does it."""

    what: str
    piece: str
    act: Act | None = None
    """What it is, where a person may allow that in advance."""


@dataclass(frozen=True, slots=True)
class ShellText:
    """A text that a shell will run."""

    text: str
    stdin: Stdin = NO_INPUT
    is_guess: bool = False
    """It was found in another language's code: only what is plainly dangerous in it counts."""
    scratch: frozenset[str] = frozenset()
    """Variables that hold the name of something that ``mktemp`` made."""
    is_whole: bool = False
    """It is what the agent sent, so no variable was set before it."""


@dataclass(frozen=True, slots=True)
class Code:
    """A text that the interpreter of another language will run."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class PlainCommand:
    """One command with its arguments."""

    words: tuple[Word, ...]
    stdin: Stdin = NO_INPUT
    own_jobs: frozenset[str] = frozenset()
    is_guess: bool = False
    scratch: frozenset[str] = frozenset()

    @property
    def args(self) -> tuple[Word, ...]:
        """The words behind the command's name."""
        return self.words[1:]

    @property
    def piece(self) -> str:
        """As it was written, for people."""
        return " ".join(word.raw for word in self.words)

    def inner_command(self, count: int, *more: Word) -> PlainCommand:
        """The command that this one runs: its words from ``count`` on."""
        return PlainCommand(self.words[count:] + more, self.stdin, self.own_jobs, self.is_guess, self.scratch)

    def make_finding(self, what: str, act: Act | None = None) -> AskReason:
        """A finding about this command."""
        return AskReason(what, self.piece, act)


Part: TypeAlias = "AskReason | ShellText | Code | PlainCommand"
Parts: TypeAlias = Iterator[Part]


def has_option(args: Iterable[Word], *names: str) -> bool:
    """Some argument is one of the options: ``--force`` (also shortened) or a letter such as ``-f`` within ``-xfd``."""
    letters = {name[1] for name in names if len(name) == 2}
    longs = [name for name in names if len(name) > 2]
    for word in args:
        text = word.text
        if text == "--":
            return False
        if text.startswith("--"):
            stem = text.partition("=")[0]
            if any(name == stem or (len(stem) > 3 and name.startswith(stem)) for name in longs):
                return True
        elif text.startswith("-") and (letters.intersection(text[1:]) or text in longs):
            return True
    return False


def list_operands(args: Iterable[Word]) -> list[Word]:
    """The arguments that are no options."""
    found: list[Word] = []
    only_operands = False
    for word in args:
        if only_operands or not word.text.startswith("-") or word.text == "-":
            found.append(word)
        elif word.text == "--":
            only_operands = True
    return found


def join_words(words: Iterable[Word]) -> str:
    """The words as one text, which is what ``eval``, ``ssh`` and ``watch`` make of them."""
    return " ".join(word.text for word in words)


def unknown_word() -> Word:
    """A word of which nothing is known."""
    return literal_word(UNKNOWN)
