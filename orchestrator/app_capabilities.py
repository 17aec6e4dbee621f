"""The part of the composition root for what agents may set in motion: a builder for each noun, and the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from crab.hermit_commands import FILE, Commands, write_commands
from orchestrator.app_agenda import Calendar
from orchestrator.app_assets import build_assets
from orchestrator.app_builders import Ground
from orchestrator.approvals import Approvals
from orchestrator.budget_notices import BudgetNotices
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.status.report import Space, StatusReport
from orchestrator.capabilities.table import REGISTRY
from orchestrator.delivery.sending import Sending
from orchestrator.delivery.taking import Taking
from orchestrator.memories.meaning import Meaning
from orchestrator.memories.memory import Memories
from orchestrator.motion.motions import Motions
from orchestrator.motion.studio import Studio
from orchestrator.notices import Notices
from orchestrator.nouns import CubicleKey, Turn
from orchestrator.packages.courier import Courier
from orchestrator.packages.installations import Packages
from orchestrator.prices import Prices
from orchestrator.pricing import price_of
from orchestrator.publishing import Publishing
from orchestrator.questions import Questions
from orchestrator.row_worker import RowWorker
from orchestrator.store import agents as agent_rows
from orchestrator.turns import Turns


class Capabilities:
    """Every noun behind the table, with what they need started and stopped."""

    def __init__(
        self,
        ground: Ground,
        approvals: Approvals,
        turns: Turns,
        taking: Taking,
        *,
        space: Callable[[CubicleKey], Space | None],
    ) -> None:
        """``space`` says what a cubicle's workspace holds, as far as that is known."""
        store = ground.store
        self._store, self._approvals, self._turns = store, approvals, turns
        self.notices = Notices(store, ground.broker)
        ground.budget.heed(BudgetNotices(self.notices, ground.agents).heed)
        self.questions = self._made_questions(ground)
        turns.when_ended(self.questions.cancel_turn)
        self.memories = self._made_memories(ground)
        self.packages = self._made_packages(ground)
        self._installing = RowWorker("packages", self.packages)
        motions = self._made_motions(ground)
        self._filming = RowWorker("videos", motions)
        self.assets, self._downloads = build_assets(
            ground, approvals, self.notices, finish=self._finish, stir=self._stir
        )
        self._calendar = Calendar(ground, self.notices, turns)
        self.agenda = self._calendar.agenda
        self._sending = Sending(store=store, taking=taking, finish=self._finish, stir=self._stir)
        status = self._made_status(ground, space)
        offering = (status, self._sending, self.questions, self.memories, self.packages, self.assets, motions)
        deeds = REGISTRY.complete(*(noun.deeds for noun in offering), self._calendar.handlers.deeds)
        self.calls = Calls(store=store, agents=ground.agents, registry=REGISTRY, deeds=deeds)
        self._commands = Publishing(
            FILE, _write_commands, store=store, workspaces=ground.workspaces, scratch=ground.home.scratch
        )
        self.notes: tuple[Callable[[Turn], str], ...] = (
            self._calendar.handlers.note,
            self.packages.note,
            self.assets.note,
            motions.note,
        )
        """What an agent should know at the start of a turn."""

    def publish(self, key: CubicleKey) -> None:
        """What a cubicle reads of the house's knowledge is as things are; for before it starts."""
        self._commands.publish(key)
        self.memories.publish(key)
        self._calendar.publish(key)

    def start(self) -> None:
        """Workers run, and what a death left half done is taken up."""
        self.calls.tidy()
        self.questions.reconcile()
        self._sending.start()
        with self._store.reading() as db:
            cubicles = agent_rows.cubicles(db)
        self._commands.start(cubicles)  # another version may have other commands
        self.memories.start()
        self._installing.start()
        self._filming.start()
        self._downloads.start()
        self._calendar.start()

    def look(self) -> None:
        """What time has ended is ended; called every second or so."""
        self.questions.look()
        self.calls.tidy()

    def cease(self, is_theirs: Callable[[CubicleKey], bool]) -> None:
        """Nothing is done any more for cubicles that are being deleted. Raises Unavailable when that takes long."""
        self._approvals.abandon(is_theirs)
        self._downloads.await_end(is_theirs)

    def close(self) -> None:
        """Nothing of it runs any more."""
        self._calendar.close()
        self._commands.close()
        self._downloads.close()
        self._filming.close()
        self._installing.close()
        self._sending.close()
        self.memories.close()

    def _made_questions(self, ground: Ground) -> Questions:
        return Questions(
            store=ground.store, agents=ground.agents, broker=ground.broker, finish=self._finish, stir=self._stir
        )

    def _made_status(self, ground: Ground, space: Callable[[CubicleKey], Space | None]) -> StatusReport:
        return StatusReport(
            money=ground.budget.standing,
            space=space,
            upcoming=self._calendar.next,
            toolsets=lambda agent: ground.agents.get(agent).toolsets,
            commands=self._offered,
        )

    def _offered(self, key: CubicleKey) -> list[str]:
        return self.calls.offered(key)  # made after the nouns that need it

    def _made_memories(self, ground: Ground) -> Memories:
        return Memories(
            store=ground.store,
            broker=ground.broker,
            agents=ground.agents,
            workspaces=ground.workspaces,
            scratch=ground.home.scratch,
            finish=self._finish,
            meaning=_meaning(ground),
        )

    def _made_packages(self, ground: Ground) -> Packages:
        parts = ground.parts
        return Packages(
            store=ground.store,
            agents=ground.agents,
            approvals=self._approvals,
            notices=self.notices,
            workspaces=ground.workspaces,
            courier=Courier(
                parts.engine.helpers,
                folder=ground.home.errands,
                image=lambda: parts.engine.images.ensure_image("courier"),
                outside=parts.outside,
            ),
            finish=self._finish,
            stir=self._stir,
            most_an_hour=ground.settings.rates.installs_per_hour,
        )

    def _made_motions(self, ground: Ground) -> Motions:
        parts = ground.parts
        return Motions(
            store=ground.store,
            agents=ground.agents,
            notices=self.notices,
            workspaces=ground.workspaces,
            studio=Studio(
                parts.engine.helpers,
                folder=ground.home.studio,
                image=lambda: parts.engine.images.ensure_image("studio"),
            ),
            check_room=ground.reserve.check,
            finish=self._finish,
            stir=self._stir,
        )

    def _finish(self, waits_for: str, *, ok: bool, text: str, result: Mapping[str, Any] | None = None) -> None:
        self.calls.finish(waits_for, ok=ok, text=text, result=result)  # made after the nouns that need it

    def _stir(self) -> None:
        self.calls.stir()  # made after the nouns that need it


def _write_commands(_: CubicleKey, path: Path) -> None:
    path.write_text(write_commands(Commands(REGISTRY.commands)), encoding="utf-8")


def _meaning(ground: Ground) -> Meaning | None:
    """What finds memories by their meaning, where an embedding model is set up. Only then numpy is loaded."""
    embedder = ground.parts.embedder
    if embedder is None:
        return None
    near = import_module("orchestrator.memories.nearest").Nearest(ground.store, embedder.model)
    prices = Prices(ground.home.prices)
    return Meaning(
        embedder,
        near,
        store=ground.store,
        agents=ground.agents,
        budget=ground.budget,
        price=lambda provider, model: price_of(provider, model, prices.table()),
    )
