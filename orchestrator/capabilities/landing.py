"""Putting a fetched file into ``in/``: once, whole, under a name that the host chose, within the limits of the disk.

The name is in the row before the file is in the folder, so after a crash one look tells whether it came that far. The
file is stored as every upload is, by the workspace: not executable, replacing nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from orchestrator.agents.agents import Agents
from orchestrator.core.errors import Conflict, NotFound, TooLarge, Unavailable, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.core.short_ids import typed_id
from orchestrator.files.free_space import Reserve
from orchestrator.files.names import add_number, safe_name
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs.kinds import Running

_MB = 1024**2
_NUMBERS = 100


class LandingFile(Protocol):
    """A file that came, or comes, as the row of its job has it."""

    @property
    def cubicle(self) -> CubicleKey:
        """For whom."""

    @property
    def wanted(self) -> str:
        """The name that it shall have."""

    @property
    def name(self) -> str:
        """The name that it may have got already; empty for none."""

    @property
    def size_bytes(self) -> int:
        """Of what came."""

    @property
    def sha256(self) -> str:
        """The same, in hexadecimal digits."""


class WorkspaceStore:
    """The last step of a download."""

    def __init__(self, workspaces: Workspaces, agents: Agents, reserve: Reserve, home: Path) -> None:
        self._workspaces = workspaces
        self._agents = agents
        self._reserve = reserve
        self._home = home

    def check_space(self) -> None:
        """Raises Unavailable when the host's disk has no room left for what agents want."""
        self._reserve.check_room()

    def room_for(self, key: CubicleKey) -> int:
        """How many bytes a new file may have: what the workspace has left, and at most half of the free disk, as the
        file lies twice for a moment. Raises TooLarge when that is nothing."""
        self.check_space()
        limit_mb = self._agents.get(key.agent).limits.disk_mb
        left = limit_mb * _MB - self._workspaces.measure_usage(key).bytes
        if left <= 0:
            raise TooLarge(f"The workspace is full: it has {limit_mb:,} MB. Delete something, then ask again.")
        return min(left, shutil.disk_usage(self._home).free // 2)

    def lies_there(self, asset: LandingFile) -> bool:
        """A crash came after the file was stored and before that was written down."""
        if not asset.name:
            return False
        try:
            path = (b"in", asset.name.encode())
            with self._workspaces.copy_out(asset.cubicle, path, max_bytes=asset.size_bytes) as copy:
                return (copy.size_bytes, copy.sha256) == (asset.size_bytes, asset.sha256)
        except (NotFound, UnsafePath, TooLarge, Conflict):  # it is not there, or is another file
            return False

    def store_file(self, asset: LandingFile, file: BinaryIO, running: Running, *, size_bytes: int, **more: Any) -> str:
        """The file is in ``in/``; its name there, which is in the job's row before, with ``more``. Raises Stopped when
        it is wanted no more, TooLarge and Unavailable of the disk."""
        self.check_space()
        for name in filter(lambda name: self._is_free(asset.cubicle, name), _names(asset)):
            running.record_progress(name=name, size_bytes=size_bytes, **more)
            file.seek(0)
            try:
                self._workspaces.write_in(asset.cubicle, name, file, max_bytes=size_bytes, is_numbered=False)
            except Conflict:
                continue  # somebody sent a file of that name at this moment
            return name
        raise Unavailable("The file could not be stored: too many files of that name are there.")

    def _is_free(self, key: CubicleKey, name: str) -> bool:
        try:
            self._workspaces.get_entry(key, (b"in", name.encode()))
        except NotFound:
            return True
        return False


def _names(asset: LandingFile) -> Iterator[str]:
    """Which names to try: the remembered one first, as nothing may lie there twice."""
    if asset.name:
        yield asset.name
    yield asset.wanted
    yield from (safe_name(add_number(asset.wanted, str(number))) for number in range(2, _NUMBERS))
    yield from (safe_name(add_number(asset.wanted, typed_id())) for _ in range(3))
