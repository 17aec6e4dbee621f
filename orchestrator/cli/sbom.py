"""``sbom``: prints what this program is made of, for whoever has to look for known faults in it."""

from __future__ import annotations

import argparse
import contextlib
import json
import secrets
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.cli.context import Context
from orchestrator.cli.help import add_help
from orchestrator.core.errors import Unavailable
from orchestrator.core.version import VERSION
from orchestrator.engine import helper_folder
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.docker.images import DockerImages
from orchestrator.engine.helpers import LISTER
from orchestrator.engine.protocol import HelperEngine
from orchestrator.engine.setup.docker_setup import ensure_engine
from orchestrator.operations.sbom import Material, cyclonedx_document, of_repository, read_debian

_RELEASE = "debian-12"
_TIME_S, _MOST_BYTES = 60.0, 10_000_000


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    sbom = commands.add_parser("sbom", help="what this program is made of, as CycloneDX 1.5 JSON")
    sbom.add_argument("--image", action="store_true", help="with the Debian packages of the cubicle's image")
    sbom.add_argument("--json", action="store_true", help="print JSON, as it does anyway")
    sbom.set_defaults(run=_run)
    add_help(
        sbom,
        "What this program is made of, as CycloneDX 1.5 JSON, for whoever looks for known faults in it.",
        "sbom > hermitshell.cdx.json",
        "sbom --image",
    )


def _run(context: Context, options: argparse.Namespace) -> int:
    materials = of_repository(context.root)
    if options.image:
        with contextlib.closing(ensure_engine(context.machine, context.progress)) as client:
            images = DockerImages(client, context.machine, context.progress, context.root)
            helpers = DockerHelpers(client, context.home.install, str(context.home.path))
            materials += in_image(helpers, images.ensure_image("base"), context.home.path / "run")
    print(json.dumps(cyclonedx_document(materials, version=VERSION, now=datetime.now(UTC)), indent=2))
    return 0


def in_image(helpers: HelperEngine, image: str, folder: Path) -> list[Material]:
    """The Debian packages of an image, told by itself in a helper container; ``folder`` is one that the engine sees.
    Raises Unavailable."""
    with tempfile.TemporaryDirectory(prefix=".sbom-", dir=folder) as box:
        spec = helper_folder.make_folder(
            Path(box), secrets.token_hex(4), LISTER, image, {}, time_s=_TIME_S, max_bytes=_MOST_BYTES
        )
        helpers.run_helper(spec, is_wanted=lambda: True)
        try:
            with helper_folder.open_result(spec.brought / "list") as file:
                listed = file.read(_MOST_BYTES).decode("utf-8", "replace")
        except OSError as error:
            raise Unavailable("The image could not be asked for its packages. './hermit doctor' shows more.") from error
    return read_debian(listed, _RELEASE)
