"""npm and Node, for the programs of others that tests run: pinned ones, installed into ``.cache``."""

from __future__ import annotations

import os
import shutil

import pytest


def find_npm() -> tuple[str, str]:
    """Where npm and Node are. Without them the test is skipped, but never where a CI runs it."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        if os.environ.get("CI"):
            pytest.fail("npm is missing: a CI must run these tests")
        pytest.skip("npm is not installed")
    return npm, node
