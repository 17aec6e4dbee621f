"""An install under pair of tenants: two people, a cubicle of the same agent for each, and the ways in which the
cubicles may try something at their doors, and the people over the API.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dashboard.app import create_app
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey, User
from tests.support.app_fixture import AppFixture, run_app
from tests.support.unix_http import UnixHttp

ENTRY: dict[str, Any] = {"title": "Look", "prompt": "Look after things.", "start": "2190-03-01T09:00"}
"""A good one for the calendar."""


@dataclass
class TwoTenants:
    """An install with two people, a cubicle of the same agent for each, and their doors."""

    install: AppFixture
    home: Path
    mine: CubicleKey
    theirs: CubicleKey
    owner: User
    member: User
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 10**9)))

    @property
    def calls(self) -> Calls:
        """The table behind the doors."""
        return self.install.app._capabilities.calls

    @property
    def store(self) -> Store:
        """The rows."""
        return self.install.app._store

    def do(
        self, name: str, /, *, key: CubicleKey | None = None, turn: int | None = None, **fields: Any
    ) -> tuple[str, Any]:
        """A call: how it ended, with its result; or an error's code, with its sentence."""
        try:
            call = self.calls.run_command(Caller(key or self.mine, turn), f"c{next(self.numbers)}", name, fields)
        except OrchestratorError as error:
            return error.code, error.message
        return call.status, call.result

    def ask(self, method: str, path: str, body: object = None, *, key: CubicleKey | None = None) -> tuple[int, Any]:
        """A request at a door."""
        key = key or self.mine
        line = UnixHttp(self.home / "run" / key.agent / str(key.user) / "door.sock")
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        try:
            line.request(method, f"/api/internal/{path}", data, {"Content-Type": "application/json"})
            answer = line.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            line.close()

    def count(self, table: str) -> int:
        """How many rows there are."""
        with self.store.reading() as db:
            return int(db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0])  # noqa: S608 - a name of ours

    def size(self) -> int:
        """What all rows that calls leave behind hold, in characters."""
        sums = {
            "calls": "text || result",
            "audit": "text || detail",
            "notices": "text || detail || offers",
            "questions": "text || choices",
        }
        with self.store.reading() as db:
            return sum(
                int(db.execute(f"SELECT COALESCE(SUM(LENGTH({what})), 0) FROM {table}").fetchone()[0])  # noqa: S608 - ours
                for table, what in sums.items()
            )

    def api(self, who: User) -> Callable[..., tuple[int, str]]:
        """Somebody's calls of the API: the status, and the answer as it came."""
        client = create_app(self.install.services).test_client()
        token = self.install.services.users.make_token(f"t{next(self.numbers)}", who.id)

        def call(method: str, path: str, body: object = None) -> tuple[int, str]:
            headers = {"Authorization": f"Bearer {token}"}
            answer = client.open(f"/api{path}", method=method, headers=headers, json=body)
            return answer.status_code, answer.get_data(as_text=True)

        return call


@contextmanager
def two_tenants(home: Path) -> Iterator[TwoTenants]:
    """An install in ``home``."""
    with run_app(home, crabs=False) as install:
        users = install.services.users
        owner = users.get_operator()
        member = next((each for each in users.list_users() if each.id != owner.id), None) or users.add({"name": "ben"})
        mine, theirs = CubicleKey("crab", owner.id), CubicleKey("crab", member.id)
        for key in (mine, theirs):
            install.services.cubicles.ensure_running(key)
        yield TwoTenants(install, home, mine, theirs, owner, member)
