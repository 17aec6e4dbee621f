"""What an agent may try against the delivery of its files: swaps in the middle of a look, outbox folders without
end, disks kept busy. A canary lies where no copy may ever come from.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.capabilities.delivery.intake import IntakeOutcome
from orchestrator.capabilities.delivery.watcher import OutboxWatcher
from orchestrator.core.rates import USUAL_RATES, Rates
from tests.support.delivery_fixture import KEY, DeliveryFixture, outgoing

CANARY = b"canary-" + b"7f3a" * 8
SWAP_S = 15.0


@pytest.fixture
def install(tmp_path: Path) -> Iterator[DeliveryFixture]:
    """Without caps, so that only what is tested holds."""
    with outgoing(tmp_path / "home", rates=Rates(10**9, 10**9)) as made:
        yield made


@contextmanager
def swapping(*steps: Callable[[], object]) -> Iterator[None]:
    """Somebody does these one after the other, as fast as possible, meanwhile."""
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for step in steps:
                with suppress(OSError):
                    step()

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def copies(install: DeliveryFixture) -> Iterator[bytes]:
    """What all private copies hold."""
    for path in (install.home / "outbox").iterdir():
        with suppress(FileNotFoundError):
            yield path.read_bytes()


def test_a_file_swapped_for_a_link_never_leaks(install: DeliveryFixture) -> None:
    """File and link, folder and link to a folder, in turn: no copy holds the canary, and good content arrives."""
    secret = install.home / "secret"
    secret.mkdir()
    (secret / "f").write_bytes(CANARY)
    out = install.out
    (out / ".dir").mkdir()
    (out / ".dir" / "f").write_bytes(b"good")
    (out / ".link").symlink_to(secret / "f")
    (out / ".dirlink").symlink_to(secret)
    count = iter(range(10**9))

    def fresh() -> None:
        (out / ".good").write_bytes(b"good %d" % next(count))
        (out / ".good").rename(out / "f")

    def link() -> None:
        (out / ".l").symlink_to(secret / "f")
        (out / ".l").rename(out / "f")

    steps = (
        fresh,
        link,
        lambda: (out / ".dir").rename(out / "d"),
        lambda: (out / "d").rename(out / ".dir"),
        lambda: (out / ".dirlink").rename(out / "d"),
        lambda: (out / "d").rename(out / ".dirlink"),
    )
    outcomes, deadline = set[IntakeOutcome](), time.monotonic() + SWAP_S
    with swapping(*steps):
        turn = install.turn()
        while time.monotonic() < deadline:
            for path, asked in ((b"f", None), (b"d", None), (b"d/f", turn)):
                outcomes.add(install.intake.take_file(KEY, path, found_at=time.time(), asked=asked))
    assert IntakeOutcome.DONE in outcomes
    kept = list(copies(install))
    assert any(content.startswith(b"good") for content in kept)
    assert not any(CANARY in content for content in kept)


@contextmanager
def watched(install: DeliveryFixture) -> Iterator[OutboxWatcher]:
    """The outbox folder is watched."""
    watch = OutboxWatcher(install.workspaces, install.intake, tidy=install.deliveries.remove_old)
    watch.start([KEY])
    watch.add_cubicle(KEY)
    try:
        yield watch
    finally:
        watch.close()


def eventually(look: Callable[[], object], patience_s: float = 60.0) -> None:
    """Until it is so."""
    deadline = time.monotonic() + patience_s
    while not look():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def test_an_outbox_folder_of_two_hundred_thousand_files_costs_little(tmp_path: Path) -> None:
    """One notice; after that, looks that cost next to nothing, and the next file arrives."""
    with outgoing(tmp_path / "home") as install:
        folder = os.open(install.out, os.O_RDONLY)
        for number in range(200_000):
            os.close(os.open(str(number), os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=folder))
        os.close(folder)
        with watched(install) as watch:
            eventually(lambda: any(made.status == "withheld" for made in install.rows()))
            eventually(lambda: not watch.is_settling(KEY))
            (notice,) = [made for made in install.rows() if made.status == "withheld"]
            assert notice.name == f"{200_000 - USUAL_RATES.files_per_minute:,} files"
            before = time.process_time()
            for turn in range(10):
                watch.turn_ended(KEY, turn)
                eventually(lambda: not watch.is_settling(KEY))
            assert time.process_time() - before < 1.0
        # After a start all names are looked at once more, and none is read.
        with watched(install) as watch:
            before = time.process_time()
            eventually(lambda: not watch.is_settling(KEY))
            assert time.process_time() - before < 5.0
        assert len(install.rows()) == USUAL_RATES.files_per_minute + 1
        install.workspaces.remove_cubicle(KEY)


def test_touching_a_large_file_again_and_again_reads_it_seldom(install: DeliveryFixture) -> None:
    """Each reading in vain makes the outbox folder wait many times as long."""
    install.put("large", os.urandom(64 << 20))
    with watched(install):
        eventually(install.rows)
        before = time.process_time()
        with swapping(lambda: (install.out / "large").open("r+b").close(), lambda: time.sleep(0.005)):
            time.sleep(0.1)
            for _ in range(60):
                os.utime(install.out / "large")
                time.sleep(0.05)
        assert time.process_time() - before < 2.0
    assert len(install.rows()) == 1


def test_a_name_in_another_s_outbox_folder_is_never_seen(install: DeliveryFixture) -> None:
    """A outbox folder that is itself a link is no outbox folder."""
    secret = install.home / "secret"
    secret.mkdir()
    (secret / "f").write_bytes(CANARY)
    for child in install.out.iterdir():
        child.unlink()
    install.out.rmdir()
    install.out.symlink_to(secret)
    with watched(install) as watch:
        eventually(lambda: not watch.is_settling(KEY))
        install.intake.take_file(KEY, b"f", found_at=time.time())
    assert install.rows() == []
    assert install.outbox == []
