"""``orchestrator.core.db.database``: who reads, who writes, and what a full or broken disk does."""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.core.db.database import Store
from orchestrator.core.errors import Unavailable
from tests.support.core_fixture import at_once


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A fresh database."""
    made = Store(tmp_path / "hermit.db")
    yield made
    made.close()


def _put(store: Store, key: str, value: str = "1") -> None:
    with store.writing() as db:
        db.execute("INSERT INTO settings VALUES (?, ?)", (key, value))


def _put_and_count(store: Store, key: str) -> int:
    _put(store, key)
    return len(_keys(store))


def _put_and_fail(store: Store, key: str) -> None:
    with store.writing() as db:
        _put(store, key)
        assert db.in_transaction
        raise ZeroDivisionError


def _keys(store: Store) -> list[str]:
    with store.reading() as db:
        return [row["key"] for row in db.execute("SELECT key FROM settings ORDER BY key")]


def test_commits_what_went_well_and_nothing_else(store: Store) -> None:
    """A transaction is there afterwards; one that raised left nothing."""
    _put(store, "a")
    with pytest.raises(ZeroDivisionError):
        _put_and_fail(store, "b")
    assert _keys(store) == ["a"]


def test_nested_writing_belongs_to_the_outer_transaction(store: Store) -> None:
    """What an inner block wrote goes when the outer one fails."""
    with pytest.raises(ZeroDivisionError):
        _put_and_fail(store, "inner")
    assert _keys(store) == []
    with store.writing():
        _put(store, "a")
        _put(store, "b")
    assert _keys(store) == ["a", "b"]


def test_readers_see_the_last_commit_and_wait_for_nobody(store: Store) -> None:
    """While a transaction is open others read, and read the state before it."""
    with store.writing() as db:
        db.execute("INSERT INTO settings VALUES ('a', '1')")
        read: list[list[str]] = []
        reader = threading.Thread(target=lambda: read.append(_keys(store)))
        reader.start()
        reader.join(5)
        assert read == [[]]
    assert _keys(store) == ["a"]


def test_readers_can_not_write(store: Store) -> None:
    """A reading connection refuses to change anything."""
    with pytest.raises(Unavailable, match="readonly"), store.reading() as db:
        db.execute("INSERT INTO settings VALUES ('a', '1')")
    assert _keys(store) == []


def test_many_threads_write_and_read_at_once(store: Store) -> None:
    """No write is lost and nothing is locked, with forty threads."""
    results = at_once(*(partial(_put_and_count, store, f"{n:02}") for n in range(40)))
    assert all(count > 0 for count in results)
    assert len(_keys(store)) == 40


def test_a_full_disk_is_said_and_changes_nothing(store: Store) -> None:
    """The error has a sentence, the transaction is gone, and later ones work again."""
    _put(store, "before")
    with store.writing() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
    store._writer.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(Unavailable, match="full"):
        _put(store, "big", "x" * 10_000_000)
    store._writer.execute("PRAGMA max_page_count=1000000")
    _put(store, "after")
    assert _keys(store) == ["after", "before"]


def test_a_mistake_in_values_is_not_blamed_on_the_disk(store: Store) -> None:
    """Broken rules and numbers beyond the database come through as what they are."""
    _put(store, "a")
    with pytest.raises(sqlite3.IntegrityError):
        _put(store, "a")
    with pytest.raises(OverflowError), store.writing() as db:
        db.execute("INSERT INTO settings VALUES (?, ?)", ("b", 2**70))
    assert _keys(store) == ["a"]


def test_is_the_owners_alone(store: Store, tmp_path: Path) -> None:
    """The file and what SQLite puts beside it have mode 0600."""
    _put(store, "a")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"hermit.db": 0o600, "hermit.db-wal": 0o600, "hermit.db-shm": 0o600}


@pytest.mark.parametrize("content", [b"not a database at all, but long enough for a header" * 20])
def test_says_what_is_wrong_with_the_file(tmp_path: Path, content: bytes) -> None:
    """A file that is no database is named, with what to do."""
    path = tmp_path / "hermit.db"
    path.write_bytes(content)
    with pytest.raises(Unavailable, match="Restore it from a backup"):
        Store(path)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    """An unusable path is one sentence too."""
    with pytest.raises(Unavailable, match="cannot be used"):
        Store(tmp_path / "missing" / "hermit.db")


def test_tidying_moves_the_log_into_the_file(tmp_path: Path) -> None:
    """Commits alone leave it in the log, so that no writer waits for the disk; afterwards the file has it."""
    store = Store(tmp_path / "hermit.db")
    with store.writing() as db:
        db.execute("CREATE TABLE t (x)")
        db.executemany("INSERT INTO t VALUES (?)", [("y" * 1000,)] * 1000)
    before = (tmp_path / "hermit.db").stat().st_size
    store.checkpoint_log()
    assert (tmp_path / "hermit.db").stat().st_size > before + 900_000
    store.close()


def test_after_close_nobody_gets_in_and_nothing_is_left_open(tmp_path: Path) -> None:
    """Late readers and writers are told; a reader that was at work closes what it had."""
    store = Store(tmp_path / "hermit.db")
    with store.reading() as late:
        store.close()
        assert late.execute("SELECT 1").fetchone()[0] == 1
    for entering in (store.reading, store.writing):
        with pytest.raises(Unavailable, match="being stopped"), entering():
            raise AssertionError("it let somebody in")
    with pytest.raises(sqlite3.ProgrammingError):
        late.execute("SELECT 1")


def test_survives_being_opened_again(tmp_path: Path) -> None:
    """What was committed is there for the next process, also without a proper end."""
    first = Store(tmp_path / "hermit.db")
    _put(first, "a")
    second = Store(tmp_path / "hermit.db")  # the first never said goodbye
    assert _keys(second) == ["a"]
    second.close()
    first.close()


def test_after_commit_is_done_in_order_once_the_rows_are_there(store: Store) -> None:
    """Whoever is told can read what was written, and may write in turn."""
    done: list[tuple[str, list[str]]] = []
    with store.writing():
        _put(store, "a")
        store.after_commit(lambda: done.append(("first", _keys(store))))
        store.after_commit(lambda: _put(store, "b"))
        store.after_commit(lambda: done.append(("last", _keys(store))))
        assert done == []
    assert done == [("first", ["a"]), ("last", ["a", "b"])]
    _put(store, "c")
    assert len(done) == 2


def test_after_commit_waits_for_the_outermost_transaction(store: Store) -> None:
    """An inner block commits nothing, so nothing follows it."""
    done: list[str] = []
    with store.writing():
        with store.writing():
            store.after_commit(lambda: done.append("inner"))
        assert done == []
        store.after_commit(lambda: done.append("outer"))
    assert done == ["inner", "outer"]


def test_after_commit_is_never_done_after_a_rollback(store: Store) -> None:
    """Not then, and not after the next transaction either."""
    done: list[str] = []

    def fail() -> None:
        with store.writing():
            store.after_commit(lambda: done.append("rolled back"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    _put(store, "a")
    assert done == []


def test_after_commit_that_raises_is_logged_and_keeps_nothing_else_back(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """The rows are there, whoever wrote them hears nothing of it, and the others are done."""
    done: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    with store.writing():
        _put(store, "a")
        store.after_commit(fail)
        store.after_commit(lambda: done.append("next"))
    assert (_keys(store), done) == (["a"], ["next"])
    assert [record.getMessage() for record in caplog.records] == ["what follows a commit failed"]


def test_after_commit_outside_a_transaction_is_a_mistake(store: Store) -> None:
    """Also while another thread is in one: nothing of ours hangs on that."""
    done: list[str] = []
    with pytest.raises(RuntimeError, match="within writing"):
        store.after_commit(lambda: done.append("lost"))
    is_in, may_end = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with store.writing():
            is_in.set()
            may_end.wait(5)

    other = threading.Thread(target=write_slowly)
    other.start()
    is_in.wait(5)
    threading.Timer(0.05, may_end.set).start()
    with pytest.raises(RuntimeError, match="within writing"):
        store.after_commit(lambda: done.append("lost"))
    other.join()
    assert done == []


def test_after_commit_holds_no_lock(store: Store) -> None:
    """Others write while what follows is still going on."""
    with store.writing():
        store.after_commit(lambda: at_once(partial(_put, store, "from another thread")))
    assert _keys(store) == ["from another thread"]
