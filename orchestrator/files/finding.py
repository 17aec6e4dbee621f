"""Looking for files by their names beneath a folder that an agent made. Bounded in names, in depth and in what is
found; the nearest folders are looked at first, no link is followed and no file is opened.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from orchestrator.core.errors import BadInput
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import DirEntry, FilePath
from orchestrator.files.tree import open_way
from orchestrator.files.workspace import Workspaces, in_a_folder, list_tops, read_entry

MOST_LOOKED = 50_000
"""Names that are looked at."""
MOST_FOUND = 200
MOST_DEPTH = 24
MOST_WORDS_CHARS = 200


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """A name that has all the words."""

    folder: tuple[bytes, ...]
    entry: DirEntry


@dataclass(frozen=True, slots=True)
class FoundEntries:
    """What was found, the nearest first."""

    entries: tuple[FoundEntry, ...]
    is_complete: bool
    """False when there is more than one looks at, or some of it could not be looked into."""


def find_entries(
    workspaces: Workspaces,
    key: CubicleKey,
    folder: FilePath,
    words: str,
    *,
    most_looked: int = MOST_LOOKED,
    most_found: int = MOST_FOUND,
) -> FoundEntries:
    """What lies in ``folder`` or beneath it, in the whole workspace without one, and has all the words in its name,
    however they are written. Raises BadInput without a word, NotFound, UnsafePath, Unavailable.
    """
    wanted = tuple(words[:MOST_WORDS_CHARS].casefold().split())
    if not wanted:
        raise BadInput("find: send at least one word.")
    parts = in_a_folder(folder) if folder else ()
    with workspaces.open_folder(key, parts, named=parts) as top:
        search = _Search(top, parts, wanted, most_looked, most_found)
        search.run([()] if parts else [(name,) for name in list_tops(top)])
    return FoundEntries(tuple(search.found), search.is_complete)


class _Search:
    """Where a search stands."""

    def __init__(
        self, top: int, folder: tuple[bytes, ...], wanted: tuple[str, ...], most_looked: int, most_found: int
    ) -> None:
        self._top = top
        self._folder = folder
        self._wanted = wanted
        self._left = most_looked
        self._most = most_found
        self.found: list[FoundEntry] = []
        self.is_complete = True

    def run(self, ways: list[tuple[bytes, ...]]) -> None:
        """Folder by folder, until everything or enough was seen."""
        waiting = deque(ways)
        while waiting and self.is_going_on:
            way = waiting.popleft()
            try:
                below = self._look_into(way)
            except OSError:  # gone, moved or shut meanwhile
                self.is_complete = False
                continue
            if len(way) < MOST_DEPTH:
                waiting.extend((*way, name) for name in below)
            elif below:
                self.is_complete = False
        if waiting:
            self.is_complete = False

    @property
    def is_going_on(self) -> bool:
        """There is room for more."""
        return self._left > 0 and len(self.found) < self._most

    def _look_into(self, way: tuple[bytes, ...]) -> list[bytes]:
        """Take down what has the words; the folders in it, in order."""
        below: list[bytes] = []
        with open_way(self._top, way) as here, os.scandir(here) as entries:
            for entry in entries:
                self._left -= 1
                name = os.fsencode(entry.name)
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        below.append(name)
                if self._has_words(name) and (seen := read_entry(here, name)) is not None:
                    self.found.append(FoundEntry((*self._folder, *way), seen))
                if not self.is_going_on:
                    self.is_complete = False
                    break
        return sorted(below)

    def _has_words(self, name: bytes) -> bool:
        text = name.decode("utf-8", "replace").casefold()
        return all(word in text for word in self._wanted)
