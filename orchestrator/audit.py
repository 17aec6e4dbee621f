"""The audit log as surfaces read it. Who changes something writes its row in the same transaction, through
``store.audit``."""

from __future__ import annotations

from orchestrator.store import audit as rows
from orchestrator.store.audit import AuditRow
from orchestrator.store.database import Store

MAX_PAGE = 500


class Audit:
    """Search in what happened."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def search(
        self,
        *,
        words: str = "",
        agent: str | None = None,
        kind: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[AuditRow]:
        """The newest rows that match everything given, newest first; ``before`` is the id to page on from."""
        with self._store.reading() as db:
            return rows.search(
                db, words=words, agent=agent, kind=kind, before=before, limit=max(1, min(limit, MAX_PAGE))
            )
