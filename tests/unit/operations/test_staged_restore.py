"""A restore that is chosen on a page: checked there, put in place at the next start, and never half."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.core.errors import Conflict, NotFound, Unavailable
from orchestrator.core.models import Stage
from orchestrator.operations.backup.staged import (
    RestoreOutcome,
    StagedRestore,
    apply_staged,
    cancel_restore,
    get_outcome,
    get_staged,
    stage_restore,
)
from tests.support import home_fixture as kept_home
from tests.support.app_fixture import AppFixture
from tests.support.home_fixture import back_up, work_of
from tests.support.real_app import eventually
from tests.unit.conftest import Api, Browser

FILE = "hermit-2026-11-25-030000.tar.gz"


def nothing() -> None:
    """No containers are in the way."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An install that was changed after a backup of it, which is to be restored."""
    made = kept_home.make(tmp_path / "home")
    home = made.path
    back_up(made, home / "backups" / FILE)
    (work_of(home) / "notes.txt").write_bytes(b"changed\n")
    stage_restore(home, StagedRestore(FILE, "ada", 1.0))
    return home


def notes(home: Path) -> bytes:
    """What tells the two apart."""
    return (work_of(home) / "notes.txt").read_bytes()


def test_the_next_start_restores_it(home: Path) -> None:
    """Once; what was there is kept whole, but for its backups, which are there still."""
    done = apply_staged(home, make_way=nothing, now=5.0)
    assert done is not None
    assert (done.file, done.problem, notes(home)) == (FILE, "", b"one\n")
    assert notes(Path(done.before)) == b"changed\n"
    assert {path.name for path in (home / "backups").glob("*.tar*")} == {FILE, "old.tar"}
    assert (get_staged(home), get_staged(Path(done.before)), get_outcome(home)) == (None, None, done)
    assert apply_staged(home, make_way=nothing, now=6.0) is None


def cut(home: Path) -> None:
    """The backup is damaged after it was checked."""
    path = home / "backups" / FILE
    path.write_bytes(path.read_bytes()[:-2_000])


def lose(home: Path) -> None:
    """Somebody has deleted it."""
    (home / "backups" / FILE).unlink()


@pytest.mark.parametrize("spoil", [cut, lose])
def test_what_can_t_be_restored_changes_nothing(home: Path, spoil: Callable[[Path], None]) -> None:
    """The install starts as it was, and says why; the next start doesn't try again."""
    spoil(home)
    done = apply_staged(home, make_way=nothing, now=5.0)
    assert done is not None
    assert (bool(done.problem), done.before, notes(home)) == (True, "", b"changed\n")
    assert get_outcome(home) == done
    assert apply_staged(home, make_way=nothing, now=6.0) is None
    assert not list(home.parent.glob("home.*"))


def test_containers_that_can_t_be_stopped_keep_it_from_happening(home: Path) -> None:
    """Nothing is moved under what still works in the folders."""

    def refuse() -> None:
        raise Unavailable("The engine does not answer.")

    done = apply_staged(home, make_way=refuse, now=5.0)
    assert done == RestoreOutcome(FILE, 5.0, "The engine does not answer.", "")
    assert notes(home) == b"changed\n"


def test_a_start_that_is_killed_in_it_is_made_up_for(home: Path) -> None:
    """By the next one; what dies of it each time is let be in the end."""

    def die() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply_staged(home, make_way=die, now=5.0)
    assert notes(home) == b"changed\n"
    wanted = get_staged(home)
    assert wanted is not None
    assert wanted.tries == 1
    stage_restore(home, StagedRestore(FILE, "ada", 1.0, tries=3))
    done = apply_staged(home, make_way=nothing, now=6.0)
    assert done is not None
    assert ("broke off" in done.problem, notes(home), get_staged(home)) == (True, b"changed\n", None)
    stage_restore(home, StagedRestore(FILE, "ada", 1.0, tries=2))
    done = apply_staged(home, make_way=nothing, now=7.0)
    assert (done is not None and done.problem, notes(home)) == ("", b"one\n")


def test_it_is_cancelled_by_a_file_less(home: Path) -> None:
    """And then the next start restores nothing."""
    assert cancel_restore(home)
    assert not cancel_restore(home)
    assert apply_staged(home, make_way=nothing, now=5.0) is None
    assert notes(home) == b"changed\n"


def test_it_is_chosen_on_the_page(webapp: AppFixture, operator: Api, member: Api, browser: Browser) -> None:
    """Checked as a whole first; until the next start it can be cancelled, and its file stays."""
    backups = webapp.services.backups
    operator.post("/backups")
    eventually(lambda: backups.get_progress().stage is Stage.DONE)
    (name,) = (kept.name for kept in backups.list_backups())
    assert member.refused("POST", f"/backups/{name}/restore")[0] == 403
    assert operator.post(f"/backups/{name}/restore")["is_restore"]
    eventually(lambda: backups.get_progress().stage is Stage.DONE)
    found = operator.get("/backups")
    assert (found["restore"]["file"], found["restored"]) == (name, None)
    page = browser.client.get("/parts/backups").get_data(as_text=True)
    assert "is restored at the next start" in page
    with pytest.raises(Conflict):
        backups.remove_backup(name, operator.user)
    assert operator.call("DELETE", "/restore").status_code == 204
    with pytest.raises(NotFound):
        backups.cancel_restore(operator.user)
    path = backups._home.backups / name
    path.write_bytes(path.read_bytes()[:-500])
    operator.post(f"/backups/{name}/restore")
    eventually(lambda: backups.get_progress().stage is Stage.FAILED)
    assert operator.get("/backups")["restore"] is None
    assert "This can’t be restored." in browser.client.get("/parts/backups").get_data(as_text=True)
    assert operator.refused("POST", "/backups/none.tar/restore")[0] == 404
