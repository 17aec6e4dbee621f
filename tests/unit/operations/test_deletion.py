"""``orchestrator.operations.deletion``: whoever goes is gone with everything, whatever happens on the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from orchestrator.agents.cubicles import Cubicles, InstallId
from orchestrator.core.errors import Conflict, NotFound, Unavailable
from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.operations.deletion import Deletion
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture
from tests.support.fakes import ENGINE_SILENT, FakeEngine
from tests.support.histories import KeptHistories


class NoDoors:
    """Nobody knocks."""

    def open(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Nothing to open."""

    def renew(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Nothing to renew."""

    def close(self, key: CubicleKey) -> None:
        """Nothing to close."""


class StuckEngine(FakeEngine):
    """Removes nothing while it is stuck."""

    is_stuck = False

    def remove(self, name: str) -> None:
        """Raises while stuck."""
        if self.is_stuck:
            raise Unavailable(ENGINE_SILENT)
        super().remove(name)


class Exit:
    """The way out, and what it is made of."""

    def __init__(self, install: CoreFixture) -> None:
        self.install = install
        self.engine = StuckEngine()
        self.forgotten: list[str] = []
        self.cubicles = Cubicles(
            histories=KeptHistories(),
            install=InstallId("abcd1234", str(install.home), "", is_root=False, uid=os.geteuid(), gid=os.getegid()),
            store=install.store,
            engine=self.engine,
            workspaces=install.workspaces,
            doors=NoDoors(),
            agents=install.agents,
            broker=install.broker,
            hooks=install.hooks,
            image_tag=lambda target: target,
        )
        self.leaving = Deletion(
            install.store, install.turns, self.cubicles, install.agents, install.users, forget=self.forgotten.append
        )

    def folders(self) -> set[str]:
        """Everything that anybody has below workspaces and run."""
        return {str(path.relative_to(self.install.home)) for path in self.install.home.glob("*/*/*")}


@pytest.fixture
def way(tmp_path: Path) -> Iterator[Exit]:
    """An install with cubicles of two people."""
    with core_fixture(tmp_path / "home") as install:
        made = Exit(install)
        for key in (KEY, OTHER):
            made.cubicles.ensure_running(key)
        yield made


def test_an_agent_goes_with_everything(way: Exit) -> None:
    """Each message gets an outcome first."""
    turn = way.install.under_way()
    way.leaving.remove_agent("crab")
    assert way.engine.containers == {}
    assert way.folders() == set()
    assert way.forgotten == ["crab"]
    with pytest.raises(NotFound):
        way.install.turns.get(turn.id)
    with pytest.raises(NotFound):
        way.leaving.remove_agent("crab")


def test_a_person_goes_with_everything(way: Exit) -> None:
    """Folders of cubicles that never ran, too; the others keep theirs, and the operator stays."""
    way.install.agents.create({"name": "second"})
    never_ran = CubicleKey("second", OTHER.user)
    way.install.workspaces.write_in(never_ran, "a.txt", BytesIO(b"x"), max_bytes=10)
    way.install.turns.submit(OTHER, "hello", source="test")
    queued = way.install.turns.list_history(OTHER)[0]
    way.leaving.remove_user(OTHER.user)
    assert way.folders() == {"workspaces/crab/1", "run/crab/1"}
    assert way.install.turns.get(queued.id).error == "This person was removed."
    with pytest.raises(NotFound):
        way.install.users.get(OTHER.user)
    with pytest.raises(Conflict):
        way.leaving.remove_user(KEY.user)


@pytest.mark.parametrize("who", ["agent", "person"])
def test_a_deletion_that_was_cut_off_is_finished_at_the_next_start(way: Exit, who: str) -> None:
    """Nothing of theirs starts in between; asking again finishes it too."""
    way.engine.is_stuck = True
    with pytest.raises(Unavailable):
        _remove(way, who)
    assert way.folders() != set()
    way.engine.is_stuck = False
    with pytest.raises(NotFound, match="being deleted"):
        way.cubicles.ensure_running(OTHER)
    again = Exit(way.install)
    again.engine.containers = way.engine.containers
    again.leaving.reconcile()
    assert "workspaces/crab/2" not in way.folders()
    assert OTHER not in again.cubicles.list_running()
    with pytest.raises(NotFound):
        _remove(way, who)
    again.leaving.reconcile()


def test_what_can_not_be_deleted_yet_does_not_keep_the_install_closed(way: Exit) -> None:
    """It stays marked, and is tried again."""
    way.engine.is_stuck = True
    with pytest.raises(Unavailable):
        way.leaving.remove_agent("crab")
    way.leaving.reconcile()
    assert way.install.crab.name == "crab"
    way.engine.is_stuck = False
    way.leaving.reconcile()
    assert way.install.agents.list_agents() == []


def test_a_name_is_free_again(way: Exit) -> None:
    """A new agent of that name starts with nothing."""
    way.leaving.remove_agent("crab")
    way.install.agents.create({"name": "crab"})
    assert way.cubicles.ensure_running(KEY).running
    assert way.install.under_way().status is TurnStatus.RUNNING


def _remove(way: Exit, who: str) -> None:
    if who == "agent":
        way.leaving.remove_agent("crab")
    else:
        way.leaving.remove_user(OTHER.user)
