"""What several of these have in common: a house under siege."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.two_tenants import TwoTenants, besieged


@pytest.fixture
def siege(tmp_path: Path) -> Iterator[TwoTenants]:
    """A fresh one."""
    with besieged(tmp_path) as made:
        yield made
