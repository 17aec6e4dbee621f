"""What a server says now beside what an operator has seen. Pure.

A pin holds the whole object as it was sent, in one notation: the order of keys and blanks between them don't count,
everything else does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.mcp.models import McpCatalog
from orchestrator.mcp_servers.models import Pin, PinKind, PinState, ToolDecision, hash_wire

Said = Mapping[tuple[PinKind, str], str]
"""What a server says: canonical JSON by kind and name."""


@dataclass(frozen=True, slots=True)
class PinChanges:
    """What there is to write down."""

    kept: tuple[Pin, ...]
    """As they are now."""
    dropped: tuple[Pin, ...]
    """Which nobody accepted, and the server no longer names."""
    news: tuple[Pin, ...]
    """Those of ``kept`` that an operator has to look at, and that were not so before."""


def canonical_json(wire: Any) -> str:
    """One notation for each value."""
    return json.dumps(wire, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def list_said(catalog: McpCatalog) -> Said:
    """All that is pinned. Resources are not: they are documents, which come and go."""
    said: dict[tuple[PinKind, str], str] = {}
    if catalog.hello.instructions:
        said["instructions", ""] = canonical_json(catalog.hello.instructions)
    said.update({("tool", tool.name): canonical_json(tool.wire) for tool in catalog.tools})
    said.update({("prompt", prompt.name): canonical_json(prompt.wire) for prompt in catalog.prompts})
    said.update({("template", one.uri_template): canonical_json(one.wire) for one in catalog.templates})
    return said


def compare(known: Iterable[Pin], said: Said, now: float) -> PinChanges:
    """What becomes of the pins that are known when the server says this."""
    kept, dropped, before = [], [], {(pin.kind, pin.name): pin for pin in known}
    for (kind, name), text in said.items():
        pin = before.get((kind, name))
        kept.append(_hear(pin, text, now) if pin else _make_new(kind, name, text, now))
    for where, pin in before.items():
        if where not in said:
            if pin.state is PinState.NEW:
                dropped.append(pin)
            else:
                kept.append(replace(pin, state=PinState.GONE, offered=""))
    news = tuple(pin for pin in kept if pin.is_waiting and pin != before.get((pin.kind, pin.name)))
    return PinChanges(tuple(kept), tuple(dropped), news)


def accept(pin: Pin, now: float) -> Pin | None:
    """The pin once an operator has seen what it holds; None when there is nothing left to hold. A tool that was called
    freely asks again: that was said of what it was before."""
    if pin.state is PinState.GONE:
        return None
    wire = pin.offered or pin.wire
    decision = pin.decision
    if pin.state is PinState.NEW or (pin.state is PinState.CHANGED and decision is ToolDecision.FREE):
        decision = ToolDecision.ASKS
    return replace(
        pin, wire=wire, sha256=hash_wire(wire), state=PinState.SEEN, decision=decision, seen_at=now, offered=""
    )


def uncheck(pin: Pin) -> Pin | None:
    """The pin once something else runs; None for one that nobody has seen."""
    return None if pin.state is PinState.NEW else replace(pin, state=PinState.UNCHECKED, offered="")


def _make_new(kind: PinKind, name: str, text: str, now: float) -> Pin:
    return Pin(kind, name, text, hash_wire(text), PinState.NEW, ToolDecision.OFF, now)


def _hear(pin: Pin, text: str, now: float) -> Pin:
    if pin.state is PinState.NEW:
        return pin if text == pin.wire else _make_new(pin.kind, pin.name, text, now)
    if hash_wire(text) == pin.sha256:
        return replace(pin, state=PinState.SEEN, offered="")
    return replace(pin, state=PinState.CHANGED, offered=text)
