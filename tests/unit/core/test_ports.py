"""``orchestrator.core.ports``: who holds a port of this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from orchestrator.core.ports import who_listens


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_names_who_listens(family: int, address: str) -> None:
    """By program and process; afterwards nobody."""
    with socket.socket(family) as listening:
        try:
            listening.bind((address, 0))
        except OSError:
            pytest.skip(f"this machine has no {address}")
        port = listening.getsockname()[1]
        assert who_listens(port) == ""
        listening.listen()
        name = Path("/proc/self/comm").read_text(encoding="utf-8").strip()
        assert who_listens(port) == f"{name} (process {os.getpid()})"
    assert who_listens(port) == ""
