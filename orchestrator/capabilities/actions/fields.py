"""The fields of an action: those of a class whose fields say what they hold, or those that a JSON Schema describes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.json_schema import check_schema


class Field(NamedTuple):
    """One field of an action, as a model names it."""

    name: str
    attribute: str
    """Its name in what the deed gets."""
    kind: FieldKind
    max_chars: int = 0
    may_clear: bool = False
    """A ``-`` empties it, where an empty text leaves it as it is."""
    is_required: bool = False
    schema: Mapping[str, Any] = {}
    """What its values are, where its kind is JSON."""


def field_metadata(kind: FieldKind, max_chars: int = 200, *, may_clear: bool = False) -> Mapping[str, Any]:
    """What a field of an action's class says in its ``metadata``."""
    return {"kind": kind, "max_chars": max_chars, "may_clear": may_clear}


def fields_of(asked: type | Mapping[str, Any]) -> tuple[Field, ...]:
    """In the order of the text form, what is required first. Raises ValueError for a JSON Schema that is not of an
    object, or says more than is understood here; nothing in it is fetched or run."""
    if isinstance(asked, type):
        return tuple(
            Field(one.name.rstrip("_"), one.name, **one.metadata, is_required=one.default is dataclasses.MISSING)
            for one in dataclasses.fields(asked)
        )
    check_schema(asked)
    if asked["type"] != "object":
        raise ValueError("the schema of an action must be of type object")
    required = asked.get("required", ())
    parts = sorted(asked.get("properties", {}).items(), key=lambda part: part[0] not in required)
    return tuple(Field(name, name, FieldKind.JSON, is_required=name in required, schema=part) for name, part in parts)
