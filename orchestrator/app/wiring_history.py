"""The part of the composition root for points of time: what takes them, goes back to them, and takes turns back."""

from __future__ import annotations

from orchestrator.agents.agents import Agents
from orchestrator.agents.cubicles import Cubicles
from orchestrator.app.wiring import AppContext
from orchestrator.app.wiring_capabilities import Capabilities
from orchestrator.approvals.approvals import Approvals
from orchestrator.capabilities.checkpoint.agent_points import PointHistory
from orchestrator.capabilities.delivery.deliveries import Deliveries
from orchestrator.checkpoints.checkpoints import Checkpoints
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey
from orchestrator.operations.undo import Undo
from orchestrator.turns.branches import Branches
from orchestrator.turns.queue import Turns
from orchestrator.turns.restores import Restores
from orchestrator.turns.turn_points import TurnPoints

_MB = 1 << 20
_LEAST_MB = 64
"""Of a history, however little its workspace may take."""


def build_checkpoints(context: AppContext) -> Checkpoints:
    """The histories of all workspaces, each as large as its workspace may be."""
    return Checkpoints(context.home.history, context.workspaces, cap=lambda key: _get_cap(context.agents, key))


def _get_cap(agents: Agents, key: CubicleKey) -> int:
    try:
        limit_mb = agents.get(key.agent).limits.disk_mb
    except NotFound:  # it is being deleted
        limit_mb = 0
    return max(limit_mb, _LEAST_MB) * _MB


class WorkspaceHistory:
    """The past of every workspace."""

    def __init__(self, context: AppContext, checkpoints: Checkpoints, cubicles: Cubicles, turns: Turns) -> None:
        store, broker = context.store, context.broker
        self._context, self._turns = context, turns
        self.checkpoints = checkpoints
        self.branches = Branches(store, broker, turns, context.hooks)
        self.points = TurnPoints(store, checkpoints, broker, context.hooks)
        self.restores = Restores(store, checkpoints, self.points, cubicles, broker)

    @property
    def for_agents(self) -> PointHistory:
        """What agents ask of it."""
        return PointHistory(self.checkpoints, self.points, self.restores)

    def build_undo(self, deliveries: Deliveries, approvals: Approvals, capabilities: Capabilities) -> Undo:
        """What takes turns back, and tells what else they did."""
        return Undo(
            self._context.store,
            self._context.broker,
            turns=self._turns,
            branches=self.branches,
            checkpoints=self.checkpoints,
            restores=self.restores,
            deliveries=deliveries,
            approvals=approvals,
            calendar=capabilities.calendar,
            memories=capabilities.memories,
        )

    def start(self, undo: Undo) -> None:
        """What a death cut short is done, before cubicles go on."""
        self.restores.finish_pending()
        undo.reconcile()
        self.points.reconcile()

    def close(self) -> None:
        """Nothing more is taken down."""
        self.points.close()
        self.checkpoints.close()
