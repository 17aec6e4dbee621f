"""A file that a page gave, on its way into ``in/``, as the row of its job says. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.models import CubicleKey
from orchestrator.core.text import escape_invisible
from orchestrator.files.names import safe_name
from orchestrator.jobs.rows import Job

SAVE_JOB = "page_file"
HELD_NAME = "file"
"""The copy's, in the folder of the job."""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """One of them, from when its copy was made."""

    cubicle: CubicleKey
    wanted: str
    """The name that it shall have in ``in/``."""
    name: str
    """The name that it has there, or may have got already."""
    size_bytes: int
    sha256: str
    host: str
    """Who gave it."""
    url: str
    """From where; empty where a script made it."""
    page: str
    """The host of the page that it was given on."""
    guid: str
    """What the browser calls it."""
    job: Job

    @property
    def text(self) -> str:
        """What a person agrees to."""
        return f"{self.wanted}\n{self.size_bytes:,} bytes from {self.host}\nSHA-256 {self.sha256}"

    @property
    def said(self) -> str:
        """It in a few words."""
        return f"in/{self.name or self.wanted} ({format_size(self.size_bytes)}) from {self.host}"

    def detail(self) -> dict[str, Any]:
        """What a person should know, and whom they may allow for longer."""
        facts = {"name": self.wanted, "size_bytes": self.size_bytes, "host": self.host, "url": self.url[:500]}
        return {**facts, "page": self.page, "why": self.job.payload["why"], "warnings": []}


def name_of(suggested: str, out: str) -> str:
    """How it shall be called: as the agent says, or as the page wishes."""
    return safe_name(escape_invisible(out or suggested))


def read_saved(job: Job) -> SavedFile:
    """The file of this job; raises KeyError before its copy was made."""
    result = job.result
    return SavedFile(
        job.cubicle,
        name=result.get("name", ""),
        job=job,
        **{one: result[one] for one in ("wanted", "size_bytes", "sha256", "host", "url", "page", "guid")},
    )
