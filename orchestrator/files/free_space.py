"""The host's reserve: how much room the file system of HERMIT_HOME has left, and a ballast beside the database.

The ballast is a file that takes up some of the disk for nothing. When somebody has filled the disk to the brim it is
let go, so that the database can still write down what became of the work under way. It never touches what agents made.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from orchestrator.core.errors import Unavailable
from orchestrator.files.quota import Room, of_the_host

logger = logging.getLogger(__name__)

BALLAST_BYTES = 16 << 20
_BALLAST_SHARE = 128
"""On a small disk the ballast is no more than this part of it."""


class Reserve:
    """Looks at one file system and keeps the ballast on it."""

    def __init__(self, home: Path, *, ballast: Path) -> None:
        self._home = home
        self._ballast = ballast

    def measure_room(self) -> Room:
        """What is left now; costs microseconds. Raises Unavailable when the file system does not answer."""
        try:
            facts = os.statvfs(self._home)
        except OSError as error:
            raise Unavailable(f"The disk of {self._home} does not answer ({error.strerror}). Check it.") from error
        return Room(facts.f_bavail * facts.f_frsize, facts.f_favail, facts.f_blocks * facts.f_frsize)

    def check_room(self) -> None:
        """Raises Unavailable, with what to do, when agents may not write now."""
        room = self.measure_room()
        if room.is_short:
            raise Unavailable(of_the_host(room))

    def keep_reserve(self, room: Room) -> None:
        """The ballast is there while the disk has room for it, and gone while the disk is full to the brim."""
        size = min(BALLAST_BYTES, room.total_bytes // _BALLAST_SHARE)
        if room.free_bytes < size // 2:
            self.release_reserve()
        elif room.free_bytes >= room.reserve_bytes + 2 * size and not self._ballast.exists():
            self._fill(size)

    def release_reserve(self) -> None:
        """The ballast's room is the database's now; gone already is fine."""
        try:
            self._ballast.unlink()
        except FileNotFoundError:
            return
        logger.warning("the disk is full: the ballast was let go, so that the database can go on writing")

    def _fill(self, size: int) -> None:
        """The room is taken, not only the size claimed; the file has its name once it is whole."""
        fresh = self._ballast.with_suffix(".new")
        try:
            with fresh.open("wb") as file:
                fresh.chmod(0o600)
                os.posix_fallocate(file.fileno(), 0, size)
            fresh.replace(self._ballast)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            logger.warning("no ballast could be laid beside the database: %s", error.strerror)
