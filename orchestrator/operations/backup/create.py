"""One backup as a file: written, flushed, and read back before it has its name. What is said of what is not in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator.core.errors import Unavailable
from orchestrator.core.home import Home
from orchestrator.operations.backup import verify as reading
from orchestrator.operations.backup import write as writing
from orchestrator.operations.backup.write import Written

Watch = Callable[[str, int, int], None]
"""Told what is being done, how many bytes of it are, of about how many."""
WRITING, READING = "writing", "reading it back"
_MOST_SHOWN = 20


def create_backup(
    home: Home, path: Path, watch: Watch, *, may_replace: bool, fits: Callable[[int], None] = lambda _: None
) -> Written:
    """A backup at ``path`` that was read back. ``fits`` is asked first, with about how many bytes there are; what it
    raises is the end of it. Raises BadInput, Conflict, TooLarge, Unavailable; nothing is left behind then."""
    packed = writing.is_packed(path)
    with writing.whole_file(path, home.path, may_replace=may_replace) as file:
        check = writing.keeps_reserve(home.path, path.parent)
        written = writing.write_archive(
            home, file, lambda done, total: watch(WRITING, done, total), packed=packed, check=check, fits=fits
        )
        writing.flush_file(file)
        size = path.with_name(f"{path.name}.part").stat().st_size
        back = reading.check_backup(file, lambda done: watch(READING, done, size))
        if back.digest != written.digest:
            raise Unavailable(f"The data on the disk differs from what was written to {path}. Check that disk.")
    return written


def describe_gaps(written: Written) -> list[str]:
    """What a person should know of what is not in it."""
    notes = written.notes
    lines = [f"Left out: {line}" for line in notes.left_out[:_MOST_SHOWN]]
    more = len(notes.left_out) - len(lines) + notes.unsaid
    lines += [f"Left out: {more:,} more."] if more else []
    if notes.links:
        lines.append(f"Left out: {notes.links:,} links, pipes, sockets, devices and files with several names.")
    lines += [f"Being written while it was copied: {name}" for name in notes.changing[:_MOST_SHOWN]]
    return lines
