"""A small HERMIT_HOME on the disk, with something of each kind in it, for tests of what copies and restores one."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from orchestrator.agents import agent_rows
from orchestrator.agents.agents import Agents
from orchestrator.agents.cubicles import uid_of
from orchestrator.agents.users import Users
from orchestrator.capabilities.table import TOOLSETS
from orchestrator.core.db.database import Store
from orchestrator.core.home import Home, prepare_home
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey
from orchestrator.files.workspace import Workspaces
from orchestrator.operations.backup import restore as restoring
from orchestrator.operations.backup import verify as reading
from orchestrator.operations.backup import write as writing
from orchestrator.operations.backup.write import Written
from tests.support.made_once import put_empty_database

KEY = CubicleKey("crab", 1)
MOMENT = ("run", "backups", "scratch", "helpers")


def make(path: Path) -> Home:
    """Two agents, one person, a cubicle with files, an outbox and keys."""
    home = prepare_home(path)
    put_empty_database(home.database)
    store = Store(home.database, keep_in=home.backups)
    Users(store).ensure_operator("ada", "")
    agents = Agents(store, providers=("fake",), toolsets=TOOLSETS, hooks=Hooks())
    for name in ("crab", "crab-2"):
        agents.create({"name": name})
    with store.writing() as db:
        uid = uid_of(agent_rows.get_cubicle_number(db, KEY, 1.0))
        db.execute("INSERT INTO settings VALUES ('colour', 'blue')")
    store.close()
    owner = uid if os.geteuid() == 0 else os.geteuid()
    Workspaces(path).prepare_folders(KEY, uid=owner, gid=owner if os.geteuid() == 0 else os.getegid())
    work = work_of(path)
    put(work / "notes.txt", b"one\n", owner)
    put(work / "deep" / "er" / "tool.sh", b"#!/bin/sh\n", owner, mode=0o755)
    put(work / os.fsdecode(b"caf\xe9\n\\x"), b"bytes", owner)
    put(work / "big", os.urandom(5_000_000), owner)
    put(work.parent / "out" / ("long-" * 40), b"", owner)
    (home.outbox / "copy-1").write_bytes(b"delivered")
    (path / "hermit.env").write_text("HERMIT_PORT=3100\n")
    (path / "logs" / "orchestrator.log").write_text("a line\n")
    for own in (home.outbox / "copy-1", path / "hermit.env", path / "logs" / "orchestrator.log"):
        own.chmod(0o600)
    (path / "run" / "x").write_text("of this moment")
    (path / "db" / "ballast").write_bytes(b"\0" * 1000)
    (home.backups / "old.tar").write_bytes(b"x")
    return home


def work_of(path: Path) -> Path:
    """The working folder of the one cubicle."""
    return path / "workspaces" / KEY.agent / str(KEY.user) / "work"


def put(path: Path, content: bytes, owner: int, *, mode: int = 0o600) -> None:
    """A file as an agent makes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    if os.geteuid() == 0:
        for made in (path.parent.parent, path.parent, path):
            if made.name in ("deep", "er") or made == path:
                os.chown(made, owner, owner)


def back_up(
    home: Home, target: Path, *, force: bool = False, meter: writing.Meter = lambda _done, _of: None
) -> Written:
    """A backup as the command makes it."""
    with writing.whole_file(target, home.path, may_replace=force) as file:
        written = writing.write_archive(
            home, file, meter, packed=writing.is_packed(target), check=writing.keeps_reserve(home.path, target.parent)
        )
        writing.flush_file(file)
        assert reading.check_backup(file).digest == written.digest
    return written


def put_back(
    archive: Path, home: Path, *, force: bool = False, make_way: Callable[[], None] = lambda: None
) -> restoring.Restored:
    """A restore as the command does it."""
    return restoring.restore_backup(archive, home, may_replace=force, meter=lambda *_: None, make_way=make_way)


def files(path: Path) -> dict[str, Any]:
    """All that lies in a home and is meant to last: contents, permissions and owners, and the database's rows."""
    found: dict[str, Any] = {}
    for folder, folders, names in os.walk(path):
        if Path(folder) == path:
            folders[:] = [name for name in folders if name not in MOMENT]
        for name in names:
            one = Path(folder, name)
            if one.parent.name == "db" or one.name == "README.txt":
                continue
            facts = one.lstat()
            owner = facts.st_uid if "work" in one.parts else -1
            found[os.fspath(one.relative_to(path))] = (one.read_bytes(), stat.S_IMODE(facts.st_mode), owner)
    with closing(sqlite3.connect(path / "db" / "hermit.db")) as db:
        found["rows"] = "\n".join(db.iterdump())
    return found
