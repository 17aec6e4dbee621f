"""A database that is damaged: noticed before anything opens it, kept as it is, and told with what to go back to; what
can be read of it is saved when a person asks for that."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.core.db.database import Store
from orchestrator.core.errors import Conflict, NotFound, Unavailable
from orchestrator.core.home import Home, HomeLock, prepare_home
from orchestrator.operations.backup import db_check as damages
from orchestrator.operations.backup import recovery as rescue
from orchestrator.operations.backup.create import create_backup as make_backup
from tests.support import home_fixture as kept_home
from tests.support.core_fixture import at_once
from tests.support.home_fixture import put_back

ROOT = Path(__file__).resolve().parents[3]
PAGE = 4096
NOW = 1_800_000_000.0
FACTS = 3_000


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An install with some thousand turns, most in the file and the newest in its log, as a death leaves it."""
    home = kept_home.make(tmp_path_factory.mktemp("pattern") / "home")
    (kept_home.work_of(home.path) / "big").unlink()
    store = Store(home.database)
    with store.writing() as db:
        _add_turns(db, FACTS)
    store.checkpoint_log()
    with store.writing() as db:
        _add_turns(db, 50)
    kept = home.path.with_name("pattern")
    shutil.copytree(home.path, kept, symlinks=True)
    store.close()
    return kept


@pytest.fixture
def home(pattern: Path, tmp_path: Path) -> Home:
    """One of its own."""
    shutil.copytree(pattern, tmp_path / "home", symlinks=True)
    return prepare_home(tmp_path / "home")


def _add_turns(db: sqlite3.Connection, count: int) -> None:
    db.executemany(
        "INSERT INTO turns (agent, user, conversation, source, prompt, status, created_at) "
        "VALUES ('crab', 1, 1, 'test', ?, 'done', 1.0)",
        [(f"What is {n}? " + "x" * 200,) for n in range(count)],
    )


def _without_log(path: Path) -> None:
    """What the log held is in the file."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _write(path: Path, at: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def _garbage_header(path: Path) -> None:
    _without_log(path)
    _write(path, 0, b"\x13" * 100)


def _pages_of(path: Path, table: str) -> list[int]:
    """Leaves of a table, found by what their first byte says, for want of anything better."""
    with closing(sqlite3.connect(path)) as db:
        root = int(db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0])
    raw = path.read_bytes()
    begin = (root - 1) * PAGE
    count = int.from_bytes(raw[begin + 3 : begin + 5], "big")
    cells = [int.from_bytes(raw[begin + 12 + 2 * n : begin + 14 + 2 * n], "big") for n in range(count)]
    return [int.from_bytes(raw[begin + cell : begin + cell + 4], "big") for cell in cells]


def _torn_page(path: Path) -> None:
    _without_log(path)
    leaves = _pages_of(path, "turns")
    _write(path, (leaves[len(leaves) // 2] - 1) * PAGE, os.urandom(PAGE))


def _cut(path: Path) -> None:
    _without_log(path)
    os.truncate(path, path.stat().st_size // 2 + 77)


def _text(path: Path) -> None:
    _without_log(path)
    path.write_bytes(b"Dear diary, " * 1000)


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _all_gone(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "garbage in the header": (_garbage_header, "file is not a database"),
    "a torn page": (_torn_page, "error code 11"),
    "cut": (_cut, "malformed"),
    "another file": (_text, "file is not a database"),
    "emptied beside its log": (_emptied, "hermit.db is empty, and its log is not"),
    "gone, but for its log": (Path.unlink, "hermit.db is missing, and its log is not"),
    "gone": (_all_gone, "hermit.db is missing"),
}


def sums(folder: Path) -> dict[str, str]:
    """The files of a database by their content; the shared memory, which is made again by whoever looks, left out."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("hermit.db*"))
        if not path.name.endswith("-shm") and path.stat().st_size
    }


# --- at a start ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("break_it", "said"), DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_said_and_nothing_is_overwritten(home: Home, break_it: Callable[[Path], object], said: str) -> None:
    """The start is refused with what is wrong and what to do; the files stay as they are, and a copy is kept, once
    however often one tries."""
    break_it(home.database)
    before = sums(home.database.parent)
    for _ in range(3):
        with pytest.raises(Unavailable, match="The database is damaged") as refused:
            rescue.check_database(home.path, now=NOW)
    assert said in refused.value.message
    assert "'./hermit restore FILE --force'" in refused.value.message
    assert "\n" not in refused.value.message
    assert sums(home.database.parent) == before
    kept = list(home.backups.glob("damaged-*"))
    assert [sums(path) for path in kept] == ([before] if before else [])
    assert all(str(path) in refused.value.message for path in kept)


def test_what_is_whole_is_not_complained_of(home: Home, tmp_path: Path) -> None:
    """With its log, without its log's index, without its log (what only that held is not there), and before there is
    anything. Looking changes nothing."""
    before = sums(home.database.parent)
    rescue.check_database(home.path, now=NOW)
    Path(f"{home.database}-shm").unlink()
    rescue.check_database(home.path, now=NOW)
    assert sums(home.database.parent) == before
    for ending in ("-wal", "-shm"):
        Path(f"{home.database}{ending}").unlink()
    rescue.check_database(home.path, now=NOW)
    store = Store(home.database)
    with store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM turns").fetchone()[0] == FACTS
    store.close()
    fresh = prepare_home(tmp_path / "fresh")
    rescue.check_database(fresh.path, now=NOW)
    assert not list(fresh.backups.iterdir())


def test_a_log_that_is_garbage_is_passed_over(home: Home) -> None:
    """SQLite knows its own frames by their sums: the file is as it was before them."""
    Path(f"{home.database}-wal").write_bytes(os.urandom(100_000))
    rescue.check_database(home.path, now=NOW)


def test_the_newest_whole_backup_is_named(home: Home) -> None:
    """Not the newest file that looks like one, and the command that is said brings the install back."""
    (home.backups / "old.tar").unlink()
    older, newer = home.backups / "a.tar", home.backups / "b.tar.gz"
    for path in (older, newer):
        make_backup(home, path, lambda *_: None, may_replace=False)
    os.utime(older, (NOW - 100, NOW - 100))
    os.utime(newer, (NOW, NOW))
    os.truncate(newer, newer.stat().st_size - 100)
    _garbage_header(home.database)
    with pytest.raises(Unavailable, match="damaged") as refused:
        rescue.check_database(home.path, now=NOW)
    assert f"'./hermit restore {older} --force'" in refused.value.message
    put_back(older, home.path, force=True)
    rescue.check_database(home.path, now=NOW)


def test_a_copy_from_before_an_upgrade_is_named(home: Home) -> None:
    """Where there is no backup; ``recover`` puts it in the place of the damaged one."""
    (home.backups / "old.tar").unlink()
    copy = home.backups / "before-upgrade-12.db"
    with closing(sqlite3.connect(home.database)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    _garbage_header(home.database)
    broken = sums(home.database.parent)
    found = rescue.find_trouble(home.path)
    assert found is not None
    assert f"'./hermit recover {copy}'" in found.fix
    recovered = rescue.recover_database(home.path, copy, now=NOW)
    assert recovered.salvaged is None
    assert recovered.kept is not None
    assert sums(recovered.kept) == broken
    assert rescue.find_trouble(home.path) is None


def test_without_room_for_a_copy_the_start_is_refused_all_the_same(home: Home) -> None:
    """And it is said that there is none."""
    _garbage_header(home.database)
    shutil.rmtree(home.backups)
    home.backups.write_text("a file where the folder should be")
    with pytest.raises(Unavailable, match="could not be copied"):
        rescue.check_database(home.path, now=NOW)


@pytest.mark.parametrize(
    ("user", "may", "said", "fix"),
    [
        (12345, False, "belongs to another user", "chown -R 12345"),
        (None, False, "may not read and write", "chmod -R u+rwX"),
        (None, True, "", ""),
    ],
)
def test_who_may_not_use_it_is_told(home: Home, user: int | None, may: bool, said: str, fix: str) -> None:  # noqa: FBT001 - a table's column
    """Whose it is and what to do; root, who may everything, included."""
    found = damages.why_unreadable(home.database, user=user, access=lambda _path, _how: may)
    assert (found is None) == may
    if found is not None:
        assert said in found[0]
        assert fix in found[1]


def test_a_folder_in_its_place_is_told(home: Home) -> None:
    """It is not a regular file, and nothing is copied."""
    _all_gone(home.database)
    home.database.mkdir()
    with pytest.raises(Unavailable, match="not a regular file"):
        rescue.check_database(home.path, now=NOW)
    assert not list(home.backups.glob("damaged-*"))


def test_one_that_is_kept_locked_is_told(home: Home) -> None:
    """It is not taken for damaged."""
    _without_log(home.database)
    with closing(sqlite3.connect(home.database)) as db:
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Unavailable, match=r"keeps .* locked"):
            damages.find_damage(home.database, patience_s=1.0, wait_s=0.05)


def test_a_full_disk_is_not_taken_for_damage(home: Home) -> None:
    """Looking takes some room beside the file; without it nothing is known, and nothing said."""
    Path(f"{home.database}-shm").unlink()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(sqlite3.OperationalError), closing(sqlite3.connect(home.database)) as db:
            db.execute("SELECT COUNT(*) FROM turns")
        assert damages.find_damage(home.database, patience_s=1.0) == ""
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_large_one_is_not_looked_through_for_ever(home: Home) -> None:
    """When the time is up, what was seen counts."""
    _torn_page(home.database)
    assert damages.find_damage(home.database, patience_s=10.0)
    assert damages.find_damage(home.database, patience_s=-1.0, steps=10) == ""


# --- what can be saved -----------------------------------------------------------------------------------------


def test_what_can_be_read_is_saved(home: Home) -> None:
    """All but the rows of the torn page; the log and the agents are there, numbers are not given out again, and the
    install opens it."""
    _torn_page(home.database)
    recovered = rescue.recover_database(home.path, None, now=NOW)
    assert recovered.salvaged is not None
    assert set(recovered.salvaged.lost) == {"turns"}
    lost = recovered.salvaged.lost["turns"]
    assert lost is not None
    assert 1 <= lost <= 30
    store = Store(home.database)
    with store.writing() as db:
        assert db.execute("SELECT COUNT(*) FROM turns").fetchone()[0] == FACTS + 50 - lost
        assert [row[0] for row in db.execute("SELECT name FROM agents ORDER BY name")] == ["crab", "crab-2"]
        assert db.execute("SELECT value FROM settings WHERE key = 'colour'").fetchone()[0] == "blue"
        assert db.execute("SELECT COUNT(*) FROM audit_fts WHERE audit_fts MATCH 'created'").fetchone()[0] == 2
        _add_turns(db, 1)
        assert db.execute("SELECT MAX(id) FROM turns").fetchone()[0] == FACTS + 51
    store.close()
    assert rescue.find_trouble(home.path) is None


def test_rows_that_would_point_nowhere_are_left_out(home: Home) -> None:
    """And counted; a table whose pages are all gone costs the others nothing."""
    with closing(sqlite3.connect(home.database)) as db:
        db.execute(
            "INSERT INTO steps (turn, n, thought, command, sha256, ruling, reason, status, started_at) "
            "SELECT id, 1, '', 'ls', '', 'run', '', 'done', 1.0 FROM turns"
        )
        db.commit()
    _without_log(home.database)
    for leaf in _pages_of(home.database, "turns")[3:6]:
        _write(home.database, (leaf - 1) * PAGE, b"\xff" * PAGE)
    recovered = rescue.recover_database(home.path, None, now=NOW)
    assert recovered.salvaged is not None
    lost = recovered.salvaged.lost
    assert set(lost) == {"turns", "steps"}
    assert lost["turns"] == lost["steps"]
    with closing(sqlite3.connect(home.database)) as db:
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.parametrize("break_it", [_garbage_header, _text])
def test_where_nothing_can_be_read_nothing_is_replaced(home: Home, break_it: Callable[[Path], object]) -> None:
    """It is said, with what else there is; the files are as they were."""
    break_it(home.database)
    before = sums(home.database.parent)
    with pytest.raises(Unavailable, match=r"Too little .* restore FILE --force"):
        rescue.recover_database(home.path, None, now=NOW)
    assert sums(home.database.parent) == before


def test_recovering_is_for_what_is_damaged_and_at_rest(home: Home, tmp_path: Path) -> None:
    """Not for a whole database, none at all, an install that runs, or a copy that is none."""
    with pytest.raises(Conflict, match="intact"):
        rescue.recover_database(home.path, None, now=NOW)
    with pytest.raises(NotFound):
        rescue.recover_database(tmp_path / "nowhere", None, now=NOW)
    _torn_page(home.database)
    with pytest.raises(NotFound, match="no file"):
        rescue.recover_database(home.path, tmp_path / "missing.db", now=NOW)
    claim = HomeLock(home)
    with pytest.raises(Conflict, match="runs"):
        rescue.recover_database(home.path, None, now=NOW)
    claim.release()


def _command(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"HERMIT_HOME": str(home.path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-m", "orchestrator", *words]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_the_commands_say_it_in_one_line_and_mend_it(home: Home) -> None:
    """The start refuses before it asks for an engine; ``recover`` says what is lost and where the damaged one is."""
    _torn_page(home.database)
    refused = _command(home, "serve")
    assert refused.returncode == 1
    assert refused.stderr.startswith("hermit: The database is damaged (")
    assert refused.stderr.count("\n") == 1
    (kept,) = home.backups.glob("damaged-*")
    assert str(kept) in refused.stderr
    recovered = _command(home, "recover")
    assert recovered.returncode == 0, recovered.stderr
    assert "Lost from turns: at most " in recovered.stdout
    assert f"The damaged one is in {kept}." in recovered.stdout
    assert rescue.find_trouble(home.path) is None


# --- while it runs ---------------------------------------------------------------------------------------------


def test_damage_that_appears_while_it_runs_ends_all_writing(home: Home) -> None:
    """One sentence, at once and from then on, also for what is not on the damaged page; reading what is whole goes
    on."""
    store = Store(home.database)
    store.checkpoint_log()
    for leaf in _pages_of(home.database, "turns"):
        _write(home.database, (leaf - 1) * PAGE, b"\xff" * PAGE)
    with pytest.raises(Unavailable, match=r"damaged.*hermit doctor"), store.reading() as db:
        db.execute("SELECT * FROM turns").fetchall()
    assert "damaged" in store.trouble
    with pytest.raises(Unavailable, match="nothing is written"), store.writing() as db:
        db.execute("INSERT INTO settings VALUES ('a', 'b')")
    with store.reading() as db:
        assert db.execute("SELECT value FROM settings WHERE key = 'colour'").fetchone()[0] == "blue"
    store.close()


def test_a_line_of_writers_behind_another_program_is_answered_in_time(tmp_path: Path) -> None:
    """While another program keeps the database, nobody waits for the patience of all who stand before him; when it lets
    go, all goes on, and nothing was half done."""
    store = Store(tmp_path / "hermit.db", patience_s=0.6)
    other = sqlite3.connect(tmp_path / "hermit.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def write(n: int) -> None:
        with store.writing() as db:
            db.execute("INSERT INTO settings VALUES (?, '')", (f"k{n}",))

    ended: list[object] = []
    waiting = threading.Thread(target=lambda: ended.extend(at_once(*(lambda n=n: write(n) for n in range(30)))))
    waiting.start()
    waiting.join(6.0)  # thirty times the patience would be 18 s
    assert len(ended) == 30
    assert all(isinstance(one, Unavailable) and "Another program" in one.message for one in ended)
    other.execute("ROLLBACK")
    other.close()
    write(0)
    with store.reading() as db:
        assert [row[0] for row in db.execute("SELECT key FROM settings")] == ["k0"]
    store.close()
