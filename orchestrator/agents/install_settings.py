"""What the operator chose for the install in the dashboard: the default provider, models, where others find
it, and that it is set up.

Owns the rows and their place in the audit log. What a value may be is checked by whoever knows it; no secret is ever
among them.
"""

from __future__ import annotations

import time

from orchestrator.agents import install_settings_rows as rows
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store

DEFAULT_PROVIDER = "default_provider"
MODEL_OF = "model:"
"""Followed by the provider's name."""
SET_UP = "set_up"
ADDRESS = "address"
"""Where other people find the dashboard."""


class InstallSettings:
    """The install's own."""

    def __init__(self, store: Store, *, is_arranged: bool = False) -> None:
        """``is_arranged``: the settings say already who the operator is or which model answers."""
        self._store = store
        self._is_arranged = is_arranged

    def list_settings(self) -> dict[str, str]:
        """All that were chosen, by name."""
        with self._store.reading() as db:
            return rows.list_settings(db)

    def save_setting(self, name: str, value: str, said: str, *, by: str) -> None:
        """Choose; an empty text takes the choice back. ``said`` is the sentence for the audit log."""
        now = time.time()
        with self._store.writing() as db:
            rows.set_setting(db, name, value, now)
            audit_rows.insert_record(db, "setting.changed", f"{said} By {by}.", now=now, detail={name: value})

    def record_change(self, kind: str, text: str, **detail: str) -> None:
        """Something that belongs to the install's set-up was done elsewhere, in a file."""
        with self._store.writing() as db:
            audit_rows.insert_record(db, kind, text, now=time.time(), detail=dict(detail))

    @property
    def is_set_up(self) -> bool:
        """Nobody needs the first-run page."""
        return self._is_arranged or SET_UP in self.list_settings()

    def finish_set_up(self, *, by: str) -> None:
        """The first-run page has done what it is for."""
        self.save_setting(SET_UP, "done", "The first-run page was left.", by=by)

    def begin_set_up(self, *, by: str) -> None:
        """The first-run page may be opened once more."""
        self._is_arranged = False
        self.save_setting(SET_UP, "", "The first-run page was opened again.", by=by)
