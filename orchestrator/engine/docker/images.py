"""The images that containers start from, of one engine: there, or built."""

from __future__ import annotations

from pathlib import Path

import docker

from orchestrator.core.errors import NotFound
from orchestrator.engine.docker.client import translate_errors
from orchestrator.engine.protocol import EngineImage
from orchestrator.engine.setup.base_image import find_base
from orchestrator.engine.setup.cubicle_image import REPOSITORY, Target, content_hash, context_files, ensure_image
from orchestrator.engine.setup.machine import Machine
from orchestrator.engine.setup.progress import SetupProgress

_TARGETS: dict[str, Target] = {"studio": "studio", "resolver": "resolver", "browser": "browser"}


class DockerImages:
    """Finds and builds the images of the repository in ``root``."""

    def __init__(self, client: docker.DockerClient, machine: Machine, progress: SetupProgress, root: Path) -> None:
        self._client, self._machine, self._progress, self._root = client, machine, progress, root

    def ensure_image(self, target: str) -> str:
        """Its name; built first where it is missing or out of date. Raises Unavailable."""
        wanted = _TARGETS.get(target, "base")
        return ensure_image(self._client, wanted, machine=self._machine, progress=self._progress, root=self._root)

    def find_image(self, target: str) -> EngineImage:
        """It, as it is now. Raises NotFound or Unavailable."""
        with translate_errors():
            base = find_base(self._client)
            if base is None:
                raise NotFound("The cubicle's image is not built yet.")
            wanted = _TARGETS.get(target, "base")
            name = f"{REPOSITORY}:{wanted}-{content_hash(context_files(self._root, wanted), wanted, base)[:12]}"
            try:
                made = self._client.images.get(name)
            except docker.errors.ImageNotFound:
                raise NotFound("The cubicle's image is missing or out of date.") from None
            return EngineImage(name, str(made.id), int(made.attrs.get("Size", 0)))
