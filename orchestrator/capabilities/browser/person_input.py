"""What a person's hands do with a page, read from what their window sent. Nothing of it is written down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.keyboard import read_stroke
from orchestrator.browser.screencast import MAX_PASTED, PointerInput
from orchestrator.browser.session import BrowserSession
from orchestrator.core.errors import BadInput

MOST_DEEDS = 200
"""In one call."""
_FIELDS = {
    "point": frozenset({"do", "kind", "x", "y", "button", "clicks", "wheel_down"}),
    "key": frozenset({"do", "keys"}),
    "paste": frozenset({"do", "text"}),
}
_POINTS = frozenset({"move", "down", "up", "wheel"})
_BUTTONS = frozenset({"none", "left", "right", "middle"})


@dataclass(frozen=True, slots=True)
class KeyInput:
    """A key was pressed, with others held."""

    keys: str


@dataclass(frozen=True, slots=True)
class PasteInput:
    """A text came from the clipboard, or from the keyboard of a phone."""

    text: str


PersonInput = PointerInput | KeyInput | PasteInput


def read_inputs(given: object) -> list[PersonInput]:
    """Raises BadInput that names the field and the fix."""
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_DEEDS:
        raise BadInput(f"deeds: send a list of 1 to {MOST_DEEDS}.")
    return [_read_input(one) for one in given]


def do_inputs(session: BrowserSession, inputs: list[PersonInput]) -> None:
    """One after the other, on the tab in front."""
    for one in inputs:
        match one:
            case KeyInput():
                session.screencast.press(one.keys)
            case PasteInput():
                session.screencast.paste(one.text)
            case PointerInput():
                session.screencast.point(one)


def _read_input(given: object) -> PersonInput:
    if not isinstance(given, dict) or not isinstance(given.get("do"), str) or given["do"] not in _FIELDS:
        raise BadInput("do: send point, key or paste.")
    unknown = sorted(str(name) for name in set(given) - _FIELDS[given["do"]])
    if unknown:
        raise BadInput(f"{unknown[0][:40]}: there is no such field for {given['do']}.")
    if given["do"] == "key":
        return KeyInput(_read_keys(given.get("keys")))
    if given["do"] == "paste":
        text = given.get("text")
        if not isinstance(text, str) or not 0 < len(text) <= MAX_PASTED:
            raise BadInput(f"text: send a text of at most {MAX_PASTED:,} characters.")
        return PasteInput(text)
    return _read_point(given)


def _read_keys(keys: object) -> str:
    if not isinstance(keys, str) or len(keys) > 60:
        raise BadInput("keys: send a key, such as Enter or Control+a.")
    try:
        read_stroke(keys)
    except BrowserError as error:
        raise BadInput(f"keys: {error.message}") from error
    return keys


def _read_point(given: Mapping[str, Any]) -> PointerInput:
    kind, button, clicks = given.get("kind"), given.get("button", "none"), given.get("clicks", 1)
    if not isinstance(kind, str) or kind not in _POINTS:
        raise BadInput("kind: send move, down, up or wheel.")
    if not isinstance(button, str) or button not in _BUTTONS:
        raise BadInput("button: send none, left, right or middle.")
    if type(clicks) is not int or not 1 <= clicks <= 3:
        raise BadInput("clicks: send 1, 2 or 3.")
    x, y = (_read_number(given, name, 0.0, 1.0) for name in ("x", "y"))
    return PointerInput(kind, x, y, button, clicks, _read_number(given, "wheel_down", -10_000.0, 10_000.0, missing=0.0))


def _read_number(
    given: Mapping[str, Any], name: str, least: float, most: float, *, missing: float | None = None
) -> float:
    value = given.get(name, missing)
    if type(value) not in (int, float) or not math.isfinite(value) or not least <= value <= most:
        raise BadInput(f"{name}: send a number from {least:g} to {most:g}.")
    return float(value)
