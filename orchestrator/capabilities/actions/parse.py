"""From what a model wrote to an action, or to one sentence that names the field and how to fix it.

Both forms, ``NAME:field|field`` and an object, come down to named values and then through the action's fields, so they
mean the same and fail the same. Nothing is guessed: what is not an action in order is BadInput, and nothing else is
raised.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from crab.answer import split_action
from orchestrator.capabilities.actions.field_types import CLEARED, Unfit, read_value
from orchestrator.capabilities.actions.fields import Field
from orchestrator.capabilities.actions.json_schema import read_json
from orchestrator.capabilities.capability import Action, ActionRequest
from orchestrator.core.errors import BadInput
from orchestrator.core.text import one_line

MAX_TEXT = 20_000
"""A text form longer than this is not even taken apart."""
MAX_KEYS = 50
_CONTAINERS = ("fields", "arguments")
"""Some models put the fields of the object form into an object or a list of their own."""
Known = Mapping[str, Action]
"""The actions that there are, by name."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def read_action(entry: object, known: Known) -> ActionRequest:
    """What an entry of ``panelActions`` asks for; raises BadInput."""
    if isinstance(entry, str):
        return read_text(entry, known)
    if isinstance(entry, Mapping):
        return read_object(entry, known)
    raise BadInput('A panel action must be text such as "MEMORY_ADD:…", or an object with a "name".')


def read_text(text: str, known: Known) -> ActionRequest:
    """What ``NAME:field|field`` asks for; raises BadInput."""
    if len(text) > MAX_TEXT:
        raise BadInput(f"The panel action is too long: {len(text):,} characters; {MAX_TEXT:,} are the most.")
    name, values = split_action(text)
    action = _named(name, known)
    return _build(action, _by_position(action, values))


def read_object(entry: Mapping[str, object], known: Known) -> ActionRequest:
    """What ``{"name": …, fields…}`` asks for; raises BadInput."""
    name = entry.get("name")
    if not isinstance(name, str):
        raise BadInput('The panel action has no "name", such as "MEMORY_ADD".')
    action = _named(name, known)
    rest = {key: value for key, value in entry.items() if key != "name"}
    for container in _CONTAINERS:
        if len(rest) == 1 and isinstance(inner := rest.get(container), list | Mapping):
            return (
                _read_fields(action, inner)
                if isinstance(inner, Mapping)
                else _build(action, _by_position(action, inner))
            )
    return _read_fields(action, rest)


def read_command(name: str, fields: Mapping[str, object], known: Known) -> ActionRequest:
    """What a command asks for by named values, of actions too that no answer may hold; raises BadInput."""
    return _read_fields(_named(name, known, is_command=True), fields)


def _read_fields(action: Action, fields: Mapping[str, object]) -> ActionRequest:
    if len(fields) > MAX_KEYS:
        raise BadInput(f"{action.name} has too many fields. Its form is {action.form}")
    known = {_plain(field.name): field.name for field in action.fields}
    given: dict[str, object] = {}
    for key, value in fields.items():
        name = known.get(_plain(str(key)))
        if name is None:
            raise BadInput(f'{action.name} has no field "{one_line(str(key), 40)}". Its form is {action.form}')
        if name in given:
            raise BadInput(f"{action.name}: {name} is there twice; give it once.")
        given[name] = value
    return _build(action, given)


def _plain(key: str) -> str:
    return _CAMEL.sub("_", key).strip().lower().replace("-", "_").replace(" ", "_")


# --- one entry -----------------------------------------------------------------------------------------------------


def _named(name: str, known: Known, *, is_command: bool = False) -> Action:
    plain = name.strip().upper().replace("-", "_").replace(" ", "_")[:100]
    offered = {action.name: action for action in known.values() if action.is_panel or is_command}
    if action := offered.get(plain):
        return action
    close = difflib.get_close_matches(plain, offered, n=1)
    fix = f"Did you mean {close[0]}?" if close else f"There are {', '.join(offered)}."
    raise BadInput(f'There is no panel action "{one_line(name.strip(), 40)}". {fix}')


def _by_position(action: Action, values: Sequence[object]) -> dict[str, object]:
    fields = action.fields
    extra = [value for value in values[len(fields) :] if not _is_left_out(value)]
    if extra:
        raise BadInput(
            f"{action.name} takes {len(fields)} field{'s' * (len(fields) > 1)}, but {len(values)} came: {action.form} "
            "(a bar within a text is written \\|, which in JSON is \\\\|)"
        )
    return {field.name: value for field, value in zip(fields, values, strict=False)}


def _build(action: Action, named: Mapping[str, object]) -> ActionRequest:
    missing = [f.name for f in action.fields if f.is_required and _is_left_out(named.get(f.name))]
    if missing:
        raise BadInput(f"{action.name} needs {_listed(missing)}. Its form is {action.form}")
    given = [field for field in action.fields if not _is_left_out(named.get(field.name))]
    values = {field.attribute: _value(action, field, named[field.name]) for field in given}
    if len(values) == 1 and action.is_change:
        raise BadInput(f"{action.name} changes nothing: give a field beside the id. Its form is {action.form}")
    return ActionRequest(action, action.build(values))


def _value(action: Action, field: Field, value: object) -> object:
    if field.may_clear and isinstance(value, str) and value.strip() == CLEARED.value:
        return CLEARED
    try:
        return read_json(field.schema, value) if field.schema else read_value(field.kind, value, field.max_chars)
    except Unfit as unfit:
        raise BadInput(f"{action.name}: {field.name} {unfit}.") from unfit


def _is_left_out(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
