"""``orchestrator.operations.visits`` and ``recaps``: when people were away, and what agents did for them meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.capabilities.delivery import rows as delivery_rows
from orchestrator.core.models import CALENDAR, CubicleKey, Delivery, DeliveryStatus, TurnStatus
from orchestrator.llm import ledger_rows
from orchestrator.operations import recap_rows
from orchestrator.operations.recaps import Recaps
from orchestrator.operations.visits import GAP_S, Absence, Visits
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture

ALWAYS = Absence(0.0, 2e10)


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def ended(
    install: CoreFixture,
    key: CubicleKey = KEY,
    *,
    status: TurnStatus = TurnStatus.DONE,
    source: str = "dashboard",
    reply: str = "done",
    apps: str = "[]",
) -> int:
    """A turn that has its outcome."""
    turn = install.turns.submit(key, "go", source=source)
    install.turns.end_turn(key, turn.id, status, reply=reply)
    with install.store.writing() as db:
        db.execute("UPDATE turns SET apps = ? WHERE id = ?", (apps, turn.id))
    return turn.id


def delivered(install: CoreFixture, name: str, content: str, *, status: str = "sent", key: CubicleKey = KEY) -> None:
    """A file that left ``out/``."""
    new = Delivery(
        0, key, None, name.encode(), name, "document", "", content, 5, time.time(), "dashboard",
        DeliveryStatus(status), "", "",
    )  # fmt: skip
    with install.store.writing() as db:
        delivery_rows.insert_delivery(db, new)


def spent(install: CoreFixture, micro: int, user: int = 1) -> None:
    """A call to a model that was paid for."""
    with install.store.writing() as db:
        row = ledger_rows.insert_reservation(
            db, agent="crab", user=user, turn=None, day="2026-01-01", provider="fake", model="m", micro=0,
            budget_micro=10**9, now=1.0,
        )  # fmt: skip
        assert row is not None
        ledger_rows.close_reservation(
            db, row, "settled", cost_micro=micro, prompt_tokens=1, completion_tokens=1, now=time.time()
        )


def test_a_visit_lasts_and_another_begins_after_a_while(install: CoreFixture) -> None:
    """Coming back within half an hour changes nothing that is told; later it tells of the time since, also when the
    program was started anew in between."""
    now = 1_000_000.0
    visits = Visits(install.store, now=lambda: now)
    assert visits.find_absence(1) is None
    visits.mark_visit(1)
    assert visits.find_absence(1) is None
    for _ in range(3):
        now += GAP_S - 1
        visits.mark_visit(1)
    last, now = now, now + 9 * 3600
    visits = Visits(install.store, now=lambda: now)
    visits.mark_visit(1)
    away = Absence(last, now)
    assert visits.find_absence(1) == away
    now += 600
    visits.mark_visit(1)
    assert visits.find_absence(1) == away
    assert visits.find_absence(2) is None
    visits.mark_visit(999)  # nobody
    assert visits.find_absence(999) is None


def test_what_happened_is_summed_up_by_agent(install: CoreFixture) -> None:
    """Tasks, failures, apps and files, each file once; silent runs of the calendar, what was not sent, other people's
    and other agents' are no part of it."""
    install.agents.create({"name": "clerk"})
    clerk = CubicleKey("clerk", 1)
    ended(install, apps='["game", "to-do"]')
    last = ended(install, apps='["game"]')
    failed = ended(install, status=TurnStatus.FAILED, reply="")
    ended(install, source=CALENDAR, reply=" ")
    ended(install, status=TurnStatus.STOPPED)
    ended(install, OTHER)
    ended(install, clerk)
    delivered(install, "a.pdf", "1")
    delivered(install, "a.pdf", "2")
    delivered(install, "b.pdf", "3")
    delivered(install, "many", "4", status="withheld")
    delivered(install, "theirs.pdf", "5", key=OTHER)
    spent(install, 120_000)
    spent(install, 7, user=2)
    recaps = Recaps(install.store)
    recap = recaps.sum_up(1, ALWAYS, agents=["crab", "clerk"])
    crab, other = recap.agents
    assert (crab.agent, crab.done, crab.failed, crab.files, crab.apps) == ("crab", 2, 1, 2, ("game", "to-do"))
    assert (crab.last_done, crab.last_failed, other.agent, other.done) == (last, failed, "clerk", 1)
    assert (recap.spent_micro, recap.is_cut) == (120_000, False)
    assert [one.agent for one in recaps.sum_up(1, ALWAYS, agents=["clerk"]).agents] == ["clerk"]
    later = Absence(time.time() + 1, time.time() + 2)
    assert recaps.sum_up(1, later, agents=["crab", "clerk"]).agents == ()
    assert [made.name for made in recaps.list_made_apps(1)] == ["game", "to-do"]
    assert [one.name for one in recaps.list_files(1, limit=9)] == ["b.pdf", "a.pdf", "a.pdf"]
    first, second = recaps.list_files(1, limit=2)
    assert [one.id for one in recaps.list_files(1, limit=9, before=second.id)] == [first.id - 2]


def test_whom_a_person_wrote_to_last(install: CoreFixture) -> None:
    """Not what the calendar sent; and who never had anything done is new here."""
    install.agents.create({"name": "clerk"})
    recaps = Recaps(install.store)
    assert (recaps.last_agent(1), recaps.is_new_here(1)) == ("", True)
    ended(install, CubicleKey("clerk", 1))
    ended(install, source=CALENDAR)
    assert (recaps.last_agent(1), recaps.is_new_here(1), recaps.is_new_here(2)) == ("clerk", False, True)


def test_a_look_is_bounded(install: CoreFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much happened, only the newest of it is read, and that is said."""
    for _ in range(4):
        ended(install)
    monkeypatch.setattr(recap_rows, "MOST_TURNS", 3)
    recap = Recaps(install.store).sum_up(1, ALWAYS, agents=["crab"])
    assert (recap.agents[0].done, recap.is_cut) == (3, True)
