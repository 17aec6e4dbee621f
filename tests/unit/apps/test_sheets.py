"""``orchestrator.apps.sheets`` and the program that reads spreadsheets inside: what a person sees of good ones, and
that neither those made to hurt nor a container that lies get far.
"""

from __future__ import annotations

import json
import os
import tempfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.approvals.notifications import Notifications
from orchestrator.apps.sheets import (
    MOST_BYTES,
    MOST_CELL_CHARS,
    MOST_COLUMNS,
    MOST_ROWS,
    MOST_SHEETS,
    Book,
    Sheet,
    Sheets,
)
from orchestrator.capabilities.calls import Calls
from orchestrator.core.errors import NotFound, TooLarge, Unavailable
from orchestrator.engine.helper_folder import Failed
from orchestrator.jobs.pool import Jobs
from tests.fuzzing import bounded
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture
from tests.support.fake_sheet_reader import FakeSheetReader, program
from tests.support.spreadsheets import (
    CODED,
    DAY,
    HEAD,
    HOSTILE,
    MOMENT,
    OFFICE,
    PERCENT,
    TIDES,
    WORDS,
    number,
    row,
    sheet,
    text,
    workbook,
)

LONG_S = 30.0
BREAKS = (program().Refused, zipfile.BadZipFile, zlib.error, ExpatError, KeyError, ValueError, RuntimeError, EOFError)
"""What ends the container: nothing of it is a lack of memory."""
ROOM = {"sheets": 20, "rows": 200, "columns": 40, "chars": 200, "room": 1_000_000}


class Fixture:
    """An install that reads, and a cubicle's ``out``."""

    def __init__(self, install: CoreFixture) -> None:
        self.reader = FakeSheetReader()
        install.workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid())
        install.workspaces.prepare_folders(OTHER, uid=os.geteuid(), gid=os.getegid())
        self.out = install.home / "workspaces" / KEY.agent / str(KEY.user) / "out"
        self.folder = install.home / "pages"
        finish = Calls(store=install.store, agents=install.agents).finish_calls
        self.jobs = Jobs(install.store, Notifications(install.store, install.broker), finish=finish)
        self.sheets = Sheets(
            self.reader, install.workspaces, install.store, self.jobs, folder=self.folder, image=lambda: "base"
        )
        self.sheets.start()
        self.jobs.start()

    def read(self, content: bytes = TIDES) -> Book:
        """What is seen of this file."""
        (self.out / "a.xlsx").write_bytes(content)
        book = self.sheets.read_file(KEY, "out/a.xlsx", wait_s=LONG_S)
        assert book is not None
        return book


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """An install in which spreadsheets are read."""
    with core_fixture(tmp_path / "home") as install:
        made = Fixture(install)
        yield made
        made.jobs.close()


def _cells(*cells: str, strings: str = "", before: str = "") -> list[str]:
    """What is seen of the cells of one row."""
    (found,) = _read(workbook({"A": sheet(row(1, *cells))}, strings=strings, before=before))
    line: list[str] = found["rows"][0]
    return line


def _read(content: bytes) -> list[dict[str, Any]]:
    with tempfile.NamedTemporaryFile(suffix=".xlsx") as file:
        file.write(content)
        file.flush()
        found: list[dict[str, Any]] = program().read_book(Path(file.name), **ROOM)
    return found


def test_a_spreadsheet_is_read_once(fixture: Fixture) -> None:
    """Its sheets, their first rows, and how many more there are; the same file again costs nothing."""
    tides, harbours = fixture.read()
    assert (tides.name, tides.height, tides.width, tides.more_rows, tides.is_whole) == ("Tides", 1404, 3, 1204, True)
    assert tides.rows[:3] == (
        ("day", "high", "metres"),
        ("2026-05-01", "06:00", "4.2"),
        ("2026-05-04", "at noon", "3"),
    )
    assert harbours == Sheet("Harbours", (("name", "depth"), ("Ostend", "8")), 2, 2, is_whole=True)
    assert fixture.read() == (tides, harbours)
    assert fixture.reader.given == 1
    assert list((fixture.folder / "sheets-box").iterdir()) == []


def test_cells_are_seen_as_a_person_would() -> None:
    """Texts, shared or not, numbers, dates, percents, truths and faults; a formula by its value, or by itself where the
    program that wrote the file had none."""
    strings = "<si><t>shared</t></si><si><r><t>in </t></r><r><t>pieces</t></r><rPh><t>spoken</t></rPh></si>"
    shared = [f'<c t="s"><v>{n}</v></c>' for n in (0, 1, 2)]
    assert _cells(*shared, strings=strings) == ["shared", "in pieces", ""]
    assert _cells(number(1.5), number(0.1 + 0.2), number(3, WORDS), number(0.125, PERCENT)) == [
        "1.5",
        "0.3",
        "3",
        "12.5%",
    ]
    assert _cells(number(46143, DAY), number(46143.604166667, CODED), number(0.5, MOMENT)) == [
        "2026-05-01",
        "2026-05-01 14:30",
        "12:00",
    ]
    assert _cells(number(1, DAY), number(60, DAY), number(61, DAY)) == ["1900-01-01", "1900-02-28", "1900-03-01"]
    assert _cells(number(0, DAY), before='<workbookPr date1904="1"/>') == ["1904-01-01"]
    assert _cells(number(-1, DAY), number(1e300, DAY)) == ["-1", "1e+300"]
    assert _cells('<c t="b"><v>1</v></c>', '<c t="e"><v>#DIV/0!</v></c>', '<c t="d"><v>2026-05-01</v></c>') == [
        "TRUE",
        "#DIV/0!",
        "2026-05-01",
    ]
    assert _cells("<c><f>A1*2</f><v>84</v></c>", "<c><f>SUM(A1:A9)</f></c>", '<c t="str"><f>T(1)</f><v>x</v></c>') == [
        "84",
        "=SUM(A1:A9)",
        "x",
    ]


def test_what_is_not_there_leaves_its_place() -> None:
    """Empty cells and rows between others are empty; those that have a look alone do not count."""
    (found,) = _read(
        workbook({"A": sheet('<row r="3"><c r="C3"><v>7</v></c></row>', '<row r="900"><c r="AZ900" s="1"/></row>')})
    )
    assert (found["rows"], found["height"], found["width"]) == ([["", "", ""], ["", "", ""], ["", "", "7"]], 3, 3)
    (wide,) = _read(workbook({"A": sheet(row(1, *[number(n) for n in range(300)]))}))
    assert (len(wide["rows"][0]), wide["width"]) == (40, 300)


def test_hidden_sheets_stay_hidden_and_long_texts_are_cut() -> None:
    """As a person who opens the file sees them."""
    book = workbook({"A": sheet(row(1, text("x" * 10_000))), "B": sheet(row(1, text("y")))})
    (first, _) = _read(book)
    assert first["rows"] == [["x" * 200]]
    listed = '<sheet name="A" state="hidden" r:id="r1"/><sheet name="B" r:id="r2"/>'
    names = f'{HEAD}<workbook xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
    hidden = workbook({"A": sheet(row(1, text("x"))), "B": sheet()}, more={"xl/workbook.xml": names})
    assert [one["name"] for one in _read(hidden)] == ["B"]


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_those_made_to_hurt_are_refused_or_cut(fixture: Fixture, name: str) -> None:
    """Within bounds of memory, and nothing of the host is in what is seen; the next one is read."""
    content = HOSTILE[name]()
    tracemalloc.start()
    try:
        with suppress(Failed):
            book = fixture.read(content)
            assert all(len(cell) <= MOST_CELL_CHARS for one in book for line in one.rows for cell in line)
            assert "root:" not in str(book)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200_000_000
    assert len(fixture.read()) == 2


@bounded(40)
@given(st.binary(max_size=400), st.integers(0, len(TIDES) - 1))
def test_noise_is_refused_or_read(noise: bytes, at: int) -> None:
    """Whatever bytes are in a file: an exception ends the container, and nothing else happens."""
    content = TIDES[:at] + noise + TIDES[at + len(noise) :]
    found = []
    with suppress(*BREAKS):
        found = _read(content)
    assert all(len(line) <= 40 for one in found for line in one["rows"])


_GOOD = {"name": "A", "rows": [["x"]], "height": 1, "width": 1, "is_whole": True}


@pytest.mark.parametrize(
    "brings",
    [
        b"",
        b"[]",
        b"{}",
        b'{"sheets": []}',
        b'{"sheets": [1]}',
        b'{"sheets": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        json.dumps({"sheets": [_GOOD] * (MOST_SHEETS + 1)}).encode(),
        json.dumps({"sheets": [_GOOD | {"name": None}]}).encode(),
        json.dumps({"sheets": [_GOOD | {"height": True}]}).encode(),
        json.dumps({"sheets": [_GOOD | {"rows": [["x"], []]}]}).encode(),
        json.dumps({"sheets": [_GOOD | {"rows": [["x"]] * (MOST_ROWS + 1)}]}).encode(),
        json.dumps({"sheets": [_GOOD | {"rows": [["x"] * (MOST_COLUMNS + 1)]}]}).encode(),
        json.dumps({"sheets": [_GOOD | {"rows": [[{"html": "x"}]]}]}).encode(),
        b'{"sheets": "' + b"x" * 9_000_000 + b'"}',
    ],
    ids=str,
)
def test_a_container_that_lies_is_a_file_that_can_not_be_shown(fixture: Fixture, brings: bytes) -> None:
    """What it brings is a stranger's; nothing of it stays."""
    fixture.reader.brings = brings
    with pytest.raises(Failed, match="Download it"):
        fixture.read()
    assert list((fixture.folder / "sheets").glob("*-*")) == []


def test_numbers_that_lie_are_bounded(fixture: Fixture) -> None:
    """No sheet has more than a sheet can have, and no cell more than is shown."""
    told = _GOOD | {"height": 10**12, "width": -5, "rows": [["y" * 5_000]]}
    fixture.reader.brings = json.dumps({"sheets": [told]}).encode()
    (found,) = fixture.read()
    assert (found.height, found.more_columns, found.rows) == (1_048_576, 0, (("y" * MOST_CELL_CHARS,),))


def test_what_is_none_is_not_read(fixture: Fixture) -> None:
    """By its first bytes; nor what is too large, nor what is another's."""
    with pytest.raises(NotFound):
        fixture.read(b"a;b\n1;2\n")
    with pytest.raises(TooLarge):
        fixture.read(TIDES.ljust(MOST_BYTES + 1))
    with pytest.raises(NotFound):
        fixture.sheets.read_file(OTHER, "out/a.xlsx", wait_s=LONG_S)
    assert fixture.reader.given == 0


def test_an_engine_that_is_away_is_told_and_asked_again(fixture: Fixture) -> None:
    """Nothing of the failure is kept."""
    fixture.reader.breaks = Unavailable("There is no engine.")
    with pytest.raises(Unavailable, match="no engine"):
        fixture.read()
    fixture.reader.breaks = None
    assert len(fixture.read()) == 2
