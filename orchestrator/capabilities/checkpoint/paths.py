"""Paths as an agent writes them, which works in ``work/``: to paths in its workspace, or to a sentence. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.checkpoints.models import COVERED, Parts
from orchestrator.core.errors import BadInput
from orchestrator.files.names import display_path, parts_of

_TOP = "/app/workspace/"
_HERE = "work"


def read_paths(texts: Sequence[str]) -> tuple[Parts, ...]:
    """``work/a``, ``../out/b``, ``/app/workspace/www`` and, of ``work/``, ``a``. Raises UnsafePath for what leads out
    of the workspace, BadInput for what is in another folder of it."""
    return tuple(_read_path(text) for text in texts)


def _read_path(text: str) -> Parts:
    path = text.removeprefix("./").removesuffix("/")
    is_from_top = path.startswith((_TOP, "../"))
    path = path.removeprefix(_TOP).removeprefix("../") if is_from_top else path
    parts = parts_of(path)
    if parts and parts[0] in COVERED:
        return parts
    if is_from_top or not parts:
        raise BadInput(f"paths: {display_path(*parts) or 'this'} is not in work/, out/ or www/.")
    return parts_of(f"{_HERE}/{path}")
