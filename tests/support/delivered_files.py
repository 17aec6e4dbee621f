"""Files that leave an agent's ``out/`` in a turn, as the real watch on that folder finds them."""

from __future__ import annotations

import io
import time
import wave
from collections.abc import Mapping
from pathlib import Path

from orchestrator.core.models import CubicleKey, Delivery
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


def deliver_files(install: AppFixture, key: CubicleKey, files: Mapping[str, bytes]) -> dict[str, int]:
    """A turn of this cubicle delivers them: the number of each by its name."""

    def make(scene: Scene) -> None:
        put_out(scene, files)
        scene.say("Here.")

    install.plays["make"] = make
    turn = install.services.turns.submit(key, "make", source="test").id
    install.services.turns.wait_for_end(turn, 20)
    return {found.name: found.id for found in await_deliveries(install, turn, len(files))}
