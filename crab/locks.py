"""The host's lock files: how a person's word reaches a crab that waits.

Reads ``/run/hermit``, which only the host can write; writes nothing. An approval counts only when it names this very
step and the SHA-256 of the exact bytes that will run.
"""

from __future__ import annotations

import json
import os
import time

try:  # hashlib would load OpenSSL, 4 MiB of it, for this one sum
    from _sha2 import sha256 as _sha256  # type: ignore[import-not-found]  # CPython from 3.12 on
except ImportError:
    try:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found]  # CPython 3.11
    except ImportError:
        from hashlib import sha256 as _sha256

SHORTEST_LOOK_S, LONGEST_LOOK_S = 0.02, 0.2
GRACE_S = 60.0
"""How long past its expiry a question waits for the host's own word; after that it counts as expired."""


class CubicleLocks:
    """The lock files of one cubicle."""

    __slots__ = ("folder",)

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def is_stopped(self, turn: int) -> bool:
        """A person stopped this turn."""
        return os.access(f"{self.folder}/hermit_stop.{turn}.lock", os.F_OK)

    def read_lock(self, kind: str, name: str) -> dict[str, object] | None:
        """The content of ``hermit_KIND.NAME.lock``; None while there is none."""
        try:
            with open(f"{self.folder}/hermit_{kind}.{name}.lock", "rb") as file:
                content = json.loads(file.read(64 * 1024))
        except (FileNotFoundError, ValueError):
            return None
        return content if isinstance(content, dict) else None


def sha256_of(command: str) -> str:
    """The hex SHA-256 of the command's UTF-8 bytes, which are the bytes that bash is given."""
    return str(_sha256(command.encode()).hexdigest())


def wait_for_approval(
    locks: CubicleLocks, *, approval: str, turn: int, n: int, sha256: str, expires_at: float
) -> tuple[str, str]:
    """Waits for a person's word on one step: ``approved``, ``denied``, ``expired``, ``cancelled``, ``mismatch`` (the
    approval is for something else) or ``stopped``; and what they said with a no, mostly nothing."""
    look_s = SHORTEST_LOOK_S
    while True:
        if locks.is_stopped(turn):
            return "stopped", ""
        if lock := locks.read_lock("approval", approval):
            is_ours = lock.get("id") == approval and lock.get("sha256") == sha256
            is_ours = is_ours and lock.get("turn") == turn and lock.get("n") == n
            return "approved" if is_ours and lock.get("status") == "approved" else "mismatch", ""
        if lock := locks.read_lock("deny", approval):
            status, note = lock.get("status"), lock.get("note")
            if status in ("expired", "cancelled"):
                return str(status), ""
            return "denied", note if isinstance(note, str) else ""
        if time.time() > expires_at + GRACE_S:
            return "expired", ""
        time.sleep(look_s)
        look_s = min(look_s * 1.3, LONGEST_LOOK_S)
