"""The values of MCP servers' secrets: one file in HERMIT_HOME that its owner alone can read. A value goes in, and comes
out for the start of its server alone; it is in no database row, log or answer. The file is written whole or not at all.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Mapping
from pathlib import Path

from orchestrator.core import atomic_files
from orchestrator.core.errors import ConfigError, Unavailable


class McpSecrets:
    """The file. Thread-safe."""

    def __init__(self, file: Path) -> None:
        """Raises ConfigError when the file is unusable: rather than lose secrets, nothing starts."""
        self._file = file
        self._lock = threading.Lock()  # protects the file and _values
        self._values = _read_values(file)

    def list_values(self) -> list[str]:
        """Every value, to be kept out of the log."""
        with self._lock:
            return [value for kept in self._values.values() for value in kept.values()]

    def list_names(self, server: str) -> tuple[str, ...]:
        """Which secrets the server with this id has values for."""
        with self._lock:
            return tuple(self._values.get(server, {}))

    def read_values(self, server: str) -> Mapping[str, str]:
        """The values of the server with this id, by name."""
        with self._lock:
            return dict(self._values.get(server, {}))

    def save_values(self, server: str, values: Mapping[str, str]) -> None:
        """Keep these alone for the server. Raises Unavailable, and then nothing has changed."""
        with self._lock:
            others = {one: kept for one, kept in self._values.items() if one != server}
            self._write({**others, server: dict(values)} if values else others)

    def keep_only(self, servers: Collection[str]) -> None:
        """Forget the values of all other servers. Raises Unavailable."""
        with self._lock:
            kept = {one: values for one, values in self._values.items() if one in servers}
            if kept != self._values:
                self._write(kept)

    def _write(self, values: dict[str, dict[str, str]]) -> None:
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic_files.replace_file(self._file, json.dumps(values, indent=1))
        except OSError as error:
            raise Unavailable(f"The secret can't be written down ({error.strerror}). Check the disk.") from error
        self._values = values


def _read_values(file: Path) -> dict[str, dict[str, str]]:
    try:
        file.chmod(0o600)
        document = json.loads(file.read_text(encoding="utf-8"))
        return {str(one): {str(name): str(value) for name, value in kept.items()} for one, kept in document.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError):
        raise ConfigError(
            f"{file} can't be read: it holds the secrets of MCP servers. Restore it from a backup, or delete it and "
            "give the secrets again."
        ) from None  # the reason may quote what is in the file
