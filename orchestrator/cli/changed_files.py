"""Changed files in a terminal: which ones, line by line where they are text, and what becomes of each when it is put
back. Prints nothing; what it gives is safe for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from orchestrator.cli.colors import Paint, Style
from orchestrator.core.text import one_line, terminal_safe

MOST_NAMED = 20
_MARKS: Mapping[str, tuple[str, Style]] = {"made": ("+", "green"), "changed": ("~", "yellow"), "deleted": ("-", "red")}
_SIGNS: Mapping[str, Style] = {"+": "green", "-": "red", "@": "blue"}
_BACK = {"made": "is deleted", "changed": "goes back to what it was", "deleted": "is there again"}


def count_files(count: int) -> str:
    """``1 file``, ``2,000 files``."""
    return f"{count:,} {'file' if count == 1 else 'files'}"


def list_changes(changes: Sequence[Mapping[str, Any]], total: int, paint: Paint) -> Iterator[str]:
    """A line for each, with how large it was and is."""
    for change in changes:
        mark, style = _MARKS[change["kind"]]
        yield f"{paint(mark, style)} {_name(change)}{_sizes(change)}"
    if total > len(changes):
        yield f"and {total - len(changes):,} more."


def show_lines(change: Mapping[str, Any], paint: Paint) -> Iterator[str]:
    """One file like a part of a unified diff."""
    mark, style = _MARKS[change["kind"]]
    yield paint(f"{mark} {_name(change)}", "bold", style)
    if change.get("lines") is None:
        yield f"  no text, or too long to compare{_sizes(change)}"
        return
    for line in change["lines"]:
        sign, text = line[:1], terminal_safe(line[1:]).replace("\n", "\\n")
        shown = text if sign == "@" else f"{sign}{text}"
        yield paint(shown, _SIGNS[sign]) if sign in _SIGNS else shown


def list_put_back(changes: Sequence[Mapping[str, Any]], total: int) -> Iterator[str]:
    """What becomes of the first ones when they are put back, ``old`` in the place of ``new``."""
    for change in changes[:MOST_NAMED]:
        old = change["old"]
        lost = old is not None and not old["kept"]
        yield f"  {_name(change)} {'stays as it is: what it was is not kept' if lost else _BACK[change['kind']]}"
    if total > len(changes[:MOST_NAMED]):
        yield f"  and {total - len(changes[:MOST_NAMED]):,} more"


def _name(change: Mapping[str, Any]) -> str:
    facts = change["new"] or change["old"] or {}
    ends = {"folder": "/", "link": " (link)"}
    return one_line(change["shown"], 500) + ends.get(str(facts.get("type")), "")


def _sizes(change: Mapping[str, Any]) -> str:
    sizes = [f"{facts['size']:,}" for facts in (change["old"], change["new"]) if facts and facts["type"] == "file"]
    return f"  ({' → '.join(sizes)} bytes)" if sizes else ""
