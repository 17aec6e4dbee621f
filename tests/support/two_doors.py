"""A street of doors for tests: two cubicles of one agent, each with its own socket, the install's rules behind them
and a model that says what a test wants.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.calls import Calls
from orchestrator.core.models import CubicleKey
from orchestrator.door.api import DoorContext, add_door_routes
from orchestrator.door.http.server import HttpServer
from orchestrator.door.reverse_tunnel import ReverseTunnel
from orchestrator.door.router import DoorRoutes
from orchestrator.door.sockets import DoorSockets
from orchestrator.jobs.pool import Jobs
from orchestrator.llm.pricing import load_prices
from orchestrator.llm.proxy import Proxy
from orchestrator.llm.retry import RetryPolicy
from orchestrator.turns.summaries import Summaries
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture
from tests.support.fakes import FakeUpstream
from tests.support.unix_http import UnixHttp


@dataclass
class TwoDoors:
    """Rooms with doors, and a model behind them."""

    rooms: CoreFixture
    doors: DoorSockets
    server: HttpServer
    model: FakeUpstream
    heard: list[CubicleKey]
    disk_notes: dict[CubicleKey, str]

    def door(self, key: CubicleKey) -> Path:
        """Its socket."""
        return self.rooms.home / "run" / key.agent / str(key.user) / "door.sock"

    def call(self, method: str, path: str, body: Any = None, *, key: CubicleKey = KEY) -> tuple[int, Any]:
        """A request of the cubicle ``key``; a body that is no bytes goes as JSON."""
        client = UnixHttp(self.door(key))
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            client.request(method, f"/api/internal/{path}", data, {"Content-Type": "application/json"})
            response = client.getresponse()
            text = response.read()
            return response.status, json.loads(text) if text else None
        finally:
            client.close()

    def post(self, path: str, body: Any = None, *, key: CubicleKey = KEY) -> tuple[int, Any]:
        """A POST."""
        return self.call("POST", path, body, key=key)

    def code(self, answer: tuple[int, Any]) -> str:
        """An error's code."""
        return str(answer[1]["error"]["code"])


@contextmanager
def street_of(home: Path) -> Iterator[TwoDoors]:
    """The street, over a home."""
    with core_fixture(home) as made:
        model = FakeUpstream()
        proxy = Proxy(
            agents=made.agents,
            budget=made.budget,
            broker=made.broker,
            upstreams={"fake": model},
            default_provider=lambda: "fake",
            prices=load_prices,
            retry=RetryPolicy(0.001),
        )
        notifications = Notifications(made.store, made.broker)
        calls = Calls(store=made.store, agents=made.agents)
        jobs = Jobs(made.store, notifications, finish=calls.finish_calls)
        heard: list[CubicleKey] = []
        disk_notes: dict[CubicleKey, str] = {}
        install = DoorContext(
            made.turns,
            made.steps,
            proxy,
            made.agents,
            made.users,
            reverse_tunnel=ReverseTunnel(),
            calls=calls,
            told=Summaries(made.store, proxy, notifications, jobs).history_messages,
            notes=(lambda turn: disk_notes.get(turn.cubicle, ""),),
            memories=lambda _key, text: [{"text": f"something about {text}"}] if text else [],
        )
        made.hooks.door_called.subscribe(heard.append)
        routes = DoorRoutes(made.hooks.door_called.fire)
        add_door_routes(routes, install)
        server = HttpServer()
        doors = DoorSockets(server, made.workspaces, routes)
        for key in (KEY, OTHER):
            doors.open(key, uid=os.geteuid(), gid=os.getegid())
        yield TwoDoors(made, doors, server, model, heard, disk_notes)
        server.close()
        server.await_quiet()
