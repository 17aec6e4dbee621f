"""Spreadsheets for tests, made of parts by hand: good ones, and those that are made to hurt."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
STYLES = (
    f'{HEAD}<styleSheet xmlns="{MAIN}"><numFmts count="3">'
    '<numFmt numFmtId="170" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="171" formatCode="[Red]0.00&quot; days&quot;"/>'
    '<numFmt numFmtId="172" formatCode="0.0%"/></numFmts><cellXfs count="6">'
    '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/>'
    '<xf numFmtId="171"/><xf numFmtId="172"/><xf numFmtId="22"/>'
    "</cellXfs></styleSheet>"
)
DAY, CODED, WORDS, PERCENT, MOMENT = 1, 2, 3, 4, 5
"""Styles of cells."""


def relations(*targets: tuple[str, str]) -> str:
    """Parts with their kinds, under ``r1``, ``r2`` and so on."""
    links = "".join(
        f'<Relationship Id="r{n}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets, 1)
    )
    return f'{HEAD}<Relationships xmlns="{PACKAGE}">{links}</Relationships>'


def sheet(*rows: str) -> str:
    """A sheet of these rows, written as ``row`` writes them."""
    return f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>{"".join(rows)}</sheetData></worksheet>'


def row(number: int, *cells: str) -> str:
    """A row of these cells, from the left."""
    return f'<row r="{number}">{"".join(cells)}</row>'


def text(value: str) -> str:
    """A cell with a text of its own."""
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def number(value: float, style: int = 0) -> str:
    """A cell with a number."""
    return f'<c s="{style}"><v>{value}</v></c>'


def workbook(
    sheets: Mapping[str, str], *, strings: str = "", before: str = "", more: Mapping[str, str | bytes] | None = None
) -> bytes:
    """An XLSX file of these sheets, with ``before`` in the book ahead of their list, and more parts, or others in
    their place."""
    names = list(sheets)
    listed = "".join(
        f'<sheet name="{escape(name, {chr(34): "&quot;"})}" sheetId="{n}" r:id="r{n}"/>'
        for n, name in enumerate(names, 1)
    )
    targets = [("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(names) + 1)]
    targets += [("styles", "styles.xml"), ("sharedStrings", "sharedStrings.xml")]
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": (
            f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">{before}<sheets>{listed}</sheets></workbook>'
        ),
        "xl/_rels/workbook.xml.rels": relations(*targets),
        "xl/styles.xml": STYLES,
        "xl/sharedStrings.xml": f'{HEAD}<sst xmlns="{MAIN}">{strings}</sst>',
    }
    parts |= {f"xl/worksheets/sheet{n}.xml": sheets[name] for n, name in enumerate(names, 1)}
    return packed({**parts, **(more or {})})


def packed(parts: Mapping[str, str | bytes], *, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these parts."""
    place = io.BytesIO()
    with zipfile.ZipFile(place, "w", how) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return place.getvalue()


TIDES = workbook(
    {
        "Tides": sheet(
            row(1, text("day"), text("high"), text("metres")),
            row(2, number(46143, DAY), number(0.25, MOMENT), number(4.2)),
            *(row(n, number(46143 + n, DAY), text("at noon"), number(n)) for n in range(3, 1405)),
        ),
        "Harbours": sheet(row(1, text("name"), text("depth")), row(2, text("Ostend"), number(8))),
    }
)
"""Two sheets, the first of them long."""

BOMB_BYTES = 300 << 20
"""Unpacked: more than is read."""
_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


def bomb(part: str, beginning: str, *, good: bytes) -> bytes:
    """A good spreadsheet, but for one part that unpacks to far more than its packed size."""
    place, piece = io.BytesIO(), b"a" * (1 << 20)
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as file:
        for name in old.namelist():
            if name != part:
                file.writestr(name, old.read(name))
        with file.open(part, "w") as out:
            out.write(beginning.encode())
            for _ in range(BOMB_BYTES >> 20):
                out.write(piece)
    return place.getvalue()


def _with_entities(entities: str, use: str) -> bytes:
    body = f'<worksheet><sheetData><row r="1"><c t="str"><v>&{use};</v></c></row></sheetData></worksheet>'
    return workbook({"A": f"{HEAD}<!DOCTYPE x [{entities}]>{body}"})


_GOOD = sheet(row(1, text("x")))
_BOOK = workbook({"A": _GOOD})
_LINKS = "xl/_rels/workbook.xml.rels"
HOSTILE: dict[str, Callable[[], bytes]] = {
    "no zip": lambda: b"PK\x03\x04" + b"\0" * 100,
    "cut": lambda: TIDES[: len(TIDES) // 2],
    "empty": lambda: packed({}),
    "no book": lambda: packed({"a.txt": "x"}),
    "laughs": lambda: _with_entities(f'<!ENTITY l0 "ha">{_LAUGHS}', "l9"),
    "a file of the host": lambda: _with_entities('<!ENTITY e SYSTEM "file:///etc/passwd">', "e"),
    "a bomb": lambda: bomb("xl/worksheets/sheet1.xml", '<worksheet><sheetData><row r="1"><c t="str"><v>', good=_BOOK),
    "a bomb of texts": lambda: bomb("xl/sharedStrings.xml", "<sst><si><t>", good=_BOOK),
    "deep": lambda: workbook({"A": f"{HEAD}<worksheet>{'<a>' * 100_000}{'</a>' * 100_000}</worksheet>"}),
    "a row beyond all": lambda: workbook({"A": sheet('<row r="9999999"><c><v>1</v></c></row>')}),
    "a column beyond all": lambda: workbook({"A": sheet('<row r="1"><c r="ZZZ1"><v>1</v></c></row>')}),
    "itself": lambda: workbook({"A": _GOOD}, more={_LINKS: relations(("worksheet", "workbook.xml"))}),
    "outside": lambda: workbook({"A": _GOOD}, more={_LINKS: relations(("worksheet", "../../../etc/passwd"))}),
    "many parts": lambda: packed({f"{n}": "" for n in range(6_000)}),
    "packed otherwise": lambda: packed({"_rels/.rels": "x", "xl/workbook.xml": "x" * 1000}, how=zipfile.ZIP_LZMA),
    "no XML": lambda: workbook({"A": "\x00\x01"}),
}
"""Spreadsheets that are made to hurt whoever reads them, by what they do."""
