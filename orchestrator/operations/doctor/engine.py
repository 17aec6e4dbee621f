"""Examines the container engine by what it says of itself, and the image by what the engine has. Starts nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.core.errors import NotFound
from orchestrator.core.finding import Finding, fail, ok, warn
from orchestrator.engine.protocol import ImageEngine
from orchestrator.engine.setup.docker_setup import limits_lacking

ENGINE, IMAGE = "engine", "image"
FILTERS_ALG = (29, 4, 3)
"""The first Docker whose own filter refuses AF_ALG sockets, by which a container could change the host's files
(CVE-2026-31431)."""


def examine_engine(version: Mapping[str, Any], info: Mapping[str, Any]) -> list[Finding]:
    """Which engine it is, which limits it can't hold, and what its age means."""
    parts = {str(part["Name"]): str(part["Version"]) for part in version.get("Components") or ()}
    beside = ", ".join(f"{name} {parts[name]}" for name in ("containerd", "runc", "crun") if name in parts)
    name = "Podman" if any("podman" in part.lower() for part in parts) else "Docker"
    number = str(version.get("Version", "of unknown version"))
    found = [ok(ENGINE, f"{name} {number} answers{f' ({beside})' if beside else ''}.")]
    found += [fail(ENGINE, lack.text, f"{lack.fix[:1].upper()}{lack.fix[1:]}.") for lack in limits_lacking(info)]
    if name == "Docker" and parse_version(number) < FILTERS_ALG:
        found.append(
            warn(
                ENGINE,
                f"Docker {number} is older than {'.'.join(map(str, FILTERS_ALG))}: on a kernel without the fix for"
                " CVE-2026-31431 its own containers can change the host's files. Cubicles can't, as their filter"
                " refuses the system call; other containers on this machine may.",
                "Keep the kernel up to date, and update Docker when your system offers it.",
            )
        )
    return found


def examine_image(images: ImageEngine, target: str = "base") -> Finding:
    """Whether the cubicle's image is there and made of the files that are here now. Raises Unavailable."""
    try:
        image = images.find_image(target)
    except NotFound as error:
        return warn(IMAGE, error.message, "Run './hermit up': it builds it.")
    return ok(IMAGE, f"{image.name} is up to date ({image.size_bytes // 10**6:,} MB).")


def parse_version(version: str) -> tuple[int, ...]:
    """``20.10.24+dfsg1`` as (20, 10, 24); empty when it starts with no number."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()
