"""What a backup holds, and in which order: a manifest, then every folder and file by its name, then the list of their
hashes, so that a file that is cut, changed or made up is noticed. Pure: it asks no disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from orchestrator.core.errors import BadInput, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files.names import display_path, parts_of

FORMAT = 1
MANIFEST, SUMS = (b"hermit-backup.json",), (b"SHA256SUMS",)
DATABASE = (b"db", b"hermit.db")
WORKSPACES = b"workspaces"
LEFT_OUT = frozenset(
    {b"run", b"backups", b"scratch", b"helpers", b"errands", b"studio", b"browser", b"browsers", b"pages", b"history"}
)
"""What is of this moment alone, the backups themselves, and points of time, which may be as large as all the rest."""
UNFINISHED = (b".new", b".part", b".trial")
LONGEST = 3_500
"""Bytes of a name with its folders; what lies deeper can't be made again by a path."""
MOST_MANIFEST = 1_000_000
_AGENTS_OWN = (b"work", b"out", b"www")

Parts = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The first thing in a backup."""

    install: str
    migrations: tuple[str, ...]
    """What the database has been through, oldest first."""
    made_at: float
    agents: int
    people: int
    turns: int
    most_bytes: int
    """More than this is in no honest backup."""
    most_members: int
    format: int = FORMAT

    def encoded(self) -> bytes:
        """As it stands in the file."""
        return json.dumps(asdict(self), indent=1).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Member:
    """One folder or file in a backup."""

    parts: Parts
    is_folder: bool
    size: int = 0
    mode: int = 0o600
    modified: float = 0.0


def parse_manifest(text: bytes) -> Manifest:
    """The manifest of a file; raises BadInput when it is none or of another format."""
    try:
        found = json.loads(text)
        if isinstance(found, dict) and found.get("format") not in (None, FORMAT):
            raise BadInput("This backup was made by a newer HermitShell. Update this one, then try again.")
        manifest = Manifest(**{**found, "migrations": tuple(found["migrations"])})
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise not_a_backup() from error
    if not _is_sound(asdict(manifest)):
        raise not_a_backup()
    return manifest


def _is_sound(fields: Mapping[str, Any]) -> bool:
    numbers = ("agents", "people", "turns", "most_bytes", "most_members", "format")
    return (
        all(type(fields[name]) is int and fields[name] >= 0 for name in numbers)
        and type(fields["made_at"]) in (int, float)
        and isinstance(fields["install"], str)
        and re.fullmatch(r"[0-9a-f]{1,64}", fields["install"]) is not None
        and all(isinstance(name, str) for name in fields["migrations"])
    )


def not_a_backup() -> BadInput:
    """The error for a file that nobody here made."""
    return BadInput("This is not a HermitShell backup, or it is damaged. Use another file.")


def sum_line(member: Member, digest: str) -> bytes:
    """A member's line in the list of hashes, as ``sha256sum -c`` reads it; folders are remarks there."""
    name = b"/".join(member.parts)
    escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    if member.is_folder:
        return b"# folder " + escaped + b"\n"
    return (b"\\" if escaped != name else b"") + digest.encode() + b"  " + escaped + b"\n"


class MemberOrder:
    """Members come in the order of their names, each behind the folder that it lies in; so none comes twice."""

    def __init__(self) -> None:
        self._last: Parts = ()
        self._open: list[bytes] = []

    def check_member(self, member: Member) -> None:
        """Raises UnsafePath for a member that may not stand here, or not at all."""
        parts = parts_of(tuple(member.parts))
        if not parts or parts <= self._last or len(b"/".join(parts)) > LONGEST:
            raise UnsafePath(f"{display_path(*parts)} is in the wrong place in this backup.")
        if len(parts) == 1 and (parts in (MANIFEST, SUMS) or parts[0] in LEFT_OUT):
            raise UnsafePath(f"{display_path(*parts)} has no place in a backup.")
        if self._open[: len(parts) - 1] != list(parts[:-1]):
            raise UnsafePath(f"{display_path(*parts)} is in no folder of this backup.")
        self._last = parts
        self._open = [*parts] if member.is_folder else [*parts[:-1]]


def member_mode(member: Member) -> int:
    """The permissions that a member gets: as it had them within a cubicle's folders, else its owner's alone."""
    depth = len(member.parts)
    if member.parts[0] != WORKSPACES or depth == 1:
        return 0o700 if member.is_folder else 0o600
    if depth <= 3:
        return 0o711 if member.is_folder else 0o644
    if depth == 4:
        return 0o700 if member.parts[3] in _AGENTS_OWN else 0o755
    return 0o755 if member.is_folder else member.mode & 0o777


def cubicle_of(parts: Parts) -> CubicleKey | None:
    """Whose cubicle can write what lies here; None for what is the install's."""
    if len(parts) < 4 or parts[0] != WORKSPACES or parts[3] not in _AGENTS_OWN or not parts[2].isdigit():
        return None
    return CubicleKey(parts[1].decode("ascii", "replace"), int(parts[2]))
