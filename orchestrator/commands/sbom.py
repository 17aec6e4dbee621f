"""``sbom``: prints what this program is made of, for whoever has to look for known faults in it."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime

import docker
import requests

from orchestrator.bill import Material, cyclonedx, of_repository, read_debian
from orchestrator.commands.context import Context
from orchestrator.commands.explaining import explain
from orchestrator.errors import Unavailable
from orchestrator.host.engine_setup import ensure_engine
from orchestrator.host.image import ensure_image
from orchestrator.version import VERSION

_LIST = ("-W", "-f", "${Package}\\t${Version}\\t${Architecture}\\n")
_RELEASE = "debian-12"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    sbom = commands.add_parser("sbom", help="what this program is made of, as CycloneDX 1.5 JSON")
    sbom.add_argument("--image", action="store_true", help="with the Debian packages of the cubicle's image")
    sbom.add_argument("--json", action="store_true", help="print JSON, as it does anyway")
    sbom.set_defaults(run=_run)
    explain(
        sbom,
        "What this program is made of, as CycloneDX 1.5 JSON, for whoever looks for known faults in it.",
        "sbom > hermitshell.cdx.json",
        "sbom --image",
    )


def _run(context: Context, options: argparse.Namespace) -> int:
    materials = of_repository(context.root)
    if options.image:
        client = ensure_engine(context.machine, context.progress)
        try:
            image = ensure_image(client, "base", machine=context.machine, progress=context.progress, root=context.root)
            materials += in_image(client, image)
        finally:
            client.close()
    print(json.dumps(cyclonedx(materials, version=VERSION, now=datetime.now(UTC)), indent=2))
    return 0


def in_image(client: docker.DockerClient, image: str) -> list[Material]:
    """The Debian packages of an image, told by itself in a throw-away container without network. Raises Unavailable."""
    try:
        listed: bytes = client.containers.run(
            image,
            list(_LIST),
            entrypoint="/usr/bin/dpkg-query",
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            user="65534",
            working_dir="/",
            mem_limit="256m",
            pids_limit=32,
            remove=True,
        )
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise Unavailable("The image could not be asked for its packages. './hermit doctor' shows more.") from error
    return read_debian(listed.decode("utf-8", "replace"), _RELEASE)
