"""Every search engine of the table, as its maker documents it: what is sent, and what is read of the answer."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from orchestrator.capabilities.search.engines import ENGINES, SearchQuery
from orchestrator.capabilities.search.results import SearchResult, write_results
from orchestrator.core.config import SEARCH_SETTINGS

BY_NAME = {engine.name: engine for engine in ENGINES}
WORDS = "größe & höhe"
PAGE = "https://example.com/a?b=1"
FOUND = SearchResult("A title", PAGE, "Some words.", "2026-01-02")
ANSWERS: dict[str, dict[str, Any]] = {
    "searxng": {
        "results": [{"title": "A title", "url": PAGE, "content": "Some words.", "publishedDate": "2026-01-02"}],
        "unresponsive_engines": [["google", "timeout"]],
    },
    "brave": {
        "web": {
            "results": [
                {"title": "A <strong>title</strong>", "url": PAGE, "description": "Some words.", "age": "2026-01-02"}
            ]
        }
    },
    "tavily": {
        "results": [{"title": "A title", "url": PAGE, "content": "Some words.", "published_date": "2026-01-02"}]
    },
    "exa": {
        "results": [{"title": "A title", "url": PAGE, "highlights": ["Some words."], "publishedDate": "2026-01-02"}]
    },
    "serper": {"organic": [{"title": "A title", "link": PAGE, "snippet": "Some words.", "date": "2026-01-02"}]},
    "kagi": {
        "data": [
            {"t": 0, "title": "A title", "url": PAGE, "snippet": "Some words.", "published": "2026-01-02"},
            {"t": 1, "list": ["related"]},
        ]
    },
    "jina": {"data": [{"title": "A title", "url": PAGE, "description": "Some words.", "date": "2026-01-02"}]},
}
KEY_HEADERS = {
    "brave": ("X-Subscription-Token", "k"),
    "tavily": ("Authorization", "Bearer k"),
    "exa": ("x-api-key", "k"),
    "serper": ("X-API-KEY", "k"),
    "kagi": ("Authorization", "Bot k"),
    "jina": ("Authorization", "Bearer k"),
}


def test_each_engine_has_its_setting() -> None:
    """In the order in which they are asked."""
    assert tuple(engine.setting for engine in ENGINES) == SEARCH_SETTINGS
    assert ANSWERS.keys() == BY_NAME.keys()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read(name: str) -> None:
    """Title, address, words and date from where the engine writes them; rows that are none are left out."""
    assert BY_NAME[name].read(ANSWERS[name]) == [FOUND]
    odd_ones: list[dict[str, Any]] = [
        {},
        {"results": 5},
        {"results": [5, {}]},
        {"web": []},
        {"data": {"search": None}},
        {"organic": ["x"]},
    ]
    for odd in odd_ones:
        assert BY_NAME[name].read(odd) == []


@pytest.mark.parametrize("name", ANSWERS)
def test_the_words_are_sent_whole(name: str) -> None:
    """In the address or in the body, and the key in its header alone."""
    request = BY_NAME[name].build(SearchQuery(WORDS, 3), "k")
    if request.method == "GET":
        assert request.body is None
        assert parse_qs(urlsplit(request.path).query)["q"] == [WORDS]
    else:
        assert WORDS in json.loads(request.body or b"").values()
    if name in KEY_HEADERS:
        header, value = KEY_HEADERS[name]
        assert request.headers[header] == value
    assert ["k"] not in parse_qs(urlsplit(request.path).query).values()


def test_what_strangers_wrote_stays_text_on_one_line() -> None:
    """No markup, no line of its own, no control character, nothing endless; addresses are addresses."""
    row = {
        "title": "<b>Bad</b>\n\n1. ok\x1b[2J &amp; <script>alert(1)</script>" + "x" * 5_000,
        "url": PAGE,
        "content": ["one\u202e", "two", 3, "four", "five"],
        "publishedDate": {"a": 1},
    }
    others = [
        {"title": "a", "url": "javascript:alert(1)"},
        {"title": "b", "url": "https://a b/"},
        {"title": "c", "url": 7},
        {"title": "", "url": "http://example.com/plain"},
    ]
    first, last = BY_NAME["searxng"].read({"results": [row, *others]})
    assert first.title.startswith("Bad 1. ok")
    assert len(first.title) <= 201
    assert not set("\n<>\x1b") & set(first.title)
    assert first.snippet == "one\\u202e … two"
    assert first.date == ""
    assert last == SearchResult("http://example.com/plain", "http://example.com/plain", "", "")
    text = write_results([first, last], "words", "SearXNG")
    assert text.splitlines()[0] == "2 results from SearXNG:"
    assert len(text.splitlines()) == 6


def test_nothing_found_is_said() -> None:
    """With the words, and what to do."""
    assert write_results([], "no such\nthing", "Kagi") == "Kagi found nothing for “no such\\nthing”. Try other words."
