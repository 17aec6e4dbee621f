"""``orchestrator.core.cache``: read once, read again when it was forgotten, and never an old value kept."""

from __future__ import annotations

import pytest

from orchestrator.core.cache import Cache


def test_what_was_read_is_known_until_it_is_forgotten() -> None:
    """Each key for itself; forgetting what is not known is fine."""
    cache: Cache[str, int] = Cache()
    assert [cache.get("a", lambda: 1), cache.get("a", lambda: 2), cache.get("b", lambda: 3)] == [1, 1, 3]
    cache.forget("a")
    cache.forget("nobody")
    assert [cache.get("a", lambda: 4), cache.get("b", lambda: 5)] == [4, 3]


def test_what_changed_while_it_was_read_is_not_kept() -> None:
    """The reader gets what it read, and the next reads again."""
    cache: Cache[str, int] = Cache()

    def read() -> int:
        cache.forget("a")
        return 1

    assert cache.get("a", read) == 1
    assert cache.get("a", lambda: 2) == 2


def test_of_two_readers_the_first_to_end_decides() -> None:
    """So everybody goes by the same value."""
    cache: Cache[str, int] = Cache()
    assert cache.get("a", lambda: cache.get("a", lambda: 1) + 10) == 1


def test_the_oldest_goes() -> None:
    """Where only so many are kept."""
    cache: Cache[int, int] = Cache(most=2)
    for key in (1, 2, 3):
        cache.get(key, lambda key=key: key)  # type: ignore[misc]
    assert [cache.get(key, lambda: 0) for key in (3, 2)] == [3, 2]
    assert cache.get(1, lambda: 0) == 0


def test_a_failure_is_not_kept() -> None:
    """It is raised, and the next try may succeed."""
    cache: Cache[str, int] = Cache()

    def fail() -> int:
        raise KeyError("a")

    with pytest.raises(KeyError):
        cache.get("a", fail)
    assert cache.get("a", lambda: 1) == 1
