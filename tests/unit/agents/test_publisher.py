"""``orchestrator.agents.publisher``: a file in ``data/``, made again when something changed, and never half there."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from orchestrator.agents import deletion_rows as leaving
from orchestrator.agents.publisher import Builder, Publisher
from orchestrator.core.db.database import Store
from orchestrator.core.db.published import new_file
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.files.workspace import Workspaces

KEY = CubicleKey("crab", 1)
OTHER = CubicleKey("crab", 2)
PATIENCE_S = 10.0


class Counting:
    """A builder that writes how often it was asked."""

    def __init__(self) -> None:
        self.count = 0
        self.error: Exception | None = None
        self.is_building = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, key: CubicleKey, path: Path) -> None:
        """One file."""
        self.is_building.set()
        assert self.gate.wait(PATIENCE_S)
        self.count += 1
        with new_file(path) as db:
            db.execute("CREATE TABLE said (cubicle TEXT, count INTEGER)")
            db.execute("INSERT INTO said VALUES (?, ?)", (str(key), self.count))
            if self.error is not None:
                raise self.error


@contextmanager
def _publishing(home: Path, build: Builder, *, pause_s: float = 0.01, retry_s: float = 60.0) -> Iterator[Publisher]:
    (home / "db").mkdir(exist_ok=True)
    store = Store(home / "db" / "hermit.db")
    workspaces = Workspaces(home)
    for key in (KEY, OTHER):
        workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
    published = Publisher(
        "said.db",
        build,
        store=store,
        workspaces=workspaces,
        scratch=home / "scratch",
        pause_s=pause_s,
        retry_s=retry_s,
    )
    try:
        yield published
    finally:
        published.close()
        store.close()


def _file(home: Path, key: CubicleKey = KEY) -> Path:
    return home / "workspaces" / key.agent / str(key.user) / "data" / "said.db"


def _said(home: Path, key: CubicleKey = KEY) -> tuple[str, int]:
    with closing(sqlite3.connect(f"file:{_file(home, key)}?mode=ro&immutable=1", uri=True)) as db:
        return tuple(db.execute("SELECT cubicle, count FROM said").fetchone())


def test_what_is_wanted_is_published_for_its_cubicle_alone(tmp_path: Path) -> None:
    """Each file is in its own cubicle's folder, readable for everybody there and writable for nobody but the host."""
    with _publishing(tmp_path, Counting()) as published:
        published.start([KEY])
        assert published.wait_until_published(PATIENCE_S)
        assert _said(tmp_path) == ("crab/1", 1)
        assert not _file(tmp_path, OTHER).exists()
        facts = _file(tmp_path).stat()
        assert (stat.S_IMODE(facts.st_mode), facts.st_uid) == (0o644, os.geteuid())


def test_many_changes_make_one_file(tmp_path: Path) -> None:
    """What happens in quick succession is gathered."""
    build = Counting()
    with _publishing(tmp_path, build, pause_s=0.1) as published:
        published.start()
        for _ in range(1000):
            published.request_publish(KEY)
        assert published.wait_until_published(PATIENCE_S)
        assert build.count <= 2


def test_a_change_while_a_file_is_made_makes_another(tmp_path: Path) -> None:
    """What the one under way may have missed is in the next."""
    build = Counting()
    build.gate.clear()
    with _publishing(tmp_path, build) as published:
        published.start([KEY])
        assert build.is_building.wait(PATIENCE_S)
        published.request_publish(KEY)
        build.gate.set()
        assert published.wait_until_published(PATIENCE_S)
        assert _said(tmp_path) == ("crab/1", 2)


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """Whoever holds the one before goes on reading it; nothing else lies in the folder."""
    with _publishing(tmp_path, Counting()) as published:
        published.publish_now(KEY)
        with closing(sqlite3.connect(f"file:{_file(tmp_path)}?mode=ro", uri=True)) as held:
            assert held.execute("SELECT count FROM said").fetchone() == (1,)
            published.publish_now(KEY)
            assert held.execute("SELECT count FROM said").fetchone() == (1,)
        assert _said(tmp_path) == ("crab/1", 2)
        assert [path.name for path in _file(tmp_path).parent.iterdir()] == ["said.db"]
        assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.parametrize(
    "error", [Unavailable("The disk is full."), OSError(28, "full"), sqlite3.OperationalError("x")]
)
def test_a_file_that_can_not_be_made_is_tried_again(tmp_path: Path, error: Exception) -> None:
    """The one before stays until then."""
    build = Counting()
    with _publishing(tmp_path, build, retry_s=0.01) as published:
        published.publish_now(KEY)
        build.error = error
        published.publish_now(KEY)
        assert _said(tmp_path) == ("crab/1", 1)
        build.error = None
        published.start()
        assert published.wait_until_published(PATIENCE_S)
        assert _said(tmp_path) == ("crab/1", 3)


def test_a_broken_builder_stops_nobody_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A mistake of ours in one file is in the log, and the next cubicle's is made."""

    def build(key: CubicleKey, path: Path) -> None:
        if key == KEY:
            raise ZeroDivisionError
        Counting()(key, path)

    with _publishing(tmp_path, build) as published:
        published.start([KEY, OTHER])
        assert published.wait_until_published(PATIENCE_S)
        assert _said(tmp_path, OTHER) == ("crab/2", 1)
        assert "publishing said.db of crab/1 broke" in caplog.text


def test_nothing_is_published_for_who_is_not_there(tmp_path: Path) -> None:
    """Neither a cubicle that was never made nor one that is being deleted gets a folder by it."""
    with _publishing(tmp_path, Counting()) as published:
        published.publish_now(CubicleKey("crab", 77))
        assert not (tmp_path / "workspaces" / "crab" / "77").exists()
        with published._store.writing() as db:
            db.execute("INSERT INTO users (id, name, role, time_zone, created_at) VALUES (2, 'b', 'member', 'UTC', 0)")
            leaving.mark_user(db, 2, 1.0)
        published.publish_now(OTHER)
        assert not _file(tmp_path, OTHER).exists()
        assert published.wait_until_published(0)


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """Whatever lies there, what it points to stays as it is."""
    secret = tmp_path / "secret"
    secret.write_text("mine", encoding="ascii")
    with _publishing(tmp_path, Counting()) as published:
        _file(tmp_path).symlink_to(secret)
        published.publish_now(KEY)
        assert secret.read_text(encoding="ascii") == "mine"
        assert not _file(tmp_path).is_symlink()
        assert _said(tmp_path) == ("crab/1", 1)
