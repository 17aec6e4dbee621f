"""What this program is made of, as a bill of materials in CycloneDX 1.5: Python packages as they are locked, files of
others that lie in the repository, and Debian packages of the cubicle's image where somebody lists them.

Owns the reading of lock files and of ``vendored.toml``, and the form of the bill. Reaches no network and no engine; a
licence is told where the installed package tells it, and left out where it doesn't.
"""

from __future__ import annotations

import json
import re
import tomllib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from orchestrator.core.errors import ConfigError

LOCKS = ("requirements.lock", "requirements-embeddings.lock")
"""What an install may have; the other locks are for tests."""
VENDORED = "vendored.toml"
_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)(?:\s*;\s*([^\\]+?))?\s*\\?")
_HASH = re.compile(r"\s*--hash=sha256:([0-9a-f]{64})\s*\\?")
_NAMED = "License :: OSI Approved :: "
_LONGEST_LICENCE = 100


@dataclass(frozen=True, slots=True)
class Material:
    """Something of others that this program contains or needs."""

    name: str
    version: str
    purl: str
    """Its name for every tool, such as ``pkg:pypi/flask@3.1.3``."""
    hashes: tuple[str, ...] = ()
    """SHA-256, of each file that the lock lets through; one of them is installed."""
    licence: str = ""
    is_optional: bool = False
    where: str = ""
    """A marker such as ``sys_platform == 'win32'``, or the file it is."""
    source: str = ""


def read_lock(text: str, *, is_optional: bool = False) -> list[Material]:
    """The packages of a lock; raises ConfigError for a line that pins nothing."""
    found: list[Material] = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if (hashed := _HASH.fullmatch(line)) and found:
            found[-1] = replace(found[-1], hashes=(*found[-1].hashes, hashed[1]))
        elif pinned := _PINNED.fullmatch(line):
            name, version, marker = pinned[1].lower(), pinned[2], pinned[3] or ""
            purl = f"pkg:pypi/{quote(name)}@{quote(version)}"
            found.append(Material(name, version, purl, licence=licence_of(name), is_optional=is_optional, where=marker))
        else:
            raise ConfigError(f"The lock holds a line that pins nothing: {line[:80]}")
    return found


def licence_of(package: str) -> str:
    """What the installed package says of its licence; empty where it is not installed or says nothing short."""
    try:
        told = metadata(package).json
    except PackageNotFoundError:
        return ""
    named = [line.removeprefix(_NAMED) for line in told.get("classifier", ()) if line.startswith(_NAMED)]
    said = (str(told.get(field) or "").strip() for field in ("license_expression", "license"))
    short = (text for text in said if text and len(text) <= _LONGEST_LICENCE and "\n" not in text)
    return next(short, " AND ".join(named))


def read_vendored(text: str) -> list[Material]:
    """The files of ``vendored.toml``, each for itself."""
    return [
        Material(
            f"{asset['name']}/{Path(path).name}",
            asset["version"],
            f"pkg:npm/{quote(asset['name'])}@{asset['version']}#{quote(path)}",
            hashes=(digest,),
            licence=asset["licence"],
            is_optional=path.startswith("tests/"),
            where=path,
            source=asset["source"],
        )
        for asset in tomllib.loads(text)["asset"]
        for path, digest in asset["files"].items()
    ]


def read_debian(listed: str, release: str) -> list[Material]:
    """What ``dpkg-query`` listed: name, version and architecture, with tabs between them."""
    rows = (line.split("\t") for line in listed.splitlines())
    return [
        Material(name, version, f"pkg:deb/debian/{quote(name)}@{quote(version)}?arch={arch}&distro={quote(release)}")
        for name, version, arch in (row for row in rows if len(row) == 3)
    ]


def of_repository(root: Path) -> list[Material]:
    """Everything that the repository itself says; raises ConfigError where it is not whole."""
    try:
        needed, optional = ((root / name).read_text(encoding="utf-8") for name in LOCKS)
        vendored = (root / VENDORED).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"I cannot read {error.filename}: is the repository complete?") from error
    return [*read_lock(needed), *read_lock(optional, is_optional=True), *read_vendored(vendored)]


def cyclonedx_document(materials: Sequence[Material], *, version: str, now: datetime) -> dict[str, Any]:
    """The bill. The same materials have the same serial number."""
    components = list(_components(materials))
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([version, components], sort_keys=True))
    own = {"type": "application", "name": "hermitshell", "version": version, "bom-ref": "hermitshell"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"timestamp": now.isoformat(timespec="seconds"), "component": own},
        "components": components,
        "dependencies": [{"ref": "hermitshell", "dependsOn": [each["bom-ref"] for each in components]}],
    }


def _components(materials: Iterable[Material]) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for one in materials:
        if one.purl in seen:
            continue
        seen.add(one.purl)
        made: dict[str, Any] = {
            "type": "file" if one.source else "library",
            "bom-ref": one.purl,
            "name": one.name,
            "version": one.version,
            "purl": one.purl,
            "scope": "optional" if one.is_optional else "required",
        }
        if one.hashes:
            made["hashes"] = [{"alg": "SHA-256", "content": digest} for digest in one.hashes]
        if one.licence:
            made["licenses"] = [{"license": {"name": one.licence}}]
        if one.source:
            made["externalReferences"] = [{"type": "distribution", "url": one.source}]
        if one.where:
            made["properties"] = [{"name": "hermitshell:where", "value": one.where}]
        yield made
