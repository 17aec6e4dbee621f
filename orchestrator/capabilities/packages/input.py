"""Input: the names of packages as an agent writes them, read strictly, so that nothing but a name and a version ever
reaches pip or npm: no option, address, folder or range."""

from __future__ import annotations

import re
from collections.abc import Iterable

from orchestrator.core.errors import BadInput
from orchestrator.core.text import one_line

PIP, NPM = "pip", "npm"
MOST_REQUESTS = 20

MOST_CHARS = 300
"""Of all names and versions of one request: the index reads them before a person has agreed, so they carry little."""

_PIP_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_PIP_VERSION = re.compile(r"[0-9][A-Za-z0-9.!+_-]{0,29}")
_NPM_NAME = re.compile(r"(?:@[A-Za-z0-9][A-Za-z0-9._-]{0,39}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NPM_VERSION = re.compile(r"[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}(?:[-+][0-9A-Za-z.+-]{1,24})?")
_CODED = re.compile(r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{25,}")
"""Letters and digits without an end, as no package is called: data in the shape of a name."""


def read_requests(system: str, texts: Iterable[str]) -> tuple[str, ...]:
    """The requests as pip or npm understands them, each once, in their order. Raises BadInput that names a wrong
    one.
    """
    read = _pip if system == PIP else _npm
    found = tuple(dict.fromkeys(read(text.strip()) for text in texts))
    if not 1 <= len(found) <= MOST_REQUESTS:
        raise BadInput(f"packages: name 1 to {MOST_REQUESTS} packages at a time.")
    if sum(map(len, found)) > MOST_CHARS:
        raise BadInput(f"packages: all names together have more than {MOST_CHARS} characters. Ask for fewer at a time.")
    return found


def same_name(system: str, name: str) -> str:
    """The name as its index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower() if system == PIP else name


def is_name(system: str, name: str) -> bool:
    """It can be a package's name."""
    is_shaped = (_PIP_NAME if system == PIP else _NPM_NAME).fullmatch(name) is not None
    return is_shaped and _CODED.search(name) is None


def is_version(system: str, version: str) -> bool:
    """It can be a package's version."""
    return (_PIP_VERSION if system == PIP else _NPM_VERSION).fullmatch(version) is not None


def _pip(text: str) -> str:
    name, equals, version = (part.strip() for part in text.partition("=="))
    if not is_name(PIP, name) or (equals and not is_version(PIP, version)):
        raise BadInput(
            f"packages: {one_line(text, 80)!r} is no package of pip's. Write NAME or NAME==VERSION, nothing else."
        )
    return f"{same_name(PIP, name)}{equals}{version}"


def _npm(text: str) -> str:
    name, equals, version = (part.strip() for part in text.partition("=="))
    if not equals:
        head, at, version = text[1:].partition("@")
        name, equals = text[:1] + head, at
    if not is_name(NPM, name) or (equals and not is_version(NPM, version)):
        raise BadInput(
            f"packages: {one_line(text, 80)!r} is no package of npm's. Write NAME or NAME@1.2.3, nothing else."
        )
    return f"{name}@{version}" if equals else name
