"""``/metrics``: what ends is counted once, what is open is seen, and a look costs no history."""

from __future__ import annotations

import re
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.core.models import CubicleKey
from orchestrator.operations import metrics_rows as tallies
from orchestrator.operations.metrics_rows import EndedCounts
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api

KEY = CubicleKey("crab", 1)
LEDGERS = (tallies.TURNS, tallies.CALLS, tallies.DELIVERIES, tallies.LETTERS, tallies.RUNS, tallies.APPROVALS)
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scraped(operator: Api) -> Samples:
    """Every sample, as Prometheus' own reader sees it."""
    answer = operator.client.get("/metrics", headers={"Authorization": f"Bearer {operator.token}"})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.get_data(as_text=True))
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def value(found: Samples, name: str, **labels: str) -> float:
    """One sample; 0 where there is none yet."""
    return found.get((name, tuple(sorted(labels.items()))), 0.0)


def test_operators_alone_read_them(webapp: AppFixture, member: Api, operator: Api) -> None:
    """A member is refused, nobody in particular is asked to log in, a wrong token is told so."""
    client = operator.client
    assert client.get("/metrics", headers={"Authorization": f"Bearer {member.token}"}).status_code == 403
    assert client.get("/metrics", headers={"Authorization": "Bearer hs_wrong"}).status_code == 401
    assert client.get("/metrics").status_code == 401
    assert value(scraped(operator), "hermit_turns_open", status="queued") == 0


def test_a_turn_and_its_calls_are_counted_once(webapp: AppFixture, operator: Api) -> None:
    """Open first, then in its outcome, however often somebody looks."""
    turn = webapp.services.turns.submit(KEY, "hello", source="api")
    before = scraped(operator)
    assert value(before, "hermit_turns_open", status="queued") == 1
    with webapp.app._store.writing() as db:
        db.execute("UPDATE turns SET status = 'done', started_at = created_at + 3, ended_at = created_at + 10")
        db.execute(
            "INSERT INTO spending (day, agent, user, turn, provider, model, state, reserved_micro, cost_micro, "
            "prompt_tokens, completion_tokens, started_at, ended_at) "
            "VALUES ('2026-01-01', 'crab', 1, ?, 'custom', 'm', 'settled', 0, 250000, 70, 30, 5.0, 7.0)",
            (turn.id,),
        )
    for _ in range(3):
        found = scraped(operator)
    by = {"agent": "crab", "provider": "custom"}
    assert value(found, "hermit_turns_total", agent="crab", source="api", outcome="done") == 1
    assert value(found, "hermit_turn_seconds_sum") == pytest.approx(7)
    assert value(found, "hermit_turn_queue_seconds_sum") == pytest.approx(3)
    assert value(found, "hermit_model_calls_total", **by, outcome="answered") == 1
    assert value(found, "hermit_model_call_seconds_sum", provider="custom", outcome="answered") == pytest.approx(2)
    assert value(found, "hermit_model_tokens_total", **by, direction="in") == 70
    assert value(found, "hermit_model_cost_usd_total", **by) == pytest.approx(0.25)
    assert value(found, "hermit_turns_open", status="queued") == 0


def test_what_parts_tell_is_there(webapp: AppFixture, operator: Api) -> None:
    """The door, Telegram, listeners, the disk, the process, the version."""
    metrics = webapp.services.metrics
    metrics.door_request("crab")
    metrics.channel_call("telegram", "flood")
    metrics.channel_updates("telegram", 3)
    webapp.services.cubicles.start(KEY)
    webapp.services.usage_samples.run_once()
    subscription = webapp.services.broker.subscribe()
    found = scraped(operator)
    webapp.services.broker.unsubscribe(subscription)
    assert value(found, "hermit_door_requests_total", agent="crab") == 1
    assert value(found, "hermit_telegram_calls_total", outcome="flood") == 1
    assert value(found, "hermit_telegram_updates_total") == 3
    assert value(found, "hermit_cubicles_running") == 1
    assert value(found, "hermit_event_streams") == 1
    assert value(found, "hermit_disk_free_bytes") > 0
    assert value(found, "process_resident_memory_bytes") > 0
    assert any(name == "hermit_build_info" for name, _ in found)


def test_no_label_holds_what_somebody_wrote(webapp: AppFixture, operator: Api) -> None:
    """Labels are of few kinds, and none of them is a text."""
    webapp.services.turns.submit(KEY, "a very secret prompt", source="api")
    text = operator.client.get("/metrics", headers={"Authorization": f"Bearer {operator.token}"}).get_data(as_text=True)
    assert "secret" not in text
    names = set(re.findall(r'[{,](\w+)="', text))
    assert names <= {"agent", "source", "outcome", "provider", "direction", "kind", "status", "le", "version"}


def test_approvals_that_come_late_are_counted_too(webapp: AppFixture) -> None:
    """Two that were asked at nearly the same time may be written in the other order; none is missed, none twice."""
    store = webapp.app._store

    def ask(name: str, at: float, status: str) -> None:
        with store.writing() as db:
            db.execute(
                "INSERT INTO approvals (id, agent, user, kind, text, sha256, reason, status, asked_at, expires_at) "
                "VALUES (?, 'crab', 1, 'command', 'x', 'x', 'x', ?, ?, ?)",
                (name, status, at, at + 60),
            )

    now = time.time()
    ask("before", now - 5, "denied")
    with store.reading() as db:
        look = EndedCounts(db, tallies.APPROVALS)
    ask("later", now + 1, "approved")
    with store.reading() as db:
        assert [row["id"] for row in look.count_ended(db)] == ["later"]
    ask("earlier", now + 0.5, "pending")
    with store.reading() as db:
        assert look.count_ended(db) == []
    with store.writing() as db:
        db.execute("UPDATE approvals SET status = 'denied' WHERE id = 'earlier'")
    with store.reading() as db:
        assert [row["id"] for row in look.count_ended(db)] == ["earlier"]
        assert look.count_ended(db) == []


def test_a_look_reads_no_history(webapp: AppFixture) -> None:
    """What is open, and what is new, are found by their indexes."""
    with webapp.app._store.reading() as db:
        for ledger in LEDGERS:
            look = EndedCounts(db, ledger)
            plans = db.execute(f"EXPLAIN QUERY PLAN {look._select()} WHERE {ledger.order} > 5 ORDER BY {ledger.order}")
            said = [str(row["detail"]) for row in plans]
            plans = db.execute(f"EXPLAIN QUERY PLAN {look._select()} WHERE {ledger.is_open}")
            said += [str(row["detail"]) for row in plans]
            assert not [line for line in said if line.startswith("SCAN") and "INDEX" not in line], (ledger.table, said)
