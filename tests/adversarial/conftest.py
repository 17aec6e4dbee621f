"""What several of these have in common: an install under pair of tenants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.two_tenants import TwoTenants, two_tenants


@pytest.fixture
def tenants(tmp_path: Path) -> Iterator[TwoTenants]:
    """A fresh one."""
    with two_tenants(tmp_path) as made:
        yield made
