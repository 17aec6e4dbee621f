"""The keys of model providers that were given in the dashboard: one file in HERMIT_HOME that its owner alone can read.

Keys go in and come out for the request header alone; they are in no database row, log or answer. The file is written
whole or not at all.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from orchestrator.core import atomic_files as whole_files
from orchestrator.core.errors import ConfigError, Unavailable


@dataclass(frozen=True, slots=True)
class OwnKey:
    """What is needed to ask one provider."""

    key: str = field(repr=False)
    base_url: str = ""
    """For a server of one's own alone; it is kept beside its key, so that a key goes where it was meant for."""


class KeyStore:
    """The file. Thread-safe."""

    def __init__(self, file: Path) -> None:
        """Raises ConfigError when the file is unusable: rather than lose keys, nothing starts."""
        self._file = file
        self._lock = threading.Lock()  # protects the file and _keys
        self._keys = _read_keys(file)

    def list_keys(self) -> Mapping[str, OwnKey]:
        """All keys, by provider, oldest first."""
        with self._lock:
            return dict(self._keys)

    def save_key(self, provider: str, own: OwnKey | None) -> None:
        """Keep this one, in the place of what was there; with None there is none any more. Raises Unavailable, and
        then nothing has changed."""
        with self._lock:
            keys = {name: kept for name, kept in self._keys.items() if name != provider or own is not None}
            if own is not None:
                keys[provider] = own
            _write_keys(self._file, keys)
            self._keys = keys


def _read_keys(file: Path) -> dict[str, OwnKey]:
    try:
        file.chmod(0o600)
        document = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): OwnKey(str(kept["key"]), str(kept["base_url"])) for name, kept in document.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise ConfigError(
            f"{file} can't be read: it holds the keys that were given in the dashboard. Restore it from a backup, or "
            "delete it and give the keys again."
        ) from None  # the reason may quote what is in the file


def _write_keys(file: Path, keys: Mapping[str, OwnKey]) -> None:
    try:
        whole_files.replace_file(file, json.dumps({name: asdict(own) for name, own in keys.items()}, indent=1))
    except OSError as error:
        raise Unavailable(f"The key can't be written down ({error.strerror}). Check the disk.") from error
