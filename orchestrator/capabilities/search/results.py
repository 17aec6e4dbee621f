"""What a search engine finds: a title, an address, a few words around what was looked for, perhaps a date. All of it is
a stranger's text, so markup goes and each stays on one line. Pure.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.core.errors import BadInput
from orchestrator.core.text import one_line
from orchestrator.web.urls import UrlRules, parse_url

_TITLE_CHARS, _SNIPPET_CHARS, _DATE_CHARS = 200, 400, 40
_TAG = re.compile(r"<[^<>]{0,200}>")
_SPACES = re.compile(r"\s+")
_SHOWN = UrlRules(plain_http=True)
"""Addresses that are only told: they are judged again before anything is fetched."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One page that was found."""

    title: str
    url: str
    snippet: str
    date: str
    """As the engine wrote it; empty where it said none."""


def read_results(rows: Iterable[Any], title: str, url: str, snippet: str, date: str = "") -> list[SearchResult]:
    """Those of an engine's ``rows`` that are results; the others say in which fields it writes what."""
    found = []
    for row in rows:
        if not isinstance(row, dict):
            continue
        address = _read_address(row.get(url))
        if address:
            told = [_plain(row.get(name), most) for name, most in ((snippet, _SNIPPET_CHARS), (date, _DATE_CHARS))]
            found.append(SearchResult(_plain(row.get(title), _TITLE_CHARS) or address, address, *told))
    return found


def write_results(results: Sequence[SearchResult], words: str, engine: str) -> str:
    """What the agent reads: strangers' words, marked as such by where they stand."""
    if not results:
        return f"{engine} found nothing for “{one_line(words, 400)}”. Try other words."
    lines = [f"{len(results)} {'result' if len(results) == 1 else 'results'} from {engine}:"]
    for number, one in enumerate(results, start=1):
        lines += [f"{number}. {one.title}{f' ({one.date})' if one.date else ''}", f"   {one.url}"]
        lines += [f"   {one.snippet}"] if one.snippet else []
    return "\n".join(lines)


def _read_address(value: object) -> str:
    try:
        return parse_url(value.strip(), _SHOWN).url if isinstance(value, str) else ""
    except BadInput:
        return ""


def _plain(value: object, most: int) -> str:
    """Without markup, on one line. Some engines write a list of pieces."""
    if isinstance(value, list):
        value = " … ".join(piece for piece in value[:3] if isinstance(piece, str))
    if not isinstance(value, str):
        return ""
    cut = value[: most * 4]
    return one_line(_SPACES.sub(" ", html.unescape(_TAG.sub("", cut))).strip(), most)
