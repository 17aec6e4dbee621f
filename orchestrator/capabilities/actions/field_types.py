"""The kinds of value that a field can have: how each is read from a text or a JSON value, and how it is written.

Every reader gets a value from a stranger and the most characters it may have, and gives what the field holds or raises
``Unfit`` with the end of a sentence that begins with the field's name. Only the form is judged: an address is not
looked up, and a time is not held against any clock.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date, datetime
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

When = date | datetime
"""A moment with its offset, a time of a clock on some wall (a datetime without one), or a whole day (a date)."""


class Cleared(Enum):
    """A change that empties a field, which leaving the field out does not."""

    CLEARED = "-"


CLEARED: Final = Cleared.CLEARED

MAX_ID = 2**53 - 1
"""The largest whole number that every reader of JSON keeps exact."""
MAX_SECONDS = 600.0
MAX_COUNT = 7 * 24 * 3600
"""Counts are few, or seconds of at most a week."""
MAX_LINES = 20

_COLOR = re.compile(r"#[0-9a-f]{3}|#[0-9a-f]{6}|[a-z]{3,20}")
_FILE_TYPE = re.compile(r"\.?([a-z0-9][a-z0-9+-]{0,19}|[a-z]{1,20}/[a-z0-9][a-z0-9.+-]{0,79})")
_ID = re.compile(r"#?([0-9]{1,16})")
_SECONDS = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*(?:s|sec|secs|second|seconds)?", re.IGNORECASE)
_CLOCK = re.compile(r"([0-9]{1,2}):([0-5][0-9])(?:\.0+)?")
_ISO_DURATION = re.compile(r"PT(?:([0-9]{1,4})M)?(?:([0-9]{1,6}(?:\.[0-9]{1,6})?)S)?", re.IGNORECASE)
_FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_BREAKS = {"Zl", "Zp"}
_RESERVED = frozenset('<>:"/\\|?*')
_WHEN_FORM = "a date such as 2026-02-28, or a time such as 2026-02-28T09:00 or 2026-02-28T09:00:00Z"
_URL_FORM = "a whole address such as https://example.com/file.pdf"


class Unfit(ValueError):
    """The value is not of its kind; the text continues a sentence after the field's name."""


class FieldKind(StrEnum):
    """What sort of value a field has."""

    LINE = "text on one line"
    TEXT = "text"
    WHEN = "date or time"
    ID = "number of an entry"
    URL = "web address"
    SECONDS = "length in seconds"
    COLOR = "color"
    FILE_TYPE = "type of file"
    FILE_NAME = "name of a file"
    LINES = "list of texts"
    FLAG = "yes or no"
    COUNT = "whole number"
    SYSTEM = "pip or npm"
    JSON = "value of a JSON Schema"
    """Read by ``json_schema``, with the field's schema."""


def read_value(kind: FieldKind, value: object, max_chars: int) -> object:
    """What the field holds; raises Unfit."""
    return _READERS[kind](value, max_chars)


def write_value(value: object) -> str:
    """The text that reads as this value again."""
    if value is CLEARED:
        return CLEARED.value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return f"{value:.6f}".rstrip("0").rstrip(".")
    return str(value)


# --- texts ---------------------------------------------------------------------------------------------------------


def _text(value: object, max_chars: int) -> str:
    if not isinstance(value, str):
        raise Unfit(f"must be text, not {_named(value)}")
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip()
    if len(text) > max_chars:
        raise Unfit(f"may have {max_chars:,} characters at most, not {len(text):,}")
    for char in text:
        category = unicodedata.category(char)
        if category == "Cs" or (category == "Cc" and char not in "\n\t"):
            raise Unfit(f"holds a character that no text can have (U+{ord(char):04X}); leave it out")
    return text


def _line(value: object, max_chars: int) -> str:
    text = _text(value, max_chars)
    if any(char in "\n\t" or unicodedata.category(char) in _BREAKS for char in text):
        raise Unfit("must be on one line, without line breaks and tabs")
    return text


def _color(value: object, max_chars: int) -> str:
    text = _line(value, max_chars).lower()
    if not _COLOR.fullmatch(text):
        raise Unfit("must be a name such as red, or #rrggbb")
    return text


def _file_type(value: object, max_chars: int) -> str:
    text = _line(value, max_chars).lower()
    found = _FILE_TYPE.fullmatch(text)
    if not found:
        raise Unfit("must be an ending such as pdf, or a type such as image/png")
    return found[1]


def _file_name(value: object, max_chars: int) -> str:
    text = _line(value, max_chars).removeprefix("out/")
    if text.startswith((".", "-")) or text.endswith(".") or not _RESERVED.isdisjoint(text) or not text.isprintable():
        raise Unfit("must be a plain name such as intro.mp4, without a folder")
    return text


def _url(value: object, max_chars: int) -> str:
    text = _line(value, max_chars)
    if any(char.isspace() or char == "\\" or not char.isprintable() for char in text):
        raise Unfit("must not hold spaces, backslashes or invisible characters; write a space as %20")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise Unfit(f"must be {_URL_FORM}") from error
    if parts.scheme not in ("https", "http") or not host or host.strip(".") == "":
        raise Unfit(f"must be {_URL_FORM}")
    if "@" in parts.netloc:
        raise Unfit("must not hold a user name or password (what stands before @)")
    if port == 0:
        raise Unfit("has a port that does not exist")
    return text


# --- times and numbers ---------------------------------------------------------------------------------------------


def _when(value: object, max_chars: int) -> date:
    text = _line(value, max_chars)
    try:
        moment: date = date.fromisoformat(text)  # refuses what has a time
    except ValueError:
        moment = _moment(text)
    if not 1 < moment.year < 9999:  # the first and the last year have hours that no other zone has
        raise Unfit("lies in a year that no calendar needs")
    return moment


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise Unfit(f"must be {_WHEN_FORM}") from error


def _id(value: object, _max_chars: int) -> int:
    number = value
    if isinstance(value, str) and (found := _ID.fullmatch(value.strip())):
        number = int(found[1])
    if isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= MAX_ID:
        raise Unfit("must be the number of an entry, such as 12")
    return number


def _seconds(value: object, max_chars: int) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = value if is_number else _seconds_of(_line(value, max_chars))
    # A comparison holds for NaN, infinity and integers that no float can hold, where a conversion would not.
    if not isinstance(number, int | float) or not 0.000_001 <= number <= MAX_SECONDS:
        raise Unfit(f"must be more than 0 and at most {MAX_SECONDS:.0f} seconds")
    return round(float(number), 6)


def _seconds_of(text: str) -> float:
    if plain := _SECONDS.fullmatch(text):
        return float(plain[1])
    if clock := _CLOCK.fullmatch(text):
        return int(clock[1]) * 60 + int(clock[2])
    iso = _ISO_DURATION.fullmatch(text)
    if iso and (iso[1] or iso[2]):
        return int(iso[1] or 0) * 60 + float(iso[2] or 0)
    raise Unfit("must be a number of seconds, such as 12")


def _count(value: object, max_chars: int) -> int:
    number = value
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value) <= max_chars:
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 < number <= MAX_COUNT:
        raise Unfit(f"must be a whole number from 1 to {MAX_COUNT:,}")
    return number


def _flag(value: object, _max_chars: int) -> bool:
    found = _FLAGS.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise Unfit("must be yes or no")
    return found


def _lines(value: object, max_chars: int) -> tuple[str, ...]:
    """Of a list its entries, of a text what stands between its commas."""
    entries = value.split(",", MAX_LINES) if isinstance(value, str) else value
    if not isinstance(entries, list | tuple) or len(entries) > MAX_LINES:
        raise Unfit(f"must be a list of at most {MAX_LINES} texts, or one text with commas between them")
    lines = [_line(entry, max_chars) for entry in entries]
    kept = tuple(dict.fromkeys(line for line in lines if line))
    if not kept:
        raise Unfit("must not be empty")
    return kept


def _system(value: object, max_chars: int) -> str:
    text = _line(value, max_chars).lower()
    if text not in ("pip", "npm"):
        raise Unfit("must be pip or npm")
    return text


def _named(value: object) -> str:
    names = {bool: "true or false", list: "a list", dict: "an object", int: "a number", float: "a number"}
    return names.get(type(value), "something else")


_READERS: Mapping[FieldKind, Callable[[object, int], object]] = MappingProxyType(
    {
        FieldKind.LINE: _line,
        FieldKind.TEXT: _text,
        FieldKind.WHEN: _when,
        FieldKind.ID: _id,
        FieldKind.URL: _url,
        FieldKind.SECONDS: _seconds,
        FieldKind.COLOR: _color,
        FieldKind.FILE_TYPE: _file_type,
        FieldKind.FILE_NAME: _file_name,
        FieldKind.LINES: _lines,
        FieldKind.FLAG: _flag,
        FieldKind.COUNT: _count,
        FieldKind.SYSTEM: _system,
    }
)
