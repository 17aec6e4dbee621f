"""One run of the chaos suite: its plan is done to a real install, everything is healed, and when it is quiet the
evidence is looked at."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import docker

from tests.chaos.cases import TALK, Case, Cases
from tests.chaos.evidence import engine_after, gathered
from tests.chaos.faults import Breaker
from tests.chaos.install import Install, installed
from tests.chaos.invariants import INVARIANTS
from tests.chaos.people import People
from tests.chaos.plan import AGENTS, Deed, Plan, Size, make_plan
from tests.chaos.quiet import open_things, reading
from tests.chaos.record import Record
from tests.support.real_app import eventually

HEAL_S = 60.0
QUIET_S = 120.0
STILL_S = 1.5
"""It is quiet when nothing was open for so long."""
_DOWN = ("orchestrator killed", "orchestrator restarted")
_TICK_S = 0.05
_DECIDE_EVERY_S = 0.4


@dataclass
class Outcome:
    """What came of a run."""

    plan: Plan
    complaints: list[str]
    faults: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    did: list[str] = field(default_factory=list)
    diagnostics: str = ""

    def in_words(self) -> str:
        """Everything that somebody needs who wants to know what went wrong."""
        parts = [*self.complaints, "--- the plan", self.plan.in_words(), "--- what was done", *self.did]
        return "\n".join([*parts, self.diagnostics])


def run_seed(seed: int, size: Size, folder: Path, client: docker.DockerClient, *, restart_engine: str = "") -> Outcome:
    """A whole run."""
    began = time.monotonic()
    plan = make_plan(seed, size, restarts_engine=bool(restart_engine))
    last = [Case(f"case-last{n}", TALK, agent, "ada", "api") for n, agent in enumerate(AGENTS)]
    cases, record = Cases([*plan.cases, *last]), Record()
    outcome = Outcome(plan, [])
    with installed(folder, client, cases) as install:
        people, breaker = People(install, cases, record), Breaker(install, restart_engine)
        try:
            with _watched_ledger(install.database, record):
                Storm(install, people, breaker, record).blow(plan)
                outcome.complaints += _healed(install, people, breaker)
                outcome.complaints += _calmed(install, people, record, last)
            evidence = gathered(install, cases, record)
            install.down()
            evidence = replace(evidence, **engine_after(install))
            outcome.complaints += [
                f"{name}: {what}" for name, invariant in INVARIANTS.items() for what in invariant(evidence)
            ]
            outcome.counts = evidence.counts()
        except Exception as error:  # noqa: BLE001 - whatever broke, the seed and the list must be shown
            outcome.complaints.append(f"the run broke: {type(error).__name__}: {error}")
        if outcome.complaints:
            outcome.diagnostics = install.diagnostics()
    outcome.faults, outcome.did = record.faults, record.did
    outcome.seconds = time.monotonic() - began
    return outcome


class Storm:
    """Does a plan, deed by deed, each at its time."""

    def __init__(self, install: Install, people: People, breaker: Breaker, record: Record) -> None:
        self._install = install
        self._people = people
        self._breaker = breaker
        self._record = record
        self._began = 0.0
        self._pool = ThreadPoolExecutor(12, "chaos")
        self._deciding: Future[None] | None = None
        self._futures: list[Future[None]] = []
        self._begun: dict[Deed, threading.Event] = {}

    def blow(self, plan: Plan) -> None:
        """Returns when everything was done and whatever was begun has ended."""
        self._began = time.monotonic()
        self._begun.update((deed, threading.Event()) for deed in plan.deeds)
        todo: list[tuple[float, Callable[[], None]]] = [(deed.at_s, self._doing(deed)) for deed in plan.deeds]
        todo += [(deed.at_s + deed.for_s, self._ending(deed)) for deed in plan.deeds if deed.kind == "fault"]
        todo.sort(key=lambda one: one[0])
        decide_at = 0.0
        with self._pool:
            while todo:
                now = time.monotonic() - self._began
                while todo and todo[0][0] <= now:
                    self._futures.append(self._pool.submit(todo.pop(0)[1]))
                if now >= decide_at and (self._deciding is None or self._deciding.done()):
                    self._deciding = self._pool.submit(self._people.decide)
                    self._futures.append(self._deciding)
                    decide_at = now + _DECIDE_EVERY_S
                time.sleep(_TICK_S)
        for future in self._futures:
            future.result()

    def _doing(self, deed: Deed) -> Callable[[], None]:
        def do() -> None:
            if deed.kind != "fault":
                self._note(deed, "")
                self._people.do(deed)
                return
            try:
                happened = self._breaker.begin(deed)
            finally:
                self._begun[deed].set()
            self._note(deed, "" if happened else " (there was nothing to break)")
            if happened:
                self._record.note(lambda: self._record.faults.update([deed.what]))

        return do

    def _ending(self, deed: Deed) -> Callable[[], None]:
        def end() -> None:
            self._begun[deed].wait(HEAL_S)  # on a busy machine to break something may take longer than it is broken
            self._breaker.end(deed)
            if deed.what in _DOWN:
                with contextlib.suppress(AssertionError):  # it can't start while the engine is gone; healing starts it
                    self._install.up()

        return end

    def _note(self, deed: Deed, more: str) -> None:
        words = f"{time.monotonic() - self._began:6.2f} s  {deed.kind} {deed.what}{more}"
        self._record.note(lambda: self._record.did.append(words))


def _healed(install: Install, people: People, breaker: Breaker) -> list[str]:
    """Nothing is broken any more, and everybody has said what they wanted to say."""
    breaker.heal()
    deadline = time.monotonic() + HEAL_S
    why = ""
    while time.monotonic() < deadline:
        try:
            install.up()
            break
        except AssertionError as error:
            why = str(error)
            time.sleep(0.5)
    else:
        return [f"healing: it did not start again within {HEAL_S:.0f} s: {why}"]
    eventually(install.api.is_healthy, patience_s=HEAL_S)
    eventually(people.say_again, patience_s=HEAL_S)
    return []


def _calmed(install: Install, people: People, record: Record, last: list[Case]) -> list[str]:
    """Everything has come to its end; then everybody is asked once more, and all messages are sent again."""
    complaints = _quiet(install, people)
    install.api.patch("/agents/miser", {"daily_budget_usd": 1000})
    for case in last:
        people.say(case)
    complaints += _quiet(install, people)
    return complaints + [f"repeating: {what}" for what in people.repeat_all()]


def _quiet(install: Install, people: People) -> list[str]:
    deadline = time.monotonic() + QUIET_S
    still_since: float | None = None
    found: dict[str, int] = {}
    while time.monotonic() < deadline:
        people.decide()
        found = open_things(install)
        now = time.monotonic()
        still_since = (still_since or now) if not found else None
        if still_since is not None and now - still_since >= STILL_S:
            return []
        time.sleep(0.1)
    return [f"quiet: after {QUIET_S:.0f} s there still is: {found}"]


@contextlib.contextmanager
def _watched_ledger(database: Path, record: Record) -> Iterator[None]:
    """What agents have spent is looked at all the time: it may only rise."""
    ending = threading.Event()
    thread = threading.Thread(target=_watch_ledger, args=(database, record, ending), name="chaos-ledger")
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def _watch_ledger(database: Path, record: Record, ending: threading.Event) -> None:
    highest: dict[tuple[str, str], tuple[int, int]] = {}
    while not ending.wait(0.1):
        with contextlib.suppress(sqlite3.Error), contextlib.closing(reading(database)) as db:
            for agent, day, micro, tokens in db.execute(
                "SELECT agent, day, cost_micro, cost_tokens FROM spending_days"
            ):
                before = highest.get((agent, day), (0, 0))
                if micro < before[0] or tokens < before[1]:
                    record.refunds.append(f"{agent} on {day}: from {before} to {(micro, tokens)}")
                highest[agent, day] = (micro, tokens)
