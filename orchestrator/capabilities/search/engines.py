"""The table of search engines: how each is asked, and where its answer has what. Adding one is a row here. Pure.

Shapes as their makers document them: https://docs.searxng.org/dev/search_api.html, https://api.search.brave.com,
https://docs.tavily.com, https://docs.exa.ai, https://serper.dev, https://help.kagi.com/kagi/api, https://jina.ai/reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlencode

from orchestrator.capabilities.search.results import SearchResult, read_results
from orchestrator.languages.told import to_say

MOST_RESULTS = 20


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What is looked for."""

    words: str
    count: int
    """So many results are wanted, 1 to 20."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """How an engine is asked for it."""

    method: Literal["GET", "POST"]
    path: str
    """Below the engine's address, with its query."""
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """One that we know."""

    name: str
    label: str
    setting: str
    """Of the environment or ``hermit.env``: its key; for one's own server its address."""
    base_url: str
    """Where it answers; empty for one's own server."""
    key_from: str
    """Where people get a key; empty where it needs none."""
    build: Callable[[SearchQuery, str], SearchRequest] = field(repr=False)
    """The request for a query, with a key."""
    read: Callable[[Mapping[str, Any]], list[SearchResult]] = field(repr=False)

    @property
    def is_own_server(self) -> bool:
        """It is asked at an address of the operator's, without a key."""
        return not self.base_url


def _rows(document: Mapping[str, Any], *path: str) -> list[Any]:
    """The list at the end of these fields; empty where there is none."""
    at: Any = document
    for name in path:
        at = at.get(name) if isinstance(at, dict) else None
    return at if isinstance(at, list) else []


def _get(path: str, query: Mapping[str, object], headers: Mapping[str, str]) -> SearchRequest:
    asked = f"{path}?{urlencode(query, quote_via=quote)}"
    return SearchRequest("GET", asked, {"Accept": "application/json", **headers})


def _post(path: str, body: Mapping[str, object], headers: Mapping[str, str]) -> SearchRequest:
    fixed = {"Accept": "application/json", "Content-Type": "application/json"}
    return SearchRequest("POST", path, {**fixed, **headers}, json.dumps(body).encode())


ENGINES: tuple[SearchEngine, ...] = (
    SearchEngine(
        "searxng",
        to_say("SearXNG (your own server)"),
        "HERMIT_SEARXNG_URL",
        "",
        "",
        lambda query, _: _get("/search", {"q": query.words, "format": "json"}, {"X-Forwarded-For": "127.0.0.1"}),
        lambda said: read_results(_rows(said, "results"), "title", "url", "content", "publishedDate"),
    ),
    SearchEngine(
        "brave",
        "Brave Search",
        "BRAVE_SEARCH_API_KEY",
        "https://api.search.brave.com",
        "api-dashboard.search.brave.com",
        lambda query, key: _get(
            "/res/v1/web/search",
            {"q": query.words, "count": query.count, "text_decorations": "false"},
            {"X-Subscription-Token": key},
        ),
        lambda said: read_results(_rows(said, "web", "results"), "title", "url", "description", "age"),
    ),
    SearchEngine(
        "tavily",
        "Tavily",
        "TAVILY_API_KEY",
        "https://api.tavily.com",
        "app.tavily.com",
        lambda query, key: _post(
            "/search", {"query": query.words, "max_results": query.count}, {"Authorization": f"Bearer {key}"}
        ),
        lambda said: read_results(_rows(said, "results"), "title", "url", "content", "published_date"),
    ),
    SearchEngine(
        "exa",
        "Exa",
        "EXA_API_KEY",
        "https://api.exa.ai",
        "dashboard.exa.ai/api-keys",
        lambda query, key: _post(
            "/search",
            {"query": query.words, "numResults": query.count, "contents": {"highlights": True}},
            {"x-api-key": key},
        ),
        lambda said: read_results(_rows(said, "results"), "title", "url", "highlights", "publishedDate"),
    ),
    SearchEngine(
        "serper",
        "Serper (Google)",
        "SERPER_API_KEY",
        "https://google.serper.dev",
        "serper.dev/api-keys",
        lambda query, key: _post("/search", {"q": query.words, "num": query.count}, {"X-API-KEY": key}),
        lambda said: read_results(_rows(said, "organic"), "title", "link", "snippet", "date"),
    ),
    SearchEngine(
        "kagi",
        "Kagi",
        "KAGI_API_KEY",
        "https://kagi.com",
        "kagi.com/settings/api",
        lambda query, key: _get(
            "/api/v0/search", {"q": query.words, "limit": query.count}, {"Authorization": f"Bot {key}"}
        ),
        lambda said: read_results(_rows(said, "data"), "title", "url", "snippet", "published"),
    ),
    SearchEngine(
        "jina",
        "Jina",
        "JINA_API_KEY",
        "https://s.jina.ai",
        "jina.ai/api-dashboard",
        lambda query, key: _get(
            "/", {"q": query.words}, {"Authorization": f"Bearer {key}", "X-Respond-With": "no-content"}
        ),
        lambda said: read_results(_rows(said, "data"), "title", "url", "description", "date"),
    ),
)
