"""Reads an object that a model wrote as JSON, or nearly: comments, trailing commas, single quotes, Python's literals,
bare keys, raw new lines in text, an end that is missing.

Owns the grammar, not the meaning. Pure; one pass over the text, never deeper than :data:`MAX_DEPTH`, whatever it gets.
"""

from __future__ import annotations

import re

MAX_DEPTH = 16
MAX_DIGITS = 20
"""Longer numbers stay text: nobody means them, and conversion of huge ones is slow."""

_SPACE = re.compile(r"(?:\s++|//[^\n]*+|#[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))*+")
_WORD = re.compile(r"[A-Za-z_$][\w$]*+")
_NUMBER = re.compile(r"[-+]?[0-9.][0-9.eE+-]*+")
BODY = {
    '"': re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL),
    '"""': re.compile(r'(?:[^"\\]++|\\.|"(?!""))*+', re.DOTALL),
}
"""What may stand between each kind of quotes."""
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"\\({_PAIR}|u[0-9a-fA-F]{{4}}|.)", re.DOTALL)
_HALF_ESCAPE = r"u[0-9a-fA-F]{0,3}\Z|u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[0-9a-fA-F]{0,3})?\Z"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", '"': '"', "'": "'", "\\": "\\"}
_LITERALS = {"true": True, "True": True, "false": False, "False": False}
_NOTHING = frozenset({"null", "None", "undefined", "NaN", "Infinity"})


class _Broken(Exception):
    """This is no object, not even leniently."""


class ObjectReader:
    """Reads one object that begins at ``start``. Running into the end of the text is no error but ``is_cut``."""

    __slots__ = ("at", "body", "clashes", "cut_again", "cut_key", "error", "found", "is_cut", "keys", "start", "text")

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = self.at = start
        self.found: dict[str, object] = {}
        self.keys: set[str] = set()
        """Every key of the object itself whose name was read, also when its value was not."""
        self.clashes: list[str] = []
        """Keys, at any depth, that came again with another value; the first one is kept."""
        self.is_cut = False
        self.cut_key = ""
        """The key of the object itself whose value was not whole when the text ended."""
        self.cut_again = False
        """That key had a value before."""
        self.body = ('"', 0)
        """The quotes of the last string that was begun, and where its inside begins."""
        self.error = ""

    def read_object(self) -> None:
        """Fills ``found`` with what could be read and ``error`` with why the rest could not."""
        try:
            self._read_members(self.found, depth=0)
        except _Broken as broken:
            near = self.text[self.at : self.at + 40]
            self.error = f'The JSON object is broken ({broken}) at: {near} — quotes inside text are written \\".'

    def _read_members(self, found: dict[str, object], *, depth: int) -> None:
        self.at += 1
        while (char := self._next_char()) != "}":
            if not char:
                return
            key = self._read_key(char)
            if self.is_cut:
                raise _Broken("it ends inside a key")
            if depth == 0:
                self.keys.add(key)
            is_again = key in found
            if self._next_char() == ":":
                self.at += 1
                self._store_member(found, key, self._read_value(depth))
            elif not self.is_cut:
                raise _Broken("a colon is missing")
            if self.is_cut:
                self.cut_key, self.cut_again = (key, is_again) if depth == 0 else ("", False)
                return
            if self._next_char() not in ",}":
                raise _Broken("a comma is missing")
            if self.text.startswith(",", self.at):
                self.at += 1
        self.at += 1

    def _store_member(self, found: dict[str, object], key: str, value: object) -> None:
        if key not in found:
            found[key] = value
        elif found[key] != value:
            self.clashes.append(key)

    def _read_list(self, depth: int) -> list[object]:
        self.at += 1
        items: list[object] = []
        while (char := self._next_char()) != "]":
            if not char:
                return items
            items.append(self._read_value(depth))
            if self.is_cut:
                return items
            if self._next_char() not in ",]":
                raise _Broken("a comma is missing in a list")
            if self.text.startswith(",", self.at):
                self.at += 1
        self.at += 1
        return items

    def _read_value(self, depth: int) -> object:
        char = self._next_char()
        if not char:
            return None
        if depth >= MAX_DEPTH:
            raise _Broken("nested too deep")
        if char in "\"'":
            return self._read_string(char)
        if char == "[":
            return self._read_list(depth + 1)
        if char == "{":
            inner: dict[str, object] = {}
            self._read_members(inner, depth=depth + 1)
            return inner
        return self._read_bare()

    def _read_bare(self) -> object:
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return _parse_number(number[0])
        word = _WORD.match(self.text, self.at)
        if word and (word[0] in _LITERALS or word[0] in _NOTHING):
            self.at = word.end()
            return _LITERALS.get(word[0])
        if word and word.end() == len(self.text):
            self.is_cut = True
            return None
        raise _Broken("a value is missing")

    def _read_key(self, char: str) -> str:
        if char in "\"'":
            return self._read_string(char)
        if word := _WORD.match(self.text, self.at):
            self.at = word.end()
            return word[0]
        raise _Broken("a key is missing")

    def _read_string(self, quote: str) -> str:
        if quote == '"' and self.text.startswith('"""', self.at):
            quote = '"""'
        self.body = (quote, self.at + len(quote))
        body = BODY[quote].match(self.text, self.at + len(quote))
        text = body[0] if body else ""
        self.at += len(quote) + len(text)
        if self.text.startswith(quote, self.at):
            self.at += len(quote)
            return unescape_string(text)
        self.at, self.is_cut = len(self.text), True
        return unescape_string(without_half_escape(text))

    def _next_char(self) -> str:
        """The next character after space and comments, still unread; empty at the end of the text."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        char = self.text[self.at : self.at + 1]
        if not char:
            self.is_cut = True
        return char


def unescape_string(text: str) -> str:
    """What the inside of a string says."""
    return _ESCAPE.sub(_unescape_match, text)


def without_half_escape(text: str) -> str:
    """The beginning of a string's inside, less an escape at its end of which only a part has arrived."""
    last = None
    for found in re.finditer(rf"\\({_PAIR}|{_HALF_ESCAPE}|u[0-9a-fA-F]{{4}}|.)", text, re.DOTALL):
        last = found
    is_half = last and last.end() == len(text) and re.fullmatch(_HALF_ESCAPE, last[1])
    return text[: last.start()] if last and is_half else text


def _parse_number(text: str) -> object:
    if len(text) <= MAX_DIGITS:
        for kind in (int, float):
            try:
                value = kind(text)
            except ValueError:
                continue
            return value if abs(value) < 1e300 else text  # no infinity, which JSON does not have
    return text


def _unescape_match(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) == 5:
        char = chr(int(code[1:], 16))
        return "\ufffd" if "\ud800" <= char <= "\udfff" else char
    if len(code) == 11:
        high, low = int(code[1:5], 16), int(code[7:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return _ESCAPES.get(code, "\\" + code)
