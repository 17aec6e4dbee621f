"""A whole install for the chaos suite: the orchestrator as ``./hermit up -d`` starts it, in a home of its own on a disk
of its own, with real cubicles, a scripted model, a Bot API server and people with phones; the engine is reached by a
wire that can be cut."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import docker

from orchestrator.core.home import running_pid
from tests.chaos.cases import Cases
from tests.chaos.model import Moods
from tests.chaos.plan import AGENTS, WITH_BOTS
from tests.support.bot_api import BotApi
from tests.support.bot_api_people import Person
from tests.support.engine_proxy import EngineProxy
from tests.support.free_ports import free_port
from tests.support.real_app import PATIENCE_S, ROOT, Api, eventually, explain, plain_environment, sweep
from tests.support.scripted_upstream import ScriptedUpstream
from tests.support.small_disks import mounted

ADA, EVA = 4_200_001, 4_200_002
DISK_MB = 192
APPROVAL_TIMEOUT_S = 12
MISER_USD = 0.05
_CODE = re.compile(r"\b\d{6}\b")


class Install:
    """Everything that runs, and what starts and ends it."""

    def __init__(
        self,
        home: Path,
        client: docker.DockerClient,
        *,
        model: ScriptedUpstream,
        bots: BotApi,
        wire: EngineProxy,
        cases: Cases,
    ) -> None:
        self.home = home
        self.client = client
        self.model = model
        self.moods = Moods(model, cases)
        self.bots = bots
        self.wire = wire
        self.port = free_port()
        self.token = f"token-{secrets.token_hex(12)}"
        self.key = f"sk-{secrets.token_hex(12)}"
        self.api = Api(f"http://127.0.0.1:{self.port}", self.token)
        self.bot_of = {agent: bots.bot(agent.title()) for agent in WITH_BOTS}
        self.people: dict[str, Person] = {"ada": bots.person(ADA, "Ada"), "eva": bots.person(EVA, "Eva")}
        self.users = {"ada": 1}
        self.from_before: set[tuple[int, int]] = set()
        """Messages, by chat and number, that came while it settled in: the code of a bot is no message."""
        self._preview_port = free_port()
        self._starting = threading.Lock()  # one "up" at a time

    # --- the orchestrator --------------------------------------------------------------------------------------

    def up(self) -> None:
        """``./hermit up -d``, until it says that it is healthy; running already is fine."""
        with self._starting:
            ran = self.command("up", "-d")
            if ran.returncode:
                raise AssertionError(f"'up -d' failed: {ran.stderr.strip()}")

    def down(self) -> None:
        """``./hermit down``."""
        ran = self.command("down")
        assert ran.returncode == 0, ran.stderr

    def kill(self) -> bool:
        """SIGKILL for the orchestrator; False when none ran."""
        return self._end(signal.SIGKILL)

    def terminate(self) -> bool:
        """SIGTERM; False when none ran."""
        return self._end(signal.SIGTERM)

    @property
    def is_running(self) -> bool:
        """An orchestrator holds this home."""
        return running_pid(self.home) is not None

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What ``./hermit ARGUMENTS`` runs once its dependencies are there."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "orchestrator", *arguments],
            env={**plain_environment(), **self._settings()},
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=150,
            check=False,
        )

    # --- the beginning -----------------------------------------------------------------------------------------

    def settle_in(self) -> None:
        """The first start: people, agents, bots that were proved."""
        for person in self.people.values():
            for bot in self.bot_of.values():
                person.opens(bot)
        self.up()
        made = self.api.post("/users", {"name": "Eva", "role": "member", "telegram_id": EVA})
        self.users["eva"] = int(made["id"])
        settings = {"approval": "dangerous", "approval_timeout_s": APPROVAL_TIMEOUT_S, "daily_budget_usd": 1000}
        for agent in AGENTS:
            if agent == "crab":
                self.api.patch("/agents/crab", settings)
            else:
                self.api.post("/agents", {"name": agent, **settings})
        self.api.patch("/agents/miser", {"daily_budget_usd": MISER_USD})
        self._prove("scout")
        codes = [message for person in self.people.values() for message in self.bots.messages(person)]
        self.from_before = {(message["chat"]["id"], message["message_id"]) for message in codes}
        self._greet()

    def _prove(self, agent: str) -> None:
        token = self.bot_of[agent]
        self.api.post(f"/agents/{agent}/telegram", {"token": token})
        said = eventually(
            lambda: [
                found[0] for text in self.bots.said(self.people["ada"], bot=token) if (found := _CODE.search(text))
            ]
        )
        self.api.post(f"/agents/{agent}/telegram/confirm", {"code": said[-1]})

    def _greet(self) -> None:
        """Everybody has said hello to every bot, so their chats are known."""
        for person in self.people.values():
            for bot in self.bot_of.values():
                before = len(self.bots.said(person, bot=bot))
                person.says(bot, "/start")
                eventually(partial(self._has_more, person, bot, before))

    def _has_more(self, person: Person, bot: str, before: int) -> bool:
        return len(self.bots.said(person, bot=bot)) > before

    # --- for whoever looks -------------------------------------------------------------------------------------

    @property
    def install_id(self) -> str:
        """What the labels of its containers say."""
        return (self.home / "keys" / "install-id").read_text(encoding="ascii").strip()

    @property
    def database(self) -> Path:
        """The one database."""
        return self.home / "db" / "hermit.db"

    @property
    def secrets(self) -> dict[str, str]:
        """What must be in no log, by what it is."""
        bots = {f"the token of {agent}'s bot": token.partition(":")[2] for agent, token in self.bot_of.items()}
        keys = {
            f"the file keys/{path.name}": path.read_text(encoding="ascii").strip()
            for path in (self.home / "keys").iterdir()
            if path.name != "install-id"
        }
        return {"the API token": self.token, "the model's key": self.key, **bots, **keys}

    def diagnostics(self) -> str:
        """For a run that failed."""
        logged = self.home / "logs" / "orchestrator.log"
        log = logged.read_text(encoding="utf-8", errors="replace")[-12000:] if logged.exists() else "no log"
        return f"{explain(self.client, self.install_id)}\n--- log\n{log}"

    def close(self) -> None:
        """Nothing of it is left."""
        self.moods.turn("")
        self.wire.join_up()
        self.wire.let_go()
        self.kill()
        self.api.session.close()
        if (self.home / "keys" / "install-id").exists():
            sweep(self.client, self.install_id)

    def _end(self, number: int) -> bool:
        pid = running_pid(self.home)
        if pid is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        eventually(lambda: running_pid(self.home) != pid, patience_s=PATIENCE_S)
        return True

    def _settings(self) -> dict[str, str]:
        return {
            "HERMIT_HOME": str(self.home),
            "HERMIT_API_TOKEN": self.token,
            "HERMIT_ADMIN_USER": "ada",
            "HERMIT_PORT": str(self.port),
            "HERMIT_PREVIEW_PORT": str(self._preview_port),
            "HERMIT_LLM_BASE_URL": self.model.base_url,
            "HERMIT_LLM_API_KEY": self.key,
            "HERMIT_LLM_MODEL": "scripted",
            "TELEGRAM_BOT_TOKEN": self.bot_of["crab"],
            "HERMIT_TELEGRAM_OPERATOR_ID": str(ADA),
            "HERMIT_TELEGRAM_API_URL": self.bots.url,
            "DOCKER_HOST": f"unix://{self.wire.path}",
        }


@contextlib.contextmanager
def installed(folder: Path, client: docker.DockerClient, cases: Cases) -> Iterator[Install]:
    """An install in ``folder`` that has settled in; nothing of it is left afterwards."""
    target = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if not target.startswith("unix://"):
        raise AssertionError("the engine is not at a unix socket, and this suite cuts one")
    with _small_disk(folder) as disk, ScriptedUpstream() as model, BotApi() as bots:
        wire = EngineProxy(folder / "engine.sock", target.removeprefix("unix://"))
        made = Install(disk / "home", client, model=model, bots=bots, wire=wire, cases=cases)
        try:
            made.settle_in()
            yield made
        finally:
            made.close()
            wire.close()


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    """A disk that can be filled; a plain folder where we may not mount one."""
    disk = folder / "disk"
    if os.geteuid() == 0:
        with mounted(disk, f"size={DISK_MB}m,mode=755"):
            yield disk
    else:
        disk.mkdir()
        yield disk
