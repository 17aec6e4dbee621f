"""One field of an action, and the fields that a JSON Schema describes."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.capabilities.actions.field_types import Kind
from orchestrator.capabilities.actions.json_schema import MAX_CHARS, check_schema


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an action, as a model names it."""

    name: str
    kind: Kind
    help: str
    """A few words for who fills it in."""
    max_chars: int = 200
    is_required: bool = False
    may_clear: bool = False
    """A ``-`` empties it, where an empty text leaves it as it is."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """What its values are, where its kind is JSON."""

    @property
    def attribute(self) -> str:
        """Its name in the action's class."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name


def fields_of_schema(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields that a JSON Schema of an object describes, what is required first. Raises ValueError for a schema
    that says more than is understood here; nothing in it is fetched or run."""
    check_schema(schema)
    if schema.get("type") != "object":
        raise ValueError("the schema of an action must be of type object")
    required = schema.get("required", ())
    fields = [
        Field(
            name,
            Kind.JSON,
            str(part.get("description", "")),
            max_chars=part.get("maxLength", MAX_CHARS),
            is_required=name in required,
            schema=part,
        )
        for name, part in schema.get("properties", {}).items()
    ]
    return tuple(sorted(fields, key=lambda one: not one.is_required))
