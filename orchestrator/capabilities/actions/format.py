"""From what was asked for back to the text or the object that reads the same: for records, tests and examples."""

from __future__ import annotations

from orchestrator.capabilities.actions.field_types import write_value
from orchestrator.capabilities.capability import Asked


def as_text(asked: Asked) -> str:
    """``NAME:field|field``, escaped, without the empty fields at its end."""
    fields = [_escaped(_shown(value)) for value in asked.values().values()]
    while fields and not fields[-1]:
        fields.pop()
    return f"{asked.action.name}:{'|'.join(fields)}"


def as_object(asked: Asked) -> dict[str, object]:
    """``{"name": …, fields…}`` of JSON values, without what is left out."""
    shown = {name: _plain(value) for name, value in asked.values().items()}
    return {"name": asked.action.name, **{name: value for name, value in shown.items() if value != ""}}


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | list | dict) else _shown(value)


def _shown(value: object) -> str:
    return "" if value is None else write_value(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")
