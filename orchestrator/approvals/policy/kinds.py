"""Kinds of command: what a person may allow in advance, named so that it can be read and compared.

Owns the words of such a kind (``delete below work/build/``, ``stop processes``), how a finding comes to one, and which
kind covers which. What can't be named exactly (a variable in a path, code of another language) has no kind but the very
text of the command (``run: TEXT``). Paths are those of the workspace, from its top.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from orchestrator.approvals.bash.words import HOME, UNKNOWN, Word

TOP = posixpath.dirname(HOME)
MOST_CHARS = 500
"""A longer subject would not be read before it is agreed to."""
MOST_KINDS = 5

DELETE, EMPTY, PERMISSIONS, OWNER = "delete", "empty", "change permissions", "change owner"
STOP = "stop processes"
DISCARD = "discard uncommitted git changes"
PUSH = "git push to"
LOOK_UP = "look up packages of"
"""What an agent has the host do: names of packages go to the index of ``pip`` or ``npm``."""
RUN = "run:"
FORMS = (
    f"'{DELETE} below work/build/', '{DELETE} work/notes.txt', '{EMPTY} …', '{PERMISSIONS} below …', '{STOP}', "
    f"'{DISCARD}', '{PUSH} origin', '{LOOK_UP} pip', '{LOOK_UP} npm' or '{RUN} COMMAND'"
)
_PLACED = re.compile(rf"({DELETE}|{EMPTY}|{PERMISSIONS}|{OWNER}) (below )?(\S.*)")
_REMOTE = re.compile(rf"{PUSH} [A-Za-z0-9][\w.-]{{0,99}}")
_PATTERN = re.compile(r"[*?\[]")
_MOVES = frozenset({"cd", "pushd", "popd", "chroot"})
_BACK = re.compile(r"(?:^|/)(?!\.\.?(?:/|$))[^/]+/(?:\./)*\.\.(?:/|$)")  # through a link it would lead elsewhere
_INTO = re.compile(r"cd ([\w./-]+) *&& *((?:[^;&|\n(){}`$]|&&|\|(?!\|))+)")


@dataclass(frozen=True, slots=True)
class Act:
    """What a finding is about, before it is known where the command runs."""

    verb: str
    """One of the words above."""
    places: tuple[Word, ...] | None = None
    """The paths that it is done to, as they are written; None for what has no place."""
    is_whole: bool = False
    """Folders go with all that is in them."""


def folder_of(command: str, names: frozenset[str]) -> str | None:
    """Where the whole command runs, given the names of all commands in it: the home, or the one folder that it first
    goes to and where nothing happens unless it got there. None when that can't be told."""
    if not names & _MOVES:
        return HOME
    into = _INTO.fullmatch(command.strip())
    if into is None or re.search(r"\b(?:cd|pushd|popd|chroot)\b", into[2]) or _BACK.search(into[1]):
        return None
    return posixpath.normpath(posixpath.join(HOME, into[1]))


def name_kinds(act: Act, folder: str | None) -> tuple[str, ...]:
    """The kinds that an act comes to in this folder; empty when one can't be named exactly."""
    if act.places is None:
        return (act.verb,)
    if folder is None or not act.places:
        return ()
    kinds = tuple(_kind_at(act, place, folder) for place in act.places)
    return tuple(dict.fromkeys(kinds)) if all(kinds) else ()


def exact_kind(command: str) -> tuple[str, ...]:
    """The kind that is this very text; empty when it is too long, or holds what an eye would miss."""
    kind = f"{RUN} {command}"
    return (kind,) if len(kind) <= MOST_CHARS and command.strip() == command and _is_readable(command) else ()


def is_kind(subject: str) -> bool:
    """It is written as kinds are."""
    if len(subject) > MOST_CHARS or not _is_readable(subject):
        return False
    placed = _PLACED.fullmatch(subject)
    if placed is not None:
        return _is_place(placed[3], is_folder=bool(placed[2]))
    is_run = subject.startswith(f"{RUN} ") and bool(subject[len(RUN) :].strip())
    is_one_of_few = subject in (STOP, DISCARD, f"{LOOK_UP} pip", f"{LOOK_UP} npm")
    return is_run or is_one_of_few or _REMOTE.fullmatch(subject) is not None


def is_covered(granted: str, wanted: str) -> bool:
    """Who allowed ``granted`` has allowed ``wanted``."""
    if granted == wanted:
        return True
    given, asked = _PLACED.fullmatch(granted), _PLACED.fullmatch(wanted)
    if given is None or asked is None or given[1] != asked[1] or not given[2]:
        return False
    return asked[3].startswith(given[3])


def _kind_at(act: Act, place: Word, folder: str) -> str:
    text = place.text
    is_made = UNKNOWN in text or text.startswith("~") or "{" in text or not _is_readable(text)
    if is_made or (not place.is_plain and not _PATTERN.search(text)):
        return ""
    pattern = _PATTERN.search(text)
    fixed = text[: pattern.start()].rpartition("/")[0] if pattern else text
    if _BACK.search(fixed) or (pattern and text.startswith("/") and not fixed):
        return ""
    full = posixpath.normpath(posixpath.join(folder, fixed))
    inside = full.removeprefix(f"{TOP}/")
    parts = inside.split("/")
    if inside == full or len(parts) < 2:  # outside of the workspace, or one of its folders as a whole
        return ""
    if pattern or act.is_whole or text.endswith("/"):
        return f"{act.verb} below {inside}/"
    return f"{act.verb} below {'/'.join(parts[:-1])}/" if len(parts) > 2 else f"{act.verb} {inside}"


def _is_place(path: str, *, is_folder: bool) -> bool:
    bare = path.removesuffix("/") if is_folder else path
    is_clean = bare == posixpath.normpath(bare) and not bare.startswith(("/", ".")) and not _PATTERN.search(bare)
    return is_clean and "/" in bare and path.endswith("/") == is_folder


def _is_readable(text: str) -> bool:
    return text.isprintable() and text.strip() != ""
