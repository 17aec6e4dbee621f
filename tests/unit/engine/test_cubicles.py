"""``orchestrator.engine.docker.cubicles`` where the real engine can't be brought to say what it says now and then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import docker
import pytest

from orchestrator.core.errors import NotFound
from orchestrator.engine.docker.cubicles import DockerCubicles


class Silent(BaseHTTPRequestHandler):
    """An engine that answers every question with 200 and nothing."""

    def do_GET(self) -> None:
        """The answer."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def engine() -> Iterator[DockerCubicles]:
    """Ours, with that one behind it."""
    with HTTPServer(("127.0.0.1", 0), Silent) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        client = docker.DockerClient(f"http://127.0.0.1:{server.server_port}", version="1.41")
        yield DockerCubicles(client, "test")
        client.close()
        server.shutdown()
        thread.join()


def test_one_that_ends_while_it_is_measured_does_not_run(engine: DockerCubicles) -> None:
    """The engine then answers nothing, which is no sign that it is away."""
    with pytest.raises(NotFound):
        engine.get_usage("hermit-test-crab-1")
