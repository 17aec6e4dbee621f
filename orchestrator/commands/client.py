"""The command's way to a running orchestrator: its HTTP API, with errors as the sentences that the API gives."""

from __future__ import annotations

from typing import Any, Self
from urllib.parse import quote

import requests

from orchestrator.errors import OrchestratorError, Unavailable

NOT_RUNNING = "HermitShell is not running. Start it with './hermit up -d'."


def agent_path(agent: str, rest: str = "") -> str:
    """The path of an agent's route, whatever somebody typed as its name."""
    return f"/agents/{quote(agent, safe='')}{rest}"


class Client:
    """Calls the API; raises what it answers as an error with its own sentence."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy of the environment has no business between us and ourselves
        self._session.headers["Authorization"] = f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def get(self, path: str, **params: Any) -> Any:
        """GET; the JSON, or the text when it is none."""
        return self._call("GET", path, params={k: v for k, v in params.items() if v is not None})

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """POST a JSON object."""
        return self._call("POST", path, json=body or {})

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        """PATCH with a JSON object."""
        return self._call("PATCH", path, json=body)

    def delete(self, path: str) -> Any:
        """DELETE."""
        return self._call("DELETE", path)

    def is_healthy(self) -> bool:
        """It answers, and its parts work."""
        try:
            return bool(self._session.get(f"{self._url}/api/health", timeout=5).ok)
        except requests.RequestException:
            return False

    def _call(self, method: str, path: str, **options: Any) -> Any:
        try:
            answer = self._session.request(method, f"{self._url}/api{path}", timeout=700, **options)
        except requests.ConnectionError as error:
            raise Unavailable(NOT_RUNNING) from error
        except requests.RequestException as error:
            raise Unavailable(f"HermitShell at {self._url} does not answer. './hermit status' shows more.") from error
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        if answer.ok:
            return answer.json() if is_json else answer.text
        said = answer.json().get("error", {}).get("message") if is_json else None
        raise OrchestratorError(
            said or f"{self._url} answered {answer.status_code}. Does another program use this port?"
        )
