"""Small files of the program's own, such as its keys: each is there whole, as it was before or as it is now."""

from __future__ import annotations

import os
from pathlib import Path

from orchestrator.core import dirs as folders


def replace_file(path: Path, text: str) -> None:
    """``path`` holds ``text``, for nobody else to read, also after a power cut from here on. Raises OSError; then it is
    as it was."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600, exist_ok=False)
    with new.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folders.flush_folder(path.parent)
