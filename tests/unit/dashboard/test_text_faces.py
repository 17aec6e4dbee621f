"""``dashboard.pages.text_faces``: tables, laid out Markdown and indented JSON of texts that somebody else wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.pages.text_faces import MOST_ROWS, Face, find_face, indent_json
from dashboard.tables import MOST_COLUMNS, Table


def table(text: str, name: str = "a.csv", *, is_cut: bool = False) -> Table:
    """It is one."""
    face = find_face(name, text, is_cut=is_cut)
    assert face is not None
    assert face.table is not None
    return face.table


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.csv", "a,b\n1,2\n", (("a", "b"), ("1", "2"))),
        ("a.CSV", 'a;b\n"x;\n""y""";2\n', (("a", "b"), ('x;\\n"y"', "2"))),
        ("a.tsv", "a\tb,c\n1\t2\n", (("a", "b,c"), ("1", "2"))),
        ("a.csv", "a,b\n\n1\n1,2,3\n", (("a", "b", ""), ("1", "", ""), ("1", "2", "3"))),
        ("a.csv", "a,b\nx\u202ey,<b>\n", (("a", "b"), ("x\\u202ey", "<b>"))),
    ],
)
def test_tables(name: str, text: str, rows: tuple[tuple[str, ...], ...]) -> None:
    """Each row as wide as the widest; what hides is written out; quotes hold separators and lines."""
    found = table(text, name)
    assert (found.head, *found.rows) == rows
    assert not found.is_cut


def test_a_table_is_bounded() -> None:
    """In rows and columns, and a last row that was cut with the file is left out."""
    tall = table("a,b\n" + "1,2\n" * (MOST_ROWS + 5))
    assert (len(tall.rows), tall.is_cut) == (MOST_ROWS, True)
    wide = table(",".join("x" * (MOST_COLUMNS + 5)))
    assert (len(wide.head), wide.is_cut) == (MOST_COLUMNS, True)
    cut = table("a,b\n1,2\n3,", is_cut=True)
    assert (cut.rows, cut.is_cut, cut.numbers) == ((("1", "2"),), True, frozenset({0, 1}))


@pytest.mark.parametrize("text", ["", "one column\nonly\n", "a,b\n" + "x" * 200_000 + ",\n", "a,b\n\0,c\n"])
def test_what_is_no_table_is_text(text: str) -> None:
    """Rather than a wrong one."""
    face = find_face("a.csv", text, is_cut=False)
    assert face is None or (face.table is not None and text.startswith("a,b"))


def test_markdown_is_laid_out_with_nothing_live_in_it() -> None:
    """As in the chat; what reorders is written out."""
    face = find_face(
        "a.md", "# High\n<script>alert(1)</script> ![x](https://evil.example/a.png) a\u202eb", is_cut=False
    )
    assert isinstance(face, Face)
    assert "<h3>High</h3>" in str(face.html)
    assert "<script" not in str(face.html)
    assert "<img" not in str(face.html)
    assert "\u202e" not in str(face.html)


def test_json_keeps_its_words() -> None:
    """Numbers of any length, keys twice, strings with brackets; empty ones stay on a line."""
    text = '{"a":[1,{"b":"{[,:\\""},[],{}],"a":123456789012345678901234567890.50,"c":null}'
    pretty = indent_json(text)
    assert pretty is not None
    assert '"a": 123456789012345678901234567890.50' in pretty
    assert "[],\n" in pretty
    assert "".join(pretty.split()) == "".join(text.split())
    assert json.loads(pretty) == json.loads(text)


@pytest.mark.parametrize("text", ["{", "[" * 30_000, "{'a': 1}", "", "[1," * 5_000 + "1" + "]" * 4_999])
def test_what_is_no_json_is_text(text: str) -> None:
    """Broken, endlessly deep or something else."""
    assert find_face("a.json", text, is_cut=False) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(st.text(), below),
    max_leaves=12,
)


@given(VALUES)
def test_json_says_the_same(value: object) -> None:
    """Whatever it is."""
    text = json.dumps(value, ensure_ascii=False)
    pretty = indent_json(text)
    assert pretty is not None
    assert json.loads(pretty) == json.loads(text)
