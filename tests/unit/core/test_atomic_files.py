"""``orchestrator.core.atomic_files``: the old text or the new one, never a piece, and for its owner alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.core import atomic_files as whole_files


def test_a_file_is_made_and_replaced_for_its_owner_alone(tmp_path: Path) -> None:
    """Whoever reads the old one goes on reading it; what a death left of another try is no hindrance."""
    file = tmp_path / "keys.json"
    whole_files.replace_file(file, "one é")
    (tmp_path / ".keys.json.new").write_text("half of", encoding="utf-8")
    with file.open(encoding="utf-8") as before:
        whole_files.replace_file(file, "two")
        assert before.read() == "one é"
    assert file.read_text(encoding="utf-8") == "two"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]


def test_what_can_not_be_written_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk refuses at the last moment, when all was written but nothing is sure."""
    file = tmp_path / "keys.json"
    whole_files.replace_file(file, "one")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        whole_files.replace_file(file, "two")
    assert file.read_text(encoding="utf-8") == "one"
