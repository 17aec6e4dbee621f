"""Pictures of curves for the page, drawn by matplotlib in a virtual environment of its own under the user's cache: the
program and its tests need nothing of it (and what finds numpy installed would load it)."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

from bench.environments import locked
from bench.figures import PAGE, Found


def draw(found: Found) -> list[str]:
    """Markdown that shows each picture, drawn again."""
    if not found.pictures:
        return []
    python = locked("painter", "requirements-bench.lock")
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
