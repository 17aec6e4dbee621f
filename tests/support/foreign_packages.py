"""Programs of others that tests run: from npm and from PyPI, pinned with hashes in ``tests/thirdparty``, installed once
into ``.cache``, whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.npm import find_npm

ROOT = Path(__file__).resolve().parents[2]
PINNED = ROOT / "tests" / "thirdparty"
_INSTALL_S = 400


def npm_folder(name: str) -> Path:
    """Where ``node_modules`` of this folder of ``tests/thirdparty`` is."""
    npm, _ = find_npm()

    def install(new: Path) -> list[str]:
        for file in ("package.json", "package-lock.json"):
            shutil.copy(PINNED / name / file, new / file)
        return [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(new)]

    return _installed("npm", name, PINNED / name / "package-lock.json", install)


def pip_folder(name: str) -> Path:
    """Where the Python packages of this folder of ``tests/thirdparty`` are, for ``PYTHONPATH``."""
    lock = PINNED / name / "requirements.txt"
    pip = [sys.executable, "-m", "pip", "install", "--require-hashes", "--no-input", "--disable-pip-version-check"]
    return _installed("pip", name, lock, lambda new: [*pip, "--target", str(new), "-r", str(lock)])


def _installed(kind: str, name: str, lock: Path, install: Callable[[Path], list[str]]) -> Path:
    """The folder; what another lock file or Python made is another one."""
    mark = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:12]
    place = ROOT / ".cache" / kind / f"{name}-{mark}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with (place.parent / f"{name}.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not place.exists():
            new = place.with_name(f"{place.name}.new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            done = subprocess.run(install(new), check=False, capture_output=True, text=True, timeout=_INSTALL_S)
            assert done.returncode == 0, done.stderr[-2_000:]
            new.rename(place)
    return place
