"""``orchestrator.core.http_statuses``: every error has its status, and the three servers tell the same."""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.apps.previews.connection import PreviewConnection, PreviewRequest
from orchestrator.apps.previews.routes import Routes
from orchestrator.core.errors import OrchestratorError, Unavailable, UnsafePath, UpstreamFailed, WallMissing
from orchestrator.core.http_statuses import STATUS, status_of
from orchestrator.core.models import CubicleKey
from orchestrator.door.bodies import ALLOWANCE
from orchestrator.door.http.framing import CONNECTION, HAND_OVER
from orchestrator.door.request import DoorRequest
from orchestrator.door.router import DoorRoutes
from orchestrator.door.sockets import KEY as DOOR_KEY

ROOT = Path(__file__).resolve().parents[3]
TOPS = ("orchestrator", "dashboard")
NEVER_TOLD = {
    "Failed": "of a helper container: whoever started it tells what failed, in words of its own",
    "SecondFactorNeeded": "the login asks for the code then",
    "Unbundled": "of the dashboard's own scripts: found at its start",
}
"""Errors that no request meets, and why."""


def kinds_of(*errors: str) -> set[str]:
    """The classes of these names, and every class of the program that is a kind of one of them."""
    texts = [path.read_text(encoding="utf-8") for top in TOPS for path in (ROOT / top).rglob("*.py")]
    classes = [found for text in texts for found in re.findall(r"^ *class (\w+)\(([^)]*)\):", text, re.MULTILINE)]
    found, before = set(errors), set[str]()
    while found != before:
        before = set(found)
        found |= {name for name, bases in classes if before & set(re.findall(r"\w+", bases))}
    return found


def test_every_error_has_a_status() -> None:
    """Its own or that of the error which it is a kind of, or a reason why no request meets it."""
    every = kinds_of("OrchestratorError") - {"OrchestratorError"}
    assert {"UpstreamFailed", "NewHost"} < every
    assert every - kinds_of(*(kind.__name__ for kind, _ in STATUS)) == set(NEVER_TOLD)


def test_no_row_hides_another() -> None:
    """The order of the table means nothing."""
    kinds = [kind for kind, _ in STATUS]
    assert not [(one, other) for one in kinds for other in kinds if one is not other and issubclass(one, other)]


def at_the_door(error: OrchestratorError) -> int:
    """The status that a cubicle is told."""

    def fail(_request: DoorRequest) -> None:
        raise error

    routes = DoorRoutes(lambda _: None)
    routes.add_route("GET", "news", fail)
    told: list[str] = []
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/api/internal/news", "QUERY_STRING": "", "CONTENT_LENGTH": "0"}
    keys = {DOOR_KEY: CubicleKey("crab", 1), ALLOWANCE: None, CONNECTION: None, HAND_OVER: None}
    routes({**environ, **keys, "wsgi.input": io.BytesIO()}, lambda line, _headers: told.append(line))
    return int(told[0].split()[0])


class ToldWire:
    """Remembers the status of an answer."""

    status = 0

    async def send_answer(self, status: int, *_: Any, **__: Any) -> None:
        """Remember it."""
        self.status = status


def at_the_previews(error: OrchestratorError) -> int:
    """The status that a browser is told in an app's frame."""

    def fail(_host: str) -> bool:
        raise error

    routes = Routes(
        tickets=cast("Any", None), apps=cast("Any", None), files=cast("Any", None), storage=cast("Any", None),
        live=cast("Any", None), is_open=lambda _: True, is_own_host=fail, origin_of=str,
    )  # fmt: skip
    wire = ToldWire()
    asyncio.run(routes.answer_request(cast("PreviewConnection", wire), PreviewRequest("GET", b"/a/x/", ())))
    return wire.status


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Unavailable("The engine does not answer."), 503),
        (WallMissing("It has a network."), 503),
        (UpstreamFailed("No answer.", may_retry=True), 503),
        (UnsafePath("A link."), 409),
        (OrchestratorError("Something."), 500),
    ],
)
def test_what_the_servers_tell(error: OrchestratorError, status: int) -> None:
    """The same at the door, at the previews and, by ``status_of``, in the dashboard."""
    assert (status_of(error), at_the_door(error), at_the_previews(error)) == (status, status, status)
