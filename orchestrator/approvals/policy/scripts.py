"""Which files of the workspace a command would run or source, as far as its words say.

Owns the table of what takes a script by name, and of what runs by files that it finds itself. What such a file goes on
to load is not seen.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.approvals.bash.words import UNKNOWN, Word
from orchestrator.approvals.policy.kinds import TOP
from orchestrator.approvals.policy.parts import PlainCommand, has_option
from orchestrator.approvals.policy.wrappers import SHELLS, is_input

_INTERPRETERS = re.compile(
    r"(?:python|pypy|perl|ruby|node|nodejs|php|lua|luajit|tclsh|julia|Rscript|bun|deno|tsx|ts-node)[0-9.]*"
)
_VALUED = frozenset({"-W", "-X", "-I", "-r", "-C", "-l", "-d", "-o", "-O", "+o", "+O", "--rcfile", "--init-file"})
_CODE = re.compile(r"-[a-zA-Z]*[ceE]|--eval|--print|-p|-m|--run")
_BY_FILES = frozenset(
    {
        "ant", "cargo", "cmake", "composer", "gradle", "gradlew", "invoke", "just", "make", "mvn", "ninja", "nox",
        "npm", "npx", "pnpm", "pytest", "rake", "scons", "tox", "yarn",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FoundScripts:
    """What a command runs out of files."""

    paths: tuple[str, ...] = ()
    """From the workspace's top: ``work/build.sh``."""
    is_all: bool = True
    """Nothing else is run that a file decides and the words don't name."""


def named_in(calls: Iterable[PlainCommand], folder: str | None) -> FoundScripts:
    """The scripts of all these commands, run in this folder (None where that can't be told)."""
    paths: dict[str, None] = {}
    is_all = True
    for call in calls:
        if not call.words or call.is_guess:
            continue
        name = call.words[0].text.rpartition("/")[2]
        is_all = (
            is_all and name not in _BY_FILES and not (_INTERPRETERS.fullmatch(name) and has_option(call.args, "-m"))
        )
        word = _script_of(call, name)
        if word is None:
            continue
        path = _workspace_path(word, folder)
        if path is None:
            is_all = False
        elif path:
            paths[path] = None
    return FoundScripts(tuple(paths), is_all)


def _script_of(call: PlainCommand, name: str) -> Word | None:
    if name in (".", "source"):
        return call.args[0] if call.args and not is_input(call.args[0]) else None
    if name in SHELLS or _INTERPRETERS.fullmatch(name):
        return _find_script(call)
    return call.words[0] if "/" in call.words[0].text else None


def _find_script(call: PlainCommand) -> Word | None:
    """The script among an interpreter's words; None where it is given code, or reads its input."""
    at = 0
    while at < len(call.args):
        text = call.args[at].text
        if _CODE.fullmatch(text):
            return None
        if text == "--":
            return call.args[at + 1] if at + 1 < len(call.args) else None
        if not text.startswith(("-", "+")) or text == "-":
            return None if is_input(call.args[at]) else call.args[at]
        at += 2 if text in _VALUED else 1
    return None


def _workspace_path(word: Word, folder: str | None) -> str | None:
    """Its path from the workspace's top; empty where it lies elsewhere, None where that can't be told."""
    text = word.text
    if text.startswith("/") and UNKNOWN not in text:
        full = posixpath.normpath(text)
    elif folder is None or UNKNOWN in text or not word.is_plain or text.startswith("~"):
        return None
    else:
        full = posixpath.normpath(posixpath.join(folder, text))
    return full[len(TOP) + 1 :] if full.startswith(f"{TOP}/") else ""
