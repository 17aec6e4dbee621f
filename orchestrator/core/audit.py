"""The audit log as surfaces read it. Who changes something in the database writes its row in the same transaction,
through ``core.db.audit_rows``; what changes elsewhere, such as a file, is noted here."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

from orchestrator.core.db import audit_rows as rows
from orchestrator.core.db.audit_rows import AuditRow
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey

logger = logging.getLogger(__name__)

MAX_PAGE = 500
_INDEXED_AT_ONCE = 500
"""Rows whose words go into the index in one transaction: some two milliseconds."""


class Audit:
    """Note what happened, and search in it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def record_event(self, kind: str, text: str, key: CubicleKey | None, **detail: str | int) -> None:
        """Something happened in a cubicle's workspace, or to all. Raises Unavailable when it can't be written down."""
        agent, user = (None, None) if key is None else (key.agent, key.user)
        with self._store.writing() as db:
            rows.insert_record(db, kind, text, now=time.time(), agent=agent, user=user, detail=detail)

    def search_records(
        self,
        *,
        words: str = "",
        agent: str | None = None,
        kind: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[AuditRow]:
        """The newest rows that match everything given, newest first; ``before`` is the id to page on from."""
        if words:
            self._index_safely()
        with self._store.reading() as db:
            return rows.search_records(
                db, words=words, agent=agent, kind=kind, before=before, limit=max(1, min(limit, MAX_PAGE))
            )

    def iterate_pages(
        self, *, words: str = "", agent: str | None = None, kind: str | None = None, before: int | None = None
    ) -> Iterator[list[AuditRow]]:
        """All rows that match, newest first, a page at a time: what is held in memory is one page, and no reader is
        kept waiting between two."""
        while page := self.search_records(words=words, agent=agent, kind=kind, before=before, limit=MAX_PAGE):
            yield page
            before = page[-1].id

    def index_records(self) -> None:
        """Every row is found by its words from now on. Raises Unavailable. Called every second, and before a search;
        nobody who writes meanwhile waits for more than a few rows."""
        while not self._is_indexed():
            with self._store.writing() as db:
                rows.index_records(db, most=_INDEXED_AT_ONCE)

    def _index_safely(self) -> None:
        try:
            self.index_records()
        except Unavailable as error:  # a full disk is looked into by searching here
            logger.warning("the newest rows of the audit log are not found by their words: %s", error.message)

    def _is_indexed(self) -> bool:
        with self._store.reading() as db:
            return rows.is_indexed(db)

    def list_kinds(self) -> list[str]:
        """Every kind of thing that has happened."""
        with self._store.reading() as db:
            return rows.list_kinds(db)

    def list_agents(self) -> list[str]:
        """Every agent that something has happened to, those that are gone too."""
        with self._store.reading() as db:
            return rows.list_agents(db)
