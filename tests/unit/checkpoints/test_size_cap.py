"""``orchestrator.checkpoints.size_cap``: a history keeps to its cap, and what it still has is exactly what was."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.checkpoints.models import Parts, PointKind
from orchestrator.checkpoints.size_cap import KEPT_NEWEST, LEAST_CAP_BYTES
from orchestrator.core.errors import NotFound, TooLarge
from tests.support.history_fixture import Facts, HistoryFixture, assert_sound, folder_size, write

CAP = 2 << 20


class Watch:
    """How much a folder took at most, asked all the time by somebody else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="meter")
        self.most = 0
        self.looks = 0

    def _look(self) -> None:
        while not self._over.is_set():
            self.most = max(self.most, folder_size(self._folder))
            self.looks += 1
            self._over.wait(0.001)

    @contextmanager
    def running(self) -> Iterator[None]:
        """It looks meanwhile."""
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()


def fill(history: HistoryFixture, count: int, size: int, *, label: str = "") -> None:
    """Points that each bring so many new bytes."""
    for number in range(count):
        write(history.work / "a", os.urandom(size))
        history.take(label=f"{label}{number}")


@pytest.mark.parametrize("size", [500, 100_000, 900_000])
def test_it_is_kept_to(history: HistoryFixture, size: int) -> None:
    """After every point; twice of it is passed at no instant, whoever looks when."""
    history.cap = CAP
    watch = Watch(history.folder)
    with watch.running():
        for number in range(min(150, 20 * CAP // size)):
            write(history.work / f"{number % 7}", os.urandom(size))
            history.take()
            assert history.size() <= CAP + KEPT_NEWEST * size
    assert watch.looks > 5
    assert watch.most < 2 * CAP
    assert history.size() <= CAP or size > CAP // 10


def test_the_oldest_go_first(history: HistoryFixture) -> None:
    """What is left is a row without a gap, up to the newest."""
    history.cap = CAP
    fill(history, 100, 50_000)
    ids = [point.id for point in history.store.list_checkpoints()]
    assert ids == list(range(100, 100 - len(ids), -1))
    assert CAP // 2 < history.size() <= CAP
    with pytest.raises(NotFound):
        history.store.restore(1)


def test_named_points_stay(history: HistoryFixture) -> None:
    """Byte for byte, however much comes after them; until somebody lets them go."""
    history.cap = CAP
    write(history.work / "kept", os.urandom(200_000))
    write(history.work / "d" / "too", b"1")
    named, tree = history.take(PointKind.NAMED, "keep this"), history.tree()
    (history.work / "kept").unlink()
    fill(history, 80, 60_000)
    assert named in history.store.list_checkpoints()
    assert history.kept(named.id) == tree
    history.store.restore(named.id)
    assert history.tree() == tree
    history.store.forget_checkpoint(named.id)
    with pytest.raises(NotFound):
        history.kept(named.id)


def test_where_only_named_ones_are_left_nothing_more_is_kept(history: HistoryFixture) -> None:
    """New contents are listed without being kept; nothing that was promised goes, and the cap's double holds."""
    history.cap = CAP
    trees = {}
    for number in range(40):
        write(history.work / "a", os.urandom(200_000))
        point = history.take(PointKind.NAMED, f"{number}")
        assert history.size() < 2 * CAP
        if not point.unkept:
            trees[point.id] = history.tree()
    assert 5 < len(trees) < 20
    for point_id, tree in trees.items():
        assert history.kept(point_id) == tree
    for number in list(trees)[:-1]:
        history.store.forget_checkpoint(number)
    history.store.forget_oldest()
    point = history.take()
    assert history.kept(point.id) == history.tree()


def test_a_content_without_room_is_kept_when_there_is_some(history: HistoryFixture) -> None:
    """It is listed as not kept until then."""
    history.cap = LEAST_CAP_BYTES
    write(history.work / "a", os.urandom(3 << 20))
    write(history.work / "b", b"small")
    first = history.take()
    assert first.unkept == 1
    assert not history.store.get_entry(first.id, "work/a").is_kept
    assert history.store.read_content(first.id, "work/b", max_bytes=9) == b"small"
    assert history.take() == first
    history.cap = 16 << 20
    second = history.take()
    assert second.id > first.id
    assert history.kept(second.id) == history.tree()


def test_a_history_of_rows_alone_goes_on(history: HistoryFixture) -> None:
    """Names that come and go fill it without any content; the oldest points go for that too."""
    history.cap = LEAST_CAP_BYTES
    for number in range(300):
        for index in range(20):
            (history.work / f"{index}").unlink(missing_ok=True)
            (history.work / f"a-name-of-its-own-{number}-{index}").touch()
            (history.work / f"a-name-of-its-own-{number - 1}-{index}").unlink(missing_ok=True)
        assert history.take().changed >= 20
        assert history.size() <= LEAST_CAP_BYTES
    points = history.store.list_checkpoints(limit=1000)
    assert points[0].id == 300
    assert 20 < len(points) < 300
    assert history.kept(300) == history.tree()


def test_many_names_at_once_push_older_points_out(history: HistoryFixture) -> None:
    """A list that has room by itself is not refused for the sake of what was before."""
    history.cap = 4 << 20
    fill(history, 40, 80_000)
    for number in range(17_000):
        (history.work / f"a-name-that-takes-some-room-{number}").touch()
    point = history.take()
    assert point.changed == 17_000
    assert history.size() < 2 * history.cap
    assert len(history.store.list_checkpoints()) == KEPT_NEWEST + 1
    assert history.kept(point.id) == history.tree()


def test_too_many_names_are_refused(history: HistoryFixture) -> None:
    """Rows count too: a list that is over the cap by itself is none, and what was there before stays."""
    history.cap = LEAST_CAP_BYTES
    write(history.work / "a", b"1")
    first = history.take()
    watch = Watch(history.folder)
    with watch.running():
        for number in range(30_000):
            (history.work / f"a-name-that-takes-some-room-{number}").touch()
        with pytest.raises(TooLarge, match="too many files"):
            history.take()
    assert watch.most < 2 * LEAST_CAP_BYTES
    assert [point.id for point in history.store.list_checkpoints()] == [first.id]
    assert history.store.read_content(first.id, "work/a", max_bytes=9) == b"1"
    for number in range(30_000):
        (history.work / f"a-name-that-takes-some-room-{number}").unlink()
    assert history.take() == first


@pytest.mark.parametrize("seed", range(2))
def test_what_is_kept_is_what_was(history: HistoryFixture, seed: int) -> None:
    """Through hundreds of random points of all kinds, with forgetting, rewriting and reopening between them."""
    history.cap = LEAST_CAP_BYTES
    chance = random.Random(seed)  # noqa: S311 - no secret
    trees: dict[int, dict[Parts, Facts]] = {}
    pool = [chance.randbytes(chance.randrange(40_000)) for _ in range(30)]
    watch = Watch(history.folder)
    with watch.running():
        for number in range(96):
            for _ in range(chance.randrange(1, 5)):
                _do_something(history.work, chance, pool)
            kind = chance.choice([PointKind.COMMAND] * 20 + [PointKind.NAMED])
            trees[history.take(kind).id] = history.tree()
            if chance.random() < 0.05:
                history.reopen()
            if chance.random() < 0.05:
                history.store.forget_checkpoint(history.store.list_checkpoints()[-1].id)
            if number % 12 == 11:
                _check_kept(history, trees)
    assert watch.most < 2 * LEAST_CAP_BYTES
    assert len(history.store.list_checkpoints()) < len(trees)


def _check_kept(history: HistoryFixture, trees: dict[int, dict[Parts, Facts]]) -> None:
    assert_sound(history.store)
    points = history.store.list_checkpoints(limit=1000)
    for point in points:
        assert history.kept(point.id) == trees[point.id]
    for older, newer in zip(points[1:], points, strict=False):
        was, now = trees[older.id], trees[newer.id]
        differ = {path for path in was.keys() | now.keys() if _without_time(was, path) != _without_time(now, path)}
        assert {change.path for change in history.store.diff(older.id, newer.id)} == differ


def _without_time(tree: dict[Parts, Facts], path: Parts) -> tuple[str, int, bytes] | None:
    found = tree.get(path)
    return None if found is None else (found[0], found[1], found[3])


def _do_something(work: Path, chance: random.Random, pool: list[bytes]) -> None:
    folder = work / chance.choice("abc") / chance.choice("de")
    path = folder / chance.choice("fghij")
    if chance.random() < 0.2 and path.exists():
        path.unlink()
    else:
        write(path, chance.choice([*pool, chance.randbytes(5_000)]), mode=chance.choice([0o644, 0o755]))
