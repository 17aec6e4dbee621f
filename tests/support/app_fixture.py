"""A whole install for tests of its surfaces: the real app with a real database and real turns, an engine that only
remembers, and a crab that plays what it is told in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from orchestrator.app.app import App
from orchestrator.app.wiring import Edges
from orchestrator.channels.services import DashboardServices
from orchestrator.core.config import load
from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.core.home import prepare_home
from orchestrator.core.models import (
    ApprovalStatus,
    Container,
    CubicleKey,
    CubicleSpec,
    Event,
    Exit,
    Turn,
    TurnStatus,
    Usage,
)
from orchestrator.engine.helpers import BROWSER, PAGE_BROWSER, PAGES, SHEETS
from orchestrator.engine.protocol import ExecEngine, HelperEngine
from orchestrator.llm.upstreams.rehearsal import Rehearsal
from orchestrator.turns.partial_replies import PartialReplies
from orchestrator.turns.steps import Steps
from orchestrator.web.limits import Internet
from tests.support.fakes import HelpersByKind, engine_of
from tests.support.free_ports import free_port
from tests.support.made_once import put_empty_database, usual_certificates

API_TOKEN = "test-token-of-the-operator"
PATIENCE_S = 10.0


class RecordingEngine:
    """An engine that writes its containers down, and starts none."""

    def __init__(self) -> None:
        self.containers: dict[str, Container] = {}
        self.frozen: set[str] = set()
        self.is_broken = False
        self.on_start: Callable[[CubicleKey], None] = _nothing

    def start(self, spec: CubicleSpec, *, anew: Callable[[], None] = lambda: None) -> Container:
        """Write a container down."""
        self._answer()
        if spec.name not in self.containers:
            anew()
        container = Container(spec.name, spec.name, spec.key, spec.image, "paper", running=True, started_at=time.time())
        self.containers[spec.name] = container
        self.on_start(spec.key)
        return container

    def poll(self, name: str) -> Exit | None:
        """None for what was started and not stopped."""
        self._answer()
        return None if name in self.containers else Exit(0, "gone")

    def stop(self, name: str, *, grace_s: float = 2.0) -> None:
        """Strike a container out."""
        self._answer()
        self.containers.pop(name, None)

    def remove(self, name: str) -> None:
        """Strike a container out."""
        self.stop(name)

    def list_containers(self) -> list[Container]:
        """What is written down."""
        self._answer()
        return list(self.containers.values())

    def get_usage(self, name: str) -> Usage:
        """Always the same figures."""
        if name not in self.containers:
            raise NotFound("gone")
        return Usage(cpu_percent=1.5, memory_bytes=7_000_000, pids=3)

    def is_at_rest(self, name: str) -> bool:
        """Nothing runs in what was only written down."""
        return name in self.containers

    def freeze(self, name: str) -> None:
        """Written down."""
        self._answer()
        self.frozen.add(name)

    def thaw(self, name: str) -> None:
        """Struck out."""
        self._answer()
        self.frozen.discard(name)

    def _answer(self) -> None:
        if self.is_broken:
            raise Unavailable("The Docker engine does not answer. Start it, then try again.")


Play = Callable[["Scene"], None]
"""What a crab does in one turn; without an outcome of its own the turn is done without a reply."""


@dataclass
class Scene:
    """One turn, for a play."""

    install: AppFixture
    key: CubicleKey
    turn: Turn
    is_stopped: Callable[[], bool]

    def stream(self, *texts: str, pause_s: float = 0.0) -> None:
        """Show the reply as it grows, and keep it."""
        for text in texts:
            PartialReplies(self.install.app._store).save_reply(self.turn.id, text)
            self.install.services.broker.publish(Event("delta", self.key, {"turn": self.turn.id, "text": text}))
            time.sleep(pause_s)

    def run(
        self,
        n: int,
        command: str,
        *,
        thought: str = "",
        output: str = "",
        exit_code: int = 0,
        prints: Iterable[str] = (),
    ) -> bool:
        """Take a step; a person is asked where policy says so. True when the command was run. ``prints`` is what is
        seen of its output while it runs."""
        steps, key, turn = self.install.steps, self.key, self.turn.id
        answer = steps.start_step(key, turn, n, thought=thought, command=command, approval=None)
        if answer.do == "ask":
            approval = steps.ask_person(key, turn, n)
            if self._decision(approval.id) is not ApprovalStatus.APPROVED:
                return False
            answer = steps.start_step(key, turn, n, thought=thought, command=command, approval=approval.id)
        if answer.do != "run":
            return False
        for so_far in prints:
            steps.show_output(key, turn, n, so_far)
        steps.end_step(key, turn, n, exit_code=exit_code, output=output, ended="exited")
        return True

    def say(self, reply: str) -> None:
        """End the turn with a reply."""
        self.install.services.turns.end_turn(self.key, self.turn.id, TurnStatus.DONE, reply=reply)

    def fail(self, error: str) -> None:
        """End the turn with an error."""
        self.install.services.turns.end_turn(self.key, self.turn.id, TurnStatus.FAILED, error=error)

    def wait_for_stop(self) -> None:
        """Work until a person stops the turn."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_stopped() and time.monotonic() < deadline:
            time.sleep(0.02)

    def _decision(self, approval: str) -> ApprovalStatus:
        deadline = time.monotonic() + PATIENCE_S * 6
        while time.monotonic() < deadline:
            status = self.install.services.approvals.get(approval).status
            if status is not ApprovalStatus.PENDING:
                return status
            if self.is_stopped():
                return ApprovalStatus.CANCELLED
            time.sleep(0.02)
        raise AssertionError("nobody decided")


def echo(scene: Scene) -> None:
    """The play when nothing else is said."""
    scene.say(f"You said: {scene.turn.prompt}")


@dataclass
class AppFixture:
    """An install, and the handles that tests turn."""

    app: App
    services: DashboardServices
    steps: Steps
    engine: RecordingEngine
    plays: dict[str, Play] = field(default_factory=dict)
    """Which play a prompt starts; ``echo`` for all others."""
    poll_s: float = 0.1
    """How long a crab waits for a turn before it asks again."""
    _crabs: dict[CubicleKey, threading.Thread] = field(default_factory=dict)
    _closing: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)  # protects _crabs

    @property
    def url(self) -> str:
        """Where the install answers, once it was started."""
        return self.services.settings.url

    def close(self) -> None:
        """The crabs leave, then the install closes."""
        self._closing.set()
        with self._lock:
            crabs = tuple(self._crabs.values())
        for crab in crabs:
            crab.join(PATIENCE_S)
        self.app.stop(stop_cubicles=False)

    def hatch(self, key: CubicleKey) -> None:
        """A crab lives in this cubicle."""
        crab = threading.Thread(target=self._live, args=(key,), name=f"crab {key}", daemon=True)
        with self._lock:
            if key not in self._crabs:
                crab.start()
                self._crabs[key] = crab

    def _live(self, key: CubicleKey) -> None:
        while not self._closing.is_set():
            try:
                turn = self.services.turns.take_next(key, "paper", self.poll_s)
            except OSError:  # no descriptor is left: a crab that gets no answer asks again in a moment
                time.sleep(0.02)
                continue
            if turn is None:
                continue
            stopped = threading.Event()
            scene = Scene(self, key, turn, is_stopped=partial(self._is_stopped, turn.id, stopped))
            self.plays.get(turn.prompt, echo)(scene)
            status = TurnStatus.STOPPED if scene.is_stopped() else TurnStatus.DONE
            self.services.turns.end_turn(key, turn.id, status)

    def _is_stopped(self, turn: int, stopped: threading.Event) -> bool:
        claims = {claim.turn: claim for _, claim in self.services.turns.list_running()}
        if self._closing.is_set() or (turn in claims and claims[turn].stop_asked):
            stopped.set()
        return stopped.is_set()


@contextmanager
def run_app(
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    crabs: bool = True,
    internet: Internet | None = None,
    browser: HelperEngine | None = None,
    pages: HelperEngine | None = None,
    sheets: HelperEngine | None = None,
    photos: HelperEngine | None = None,
    lines: ExecEngine | None = None,
) -> Iterator[AppFixture]:
    """An install in ``folder``, which answers at its ``url``, with an operator and an agent called crab."""
    helpers = ((BROWSER, browser), (PAGES, pages), (SHEETS, sheets), (PAGE_BROWSER, photos))
    drawing = {kind.name: given for kind, given in helpers if given is not None}
    settings = load(
        {
            "HERMIT_HOME": str(folder),
            "HERMIT_API_TOKEN": API_TOKEN,
            "HERMIT_ADMIN_USER": "ada",
            "HERMIT_PORT": str(free_port()),
            "HERMIT_PREVIEW_PORT": str(free_port()),
            "HERMIT_TELEGRAM_API_URL": "http://127.0.0.1:9",  # nobody: Telegram can't be reached
            "HERMIT_APP_PICTURES": "1" if drawing else "0",
            **(environment or {}),
        },
        folder,
    )
    engine = RecordingEngine()
    upstreams = {"rehearsal": Rehearsal()}
    parts = Edges(
        engine_of(engine, helpers=HelpersByKind(drawing), programs=lines, named=lambda image: f"test/{image}"),
        upstreams,
        "rehearsal",
        internet=internet or Internet(tls=usual_certificates()),
        find_address=str,
    )
    home = prepare_home(settings.home)
    put_empty_database(home.database)
    app = App(settings, home, parts)
    services = app.services
    install = AppFixture(app, services, app._steps, engine)
    if crabs:
        engine.on_start = install.hatch
    try:
        app.start()
        yield install
    finally:
        install.close()


def _nothing(_: CubicleKey) -> None:
    """Nobody lives in the cubicles."""
