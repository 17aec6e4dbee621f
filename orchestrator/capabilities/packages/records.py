"""Records of installations: which packages a cubicle's agent asked for, what they came to, and how it went, as the job
of each says. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.capabilities.packages.input import same_name
from orchestrator.core.models import CubicleKey
from orchestrator.jobs.rows import Job

RESOLVING, ASKED, DOWNLOADING, DONE = "resolving", "asked", "downloading", "done"
DENIED, EXPIRED, CANCELLED, FAILED = "denied", "expired", "cancelled", "failed"
STATUSES = (RESOLVING, ASKED, DOWNLOADING, DONE, DENIED, EXPIRED, CANCELLED, FAILED)


@dataclass(frozen=True, slots=True)
class Installation:
    """One ask for packages."""

    id: int
    cubicle: CubicleKey
    turn: int | None
    system: str
    """``pip`` or ``npm``."""
    asked: tuple[str, ...]
    status: str
    """One of ``STATUSES``."""
    error: str
    """Why it ended without packages, as a sentence."""
    packages: tuple[dict[str, Any], ...]
    """The whole list, once it is known (`packages.lists.kept`)."""
    approval: str | None
    asked_at: float
    ended_at: float | None


def read_installation(job: Job) -> Installation:
    """The request that this job is about."""
    return Installation(
        id=int(job.name),
        cubicle=job.cubicle,
        turn=job.turn,
        system=job.payload["system"],
        asked=tuple(job.payload["asked"]),
        status=job.progress,
        error=job.error,
        packages=tuple(job.payload.get("packages", ())),
        approval=job.waits_for.removeprefix("approval:") or None,
        asked_at=job.created,
        ended_at=job.ended,
    )


def list_told(one: Installation) -> frozenset[str]:
    """The names that the index was told, or told itself, in the forms in which they may be asked for again."""
    if not one.packages and one.status not in (RESOLVING, DOWNLOADING, DONE):
        return frozenset()
    sign = "==" if one.system == "pip" else "@"
    names = {same_name(one.system, str(package["name"])) for package in one.packages}
    exact = {f"{same_name(one.system, str(p['name']))}{sign}{p['version']}" for p in one.packages}
    bare = {text.partition("==")[0] if sign == "==" else text[:1] + text[1:].partition("@")[0] for text in one.asked}
    return frozenset({*one.asked, *bare, *names, *exact})


def as_json(one: Installation) -> dict[str, Any]:
    """The installation as surfaces show it; names and versions were read strictly, an error may quote strangers."""
    packages = [
        {"name": p["name"], "version": p["version"], "size_bytes": p["size"], "hash": p["hash"]} for p in one.packages
    ]
    return {
        "id": one.id,
        "agent": one.cubicle.agent,
        "user": one.cubicle.user,
        "turn": one.turn,
        "system": one.system,
        "asked": list(one.asked),
        "packages": packages,
        "total_bytes": sum(package["size_bytes"] for package in packages),
        "status": one.status,
        "error": one.error,
        "approval": one.approval,
        "asked_at": one.asked_at,
        "ended_at": one.ended_at,
    }
