"""Somebody who watches an agent's browser over the API, as the dashboard's page does."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from typing import Any

import requests

from tests.support.real_app import Api


class ViewWatcher:
    """One view; it confirms what it was shown, unless it is told to lag."""

    def __init__(self, api: Api, agent: str, *, lags: bool = False) -> None:
        self.frames: list[bytes] = []
        self.states: list[dict[str, Any]] = []
        self.over: dict[str, Any] | None = None
        self._api, self._path, self._lags = api, f"/agents/{agent}/browser", lags
        self._answer = requests.get(
            f"{api.url}/api{self._path}/frames", headers=dict(api.session.headers), stream=True, timeout=60
        )
        assert self._answer.status_code == 200, self._answer.text
        self._is_closing = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def state(self) -> dict[str, Any]:
        """The last that was told; empty before the first."""
        return self.states[-1] if self.states else {}

    def close(self) -> None:
        """The window is closed."""
        self._is_closing = True
        self._thread.join(20)
        assert not self._thread.is_alive()

    def _read(self) -> None:
        window, kind = "", ""
        with self._answer:
            for line in self._answer.iter_lines(chunk_size=1, decode_unicode=True):
                if self._is_closing:  # something comes twice a second
                    return
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: "):
                    body = json.loads(line[6:])
                    if kind == "begin":
                        window = body["window"]
                    elif kind == "state":
                        self.states.append(body)
                    elif kind == "frame":
                        self.frames.append(base64.b64decode(body["jpeg"], validate=True))
                        if not self._lags:
                            shown = {"window": window, "number": body["number"]}
                            self._api.call("POST", f"{self._path}/shown", json=shown)
                    elif kind == "over":
                        self.over = body


@contextlib.contextmanager
def watching(api: Api, agent: str, *, lags: bool = False) -> Iterator[ViewWatcher]:
    """A view that is open within."""
    made = ViewWatcher(api, agent, lags=lags)
    try:
        yield made
    finally:
        made.close()
