"""What an agent does over and over while something else goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def meanwhile(*deeds: Callable[[], object]) -> Iterator[None]:
    """These, each in a thread of its own, until the block ends; what the system refuses is tried again."""
    over = threading.Event()

    def repeat(deed: Callable[[], object]) -> None:
        while not over.is_set():
            with suppress(OSError):
                deed()

    threads = [threading.Thread(target=repeat, args=(deed,), name="agent") for deed in deeds]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(10)
