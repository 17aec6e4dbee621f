"""Records of downloads: the files that agents asked for from the internet, as the job of each says. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orchestrator.core.models import CubicleKey
from orchestrator.jobs.rows import Job

KIND = "asset"


class AssetStatus(StrEnum):
    """Where a download stands; the first and ``FETCHING`` can change."""

    ASKED = "asked"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    FETCHING = "fetching"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that an agent asked for."""

    id: str
    """Its question's, where a person was asked."""
    cubicle: CubicleKey
    turn: int | None
    description: str
    """The agent's words."""
    url: str
    host: str
    """In ASCII."""
    file_type: str
    status: AssetStatus
    error: str
    """Why it failed, as a sentence."""
    onward: str
    """The download that is waited for instead: the URL sends on to another host, which a person is asked about."""
    wanted: str
    """The name that it shall have in ``in/``."""
    name: str
    """The name that it has there; before the end, the one that it may have got already."""
    size_bytes: int
    sha256: str
    content_type: str
    """What the server says that it is."""
    asked_at: float
    ended_at: float | None
    job: Job


def read_asset(job: Job) -> Asset:
    """The download that this job fetches."""
    result = job.result
    return Asset(
        id=job.name,
        cubicle=job.cubicle,
        turn=job.turn,
        **job.payload,
        status=AssetStatus(job.progress),
        error=job.error,
        onward=job.waits_for.removeprefix("asset:") if job.waits_for.startswith("asset:") else "",
        name=result.get("name", ""),
        size_bytes=result.get("size_bytes", 0),
        sha256=result.get("sha256", ""),
        content_type=result.get("content_type", ""),
        asked_at=job.created,
        ended_at=job.ended,
        job=job,
    )
