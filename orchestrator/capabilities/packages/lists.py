"""Lists: the packages that a request comes to, as a package resolver reported them, held against what can be, and as a
person is asked about them. A report is a stranger's text: whatever does not fit exactly makes the whole of it
worthless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.capabilities.packages.input import NPM, PIP, is_name, is_version, same_name
from orchestrator.core.errors import BadInput, TooLarge

MOST_PACKAGES = 300
MOST_BYTES = 500_000_000
"""What one installation may take, all packages together."""
_HASH = {PIP: re.compile(r"sha256:[0-9a-f]{64}"), NPM: re.compile(r"sha512:[0-9a-f]{128}")}
_FILE = {
    PIP: re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,198}\.whl"),
    NPM: re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,198}\.tgz"),
}
_URL = re.compile(r"https?://[!-~]{1,2000}")
_PLACE = re.compile(r"node_modules/[A-Za-z0-9@._/-]{1,500}")


@dataclass(frozen=True, slots=True)
class Package:
    """One package, to the byte."""

    name: str
    version: str
    file: str
    url: str
    hash: str
    """``sha256:…`` of pip's, ``sha512:…`` of npm's, as the index has it."""
    size: int
    places: tuple[str, ...]
    """Where npm puts it, such as ``node_modules/a/node_modules/b``; of pip's packages nothing."""


def read_list(system: str, reported: object) -> tuple[Package, ...]:
    """The packages of a report. Raises BadInput when anything in it is not as it must be, TooLarge over the caps."""
    if not isinstance(reported, list) or not reported:
        raise BadInput("the list of packages is empty")
    if len(reported) > MOST_PACKAGES:
        raise TooLarge(f"{len(reported)} packages would be needed, and at most {MOST_PACKAGES} fit at a time.")
    packages = tuple(_package(system, entry) for entry in reported)
    if len({package.file for package in packages}) != len(packages):
        raise BadInput("two packages have the same file")
    places = [place for package in packages for place in package.places]
    if len(set(places)) != len(places):
        raise BadInput("two packages have the same place")
    total = sum(package.size for package in packages)
    if total > MOST_BYTES:
        raise TooLarge(f"They take {size_in_words(total)}, and {size_in_words(MOST_BYTES)} is the most at a time.")
    return packages


def write_list(packages: Sequence[Package]) -> list[dict[str, Any]]:
    """The list as JSON, which ``read_list`` reads again."""
    return [{**asdict(package), "places": list(package.places)} for package in packages]


def total_of(packages: Sequence[Package]) -> int:
    """Bytes of all of them."""
    return sum(package.size for package in packages)


def as_question(system: str, packages: Sequence[Package]) -> str:
    """The exact text that a person agrees to."""
    return "\n".join([f"{system} install", *(_line(system, package) for package in packages)])


def as_detail(system: str, asked: Sequence[str], packages: Sequence[Package]) -> dict[str, Any]:
    """The same for surfaces that show a table."""
    return {
        "system": system,
        "asked": list(asked),
        "packages": [_shown(package) for package in packages],
        "total_bytes": total_of(packages),
    }


def size_in_words(count: int) -> str:
    """``11.3 KB``, ``1.2 MB``; a MB has a million bytes."""
    return f"{count / 1_000_000:,.1f} MB" if count >= 999_950 else f"{count / 1_000:,.1f} KB"


def _line(system: str, package: Package) -> str:
    sign = "==" if system == PIP else "@"
    return f"{package.name}{sign}{package.version}  {size_in_words(package.size)}  {package.hash}"


def _shown(package: Package) -> dict[str, Any]:
    kind, _, digest = package.hash.partition(":")
    return {"name": package.name, "version": package.version, "size_bytes": package.size, kind: digest}


def _package(system: str, entry: object) -> Package:
    if not isinstance(entry, Mapping):
        raise BadInput("a package is no object")
    name, version, file, url, digest = (entry.get(what) for what in ("name", "version", "file", "url", "hash"))
    size, places = entry.get("size"), entry.get("places")
    if not (isinstance(name, str) and is_name(system, name)):
        raise BadInput("a package's name is none")
    if not (isinstance(version, str) and is_version(system, version)):
        raise BadInput(f"the version of {name} is none")
    if not (isinstance(file, str) and _FILE[system].fullmatch(file) and _is_of(system, file, name)):
        raise BadInput(f"the file of {name} has another name")
    if not (isinstance(url, str) and _URL.fullmatch(url)):
        raise BadInput(f"the address of {name} is none")
    if not (isinstance(digest, str) and _HASH[system].fullmatch(digest)):
        raise BadInput(f"the hash of {name} is none")
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise BadInput(f"the size of {name} is none")
    return Package(name, version, file, url, digest, size, _places(system, places, name))


def _is_of(system: str, file: str, name: str) -> bool:
    """A wheel's file begins with the package's name; a tarball's is made of it."""
    if system == PIP:
        return same_name(PIP, file.partition("-")[0]) == same_name(PIP, name)
    return file.startswith(f"{name.lstrip('@').replace('/', '-')}-")


def _places(system: str, places: object, name: str) -> tuple[str, ...]:
    if not isinstance(places, list) or bool(places) is not (system == NPM):
        raise BadInput(f"the places of {name} are none")
    for place in places:
        parts = place.split("/") if isinstance(place, str) else [""]
        if not isinstance(place, str) or not _PLACE.fullmatch(place) or not {"", ".", ".."}.isdisjoint(parts):
            raise BadInput(f"a place of {name} is none")
    return tuple(places)
