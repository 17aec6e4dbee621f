"""From a panel action back to the text or the object that reads as the same action: for records, tests and examples."""

from __future__ import annotations

from orchestrator.panel.actions import Action
from orchestrator.panel.kinds import write_value
from orchestrator.panel.schemas import BY_CLASS


def as_text(action: Action) -> str:
    """``NAME:field|field``, escaped, without the empty fields at its end."""
    schema = BY_CLASS[type(action)]
    fields = [_escaped(_shown(getattr(action, field.attribute))) for field in schema.fields]
    while fields and not fields[-1]:
        fields.pop()
    return f"{schema.name}:{'|'.join(fields)}"


def as_object(action: Action) -> dict[str, object]:
    """``{"name": …, fields…}`` of JSON values, without what is left out."""
    schema = BY_CLASS[type(action)]
    values = {field.name: getattr(action, field.attribute) for field in schema.fields}
    shown = {name: value if isinstance(value, int | float) else _shown(value) for name, value in values.items()}
    return {"name": schema.name, **{name: value for name, value in shown.items() if value != ""}}


def _shown(value: object) -> str:
    return "" if value is None else write_value(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")
