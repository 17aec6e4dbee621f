"""``orchestrator.core.text``: nothing that somebody wrote hides, reorders or controls what a person sees."""

from __future__ import annotations

import pytest

from orchestrator.core.text import chat_safe, escape_invisible, one_line, terminal_safe

UNSEEN = {
    "bidi override": ("rm \u202ecod.txt", "rm \\u202ecod.txt"),
    "zero width": ("r\u200bm", "r\\u200bm"),
    "tag": ("a\U000e0041", "a\\U000e0041"),
    "escape": ("\x1b[2Jls", "\\x1b[2Jls"),
    "C1 control": ("\x9b2J", "\\x9b2J"),
    "carriage return": ("rm -rf /\rls", "rm -rf /\\rls"),
    "NUL": ("a\0b", "a\\x00b"),
    "half a character": ("\ud800", "\\ud800"),
    "line separator": ("a\u2028b", "a\\u2028b"),
    "no-break space": ("rm\u00a0x", "rm\\xa0x"),
    "Hangul filler": ("a\u3164b", "a\\u3164b"),
    "variation selector": ("a\ufe0fb", "a\\ufe0fb"),
    "braille blank": ("a\u2800b", "a\\u2800b"),
    "a mark over an ASCII letter": ("e\u0301", "e\\u0301"),
    "a mark with nothing below it": ("\u0301x", "\\u0301x"),
    "a pile of marks": ("é" + "\u0301" * 4, "é\u0301\u0301\\u0301\\u0301"),
    "100 line breaks": ("ls" + "\n" * 100 + "rm x", "ls\n[100 line breaks]\nrm x"),
    "blank lines with blanks": ("a\n \n\t\n \nb", "a\n[4 line breaks]\nb"),
    "200 spaces": ("ls" + " " * 200 + "; rm x", "ls[200 spaces]; rm x"),
    "blanks at the end": ("ls   ", "ls[3 spaces]"),
    "blanks at a line's end": ("a \nb", "a[1 spaces]\nb"),
}


@pytest.mark.parametrize(("text", "shown"), UNSEEN.values(), ids=UNSEEN)
def test_makes_visible(text: str, shown: str) -> None:
    """What an eye would miss in an approval is written out or counted."""
    assert escape_invisible(text) == shown


@pytest.mark.parametrize("text", ["ls -l\n  cat 'a b'", "if x:\n\n\n\ty", "für 中文 नमस्ते", "a" * 5000 + "; rm x"])
def test_leaves_ordinary_text_alone(text: str) -> None:
    """Readable text of any script stays as it is, and whole however long."""
    assert escape_invisible(text) == text


def test_one_line_is_one_line() -> None:
    """Newlines and tabs are written out too, and a long text is cut."""
    assert one_line("a\nb\tc\x1b") == "a\\nb\\tc\\x1b"
    assert one_line("x" * 300, 10) == "x" * 10 + "…"
    assert one_line("x" * 10, 10) == "x" * 10


def test_terminal_safe_keeps_lines_and_stops_controls() -> None:
    """Nothing can move the cursor, retitle the window or reorder text; emoji sequences stay whole."""
    assert terminal_safe("a\n\tb\x1b]0;x\x07\r\u202e") == "a\n\tb\\x1b]0;x\\x07\\r\\u202e"
    assert terminal_safe("👩\u200d💻") == "👩\u200d💻"


def test_chat_safe_keeps_writing_and_stops_tricks() -> None:
    """Emoji, flags and every script stay whole; what hides, reorders or controls is written out."""
    for text in ("👩\u200d💻 ❤\ufe0f", "می\u200cخواهم", "\U0001f3f4\U000e0067\U000e0062\U000e007f", "a\n\tb\u2800"):
        assert chat_safe(text) == text
    assert chat_safe("a\u202e\u200b\x1b\r\u3164\u2028\U000e0041") == "a\\u202e\\u200b\\x1b\\r\\u3164\\u2028\\U000e0041"
    assert chat_safe("a" + "\u0301" * 5) == "a" + "\u0301" * 4 + "\\u0301"
