"""Spreadsheets that an agent made, to be looked at: the first cells of each sheet, as texts, read by a program in a
container that is thrown away. An XLSX file is a zip of XML, and both are made to hurt easily, so nothing of it is
unpacked or parsed on the host; what comes of it is bounded, read as a stranger's JSON, and nothing but texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.apps.helper_views import HelperViews, ViewKind, read_result
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, NotFound
from orchestrator.core.models import CubicleKey
from orchestrator.core.strict_json import read_object
from orchestrator.engine.helper_folder import Failed
from orchestrator.engine.helpers import SHEETS
from orchestrator.engine.protocol import HelperEngine
from orchestrator.files.magic import content_of
from orchestrator.files.models import FilePath
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs.pool import Jobs

MOST_BYTES = 20_000_000
MOST_SHEETS, MOST_ROWS, MOST_COLUMNS, MOST_CELL_CHARS = 20, 200, 40, 200
MOST_CHARS = 1_000_000
"""In all cells together."""
_MOST_RESULT_BYTES = 8_000_000
_MOST_VALUES = MOST_SHEETS * (MOST_ROWS * (MOST_COLUMNS + 1) + 10)
_TALLEST, _WIDEST = 1_048_576, 16_384
PROGRAM = Path(__file__).resolve().parents[2] / "cubicle" / "sheets.py"
_UNREADABLE = "This spreadsheet can't be shown: it is damaged, locked, or too large. Download it to open it."
_KIND = ViewKind(
    "sheets",
    SHEETS,
    box="sheets-box",
    kept="sheets",
    kept_s=24 * 3600.0,
    most_kept=100,
    most_brought=2 * _MOST_RESULT_BYTES,
    most_waiting=40,
    time_s=30.0,
    is_busy="Other spreadsheets are being read just now. Try again in a moment.",
    broke="The spreadsheet could not be read; the orchestrator's log says why. Download it.",
)


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet."""

    name: str
    rows: tuple[tuple[str, ...], ...]
    """The first ones, each equally wide."""
    height: int
    """How many rows it has, up to the last that is not empty."""
    width: int
    is_whole: bool
    """All of it was read, so that there are not still more rows."""

    @property
    def more_rows(self) -> int:
        """How many rows are not among the first ones."""
        return max(0, self.height - len(self.rows))

    @property
    def more_columns(self) -> int:
        """The same for columns."""
        return max(0, self.width - (len(self.rows[0]) if self.rows else 0))


Book = tuple[Sheet, ...]


class Sheets:
    """Reads them, and keeps what was read for a while. All methods may be called from any thread."""

    def __init__(
        self,
        helpers: HelperEngine | None,
        workspaces: Workspaces,
        store: Store,
        jobs: Jobs,
        *,
        folder: Path,
        image: Callable[[], str],
    ) -> None:
        """``helpers``: who reads, None where nobody does; ``folder`` is private to it; ``image`` gives the name of the
        image to read in."""
        self._workspaces = workspaces
        self._views: HelperViews[Book] = HelperViews(
            _KIND, helpers, store, jobs, folder=folder, image=image, pack=_pack, collect=_collect, read=_read_kept
        )

    @property
    def is_there(self) -> bool:
        """Spreadsheets can be read here."""
        return self._views.is_there

    @property
    def most_bytes(self) -> int:
        """A larger one is not read."""
        return MOST_BYTES

    def start(self) -> None:
        """Nothing is left of another run."""
        self._views.start()

    def read_file(self, key: CubicleKey, path: FilePath, *, wait_s: float) -> Book | None:
        """The spreadsheet at ``path`` as it is now; None when it is still being read after ``wait_s`` seconds, and may
        be asked for again. Raises NotFound, UnsafePath, TooLarge, Changing, TooMany, Unavailable, and Failed for what
        can't be read."""
        with self._workspaces.copy_out(key, path, max_bytes=MOST_BYTES) as copy:
            content = copy.file.read()
        return self.read_content(key, copy.sha256, content, wait_s=wait_s)

    def read_content(self, key: CubicleKey, digest: str, content: bytes, *, wait_s: float) -> Book | None:
        """The same for a spreadsheet of this cubicle with these bytes, whose SHA-256 in hex is ``digest``."""
        if not self.is_there or content_of(content[:64]) != "zip":
            raise NotFound("There is no spreadsheet here that can be shown.")
        return self._views.make(key, digest, content, wait_s=wait_s)


def _pack(content: bytes) -> dict[str, bytes]:
    task = {
        "sheets": MOST_SHEETS,
        "rows": MOST_ROWS,
        "columns": MOST_COLUMNS,
        "chars": MOST_CELL_CHARS,
        "room": MOST_CHARS,
    }
    return {"book.xlsx": content, "task.json": json.dumps(task).encode(), "sheets.py": PROGRAM.read_bytes()}


def _collect(brought: Path, fresh: Path) -> None:
    """What is a spreadsheet is kept as we write it."""
    try:
        told = read_object(read_result(brought / "sheets.json", _MOST_RESULT_BYTES), max_items=_MOST_VALUES)
        sheets = [_check_sheet(sheet) for sheet in _check(told.get("sheets"), list)]
    except BadInput as error:
        raise Failed(_UNREADABLE) from error
    if not 0 < len(sheets) <= MOST_SHEETS:
        raise Failed(_UNREADABLE)
    (fresh / "sheets.json").write_text(json.dumps(sheets), encoding="ascii")


def _check_sheet(told: Any) -> tuple[str, list[list[str]], int, int, bool]:
    """One sheet of what the container brought. Raises BadInput."""
    sheet = _check(told, dict)
    rows = [
        [_check(cell, str)[:MOST_CELL_CHARS] for cell in _check(row, list)] for row in _check(sheet.get("rows"), list)
    ]
    widths = {len(row) for row in rows}
    if len(rows) > MOST_ROWS or len(widths) > 1 or max(widths, default=0) > MOST_COLUMNS:
        raise BadInput("rows: this is no table.")
    height, width = (
        min(max(0, _check(sheet.get(name), int)), most) for name, most in (("height", _TALLEST), ("width", _WIDEST))
    )
    return _check(sheet.get("name"), str)[:MOST_CELL_CHARS], rows, height, width, sheet.get("is_whole") is True


def _check(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise BadInput("This is no spreadsheet.")
    return value


def _read_kept(place: Path) -> Book:
    sheets = json.loads((place / "sheets.json").read_text(encoding="ascii"))
    return tuple(
        Sheet(name, tuple(map(tuple, rows)), height, width, is_whole) for name, rows, height, width, is_whole in sheets
    )
