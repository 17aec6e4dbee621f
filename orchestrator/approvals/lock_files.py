"""Lock files: how the host speaks to a waiting crab. They lie where only the host can write, and appear whole, by
rename.

A lock is a message, never a source of truth: the host decides from its own rows and reads no lock back.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey
from orchestrator.files.workspace import Workspaces

logger = logging.getLogger(__name__)


class LockFiles:
    """Writes and removes the lock files of all cubicles."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def write_decision(self, approval: Approval) -> None:
        """Tell the crab how its question ended. Writing it again changes nothing."""
        kind = "approval" if approval.status is ApprovalStatus.APPROVED else "deny"
        content = {
            "id": approval.id,
            "status": str(approval.status),
            "turn": approval.turn,
            "n": approval.step,
            "sha256": approval.sha256,
            "expires_at": approval.expires_at,
        }
        if approval.detail.get("note"):
            content["note"] = approval.detail["note"]
        self._write_file(approval.cubicle, f"hermit_{kind}.{approval.id}.lock", content)

    def write_stop(self, key: CubicleKey, turn: int) -> None:
        """Tell the crab to end a turn now."""
        self._write_file(key, f"hermit_stop.{turn}.lock", {"turn": turn})

    def clear_approval(self, key: CubicleKey, approval: str) -> None:
        """Take an approval's lock files away; missing ones are fine."""
        self._remove_file(key, f"hermit_approval.{approval}.lock", f"hermit_deny.{approval}.lock")

    def clear_stop(self, key: CubicleKey, turn: int) -> None:
        """Take a turn's stop file away; a missing one is fine."""
        self._remove_file(key, f"hermit_stop.{turn}.lock")

    def remove_stale(self, key: CubicleKey, *, under_way: Collection[int]) -> None:
        """After a death: files of turns that have ended go, and half-made ones. Answers to what still waits are written
        again by whoever knows them; the stops of turns that are under way stay."""
        kept = {f"hermit_stop.{turn}.lock" for turn in under_way}
        try:
            with self._workspaces.run_folder(key) as folder:
                for name in os.listdir(folder):  # noqa: PTH208 - a descriptor
                    is_ours = name.startswith(("hermit_", ".hermit_")) and name.endswith((".lock", ".lock.new"))
                    if is_ours and name not in kept:
                        os.unlink(name, dir_fd=folder)
        except (OSError, OrchestratorError) as error:  # they do no harm where they lie
            logger.info("old lock files of %s could not be taken away: %s", key, error)

    def _write_file(self, key: CubicleKey, name: str, content: dict[str, Any]) -> None:
        try:
            with self._workspaces.run_folder(key) as folder:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
                try:
                    descriptor = os.open(f".{name}.new", flags, 0o644, dir_fd=folder)
                    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                        os.fchmod(descriptor, 0o644)
                        json.dump(content, file)
                    os.rename(f".{name}.new", name, src_dir_fd=folder, dst_dir_fd=folder)
                except OSError:
                    with suppress(FileNotFoundError):
                        os.unlink(f".{name}.new", dir_fd=folder)
                    raise
        except OSError as error:
            raise Unavailable(f"{name} could not be written ({error.strerror}). Is the disk full?") from error

    def _remove_file(self, key: CubicleKey, *names: str) -> None:
        with self._workspaces.run_folder(key) as folder:
            for name in names:
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
