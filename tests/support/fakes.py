"""Stand-ins at the seams, each of which misbehaves in one named way: engines on paper, model providers on paper."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.core.errors import NotFound, Stopped, Unavailable, UpstreamFailed
from orchestrator.core.models import Completion, Container, CubicleKey, CubicleSpec, Exit, ModelRequest, TokenUse, Usage
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from orchestrator.engine.protocol import CubicleEngine, Engine, EngineImage, ExecEngine, HelperEngine, LivingHelper
from orchestrator.engine.tty import Size, Tty

ENGINE_SILENT = "The Docker engine does not answer."
HELD_S = 10.0
"""The longest that a fake holds still, so that a failing test ends."""


class FakeEngine:
    """Containers in a dictionary; tests end them with ``kill``."""

    def __init__(self) -> None:
        self.containers: dict[str, Container] = {}
        self.specs: list[CubicleSpec] = []
        self.stopped: list[str] = []
        self.busy: set[str] = set()
        self.frozen: set[str] = set()
        self.exits: dict[str, Exit] = {}
        self.on_start: Callable[[CubicleKey], None] = lambda _: None
        self.on_stop: Callable[[str], None] = lambda _: None

    def start(self, spec: CubicleSpec, *, anew: Callable[[], None] = lambda: None) -> Container:
        """It runs; one of the same name is kept when its spec is the same."""
        self.specs.append(spec)
        there = self.containers.get(spec.name)
        self.frozen.discard(spec.name)
        if there is not None and there.spec == repr(spec):
            return there
        anew()
        number = f"{spec.name}#{len(self.specs)}"
        made = Container(number, spec.name, spec.key, spec.image, repr(spec), running=True, started_at=time.time())
        self.containers[spec.name] = made
        self.exits.pop(spec.name, None)
        self.on_start(spec.key)
        return made

    def poll(self, name: str) -> Exit | None:
        """None for what runs."""
        return None if name in self.containers else self.exits.get(name, Exit(-1, "its container is gone"))

    def stop(self, name: str, *, grace_s: float = 2.0) -> None:
        """It ends; gone is fine."""
        self.stopped.append(name)
        self.on_stop(name)
        self.kill(name, "it was stopped")

    def remove(self, name: str) -> None:
        """It is gone; gone already is fine."""
        self.frozen.discard(name)
        self.containers.pop(name, None)

    def list_containers(self) -> list[Container]:
        """All of them."""
        return [replace(found, is_frozen=name in self.frozen) for name, found in self.containers.items()]

    def get_usage(self, name: str) -> Usage:
        """The same figures always."""
        if name not in self.containers:
            raise NotFound("This cubicle does not run.")
        return Usage(cpu_percent=1.0, memory_bytes=7_000_000, pids=2)

    def is_at_rest(self, name: str) -> bool:
        """Nothing runs but the crab, unless a test says so."""
        return name not in self.busy and name not in self.frozen

    def freeze(self, name: str) -> None:
        """It stands still; one that is gone does already."""
        if name in self.containers:
            self.frozen.add(name)

    def thaw(self, name: str) -> None:
        """It goes on."""
        self.frozen.discard(name)

    def kill(self, name: str, reason: str = "its container was killed") -> None:
        """A container ends by itself."""
        self.frozen.discard(name)
        if self.containers.pop(name, None) is not None:
            self.exits[name] = Exit(137, reason)


class NoHelpers:
    """Runs no helper container."""

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """Raises."""
        raise Unavailable(ENGINE_SILENT)

    def start_helper(self, spec: HelperSpec) -> LivingHelper:
        """Raises."""
        raise Unavailable(ENGINE_SILENT)

    def clear_helpers(self, kind: HelperKind) -> None:
        """None ever was."""


class HelpersByKind(NoHelpers):
    """Each kind of helper container is run by another fake, by its name."""

    def __init__(self, runs: Mapping[str, HelperEngine]) -> None:
        self._runs = runs

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """Raises for a kind that nobody runs."""
        if spec.kind.name not in self._runs:
            raise Unavailable(ENGINE_SILENT)
        return self._runs[spec.kind.name].run_helper(spec, is_wanted=is_wanted)

    def clear_helpers(self, kind: HelperKind) -> None:
        """Told to whoever runs it."""
        if kind.name in self._runs:
            self._runs[kind.name].clear_helpers(kind)


class NoExec:
    """Runs no program."""

    def run_program(
        self, container: str, command: tuple[str, ...], *, within_s: float = 60.0, most_bytes: int = 1 << 20
    ) -> bytes:
        """Raises."""
        raise Unavailable(ENGINE_SILENT)

    def open_terminal(self, container: str, size: Size, environment: Mapping[str, str]) -> Tty:
        """Raises."""
        raise Unavailable(ENGINE_SILENT)

    def end_terminals(self, container: str, terminal: str = "") -> None:
        """None ever was."""


class FakeFacts:
    """The same engine always."""

    def version(self) -> Mapping[str, Any]:
        """As Docker says it."""
        return {"Platform": {"Name": "Docker Engine - Community"}, "Version": "29.1.0"}

    def info(self) -> Mapping[str, Any]:
        """As Docker says it."""
        return {"KernelVersion": "6.12.0", "DefaultRuntime": "runc"}


class FakeImages:
    """Every image is there, under a name of its own or as ``named`` says."""

    def __init__(self, named: Callable[[str], str] = lambda target: target) -> None:
        self._named = named

    def ensure_image(self, target: str) -> str:
        """Its name."""
        return self._named(target)

    def find_image(self, target: str) -> EngineImage:
        """It."""
        return EngineImage(self._named(target), f"sha256:{target}", 7_000_000)


def engine_of(
    cubicles: CubicleEngine,
    *,
    helpers: HelperEngine | None = None,
    programs: ExecEngine | None = None,
    named: Callable[[str], str] = lambda target: target,
) -> Engine:
    """A whole engine around one that runs cubicles."""
    return Engine(cubicles, helpers or NoHelpers(), programs or NoExec(), FakeImages(named), FakeFacts())


class DeadEngine(FakeEngine):
    """Answers nothing until it is revived."""

    is_dead = True

    def start(self, spec: CubicleSpec, *, anew: Callable[[], None] = lambda: None) -> Container:
        """Raises while dead."""
        self._answer()
        return super().start(spec, anew=anew)

    def poll(self, name: str) -> Exit | None:
        """Raises while dead."""
        self._answer()
        return super().poll(name)

    def list_containers(self) -> list[Container]:
        """Raises while dead."""
        self._answer()
        return super().list_containers()

    def _answer(self) -> None:
        if self.is_dead:
            raise Unavailable(ENGINE_SILENT)


class SlowEngine(FakeEngine):
    """Starts nothing until ``gate`` is set; ``asked`` is set as soon as it was asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.gate = threading.Event()

    def start(self, spec: CubicleSpec, *, anew: Callable[[], None] = lambda: None) -> Container:
        """Waits."""
        self.asked.set()
        assert self.gate.wait(HELD_S), "nobody opened the gate"
        return super().start(spec, anew=anew)


class RefusingEngine(FakeEngine):
    """Answers, but starts nothing."""

    def start(self, spec: CubicleSpec, *, anew: Callable[[], None] = lambda: None) -> Container:
        """Raises what no retry fixes."""
        raise NotFound("There is no such image.")


@dataclass
class Reply:
    """One scripted answer of a model."""

    texts: tuple[str, ...] = ('{"message": "hello"}',)
    use: TokenUse = field(default_factory=lambda: TokenUse(prompt=100, completion=10))
    refusal: Exception | None = None
    """Raised instead of an answer's head."""
    breaks: Exception | None = None
    """Raised after the texts."""
    hold_head: bool = False
    """Keep silent before the head, until closed or released."""
    hold_tail: bool = False
    """Keep silent after the texts, until closed or released."""


class FakeUpstream:
    """Gives scripted replies in order, then the last one again; records what it was asked."""

    def __init__(self, name: str = "fake", *replies: Reply, default_model: str = "fake-1") -> None:
        self.name = name
        self.default_model = default_model
        self.requests: list[ModelRequest] = []
        self.at: list[float] = []
        self.release = threading.Event()
        self.is_held = threading.Event()
        self._replies = list(replies) or [Reply()]
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest, *, opened: Callable[[Completion], None] | None = None) -> FakeCompletion:
        """The next reply."""
        with self._lock:
            self.requests.append(request)
            self.at.append(time.monotonic())
            reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        completion = FakeCompletion(self, reply)
        if opened is not None:
            opened(completion)
        if reply.hold_head:
            completion.hold()
        if reply.refusal is not None:
            raise reply.refusal
        return completion

    def list_models(self) -> list[str]:
        """What is on offer."""
        return [self.default_model] if self.default_model else []


class FakeCompletion:
    """One reply as it arrives."""

    def __init__(self, upstream: FakeUpstream, reply: Reply) -> None:
        self.use = TokenUse()
        self.finish_reason = ""
        self.is_closed = threading.Event()
        self._upstream = upstream
        self._reply = reply

    def __iter__(self) -> Iterator[str]:
        for text in self._reply.texts:
            self._check()
            yield text
        if self._reply.hold_tail:
            self.hold()
        if self._reply.breaks is not None:
            raise self._reply.breaks
        self.use, self.finish_reason = self._reply.use, "stop"

    def close(self) -> None:
        """Abort."""
        self.is_closed.set()

    def hold(self) -> None:
        """Keep silent until closed or released."""
        self._upstream.is_held.set()
        deadline = time.monotonic() + HELD_S
        while not self._upstream.release.wait(0.005):
            self._check()
            assert time.monotonic() < deadline, "nobody released the model"

    def _check(self) -> None:
        if self.is_closed.is_set():
            raise Stopped("The turn was stopped.")


def failing(
    message: str = "The provider is busy.",
    *,
    may_retry: bool = True,
    retry_after_s: float | None = None,
    may_have_cost: bool = False,
) -> Reply:
    """A call that the provider does not take."""
    return Reply(
        refusal=UpstreamFailed(message, may_retry=may_retry, retry_after_s=retry_after_s, may_have_cost=may_have_cost)
    )


def cut_off(*texts: str, may_retry: bool = False) -> Reply:
    """An answer that breaks off after ``texts``."""
    return Reply(texts=texts, breaks=UpstreamFailed("It broke off.", may_retry=may_retry, may_have_cost=True))
