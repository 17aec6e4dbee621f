r"""Where formulas are in Markdown: ``$a$`` and ``\(a\)`` in a line, ``$$a$$`` and ``\[a\]`` by themselves. Pure.

Prices are no formulas: what stands between two dollar signs begins and ends without a space, no letter or digit stands
right before the first or after the second, and an amount with words behind it stays one.
"""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from dashboard.mathml import MAX_CHARS

_PAIRS = {"$$": "$$", "\\(": "\\)", "\\[": "\\]"}
_AMOUNT = re.compile(r"\d[^\\^_={}]*[ ,;:][^\\^_={}]*|[\d.,\s]*[–-]|[\d.,]+", re.DOTALL)
"""``5 and then``, ``5-``: of a price."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MOST_LINES = 60
_LETTERS = re.compile(r"[^\W_]")


def add_formulas(reader: MarkdownIt) -> None:
    """``reader`` makes tokens of them, ``math_inline`` and ``math_block``, with the formula as their content."""
    reader.inline.ruler.before("escape", "math_inline", _read_inline)
    reader.block.ruler.before(
        "fence", "math_block", _read_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )


def find_unfinished(text: str) -> int:
    """Where a formula begins that has no end yet; -1 where there is none. ``text`` is without code."""
    at = 0
    while (at := _next_mark(text, at)) >= 0:
        mark = text[at : at + 2]
        if mark in _PAIRS:
            end = text.find(_PAIRS[mark], at + 2)
            if end < 0:
                return at if len(text) - at <= MAX_CHARS else -1
            at = end + 2
        elif text[at] == "$":
            end = text.find("$", at + 1)
            if end < 0:
                return (
                    at
                    if re.match(r"\$(?:[A-Za-z\\({|][^\n]{0,120})?\Z", text[at:]) and not _is_word(text, at - 1)
                    else -1
                )
            at = end + 1 if _holds_formula(text, at, end) else at + 1
        else:
            at += 2
    return -1


def _next_mark(text: str, at: int) -> int:
    found = [place for mark in "$\\" if (place := text.find(mark, at)) >= 0]
    return min(found, default=-1)


def _read_inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it calls it so
    text, at = state.src, state.pos
    mark = text[at : at + 2]
    if mark in _PAIRS:
        end = text.find(_PAIRS[mark], at + 2, at + 2 + MAX_CHARS)
        width, is_block = 2, mark != "\\("
    elif text[at] == "$":
        end = text.find("$", at + 1, at + 1 + MAX_CHARS)
        width, is_block = 1, False
        if end >= 0 and not _holds_formula(text, at, end):
            end = -1
    else:
        return False
    content = text[at + width : end].strip() if end >= 0 else ""
    if not content or "\n\n" in content:
        return False
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.content, token.markup, token.meta = content, text[at : at + width], {"is_block": is_block}
    state.pos = end + width
    return True


def _holds_formula(text: str, at: int, end: int) -> bool:
    """What stands between these two dollar signs is a formula, and no price."""
    content = text[at + 1 : end]
    if not content or content[0].isspace() or content[-1].isspace() or content[-1] == "\\":
        return False
    if _is_word(text, at - 1) or _is_word(text, end + 1):
        return False
    return "\n\n" not in content and (_NUMBER.fullmatch(content) is not None or not _AMOUNT.fullmatch(content))


def _is_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (_LETTERS.match(text[at]) is not None or text[at] in "$\\")


def _read_block(state: StateBlock, start: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001 - as above
    if state.is_code_block(start):
        return False
    first = _line(state, start)
    closing = _PAIRS.get(first[:2], "")
    if not closing or first.startswith("\\("):
        return False
    lines = [first[2:]]
    at = start
    while not lines[-1].endswith(closing):
        at += 1
        if closing in lines[-1] or at >= min(end_line, start + _MOST_LINES) or state.sCount[at] < state.blkIndent:
            return False
        lines.append(_line(state, at))
    content = "\n".join(lines)[: -len(closing)].strip()
    if not content or closing in content:
        return False
    if not silent:
        token = state.push("math_block", "math", 0)
        token.content, token.map, token.markup = content, [start, at + 1], first[:2]
        state.line = at + 1
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()
