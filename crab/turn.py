"""A turn as the host hands it over, parsed once; what is missing or odd gets a sane default."""

from __future__ import annotations


class CrabTurn:
    """One prompt of a person, as the host handed it over."""

    __slots__ = (
        "agent",
        "command_timeout_s",
        "history",
        "id",
        "may_be_silent",
        "notes",
        "now",
        "output_bytes",
        "step_limit",
        "text",
        "time_zone",
    )

    def __init__(self, given: dict[str, object]) -> None:
        limits = as_object(given.get("limits"))
        history, notes = given.get("history"), given.get("notes")
        self.id = int(as_number(given.get("id"), 0))
        self.text = str(given.get("text") or "")
        self.notes = [str(note) for note in notes] if isinstance(notes, list) else []
        self.may_be_silent = given.get("may_be_silent") is True
        """Nobody waits for a reply: a turn that ends without words is fine."""
        self.now = str(given.get("now") or "")
        self.time_zone = str(given.get("time_zone") or "UTC")
        self.history: list[dict[str, object]] = history if isinstance(history, list) else []
        self.agent = as_object(given.get("agent"))
        self.step_limit = max(1, int(as_number(limits.get("steps"), 30)))
        self.command_timeout_s = as_number(limits.get("command_timeout_s"), 120)
        self.output_bytes = int(as_number(limits.get("output_bytes"), 16000))


def as_object(value: object) -> dict[str, object]:
    """``value`` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_number(value: object, default: float) -> float:
    """``value`` where it is a number, else ``default``."""
    return value if isinstance(value, int | float) else default
