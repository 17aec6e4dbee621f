"""Files that leave an agent's ``out/`` in a turn, as the real watch on that folder finds them."""

from __future__ import annotations

import io
import time
import wave
from collections.abc import Mapping
from pathlib import Path

from orchestrator.core.models import Delivery
from tests.support.app_fixture import AppFixture, Scene


def put_out(scene: Scene, files: Mapping[str, bytes]) -> None:
    """These files are in ``out/``, each there at once and as a whole."""
    home = Path(scene.install.services.settings.home)
    out = home / "workspaces" / scene.key.agent / str(scene.key.user) / "out"
    for name, content in files.items():
        (out / f".{name}").write_bytes(content)
        (out / f".{name}").rename(out / name)


def await_deliveries(install: AppFixture, turn: int, count: int) -> list[Delivery]:
    """What the turn delivered, once so many files have arrived."""
    deadline = time.monotonic() + 20
    while len(found := install.services.deliveries.of_turns([turn])) < count:
        assert time.monotonic() < deadline, "the files were not delivered"
        time.sleep(0.02)
    return found


def make_tone(seconds: int) -> bytes:
    """A WAV file with a low hum."""
    made = io.BytesIO()
    with wave.open(made, "wb") as tone:
        tone.setparams((1, 1, 8000, 0, "NONE", ""))
        tone.writeframes(bytes(128 + n // 40 % 2 * 20 for n in range(8000 * seconds)))
    return made.getvalue()
