"""The files for running in a container say what the program says."""

from __future__ import annotations

import re
from pathlib import Path

from orchestrator.core.config import SETTINGS

ROOT = Path(__file__).parents[2]
COMPOSE = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


def test_every_setting_gets_into_the_container() -> None:
    """None is forgotten, none is made up."""
    passed = re.findall(r"^      ([A-Z_]+):", COMPOSE.split("environment:")[1].split("extra_hosts:")[0], re.MULTILINE)
    assert sorted(passed) == sorted(SETTINGS)


def test_nothing_is_published_beyond_this_machine_unasked() -> None:
    """Every port is bound to loopback by default."""
    ports = re.findall(r"^      - (\S+)$", COMPOSE.split("ports:")[1].split("volumes:")[0], re.MULTILINE)
    assert len(ports) == 2
    assert all(port.startswith("${HERMIT_BIND:-127.0.0.1}:") for port in ports)


def test_the_home_has_one_path() -> None:
    """The engine resolves it on the host."""
    assert "- ${HERMIT_HOME}:${HERMIT_HOME}\n" in COMPOSE


def test_only_the_program_enters_the_build() -> None:
    """Every folder that the image copies is let through, and data is not."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    copied = re.findall(r"^COPY (\w+) ", (ROOT / "orchestrator/Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert "*" in lines
    packages = {"requirements.lock", "requirements-embeddings.lock", ".cache/wheels"}
    assert {line[1:] for line in lines if line.startswith("!")} == {*copied, *packages}
