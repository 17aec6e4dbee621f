"""The audit log as a file for other programs: CSV for a spreadsheet, JSON lines for all else. Written while it is read,
so a million rows need the memory of one page.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from dashboard.shapes import audit_json
from orchestrator.core.db.audit_rows import AuditRow

COLUMNS = ("id", "at", "kind", "agent", "user", "turn", "text", "detail")
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson; charset=utf-8"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet compute a cell. The wide ones count too in some."""


def export_lines(pages: Iterable[list[AuditRow]], how: str) -> Iterator[bytes]:
    """The whole file, a piece a page; ``how`` is one of ``TYPES``."""
    return _csv_pages(pages) if how == "csv" else _jsonl_pages(pages)


def escape_formula(value: Any) -> Any:
    """A cell that no spreadsheet computes: a text that would begin a formula gets an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA) else value


def _csv_pages(pages: Iterable[list[AuditRow]]) -> Iterator[bytes]:
    yield _csv_text([list(COLUMNS)])
    for page in pages:
        yield _csv_text(_csv_cells(row) for row in page)


def _csv_cells(row: AuditRow) -> list[Any]:
    body = audit_json(row)
    body["detail"] = json.dumps(body["detail"], ensure_ascii=False) if body["detail"] else ""
    return [escape_formula(body[column]) for column in COLUMNS]


def _csv_text(rows: Iterable[list[Any]]) -> bytes:
    place = io.StringIO()
    csv.writer(place).writerows(rows)
    return place.getvalue().encode("utf-8", "replace")


def _jsonl_pages(pages: Iterable[list[AuditRow]]) -> Iterator[bytes]:
    for page in pages:
        text = "".join(json.dumps(audit_json(row), ensure_ascii=False) + "\n" for row in page)
        yield text.encode("utf-8", "replace")
