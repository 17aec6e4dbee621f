"""``orchestrator.files.quota``: what follows from what is used."""

from __future__ import annotations

import pytest

from orchestrator.core.models import CubicleLimits
from orchestrator.files import quota as rules
from orchestrator.files.models import Use
from orchestrator.files.quota import MB, TRIES, Allowance, QuotaLevel, QuotaState, Room

LIMIT = Allowance(100 * MB, 10_000)


def use(megabytes: float, inodes: int = 10) -> Use:
    """A workspace that takes so much."""
    return Use(int(megabytes * MB), inodes, is_complete=True)


@pytest.mark.parametrize(
    ("disk_mb", "inodes"), [(16, 101_024), (2048, 231_072), (14_062, 999_968), (1024 * 1024, 1_000_000)]
)
def test_the_allowance_grows_with_the_limit(disk_mb: int, inodes: int) -> None:
    """Files in proportion, but never more than can be counted."""
    assert rules.get_allowance(CubicleLimits(disk_mb=disk_mb)) == Allowance(disk_mb * MB, inodes)


@pytest.mark.parametrize(
    ("used", "level", "must_stop"),
    [
        (use(0), QuotaLevel.OK, False),
        (use(79.9), QuotaLevel.OK, False),
        (use(80), QuotaLevel.NEARLY_FULL, False),
        (use(1, 8_000), QuotaLevel.NEARLY_FULL, False),
        (use(99.9), QuotaLevel.NEARLY_FULL, False),
        (use(100), QuotaLevel.FULL, True),
        (use(1, 10_000), QuotaLevel.FULL, True),
    ],
)
def test_warned_at_80_percent_and_stopped_at_the_limit(used: Use, level: QuotaLevel, must_stop: bool) -> None:  # noqa: FBT001 - a table's column
    """Of bytes or of files, whichever comes first."""
    standing, stops = rules.judge_usage(QuotaState(), used, LIMIT)
    assert (standing.level, stops) == (level, must_stop)


def test_above_the_limit_there_is_room_to_clean_up() -> None:
    """It may grow by a little, then it is stopped again; below the limit all is forgotten."""
    standing, _ = rules.judge_usage(QuotaState(), use(120), LIMIT)
    standing = rules.with_room_to_clean_up(standing, use(120), LIMIT)
    assert rules.judge_usage(standing, use(126), LIMIT)[1] is False
    assert rules.judge_usage(standing, use(127), LIMIT)[1] is True
    assert rules.judge_usage(standing, use(110), LIMIT)[1] is False
    assert rules.judge_usage(standing, use(99), LIMIT) == (QuotaState(QuotaLevel.NEARLY_FULL), False)


def test_starting_again_and_again_gives_no_more_room() -> None:
    """The ceiling stays while it was not reached."""
    standing = rules.with_room_to_clean_up(QuotaState(), use(100), LIMIT)
    for used in (101, 103, 105):
        standing = rules.with_room_to_clean_up(standing, use(used), LIMIT)
    assert standing.ceiling == Allowance(int(106.25 * MB), 11_000)


def test_after_some_tries_a_person_is_needed() -> None:
    """Each stop above the limit counts."""
    standing, used = QuotaState(), 100.0
    for tried in range(TRIES):
        assert not standing.is_out_of_tries, tried
        standing, must_stop = rules.judge_usage(standing, use(used), LIMIT)
        assert must_stop
        standing = rules.with_room_to_clean_up(standing, use(used), LIMIT)
        used += 20
    assert standing.is_out_of_tries
    assert not rules.judge_usage(standing, use(50), LIMIT)[0].is_out_of_tries


def test_a_writer_at_full_speed_is_looked_at_a_few_times() -> None:
    """However large the limit: each look comes half way to the next mark."""
    limit = rules.get_allowance(CubicleLimits(disk_mb=1024 * 1024))
    used, looks = use(0), 0
    while not limit.is_reached(used):
        used = Use(used.bytes + rules.next_check_after(used, limit, None).bytes, 10, is_complete=True)
        looks += 1
    assert looks < 20
    assert used.bytes < limit.bytes * 1.02


@pytest.mark.parametrize(
    ("total", "free", "is_short", "is_critical"),
    [
        (1 << 40, 2 << 30, False, False),
        (1 << 40, (1 << 30) - 1, True, False),
        (1 << 40, (1 << 29) - 1, True, True),
        (64 * MB, 4 * MB, False, False),
        (64 * MB, 3 * MB, True, False),
        (64 * MB, 1 * MB, True, True),
    ],
)
def test_the_reserve_is_smaller_on_a_small_disk(total: int, free: int, is_short: bool, is_critical: bool) -> None:  # noqa: FBT001 - a table's columns
    """A twentieth, at most 1 GiB."""
    room = Room(free, 1_000, total)
    assert (room.is_short, room.is_critical) == (is_short, is_critical)


def test_people_and_agents_are_told_what_to_do() -> None:
    """How much, what is largest, and the ways out; nothing while there is room."""
    largest = [("work/a.bin", 70 * MB), ("work/b", 20 * MB)]
    told = rules.for_the_person("crab", use(101), LIMIT, largest, may_try=True)
    assert "101 of 100 MB are used (most of it: work/a.bin 70 MB, work/b 20 MB)" in told
    assert "Ask it to delete" in told
    assert "./hermit agent set crab limits.disk_mb=200" in told
    assert "can't start until you delete" in rules.for_the_person("crab", use(101), LIMIT, [], may_try=False)
    assert "10,000 of 10,000 files" in rules.for_the_person("crab", use(1, 10_000), LIMIT, [], may_try=True)
    assert rules.for_the_agent(use(79), LIMIT, largest) == ""
    assert "nearly full" in rules.for_the_agent(use(85), LIMIT, largest)
    assert "FULL" in rules.for_the_agent(use(100), LIMIT, largest)
