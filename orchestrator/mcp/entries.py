"""Entries of a server's lists, read one by one: a malformed one is left out with a sentence, the others stay. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.core.errors import BadInput
from orchestrator.mcp.models import McpPrompt, McpResource, McpResourceTemplate, McpTool

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_MAX_URI = 2_000
_MAX_LABEL = 500
MAX_SENTENCES = 50


class McpDropped:
    """What was left out of the lists, in sentences that hold no word of the server's."""

    def __init__(self) -> None:
        self._sentences: list[str] = []
        self._more = 0

    def add(self, sentence: str) -> None:
        """One more."""
        if len(self._sentences) < MAX_SENTENCES - 1:
            self._sentences.append(sentence)
        else:
            self._more += 1

    def listed(self) -> tuple[str, ...]:
        """The first, and how many more there were."""
        more = (f"{self._more:,} more were left out.",) if self._more else ()
        return (*self._sentences, *more)


class EntryList:
    """One list of the server's, as its pages come."""

    def __init__(
        self, noun: str, read: Callable[[Mapping[str, Any]], Any], dropped: McpDropped, max_entries: int, max_bytes: int
    ) -> None:
        self._noun, self._read, self._dropped = noun, read, dropped
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._found: dict[str, Any] = {}
        self._seen = 0

    @property
    def is_full(self) -> bool:
        """No more are taken."""
        return len(self._found) >= self._max_entries

    def take(self, entries: object) -> None:
        """One page."""
        if not isinstance(entries, list):
            self._dropped.add(f"A page of the {self._noun}s was left out: it is no list.")
            return
        for place, entry in enumerate(entries):
            if self.is_full:
                left = len(entries) - place
                self._dropped.add(f"{left:,} {self._noun}s were left out: no more than {self._max_entries} are taken.")
                return
            self._seen += 1
            try:
                self._take_one(entry)
            except BadInput as error:
                self._dropped.add(f"{self._noun.capitalize()} {self._seen} was left out: {error.message}")

    def _take_one(self, entry: object) -> None:
        if not isinstance(entry, dict):
            raise BadInput("it is no object.")
        if len(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()) > self._max_bytes:
            raise BadInput(f"it is larger than {self._max_bytes // 1024} KiB.")
        key, read = self._read(entry)
        if key in self._found:
            raise BadInput("another one before it has the same name.")
        self._found[key] = read

    def entries(self) -> tuple[Any, ...]:
        """What was taken, in the server's order."""
        return tuple(self._found.values())


def read_tool(wire: Mapping[str, Any]) -> tuple[str, McpTool]:
    """Its name and the tool. Raises BadInput."""
    name = _read_name(wire)
    if not isinstance(wire.get("inputSchema"), dict):
        raise BadInput("its inputSchema is no object.")
    return name, McpTool(name, wire)


def read_prompt(wire: Mapping[str, Any]) -> tuple[str, McpPrompt]:
    """Its name and the prompt. Raises BadInput."""
    name = _read_name(wire)
    return name, McpPrompt(name, wire)


def read_resource(wire: Mapping[str, Any]) -> tuple[str, McpResource]:
    """Its URI and the resource. Raises BadInput."""
    uri = _read_uri(wire, "uri")
    return uri, McpResource(uri, _read_label(wire), wire)


def read_template(wire: Mapping[str, Any]) -> tuple[str, McpResourceTemplate]:
    """Its pattern and the template. Raises BadInput."""
    uri = _read_uri(wire, "uriTemplate")
    return uri, McpResourceTemplate(uri, _read_label(wire), wire)


def _read_name(wire: Mapping[str, Any]) -> str:
    name = wire.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadInput("its name must be 1 to 128 characters of A-Z, a-z, 0-9, _, . and -.")
    return name


def _read_uri(wire: Mapping[str, Any], key: str) -> str:
    uri = wire.get(key)
    if not isinstance(uri, str) or not 0 < len(uri) <= _MAX_URI or not uri.isprintable():
        raise BadInput(f"its {key} must be a printable text of 1 to {_MAX_URI:,} characters.")
    return uri


def _read_label(wire: Mapping[str, Any]) -> str:
    name = wire.get("name")
    if not isinstance(name, str) or len(name) > _MAX_LABEL:
        raise BadInput(f"its name must be a text of at most {_MAX_LABEL} characters.")
    return name
