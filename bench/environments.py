"""Virtual environments that only measuring needs, under the user's cache: one as an install of the program has it (the
tests' own holds much that is loaded when it is found), one for what draws, one for each peer."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
PIP_S = 480


def cache() -> Path:
    """Where they are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "hermitshell" / "bench"


def locked(name: str, lock: str) -> Path:
    """The interpreter of an environment that holds what a lock of ours says. Raises RuntimeError."""
    file = _ROOT / lock
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    return _made(f"{name}-{digest}", ["--require-hashes", "-r", str(file)])


def with_embeddings() -> Path:
    """The interpreter of an environment with the program's own packages and the small embedding model. Raises
    RuntimeError."""
    locks = [_ROOT / "requirements.lock", _ROOT / "requirements-embeddings.lock"]
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()[:12]
    wanted = [argument for lock in locks for argument in ("-r", str(lock))]
    # Without dependencies, as the tests install it: the locks name all that is used.
    return _made(f"embeddings-{digest}", ["--no-deps", "--require-hashes", *wanted])


def newest(name: str, *packages: str) -> Path:
    """The interpreter of an environment with the newest of these packages. Raises RuntimeError."""
    return _made(name, list(packages))


def _made(name: str, wanted: list[str]) -> Path:
    venv = cache() / name
    python = venv / "bin" / "python"
    if not (venv / "installed").exists():
        print(f"Installing {name} …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted]
        ran = subprocess.run(pip, capture_output=True, text=True, timeout=PIP_S, check=False)
        if ran.returncode:
            raise RuntimeError(f"pip: {(ran.stderr.strip() or 'no reason given').splitlines()[-1]}")
        (venv / "installed").touch()
    return python
