"""``orchestrator.core.long_poll``: nobody misses a ring, and nobody counts on who has hung up."""

from __future__ import annotations

import os
import socket
import threading
import time

from orchestrator.core.long_poll import LongPoll
from orchestrator.core.models import CubicleKey

KEY, OTHER = CubicleKey("crab", 1), CubicleKey("crab", 2)


def _soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


def test_a_ring_before_the_wait_is_heard() -> None:
    """Once; the next wait needs the next ring."""
    bells = LongPoll()
    with bells.listening(KEY) as ear:
        assert bells.wake_listeners(KEY)
        assert bells.wake_listeners(KEY)
        assert ear.wait(_soon())
        assert not ear.wait(_soon(0.01))


def test_rings_only_for_its_own_cubicle() -> None:
    """And only while somebody listens."""
    bells = LongPoll()
    assert not bells.wake_listeners(KEY)
    with bells.listening(KEY) as ear:
        assert not bells.wake_listeners(OTHER)
        assert not ear.wait(_soon(0.01))
    assert not bells.wake_listeners(KEY)


def test_wakes_all_who_listen() -> None:
    """Each of them."""
    bells = LongPoll()
    with bells.listening(KEY) as one, bells.listening(KEY) as two:
        bells.wake_listeners(KEY)
        assert one.wait(_soon())
        assert two.wait(_soon())


def test_a_listener_whose_client_hangs_up_waits_no_longer() -> None:
    """Also when it was rung at the same moment: there is nobody to give anything to."""
    bells = LongPoll()
    ours, theirs = socket.socketpair()
    with ours, bells.listening(KEY, ours.fileno()) as ear:
        threading.Timer(0.02, theirs.close).start()
        assert not ear.wait(_soon())
        bells.wake_listeners(KEY)
        assert not ear.wait(_soon())


def test_no_descriptor_is_left() -> None:
    """However many listened, and although others ring meanwhile."""
    bells = LongPoll()
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - descriptors, not files
    ended = threading.Event()

    def ring() -> None:
        while not ended.is_set():
            bells.wake_listeners(KEY)

    ringer = threading.Thread(target=ring)
    ringer.start()
    for _ in range(300):
        with bells.listening(KEY) as ear:
            ear.wait(_soon(0.001))
    ended.set()
    ringer.join(5)
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208 - as above; another test's may just have gone
    assert bells._waiters == {}
