"""A reply that is still being written, as HTML block by block. Blocks that are complete are laid out once and stay as
they are; only the last one, which may still change, is laid out again. Pure but for the clock.

What is not finished leaves no marks: a mark that waits for its other half is closed, and a last line that could become
anything (the first dash of a rule, the head of a table) is held back until it is one thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from markdown_it.token import Token

from dashboard.formulas import find_unfinished
from dashboard.markdown import is_plain, make_reader, render_markdown, render_tokens
from dashboard.mathml import MAX_CHARS as MAX_FORMULA_CHARS

_MAYBE = re.compile(r"\s*(?:[-+*=>#_|]+|`{1,2}|~{1,2}|\d{1,9}[.)]?|[-+*]\s+\[?[ xX]?|\${1,2}|\\[\[(]?)\s*")
"""A last line of which one can't say yet what it is."""
_FENCE = re.compile(r" {0,3}(?:`{3,}[^`]*|~{3,}.*)")
_ROW = re.compile(r"\s*\|.*")
_RULER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_LINK = re.compile(r"!?\[([^\[\]\n]*)(?:\](?:\([^()\n]*)?)?\Z")
_ENTITY = re.compile(r"&#?[A-Za-z0-9]{0,31}\Z")
_CODE = re.compile(r"(`+)[^`].*?(?<!`)\1(?!`)", re.DOTALL)
_FORMULA = re.compile(r"^[ >]*(?:\$\$|\\\[)", re.MULTILINE)
_MARKS = re.compile(r"\\.|`+|\*+|_+|~~|\$\$?|\\", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Grown:
    """What has changed: from block ``start`` on, the reply consists of ``blocks``, each one element."""

    start: int
    blocks: tuple[str, ...]


class GrowingMarkdown:
    """One reply. Of one thread."""

    def __init__(self) -> None:
        self._reader = make_reader()
        self._done = ""
        """The text of the blocks that are complete."""
        self._count = 0
        """How many these are."""
        self._references: dict[str, Any] = {}
        """Where their links by name lead."""
        self._open: tuple[str, ...] = ()
        """The blocks after them, as they were told last."""

    def grow(self, text: str) -> Grown | None:
        """The reply stands so now; None when that changes nothing that is seen."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        is_new = not text.startswith(self._done)
        if is_plain(text):
            is_new = is_new or self._count > 0
            self._start_again()
            return self._tell((str(render_markdown(text)),), is_new=is_new)
        if is_new:
            self._start_again()
        tail = hold_back(text[len(self._done) :])
        tokens = self._parse(tail)
        starts = [n for n, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
        complete: tuple[str, ...] = ()
        if len(starts) > 1:
            last = tokens[starts[-1]]
            assert last.map is not None  # noqa: S101 - every block knows its lines
            complete, tokens = self._render(tokens[: starts[-1]]), tokens[starts[-1] :]
            self._complete_text(tail[: _offset_of(tail, last.map[0])])
        self._mend_end(tokens)
        told = self._tell((*complete, *self._render(tokens)), is_new=is_new)
        self._count, self._open = self._count + len(complete), self._open[len(complete) :]
        return told

    def _start_again(self) -> None:
        self._done, self._count, self._open, self._references = "", 0, (), {}

    def _parse(self, text: str) -> list[Token]:
        """What is not complete defines nothing for what follows."""
        return self._reader.parse(text, {"references": dict(self._references)})

    def _complete_text(self, text: str) -> None:
        self._done += text
        if "]:" in text:
            env = {"references": self._references}
            self._reader.parse(text, env)

    def _mend_end(self, tokens: list[Token]) -> None:
        """The end of the last words has nothing that waits for its other half; code is left alone."""
        leaf = next((t for t in reversed(tokens) if t.nesting == 0 and (t.content or t.type != "inline")), None)
        if leaf is not None and leaf.type == "inline":
            (mended,) = self._reader.parseInline(close_marks(leaf.content), {"references": dict(self._references)})
            leaf.children = mended.children

    def _tell(self, blocks: tuple[str, ...], *, is_new: bool) -> Grown | None:
        """Without those that were told already."""
        before, self._open = () if is_new else self._open, blocks
        if blocks == before and not is_new:
            return None
        same = next((n for n, pair in enumerate(zip(blocks, before, strict=False)) if pair[0] != pair[1]), None)
        same = min(len(blocks), len(before)) if same is None else same
        return Grown(self._count + same, blocks[same:])

    def _render(self, tokens: list[Token]) -> tuple[str, ...]:
        """Each block of the top level by itself."""
        found, group = [], []
        for token in tokens:
            group.append(token)
            if token.level == 0 and token.nesting <= 0:
                found.append(render_tokens(self._reader, group).strip())
                group = []
        return tuple(found)


def hold_back(text: str) -> str:
    """The text without the end of which one can't say yet what it will be."""
    before, newline, line = text.rpartition("\n")
    if _in_fence(before + newline):
        return before + newline if re.fullmatch(r"[ >]*(?:`+|~+)", line) else text
    if line and (_MAYBE.fullmatch(line) or _FENCE.fullmatch(line)):
        text = before + newline
    return _without_head(_without_formula(text))


def close_marks(text: str) -> str:
    """Words (of one paragraph, cell or heading) with what they leave open closed, or left out where nothing is in it
    yet."""
    at = find_unfinished(_CODE.sub(lambda code: "." * len(code[0]), text))
    text = text if at < 0 else text[:at]
    text = _ENTITY.sub("", re.sub(r"[*_~`\\\s]+\Z", "", text))
    waiting = _find_open(text)
    if not waiting or waiting[-1][0] != "`":
        text = re.sub(r"[*_~\s]+\Z", "", _LINK.sub(r"\1", text))
        waiting = _find_open(text)
    return text + "".join(reversed(waiting))


def _find_open(text: str) -> list[str]:
    """The marks that wait for their other half, by their order, as that half is written."""
    waiting: list[str] = []
    code = ""
    for found in _MARKS.finditer(text):
        mark = found[0]
        before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
        if code:
            code = "" if mark == code else code
        elif mark[0] == "`":
            code = mark
        elif mark[0] in "*_~":
            can_close, can_open = bool(before.strip()), bool(after.strip())
            if mark[0] == "_":
                can_close, can_open = can_close and not after.isalnum(), can_open and not before.isalnum()
            while can_close and mark and waiting and mark.startswith(waiting[-1]):
                mark = mark[len(waiting.pop()) :]
            if can_open and mark and len(mark) <= 3:
                waiting += ["**", "*"] if mark == "***" else [mark]
    return [*waiting, code] if code else waiting


def _without_formula(text: str) -> str:
    """The text without a formula of its own lines that has no end yet."""
    at = next((found.start() for found in reversed(list(_FORMULA.finditer(text)))), -1)
    if at < 0 or len(text) - at > MAX_FORMULA_CHARS:
        return text
    rest = text[at:].lstrip(" >")
    is_open = text.count("$$") % 2 == 1 if rest.startswith("$$") else "\\]" not in rest
    return text[:at] if is_open else text


def _without_head(text: str) -> str:
    """The text without the head of a table whose ruler has not come yet."""
    lines = text.split("\n")
    is_whole = not lines[-1]  # the last line
    ends = lines[:-1] if is_whole else lines
    rows = 0
    while rows < min(3, len(ends)) and _ROW.fullmatch(ends[-1 - rows]):
        rows += 1
    if rows == 1 or (rows == 2 and not is_whole and _RULER.fullmatch(ends[-1])):
        return "".join(f"{line}\n" for line in ends[:-rows])
    return text


def _in_fence(text: str) -> bool:
    """The end of the text is within a block of code."""
    fence = ""
    for found in re.finditer(r"^[ >]*(?:[-+*]\s+|\d+[.)]\s+)?[ ]*(`{3,}|~{3,})([^\n]*)$", text, re.MULTILINE):
        if not fence and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
        elif fence and found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return bool(fence)


def _offset_of(text: str, line: int) -> int:
    """Where a line begins."""
    at = 0
    for _ in range(line):
        at = text.index("\n", at) + 1
    return at
