"""What was in a file at two points of time, to be compared."""

from __future__ import annotations

from dashboard.services import get_services
from orchestrator.checkpoints.models import Change, EntryFacts, EntryKind, Parts
from orchestrator.checkpoints.readable import MAX_BYTES, DiffLine, compare_texts
from orchestrator.core.models import CubicleKey


def read_lines(change: Change, key: CubicleKey, older: int, newer: int) -> tuple[DiffLine, ...] | None:
    """The lines that differ; None for what is no text, too long, or not kept."""
    old = _read(key, older, change.path, change.old)
    new = _read(key, newer, change.path, change.new)
    return None if old is None or new is None else compare_texts(old, new)


def _read(key: CubicleKey, point: int, path: Parts, facts: EntryFacts | None) -> bytes | None:
    if facts is None:
        return b""
    if facts.kind is EntryKind.FOLDER or not facts.is_kept or facts.size_bytes > MAX_BYTES:
        return None
    return get_services().checkpoints.read_content(key, point, path, max_bytes=MAX_BYTES + 1)
