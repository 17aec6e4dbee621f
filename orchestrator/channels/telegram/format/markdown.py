"""An agent's Markdown as a Telegram message: plain text with entities. The text is hostile: where a link leads always
stands beside it, HTML is shown as it was written, and nothing of what was written is left out. Pure.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token

from orchestrator.channels.chat.rich_text import RichText, TextEntity, normalize_entities, plain_text, utf16_len
from orchestrator.core.markdown_cost import is_costly
from orchestrator.core.text import chat_safe

MAX_CHARS = 50_000
"""A longer text stays as it is written: it goes out as a file, and laying it out would cost time for nothing."""
MAX_NESTING = 40  # the parser leaves out what is nested deeper, so such a text stays as it is written, too

_STYLE = {"strong": "bold", "em": "italic", "s": "strikethrough"}
_LANGUAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+#.-]{0,31}")
_TASK = re.compile(r"\[([ xX])\][ \t]")
_LINE = "——————"
_DEEPEST = 6
"""Margins are not shown beyond, or a few lines would fill a page with them."""
_WIDEST = 40
"""A longer cell of a table does not push the other rows apart."""


def render_markdown(markdown: str) -> RichText:
    """The message."""
    source = chat_safe(markdown.replace("\r\n", "\n").replace("\r", "\n"))  # first: the parser drops some controls
    if len(source) > MAX_CHARS or is_costly(source):
        return plain_text(source)
    tokens = _reader().parse(source)
    if any(token.level + 1 >= MAX_NESTING for token in tokens):
        return plain_text(source)
    page = _Page()
    _Layout(page, source.split("\n")).blocks(tokens)
    return page.rich() if page.has_text() else plain_text(source)


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": MAX_NESTING})
    reader.enable(["table", "strikethrough"])
    reader.disable("reference")  # a definition that no link uses would vanish
    # its own way to keep addresses as they were written, also those in angle brackets
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    reader.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return reader


@dataclass(slots=True)
class _Margin:
    """What the lines of a list item or of an inner quote begin with."""

    first: str
    rest: str
    is_used: bool = False


class _Page:
    """The text so far, and where things begin and end in it."""

    def __init__(self) -> None:
        self.units = 0
        self.margins: list[_Margin] = []
        self._parts: list[str] = []
        self._spans: list[TextEntity] = []
        self._gap = 0
        self._is_fresh = True
        self._opened = -1

    def has_text(self) -> bool:
        """Something can be seen."""
        return any(part.strip() for part in self._parts)

    def rich(self) -> RichText:
        """The finished message."""
        text = "".join(self._parts).rstrip()
        return RichText(text, normalize_entities(text, self._spans))

    def block(self, lines: int | None = None) -> None:
        """What comes next stands on a line of its own; ``lines`` is 2 with an empty one above."""
        if self.units != self._opened:
            self._gap = max(self._gap, lines or (1 if self.margins else 2))

    def begin(self) -> int:
        """Where the next character will be."""
        if self._gap and self.units:
            self._put("\n" * self._gap)
            self._is_fresh = True
        self._gap = 0
        if self._is_fresh:
            self._is_fresh = False
            for depth, margin in enumerate(self.margins):
                self._put(margin.first if not margin.is_used else margin.rest if depth < _DEEPEST else "")
                margin.is_used = True
        return self.units

    def open(self) -> int:
        """Where a block begins that holds others: the first of them is not further down."""
        self._opened = self.begin()
        self._is_fresh = not self.margins  # the mark of a list's first item is still to come
        return self._opened

    def write(self, text: str) -> None:
        """Text of a line or of several."""
        for n, line in enumerate(chat_safe(text).split("\n")):
            if n:
                self.begin()
                self._put("\n")
                self._is_fresh = True
            if line:
                self.begin()
                self._put(line)

    def write_code(self, code: str, language: str | None) -> None:
        """A block of code, from the left edge; the caller says how far from what is above."""
        if not all(margin.is_used for margin in self.margins):
            self.begin()  # the item's mark stands on the line above
            self.block(1)
        kept, self.margins = self.margins, []
        start = self.begin()
        self._put(chat_safe(code.rstrip("\n")))
        self.margins = kept
        self.mark("pre", start, language)
        self.block()

    def mark(self, kind: str, start: int, language: str | None = None) -> None:
        """What was written since ``start`` is of this kind."""
        if self.units > start:
            self._spans.append(TextEntity(kind, start, self.units - start, language=language))

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self.units += utf16_len(text)

    def since(self, part: int) -> str:
        """What was written after so many parts."""
        return "".join(self._parts[part:])

    @property
    def parts(self) -> int:
        """How many parts were written."""
        return len(self._parts)


@dataclass(slots=True)
class _Table:
    """A table as it is read."""

    first_line: int
    last_line: int
    rows: list[list[str]] = field(default_factory=list)
    is_right: list[bool] = field(default_factory=list)
    has_more: bool = False
    """A row has more cells than the head, which the parser leaves out."""

    def text(self, lines: list[str]) -> str:
        """In columns; as it was written where that would leave something out."""
        if self.has_more:
            return "\n".join(lines[self.first_line : self.last_line])
        widths = [min(max(map(_width, column)), _WIDEST) for column in zip(*self.rows, strict=True)]
        written = sum(len(cell) for row in self.rows for cell in row)
        if len(self.rows) * sum(width + 3 for width in widths) > 4 * written + 4000:  # mostly blanks
            widths = [0] * len(widths)
        laid = [self._row(row, widths) for row in self.rows]
        return "\n".join([laid[0], "-+-".join("-" * width for width in widths), *laid[1:]])

    def _row(self, row: list[str], widths: list[int]) -> str:
        cells = []
        for cell, width, right in zip(row, widths, self.is_right, strict=True):
            blank = " " * (width - _width(cell))
            cells.append(blank + cell if right else cell + blank)
        return " | ".join(cells).rstrip()


class _Layout:
    """Walks through what the parser found."""

    def __init__(self, page: _Page, lines: list[str]) -> None:
        self._page = page
        self._lines = lines
        self._table: _Table | None = None
        self._quotes: list[int | None] = []
        self._heading = 0

    def blocks(self, tokens: list[Token]) -> None:
        """Every block in turn."""
        for n, token in enumerate(tokens):
            kind = token.type
            if kind == "inline":
                self._line(token)
            elif kind in ("fence", "code_block"):
                self._code(token)
            elif kind == "list_item_open":
                self._item(token, tokens[n + 1 : n + 3])
            elif kind == "list_item_close":
                if not self._page.margins[-1].is_used:
                    self._page.begin()  # an empty one has its mark, too
                self._page.margins.pop()
            elif kind in ("blockquote_open", "blockquote_close"):
                self._quote(opens=kind == "blockquote_open")
            elif kind.startswith(("table", "tr", "th_", "td_")):
                self._cells(token)
            else:
                self._plain_block(token)

    def _plain_block(self, token: Token) -> None:
        """Paragraphs, headings, lines and the outsides of lists."""
        self._page.block(1 if token.hidden else None)
        if token.type == "paragraph_open" and not token.hidden:
            self._page.block(2)
        elif token.type == "heading_open":
            self._heading = self._page.open()
        elif token.type == "heading_close":
            self._page.mark("bold", self._heading)
            self._page.block()
        elif token.type == "hr":
            self._page.write(_LINE)
            self._page.block()

    def _line(self, token: Token) -> None:
        if self._table is None:
            _inline(self._page, token.children or [])
            return
        cell = _Page()
        _inline(cell, token.children or [])
        self._table.rows[-1][-1] = cell.since(0)

    def _item(self, token: Token, after: list[Token]) -> None:
        self._page.block(1)
        mark = f"{token.info}{token.markup} " if token.info else "• "
        inline = after[1] if len(after) > 1 and after[1].type == "inline" else None
        first = inline.children[0] if inline and inline.children else None
        task = _TASK.match(first.content) if first and first.type == "text" else None
        if first and task:
            first.content = first.content[task.end() :]
            box = "☐ " if task[1] == " " else "☑ "
            mark = mark + box if token.info else box
        self._page.margins.append(_Margin(mark, " " * min(len(mark), 4)))

    def _quote(self, *, opens: bool) -> None:
        """The outermost is an entity; Telegram takes none within another, so inner ones are marked as in mail."""
        page = self._page
        page.block()
        if opens and not page.margins and not self._quotes:
            self._quotes.append(page.open())
        elif opens:
            self._quotes.append(None)
            page.margins.append(_Margin("> ", "> "))
        elif (start := self._quotes.pop()) is not None:
            page.mark("blockquote", start)
        else:
            page.margins.pop()

    def _code(self, token: Token) -> None:
        language, _, rest = token.info.strip().partition(" ")
        if not _LANGUAGE.fullmatch(language):
            language, rest = "", token.info
        if not token.content.strip():
            language, rest = "", token.info
        self._page.block()
        if rest.strip():
            self._page.write(rest.strip())
            self._page.block(1)
        if token.content.strip():
            self._page.write_code(token.content, language or None)

    def _cells(self, token: Token) -> None:
        if token.type == "table_open":
            first, last = token.map or [0, 0]
            self._table = _Table(first, last)
        table = self._table
        if table is None:
            return
        if token.type == "tr_open":
            table.rows.append([])
            width, line = len(table.is_right), self._lines[(token.map or [0])[0]]
            table.has_more |= len(table.rows) > 1 and _cells_in(line) > width
        elif token.type in ("th_open", "td_open"):
            table.rows[-1].append("")
            if token.type == "th_open":
                table.is_right.append("right" in str(token.attrs.get("style", "")))
        elif token.type == "table_close":
            self._table = None
            self._page.block()
            self._page.write_code(table.text(self._lines), None)


def _cells_in(line: str) -> int:
    cells = escapedSplit(line.lstrip(" \t>").rstrip())
    return len(cells) - (cells[0] == "") - (cells[-1] == "" and len(cells) > 1)


def _width(text: str) -> int:
    """Columns that the text takes in a font of one width."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.category(char) in ("Mn", "Me", "Cf") for char in text)


def _inline(page: _Page, tokens: list[Token]) -> None:
    """The inside of a paragraph."""
    starts: list[int] = []
    links: list[tuple[str, str, int]] = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            page.write("\n")
        elif token.type == "code_inline":
            start = page.begin()
            page.write(token.content)
            page.mark("code", start)
        elif token.type == "image":
            target = _target(token)
            page.write(f"[picture: {token.content}] {target}" if target else f"![{token.content}]()")
        elif token.type == "link_open":
            page.begin()
            if not _target(token):
                page.write("[")  # it leads nowhere: perhaps no link but code
            links.append((_target(token), str(token.attrs.get("href", "")), page.parts))
        elif token.type == "link_close":
            target, href, part = links.pop()
            shown = page.since(part)
            if not target:
                page.write("]()")
            elif chat_safe(target) != shown and chat_safe(href) != f"mailto:{shown}":
                page.write(f" ({target})" if shown else target)
        elif token.tag in _STYLE and token.nesting == 1:
            starts.append(page.begin())
        elif token.tag in _STYLE:
            page.mark(_STYLE[token.tag], starts.pop())
        else:
            page.write(token.content)


def _target(token: Token) -> str:
    """Where a link or a picture leads, and its title."""
    href, title = str(token.attrs.get("href", token.attrs.get("src", ""))), str(token.attrs.get("title", ""))
    return f'{href} "{title}"'.strip() if title else href
