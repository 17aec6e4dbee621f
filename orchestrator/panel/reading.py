"""From what a model wrote to a panel action, or to one sentence that names the field and the mend.

Both forms, ``NAME:field|field`` and an object, come down to named values and then through the one table, so they mean
the same and fail the same. Nothing is guessed: what is not an action in order is BadInput, and nothing else is raised.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from crab.answer import split_action
from orchestrator.errors import BadInput
from orchestrator.panel.actions import CLEARED, Action
from orchestrator.panel.kinds import Unfit, read_value
from orchestrator.panel.schemas import SCHEMAS, Field, Schema
from orchestrator.text import one_line

MAX_TEXT = 20_000
"""A text form longer than this is not even taken apart."""
MAX_KEYS = 50
_CONTAINERS = ("fields", "arguments")
"""Some models put the fields of the object form into an object or a list of their own."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def read_action(entry: object) -> Action:
    """The action that an entry of ``panelActions`` means; raises BadInput."""
    if isinstance(entry, str):
        return read_text(entry)
    if isinstance(entry, Mapping):
        return read_object(entry)
    raise BadInput('A panel action must be text such as "MEMORY_ADD:…", or an object with a "name".')


def read_text(text: str) -> Action:
    """The action of ``NAME:field|field``; raises BadInput."""
    if len(text) > MAX_TEXT:
        raise BadInput(f"The panel action is too long: {len(text):,} characters; {MAX_TEXT:,} are the most.")
    name, values = split_action(text)
    schema = _schema(name)
    return _build(schema, _by_position(schema, values))


def read_object(entry: Mapping[str, object]) -> Action:
    """The action of ``{"name": …, fields…}``; raises BadInput."""
    name = entry.get("name")
    if not isinstance(name, str):
        raise BadInput('The panel action has no "name", such as "MEMORY_ADD".')
    schema = _schema(name)
    rest = {key: value for key, value in entry.items() if key != "name"}
    for container in _CONTAINERS:
        if len(rest) == 1 and isinstance(inner := rest.get(container), list | Mapping):
            return (
                read_fields(name, inner) if isinstance(inner, Mapping) else _build(schema, _by_position(schema, inner))
            )
    return read_fields(name, rest)


def read_command(name: str, fields: Mapping[str, object]) -> Action:
    """As `read_fields`, of commands too that are no panel actions; raises BadInput."""
    return _read_named(_schema(name, is_command=True), fields)


def read_fields(name: str, fields: Mapping[str, object]) -> Action:
    """The panel action of that name with these named values; raises BadInput."""
    return _read_named(_schema(name), fields)


def _read_named(schema: Schema, fields: Mapping[str, object]) -> Action:
    if len(fields) > MAX_KEYS:
        raise BadInput(f"{schema.name} has too many fields. Its form is {schema.form}")
    known = {field.name for field in schema.fields}
    named: dict[str, object] = {}
    for key, value in fields.items():
        plain = _CAMEL.sub("_", str(key)).strip().lower().replace("-", "_").replace(" ", "_")
        if plain not in known:
            raise BadInput(f'{schema.name} has no field "{one_line(str(key), 40)}". Its form is {schema.form}')
        if plain in named:
            raise BadInput(f"{schema.name}: {plain} is there twice; give it once.")
        named[plain] = value
    return _build(schema, named)


# --- one entry -----------------------------------------------------------------------------------------------------


def _schema(name: str, *, is_command: bool = False) -> Schema:
    plain = name.strip().upper().replace("-", "_").replace(" ", "_")[:100]
    offered = {schema.name: schema for schema in SCHEMAS.values() if schema.is_panel or is_command}
    if schema := offered.get(plain):
        return schema
    close = difflib.get_close_matches(plain, offered, n=1)
    mend = f"Did you mean {close[0]}?" if close else f"There are {', '.join(offered)}."
    raise BadInput(f'There is no panel action "{one_line(name.strip(), 40)}". {mend}')


def _by_position(schema: Schema, values: Sequence[object]) -> dict[str, object]:
    fields = schema.fields
    extra = [value for value in values[len(fields) :] if not _is_left_out(value)]
    if extra:
        raise BadInput(
            f"{schema.name} takes {len(fields)} field{'s' * (len(fields) > 1)}, but {len(values)} came: {schema.form} "
            "(a bar within a text is written \\|, which in JSON is \\\\|)"
        )
    return {field.name: value for field, value in zip(fields, values, strict=False)}


def _build(schema: Schema, named: Mapping[str, object]) -> Action:
    missing = [f.name for f in schema.fields if f.is_required and _is_left_out(named.get(f.name))]
    if missing:
        raise BadInput(f"{schema.name} needs {_listed(missing)}. Its form is {schema.form}")
    given = [field for field in schema.fields if not _is_left_out(named.get(field.name))]
    values = {field.attribute: _value(schema, field, named[field.name]) for field in given}
    if len(values) == 1 and schema.name == "CALENDAR_UPDATE":
        raise BadInput(f"CALENDAR_UPDATE changes nothing: give a field beside the id. Its form is {schema.form}")
    return schema.build(**values)


def _value(schema: Schema, field: Field, value: object) -> object:
    if field.may_clear and isinstance(value, str) and value.strip() == CLEARED.value:
        return CLEARED
    try:
        return read_value(field.kind, value, field.max_chars)
    except Unfit as unfit:
        raise BadInput(f"{schema.name}: {field.name} {unfit}.") from unfit


def _is_left_out(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
