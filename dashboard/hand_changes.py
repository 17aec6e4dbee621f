"""What a person changes in a workspace by hand, with what goes with it whoever asks: a point of time before and after,
so that the history shows it and it can be taken back, and a row in the audit log before it happens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from dashboard.auth import require_asker
from dashboard.services import get_services
from orchestrator.core.errors import OrchestratorError, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files import person_changes
from orchestrator.files.models import Stored
from orchestrator.files.names import display_path

logger = logging.getLogger(__name__)

Parts = tuple[bytes, ...]
_REMEMBERED = (b"work", b"out", b"www")
"""Of these there are points of time."""


@contextmanager
def remembered(key: CubicleKey, *paths: Parts) -> Iterator[None]:
    """What is changed within the block, at these paths, lies between two points of time, and is not new to who did it.
    A history that refuses keeps nobody from changing their files."""
    services = get_services()
    if any(parts[:1] == (name,) for parts in paths for name in _REMEMBERED):
        try:
            services.restores.note_changes(key)
        except OrchestratorError as error:
            logger.warning("%s is changed by hand without a point before: %s", key, error.message)
    yield
    if key.user == require_asker().user.id:
        services.folder_looks.mark_seen(key, *(parts[:-1] for parts in paths))
    services.files_changed(key)


def delete(key: CubicleKey, parts: Parts) -> None:
    """Raises as ``Workspaces.delete_path``."""
    note = _noting("file.deleted", f"deleted {display_path(*parts)}.", key, path=display_path(*parts))
    get_services().workspaces.delete_path(key, parts, note=note)


def move(key: CubicleKey, parts: Parts, to: Parts) -> Parts:
    """Where it is now. Raises as ``person_changes.move_path``."""
    old, new = display_path(*parts), display_path(*to)
    note = _noting("file.moved", f"moved {old} to {new}.", key, path=old, to=new)
    return person_changes.move_path(get_services().workspaces, key, parts, to, note=note)


def make_folder(key: CubicleKey, parts: Parts) -> None:
    """Raises as ``person_changes.make_folder``."""
    path = display_path(*parts)
    note = _noting("file.folder_made", f"made the folder {path}.", key, path=path)
    person_changes.make_folder(get_services().workspaces, key, parts, note=note)


def save(key: CubicleKey, parts: Parts, content: bytes, *, expected: str | None) -> Stored:
    """The text of a file that had the SHA-256 ``expected``, or of a new one. Raises as ``person_changes.save_file``
    and ``create_file``."""
    path, workspaces = display_path(*parts), get_services().workspaces
    note = _noting("file.saved", f"saved {path} ({len(content):,} bytes).", key, path=path, size=len(content))
    if expected is None:
        return person_changes.create_file(workspaces, key, parts, content, note=note)
    return person_changes.save_file(workspaces, key, parts, content, expected=expected, note=note)


def check_folder(key: CubicleKey, parts: Parts) -> None:
    """Something can be put there. Raises NotFound, UnsafePath."""
    if not parts:
        raise UnsafePath("The workspace has its five folders. Name one of work, out and www, or one in them.")
    get_services().workspaces.list_folder(key, parts, limit=1)


def _noting(kind: str, text: str, key: CubicleKey, **detail: str | int) -> Callable[[], None]:
    who = require_asker().user.name
    return partial(get_services().audit.record_event, kind, f"{who} {text}", key, by=who, **detail)
