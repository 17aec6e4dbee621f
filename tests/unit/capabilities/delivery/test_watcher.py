"""``orchestrator.capabilities.delivery.watcher``: what is put into a outbox folder is noticed, with and without the
kernel's help.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from orchestrator.capabilities.delivery import debounce as settling
from orchestrator.capabilities.delivery import folder_state as tray_watch
from orchestrator.capabilities.delivery import watcher as watching
from orchestrator.capabilities.delivery.watcher import OutboxWatcher, WatchedDoors
from orchestrator.core.models import CubicleKey
from tests.support.delivery_fixture import KEY, DeliveryFixture, outgoing

OTHER = CubicleKey("crab", 2)


@pytest.fixture
def install(tmp_path: Path) -> Iterator[DeliveryFixture]:
    """An install without carriers."""
    with outgoing(tmp_path) as made:
        yield made


@contextmanager
def watched(install: DeliveryFixture, *, is_deaf: bool = False) -> Iterator[OutboxWatcher]:
    """The outbox folder is watched; deaf, as where the kernel allows no watches."""
    watch = OutboxWatcher(install.workspaces, install.intake, tidy=install.deliveries.remove_old)
    if is_deaf:
        watch._events.start = lambda: None  # type: ignore[method-assign]
    watch.start([KEY])
    watch.add_cubicle(KEY)
    try:
        yield watch
    finally:
        watch.close()


def eventually(look: Callable[[], object], patience_s: float = 20.0) -> None:
    """Until it is so."""
    deadline = time.monotonic() + patience_s
    while not look():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def names(install: DeliveryFixture) -> list[str]:
    """What was delivered, in order of the names."""
    return sorted(made.name for made in install.rows())


def test_what_was_there_before_is_found_at_the_start(install: DeliveryFixture) -> None:
    """Files and folders, once however often one starts."""
    install.put("a.txt")
    (install.out / "f").mkdir()
    install.put("f/x")
    for _ in range(2):
        with watched(install) as watch:
            eventually(lambda: names(install) == ["a.txt", "f.zip"])
            eventually(lambda: not watch.is_settling(KEY))


def test_a_renamed_file_comes_at_once_and_a_written_one_soon(install: DeliveryFixture) -> None:
    """Hidden ones never."""
    with watched(install) as watch:
        eventually(lambda: not watch.is_settling(KEY))
        install.put(".b")
        (install.out / ".b").rename(install.out / "b")
        eventually(lambda: names(install) == ["b"])
        install.put("a")
        install.put("c.part")
        eventually(lambda: names(install) == ["a", "b"])


def test_without_the_kernel_s_help_a_look_finds_it(install: DeliveryFixture) -> None:
    """Every few seconds; also when only the content changed."""
    with watched(install, is_deaf=True) as watch:
        eventually(lambda: not watch.is_settling(KEY))
        for content in (b"one", b"two"):
            install.put("a", content)
            eventually(partial(_has, install, content))
    assert len(install.rows()) == 2


def test_an_outbox_folder_in_which_nothing_happens_is_not_asked(install: DeliveryFixture) -> None:
    """However many idle, what happens in one outbox folder costs the same; dropping one leaves nothing of it."""
    install.workspaces.prepare_folders(OTHER, uid=os.geteuid(), gid=os.getegid())
    with watched(install) as watch:
        watch.add_cubicle(OTHER)
        eventually(lambda: not watch.is_settling(KEY) and not watch.is_settling(OTHER))
        install.put("a")
        eventually(lambda: names(install) == ["a"])
        eventually(lambda: not watch._astir)
        watch.turn_ended(OTHER, 1)
        assert set(watch._astir) <= {OTHER}
        watch.drop_cubicle(OTHER)
        eventually(lambda: not watch._astir)


def _has(install: DeliveryFixture, content: bytes) -> bool:
    return any(install.deliveries.copy_of(made).read_bytes() == content for made in install.rows())


def test_a_closed_file_leaves_when_its_command_has_ended(
    install: DeliveryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long one would wait for quiet; also when the kernel tells of it a moment after the end."""
    monkeypatch.setattr(settling, "QUIET_S", 10.0)
    with watched(install) as watch:
        eventually(lambda: not watch.is_settling(KEY))
        install.put("a")
        eventually(lambda: watch.is_settling(KEY))
        assert names(install) == []
        watch.command_ended(KEY)
        eventually(lambda: names(install) == ["a"], patience_s=5)
        monkeypatch.setattr(tray_watch, "_LATE_S", 5.0)
        watch.command_ended(KEY)
        install.put("b")
        eventually(lambda: names(install) == ["a", "b"], patience_s=5)


def test_a_file_that_a_program_has_open_outlives_the_command_s_end(install: DeliveryFixture) -> None:
    """It comes once and whole, after it was closed."""
    with watched(install) as watch:
        eventually(lambda: not watch.is_settling(KEY))
        with (install.out / "log").open("wb") as file:
            file.write(b"one")
            file.flush()
            eventually(lambda: watch.is_settling(KEY))
            for _ in range(20):
                watch.command_ended(KEY)
                time.sleep(0.02)
            assert names(install) == []
            file.write(b"two")
        watch.command_ended(KEY)
        eventually(lambda: names(install) == ["log"])
        eventually(lambda: not watch.is_settling(KEY))
    assert [made.size_bytes for made in install.rows()] == [6]


def test_an_end_where_nothing_waits_wakes_nobody(install: DeliveryFixture) -> None:
    """Nor one in a outbox folder that is not watched."""
    with watched(install) as watch:
        eventually(lambda: not watch._astir)
        watch.command_ended(KEY)
        watch.command_ended(OTHER)
        assert watch._astir == {}


def test_a_turn_s_end_sends_what_its_answer_names(install: DeliveryFixture) -> None:
    """At once, also what is being waited for."""
    with watched(install) as watch:
        install.put("a")
        turn = install.turn(action="FILE:a|b", is_over=True, at=time.time())
        watch.turn_ended(KEY, turn)
        eventually(lambda: len(install.rows()) == 2)
        eventually(lambda: not watch.is_settling(KEY))
    assert [(made.name, str(made.status), made.turn) for made in install.rows()] == [
        ("a", "sent", turn),
        ("b", "failed", turn),
    ]


def test_an_asking_that_was_cut_off_is_answered_at_the_start(install: DeliveryFixture) -> None:
    """Once."""
    install.put("a")
    install.turn(action="FILE:a", is_over=True, at=time.time())
    for _ in range(2):
        with watched(install) as watch:
            eventually(lambda: len(install.rows()) == 1)
            eventually(lambda: not watch.is_settling(KEY))


def test_a_dropped_outbox_folder_is_left_alone(install: DeliveryFixture) -> None:
    """And may be added again; a outbox folder that is not there is no fault."""
    with watched(install) as watch:
        eventually(lambda: not watch.is_settling(KEY))
        watch.drop_cubicle(KEY)
        watch.drop_cubicle(KEY)
        install.put("a")
        watch.turn_ended(KEY, 1)
        assert not watch.is_settling(KEY)
        watch.add_cubicle(OTHER)
        watch.add_cubicle(KEY)
        eventually(lambda: names(install) == ["a"])


def test_an_outbox_folder_that_was_made_again_is_heard_again(install: DeliveryFixture) -> None:
    """When its door is opened the next time."""
    with watched(install) as watch:
        install.out.rmdir()
        install.out.mkdir()
        watch.add_cubicle(KEY)
        eventually(lambda: not watch.is_settling(KEY))
        install.put("a")
        eventually(lambda: names(install) == ["a"], patience_s=10)


def test_missed_events_lead_to_a_look(install: DeliveryFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the kernel's queue or our own ran over."""
    with watched(install) as watch:
        eventually(lambda: not watch.is_settling(KEY))
        monkeypatch.setattr(watching, "_MOST_HEARD", 0)
        install.put("a")
        monkeypatch.undo()
        watch._events.on_overflow()
        eventually(lambda: names(install) == ["a"])


def test_many_outbox_folders_share_few_threads(tmp_path: Path) -> None:
    """However many there are."""
    with outgoing(tmp_path) as install, watched(install) as watch:
        for user in range(2, 60):
            install.workspaces.prepare_folders(CubicleKey("crab", user), uid=os.geteuid(), gid=os.getegid())
            watch.add_cubicle(CubicleKey("crab", user))
        install.put("a")
        eventually(lambda: names(install) == ["a"])
        assert len(watch._pool._threads) <= 3


class Doors:
    """Remembers."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Noted."""
        self.calls.append(f"open {key}")

    def renew(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Noted."""
        self.calls.append(f"renew {key}")

    def close(self, key: CubicleKey) -> None:
        """Noted."""
        self.calls.append(f"close {key}")


def test_a_door_s_outbox_folder_is_watched_from_when_it_opens(install: DeliveryFixture) -> None:
    """Until it is closed."""
    doors = Doors()
    watch = OutboxWatcher(install.workspaces, install.intake, tidy=install.deliveries.remove_old)
    watch.start([])
    try:
        both = WatchedDoors(doors, watch)
        both.open(KEY, uid=0, gid=0)
        install.put("a")
        eventually(lambda: names(install) == ["a"])
        both.renew(KEY, uid=0, gid=0)
        install.put("b")
        eventually(lambda: "b" in names(install))
        both.close(KEY)
        assert doors.calls == ["open crab/1", "renew crab/1", "close crab/1"]
        assert not watch.is_settling(KEY)
    finally:
        watch.close()
