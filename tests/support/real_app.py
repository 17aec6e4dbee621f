"""A whole install on the real engine for tests: real containers, a real database and real turns; only the model is
scripted. ``RealApp`` runs the app in this process, ``AppProcess`` the orchestrator as a process of its own, which
may be killed and started again.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import docker
import requests

from orchestrator.app.app import App
from orchestrator.app.wiring import Edges
from orchestrator.capabilities.packages.indexes import read_indexes
from orchestrator.core.config import load
from orchestrator.core.home import prepare_home
from orchestrator.engine.docker.engine import build_engine
from orchestrator.engine.protocol import CubicleEngine
from orchestrator.llm.upstreams.catalog import CUSTOM, build_upstreams
from orchestrator.llm.upstreams.openai_compatible import OpenAICompatible
from orchestrator.web.limits import Internet
from tests.support.fakes import FakeImages
from tests.support.free_ports import free_port
from tests.support.made_once import put_empty_database
from tests.support.scripted_upstream import Reply, Request, ScriptedUpstream, answers

API_TOKEN = "test-token-of-the-operator"
PATIENCE_S = 30.0
ROOT = Path(__file__).resolve().parents[2]
_ENDED = ("done", "failed", "stopped")
Found = TypeVar("Found")


class Api:
    """The HTTP API, as a program of the operator's uses it."""

    def __init__(self, url: str, token: str = API_TOKEN) -> None:
        self.url = url
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.headers["Authorization"] = f"Bearer {token}"

    def call(self, method: str, path: str, **options: Any) -> requests.Response:
        """Any call; the answer as it is."""
        return self.session.request(method, f"{self.url}/api{path}", timeout=120, **options)

    def get(self, path: str, **params: Any) -> Any:
        """GET; the JSON of a call that went well."""
        return _good(self.call("GET", path, params=params))

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """POST; the JSON of a call that went well."""
        return _good(self.call("POST", path, json=body or {}))

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """PATCH; the JSON of a call that went well."""
        return _good(self.call("PATCH", path, json=body))

    def is_healthy(self) -> bool:
        """The install says that it is."""
        try:
            return self.call("GET", "/health").status_code == 200
        except requests.RequestException:
            return False


@dataclass
class Talker:
    """One agent, and what tests do with it."""

    api: Api
    name: str
    user: int
    home: Path
    install: str

    @property
    def container(self) -> str:
        """The name of its container for this person."""
        return f"hermit-{self.install}-{self.name}-{self.user}"

    @property
    def work(self) -> Path:
        """The host's side of where its commands start."""
        return self.home / "workspaces" / self.name / str(self.user) / "work"

    @property
    def run_folder(self) -> Path:
        """The host's side of ``/run/hermit``."""
        return self.home / "run" / self.name / str(self.user)

    def ask(self, text: str, *, timeout: float = 60.0) -> dict[str, Any]:
        """A message, and how its turn ended; the steps are in it."""
        sent = self.api.post(self._path("messages"), {"text": text, "wait": True, "timeout": timeout})
        assert sent["status"] in _ENDED, sent
        return self.turn(sent["turn"])

    def send(self, text: str) -> int:
        """A message that nobody waits for; the turn's number."""
        return int(self.api.post(self._path("messages"), {"text": text, "wait": False})["turn"])

    def wake(self) -> None:
        """Its container runs."""
        self.api.post(self._path("cubicle/start"))

    def turn(self, turn: int) -> dict[str, Any]:
        """A turn as it stands."""
        body: dict[str, Any] = self.api.get(f"/turns/{turn}")
        return body

    def stop(self, turn: int) -> None:
        """A person stops a turn."""
        self.api.post(f"/turns/{turn}/stop")

    def change(self, **settings: Any) -> None:
        """Other settings for the agent."""
        self.api.patch(f"/agents/{self.name}", settings)

    def ended(self, turn: int, *, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """The turn, once it has ended."""
        return self.until(turn, lambda now: now["status"] in _ENDED, patience_s=patience_s)

    def running(self, turn: int) -> dict[str, Any]:
        """The turn, once a command of it runs."""
        return self.until(turn, lambda now: any(step["status"] == "running" for step in now["steps"]))

    def until(
        self, turn: int, is_it: Callable[[dict[str, Any]], bool], *, patience_s: float = PATIENCE_S
    ) -> dict[str, Any]:
        """The turn, once something is true of it."""
        deadline = time.monotonic() + patience_s
        while not is_it(now := self.turn(turn)):
            if time.monotonic() > deadline:
                raise AssertionError(f"the turn did not get there: {now}")
            time.sleep(0.02)
        return now

    def question(self, turn: int) -> dict[str, Any]:
        """The open question of a turn, once there is one."""
        return eventually(
            lambda: next(
                (a for a in self.api.get("/approvals", status="pending")["approvals"] if a["turn"] == turn), {}
            )
        )

    def decide(self, approval: str, decision: str, **more: str) -> requests.Response:
        """Approve or deny, with ``note`` or ``scope``."""
        return self.api.call("POST", f"/approvals/{approval}", json={"decision": decision, **more})

    def _path(self, what: str) -> str:
        return f"/agents/{self.name}/{what}"


@dataclass(frozen=True)
class Ran:
    """A command that was run in a container, outside of any turn."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed with ``--json``."""
        return json.loads(self.out)


def run_inside(client: docker.DockerClient, agent: Talker, *command: str, folder: str | None = None) -> Ran:
    """Run a command as the agent in its container, which must be running; ``hermit`` for one."""
    container = client.containers.get(agent.container)
    code, output = container.exec_run(list(command), demux=True, workdir=folder)
    out, err = (bytes(part or b"").decode(errors="replace") for part in output)
    return Ran(int(code or 0), out, err)


class Plays:
    """What the model says, by a word in the conversation: safe for agents that talk at the same time."""

    def __init__(self, model: ScriptedUpstream) -> None:
        self.model = model
        self._plays: dict[str, Iterator[Reply]] = {}
        self._given: dict[str, tuple[object, Reply]] = {}
        """The last conversation and its answer, of each play that answers the same conversation alike."""
        self._numbers = itertools.count(1)
        model.answer(self._decide)

    def add(self, *replies: Reply) -> str:
        """A prompt that starts these replies, one a call; what comes after them repeats what it was told."""
        word = f"play-{next(self._numbers)}"
        self._plays[word] = iter(replies)
        return f"Please go on with {word}."

    def commands(self, *commands: str, reply: str = "All done.") -> str:
        """A prompt that has these commands run, one after the other. A call that is repeated, since nobody lived to
        hear the answer, gets the same answer again."""
        prompt = self.add(*(answers(terminal=command) for command in commands), answers(reply))
        self._given[prompt.rstrip(".").split()[-1]] = (None, answers(""))
        return prompt

    def _decide(self, request: Request) -> Reply:
        for message in reversed(request.json["messages"]):
            if not isinstance(message["content"], str):
                return answers("I see a picture.")
            words = str(message["content"]).replace(".", " ").split() if message["role"] == "user" else []
            play = next((word for word in words if word in self._plays), None)
            if play is not None:
                return self._go_on(play, request)
        return answers(f"You said: {request.last_text}")

    def _go_on(self, play: str, request: Request) -> Reply:
        conversation, reply = self._given.get(play, (None, answers("")))
        if conversation == request.json["messages"]:
            return reply
        reply = next(self._plays[play], answers(f"Told: {request.last_text}"))
        if play in self._given:
            self._given[play] = (request.json["messages"], reply)
        return reply


@dataclass
class RealApp:
    """The app in this process, with its engine and its model."""

    app: App
    api: Api
    model: ScriptedUpstream
    plays: Plays
    client: docker.DockerClient
    engine: CubicleEngine
    home: Path
    install: str
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def agent(self, **settings: Any) -> Talker:
        """A new agent that asks nobody, unless told otherwise."""
        name = f"a{next(self._numbers)}"
        self.api.post("/agents", {"name": name, "approval": "off", "daily_budget_usd": 1000, **settings})
        return Talker(self.api, name, 1, self.home, self.install)

    def inside(self, agent: Talker, *command: str) -> str:
        """What a command that is run as the agent in its container prints."""
        code, output = self.client.containers.get(agent.container).exec_run(list(command))
        text = bytes(output).decode(errors="replace")  # type: ignore[arg-type]  # bytes, as it is not streamed
        assert code == 0, text
        return text

    def diagnostics(self) -> str:
        """What the engine and the log know, for a test that failed."""
        return explain(self.client, self.install)


class AppProcess:
    """The orchestrator as a process of its own."""

    def __init__(
        self,
        home: Path,
        model: ScriptedUpstream,
        client: docker.DockerClient,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.home = home
        self.model = model
        self.plays = Plays(model)
        self.client = client
        place = prepare_home(home)
        put_empty_database(place.database)
        self.install = place.install
        self.port = free_port()
        self.api = Api(f"http://127.0.0.1:{self.port}")
        self.environment = {**_settings(home, self.port, model), **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)

    @property
    def log(self) -> Path:
        """What it prints."""
        return self.home / "logs" / "printed.log"

    def start(self, *, is_awaited: bool = True) -> None:
        """It runs, and answers unless nobody waits for that."""
        with self.log.open("ab") as sink:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "orchestrator", "serve"],
                env=self._whole_environment(),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        if is_awaited:
            eventually(self.api.is_healthy)

    def command(self, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
        """``./hermit ARGUMENTS`` for the same install, ``said`` on its standard input."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "orchestrator", *arguments],
            env=self._whole_environment(),
            cwd=ROOT,
            input=said,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    def kill(self) -> None:
        """SIGKILL: it has no moment to put anything in order."""
        self._end(signal.SIGKILL)

    def terminate(self, signals: Sequence[int] = (signal.SIGTERM,)) -> int:
        """SIGTERM: it ends in order. More signals come a tenth of a second apart; returns the exit code."""
        process = self._process
        for number in signals[:-1]:
            if process is not None:
                os.killpg(process.pid, number)
                time.sleep(0.1)
        self._end(signals[-1])
        return 0 if process is None else process.returncode

    def restart(self) -> None:
        """Killed, and started again."""
        self.kill()
        self.start()

    def agent(self, **settings: Any) -> Talker:
        """A new agent that asks nobody, unless told otherwise."""
        name = f"a{next(self._numbers)}"
        self.api.post("/agents", {"name": name, "approval": "off", "daily_budget_usd": 1000, **settings})
        return Talker(self.api, name, 1, self.home, self.install)

    def diagnostics(self) -> str:
        """What the engine and the log know, for a test that failed."""
        printed = self.log.read_text(encoding="utf-8", errors="replace")[-4000:] if self.log.exists() else ""
        logged = self.home / "logs" / "orchestrator.log"
        log = logged.read_text(encoding="utf-8", errors="replace")[-8000:] if logged.exists() else ""
        return f"{explain(self.client, self.install)}\n--- printed\n{printed}\n--- log\n{log}"

    def _whole_environment(self) -> dict[str, str]:
        return {**plain_environment(), **self.environment}

    def _end(self, number: int) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, number)
            self._process.wait(PATIENCE_S)
            self._process = None


@contextlib.contextmanager
def real_install(
    home: Path,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    *,
    engine_client: docker.DockerClient | None = None,
    internet: Internet | None = None,
    environment: Mapping[str, str] | None = None,
    pictures: bool = False,
) -> Iterator[RealApp]:
    """An install in ``home``, its containers removed at the end. It may reach its engine in another way than the test,
    have an internet and more settings of its own, and take pictures of web apps."""
    with ScriptedUpstream() as model:
        settings = load(
            {
                **_settings(home, free_port(), model),
                "HERMIT_APP_PICTURES": "1" if pictures else "0",
                **(environment or {}),
            },
            home,
        )
        place = prepare_home(settings.home)
        engine = build_engine(engine_client or client, place, FakeImages(image_tag))
        upstreams = build_upstreams(
            keys={},
            custom_base_url=settings.llm_base_url,
            custom_key="sk-test",
            custom_model="scripted",
            ollama_url=None,
        )
        app = App(
            settings,
            place,
            Edges(
                engine,
                upstreams,
                CUSTOM,
                backoff_s=0.02,
                internet=internet or Internet(),
                outside=read_indexes(settings, {}),
            ),
        )
        app.start()
        api = Api(settings.url)
        try:
            yield RealApp(app, api, model, Plays(model), client, engine.cubicles, home, place.install)
        finally:
            api.session.close()
            app.stop(stop_cubicles=False)
            sweep(client, place.install)
            for upstream in upstreams.values():
                if isinstance(upstream, OpenAICompatible):
                    upstream.close()


@contextlib.contextmanager
def process_install(
    home: Path, client: docker.DockerClient, environment: Mapping[str, str] | None = None
) -> Iterator[AppProcess]:
    """An install that is a process, started; process and containers are gone at the end."""
    with ScriptedUpstream() as model:
        install = AppProcess(home, model, client, environment)
        try:
            install.start()
            yield install
        finally:
            install.kill()
            install.api.session.close()
            sweep(client, install.install)


def sweep(client: docker.DockerClient, install: str) -> None:
    """No container of this install is left."""
    for found in client.api.containers(all=True, filters={"label": f"hermitshell.install={install}"}):
        with contextlib.suppress(docker.errors.NotFound):
            client.api.remove_container(found["Id"], force=True, v=True)


def explain(client: docker.DockerClient, install: str) -> str:
    """Every container of an install: its state, and what it printed last."""
    parts = []
    for container in client.containers.list(all=True, filters={"label": f"hermitshell.install={install}"}):
        state = container.attrs["State"]
        parts.append(
            f"--- {container.name} {container.status} {state}\n{container.logs(tail=20).decode(errors='replace')}"
        )
    return "\n".join(parts) or f"no container of install {install}"


def eventually(look: Callable[[], Found | None], *, patience_s: float = PATIENCE_S) -> Found:
    """What ``look`` finds, once it finds something."""
    deadline = time.monotonic() + patience_s
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in time")
        time.sleep(0.02)
    return found


def _settings(home: Path, port: int, model: ScriptedUpstream) -> dict[str, str]:
    return {
        "HERMIT_HOME": str(home),
        "HERMIT_API_TOKEN": API_TOKEN,
        "HERMIT_ADMIN_USER": "ada",
        "HERMIT_PORT": str(port),
        "HERMIT_PREVIEW_PORT": str(free_port()),
        "HERMIT_LLM_BASE_URL": model.base_url,
        "HERMIT_LLM_API_KEY": "sk-test",
        "HERMIT_LLM_MODEL": "scripted",
    }


def plain_environment() -> dict[str, str]:
    """Ours, without anything that is a setting of the program."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HERMIT_")}
    kept = {name: value for name, value in kept.items() if not name.endswith("_API_KEY")}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))}


def _good(answer: requests.Response) -> Any:
    assert answer.ok, f"{answer.status_code}: {answer.text[:500]}"
    return answer.json() if answer.content else None
