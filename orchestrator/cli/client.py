"""The command's way to a running orchestrator: its HTTP API, with errors as the sentences that the API gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import quote

import requests

from orchestrator.cli.event_stream import EventStream
from orchestrator.core.errors import OrchestratorError, Unavailable

NOT_RUNNING = "HermitShell is not running. Start it with './hermit up -d'."


def agent_path(agent: str, rest: str = "") -> str:
    """The path of an agent's route, whatever somebody typed as its name."""
    return f"/agents/{quote(agent, safe='')}{rest}"


class ApiClient:
    """Calls the API; raises what it answers as an error with its own sentence."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy of the environment has no business between us and ourselves
        self._session.headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def get(self, path: str, **params: Any) -> Any:
        """GET; the JSON, or the text when it is none."""
        return self._send_request("GET", path, params=_given(params))

    def post(self, path: str, body: dict[str, Any] | None = None, **params: Any) -> Any:
        """POST a JSON object."""
        return self._send_request("POST", path, params=_given(params), json=body or {})

    def patch(self, path: str, body: dict[str, Any], **params: Any) -> Any:
        """PATCH with a JSON object."""
        return self._send_request("PATCH", path, params=_given(params), json=body)

    def put(self, path: str, body: dict[str, Any]) -> Any:
        """PUT a JSON object."""
        return self._send_request("PUT", path, json=body)

    def delete(self, path: str, **params: Any) -> Any:
        """DELETE."""
        return self._send_request("DELETE", path, params=_given(params))

    def upload(self, path: str, body: Any, **params: Any) -> Any:
        """PUT bytes; ``body`` has a length, and is read as it is sent."""
        return self._send_request("PUT", path, params=_given(params), data=body if len(body) else b"")

    @contextmanager
    def download(self, path: str, **params: Any) -> Iterator[requests.Response]:
        """GET bytes; they are read with ``read_pieces``."""
        with self._check_answer("GET", path, params=_given(params), stream=True) as answer:
            _raise_for(answer, self._url)
            yield answer

    def read_pieces(self, answer: requests.Response) -> Iterator[bytes]:
        """What a download brings; raises Unavailable when it ends too soon."""
        try:
            yield from answer.iter_content(1 << 18)
        except requests.RequestException as error:
            raise Unavailable("The download broke off, and nothing was kept. Try again.") from error

    def open_events(self) -> EventStream:
        """What goes on in the install, as it happens, for as long as it is held open."""
        return EventStream(self._url, self._token)

    def is_healthy(self) -> bool:
        """It answers, and its parts work."""
        try:
            return bool(self._session.get(f"{self._url}/api/health", timeout=5).ok)
        except requests.RequestException:
            return False

    def _send_request(self, method: str, path: str, **options: Any) -> Any:
        answer = self._check_answer(method, path, **options)
        _raise_for(answer, self._url)
        return answer.json() if _is_json(answer) else answer.text

    def _check_answer(self, method: str, path: str, **options: Any) -> requests.Response:
        try:
            return self._session.request(method, f"{self._url}/api{path}", timeout=700, **options)
        except requests.ConnectionError as error:
            if method == "PUT" and self.is_healthy():
                raise Unavailable("The upload broke off, and nothing was kept. Try again.") from error
            raise Unavailable(NOT_RUNNING) from error
        except requests.RequestException as error:
            raise Unavailable(f"HermitShell at {self._url} does not answer. './hermit status' shows more.") from error


def _given(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _is_json(answer: requests.Response) -> bool:
    return answer.headers.get("Content-Type", "").startswith("application/json")


def _raise_for(answer: requests.Response, url: str) -> None:
    if not answer.ok:
        said = answer.json().get("error", {}).get("message") if _is_json(answer) else None
        raise OrchestratorError(said or f"{url} answered {answer.status_code}. Does another program use this port?")
