"""Files that are dropped onto a terminal: it pastes where they are, quoted or escaped in its own way, and this reads
it. Opens nothing."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.text import one_line

MOST_FILES = 20
"""As many as one message takes."""
_LONGEST = 20_000
_WINDOWS_QUOTE = re.compile(r"^[\"'](.*)[\"']$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of this machine that goes along with the next message."""

    path: Path
    size_bytes: int

    @property
    def label(self) -> str:
        """Its name and size, safe for a terminal."""
        return f"{one_line(self.path.name, 40)} ({format_size(self.size_bytes)})"


def read_dropped(pasted: str, *, home: Path | None = None) -> list[LocalFile]:
    """The files that a paste names; none when any word of it is something else, so that text stays text. Only whole
    paths count (``/…``, ``~/…``, ``file://…``): a word that happens to be the name of a file here does not."""
    text = pasted.strip().strip("\0")
    if not text or len(text) > _LONGEST:
        return []
    for words in (_one_path(text), _shell_words(text), text.splitlines()):
        found = [_find_file(word, home or Path.home()) for word in words]
        files = [file for file in found if file is not None]
        if files and len(files) == len(found) and len(files) <= MOST_FILES:
            return files
    return []


def _one_path(text: str) -> list[str]:
    """Some terminals paste a name with its blanks just as it is, or between quotes that hold none."""
    return [_WINDOWS_QUOTE.sub(r"\1", text)] if "\n" not in text else []


def _shell_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote that is not closed
        return []


def _find_file(word: str, home: Path) -> LocalFile | None:
    word = word.strip()
    if word.startswith("file://"):
        parts = urlsplit(word)
        word = unquote(parts.path) if parts.netloc in ("", "localhost") else ""
    elif word.startswith("~/"):
        word = str(home / word[2:])
    if not word.startswith("/") or "\0" in word:
        return None
    try:
        path = Path(word)
        return LocalFile(path, path.stat().st_size) if path.is_file() else None
    except OSError:  # too long for a name, or a folder that nobody may enter
        return None
