"""The reply within an answer that a model is still writing: what of it can be read so far, piece by piece.

Pure, and cheap however the answer is cut and whatever it holds: the beginning is read with the rules that the whole
answer is read by (``crab.answer``), again only when there is a sixteenth more of it; once the message has begun, each
piece is looked at once.
"""

from __future__ import annotations

import re

from crab.answer import OLD_FORM, first_object, split_thought
from crab.lenient import BODY, ObjectReader, unescape_string, without_half_escape

SURE_CHARS = 80
"""As many characters without a brace are taken for a reply in plain text; a few words before an object are none."""
MOST_CHARS = 40_000
"""What is shown of a reply at most; the whole comes when it has ended."""
MOST_READ = 1_000_000
"""Where a message has not begun by then, none is looked for any more."""
_AGAIN = 16
_TURNS = re.compile(r"[{<]")
"""What may make something else of what looked like plain text."""


class PartialReply:
    """One answer as it arrives. ``text`` only grows, except where words that looked like the whole reply are followed
    by an object after all."""

    def __init__(self) -> None:
        self._raw: list[str] = []
        self._size = 0
        self._look_at = 1
        self._is_plain = False
        self._shown = ""
        self._message: _Message | None = None

    @property
    def text(self) -> str:
        """The reply so far; empty while it can't be told."""
        if self._message is not None:
            self._shown = self._message.text
        elif self._is_plain:
            self._shown = self._plain_text()[:MOST_CHARS]
        return self._shown

    def add_piece(self, piece: str) -> None:
        """The next piece of the answer."""
        if self._message is not None:
            self._message.add_piece(piece)
        elif self._size < MOST_READ:
            self._read_piece(piece)

    def _read_piece(self, piece: str) -> None:
        if self._is_plain and _TURNS.search(piece):
            self._shown, self._is_plain = self.text, False
        self._raw.append(piece)
        self._size += len(piece)
        if not self._is_plain and self._size >= self._look_at:
            self._look_at = self._size + max(1, self._size // _AGAIN)
            self._find_message()

    def _find_message(self) -> None:
        text = "".join(self._raw)
        self._raw = [text]
        rest = split_thought(text)[1]
        reader = first_object(rest)
        if reader is None:
            plain = rest.strip()
            self._is_plain = len(plain) >= SURE_CHARS and "{" not in plain and not plain.startswith(("[", "`", "<"))
        elif not OLD_FORM.search(rest, 0, reader.start):
            self._begin_message(rest, reader)

    def _begin_message(self, rest: str, reader: ObjectReader) -> None:
        """The message has begun, or is there as a whole."""
        message = reader.found.get("message")
        if not isinstance(message, str):
            return
        quote, start = reader.body
        if reader.cut_key != "message" or reader.cut_again:
            if message:  # an empty one may still turn out to be the beginning of three quotes
                self._message = _Message(message)
        elif start < len(rest):
            self._message = _Message(quote=quote)
            self._message.add_piece(rest[start:])
        else:
            self._look_at = self._size + 1

    def _plain_text(self) -> str:
        text = "".join(self._raw)
        self._raw = [text]
        plain = split_thought(text)[1].strip()
        form = OLD_FORM.search(plain)
        return plain[: form.start()].rstrip() if form else plain


class _Message:
    """The inside of the message's quotes, as it arrives; or a whole message, to which nothing comes."""

    def __init__(self, whole: str = "", *, quote: str = "") -> None:
        self._parts = [whole[:MOST_CHARS]]
        self._size = len(whole)
        self._quote = quote
        self._left = ""

    @property
    def text(self) -> str:
        text = "".join(self._parts)[:MOST_CHARS]
        self._parts = [text]
        return text

    def add_piece(self, piece: str) -> None:
        if not self._quote or self._size >= MOST_CHARS:
            return
        raw = self._left + piece
        found = BODY[self._quote].match(raw)
        inside = found[0] if found else ""
        if raw.startswith(self._quote, len(inside)):
            self._quote = ""
        else:
            inside = without_half_escape(inside)
            if self._quote == '"""':
                inside = inside[: len(inside) - _open_quotes(inside)]
            self._left = raw[len(inside) :]
        said = unescape_string(inside)
        self._parts.append(said)
        self._size += len(said)


def _open_quotes(inside: str) -> int:
    """How many quotes at the end may yet be the beginning of the three that end the text."""
    at = len(inside.rstrip('"'))
    quotes = len(inside) - at
    backslashes = at - len(inside[:at].rstrip("\\"))
    return min(2, quotes - (backslashes % 2 if quotes else 0))
