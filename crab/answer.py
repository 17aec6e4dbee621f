"""Reading what a model answered: leniently what it wrote, strictly what it may mean.

Owns the rules by which a text becomes a command, panel actions or a reply. Pure: no clock, no files, no door; the crab
acts by it and the host shows by it, so both see the same thing. What cannot be read for sure becomes an error for the
model, never a guess that runs.
"""

from __future__ import annotations

import re

from crab.lenient import ObjectReader

KNOWN_KEYS = frozenset({"userId", "message", "action", "terminal", "panelActions"})
POWERFUL_KEYS = frozenset({"terminal", "panelActions"})
"""Keys that make something happen: given twice with different values, or cut off in the middle, they are refused."""
MAX_TRIES = 1000
"""Braces that are tried as the beginning of an object; a text with more of them in vain is a text."""
MAX_ACTIONS = 50
FORM = '{"message": "…", "terminal": "…"}'

OLD_FORM = re.compile(r"^[ \t]*ACTION:[ \t]*EXECUTE\b", re.MULTILINE)
_OLD_KEYS = "ACTION|COMMAND|MESSAGE|THOUGHT|REPLY|USER|RESULT"
_OLD_COMMAND = re.compile(
    rf"^[ \t]*COMMAND:(?:\s*```\w*\n(.*?)\n?```|[ \t]*(.*?)(?=^(?:{_OLD_KEYS}):|\Z))", re.MULTILINE | re.DOTALL
)
_THOUGHT = re.compile(r"<(think(?:ing)?)>")


class Answer:
    """What a model answered. With ``errors`` nothing of it may be carried out: they are sentences for the model."""

    __slots__ = ("action", "errors", "message", "panel_actions", "terminal", "text", "thought")

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

    @property
    def is_empty(self) -> bool:
        """It neither says anything nor asks for anything."""
        return not (self.message.strip() or self.action or self.terminal or self.panel_actions or self.errors)


def read_answer(text: str) -> Answer:
    """Takes the first object with a known key, else the old ``ACTION: EXECUTE`` form, else the text as the reply."""
    thought, rest = split_thought(text.encode("utf-8", "replace").decode())
    answer = Answer(rest, thought)
    reader = first_object(rest)
    old_form = OLD_FORM.search(rest)
    if old_form and (reader is None or old_form.start() < reader.start):
        _take_old_form(answer, rest, old_form)
    elif reader is not None:
        _take_object(answer, reader)
    else:
        answer.message = rest.strip()
    return answer


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


def split_thought(text: str) -> tuple[str, str]:
    """Thinking and answer apart: each ``<think>`` block before the first brace; an open one reaches to the end."""
    thoughts, rest, at = [], [], 0
    for name in ("</think>", "</thinking>"):
        # Some models' templates open the block in the prompt, so that only its end is here.
        end = text.find(name)
        is_open = end >= 0 and not text.lstrip().startswith(("<think", "{", "`")) and "<think" not in text[:end]
        if is_open and not _is_said(text, end):
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


def _is_said(text: str, at: int) -> bool:
    """This place is within an answer's object: what stands there is part of what it says."""
    reader = first_object(text)
    return reader is not None and not reader.error and reader.start < at < reader.at


def _take_object(answer: Answer, reader: ObjectReader) -> None:
    found = reader.found
    if reader.error:
        answer.errors.append(reader.error)
    clashes = [key for key in reader.clashes if key not in KNOWN_KEYS - POWERFUL_KEYS]
    answer.errors += [f'"{key}" is there twice with different values; give it once.' for key in clashes]
    if reader.cut_key in POWERFUL_KEYS:
        answer.errors.append(f'Your answer was cut off inside "{reader.cut_key}". Give a shorter one.')
        return
    answer.message = _get_text(answer, "message", found) + (" […]" if reader.cut_key == "message" else "")
    answer.action = _get_text(answer, "action", found)
    terminal = _get_text(answer, "terminal", found)
    if "\0" in terminal:
        answer.errors.append('"terminal" holds a NUL character, which no command can.')
    answer.terminal = terminal if terminal.strip() else ""
    answer.panel_actions = _get_actions(answer, found.get("panelActions"))


def _get_text(answer: Answer, key: str, found: dict[str, object]) -> str:
    value = found.get(key)
    if isinstance(value, str):
        return value
    if value is not None:
        answer.errors.append(f'"{key}" must be text, not {_get_kind(value)}.')
    return ""


def _get_actions(answer: Answer, value: object) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        answer.errors.append(f'"panelActions" must be a list, not {_get_kind(value)}.')
        return []
    if len(value) > MAX_ACTIONS:
        answer.errors.append(f'"panelActions" may hold {MAX_ACTIONS} entries at most.')
    for number, item in enumerate(value, 1):
        if not isinstance(item, str | dict):
            answer.errors.append(f'Number {number} of "panelActions" must be text or an object, not {_get_kind(item)}.')
    return value


def _get_kind(value: object) -> str:
    names = {bool: "true or false", str: "text", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")


def _take_old_form(answer: Answer, text: str, form: re.Match[str]) -> None:
    answer.message = text[: form.start()].strip().removesuffix("```").strip()
    found = _OLD_COMMAND.search(text)
    command = (found[1] or found[2] or "").strip() if found else ""
    command = command.removesuffix("\n```")  # the whole form stood in a fence
    if re.fullmatch(r"`[^`]+`", command):
        command = command[1:-1]
    if not command.strip():
        answer.errors.append("ACTION: EXECUTE needs a line COMMAND: with the command.")
    elif "\0" in command:
        answer.errors.append("COMMAND holds a NUL character, which no command can.")
    else:
        answer.terminal = command


def first_object(text: str) -> ObjectReader | None:
    """The first object with a known key, whole, broken or cut. A broken one is not searched for others inside it."""
    at = text.find("{")
    for tried in range(MAX_TRIES):
        if at < 0:
            break
        reader = ObjectReader(text, at)
        reader.read_object()
        if not KNOWN_KEYS.isdisjoint(reader.keys):
            return reader
        if tried == 0 and _is_all(reader):
            reader.error = f"The object has none of the keys that count. Answer in the form {FORM}"
            return reader
        at = text.find("{", max(at + 1, reader.at))
    return None


def _is_all(reader: ObjectReader) -> bool:
    """The text is this one object and nothing else but a fence: it was meant as an answer."""
    if reader.error or reader.is_cut:
        return False
    before, after = reader.text[: reader.start], reader.text[reader.at :]
    return bool(re.fullmatch(r"\s*(?:```\w*\s*)?", before)) and not after.strip(" \t\r\n`")
