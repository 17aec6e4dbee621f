"""Notifications on devices, put together: what surfaces call, and the parts that run."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.channels.push.answers import PushAnswers
from orchestrator.channels.push.devices import PushDevices
from orchestrator.channels.push.sender import PushSender
from orchestrator.channels.push.watch import PushWatch


@dataclass(frozen=True, slots=True)
class PushChannel:
    """Everything about notifications. ``start`` and ``close`` are the program's own."""

    devices: PushDevices
    sender: PushSender
    answers: PushAnswers
    watch: PushWatch

    def start(self) -> None:
        """Devices are told of things from now on, also of what a death left untold."""
        self.watch.start()

    def close(self) -> None:
        """Nobody is told of anything any more."""
        self.watch.close()
