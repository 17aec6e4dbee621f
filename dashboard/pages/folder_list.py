"""A folder as a page shows it: in the order that is asked for, or what is found in it and below, a page at a time. What
is asked for is in the address, so it stays, and needs no script.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import request

from dashboard import bodies
from dashboard.languages import say, size, to_say
from dashboard.paths import decode_path, encode_path
from dashboard.services import get_services
from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.errors import BadInput
from orchestrator.core.models import CubicleKey
from orchestrator.files.finding import MOST_WORDS_CHARS, find_entries
from orchestrator.files.models import DirEntry
from orchestrator.files.names import display_path

PAGE = 100
MOST_SORTED = 10_000
"""A folder of more names is shown by name alone."""
Parts = tuple[bytes, ...]

FOLDERS = {
    b"work": to_say("Where it works: programs, notes and what it installed."),
    b"in": to_say("Files you gave it. It can read them but not change them."),
    b"out": to_say("What it makes for you. Files here are sent to you automatically."),
    b"www": to_say("Its web apps, one folder each."),
    b"data": to_say("What HermitShell lets it read: its calendar, memories and packages."),
}
"""The workspace's own five, in the order of a day's work."""
SORTS = {"name": to_say("Name"), "size": to_say("Size"), "when": to_say("Changed")}
"""By what a folder may be sorted, and how that is called."""
_FIRST = {"name": "name", "size": "-size", "when": "-when"}
"""How each is sorted when it is first asked for: the largest and the newest are looked for."""
_DIGITS = re.compile(r"(\d+)")
_MOST_DIGITS = 30


@dataclass(frozen=True, slots=True)
class FileView:
    """One name in a folder."""

    name: str
    path: str
    kind: str
    size: str
    modified: float
    hint: str
    """What one of the workspace's own folders is for."""
    may_go: bool
    """A person may delete it, and give it another name."""
    named: str
    """Its name within its folder, percent-encoded."""
    above: str
    """Where it lies, for what was found somewhere below."""
    is_new: bool
    """It came, or changed, since the person last looked here."""


@dataclass(frozen=True, slots=True)
class SortLink:
    """A way to sort that can be chosen."""

    name: str
    query: str
    is_on: bool
    is_down: bool
    """From the largest, or the newest, to the least."""


@dataclass(frozen=True, slots=True)
class FolderQuery:
    """What is asked of a folder."""

    sort: str
    find: str
    start: int
    """How many are passed over."""
    after: str
    """The name before the first one, in a folder that is too large to be sorted."""

    @property
    def by(self) -> str:
        """Name, size or time."""
        return self.sort.removeprefix("-")

    def write(self, changes: Mapping[str, str | int] | None = None) -> str:
        """The query that asks for this, and with changes for that; begins with ``?`` where there is one."""
        whole = {"sort": self.sort, "find": self.find, "from": self.start, "after": self.after, **(changes or {})}
        usual = {"sort": "name", "find": "", "from": 0, "after": ""}
        said = {name: value for name, value in whole.items() if value != usual[name]}
        return f"?{urlencode(said)}" if said else ""


def read_query() -> FolderQuery:
    """What the address asks for. Raises BadInput."""
    sort = request.args.get("sort", "name")
    if sort.removeprefix("-") not in SORTS:
        raise BadInput(f"sort: choose one of {', '.join(SORTS)}, with a - before it from the other end.")
    find = " ".join(request.args.get("find", "")[:MOST_WORDS_CHARS].split())
    return FolderQuery(sort, find, bodies.whole_arg("from") or 0, request.args.get("after", ""))


def list_view(key: CubicleKey, parts: Parts, *, since: float | None = None) -> dict[str, Any]:
    """A page of a folder, or of what was found, for its template; what changed after ``since`` is new."""
    asked = read_query()
    shown = _found(key, parts, asked) if asked.find else _listed(key, parts, asked, since)
    return {
        "path": encode_path(*parts),
        "folder": parts[0].decode() if len(parts) == 1 else "" if parts else "top",
        "is_data": parts[:1] == (b"data",),
        "may_make": bool(parts) and parts[0] in (b"work", b"out", b"www"),
        "is_history": bool(parts) and parts[0] not in (b"in", b"data"),
        "asked": asked,
        "query": asked.write(),
        "sorts": [_sort_link(asked, by) for by in SORTS],
        "back": asked.write({"from": 0, "after": ""}) if asked.start or asked.after else None,
        "next": None,
        "is_complete": True,
        "is_sorted": True,
        **shown,
    }


def sort_entries(entries: Sequence[DirEntry], sort: str) -> list[DirEntry]:
    """Folders first, then by ``sort``; names as people order them, numbers in them by what they count."""
    ordered = sorted(entries, key=lambda entry: _by_name(entry.name))
    if sort.removeprefix("-") == "size":
        ordered.sort(key=lambda entry: entry.size_bytes, reverse=sort.startswith("-"))
    elif sort.removeprefix("-") == "when":
        ordered.sort(key=lambda entry: entry.modified, reverse=sort.startswith("-"))
    elif sort == "-name":
        ordered.reverse()
    return sorted(ordered, key=lambda entry: entry.kind != "folder")


def view_entry(folder: Parts, entry: DirEntry, *, top: Parts | None = None, since: float | None = None) -> FileView:
    """For a template; ``top`` is where it was looked for, if it may lie deeper."""
    above = folder[len(top) :] if top is not None else ()
    return FileView(
        entry.name,
        encode_path(*folder, entry.raw),
        entry.kind,
        size(format_size(entry.size_bytes)) if entry.kind == "file" else "",
        entry.modified,
        say(FOLDERS[entry.raw]) if not folder else "",
        may_go=bool(folder) and folder[0] != b"data",
        named=encode_path(*above, entry.raw),
        above=display_path(*above),
        is_new=since is not None and entry.changed > since,
    )


def _listed(key: CubicleKey, parts: Parts, asked: FolderQuery, since: float | None) -> dict[str, Any]:
    workspaces = get_services().workspaces
    whole = workspaces.list_folder(key, parts, limit=MOST_SORTED)
    if whole.next is not None:
        return _listed_by_name(key, parts, asked, since)
    if not parts:
        entries = sorted(whole.entries, key=lambda entry: tuple(FOLDERS).index(entry.raw))
    else:
        entries = sort_entries(whole.entries, asked.sort)
    views = [view_entry(parts, entry, since=since) for entry in entries[asked.start : asked.start + PAGE]]
    return _cut(asked, views, len(entries))


def _listed_by_name(key: CubicleKey, parts: Parts, asked: FolderQuery, since: float | None) -> dict[str, Any]:
    after = decode_path(asked.after)
    if len(after) > 1:
        raise BadInput("after: send what the page before gave as next.")
    page = get_services().workspaces.list_folder(key, parts, after=after[0] if after else None, limit=PAGE)
    following = None if page.next is None else asked.write({"from": 0, "after": encode_path(page.next)})
    views = [view_entry(parts, one, since=since) for one in page.entries]
    return {"entries": views, "next": following, "is_sorted": False}


def _found(key: CubicleKey, parts: Parts, asked: FolderQuery) -> dict[str, Any]:
    found = find_entries(get_services().workspaces, key, parts, asked.find)
    places = {id(one.entry): one.folder for one in found.entries}
    entries = sort_entries([one.entry for one in found.entries], asked.sort)
    views = [view_entry(places[id(one)], one, top=parts) for one in entries[asked.start : asked.start + PAGE]]
    return {**_cut(asked, views, len(entries)), "is_complete": found.is_complete}


def _cut(asked: FolderQuery, views: list[FileView], count: int) -> dict[str, Any]:
    start = asked.start + PAGE
    return {"entries": views, "next": asked.write({"from": start}) if start < count else None, "count": count}


def _sort_link(asked: FolderQuery, by: str) -> SortLink:
    is_on = asked.by == by
    turned = asked.sort.removeprefix("-") if asked.sort.startswith("-") else f"-{asked.sort}"
    query = asked.write({"sort": turned if is_on else _FIRST[by], "from": 0, "after": ""})
    return SortLink(say(SORTS[by]), query, is_on, is_down=is_on and asked.sort.startswith("-"))


def _by_name(name: str) -> list[tuple[int, str]]:
    pieces = _DIGITS.split(name.casefold())
    return [
        (int(piece[:_MOST_DIGITS]), "") if n % 2 and piece[:_MOST_DIGITS].isdecimal() else (-1, piece)
        for n, piece in enumerate(pieces)
    ]
