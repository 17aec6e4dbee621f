"""Markdown that grows: how much of it stands, so that it can be printed once and for all. Prints
nothing."""

from __future__ import annotations

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def complete_length(text: str) -> int:
    """How many characters of a growing Markdown text, whose only line breaks are ``\\n``, belong to blocks that nothing
    written later can change: all before the last block that begins on a whole line. A line that still grows decides
    nothing, for it may yet become anything: the ``2`` below a list is its next item once a dot follows."""
    lines = [f"{line}\n" for line in text.split("\n")[:-1]]
    starts = [
        token.map[0]
        for token in _PARSER.parse("".join(lines))
        if token.level == 0 and token.map is not None and token.nesting >= 0
    ]
    return sum(len(line) for line in lines[: starts[-1]]) if len(starts) > 1 else 0


class GrowingText:
    """What an agent writes, one text after the other: what of it was handed out for good, and what still grows. News of
    a text's end may come when the next one grows already, so what was handed out of it is kept in mind."""

    def __init__(self) -> None:
        self._text = ""
        self._done = 0
        self._begun: list[str] = []
        """What was handed out of texts whose ends were not seen yet."""

    @property
    def rest(self) -> str:
        """What still grows."""
        return self._text[self._done :]

    def grow(self, text: str) -> str:
        """The text so far; gives the blocks of it that have become complete, as one string."""
        if not text.startswith(self._text[: self._done]):
            self._begun.append(self._text[: self._done])
            self._done = 0
        self._text = text
        piece = self.rest[: complete_length(self.rest)]
        self._done += len(piece)
        return piece

    def finish(self, text: str) -> str:
        """The text as it was in the end; gives what of it was not handed out yet."""
        handed_out = self._text[: self._done]
        if self._text and (text.startswith(self._text.rstrip()) or (handed_out and text.startswith(handed_out))):
            self._text, self._done = "", 0
            return text[len(handed_out) :]
        begun = max((one for one in self._begun if text.startswith(one)), key=len, default="")
        self._begun = [one for one in self._begun if one != begun]
        return text[len(begun) :]
