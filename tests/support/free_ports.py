"""TCP ports for servers that a test starts itself, some time after it has chosen their numbers."""

from __future__ import annotations

import itertools
import os
import random
import socket
from collections.abc import Iterator

_LOWEST, _SLICES, _SLICE = 20_000, 12, 1_000
"""All are below 32768, where Linux begins to hand out ports by itself (net.ipv4.ip_local_port_range): until the test's
server listens, no connection and no other server is given that number."""


def free_port() -> int:
    """A port of this machine that nobody listens on, and that no other process of this test run will be told."""
    for port in _ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("unreachable: the ports go round")


def _round(worker: str) -> Iterator[int]:
    """The ports of this worker's slice, from anywhere in it, round and round."""
    slice_begin = _LOWEST + _SLICE * (int(worker.removeprefix("gw")) % _SLICES)
    start = random.randrange(_SLICE)  # noqa: S311 - no secret
    return itertools.cycle(slice_begin + (start + step) % _SLICE for step in range(_SLICE))


_ports = _round(os.environ.get("PYTEST_XDIST_WORKER", f"gw{os.getpid()}"))
