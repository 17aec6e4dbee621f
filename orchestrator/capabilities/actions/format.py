"""From what was asked for back to the object that reads the same: for records and digests."""

from __future__ import annotations

from orchestrator.capabilities.actions.field_types import write_value
from orchestrator.capabilities.capability import ActionRequest


def as_object(asked: ActionRequest) -> dict[str, object]:
    """``{"name": …, fields…}`` of JSON values, without what is left out."""
    shown = {name: _plain(value) for name, value in asked.values().items()}
    return {"name": asked.action.name, **{name: value for name, value in shown.items() if value != ""}}


def _plain(value: object) -> object:
    if value is None:
        return ""
    return value if isinstance(value, int | float | list | dict) else write_value(value)
