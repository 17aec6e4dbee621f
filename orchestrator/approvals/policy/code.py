"""Interpreters of other languages on the command line: which text of code they would run.

Owns how ``python -c``, ``perl -e``, ``node -e``, ``awk '…'``, ``sqlite3 FILE '…'`` and their like are given code, by an
option, an operand or their input. A script in a file is not seen and runs. ``languages`` reads the code itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.approvals.bash.words import Word
from orchestrator.approvals.policy.parts import Code, Parts, PlainCommand
from orchestrator.approvals.policy.wrappers import FED, is_input


@dataclass(frozen=True, slots=True)
class _Interpreter:
    """How one interpreter takes its code."""

    language: str
    code_letters: str = ""
    """Short options whose value is code; the value may be attached, and the letter may end a cluster (``-ne``)."""
    code_options: tuple[str, ...] = ()
    valued: str = ""
    """Letters of other short options that take the next word."""
    attached: str = ""
    """Letters whose value can only be attached: the rest of the cluster is no options (``-i.bak``)."""
    ends: str = ""
    """Letters behind which everything belongs to a program that is not seen (``python -m``)."""
    takes_operand: bool = False
    """Without such an option the first operand is code, as with ``awk``."""
    reads_input: bool = True
    """With neither code nor a script it runs its input."""


_INTERPRETERS = {
    "python": _Interpreter("python", "c", valued="WX", ends="m"),
    "pypy": _Interpreter("python", "c", valued="WX", ends="m"),
    "ipython": _Interpreter("python", "c", ends="m", reads_input=False),
    "perl": _Interpreter("perl", "eE", valued="I", attached="iMmFCxdDV0"),
    "ruby": _Interpreter("ruby", "e", valued="rIC", attached="iFKETx0"),
    "node": _Interpreter("javascript", "ep", ("--eval", "--print"), valued="rC"),
    "nodejs": _Interpreter("javascript", "ep", ("--eval", "--print"), valued="rC"),
    "bun": _Interpreter("javascript", "e", ("--eval", "--print"), reads_input=False),
    "tsx": _Interpreter("javascript", "ep", ("--eval", "--print"), reads_input=False),
    "ts-node": _Interpreter("javascript", "ep", ("--eval", "--print")),
    "php": _Interpreter("php", "rBRE", ("--run",), valued="dc"),
    "lua": _Interpreter("lua", "e", valued="l"),
    "luajit": _Interpreter("lua", "e", valued="l"),
    "tclsh": _Interpreter("tcl"),
    "julia": _Interpreter("julia", "eE", ("--eval", "--print")),
    "Rscript": _Interpreter("r", "e", reads_input=False),
    "awk": _Interpreter("awk", "e", ("--source",), valued="Fvfi", takes_operand=True, reads_input=False),
    "sqlite": _Interpreter("sql"),
    "duckdb": _Interpreter("sql"),
    "psql": _Interpreter("sql"),
    "mysql": _Interpreter("sql"),
    "mariadb": _Interpreter("sql"),
}
_ALIASES = {"gawk": "awk", "mawk": "awk", "nawk": "awk", "original-awk": "awk"}
_VERSION = re.compile(r"(?<=[a-z])-?[0-9][0-9.]*$")


def code_in(call: PlainCommand, name: str) -> Parts:
    """The code that the command would run, or a finding where it cannot be seen."""
    name = _VERSION.sub("", name)
    interpreter = _INTERPRETERS.get(_ALIASES.get(name, name))
    if interpreter is None:
        return
    if interpreter.language == "sql":
        yield from _check_sql(call)
        return
    codes, script = _read_args(call, interpreter)
    for code in codes:
        yield Code(interpreter.language, code)
    if codes or (interpreter.takes_operand and script is None):
        return
    if interpreter.takes_operand and script is not None:
        yield Code(interpreter.language, script.text)
    elif script is None or is_input(script):
        yield from _code_from_input(call, interpreter, is_named=script is not None)


def _code_from_input(call: PlainCommand, interpreter: _Interpreter, *, is_named: bool) -> Parts:
    if not interpreter.reads_input and not is_named:
        return
    if call.words[-1].raw.startswith("<(") or call.stdin.is_piped:
        yield call.make_finding(FED)
    elif call.stdin.text is not None:
        yield Code(interpreter.language, call.stdin.text)


def _read_args(call: PlainCommand, interpreter: _Interpreter) -> tuple[list[str], Word | None]:
    """The texts of code in the options, and the first operand."""
    codes: list[str] = []
    words = call.words
    at = 1
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            break
        if not text.startswith("-") or text == "-":
            break
        if text.startswith("--"):
            option, _, value = text.partition("=")
            if option in interpreter.code_options:
                codes.append(value or (words[at + 1].text if at + 1 < len(words) else ""))
                at += 0 if value else 1
            elif option in ("--help", "--version"):
                return codes, words[at]
        else:
            letter, value = _valued_letter(text, interpreter)
            following = words[at + 1].text if at + 1 < len(words) else ""
            if letter in interpreter.ends and letter:
                return codes, words[at]
            if letter in interpreter.code_letters and letter:
                codes.append(value or following)
            at += 1 if letter and not value else 0
        at += 1
    return codes, words[at] if at < len(words) else None


def _valued_letter(cluster: str, interpreter: _Interpreter) -> tuple[str, str]:
    """The first letter of the cluster that takes a value, and what is attached to it."""
    for index, letter in enumerate(cluster):
        if index and letter in interpreter.attached:
            break
        if index and letter in interpreter.code_letters + interpreter.valued + interpreter.ends:
            rest = cluster[index + 1 :]
            return letter, "" if rest in interpreter.code_letters else rest
    return "", ""


def _check_sql(call: PlainCommand) -> Parts:
    for word in call.args:
        yield Code("sql", word.text)
    if call.stdin.text is not None:
        yield Code("sql", call.stdin.text)
