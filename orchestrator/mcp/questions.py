"""Forms that a server wants a person to fill in. Its schema is read for ten plain fields and never evaluated; what asks
for a secret, or wants more than a form, is no question. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from orchestrator.core.errors import BadInput
from orchestrator.mcp.models import McpAnswer, McpField, McpFieldKind, McpQuestion

MAX_FIELDS = 10
MAX_OPTIONS = 100
_MESSAGE_CHARS = 2_000
_LABEL_CHARS = 300
_VALUE_CHARS = 4_000
_FORMATS = frozenset({"email", "uri", "date", "date-time"})
_KINDS: Mapping[str, McpFieldKind] = {"string": "text", "number": "number", "integer": "integer", "boolean": "yes_no"}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SECRETS = frozenset(
    {"password", "passwords", "passwd", "passphrase", "passcode", "pwd", "secret", "secrets", "token", "pin", "otp"}
    | {"cvv", "cvc", "credential", "credentials"}
)
_SECRET_PAIRS = frozenset(
    {("api", "key"), ("private", "key"), ("access", "key"), ("card", "number"), ("secret", "key")}
)


def read_question(params: object) -> McpQuestion:
    """The question in the parameters of ``elicitation/create``.

    Raises:
        BadInput: it is none that a person is asked: another mode than a form, more than 10 fields, a field of another
            kind, a field that asks for a secret.
    """
    wire = params if isinstance(params, dict) else {}
    if wire.get("mode", "form") != "form":
        raise BadInput("Only forms are shown to a person; this asks to open a page.")
    schema = wire.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        raise BadInput("The form has no fields: requestedSchema.properties must be an object.")
    if len(properties) > MAX_FIELDS:
        raise BadInput(f"The form has more than {MAX_FIELDS} fields.")
    required = schema.get("required")
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    fields = tuple(_read_field(name, value, name in needed) for name, value in properties.items())
    message = wire.get("message")
    return McpQuestion(message[:_MESSAGE_CHARS] if isinstance(message, str) else "", fields)


def write_answer(question: McpQuestion, answer: McpAnswer) -> dict[str, Any]:
    """The answer as the server is told it: of an accepted form the fields that were asked for, and no others.

    Raises:
        BadInput: a value is none that the field can have; the message names the field.
    """
    if answer.action != "accept":
        return {"action": answer.action}
    content = {}
    for one in question.fields:
        if one.name in answer.content:
            content[one.name] = _check_value(one, answer.content[one.name])
        elif one.required:
            raise BadInput(f"{one.name}: an answer is needed.")
    return {"action": "accept", "content": content}


def _read_field(name: str, wire: object, required: bool) -> McpField:  # noqa: FBT001 - of one caller
    if not isinstance(wire, dict) or not 0 < len(name) <= _LABEL_CHARS:
        raise BadInput("A field of the form is no object.")
    title, description = _label(wire, "title"), _label(wire, "description", _MESSAGE_CHARS)
    if wire.get("format") == "password" or any(_asks_for_a_secret(text) for text in (name, title, description)):
        raise BadInput("The form asks for a password or another secret, which servers may not.")
    kind, options = _kind_of(wire)
    text_format = wire.get("format")
    least, most = ("minLength", "maxLength") if kind == "text" else ("minimum", "maximum")
    least, most = ("minItems", "maxItems") if kind == "choices" else (least, most)
    found = McpField(
        name,
        title,
        description,
        kind,
        required,
        options,
        text_format=text_format if isinstance(text_format, str) and text_format in _FORMATS else "",
        least=_number(wire.get(least)),
        most=_number(wire.get(most)),
    )
    return _with_default(found, wire.get("default"))


def _with_default(one: McpField, default: object) -> McpField:
    if default is None:
        return one
    try:
        value = _check_value(one, default)
    except BadInput:
        return one  # a default that doesn't fit is none
    kept = tuple(value) if isinstance(value, list) else value
    return McpField(
        one.name,
        one.title,
        one.description,
        one.kind,
        one.required,
        one.options,
        kept,
        one.text_format,
        one.least,
        one.most,
    )


def _kind_of(wire: Mapping[str, Any]) -> tuple[McpFieldKind, tuple[tuple[str, str], ...]]:
    if wire.get("type") == "array":
        items = wire.get("items")
        if isinstance(items, dict) and (options := _options_of(items)):
            return "choices", options
    elif wire.get("type") == "string" and (options := _options_of(wire)):
        return "choice", options
    kind = _KINDS.get(str(wire.get("type")))
    if kind is None:
        raise BadInput("A field of the form is of a kind that can't be asked for.")
    return kind, ()


def _options_of(wire: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Each value with what is shown for it."""
    listed = wire.get("enum")
    if isinstance(listed, list):
        names = wire.get("enumNames")
        shown = names if isinstance(names, list) and len(names) == len(listed) else listed
        pairs: list[tuple[Any, Any]] = list(zip(listed, shown, strict=True))
    else:
        either = wire.get("oneOf", wire.get("anyOf"))
        entries = either if isinstance(either, list) else []
        pairs = [
            (entry.get("const"), entry.get("title", entry.get("const"))) for entry in entries if isinstance(entry, dict)
        ]
    if len(pairs) > MAX_OPTIONS or not all(
        isinstance(part, str) and len(part) <= _LABEL_CHARS for pair in pairs for part in pair
    ):
        raise BadInput(f"A choice of the form has other options than {MAX_OPTIONS} short texts.")
    return tuple(pairs)


def _check_value(one: McpField, value: Any) -> Any:
    values = {option for option, _ in one.options}
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = {
        "text": isinstance(value, str) and len(value) <= _VALUE_CHARS and _is_within(one, len(value)),
        "number": is_number and _is_within(one, value),
        "integer": is_number and float(value).is_integer() and _is_within(one, value),
        "yes_no": isinstance(value, bool),
        "choice": isinstance(value, str) and value in values,
        "choices": isinstance(value, (list, tuple))
        and len(value) <= MAX_OPTIONS
        and all(isinstance(part, str) and part in values for part in value)
        and _is_within(one, len(value)),
    }[one.kind]
    if not fits:
        raise BadInput(f"{one.name}: this value can't be taken. Look at what the field asks for.")
    return list(value) if isinstance(value, tuple) else value


def _is_within(one: McpField, size: Any) -> bool:
    return (one.least is None or size >= one.least) and (one.most is None or size <= one.most)


def _asks_for_a_secret(text: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(text)]
    return not _SECRETS.isdisjoint(words) or not _SECRET_PAIRS.isdisjoint(pairwise(words))


def _label(wire: Mapping[str, Any], key: str, chars: int = _LABEL_CHARS) -> str:
    value = wire.get(key)
    return value[:chars] if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
