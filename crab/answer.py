"""Reading what a model answered: leniently what it wrote, strictly what it may mean.

Owns the rules by which a text becomes a command, panel actions or a reply. Pure: no clock, no files, no door; the crab
acts by it and the host shows by it, so both see the same thing. Works in one pass over the text and never nests deeper
than :data:`MAX_DEPTH`, whatever it is fed. What cannot be read for sure becomes an error for the model, never a guess
that runs.
"""

from __future__ import annotations

import re

KNOWN_KEYS = frozenset({"userId", "message", "action", "terminal", "panelActions"})
POWERFUL_KEYS = frozenset({"terminal", "panelActions"})
"""Keys that make something happen: read twice with different values, or cut off in the middle, they are refused."""
MAX_DEPTH = 32
FORM = '{"message": "…", "terminal": "…"}'

_SPACE = re.compile(r"(?:\s++|//[^\n]*+|#[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))*+")
_WORD = re.compile(r"[A-Za-z_$][\w$]*+")
_NUMBER = re.compile(r"[-+]?[0-9.][0-9.eE+-]*+")
_BODY = {
    '"': re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]++|\\.)*+", re.DOTALL),
    '"""': re.compile(r'(?:[^"\\]++|\\.|"(?!""))*+', re.DOTALL),
}
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"\\({_PAIR}|u[0-9a-fA-F]{{4}}|.)", re.DOTALL)
_HALF_ESCAPE = r"u[0-9a-fA-F]{0,3}\Z|u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[0-9a-fA-F]{0,3})?\Z"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", '"': '"', "'": "'", "\\": "\\"}
_LITERALS = {"true": True, "True": True, "false": False, "False": False}
_NOTHING = frozenset({"null", "None", "undefined", "NaN", "Infinity"})

_OLD_FORM = re.compile(r"^[ \t]*ACTION:[ \t]*EXECUTE\b", re.MULTILINE)
_OLD_COMMAND = re.compile(r"^[ \t]*COMMAND:[ \t]*(.*?)(?=^[A-Z_]{3,}:\s|\Z)", re.MULTILINE | re.DOTALL)
_THOUGHT = re.compile(r"<(think(?:ing)?)>")


class Answer:
    """What a model answered. With ``errors`` nothing of it may be carried out: they are sentences for the model."""

    __slots__ = ("action", "errors", "is_cut", "is_empty", "message", "panel_actions", "terminal", "text", "thought")

    def __init__(self, text: str, thought: str) -> None:
        self.text = text
        """The answer without the model's thinking."""
        self.thought = thought
        self.message = ""
        self.action = ""
        self.terminal = ""
        """The exact command, or empty when there is none."""
        self.panel_actions: list[object] = []
        self.errors: list[str] = []
        self.is_empty = not text.strip()
        """There was no answer at all; an object with an empty message is one."""
        self.is_cut = False
        """The text broke off inside the object."""


def read_answer(text: str) -> Answer:
    """Takes the first object with a known key, else the old ``ACTION: EXECUTE`` form, else the text as the reply."""
    thought, rest = _split_thought(text.encode("utf-8", "replace").decode())
    answer = Answer(rest, thought)
    reader = _first_object(rest)
    old_form = _OLD_FORM.search(rest)
    if old_form and (reader is None or old_form.start() < reader.start):
        _take_old_form(answer, rest, old_form)
    elif reader is not None:
        _take_object(answer, reader)
    else:
        answer.message = rest.strip()
    return answer


def partial_message(text: str) -> str:
    """The reply so far in the beginning of an answer; once a letter of an object's message is out it only grows."""
    thought_or_text = _split_thought(text)[1]
    reader = _first_object(thought_or_text)
    if reader is not None:
        message = reader.found.get("message")
        return message if isinstance(message, str) else ""
    plain = thought_or_text.strip()
    is_plain = len(plain) >= 80 and "{" not in plain and not _OLD_FORM.search(plain)
    return plain if is_plain and not plain.startswith(("[", "`", "<")) else ""


def split_action(text: str) -> tuple[str, list[str]]:
    r"""``NAME:field|field`` as name and fields, ``\|`` a bar and ``\\`` a backslash; a bare ``NAME:`` has none."""
    name, _, rest = text.partition(":")
    if not rest:
        return name.strip(), []
    # Other backslashes are kept: a Windows path or a pattern in a field is not an escape.
    fields = [""]
    for part in re.findall(r"\\[\\|]|\||[^\\|]+|\\", rest):
        if part == "|":
            fields.append("")
        else:
            fields[-1] += part[1] if len(part) == 2 and part in {"\\\\", "\\|"} else part
    return name.strip(), fields


# --- from text to an answer ----------------------------------------------------------------------------------------


def _split_thought(text: str) -> tuple[str, str]:
    """Thinking and answer apart: each ``<think>`` block before the first brace; an open one reaches to the end."""
    thoughts, rest, at = [], [], 0
    for name in (
        "</think>",
        "</thinking>",
    ):  # some models' templates open the block in the prompt: only its end is here
        end = text.find(name)
        if end >= 0 and not text.lstrip().startswith(("<think", "{", "`")) and "<think" not in text[:end]:
            thoughts.append(text[:end])
            at = end + len(name)
            break
    while (opened := _THOUGHT.search(text, at)) and text.find("{", at, opened.start()) < 0:
        closing = f"</{opened[1]}>"
        end = text.find(closing, opened.end())
        rest.append(text[at : opened.start()])
        thoughts.append(text[opened.end() :] if end < 0 else text[opened.end() : end])
        at = len(text) if end < 0 else end + len(closing)
    rest.append(text[at:])
    return "\n".join(thoughts).strip(), "".join(rest)


def _take_object(answer: Answer, reader: _Reader) -> None:
    found, answer.is_cut = reader.found, reader.is_cut
    if reader.error:
        answer.errors.append(reader.error)
    answer.errors += [f'"{key}" is there twice with different values; give it once.' for key in reader.clashes]
    if reader.cut_key in POWERFUL_KEYS:
        answer.errors.append(f'Your answer was cut off inside "{reader.cut_key}". Give a shorter one.')
    answer.message = _text(answer, "message", found)
    answer.action = _text(answer, "action", found)
    terminal = _text(answer, "terminal", found)
    if "\0" in terminal:
        answer.errors.append('"terminal" holds a NUL character, which no command can.')
    answer.terminal = terminal if terminal.strip() else ""
    answer.panel_actions = _actions(answer, found.get("panelActions"))


def _text(answer: Answer, key: str, found: dict[str, object]) -> str:
    value = found.get(key)
    if isinstance(value, str):
        return value
    if value is not None:
        answer.errors.append(f'"{key}" must be text, not {_kind(value)}.')
    return ""


def _actions(answer: Answer, value: object) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        answer.errors.append(f'"panelActions" must be a list, not {_kind(value)}.')
        return []
    for number, item in enumerate(value, 1):
        if not isinstance(item, str | dict):
            answer.errors.append(f'Number {number} of "panelActions" must be text or an object, not {_kind(item)}.')
    return value


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return names[type(value)]


def _take_old_form(answer: Answer, text: str, form: re.Match[str]) -> None:
    answer.message = text[: form.start()].strip().removesuffix("```").strip()
    found = _OLD_COMMAND.search(text)
    command = found[1].strip() if found else ""
    if fenced := re.match(r"```\w*\n(.*?)\n?```", command, re.DOTALL):
        command = fenced[1]
    command = command.removesuffix("\n```")  # the whole form stood in a fence
    if re.fullmatch(r"`[^`]+`", command):
        command = command[1:-1]
    if not command.strip():
        answer.errors.append("ACTION: EXECUTE needs a line COMMAND: with the command.")
    elif "\0" in command:
        answer.errors.append("COMMAND holds a NUL character, which no command can.")
    else:
        answer.terminal = command


def _first_object(text: str) -> _Reader | None:
    """The first object with a known key, whole, broken or cut. A broken one is not searched for others inside it."""
    at = text.find("{")
    while at >= 0:
        reader = _Reader(text, at)
        reader.read()
        if not KNOWN_KEYS.isdisjoint(reader.keys):
            return reader
        is_all = not reader.error and not text[:at].strip(" \t\r\n`json") and not text[reader.at :].strip(" \t\r\n`")
        if is_all and not reader.is_cut:
            reader.error = f"The object has none of the keys that count. Answer in the form {FORM}"
            return reader
        at = text.find("{", max(at + 1, reader.at))
    return None


# --- the lenient reader --------------------------------------------------------------------------------------------


class _Broken(Exception):
    """This is no object, not even leniently."""


class _Reader:
    """Reads one object that begins at ``start``. Running into the end of the text is no error but ``is_cut``."""

    __slots__ = ("at", "clashes", "cut_key", "error", "found", "is_cut", "keys", "start", "text")

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.start = self.at = start
        self.found: dict[str, object] = {}
        self.keys: set[str] = set()
        """Every key of the object itself whose name was read, also when its value was not."""
        self.clashes: list[str] = []
        self.cut_key = ""
        self.is_cut = False
        self.error = ""

    def read(self) -> None:
        """Fills ``found`` with what could be read and ``error`` with why the rest could not."""
        try:
            self._object(self.found, depth=0)
        except _Broken as broken:
            near = self.text[self.at : self.at + 40]
            self.error = f'The JSON object is broken ({broken}) at: {near} — quotes inside text are written \\".'

    def _object(self, found: dict[str, object], *, depth: int) -> None:
        self.at += 1
        while (char := self._next()) != "}":
            if not char:
                return
            key = self._key(char)
            if depth == 0:
                self.keys.add(key)
            if self._next() != ":":
                if self.is_cut:
                    return
                raise _Broken("a colon is missing")
            self.at += 1
            self._store(found, key, self._value(depth), depth=depth)
            if self.is_cut:
                self.cut_key = key if depth == 0 else ""
                return
            if self._next() not in ",}":
                raise _Broken("a comma is missing")
            if self.text.startswith(",", self.at):
                self.at += 1
        self.at += 1

    def _store(self, found: dict[str, object], key: str, value: object, *, depth: int) -> None:
        if key not in found:
            found[key] = value
        elif found[key] != value and (depth or key in POWERFUL_KEYS):
            self.clashes.append(key)

    def _list(self, depth: int) -> list[object]:
        self.at += 1
        items: list[object] = []
        while (char := self._next()) != "]":
            if not char:
                return items
            items.append(self._value(depth))
            if self.is_cut:
                return items
            if self._next() not in ",]":
                raise _Broken("a comma is missing in a list")
            if self.text.startswith(",", self.at):
                self.at += 1
        self.at += 1
        return items

    def _value(self, depth: int) -> object:
        char = self._next()
        if not char:
            return None
        if depth >= MAX_DEPTH:
            raise _Broken("nested too deep")
        if char in "\"'":
            return self._string(char)
        if char == "[":
            return self._list(depth + 1)
        if char == "{":
            inner: dict[str, object] = {}
            self._object(inner, depth=depth + 1)
            return inner
        return self._bare()

    def _bare(self) -> object:
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return _number(number[0])
        word = _WORD.match(self.text, self.at)
        if word and (word[0] in _LITERALS or word[0] in _NOTHING):
            self.at = word.end()
            return _LITERALS.get(word[0])
        if word and word.end() == len(self.text):
            self.is_cut = True
            return None
        raise _Broken("a value is missing")

    def _key(self, char: str) -> str:
        if char in "\"'":
            return self._string(char)
        if word := _WORD.match(self.text, self.at):
            self.at = word.end()
            return word[0]
        raise _Broken("a key is missing")

    def _string(self, quote: str) -> str:
        if quote == '"' and self.text.startswith('"""', self.at):
            quote = '"""'
        body = _BODY[quote].match(self.text, self.at + len(quote))
        text = body[0] if body else ""
        self.at += len(quote) + len(text)
        if self.text.startswith(quote, self.at):
            self.at += len(quote)
            return _ESCAPE.sub(_unescape, text)
        self.at, self.is_cut = len(self.text), True
        return re.sub(rf"\\({_PAIR}|{_HALF_ESCAPE}|u[0-9a-fA-F]{{4}}|.)", _unescape_cut, text, flags=re.DOTALL)

    def _next(self) -> str:
        """The next character after space and comments, still unread; empty at the end of the text."""
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        char = self.text[self.at : self.at + 1]
        if not char:
            self.is_cut = True
        return char


def _number(text: str) -> object:
    if len(text) > 100:  # no conversion of huge digits, no infinity
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) == 5:
        char = chr(int(code[1:], 16))
        return "\ufffd" if "\ud800" <= char <= "\udfff" else char
    if len(code) == 11:
        high, low = int(code[1:5], 16), int(code[7:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return _ESCAPES.get(code, "\\" + code)


def _unescape_cut(found: re.Match[str]) -> str:
    """As :func:`_unescape`, but an escape of which only a part has arrived is left out until it is whole."""
    is_half = found.end() == len(found.string) and re.fullmatch(_HALF_ESCAPE, found[1])
    return "" if is_half else _unescape(found)
