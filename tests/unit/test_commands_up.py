"""``./hermit up`` beside a house that runs already."""

from __future__ import annotations

import os
from pathlib import Path

from orchestrator.commands.up import is_older
from orchestrator.home import Claim, claimed_at, prepare


def test_a_program_that_was_updated_is_noticed(tmp_path: Path) -> None:
    """By its files' times: a newer source tells, what Python makes of it and what lies beside it does not."""
    home, root = prepare(tmp_path / "home"), tmp_path / "program"
    source, compiled = root / "orchestrator" / "app.py", root / "orchestrator" / "app.pyc"
    source.parent.mkdir(parents=True)
    claim = Claim(home)
    for path in (source, compiled, root / "notes.py"):
        path.touch()
        os.utime(path, (0, claimed_at(home.path) + 60))
    assert is_older(home.path, root)
    os.utime(source, (0, claimed_at(home.path) - 60))
    assert not is_older(home.path, root)
    claim.release()
