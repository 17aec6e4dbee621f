"""Disks that are soon full: a tmpfs of so many bytes, mounted for as long as a test needs it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """``folder``, made if need be, on a disk of its own with these options of tmpfs, such as ``size=24m``. The test is
    skipped for whoever may not mount one."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk takes root")
    folder.mkdir(exist_ok=True)
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["/bin/umount", "-l", str(folder)], check=True)
