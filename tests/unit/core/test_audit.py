"""``orchestrator.core.audit``: what surfaces read of the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.core.audit import MAX_PAGE, Audit
from orchestrator.core.db import audit_rows as rows
from orchestrator.core.errors import Unavailable
from tests.support.core_fixture import core_fixture


@pytest.mark.parametrize(("limit", "found"), [(-5, 1), (0, 1), (7, 7), (10**6, MAX_PAGE)])
def test_a_page_has_an_end(tmp_path: Path, limit: int, found: int) -> None:
    """However much is asked for."""
    with core_fixture(tmp_path / "home") as install:
        with install.store.writing() as db:
            for n in range(MAX_PAGE + 50):
                rows.insert_record(db, "noise", f"row {n}", now=float(n))
        audit = Audit(install.store)
        page = audit.search_records(kind="noise", limit=limit)
        assert len(page) == found
        assert page[0].text == f"row {MAX_PAGE + 49}"
        assert audit.search_records(kind="noise", before=page[-1].id, limit=1)[0].text == f"row {MAX_PAGE + 49 - found}"


def test_what_was_just_written_is_found_by_its_words(tmp_path: Path) -> None:
    """However much of it came at once."""
    with core_fixture(tmp_path / "home") as install:
        audit = Audit(install.store)
        with install.store.writing() as db:
            for n in range(1_200):
                rows.insert_record(db, "noise", f"row {n}", now=float(n))
        assert [row.text for row in audit.search_records(words="row 1199")] == ["row 1199"]
        assert len(audit.search_records(words="row", limit=MAX_PAGE)) == MAX_PAGE
        with install.store.reading() as db:
            assert rows.is_indexed(db)


def test_a_full_disk_can_be_searched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was indexed before is found all the same."""
    with core_fixture(tmp_path / "home") as install:
        audit = Audit(install.store)
        for text in ("an old reef", "a new reef"):
            with install.store.writing() as db:
                rows.insert_record(db, "noise", text, now=1.0)
            if text == "an old reef":
                audit.index_records()
        monkeypatch.setattr(install.store, "writing", _full)
        assert [row.text for row in audit.search_records(words="reef")] == ["an old reef"]


def _full() -> None:
    raise Unavailable("The database cannot be written. The disk is full: free some space.")
