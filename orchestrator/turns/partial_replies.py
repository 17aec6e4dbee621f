"""Partial replies: what a model has written so far is stored while it writes (``turns.partial_reply_rows``)."""

from __future__ import annotations

import logging

from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError
from orchestrator.turns import partial_reply_rows as rows

logger = logging.getLogger(__name__)


class PartialReplies:
    """The replies of the turns that are under way."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def save_reply(self, turn: int, text: str) -> None:
        """The reply stands so now. A full disk costs the words, never the answer that is being written."""
        try:
            with self._store.writing() as db:
                rows.save_reply(db, turn, text)
        except OrchestratorError as error:
            logger.warning("what turn %s has written can't be kept: %s", turn, error.message)
