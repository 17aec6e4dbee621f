"""The benches that are programs of their own and keep their own place on the page: each is run as one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.environments import with_embeddings

_ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = {
    "live": "a word of the model, a line of a command, until somebody sees it",
    "calendar": "10,000 calendar entries",
    "pages": "every page of a full house",
    "memories": "search among 100,000 memories",
    "previews": "web apps",
    "browsers": "live browsers",
}


def run(name: str, *, is_written: bool) -> None:
    """Raises RuntimeError when it fails."""
    python = with_embeddings() if name == "memories" else sys.executable
    command = [str(python), "-P", "-m", f"bench.{name}", *(["--write"] if is_written else [])]
    if subprocess.run(command, cwd=_ROOT, check=False).returncode:
        raise RuntimeError("it ended with an error, which stands above")
