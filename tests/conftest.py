"""Guards around every test: nothing reaches the network, no thread of a server stays behind, logging, the environment
and the working folder are as they were.

The tiers on real engines, browsers and models (marked ``docker``, ``browser``, ``model``, ``thirdparty``) may use the
network; everything else about them is guarded too.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import fuzzing
from tests.support import made_once

FREE_TIERS = ("docker", "browser", "model", "thirdparty")
OUR_THREADS = ("http", "watch", "wake", "out-")
HELPERS = {"http-accept": ("http",), "out-watch": ("out-take", "wake")}
"""Who lives for long starts threads of these names, numbered or not, as there is work."""
LEAVE_S = 20.0
_LOOPBACK = ("127.", "::1", "localhost", "::ffff:127.")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--big-apps``: with what is big to install; ``--cases``: how much ``test_api_fuzz`` tries; ``--all-sizes``:
    browser tests run in both windows."""
    parser.addoption("--all-sizes", action="store_true", help="run every browser test at phone and desktop size")
    parser.addoption("--big-apps", action="store_true", help="also with JupyterLab: 220 MB and a minute")
    parser.addoption("--cases", type=int, default=0, help="cases of each kind for every operation of the API")


def pytest_configure(config: pytest.Config) -> None:
    """Properties say nothing about how fast this machine is; what is always the same is made once."""
    gc.disable()  # what is collected now stays until the end
    fuzzing.load_profile()
    patch = pytest.MonkeyPatch()
    made_once.share_for_the_session(patch)
    config.add_cleanup(patch.undo)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What is big to install is tested where it is asked for."""
    if not config.getoption("--big-apps"):
        for item in items:
            if item.get_closest_marker("big_apps"):
                item.add_marker(pytest.mark.skip(reason="--big-apps installs and tests it"))


def pytest_collection_finish() -> None:
    """The tests are no garbage: nobody looks through them again."""
    gc.collect()
    gc.freeze()
    gc.enable()


class NetworkGuard:
    """Refuses every connection and name look-up beyond this machine while it is on, and remembers it."""

    def __init__(self) -> None:
        self.is_on = False
        self.refused: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Python calls this at every audited event; it can't be taken out again, so it is switched."""
        if not self.is_on or event not in ("socket.connect", "socket.sendto", "socket.getaddrinfo"):
            return
        address = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        host = address[0] if isinstance(address, tuple) else address
        if event == "socket.getaddrinfo" and _is_numeric(host):
            return
        if str(host).rstrip(".").endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "there is no such name, and never will be")
        if not _is_near(host, is_name=event == "socket.getaddrinfo" or isinstance(address, tuple)):
            self.refused.append(f"{event} {host!r}")
            raise ConnectionRefusedError(f"tests stay on this machine, and {host!r} is not on it")


def _is_near(host: object, *, is_name: bool) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not is_name or host in (None, "", "0.0.0.0", "::"):
        return True  # a unix socket, or an address to listen at
    return isinstance(host, str) and host.startswith(_LOOPBACK)


def _is_numeric(host: object) -> bool:
    """Nobody needs to be asked about an address in figures."""
    try:
        ipaddress.ip_address(str(host))
    except ValueError:
        return False
    return True


_network = NetworkGuard()
sys.addaudithook(_network)


@pytest.fixture(autouse=True)
def _stays_on_this_machine(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test of the quick tiers talks to anything but unix sockets and loopback."""
    _network.refused.clear()
    _network.is_on = not any(request.node.get_closest_marker(tier) for tier in FREE_TIERS)
    yield
    _network.is_on = False
    assert not _network.refused, "the test tried to reach the network"


@pytest.fixture(autouse=True)
def _has_no_loop_of_others(request: pytest.FixtureRequest) -> Iterator[None]:
    """Once there is a browser, Playwright's event loop counts as the running one of this thread until the very end, so
    that ``asyncio.run`` refuses to start another. Tests without a browser don't see it."""
    loop = None if "browser" in request.fixturenames else asyncio._get_running_loop()
    if loop is not None:
        asyncio._set_running_loop(None)
    yield
    if loop is not None:
        asyncio._set_running_loop(loop)


@pytest.fixture(autouse=True)
def _leaves_no_thread() -> Iterator[None]:
    """Whoever starts a server, a watch or a waker ends it."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + LEAVE_S
    while (left := _left_since(before)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left, f"threads were left behind: {sorted(thread.name for thread in left)}"


@pytest.fixture(autouse=True)
def _restores_logging() -> Iterator[None]:
    """Handlers and levels of the root logger are as before; new handlers are closed."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in root.handlers[:]:
        if handler not in handlers:
            root.removeHandler(handler)
            handler.close()
    for handler in handlers:
        if handler not in root.handlers:
            root.addHandler(handler)
    root.setLevel(level)


@pytest.fixture(autouse=True)
def _leaves_the_process_alone() -> Iterator[None]:
    """The environment and the working folder are untouched."""
    environment, folder = dict(os.environ), Path.cwd()
    yield
    assert Path.cwd() == folder, "the test left the process in another folder"
    assert _settings(dict(os.environ)) == _settings(environment), "the test changed the environment"


def _settings(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name != "PYTEST_CURRENT_TEST"}


def _left_since(before: set[threading.Thread]) -> list[threading.Thread]:
    """What a wider fixture keeps, a server or a whole install, may start threads for its work meanwhile; those are not
    this test's."""
    kept = {thread.name for thread in before if thread.is_alive()}
    theirs = {name for keeper, names in HELPERS.items() if keeper in kept for name in names}
    new = [thread for thread in threading.enumerate() if thread not in before]
    return [t for t in new if t.name.startswith(OUR_THREADS) and re.sub(r"_\d+$", "", t.name) not in theirs]
