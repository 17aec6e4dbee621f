"""What a workspace may take of the disk, what the host keeps for itself, and what follows from what is used: decisions
and their sentences. Nothing here looks at a disk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from orchestrator.core.models import CubicleLimits
from orchestrator.files.models import Use

MB = 1 << 20
WARN_SHARE = 0.8
TRIES = 3
"""How often an agent may be stopped above its limit before it needs a person to make room."""
_INODES_BASE, _INODES_A_MB, _MOST_INODES = 100_000, 64, 1_000_000
"""A file system gives out one inode for 16 KiB as a rule, 64 for a MB; on top a share that a big ``node_modules`` or
two fit in; and never more than can be counted in a few seconds."""
_RESERVE_BYTES, _RESERVE_SHARE = 1 << 30, 0.05
_FINEST_STEP = 64
"""A look is worth while once this part of the limit may have been written."""


class QuotaLevel(StrEnum):
    """How full a workspace is, as people are told."""

    OK = "ok"
    NEARLY_FULL = "nearly full"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much a workspace may take."""

    bytes: int
    inodes: int

    def is_reached(self, use: Use) -> bool:
        """The workspace takes that much, of the one or the other."""
        return use.bytes >= self.bytes or use.inodes >= self.inodes

    def get_share(self, use: Use) -> float:
        """How much of it is used, of whichever is scarcer; 1 is all."""
        return max(use.bytes / self.bytes, use.inodes / self.inodes)


@dataclass(frozen=True, slots=True)
class Room:
    """What is left on a file system."""

    free_bytes: int
    """For those who are not root."""
    free_inodes: int
    total_bytes: int

    @property
    def reserve_bytes(self) -> int:
        """What cubicles may not take: a twentieth of the disk, at most 1 GiB."""
        return min(_RESERVE_BYTES, int(self.total_bytes * _RESERVE_SHARE))

    @property
    def is_short(self) -> bool:
        """The reserve is being eaten."""
        return self.free_bytes < self.reserve_bytes

    @property
    def is_critical(self) -> bool:
        """Half of the reserve is gone."""
        return self.free_bytes < self.reserve_bytes // 2


@dataclass(frozen=True, slots=True)
class QuotaState:
    """How a workspace stands to its limit, and what it was told."""

    level: QuotaLevel = QuotaLevel.OK
    ceiling: Allowance | None = None
    """Above its limit an agent may go on up to here, so that it can clean up."""
    stops: int = 0
    """How often it was stopped since it was last below its limit."""

    @property
    def is_out_of_tries(self) -> bool:
        """It had its chances to clean up by itself."""
        return self.stops >= TRIES


def get_allowance(limits: CubicleLimits) -> Allowance:
    """What an agent with these limits may take."""
    inodes = min(_INODES_BASE + _INODES_A_MB * limits.disk_mb, _MOST_INODES)
    return Allowance(limits.disk_mb * MB, inodes)


def judge_usage(standing: QuotaState, use: Use, limit: Allowance) -> tuple[QuotaState, bool]:
    """How the workspace of a running cubicle stands now, and whether the cubicle must be stopped for it."""
    if not limit.is_reached(use):
        return QuotaState(QuotaLevel.OK if limit.get_share(use) < WARN_SHARE else QuotaLevel.NEARLY_FULL), False
    if (standing.ceiling or limit).is_reached(use):
        return QuotaState(QuotaLevel.FULL, standing.ceiling, standing.stops + 1), True
    return replace(standing, level=QuotaLevel.FULL), False


def with_room_to_clean_up(standing: QuotaState, use: Use, limit: Allowance) -> QuotaState:
    """The same for a cubicle that does not run: when it is above its limit, it may start and grow by a little, for
    what cleaning up itself writes."""
    if not limit.is_reached(use):
        return judge_usage(standing, use, limit)[0]
    if standing.ceiling is not None and not standing.ceiling.is_reached(use):
        return replace(standing, level=QuotaLevel.FULL)
    margin = Allowance(max(4 * MB, limit.bytes // 16), max(1_000, limit.inodes // 16))
    ceiling = Allowance(max(use.bytes, limit.bytes) + margin.bytes, max(use.inodes, limit.inodes) + margin.inodes)
    return QuotaState(QuotaLevel.FULL, ceiling, standing.stops)


def next_check_after(use: Use, limit: Allowance, ceiling: Allowance | None) -> Allowance:
    """What may be written before it is worth while to look again: half of what is left to the next mark.

    So a workspace that fills up is looked at a few times, each time nearer to the mark, however large it is.
    """
    end = ceiling or limit

    def half_way(used: int, whole: int, most: int) -> int:
        mark = whole * WARN_SHARE if used < whole * WARN_SHARE else most
        return max(int(mark - used) // 2, whole // _FINEST_STEP)

    return Allowance(half_way(use.bytes, limit.bytes, end.bytes), half_way(use.inodes, limit.inodes, end.inodes))


# --- sentences -------------------------------------------------------------------------------------------------


def in_words(use: Use, limit: Allowance) -> str:
    """``34.1 of 32 MB``, or the number of files where these are scarcer."""
    if use.bytes / limit.bytes >= use.inodes / limit.inodes:
        return f"{_format_mb(use.bytes)} of {limit.bytes // MB:,} MB"
    return f"{use.inodes:,} of {limit.inodes:,} files and folders"


def for_the_person(agent: str, use: Use, limit: Allowance, largest: list[tuple[str, int]], *, may_try: bool) -> str:
    """Why the agent was stopped, and what to do."""
    cleaning = "Ask it to delete what it no longer needs (it may still run for that)" if may_try else "It can't start"
    then = ", or delete" if may_try else " until you delete"
    return (
        f"{agent} was stopped because its workspace is full: {in_words(use, limit)} are used{_largest_text(largest)}. "
        f"{cleaning}{then} files yourself (./hermit files rm {agent} PATH), or raise the limit: "
        f"./hermit agent set {agent} limits.disk_mb={limit.bytes // MB * 2}"
    )


def for_the_agent(use: Use, limit: Allowance, largest: list[tuple[str, int]]) -> str:
    """What the agent is told before its next turn; empty while there is room."""
    if limit.get_share(use) < WARN_SHARE:
        return ""
    used = f"{in_words(use, limit)} are used{_largest_text(largest)}"
    if limit.is_reached(use):
        return (
            f"Disk: your workspace is FULL: {used}. You were stopped for it or will be if it grows. Before anything "
            "else delete what is not needed; tell the person if nothing can go."
        )
    return f"Disk: your workspace is nearly full: {used}. At the limit you are stopped: delete what is not needed."


def of_the_host(room: Room) -> str:
    """Why no agent may write now."""
    return (
        f"The disk of the machine that HermitShell runs on is almost full: {_format_mb(room.free_bytes)} MB are left "
        f"and {_format_mb(room.reserve_bytes)} MB are kept in reserve, so agents can't work. Free some space "
        "where HERMIT_HOME lies, then send the message again."
    )


def _largest_text(largest: list[tuple[str, int]]) -> str:
    return (
        f" (most of it: {', '.join(f'{name[:80]} {_format_mb(size)} MB' for name, size in largest)})" if largest else ""
    )


def _format_mb(count: int) -> str:
    return f"{count / MB:,.1f}".removesuffix(".0")
