"""What tests of deliveries are made from: a outbox folder on the disk without a container, a database, and
carriers, each of which misbehaves in one named way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.agents.agents import Agents
from orchestrator.agents.users import Users
from orchestrator.capabilities.delivery.deliveries import Deliveries
from orchestrator.capabilities.delivery.download_links import DownloadLinks
from orchestrator.capabilities.delivery.intake import Intake
from orchestrator.capabilities.delivery.outbox_folder import OutboxFolders
from orchestrator.capabilities.table import TOOLSETS
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Unavailable
from orchestrator.core.events import Broker
from orchestrator.core.home import prepare_home
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey, Delivery, Turn, TurnStatus
from orchestrator.core.rates import USUAL_RATES, Rates
from orchestrator.files.workspace import Workspaces
from orchestrator.turns import rows as turn_rows
from orchestrator.turns.conversation_rows import ensure_first

KEY = CubicleKey("crab", 1)


class Died(BaseException):
    """The process ended here, as by SIGKILL: nothing after it is done, nothing is put in order."""


@dataclass
class RecordingCarrier:
    """Takes everything, once for each id, as its contract says."""

    name: str = "paper"
    largest_bytes: int = 1_000_000
    taken: dict[int, bytes] = field(default_factory=dict)
    told: dict[int, str] = field(default_factory=dict)
    calls: list[int] = field(default_factory=list)

    def find_destination(self, key: CubicleKey, turn: Turn | None) -> str | None:
        """The owner's chat, always."""
        return f"{self.name}:{key.user}"

    def send_file(self, delivery: Delivery, copy: Path) -> None:
        """Keeps what the copy holds."""
        self.calls.append(delivery.id)
        self.taken.setdefault(delivery.id, copy.read_bytes())

    def send_text(self, delivery: Delivery, text: str) -> None:
        """Keeps the words."""
        self.calls.append(delivery.id)
        self.told.setdefault(delivery.id, text)


class RefusingCarrier(RecordingCarrier):
    """Says no to every file."""

    def send_file(self, delivery: Delivery, copy: Path) -> None:
        """Raises."""
        raise Unavailable("The chat is gone.")


class BrokenCarrier(RecordingCarrier):
    """Has a fault of its own."""

    def send_file(self, delivery: Delivery, copy: Path) -> None:
        """Raises what nobody expects."""
        raise ZeroDivisionError

    def send_text(self, delivery: Delivery, text: str) -> None:
        """Raises too."""
        raise ZeroDivisionError


class DyingCarrier(RecordingCarrier):
    """The install dies while it hands a file over, before or after the carrier has it."""

    is_after = False

    def send_file(self, delivery: Delivery, copy: Path) -> None:
        """Dies."""
        if self.is_after:
            super().send_file(delivery, copy)
        raise Died


class DeafCarrier(RecordingCarrier):
    """Reaches nobody."""

    def find_destination(self, key: CubicleKey, turn: Turn | None) -> str | None:
        """Nowhere."""
        return None


@dataclass
class DeliveryFixture:
    """The parts, over one home; ``again`` is the same home after a death."""

    home: Path
    store: Store
    broker: Broker
    hooks: Hooks
    workspaces: Workspaces
    out_folders: OutboxFolders
    deliveries: Deliveries
    intake: Intake
    out: Path

    @property
    def outbox(self) -> list[str]:
        """The private copies there are."""
        return sorted(path.name for path in (self.home / "outbox").iterdir())

    def put(self, name: str | bytes, content: bytes = b"content") -> None:
        """A whole file in the outbox folder."""
        with open(os.path.join(os.fsencode(self.out), os.fsencode(name)), "wb") as file:  # noqa: PTH118, PTH123 - bytes
            file.write(content)

    def rows(self) -> list[Delivery]:
        """All deliveries, oldest first."""
        return list(reversed(self.deliveries.list_deliveries(KEY, limit=1000)))

    def turn(self, *, action: str | None = None, is_over: bool = False, at: float = 0.0) -> int:
        """A turn of this cubicle, under way or over."""
        with self.store.writing() as db:
            turn = turn_rows.insert_turn(db, ensure_first(db, KEY, 0.0), source="api", prompt="x", origin=None, now=at)
            turn_rows.claim_turn(db, turn, "boot", at)
            if is_over:
                turn_rows.end_turn(db, turn, TurnStatus.DONE, now=at, reply="done", action=action)
        return turn


@contextmanager
def outgoing(
    home: Path, *carriers: RecordingCarrier, store: Store | None = None, rates: Rates = USUAL_RATES
) -> Iterator[DeliveryFixture]:
    """The parts over a home, with one agent and one person; ``store`` may be one that dies."""
    place = prepare_home(home)
    own = store or Store(place.database)
    broker, hooks, workspaces = Broker(), Hooks(), Workspaces(place.path)
    _settle_in(own)
    mounts = workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid())
    deliveries = Deliveries(
        store=own,
        broker=broker,
        hooks=hooks,
        outbox=place.outbox,
        links=DownloadLinks("key"),
        base_url="http://house",
    )
    for carrier in carriers:
        deliveries.add_carrier(carrier)
    out_folders = OutboxFolders(workspaces, place.outbox)
    intake = Intake(store=own, out_folders=out_folders, deliveries=deliveries, outbox=place.outbox, rates=rates)
    try:
        yield DeliveryFixture(home, own, broker, hooks, workspaces, out_folders, deliveries, intake, mounts.out)
    finally:
        own.close()


def _settle_in(store: Store) -> None:
    """The person and the agent, where they are not there yet."""
    users, agents = Users(store), Agents(store, providers=("rehearsal",), toolsets=TOOLSETS, hooks=Hooks())
    users.ensure_operator("ada", "")
    if not agents.list_agents():
        agents.create({"name": KEY.agent})


def _nothing(_: str) -> None:
    """Nobody minds a changed agent."""
