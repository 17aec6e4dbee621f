"""Searches: an agent asks, a job asks the search engines, and the call ends with what they found. The words are an exit
out of the cubicle, so they are bounded, counted, and written down with where they went.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from orchestrator.approvals import source_rows
from orchestrator.approvals.source_rows import NewSource, SourceKind
from orchestrator.capabilities import call_rows
from orchestrator.capabilities.arrivals import record_arrivals
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.search.capability import MOST_CHARS, SEARCH, WebSearch
from orchestrator.capabilities.search.chain import SearchChain
from orchestrator.capabilities.search.engines import MOST_RESULTS, SearchQuery
from orchestrator.capabilities.search.results import SearchResult, write_results
from orchestrator.core.errors import BadInput, TooMany
from orchestrator.core.text import in_quotes
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, JobReport, Running
from orchestrator.jobs.pool import Jobs, job_reference
from orchestrator.jobs.rows import Job
from orchestrator.web.urls import Link, parse_url

KIND = "search"
MOST_OPEN = 5
_TIME_S = 120.0
_MOST_BYTES = 1_200
"""As the words are sent in an address, where a letter beyond ASCII takes several bytes."""


class Searches:
    """Every search that an agent asked for."""

    def __init__(self, *, jobs: Jobs, chain: SearchChain) -> None:
        self._jobs, self._chain = jobs, chain
        jobs.add_kind(
            JobKind(
                KIND,
                self._run_job,
                _TIME_S,
                report=_report,
                broke="Something went wrong on the host; its log says what. Search again.",
                at_once=4,
                per_cubicle=2,
            )
        )

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {SEARCH.name: self._request_search}

    def _request_search(self, db: sqlite3.Connection, caller: Caller, asked: WebSearch) -> Outcome:
        if not 1 <= asked.count <= MOST_RESULTS:
            raise BadInput(f"SEARCH: count: ask for 1 to {MOST_RESULTS} results.")
        if len(asked.words.encode()) > _MOST_BYTES:
            raise BadInput(f"SEARCH: words: write fewer of them, at most {MOST_CHARS} letters.")
        if len(rows.list_open_jobs(db, KIND, caller.key)) >= MOST_OPEN:
            raise TooMany(f"{MOST_OPEN} searches are under way already. Search again when one of them has ended.")
        job = self._jobs.submit(db, KIND, caller.key, caller.turn, {"words": asked.words, "count": asked.count})
        said = f"Searching for {in_quotes(asked.words, MOST_CHARS)}."
        return Outcome(said, {"search": int(job.name)}, waits_for=job_reference(KIND, job.name))

    def _run_job(self, running: Running) -> dict[str, Any]:
        words, count = running.job.payload["words"], running.job.payload["count"]
        found = self._chain.search(SearchQuery(words, count), is_stopped=lambda: not running.is_wanted())
        results = [[one.title, one.url, one.snippet, one.date] for one in found.results]
        return {"engine": found.engine, "results": results}


def _report(db: sqlite3.Connection, job: Job) -> JobReport:
    words = job.payload["words"]
    if job.error:
        said = f"The search for {in_quotes(words, MOST_CHARS)} failed. {job.error}"
        return JobReport(job.error, {"code": "failed"}, audit="search.failed", said=said, detail={"words": words})
    engine, results = job.result.get("engine", ""), [SearchResult(*row) for row in job.result.get("results", [])]
    if results:
        _note_arrival(db, job, engine, results)
    told = [{"title": one.title, "url": one.url, "snippet": one.snippet, "date": one.date} for one in results]
    return JobReport(
        write_results(results, words, engine),
        {"engine": engine, "results": told},
        audit="search.done",
        said=f"{engine} was asked for {in_quotes(words, MOST_CHARS)} and found {len(results)}.",
        detail={"words": words, "engine": engine, "results": len(results)},
    )


def _note_arrival(db: sqlite3.Connection, job: Job, engine: str, results: Sequence[SearchResult]) -> None:
    """Whoever wrote what was found is heard from now on; its addresses are none of the agent's own making."""
    links = [link for link in map(_read_link, (one.url for one in results)) if link is not None]
    hosts = ", ".join(dict.fromkeys(link.host for link in links))
    reference, now = job_reference(KIND, job.name), job.ended or job.created
    turns = {job.turn, *call_rows.list_waiting_turns(db, reference)}
    new = NewSource(SourceKind.SEARCH, engine, hosts, reference)
    record_arrivals(db, job.cubicle, turns, [new], now=now)
    for turn in turns:
        source_rows.add_links(db, turn, [link.url for link in links])


def _read_link(url: str) -> Link | None:
    try:
        return parse_url(url)
    except BadInput:
        return None
