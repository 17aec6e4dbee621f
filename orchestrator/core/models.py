"""The nouns of the program, as frozen data. No module is below this one, and it has no behaviour beyond naming.

Times are Unix seconds in UTC (``float``); money is in micro-dollars (``int``, 1 USD = 1,000,000) so that sums are
exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from orchestrator.core.asks_again import AsksAgain

CALENDAR = "calendar"
"""The source of turns that an entry of the calendar made."""
MICRO = 1_000_000
"""Micro-dollars in a dollar."""


class Role(StrEnum):
    """What a person may do: the operator everything, a member only what is their own."""

    OPERATOR = "operator"
    MEMBER = "member"


class ApprovalPolicy(StrEnum):
    """Which of an agent's commands ask a person first."""

    OFF = "off"
    DANGEROUS = "dangerous"
    ALL = "all"


class TurnStatus(StrEnum):
    """Where a turn stands. The last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting_approval"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_final(self) -> bool:
        """No later transition exists."""
        return self in (TurnStatus.DONE, TurnStatus.FAILED, TurnStatus.STOPPED)


class Stage(StrEnum):
    """How far something is that a person begins and the program does in the background, one at a time."""

    NONE = "none"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class ApprovalStatus(StrEnum):
    """How a question to a person ended; only ``PENDING`` can change, and it changes once."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class DeliveryStatus(StrEnum):
    """Where a file that left ``out/`` stands. ``KEPT`` and ``HANDED`` are on their way; the others are final."""

    KEPT = "kept"
    """There is a private copy, and nobody was given it yet."""
    HANDED = "handed"
    """A carrier has it."""
    SENT = "sent"
    FAILED = "failed"
    WITHHELD = "withheld"
    """Over a cap: one row for many files, told once."""
    REFUSED = "refused"
    """Nothing that is delivered, such as a link; it was never opened."""


class Ruling(StrEnum):
    """What policy says of a command."""

    RUN = "run"
    ASK = "ask"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Policy's answer about one command."""

    ruling: Ruling
    reason: str = ""
    """One plain sentence for the person who is asked, e.g. ``It deletes files (rm).``; empty when it just runs."""
    kinds: tuple[str, ...] = ()
    """What a person may allow in advance, e.g. ``delete below work/build/``: whoever allowed all of them need not be
    asked. Empty where that can't be named."""


@dataclass(frozen=True, slots=True)
class User:
    """A person who may talk to agents."""

    id: int
    name: str
    role: Role
    identities: tuple[tuple[str, int], ...]
    """Who they are in chat apps: a channel's name, and their number there."""
    time_zone: str
    time_zone_known: bool = False
    """Somebody said so; else it is UTC for want of anything better."""
    daily_budget_micro: int | None = None
    """What their model calls may cost in a UTC day, over all agents; None for no limit of their own."""
    monthly_budget_micro: int | None = None
    """The same for a UTC month."""
    language: str = ""
    """The tag of the language that they chose to read; empty for what their browser asks for."""

    def id_in(self, channel: str) -> int | None:
        """Their number in this channel; None where they are not known there."""
        return dict(self.identities).get(channel)


@dataclass(frozen=True, slots=True)
class CubicleLimits:
    """What one cubicle may use of the host."""

    cpus: float = 1.0
    memory_mb: int = 1024
    """Memory with swap included, MiB."""
    pids: int = 256
    disk_mb: int = 2048
    """What the workspace may hold, MiB."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A persona with its settings; ``name`` is its key and never changes."""

    name: str
    display_name: str
    """What people call it; empty for its name."""
    avatar: str
    """The name of a sign, or an emoji (``agents.looks``); empty for the usual sign."""
    color: str
    """The name of a colour; empty for the one that goes with its name."""
    role: str
    personality: str
    provider: str
    """An upstream's name, or empty for the install's default."""
    model: str
    """A model of that upstream, or empty for its default."""
    fallback_model: str
    image: str
    approval: ApprovalPolicy
    approval_timeout_s: int
    asks_again: AsksAgain
    """What it may read before a grant for a host covers no more."""
    step_limit: int
    command_timeout_s: int
    daily_budget_micro: int
    daily_budget_tokens: int
    """Of models whose price nobody knows, beside the dollars that they are thought to cost."""
    limits: CubicleLimits
    toolsets: tuple[str, ...]
    created_at: float


@dataclass(frozen=True, slots=True)
class CubicleKey:
    """Which cubicle: one agent for one user."""

    agent: str
    user: int

    def __str__(self) -> str:
        return f"{self.agent}/{self.user}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns that belong together; a cubicle may have several at once."""

    id: int
    cubicle: CubicleKey
    name: str
    """What its person calls it; empty until they do."""
    title: str
    """Its first words, which stand for the name until there is one; empty before the first message."""
    head: int | None
    """The newest turn of the branch that is shown and goes on; None before the first message."""
    forked_from: int | None
    """The turn of another conversation that this one goes on from."""
    created_at: float
    used_at: float
    """When its person last wrote in it, or began it."""
    archived_at: float | None = None
    """When it was deleted."""

    @property
    def shown_name(self) -> str:
        """What people read."""
        return self.name or self.title or ("New conversation" if self.head is None else f"Conversation {self.id}")


@dataclass(frozen=True, slots=True)
class Step:
    """One command within a turn."""

    turn: int
    n: int
    """1 for the first command of the turn."""
    thought: str
    command: str
    sha256: str
    ruling: Ruling
    reason: str
    approval: str | None
    status: str
    """``asked``, ``running``, ``done``, ``refused``, or how its approval ended: ``denied``, ``expired``, ``cancelled``.
    """
    exit_code: int | None
    output: str
    started_at: float
    ended_at: float | None


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt, and the place where its answer belongs."""

    id: int
    cubicle: CubicleKey
    source: str
    """The surface it came from: ``dashboard``, ``api``, ``terminal``, ``telegram``, ``calendar``."""
    prompt: str
    status: TurnStatus
    reply: str | None
    error: str | None
    created_at: float
    started_at: float | None
    ended_at: float | None
    tokens: int
    cost_micro: int
    conversation: int
    parent: int | None = None
    """The turn that this one follows; None for the first, or where what was before is gone."""
    apps: tuple[str, ...] = ()
    """The web apps that were made or changed in its time."""
    is_cleared: bool = False
    """It is no part of the conversation any more."""

    @property
    def was_withdrawn(self) -> bool:
        """Its person took the message back before the agent began it."""
        return self.is_cleared and self.status is TurnStatus.STOPPED and self.started_at is None

    @property
    def was_deleted(self) -> bool:
        """A person deleted it with its answer: its words are gone, which no message is without."""
        return self.is_cleared and not self.prompt

    @property
    def may_be_silent(self) -> bool:
        """Nobody waits for a reply, so the agent may end it without words."""
        return self.source == CALENDAR


@dataclass(frozen=True, slots=True)
class Approval:
    """One question to a person about one exact text."""

    id: str
    cubicle: CubicleKey
    turn: int | None
    step: int | None
    """The step whose command this is about; None where the host is to do something."""
    kind: str
    """``command``, ``asset`` or ``packages``."""
    text: str
    sha256: str
    reason: str
    detail: dict[str, Any]
    """What else a person should see, by kind; and what they said beside yes or no."""
    status: ApprovalStatus
    asked_at: float
    expires_at: float
    decided_at: float | None
    decided_by: str | None
    used_at: float | None
    read_mark: int = 0
    """Whoever decides could know what had been read up to this mark (``approvals.source_rows``)."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One file that left a cubicle's ``out/``, sent once."""

    id: int
    cubicle: CubicleKey
    turn: int | None
    """The turn that made it, where there was one."""
    path: bytes
    """Where it lies within ``out/``; empty for a notice about many. Never for opening, nor for showing as it is."""
    name: str
    """A safe name to give the file, e.g. ``report.pdf``; of a folder, its zip's."""
    kind: str
    """``photo``, ``video``, ``animation``, ``audio``, ``voice`` or ``document``."""
    caption: str
    """What the agent says of it, quoted, and a warning for whoever opens it; mostly empty."""
    sha256: str
    size_bytes: int
    at: float
    to: str
    """``dashboard``, or a carrier's name and its own words: ``telegram:12345``."""
    status: DeliveryStatus
    why: str
    """A sentence, for all that was not simply sent."""
    copy: str
    """The private copy's name, or empty when there is none (any more)."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened and that a surface may show at once. ``body`` is JSON-able."""

    kind: str
    """``turn``, ``step``, ``delta`` (a reply so far), ``output`` (a command's, so far), ``approval``, ``question``,
    ``notice``, ``delivery``, ``calendar``, ``memory``, ``app`` (its picture is new), ``browser``, ``cubicle``,
    ``proof``, ``agent``, ``bot``."""
    cubicle: CubicleKey | None
    body: dict[str, Any] = field(default_factory=dict)


class Carrier(Protocol):
    """A surface that can take files to a person. It keeps its own list of what it was given, so that giving it the
    same again changes nothing, and says by ``Deliveries.mark_sent`` or ``Deliveries.mark_failed`` how it ended."""

    name: str
    """The first word of its destinations."""
    largest_bytes: int
    """What is larger goes as a link."""

    def find_destination(self, key: CubicleKey, turn: Turn | None) -> str | None:
        """Where this carrier takes a file of that turn, such as ``telegram:12345``; without a turn, where the cubicle's
        person is told of things. None when it is not this carrier's."""

    def send_file(self, delivery: Delivery, copy: Path) -> None:
        """Take the file over; returns at once. The copy stays until the delivery was sent or failed."""

    def send_text(self, delivery: Delivery, text: str) -> None:
        """Take a notice over instead of a file; returns at once."""


# --- containers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mounts:
    """Where the host keeps what a cubicle sees; all absolute, none of them passing a link."""

    work: Path
    inbox: Path
    """``in``, read-only inside."""
    out: Path
    www: Path
    data: Path
    """Read-only inside."""
    run: Path
    """The door and the lock files, read-only inside."""


@dataclass(frozen=True, slots=True)
class CubicleSpec:
    """All that an engine needs to start one cubicle."""

    name: str
    """``hermit-INSTALL-AGENT-USER``."""
    install: str
    home: str
    key: CubicleKey
    image: str
    uid: int
    gid: int
    mounts: Mounts
    limits: CubicleLimits
    runtime: str = ""
    """An OCI runtime's name, or empty for the engine's default."""


@dataclass(frozen=True, slots=True)
class Container:
    """A container of ours, as the engine sees it."""

    id: str
    name: str
    key: CubicleKey
    image: str
    spec: str
    """The fingerprint of the :class:`CubicleSpec` that it was started from."""
    running: bool
    """Frozen ones too."""
    started_at: float
    is_frozen: bool = False


@dataclass(frozen=True, slots=True)
class Exit:
    """How a container ended."""

    code: int
    reason: str
    """``exited``, ``out of memory``, ``gone`` or ``engine restarted``: one phrase for a person."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a container uses now."""

    cpu_percent: float
    memory_bytes: int
    pids: int


# --- models ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A call that the host made up itself from allow-listed parts."""

    model: str
    messages: tuple[dict[str, Any], ...]
    """Chat messages ``{"role", "content"}``; roles system, user, assistant; content text or inline parts."""
    max_tokens: int
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    json_object: bool = True
    """Ask for a JSON object where the upstream knows how."""


@dataclass(frozen=True, slots=True)
class TokenUse:
    """What a call used, as far as the upstream said. None where it said nothing usable."""

    prompt: int | None = None
    completion: int | None = None
    cost_micro: int | None = None
    """The provider's own figure, when it gives one; it wins over the price table."""
    cached: int = 0
    """Of the prompt, what the provider read from its cache (mostly cheaper)."""
    cache_written: int = 0
    """Of the prompt, what it wrote into its cache (with some a little dearer)."""


class Completion(Protocol):
    """One answer as it arrives: iterate it once for the text deltas; afterwards ``use`` and ``finish_reason`` hold.

    Iterating raises :class:`orchestrator.core.errors.UpstreamFailed` when the stream breaks, and
    :class:`orchestrator.core.errors.Stopped` after ``close`` was called from another thread.
    """

    use: TokenUse
    finish_reason: str
    """``stop``, ``length`` or what the upstream says; empty until the end was seen."""

    def __iter__(self) -> Iterator[str]: ...

    def close(self) -> None:
        """Abort: the connection is gone when this returns. May be called from any thread, any number of times."""


class Upstream(Protocol):
    """A model provider. Thread-safe; keeps connections."""

    name: str
    default_model: str
    """Asked for when an agent names none; empty where it is found out at the first call."""

    def complete(self, request: ModelRequest, *, opened: Callable[[Completion], None] | None = None) -> Completion:
        """Send one call, once (no retry here); returns when the answer's head is there. ``opened`` gets the completion
        before anything is sent, so that another thread can close it while the provider still thinks.

        Raises :class:`orchestrator.core.errors.UpstreamFailed`, which says whether trying again makes sense.
        """

    def list_models(self) -> list[str]:
        """The model names on offer, sorted; raises ``UpstreamFailed``."""
