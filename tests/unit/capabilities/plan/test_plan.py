"""``hermit plan``: a list that is changed item by item, kept with its turn, and told to whoever watches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.plan.capability import CAPABILITY
from orchestrator.capabilities.plan.deeds import PlanDeeds
from orchestrator.core.errors import BadInput, Conflict, NotFound, OrchestratorError, TooMany
from orchestrator.turns.plans import MOST_ITEMS, Plans
from tests.support.core_fixture import KEY, CoreFixture, core_fixture

ACTIONS = {action.name: action for action in CAPABILITY.actions}


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


class Planner:
    """An agent in a turn."""

    def __init__(self, install: CoreFixture) -> None:
        self.install = install
        self.plans = Plans(install.store, install.broker)
        self._deeds = PlanDeeds(self.plans).deeds
        self.turn: int | None = install.turns.submit(KEY, "work", source="test").id

    def ask(self, name: str, **given: Any) -> str:
        """What is printed."""
        with self.install.store.writing() as db:
            return self._deeds[name](db, Caller(KEY, self.turn), ACTIONS[name].build(given)).text


@pytest.fixture
def planner(install: CoreFixture) -> Planner:
    """The one of the tests."""
    return Planner(install)


def test_items_are_changed_one_by_one(planner: Planner) -> None:
    """Nothing is lost by it, and the numbers are always those of the list."""
    assert planner.ask("PLAN_SHOW") == "There is no plan."
    assert planner.ask("PLAN", items=("Read", "Draw", "Write")) == "1. [ ] Read\n2. [ ] Draw\n3. [ ] Write"
    assert planner.ask("PLAN_DONE", id=1) == planner.ask("PLAN_DONE", id=1)
    assert planner.ask("PLAN_NOTE", id=2, text="in blue").splitlines()[1] == "2. [ ] Draw (in blue)"
    assert planner.ask("PLAN_ADD", text="Send").splitlines()[-1] == "4. [ ] Send"
    assert planner.ask("PLAN_DROP", id=3) == "1. [x] Read\n2. [ ] Draw (in blue)\n3. [ ] Send"


def test_setting_it_again_keeps_what_is_the_same(planner: Planner) -> None:
    """A model that writes its list once more does not undo what it has done."""
    planner.ask("PLAN", items=("Read", "Draw"))
    planner.ask("PLAN_DONE", id=1)
    assert planner.ask("PLAN", items=("Look", "Read", "Draw")) == "1. [ ] Look\n2. [x] Read\n3. [ ] Draw"


@pytest.mark.parametrize(
    ("name", "given", "error"),
    [
        ("PLAN_DONE", {"id": 3}, NotFound),
        ("PLAN_NOTE", {"id": 9, "text": "x"}, NotFound),
        ("PLAN_DROP", {"id": 9}, NotFound),
        ("PLAN_ADD", {"text": "Read"}, BadInput),
        ("PLAN", {"items": tuple(map(str, range(MOST_ITEMS + 1)))}, TooMany),
    ],
)
def test_what_can_not_be_changes_nothing(
    planner: Planner, name: str, given: dict[str, Any], error: type[OrchestratorError]
) -> None:
    """And says why."""
    before = planner.ask("PLAN", items=("Read", "Draw"))
    with pytest.raises(error):
        planner.ask(name, **given)
    assert planner.ask("PLAN_SHOW") == before


def test_a_full_plan_takes_no_more(planner: Planner) -> None:
    """Until something of it is dropped."""
    planner.ask("PLAN", items=tuple(map(str, range(MOST_ITEMS))))
    with pytest.raises(TooMany):
        planner.ask("PLAN_ADD", text="one more")


def test_a_plan_is_of_a_turn(install: CoreFixture, planner: Planner) -> None:
    """Each turn has its own, none outlives its turn, and outside of one there is none."""
    turn = planner.turn
    planner.ask("PLAN", items=("Read",))
    planner.turn = None
    with pytest.raises(Conflict):
        planner.ask("PLAN_SHOW")
    other = Planner(install)
    assert other.ask("PLAN_SHOW") == "There is no plan."
    with install.store.writing() as db:
        db.execute("DELETE FROM turns WHERE id = ?", (turn,))
        assert db.execute("SELECT count(*) FROM plan_items").fetchone()[0] == 0


def test_whoever_watches_hears_of_it_once_it_is_true(install: CoreFixture, planner: Planner) -> None:
    """The whole list, after the transaction."""
    heard = install.broker.subscribe("plan")
    planner.ask("PLAN", items=("Read", "Draw"))
    with pytest.raises(NotFound):
        planner.ask("PLAN_DONE", id=3)
    planner.ask("PLAN_DONE", id=2)
    plans = [event.body for event in iter(lambda: heard.get(0), None)]
    assert [[item["is_done"] for item in body["plan"]] for body in plans] == [[False, False], [False, True]]
    assert plans[0]["turn"] == planner.turn
