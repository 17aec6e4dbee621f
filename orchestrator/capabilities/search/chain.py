"""Asking the search engines one after the other, until one answers. One that is exhausted, away or wrongly set up is
passed over; one that asks to be left alone is, for as long as it says.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.capabilities.search.engine_keys import EngineSetup, SearchEngines, rules_of
from orchestrator.capabilities.search.engines import SearchQuery
from orchestrator.capabilities.search.results import SearchResult
from orchestrator.core.errors import BadInput, OrchestratorError, Stopped, Unavailable
from orchestrator.core.strict_json import read_object
from orchestrator.web.body import FetchLimits
from orchestrator.web.exchange import ServiceAnswer, send_request
from orchestrator.web.limits import Internet
from orchestrator.web.urls import parse_url

logger = logging.getLogger(__name__)

LIMITS = FetchLimits(file_bytes=2 << 20, total_s=20.0, connect_s=8.0, silence_s=15.0)
_NONE = (
    "No search engine is set up, so nothing was searched. The operator can add one in the dashboard: Settings, "
    "Web search."
)
_USUAL_REST_S = 60.0


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """What an engine found."""

    results: tuple[SearchResult, ...]
    engine: str
    """The engine's label."""


class SearchChain:
    """Who asks. Thread-safe."""

    def __init__(
        self, engines: SearchEngines, internet: Internet, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._engines, self._internet, self._now = engines, internet, now
        self._lock = threading.Lock()  # protects _rests
        self._rests: dict[str, float] = {}
        """Until when an engine is left alone."""

    def search(self, query: SearchQuery, *, is_stopped: Callable[[], bool] = lambda: False) -> EngineAnswer:
        """What the first engine that answers has found. Raises Unavailable when none is set up or none answers, with
        what each said, and Stopped."""
        setups = self._engines.list_setups()
        if not setups:
            raise Unavailable(_NONE)
        troubles = []
        for setup in setups:
            if self._is_resting(setup.engine.name):
                troubles.append(f"{setup.engine.label} asked to be left alone for a while.")
                continue
            try:
                return self.ask_engine(setup, query, is_stopped=is_stopped)
            except Stopped:
                raise
            except OrchestratorError as error:
                logger.info("search: %s: %s", setup.engine.name, error.message)
                troubles.append(error.message)
        raise Unavailable(f"Nothing was searched. {' '.join(troubles)}")

    def ask_engine(
        self, setup: EngineSetup, query: SearchQuery, *, is_stopped: Callable[[], bool] = lambda: False
    ) -> EngineAnswer:
        """Ask this one. Raises Unavailable and what ``send_request`` raises."""
        engine = setup.engine
        request, rules = engine.build(query, setup.key), rules_of(setup)
        answer = send_request(
            request.method,
            parse_url(f"{setup.base_url}{request.path}", rules),
            {"User-Agent": "HermitShell", **request.headers},
            request.body,
            rules=rules,
            internet=self._internet,
            limits=LIMITS,
            reads_body=True,
            is_stopped=is_stopped,
        )
        if answer.status != 200:
            if answer.status == 429:
                self._let_rest(engine.name, answer)
            raise Unavailable(_explain_status(setup, answer.status))
        try:
            results = engine.read(read_object(answer.body))
        except BadInput:
            raise Unavailable(f"{engine.label} sent an answer that can't be read.") from None
        return EngineAnswer(tuple(results[: query.count]), engine.label)

    def _is_resting(self, name: str) -> bool:
        with self._lock:
            return self._now() < self._rests.get(name, 0.0)

    def _let_rest(self, name: str, answer: ServiceAnswer) -> None:
        with self._lock:
            self._rests[name] = self._now() + (answer.retry_after_s or _USUAL_REST_S)


def _explain_status(setup: EngineSetup, status: int) -> str:
    label = setup.engine.label
    if status == 403 and setup.engine.is_own_server:
        return f"{label} answers in no form for programs: add json to search.formats in its settings.yml (status 403)."
    if status in (401, 403):
        return f"{label} refuses the key (status {status}). The operator can give another one."
    if status == 402:
        return f"{label} wants to be paid: its credit is used up (status 402)."
    if status == 429:
        return f"{label} was asked too often (status 429)."
    if status >= 500:
        return f"{label} has a problem of its own (status {status})."
    return f"{label} refused the search (status {status})."
