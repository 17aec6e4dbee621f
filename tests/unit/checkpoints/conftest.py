"""A cubicle with a history, for all tests of points of time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.history_fixture import HistoryFixture, assert_sound


@pytest.fixture
def history(tmp_path: Path) -> Iterator[HistoryFixture]:
    """A fresh one; whatever a test does, it is sound in the end."""
    made = HistoryFixture(tmp_path)
    yield made
    assert_sound(made.store)
    made.store.close()
