"""Pictures of curves for the page, drawn by matplotlib in a virtual environment of its own under the user's cache: the
program and its tests need nothing of it (and what finds numpy installed would load it)."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from bench.figures import PAGE, Found

_ROOT = Path(__file__).resolve().parents[1]
_LOCK = _ROOT / "requirements-bench.lock"
_PIP_S = 600


def cache() -> Path:
    """Where what only measuring needs is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "hermitshell" / "bench"


def draw(found: Found) -> list[str]:
    """Markdown that shows each picture, drawn anew."""
    if not found.pictures:
        return []
    python = _painter()
    shown = []
    for of, title in found.pictures.items():
        curves = [asdict(curve) for curve in found.curves if curve.of == of]
        if not curves:
            continue
        file = PAGE.parent / "performance" / f"{of.replace(' ', '-')}.svg"
        file.parent.mkdir(exist_ok=True)
        subprocess.run(
            [str(python), "-I", str(Path(__file__).with_name("painter.py")), str(file)],
            input=json.dumps({"title": title, "of": of, "curves": curves}),
            text=True,
            check=True,
        )
        shown.append(f"![{title}](performance/{file.name})")
    return [" ".join(shown)]


def _painter() -> Path:
    """An interpreter with matplotlib, installed from its lock when missing or stale."""
    digest = hashlib.sha256(_LOCK.read_bytes()).hexdigest()[:12]
    venv = cache() / f"painter-{digest}"
    done = venv / "installed"
    if not done.exists():
        print("Installing what draws pictures …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        pip = [str(venv / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "-r", str(_LOCK)], check=True, timeout=_PIP_S)
        done.touch()
    return venv / "bin" / "python"
