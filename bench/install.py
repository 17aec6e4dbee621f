"""An install for the benches: a real orchestrator process, a model server process, real cubicles, all gone
afterwards.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import requests

from bench.environments import locked
from bench.wire import Line
from tests.support.free_ports import free_port

LAUNCH = ("-m", "orchestrator")
ROOT = Path(__file__).resolve().parents[1]
GENEROUS = {"daily_budget_usd": 100_000, "daily_budget_tokens": 10**11, "step_limit": 400, "approval": "off"}
"""Nothing that is measured is stopped halfway."""


@dataclass(frozen=True)
class Fixture:
    """A running install."""

    url: str
    home: Path
    model_url: str
    pid: int
    session: requests.Session
    line: Line
    engine: docker.DockerClient

    def call(self, method: str, path: str, **body: Any) -> Any:
        """One API call; raises on an error status."""
        answer = self.session.request(method, f"{self.url}/api{path}", json=body or None, timeout=120)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def say(self, text: str, agent: str = "crab") -> str:
        """One turn; its reply."""
        ended = self.line.post(f"/api/agents/{agent}/messages", {"text": text, "wait": True, "timeout": 120})
        if ended["status"] != "done":
            raise RuntimeError(f"the turn {ended['status']}: {ended['error']}")
        return str(ended["reply"])

    def new_agent(self, name: str) -> None:
        """One whose turns cost what they like."""
        self.call("POST", "/agents", name=name)
        self.call("PATCH", f"/agents/{name}", **GENEROUS)

    def container(self, agent: str = "crab") -> Any:
        """The agent's container."""
        filters: dict[str, str | list[str] | bool] = {
            "label": [f"hermitshell.home={self.home}", f"hermitshell.agent={agent}"]
        }
        return self.engine.containers.list(filters=filters)[0]


def launch_tunables() -> str:
    """How ``./hermit`` has memory allocated."""
    found = re.search(r"GLIBC_TUNABLES-([^}]+)", (ROOT / "hermit").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


@contextmanager
def running_install(settings: Mapping[str, str] | None = None) -> Iterator[Fixture]:
    """Start everything, with more settings where given; stop and remove everything."""
    with tempfile.TemporaryDirectory(prefix="hermit-bench-") as folder, program("model_server.py") as model_url:
        home, token = Path(folder) / "home", secrets.token_urlsafe(24)
        port = free_port()
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HERMIT_", "TELEGRAM_"))},
            "HERMIT_HOME": str(home),
            "HERMIT_ROOT": str(ROOT),
            "HERMIT_PORT": str(port),
            "HERMIT_PREVIEW_PORT": str(free_port()),
            "HERMIT_API_TOKEN": token,
            "HERMIT_LLM_BASE_URL": model_url,
            "HERMIT_LLM_MODEL": "scripted-large",
            "PYTHONPATH": str(ROOT),
            "GLIBC_TUNABLES": launch_tunables(),
            **(settings or {}),
        }
        command = [str(locked("product", "requirements.lock")), *LAUNCH]
        process = subprocess.Popen([*command, "serve"], env=environment, stdout=subprocess.DEVNULL)
        session = requests.Session()
        session.headers["Authorization"] = f"Bearer {token}"
        line = Line(port, f"Authorization: Bearer {token}\r\n")
        install = Fixture(f"http://127.0.0.1:{port}", home, model_url, process.pid, session, line, docker.from_env())
        try:
            _await_health(install, process)
            install.call("PATCH", "/agents/crab", **GENEROUS)
            yield install
        finally:
            # Many cubicles take longer to stop than the command waits: the process says when it has ended.
            subprocess.run([*command, "down"], env=environment, check=False, stdout=subprocess.DEVNULL)
            process.wait(timeout=300)
            install.engine.close()
            session.close()
            line.close()


def fast_upstream() -> AbstractContextManager[str]:
    """The base URL of a provider that costs next to nothing."""
    return program("fast_upstream.py")


@contextmanager
def program(name: str) -> Iterator[str]:
    """A server of this folder as a process of its own: its URL."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name(name))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=10)


def _await_health(install: Fixture, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError("the orchestrator ended at once")
        try:
            if requests.get(f"{install.url}/api/health", timeout=5).ok:
                return
        except requests.ConnectionError:
            pass
        time.sleep(0.05)
    raise RuntimeError("the orchestrator does not get healthy")
