"""``orchestrator.audit``: what surfaces read of the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.audit import MAX_PAGE, Audit
from orchestrator.store import audit as rows
from tests.rooms import rooms


@pytest.mark.parametrize(("limit", "found"), [(-5, 1), (0, 1), (7, 7), (10**6, MAX_PAGE)])
def test_a_page_has_an_end(tmp_path: Path, limit: int, found: int) -> None:
    """However much is asked for."""
    with rooms(tmp_path / "home") as house:
        with house.store.writing() as db:
            for n in range(MAX_PAGE + 50):
                rows.add(db, "noise", f"row {n}", now=float(n))
        audit = Audit(house.store)
        page = audit.search(kind="noise", limit=limit)
        assert len(page) == found
        assert page[0].text == f"row {MAX_PAGE + 49}"
        assert audit.search(kind="noise", before=page[-1].id, limit=1)[0].text == f"row {MAX_PAGE + 49 - found}"
