"""Puts a Docker engine together for one install."""

from __future__ import annotations

import docker

from orchestrator.core.home import Home
from orchestrator.engine.docker.client import DockerFacts
from orchestrator.engine.docker.cubicles import DockerCubicles
from orchestrator.engine.docker.exec import DockerExec
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.protocol import Engine, ImageEngine
from orchestrator.engine.sandbox_probe import FirstLook


def build_engine(client: docker.DockerClient, home: Home, images: ImageEngine) -> Engine:
    """The engine behind ``client``. The first cubicle of each image is looked at from the inside before it works."""
    programs = DockerExec(client, home.install)
    facts = DockerFacts(client)
    look = FirstLook(programs, facts)
    cubicles = DockerCubicles(client, home.install, look=look)
    return Engine(cubicles, DockerHelpers(client, home.install, str(home.path)), programs, images, facts)
