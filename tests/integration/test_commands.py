"""``./hermit`` as a person uses it: every command on a real install, what it prints, where, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import pytest

from orchestrator.core.config import SETTINGS
from orchestrator.core.home import running_pid
from tests.support.bot_api import BotApi
from tests.support.free_ports import free_port
from tests.support.real_app import ROOT, Api, Plays, eventually, explain, plain_environment, sweep
from tests.support.scripted_upstream import ScriptedUpstream, answers

pytestmark = pytest.mark.docker

COMMANDS = [
    *["up", "down", "status", "doctor", "test", "chat", "agent", "telegram", "approvals", "approve", "deny", "logs"],
    *["files", "token"],
]
VERBS = ["list", "create", "show", "set", "rm"]


@dataclass
class Terminal:
    """A person at a terminal, with an install of their own."""

    home: Path
    client: docker.DockerClient
    model: ScriptedUpstream
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.port = free_port()
        self.plays = Plays(self.model)

    def hermit(self, *arguments: str, said: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
        """``./hermit ARGUMENTS``."""
        return subprocess.run(
            [str(ROOT / "hermit"), *arguments],
            env=self._environment(environment),
            input=said,
            capture_output=True,
            encoding="utf-8",
            timeout=180,
            check=False,
        )

    @contextlib.contextmanager
    def begin(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """The same, not waited for, and gone at the end."""
        with subprocess.Popen(
            # Tests that run in the background may be deaf for Ctrl-C, which a person at a terminal is not.
            ["/usr/bin/env", "--default-signal=INT", str(ROOT / "hermit"), *arguments],
            env=self._environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        ) as begun:
            try:
                yield begun
            finally:
                begun.kill()

    def good(self, *arguments: str, said: str = "") -> str:
        """What it prints; it must end well."""
        ran = self.hermit(*arguments, said=said)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def refused(self, *arguments: str, said: str = "", **environment: str) -> str:
        """The one line that it ends with; nothing is on standard output."""
        ran = self.hermit(*arguments, said=said, **environment)
        assert ran.returncode not in (0, 2), ran.stdout
        assert ran.stdout == ""
        lines = ran.stderr.splitlines()
        assert len(lines) == 1, ran.stderr
        assert lines[0].startswith("hermit: ")
        return lines[0]

    @property
    def install(self) -> str:
        """The id of the install."""
        return (self.home / "keys" / "install-id").read_text(encoding="ascii").strip()

    def diagnostics(self) -> str:
        """For a test that failed."""
        log = self.home / "logs" / "orchestrator.log"
        text = log.read_text(encoding="utf-8")[-5000:] if log.exists() else "no log"
        return f"{explain(self.client, self.install)}\n{text}"

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        return {
            **plain_environment(),
            "HERMIT_HOME": str(self.home),
            "HERMIT_PORT": str(self.port),
            "HERMIT_PREVIEW_PORT": str(free_port()),
            "HERMIT_LLM_BASE_URL": self.model.base_url,
            "HERMIT_LLM_API_KEY": "sk-test",
            **self.environment,
            **more,
        }


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image: str) -> Iterator[Terminal]:
    """A person whose HermitShell runs."""
    with ScriptedUpstream() as model:
        made = Terminal(tmp_path_factory.mktemp("install") / "home", client, model)
        try:
            made.good("up", "-d")
            yield made
        finally:
            made.hermit("down")
            sweep(client, made.install)


@pytest.fixture
def agent(person: Terminal) -> str:
    """An agent that asks about every command."""
    name = f"c{secrets.token_hex(3)}"
    person.good("agent", "create", name, "approval=all")
    return name


# --- up, status, down ------------------------------------------------------------------------------------------


def test_up_again_is_quick_and_changes_nothing(person: Terminal) -> None:
    """The same process goes on, and the address is said once more."""
    before = running_pid(person.home)
    said = person.good("up", "-d")
    assert f"http://127.0.0.1:{person.port}" in said
    assert running_pid(person.home) == before


def test_up_says_how_to_get_in(person: Terminal) -> None:
    """A link that works once."""
    link = re.search(r"http://\S+/login/\S+", person.good("up", "-d"))
    assert link
    fresh = person.good("login-link").strip()
    assert fresh.startswith(f"http://127.0.0.1:{person.port}/login/")
    assert fresh != link[0]


def test_the_first_agent_is_there(person: Terminal) -> None:
    """It is called crab, without anybody having made it."""
    assert "crab" in person.good("agent", "list")


def test_status(person: Terminal) -> None:
    """Every part, and the agents; as JSON too."""
    said = person.good("status")
    assert str(person.port) in said
    assert "crab" in said
    body = json.loads(person.good("status", "--json"))
    assert (body["status"], body["engine"], body["database"], body["doors"]) == ("ok",) * 4


def test_the_doctor_of_one_that_runs(person: Terminal) -> None:
    """Nothing fails; the air gap was tried for real, and the container of that is gone."""
    person.model.answer(lambda _request: "ok")
    ran = person.hermit("doctor", "--json")
    person.plays = Plays(person.model)
    found = json.loads(ran.stdout)["findings"]
    assert [f for f in found if f["state"] == "fail"] == []
    assert ran.returncode == 0
    assert len([f for f in found if f["part"] == "air gap" and f["state"] == "ok"]) == 7
    assert [f["state"] for f in found if f["part"] == "browser"] == ["ok"]
    assert next(f for f in found if f["part"] == "model")["state"] == "ok"
    assert next(f for f in found if f["part"] == "hermitshell")["state"] == "ok"
    left = person.client.containers.list(all=True, filters={"label": f"hermitshell.install={person.install}"})
    assert not [container.name for container in left if "doctor" in str(container.name)]
    assert not list((person.home / "run").glob(".doctor*"))


def test_the_doctor_of_one_that_is_ill(person: Terminal, tmp_path: Path) -> None:
    """No engine, a model that refuses, keys that others may read: each is a line with its fix, and the exit code 1."""
    home = tmp_path / "home"
    ran = person.hermit("doctor", HERMIT_HOME=str(home), DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert ran.returncode == 1
    assert re.search(r"^fail  engine .*\n {19}\S", ran.stdout, re.MULTILINE)
    assert "warn  hermitshell" in ran.stdout
    (home / "keys" / "command.token").chmod(0o644)
    ran = person.hermit("doctor", HERMIT_HOME=str(home), DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert ran.returncode == 1
    assert "chmod go-rwx" in ran.stdout
    assert re.search(r"^fail  engine .*\n {19}\S", ran.stdout, re.MULTILINE), "one fault hides no other"


def test_an_engine_that_is_not_there(person: Terminal, tmp_path: Path) -> None:
    """DOCKER_HOST is honoured: no other engine is used or installed instead."""
    said = person.refused(
        "up", "-d", HERMIT_HOME=str(tmp_path / "h"), HERMIT_PORT=str(free_port()), DOCKER_HOST="unix:///none.sock"
    )
    assert "DOCKER_HOST=unix:///none.sock" in said


def test_a_port_that_is_taken(person: Terminal, tmp_path: Path) -> None:
    """Whoever holds it is named, and so is the setting."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = person.refused("up", "-d", HERMIT_HOME=str(tmp_path / "h"), HERMIT_PORT=port)
    assert f"process {os.getpid()}" in said
    assert "HERMIT_PORT" in said


@pytest.mark.parametrize(
    ("setting", "value"), [("HERMIT_PORT", "http"), ("HERMIT_PORT", "70000"), ("HERMIT_LLM_BASE_URL", "nonsense")]
)
def test_a_setting_that_cannot_be(person: Terminal, tmp_path: Path, setting: str, value: str) -> None:
    """It is named with what it must be."""
    assert setting in person.refused("up", "-d", HERMIT_HOME=str(tmp_path / "h"), **{setting: value})


def test_what_needs_a_running_install_says_so(person: Terminal, tmp_path: Path) -> None:
    """With how to start it."""
    for command in (["status"], ["chat", "crab", "hi"], ["agent", "list"], ["approvals"], ["logs", "crab"]):
        said = person.refused(*command, HERMIT_HOME=str(tmp_path / "h"), HERMIT_PORT=str(free_port()))
        assert "./hermit up" in said


def test_down_of_what_does_not_run(person: Terminal, tmp_path: Path) -> None:
    """Is fine."""
    ran = person.hermit("down", HERMIT_HOME=str(tmp_path / "h"), HERMIT_PORT=str(free_port()))
    assert (ran.returncode, ran.stdout) == (0, "HermitShell was not running.\n")


def test_restart_leaves_cubicles_alone(person: Terminal) -> None:
    """There is another orchestrator afterwards, and the cubicle is the one that was there."""
    person.good("agent", "set", "crab", "approval=off")
    person.good("chat", "crab", person.plays.commands("true"))
    before, cubicle = running_pid(person.home), person.client.containers.get(f"hermit-{person.install}-crab-1")
    assert f"http://127.0.0.1:{person.port}" in person.good("restart")
    after = running_pid(person.home)
    assert after is not None
    assert after != before
    again = person.client.containers.get(str(cubicle.name))
    assert (again.id, again.status) == (cubicle.id, "running")


def test_restart_of_what_does_not_run(tmp_path: Path, client: docker.DockerClient, image: str) -> None:
    """Starts it."""
    with ScriptedUpstream() as model:
        person = Terminal(tmp_path / "home", client, model)
        try:
            assert "HermitShell is ready" in person.good("restart")
            assert running_pid(person.home) is not None
        finally:
            person.hermit("down")
            sweep(client, person.install)


def test_down_and_up_lose_nothing(tmp_path: Path, client: docker.DockerClient, image: str) -> None:
    """Container and process are gone in between; the conversation and the files are there afterwards."""
    with ScriptedUpstream() as model:
        person = Terminal(tmp_path / "home", client, model)
        try:
            person.good("up", "-d")
            person.good("agent", "set", "crab", "approval=off")
            person.good("chat", "crab", person.plays.commands("echo kept > kept.txt"))
            assert person.good("down") == "HermitShell is stopped.\n"
            assert running_pid(person.home) is None
            assert not client.containers.list(filters={"label": f"hermitshell.install={person.install}"})
            person.good("up", "-d")
            person.good("chat", "crab", person.plays.add(answers(terminal="cat kept.txt"), answers("Read.")))
            turns = json.dumps(person.model.calls[-1].json["messages"])
            assert "echo kept > kept.txt" in turns
            assert "kept\\n" in turns or "kept" in turns
        finally:
            person.hermit("down")
            sweep(client, person.install)


def test_up_says_the_code_of_a_bot(tmp_path: Path, client: docker.DockerClient, image: str) -> None:
    """The settings' bot is the first agent's, and whose it is has yet to be proved; no log holds its token."""
    with ScriptedUpstream() as model, BotApi() as telegram:
        token = telegram.bot("Crab", username="crab_bot")
        settings = {"TELEGRAM_BOT_TOKEN": token, "HERMIT_TELEGRAM_API_URL": telegram.url}
        person = Terminal(tmp_path / "home", client, model, settings)
        try:
            said = person.good("up", "-d")
            assert re.search(r"^Telegram, crab: Send \d{6} to ", said, re.MULTILINE), said
            (bot,) = json.loads(person.good("telegram", "list", "--json"))["bots"]
            assert (bot["state"], bot["code"] in said) == ("pairing", True)
            found = json.loads(person.hermit("doctor", "--json").stdout)["findings"]
            assert any(f["part"] == "telegram" and "@crab_bot of crab" in f["text"] for f in found)
            assert "TELEGRAM_BOT_TOKEN is still set" in person.good("telegram", "rm", "crab", "--yes")
            logs = "".join(path.read_text(encoding="utf-8") for path in (person.home / "logs").iterdir())
            assert token.partition(":")[2] not in said + json.dumps(found) + logs
        finally:
            person.hermit("down")
            sweep(client, person.install)


def test_up_in_the_foreground_ends_with_ctrl_c(tmp_path: Path, client: docker.DockerClient, image: str) -> None:
    """It says where it is, and after Ctrl-C neither process nor running container is left."""
    with ScriptedUpstream() as model:
        person = Terminal(tmp_path / "home", client, model)
        with person.begin("up") as running:
            eventually(lambda: person.hermit("status").returncode == 0)
            person.good("agent", "set", "crab", "approval=off")
            person.good("chat", "crab", person.plays.commands("true"))
            running.send_signal(2)
            said, _ = running.communicate(timeout=30)
        assert "HermitShell is ready" in said
        assert running.returncode == 0
        assert not client.containers.list(filters={"label": f"hermitshell.install={person.install}"})
        sweep(client, person.install)


# --- chat ------------------------------------------------------------------------------------------------------


def test_chat_prints_the_reply_alone(person: Terminal) -> None:
    """Commands are shown beside it, on standard error."""
    person.good("agent", "set", "crab", "approval=off")
    ran = person.hermit("chat", "crab", person.plays.commands("echo hidden", reply="Grüße 🦀"))
    assert (ran.returncode, ran.stdout) == (0, "Grüße 🦀\n")
    assert "$ echo hidden" in ran.stderr


def test_chat_line_by_line(person: Terminal) -> None:
    """Each line of standard input is a turn."""
    lines = [person.plays.add(answers(f"Reply {n}.")) for n in range(3)]
    assert person.good("chat", "crab", said="\n".join([*lines, "", ""])) == "Reply 0.\nReply 1.\nReply 2.\n"


def test_chat_with_nobody(person: Terminal) -> None:
    """Said at once, with the way to those that there are."""
    assert "agent list" in person.refused("chat", "nobody", "hi")
    assert "agent list" in person.refused("chat", "nobody", said="hi\n")


def test_a_failed_turn_is_a_failed_command(person: Terminal) -> None:
    """The turn's error is the command's."""
    person.good("agent", "set", "crab", "daily_budget_usd=0")
    assert "budget" in person.refused("chat", "crab", "hi")
    person.good("agent", "set", "crab", "daily_budget_usd=5")


def test_a_reply_cannot_play_with_the_terminal(person: Terminal) -> None:
    """Escape sequences of a reply are made harmless."""
    said = person.good("chat", "crab", person.plays.add(answers("a\x1b[2Jb\x07c\rd")))
    assert not set("\x1b\x07\r") & set(said)


def test_approvals_by_hand(person: Terminal, agent: str) -> None:
    """The inbox shows the question; approve and deny decide it once, and the waiting chat goes on."""
    for decision, ends_with in (("approve", "All done."), ("deny", "Told:")):
        with person.begin("chat", agent, person.plays.commands(f"echo {decision} >> decided", reply="All done.")
                          if decision == "approve"
                          else person.plays.add(answers(terminal="echo deny >> decided"))) as chat:  # fmt: skip
            (question,) = eventually(lambda: json.loads(person.good("approvals", "--json"))["approvals"])
            assert f"echo {decision}" in person.good("approvals")
            assert question["id"] in person.good(decision, question["id"])
            said, _ = chat.communicate(timeout=30)
        assert ends_with in said
        assert "already" in person.refused(decision, question["id"])
    assert person.good("approvals") == "Nothing waits for you.\n"
    assert json.loads(person.good("approvals", "--all", "--json"))["approvals"]


def test_telegram_without_a_bot(person: Terminal) -> None:
    """How to get one; what is no token is refused before anybody is asked."""
    assert "./hermit telegram add AGENT" in person.good("telegram", "list")
    assert json.loads(person.good("telegram", "list", "--json")) == {"bots": []}
    assert "BotFather" in person.refused("telegram", "add", "crab", said="hello\n")
    assert "no Telegram bot" in person.refused("telegram", "code", "crab")


def test_an_approval_that_there_is_not(person: Terminal) -> None:
    """Said, with where to look."""
    assert "./hermit approvals" in person.refused("approve", "nothing1")


def test_ctrl_c_stops_the_turn(person: Terminal, agent: str) -> None:
    """The command ends with 130, and the turn with it."""
    with person.begin("chat", agent, person.plays.commands("sleep 300")) as chat:
        eventually(lambda: json.loads(person.good("approvals", "--json"))["approvals"])
        chat.send_signal(2)
        chat.communicate(timeout=30)
    assert chat.returncode == 130
    eventually(lambda: not json.loads(person.good("approvals", "--json"))["approvals"])


# --- agents, logs, tokens --------------------------------------------------------------------------------------


def test_an_agents_life(person: Terminal) -> None:
    """Made, listed, shown, changed, deleted."""
    name = f"c{secrets.token_hex(3)}"
    made = json.loads(person.good("agent", "create", name, "role=Librarian", "limits.memory_mb=300", "--json"))
    assert (made["role"], made["limits"]["memory_mb"]) == ("Librarian", 300)
    assert name in person.good("agent", "list")
    assert "Librarian" in (plain := person.good("agent", "show", name))
    assert "of 2,048 MB" in plain
    person.good("agent", "set", name, "step_limit=7", "approval=all")
    shown = json.loads(person.good("agent", "show", name, "--json"))
    assert (shown["step_limit"], shown["approval"], shown["role"]) == (7, "all", "Librarian")
    for piped in ("", "yes\n", f"{name}\n"):
        assert "--yes" in person.refused("agent", "rm", name, said=piped), "nobody sits there to be asked"
    assert name in person.good("agent", "list")
    person.good("agent", "rm", name, "--yes")
    assert name not in person.good("agent", "list")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["create", "Bad Name"], "name"),
        (["create", "crab"], "exists"),
        (["create", "x", "colour=red"], "colour"),
        (["set", "crab", "approval"], "SETTING=VALUE"),
        (["set", "crab", "step_limit=0"], "step_limit"),
        (["set", "nobody", "step_limit=3"], "agent list"),
        (["show", "nobody"], "agent list"),
        (["rm", "nobody", "--yes"], "agent list"),
    ],
)
def test_what_an_agent_cannot_be(person: Terminal, arguments: list[str], named: str) -> None:
    """One line that names what is wrong."""
    assert named in person.refused("agent", *arguments)


def test_logs(person: Terminal) -> None:
    """The agent's own log; with -f it goes on as it grows."""
    person.good("agent", "set", "crab", "approval=off")
    person.good("chat", "crab", person.plays.commands("echo into-the-log"))
    assert "into-the-log" in person.good("logs", "crab")
    assert "into-the-log" in json.loads(person.good("logs", "crab", "--json"))["log"]
    with person.begin("logs", "crab", "-f") as following:
        assert following.stdout is not None
        person.good("chat", "crab", person.plays.commands("echo later-in-the-log"))
        seen = ""
        deadline = time.monotonic() + 30
        while "later-in-the-log" not in seen and time.monotonic() < deadline:
            seen += following.stdout.readline()
        following.terminate()
    assert "later-in-the-log" in seen


def test_a_token_works_and_is_kept_nowhere(person: Terminal) -> None:
    """It is on standard output alone; the API takes it; the database holds no copy."""
    token = person.good("token", "create", f"phone-{secrets.token_hex(3)}").strip()
    api = Api(f"http://127.0.0.1:{person.port}", token)
    assert api.get("/agents")["agents"]
    api.session.close()
    kept: list[Any] = [
        path for path in person.home.rglob("*") if path.is_file() and token.encode() in path.read_bytes()
    ]
    assert kept == []


# --- help ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), *(["agent", verb] for verb in VERBS)])
def test_every_command_has_help(person: Terminal, command: list[str]) -> None:
    """Without an install, an engine or anything else."""
    said = person.hermit(*command, "--help", HERMIT_HOME="/nonexistent/home")
    assert said.returncode == 0
    assert "usage: hermit" in said.stdout
    assert said.stderr == ""


def test_help_names_every_command_and_setting(person: Terminal) -> None:
    """And nothing is hidden."""
    said = person.good("--help") + person.good("help", "settings")
    assert {name for name in [*COMMANDS, *SETTINGS] if name not in said} == set()
    assert person.good() == person.good("--help") == person.good("help")
    assert person.good("agent") == person.good("agent", "--help")


@pytest.mark.parametrize(
    ("words", "told", "helped"),
    [
        (["chta"], "Did you mean 'chat'?", "./hermit"),
        (["agent", "fly"], "create", "./hermit agent"),
        (["approve"], "ID", "./hermit approve"),
    ],
)
def test_what_is_no_command(person: Terminal, words: list[str], told: str, helped: str) -> None:
    """Refused in one line, with what there is and where to read more."""
    ran = person.hermit(*words)
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert told in ran.stderr
    assert f"'{helped} --help'" in ran.stderr
