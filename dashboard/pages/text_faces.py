"""Ways in which the text of a file may be looked at beside the text itself: a table, laid out Markdown, JSON in lines.
All of it is text that is put into a page of ours, escaped; nothing in it is a page, a script or a picture. Bounded, and
what can't be read so is the text alone. Pure.
"""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from dashboard.languages import say
from dashboard.markdown import render_markdown
from dashboard.tables import MOST_COLUMNS, Table, make_table
from orchestrator.core.text import chat_safe, terminal_safe

MOST_ROWS = 500
_MOST_DEPTH = 40
_SEPARATORS = {"csv": ",;\t|", "tsv": "\t"}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')
_EMPTY = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class Face:
    """One way to look at a text, beside the text."""

    label: str
    table: Table | None = None
    html: Markup | None = None
    text: str | None = None


def dress_source(name: str, text: str) -> Markup:  # noqa: ARG001 - what has colours for code will ask for the name
    """The text of a file as HTML: its characters, escaped, with what hides in it written out."""
    return escape(terminal_safe(text))


def find_face(name: str, text: str, *, is_cut: bool) -> Face | None:
    """How a text of this name may be looked at; None where there is nothing but the text."""
    extension = name.rpartition(".")[2].lower()
    if extension in _SEPARATORS:
        table = read_table(text, _SEPARATORS[extension], is_cut=is_cut)
        return Face(say("Table"), table=table) if table else None
    if extension in ("md", "markdown"):
        return Face(say("Formatted"), html=render_markdown(chat_safe(text)))
    if extension in ("json", "geojson", "ipynb", "webmanifest") and not is_cut:
        pretty = indent_json(text)
        return Face(say("Indented"), text=pretty) if pretty and pretty.strip() != text.strip() else None
    return None


def read_table(text: str, separators: str, *, is_cut: bool) -> Table | None:
    """The rows of a text whose cells are separated by one of these; None when it is no table."""
    first = text.partition("\n")[0]
    separator = max(separators, key=first.count)
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            rows += [row] if row else []
            if len(rows) > MOST_ROWS + 1:
                break
    except csv.Error:  # a cell longer than the module reads, or a line end where none can be
        return None
    if is_cut and len(rows) > 1:
        rows.pop()  # the last one may be a part of one
    if not rows or max(map(len, rows)) < 2:
        return None
    is_more = is_cut or len(rows) > MOST_ROWS + 1 or any(len(row) > MOST_COLUMNS for row in rows)
    return make_table(rows[: MOST_ROWS + 1], is_cut=is_more)


def indent_json(text: str) -> str | None:
    """The same JSON, a value a line: its words as they are, no number read, no key dropped. None for what is none."""
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    pieces: list[str] = []
    depth, before = 0, ""
    for word in _TOKEN.findall(text):
        if word in ("}", "]"):
            depth -= 1
            pieces += [] if _EMPTY.get(before) == word else [_line(depth)]
        elif before in ("{", "[", ","):
            pieces.append(_line(depth))
        pieces.append(f"{word} " if word == ":" else word)
        depth += word in ("{", "[")
        before = word
    return "".join(pieces)


def _line(depth: int) -> str:
    return "\n" + "  " * min(depth, _MOST_DEPTH)
