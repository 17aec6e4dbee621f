"""What the rest of the program asks of whoever runs containers.

Every method may be called from any thread, before the first start and after our restart, and raises
:class:`orchestrator.core.errors.Unavailable` when the engine does not answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from orchestrator.core.models import Container, CubicleSpec, Exit, Usage
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from orchestrator.engine.tty import Size, Tty


class CubicleEngine(Protocol):
    """Runs cubicles."""

    def start(self, spec: CubicleSpec, *, anew: Callable[[], None] = lambda: None) -> Container:
        """The cubicle runs when this returns: a running one with the same spec is adopted, and thawed if it is frozen;
        any other of that name is replaced. Two calls at once start one container. ``anew`` is called before a container
        is made, when none of that name is left."""

    def poll(self, name: str) -> Exit | None:
        """None while the container runs; how it ended otherwise, also when there never was one (``gone``)."""

    def stop(self, name: str, *, grace_s: float = 2.0) -> None:
        """The container no longer runs. Already stopped or gone is success."""

    def remove(self, name: str) -> None:
        """Nothing of the container is left. Already gone is success."""

    def list_containers(self) -> list[Container]:
        """Every container that carries this install's label, running or not, and no other's."""

    def get_usage(self, name: str) -> Usage:
        """What the container uses now. Raises NotFound when it does not run."""

    def is_at_rest(self, name: str) -> bool:
        """Nothing runs in the container but what we started there. False where that can't be told, and for a frozen
        one, which somebody needs."""

    def freeze(self, name: str) -> None:
        """Nothing in the container gets the processor until it is thawed; its memory stays. Frozen already, stopped or
        gone is success. It may be stopped and removed as any other."""

    def thaw(self, name: str) -> None:
        """The container goes on where it was. Not frozen, stopped or gone is success."""


class LivingHelper(Protocol):
    """A helper container that lives until it is stopped, and its one stream: the standard input and output of its
    program. ``read`` is for one thread; the others may be called from any."""

    def read(self) -> bytes:
        """What its program wrote next, a piece of it; empty once it or the stream has ended."""

    def write(self, data: bytes) -> None:
        """Its program gets this. Raises Unavailable when it takes nothing more."""

    def poll(self) -> HelperEnd | None:
        """None while it lives. One that is over its time or its room is stopped, and so says why."""

    def pause(self, *, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """It gets no processor until ``resume``; its memory stays. Again is fine. On a busy machine this takes several
        tries; False when one failed and it was no longer wanted."""

    def resume(self) -> None:
        """It goes on where it was. Again is fine."""

    def stop(self) -> None:
        """Its container is gone, and a read under way ends. Again is fine."""


class HelperEngine(Protocol):
    """Runs helper containers."""

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """The helper is over, one way or another, and its container gone, when this returns. What it brought is a
        stranger's word."""

    def start_helper(self, spec: HelperSpec) -> LivingHelper:
        """A helper that lives; one of the same kind and id is removed first. It does not outlive us for long: its
        program's input ends when we do, and ``clear_helpers`` removes it at the next start."""

    def clear_helpers(self, kind: HelperKind) -> None:
        """None of that kind runs any more, not even one that was started before a restart."""


class ExecEngine(Protocol):
    """Runs programs in cubicles that run, as the cubicle's own user and within its walls."""

    def run_program(
        self, container: str, command: tuple[str, ...], *, within_s: float = 60.0, most_bytes: int = 1 << 20
    ) -> bytes:
        """What it printed, at most so much of it. The command limits its own time; one that is held up inside, or that
        prints more, is left alone, and what it has printed by then is all."""

    def open_terminal(self, container: str, size: Size, environment: Mapping[str, str]) -> Tty:
        """A shell."""

    def end_terminals(self, container: str, terminal: str = "") -> None:
        """Nothing runs inside any more that was started in this terminal, or in any where none is named. A cubicle that
        does not run is fine."""


@dataclass(frozen=True, slots=True)
class EngineImage:
    """An image of ours that is up to date."""

    name: str
    digest: str
    """The engine's id of its content, ``sha256:…``."""
    size_bytes: int


class ImageEngine(Protocol):
    """Has the images that containers start from: ``base`` for cubicles, ``studio``, ``resolver`` or ``browser``."""

    def ensure_image(self, target: str) -> str:
        """Its name. It is built first where it is missing or out of date, which takes minutes."""

    def find_image(self, target: str) -> EngineImage:
        """It, as it is now; builds nothing. Raises NotFound when it is missing or out of date."""


class EngineFacts(Protocol):
    """What an engine says of itself, in Docker's words; each is one question to it."""

    def version(self) -> Mapping[str, Any]:
        """Its own version and those of its parts."""

    def info(self) -> Mapping[str, Any]:
        """How it is set up, and what it has."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Whoever runs containers, by what it is asked."""

    cubicles: CubicleEngine
    helpers: HelperEngine
    exec: ExecEngine
    images: ImageEngine
    facts: EngineFacts
