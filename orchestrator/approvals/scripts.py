"""Scripts: what files held that a person was asked about, so that what runs is what they agreed to.

A command such as ``bash build.sh`` says nothing of what it does. The file's SHA-256 is kept with the question, and
compared when the command is about to run. Reads the workspace, never follows a link there, and runs nothing.
"""

from __future__ import annotations

import hashlib
from typing import Any

from orchestrator.approvals.policy.judge import scripts_of
from orchestrator.core.errors import NotFound, OrchestratorError
from orchestrator.core.models import Approval, CubicleKey
from orchestrator.core.text import one_line
from orchestrator.files.workspace import Workspaces

MOST_BYTES = 4 << 20
"""Of one file; a larger one is not compared."""
MOST_FILES = 20
_BLOCK = 1 << 16


class ScriptHashes:
    """What the files of all workspaces hold."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    def hash_scripts(self, key: CubicleKey, command: str) -> dict[str, Any]:
        """What a question about this command keeps of the files that it runs: ``scripts``, each with ``path``,
        ``size_bytes`` and ``sha256`` (null where there is no such file yet), and ``runs_more`` when it also runs what
        can't be named. Empty where it runs no file."""
        named = scripts_of(command)
        looked = [self._facts(key, path) for path in named.paths[:MOST_FILES]]
        is_all = named.is_all and len(named.paths) <= MOST_FILES and None not in looked
        found = [facts for facts in looked if facts is not None]
        return ({"scripts": found} if found else {}) | ({} if is_all else {"runs_more": True})

    def find_changed(self, approval: Approval) -> str:
        """The path of a file that holds something else than when the person was asked; empty when none does."""
        for then in approval.detail.get("scripts", ()):
            now = self._facts(approval.cubicle, then["path"])
            if now is None or now["sha256"] != then["sha256"]:
                return one_line(then["path"], 200)
        return ""

    def _facts(self, key: CubicleKey, path: str) -> dict[str, Any] | None:
        """None for what can't be read to its end: too large, a link, a device."""
        facts: dict[str, Any] = {"path": path, "sha256": None, "size_bytes": None}
        try:
            file, _ = self._workspaces.open_inside(key, path)
        except NotFound:
            return facts
        except OrchestratorError:
            return None
        with file:
            digest, size = hashlib.sha256(), 0
            while block := file.read(_BLOCK):
                size += len(block)
                if size > MOST_BYTES:
                    return None
                digest.update(block)
        return facts | {"sha256": digest.hexdigest(), "size_bytes": size}
