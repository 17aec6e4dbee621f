"""The table of what can be called at a door, and the WSGI application that looks up, calls and answers in JSON.

No web framework: its request, response and routing objects took a fifth of a model call's time (docs/performance.md),
and the door's strangers need none of what they bring.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from orchestrator.core.errors import OrchestratorError, TooLarge
from orchestrator.core.http_statuses import status_of
from orchestrator.core.models import CubicleKey
from orchestrator.door.bodies import ALLOWANCE, BodyAllowance
from orchestrator.door.http.framing import CONNECTION, HAND_OVER
from orchestrator.door.request import DoorRequest, NoRoute, RequestBody
from orchestrator.door.sockets import KEY

logger = logging.getLogger(__name__)

_ROOT = "/api/internal/"
SMALL_BYTES = 64 * 1024
"""What a request may bring unless its route needs more."""

Result = dict[str, Any] | None
"""What goes back as JSON; None for nothing at all, which is status 204."""
Handler = Callable[[DoorRequest], Result]
_Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Route:
    handler: Handler
    most_bytes: int


_JSON: _Headers = (("Content-Type", "application/json"),)
_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}


class DoorRoutes:
    """The application behind every door."""

    def __init__(self, heard: Callable[[CubicleKey], None]) -> None:
        """``heard`` is told at each request whose crab lives."""
        self._heard = heard
        self._routes: dict[str, dict[str, _Route]] = {}

    def add_route(self, method: str, path: str, handler: Handler, *, most_bytes: int = SMALL_BYTES) -> None:
        """Answer ``method`` of ``path`` (``turns/next``); a ``*`` as its second part stands for any name there. A body
        of more than ``most_bytes`` is refused before it is read."""
        self._routes.setdefault(path, {})[method] = _Route(handler, most_bytes)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """WSGI (PEP 3333)."""
        status, answer, more = self._answered(environ)
        if answer is None:
            start_response(_LINES[204], [])
            return ()
        body = json.dumps(answer).encode()
        start_response(_LINES[status], [*_JSON, ("Content-Length", str(len(body))), *more])
        return (body,) if environ["REQUEST_METHOD"] != "HEAD" else ()  # on a kept connection it would be the next head

    def _answered(self, environ: dict[str, Any]) -> tuple[int, Result, _Headers]:
        try:
            self._heard(environ[KEY])
            route, name = self._found(environ["REQUEST_METHOD"], environ["PATH_INFO"])
            length, allowance = int(environ.get("CONTENT_LENGTH") or 0), environ[ALLOWANCE]
            request = DoorRequest(
                key=environ[KEY],
                name=name,
                query=environ["QUERY_STRING"],
                body=RequestBody(environ["wsgi.input"].read, length, allowance),
                connection=environ[CONNECTION],
                hand_over_to=environ[HAND_OVER],
            )
            return 200, _call_route(route, request, allowance), ()
        except NoRoute as error:
            allow = (("Allow", ", ".join(error.allowed)),) if error.allowed else ()
            return error.status, _error_body("no_route", "There is no such call at this door."), allow
        except OrchestratorError as error:
            return status_of(error), _error_body(error.code, error.message), ()
        except ConnectionError:  # the client has gone within its request
            raise
        except Exception:  # whatever broke, the crab gets an answer and the log the reason
            logger.exception("a door call broke")
            return 500, _error_body("internal", "Something went wrong on the host; its log says what."), ()

    def _found(self, method: str, path: str) -> tuple[_Route, str]:
        """The route, and the name in the path; raises NoRoute."""
        if not path.startswith(_ROOT):
            raise NoRoute(404)
        path = path.removeprefix(_ROOT)
        noun, _, rest = path.partition("/")
        name, slash, rest = rest.partition("/")
        for pattern, given in ((path, ""), (f"{noun}/*{slash}{rest}", name)):
            methods = self._routes.get(pattern)
            if methods is not None and method not in methods:
                raise NoRoute(405, *methods)
            if methods is not None:
                return methods[method], given
        raise NoRoute(404)


def _call_route(route: _Route, request: DoorRequest, allowance: BodyAllowance) -> Result:
    length = request.body.length
    if length > route.most_bytes:
        raise TooLarge(f"The body is larger than the {route.most_bytes:,} bytes that are taken here.")
    if not length:  # a long poll holds nothing
        return route.handler(request)
    with allowance.hold(length):
        return route.handler(request)


def _error_body(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}
