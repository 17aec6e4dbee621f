"""What is in a spreadsheet (XLSX), as JSON, read in a container that is thrown away and has no network. It reads
``/helper/in/book.xlsx`` and ``task.json`` beside it, and leaves ``/helper/out/sheets.json``: for each sheet its name,
the first cells as a person sees them, and how many rows and columns it has.

The file is a stranger's and may be made to hurt: so nothing of it is unpacked beyond a bound, no document type is read,
and every text, cell, row and sheet is counted. Whoever asked for the result reads it as a stranger's all the same.

Only the standard library: the container's image has nothing else.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers import expat

IN, OUT = Path("/helper/in"), Path("/helper/out")
ENDS_S = 40
CHUNK = 1 << 16
MOST_PARTS = 5_000
MOST_SMALL_BYTES = 8 << 20
"""Of the book, its relations and its styles, unpacked."""
MOST_STRINGS_BYTES, MOST_STRINGS, MOST_STRING_CHARS = 64 << 20, 500_000, 20_000_000
MOST_SHEET_BYTES = 256 << 20
"""Unpacked; rows beyond are not counted."""
MOST_DEPTH = 64
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""What a sheet can have."""
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})", re.ASCII)
_NOT_CODE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_DATES = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
"""Formats that need no code to be known as dates or times."""
_PERCENTS = frozenset({9, 10})


class Refused(Exception):
    """It is no spreadsheet that can be shown."""


def main() -> int:
    """The sheets are there; whatever is wrong with the file is an exception, and then nothing is."""
    signal.alarm(ENDS_S)  # should nobody be left who ends this container
    task = json.loads((IN / "task.json").read_text(encoding="utf-8"))
    found = read_book(IN / "book.xlsx", **{name: int(most) for name, most in task.items()})
    (OUT / "new").write_text(json.dumps({"sheets": found}, ensure_ascii=True), encoding="ascii")
    (OUT / "new").rename(OUT / "sheets.json")
    return 0


def read_book(path: Path, *, sheets: int, rows: int, columns: int, chars: int, room: int) -> list[dict[str, object]]:
    """The first so many sheets, rows and columns, each cell of so many characters, and ``room`` for all of them."""
    with zipfile.ZipFile(path) as book:
        if len(book.namelist()) > MOST_PARTS:
            raise Refused("too many parts")
        main_part = next(
            (target for kind, target in _relations(book, "").values() if kind.endswith("/officeDocument")),
            "xl/workbook.xml",
        )
        targets = _relations(book, main_part)
        listed, styles = Workbook(), Styles()
        parse(book, main_part, listed, MOST_SMALL_BYTES)
        strings: list[str] = []
        for kind, target in targets.values():
            if kind.endswith("/styles"):
                parse(book, target, styles, MOST_SMALL_BYTES)
            elif kind.endswith("/sharedStrings"):
                strings = Strings(chars).read(book, target)
        found: list[dict[str, object]] = []
        for name, relation in listed.sheets[:sheets]:
            kind, target = targets.get(relation, ("", ""))
            if kind.endswith("/worksheet"):
                sheet = Sheet(strings, styles, Bounds(rows, columns, chars, room), is_1904=listed.is_1904)
                found.append({"name": name[:chars], **sheet.read(book, target)})
                room = max(0, sheet.room)
        if not found:
            raise Refused("no sheets")
        return found


class Enough(Exception):
    """Nothing more is wanted of this part."""


class Reader:
    """What is done with the elements of one part; their names come without namespaces."""

    def begin(self, element: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def end(self, element: str) -> None:
        """It ends."""

    def text(self, text: str) -> None:
        """There is text in it."""


def parse(book: zipfile.ZipFile, part: str, reader: Reader, most: int) -> bool:
    """Read a part, a piece at a time; False where it was longer than so many bytes, or the reader had enough. Raises
    Refused for a document type, in which entities are declared, and for what is nested too deep."""
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = 0

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MOST_DEPTH:
            raise Refused("nested too deep")
        reader.begin(name.rpartition(" ")[2], {key.rpartition(" ")[2]: value for key, value in attributes.items()})

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1
        reader.end(name.rpartition(" ")[2])

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = opened, closed, reader.text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse_document_type
    parser.buffer_text = True
    if book.getinfo(part).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Refused("packed in a way that unpacks without a bound")
    left = most
    try:
        with book.open(part) as packed:
            while left > 0 and (piece := packed.read(min(CHUNK, left))):
                left -= len(piece)
                parser.Parse(piece, False)
        if left > 0:
            parser.Parse(b"", True)
    except Enough:
        return False
    return left > 0


def _refuse_document_type(*_: object) -> NoReturn:
    raise Refused("it declares a document type")


Links = dict[str, tuple[str, str]]


class Relations(Reader):
    """What a part names: kind and part, by its id. Nothing outside the file."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.found: Links = {}

    def begin(self, element: str, attributes: dict[str, str]) -> None:
        """A relation."""
        if element == "Relationship" and attributes.get("TargetMode") != "External" and len(self.found) < MOST_PARTS:
            target = attributes.get("Target", "")
            inside = target if target.startswith("/") else f"{self._folder}/{target}"
            self.found[attributes.get("Id", "")] = (attributes.get("Type", ""), inside.removeprefix("/"))


def _relations(book: zipfile.ZipFile, part: str) -> Links:
    folder, _, name = part.rpartition("/")
    listed = f"{folder}/_rels/{name}.rels" if folder else f"_rels/{name}.rels"
    relations = Relations(folder)
    if listed in book.namelist():
        parse(book, listed, relations, MOST_SMALL_BYTES)
    return relations.found


class Workbook(Reader):
    """Which sheets there are, without hidden ones."""

    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []
        self.is_1904 = False

    def begin(self, element: str, attributes: dict[str, str]) -> None:
        """A sheet, or what holds for all."""
        if element == "workbookPr":
            self.is_1904 = attributes.get("date1904") in ("1", "true")
        elif element == "sheet" and attributes.get("state", "visible") == "visible" and len(self.sheets) < MOST_PARTS:
            self.sheets.append((attributes.get("name", ""), attributes.get("id", "")))


class Styles(Reader):
    """Which styles of cells are dates, and which are percents."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._formats: list[str] = []
        self._is_in_cells = False

    def begin(self, element: str, attributes: dict[str, str]) -> None:
        """A format, or a style."""
        if element == "numFmt" and len(self._codes) < MOST_PARTS:
            self._codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")[:255]
        elif element == "cellXfs":
            self._is_in_cells = True
        elif element == "xf" and self._is_in_cells and len(self._formats) < 100_000:
            self._formats.append(attributes.get("numFmtId", "0"))

    def end(self, element: str) -> None:
        """The list of styles is over."""
        if element == "cellXfs":
            self._is_in_cells = False

    def kind_of(self, style: str) -> str:
        """``date``, ``percent``, or nothing."""
        number = self._formats[int(style)] if style.isdigit() and int(style) < len(self._formats) else "0"
        code = self._codes.get(number)
        if code is None:
            known = int(number) if number.isdigit() else 0
            return "date" if known in _DATES else "percent" if known in _PERCENTS else ""
        bare = _NOT_CODE.sub("", code.split(";")[0]).lower()
        if "general" not in bare and re.search(r"[ydhs]|m{1,}", bare):
            return "date"
        return "percent" if "%" in bare else ""


class Strings(Reader):
    """The texts that cells share."""

    def __init__(self, chars: int) -> None:
        self._chars, self._left = chars, MOST_STRING_CHARS
        self._found: list[str] = []
        self._pieces: list[str] = []
        self._is_text = self._is_spoken = False

    def read(self, book: zipfile.ZipFile, part: str) -> list[str]:
        """All of them, up to a bound."""
        parse(book, part, self, MOST_STRINGS_BYTES)
        return self._found

    def begin(self, element: str, attributes: dict[str, str]) -> None:  # noqa: ARG002
        """A text, or a piece of it."""
        if element == "si":
            self._pieces = []
        elif element == "rPh":
            self._is_spoken = True  # how the text before it is said
        self._is_text = element == "t" and not self._is_spoken

    def end(self, element: str) -> None:
        """It is over."""
        self._is_text = False
        if element == "rPh":
            self._is_spoken = False
        if element == "si":
            self._found.append("".join(self._pieces)[: self._chars])
            self._left -= len(self._found[-1])
            if len(self._found) >= MOST_STRINGS or self._left < 0:
                raise Enough

    def text(self, text: str) -> None:
        """A piece."""
        if self._is_text and sum(map(len, self._pieces)) < self._chars:
            self._pieces.append(text[: self._chars])


class Bounds(NamedTuple):
    """How much of a sheet is told."""

    rows: int
    columns: int
    chars: int
    room: int


class Sheet(Reader):
    """The cells of one sheet."""

    def __init__(self, strings: list[str], styles: Styles, most: Bounds, *, is_1904: bool) -> None:
        self._strings, self._styles, self._most, self._is_1904 = strings, styles, most, is_1904
        self.room = most.room
        self._rows: dict[int, dict[int, str]] = {}
        self._row = self._column = self._last_row = self._last_column = 0
        self._kind = self._style = self._element = ""
        self._value: list[str] = []
        self._formula: list[str] = []
        self._has_any = self._is_over = False

    def read(self, book: zipfile.ZipFile, part: str) -> dict[str, object]:
        """The first cells, and how many rows and columns have any."""
        is_read = parse(book, part, self, MOST_SHEET_BYTES)
        height, width = min(self._last_row, self._most.rows), min(self._last_column, self._most.columns)
        cells = [
            [self._rows.get(row, {}).get(column, "") for column in range(1, width + 1)] for row in range(1, height + 1)
        ]
        is_whole = (is_read or self._is_over) and self.room >= 0
        return {"rows": cells, "height": self._last_row, "width": self._last_column, "is_whole": is_whole}

    def begin(self, element: str, attributes: dict[str, str]) -> None:
        """A row, a cell, or what is in it."""
        self._element = element
        if element == "row":
            told = attributes.get("r", "")
            self._row = int(told) if told.isascii() and told.isdigit() and len(told) < 8 else self._row + 1
            if not 0 < self._row <= MOST_ROWS:
                raise Refused("a row that can not be")
            self._column = 0
        elif element == "c":
            found = _CELL.fullmatch(attributes.get("r", ""))
            self._column = _number_of(found[1]) if found else self._column + 1
            if not 0 < self._column <= MOST_COLUMNS or not self._row:
                raise Refused("a cell that can not be")
            self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._value, self._formula, self._has_any = [], [], False

    def text(self, text: str) -> None:
        """Of a value or a formula."""
        if self._element not in ("v", "t", "f"):
            return
        self._has_any = True
        if not self._is_far:
            _add(self._formula if self._element == "f" else self._value, text, max(self._most.chars, 64))

    def end(self, element: str) -> None:
        """It is over, and a cell is known then."""
        self._element = ""
        if element == "sheetData":
            self._is_over = True
            raise Enough
        if element != "c" or not self._has_any:
            return
        self._last_row, self._last_column = max(self._last_row, self._row), max(self._last_column, self._column)
        if self._is_far or self.room < 0:
            return
        value = "".join(self._value)
        shown = (self._shown(value) if value else f"={''.join(self._formula)}")[: self._most.chars]
        self.room -= len(shown)
        self._rows.setdefault(self._row, {})[self._column] = shown

    @property
    def _is_far(self) -> bool:
        return self._row > self._most.rows or self._column > self._most.columns

    def _shown(self, value: str) -> str:
        """A value as a person sees it."""
        if self._kind == "s":
            number = int(value) if value.isascii() and value.isdigit() and len(value) < 10 else -1
            return self._strings[number] if 0 <= number < len(self._strings) else ""
        if self._kind == "b":
            return "TRUE" if value.strip() == "1" else "FALSE"
        if self._kind != "n":
            return value
        try:
            number = float(value)
        except ValueError:
            return value
        kind = self._styles.kind_of(self._style)
        if kind == "date":
            return _date(number, is_1904=self._is_1904) or value
        return f"{number * 100:.10g}%" if kind == "percent" else f"{number:.15g}"


def _add(pieces: list[str], text: str, most: int) -> None:
    if sum(map(len, pieces)) < most:
        pieces.append(text[:most])


def _number_of(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _date(serial: float, *, is_1904: bool) -> str:
    """The date and time of a serial number; empty for what is none. Excel counts a 29 February 1900 that never was."""
    if not 0 <= serial < 2_958_466:
        return ""
    first = datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 31) if serial < 60 else datetime(1899, 12, 30)  # noqa: DTZ001 - a cell has no zone
    when = first + timedelta(seconds=round(serial * 86_400))
    time = f"{when:%H:%M:%S}".removesuffix(":00")
    if serial < 1 and not is_1904:
        return time
    return f"{when:%Y-%m-%d}" if serial == int(serial) else f"{when:%Y-%m-%d} {time}"


if __name__ == "__main__":
    sys.exit(main())
