"""What comes through a door: one request, and readers which take one field of it, or say what is wrong."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from orchestrator.core.errors import BadInput
from orchestrator.core.models import CubicleKey
from orchestrator.core.strict_json import read_object
from orchestrator.door.bodies import BodyAllowance

MAX_WAIT_S = 30.0
MAX_POLL_S = 600.0
"""Of the calls that end when their caller hangs up: they may last, as an idle cubicle costs nothing but its polls."""
_MAX_ID = 2**53 - 1
_MAX_ARGUMENTS = 16


class NoRoute(Exception):
    """There is no such call; with the HTTP status that says so, and the methods that the path does have."""

    def __init__(self, status: int, *allowed: str) -> None:
        super().__init__(status)
        self.status = status
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A body that has not arrived yet, and how much its door may hold."""

    read: Callable[[], bytes]
    length: int
    allowance: BodyAllowance

    def fields(self) -> dict[str, Any]:
        """The JSON object in it, received and read now; raises BadInput or TooMany."""
        with self.allowance.reading(self.length):
            return read_object(self.read())


@dataclass(frozen=True, slots=True)
class DoorRequest:
    """A stranger's request."""

    key: CubicleKey
    """Whose door it came through."""
    name: str
    """What stands in its path where the table of calls has a ``*``; empty where it has none."""
    query: str
    body: RequestBody
    connection: int
    """The descriptor of the client's connection, for whoever waits long."""
    hand_over_to: Callable[[Callable[[socket.socket], None]], None]
    """What is given to it gets the connection's socket once the answer was sent, and owns it from then on."""

    @property
    def turn(self) -> int:
        """The number in the path; raises NoRoute for what can't be the number of a turn."""
        if not (self.name.isascii() and self.name.isdecimal() and len(self.name) < 20 and int(self.name) <= _MAX_ID):
            raise NoRoute(404)
        return int(self.name)

    def fields(self) -> dict[str, Any]:
        """The JSON object in its body; raises BadInput or TooMany."""
        return self.body.fields()

    def argument(self, name: str, default: str = "") -> str:
        """The first of this name behind the question mark; raises BadInput when there are far too many."""
        if not self.query:
            return default
        try:
            pairs = parse_qsl(self.query, keep_blank_values=True, max_num_fields=_MAX_ARGUMENTS)
        except ValueError as error:
            raise BadInput(f"At most {_MAX_ARGUMENTS} arguments are read.") from error
        return next((value for known, value in pairs if known == name), default)

    def wait_s(self, most: float = MAX_WAIT_S) -> float:
        """How long the caller would wait, in seconds; raises BadInput."""
        text = self.argument("wait", "0")
        if not (text.isascii() and text.isdecimal()):
            raise BadInput("wait: send whole seconds.")
        return min(float(text), most)

    def unix_time(self, name: str) -> float:
        """The time in this argument, in Unix seconds, 0 where there is none; raises BadInput."""
        text = self.argument(name, "0")
        if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", text):
            raise BadInput(f"{name}: send Unix seconds.")
        return float(text)


def get_text(body: dict[str, Any], field: str) -> str:
    """The text in this field, empty where there is none; raises BadInput."""
    value = body.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{field}: send a text.")
    return value


def get_int(body: dict[str, Any], field: str) -> int:
    """The whole number in this field; raises BadInput."""
    value = body.get(field)
    if type(value) is not int or abs(value) >= 2**53:
        raise BadInput(f"{field}: send a whole number.")
    return value


def one_of(body: dict[str, Any], field: str, *choices: str) -> str:
    """The one of these that stands in the field; raises BadInput."""
    value = body.get(field)
    if value not in choices:
        raise BadInput(f"{field}: send one of {', '.join(choices)}.")
    return str(value)
