"""Finding, installing and starting an engine: every way it can go wrong ends in one sentence with the fix."""

from __future__ import annotations

import io
import socket
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import pytest

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup import docker_setup
from orchestrator.engine.setup.docker_setup import (
    DOCKER_SOCKET,
    EngineHealth,
    ensure_engine,
    find_engine,
    last_words,
    limits_lacking,
)
from orchestrator.engine.setup.machine import CommandResult, LocalMachine
from orchestrator.engine.setup.progress import SetupProgress
from tests.support.fake_machine import FakeMachine

GOOD = {"ApiVersion": "1.41", "Os": "linux", "Version": "20.10.24"}
ABSENT = ConnectionRefusedError(111, "Connection refused")


class Engines:
    """What answers where: a version, or the error that the SDK would wrap."""

    def __init__(self, **answers: Mapping[str, Any] | OSError) -> None:
        self.answers: dict[str, Mapping[str, Any] | OSError] = dict(answers)
        self.asked: list[str] = []

    def connect(self, env: Mapping[str, str]) -> Any:
        url = env["DOCKER_HOST"]
        self.asked.append(url)
        answer = self.answers.get(url, self.answers.get("all", ABSENT))
        if isinstance(answer, OSError):
            raise docker.errors.DockerException("Error while fetching server API version") from answer
        return SimpleNamespace(version=lambda: answer, api=SimpleNamespace(timeout=0), close=lambda: None, url=url)

    def up(self) -> None:
        self.answers["all"] = GOOD


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path, sockets={DOCKER_SOCKET})


@pytest.fixture
def shown() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def progress(shown: io.StringIO) -> SetupProgress:
    return SetupProgress(shown)


def refusal(machine: FakeMachine, engines: Engines, progress: SetupProgress) -> str:
    with pytest.raises(Unavailable) as caught:
        ensure_engine(machine, progress, connect=engines.connect)
    assert "\n" not in caught.value.message
    return caught.value.message


def test_an_engine_that_answers_is_taken_in_silence(
    machine: FakeMachine, progress: SetupProgress, shown: io.StringIO
) -> None:
    """Nothing is run and nothing is shown when the engine is up."""
    client = ensure_engine(machine, progress, connect=Engines(all=GOOD).connect)
    assert client.api.timeout == docker_setup.CALL_S
    assert (machine.ran, shown.getvalue()) == ([], "")


@pytest.mark.parametrize(
    ("sockets", "env", "expected"),
    [
        ({DOCKER_SOCKET, "/run/podman/podman.sock"}, {}, f"unix://{DOCKER_SOCKET}"),
        ({"/run/podman/podman.sock"}, {}, "unix:///run/podman/podman.sock"),
        ({"/x/docker.sock", "/x/podman/podman.sock"}, {"XDG_RUNTIME_DIR": "/x"}, "unix:///x/docker.sock"),
        ({"/run/user/1000/podman/podman.sock"}, {}, "unix:///run/user/1000/podman/podman.sock"),
        ({DOCKER_SOCKET}, {"DOCKER_HOST": "tcp://10.0.0.1:2375"}, "tcp://10.0.0.1:2375"),
    ],
)
def test_every_usual_place_is_looked_at(
    machine: FakeMachine, sockets: set[str], env: dict[str, str], expected: str
) -> None:
    """Docker comes before Podman, the system's before the user's, and DOCKER_HOST before all."""
    machine.sockets, machine.env, machine.root = sockets, env, False
    knock = find_engine(machine, connect=Engines(all=GOOD).connect)
    assert (knock.health, knock.url) == (EngineHealth.ANSWERS, expected)


def test_the_next_place_serves_when_the_first_does_not_answer(machine: FakeMachine) -> None:
    """A socket left behind by a dead Docker does not hide a Podman that runs."""
    machine.sockets = {DOCKER_SOCKET, "/run/podman/podman.sock"}
    engines = Engines(**{"unix:///run/podman/podman.sock": GOOD})
    assert find_engine(machine, connect=engines.connect).url == "unix:///run/podman/podman.sock"


@pytest.mark.parametrize(
    ("answer", "setting", "words"),
    [
        (PermissionError(13, "denied"), {"env": {"USER": "ada"}}, ["usermod -aG docker ada", DOCKER_SOCKET]),
        (TimeoutError("timed out"), {}, ["does not answer", "restart"]),
        (GOOD | {"ApiVersion": "1.39"}, {}, ["too old", "API 1.39", "20.10"]),
        (GOOD | {"Os": "windows"}, {}, ["Windows containers", "Linux containers"]),
        (ABSENT, {"root": False}, ["not root", "sudo dockerd"]),
        (ABSENT, {"root": False, "systemd": True}, ["not root", "sudo systemctl start docker"]),
        (ABSENT, {"root": False, "commands": {"apt-get"}}, ["not root", "sudo apt-get install docker.io"]),
        (ABSENT, {"root": False, "commands": set()}, ["not root", "install Docker or Podman"]),
        (ABSENT, {"commands": set()}, ["without apt", "package manager"]),
        (ABSENT, {"commands": {"apt-get"}, "free": 5 << 20}, ["5 MB left", "free some"]),
        (ABSENT, {"env": {"DOCKER_HOST": "tcp://nowhere:1"}}, ["DOCKER_HOST=tcp://nowhere:1", "unset"]),
    ],
)
def test_what_is_wrong_is_said_with_its_mend(
    machine: FakeMachine,
    progress: SetupProgress,
    answer: Mapping[str, Any] | OSError,
    setting: dict[str, Any],
    words: list[str],
) -> None:
    """Each obstacle has a sentence of its own, and nothing was started for it."""
    for name, value in setting.items():
        setattr(machine, name, value)
    message = refusal(machine, Engines(all=answer), progress)
    assert all(word in message for word in words), message
    assert "dockerd" not in machine.ran


def test_docker_is_installed_and_started(machine: FakeMachine, progress: SetupProgress, shown: io.StringIO) -> None:
    """Where nothing is installed, root gets Docker by apt; old package lists are read again first."""
    engines = Engines()
    machine.commands, machine.sockets, machine.lists_age_s = {"apt-get"}, set(), None

    def come_up() -> None:
        machine.sockets.add(DOCKER_SOCKET)
        engines.up()

    machine.does = {"dockerd": come_up}
    ensure_engine(machine, progress, connect=engines.connect)
    assert [line.split(" -o ")[0] for line in machine.ran] == [
        "apt-get update",
        "apt-get install -y --no-install-recommends",
        "dockerd",
    ]
    assert "Installing Docker … done" in shown.getvalue()
    assert "Starting Docker … done" in shown.getvalue()


def test_systemd_starts_docker_where_it_runs(machine: FakeMachine, progress: SetupProgress) -> None:
    """No dockerd of our own beside systemd's."""
    engines = Engines()
    machine.systemd = True
    machine.does = {"systemctl start docker": engines.up}
    ensure_engine(machine, progress, connect=engines.connect)
    assert machine.ran == ["systemctl start docker"]


def test_apt_tells_why_it_failed(machine: FakeMachine, progress: SetupProgress) -> None:
    """apt's first error reaches the person, after one more try with fresh lists."""
    machine.commands = {"apt-get"}
    machine.says = {"apt-get install": CommandResult(100, "Reading…\nE: Unable to locate package docker.io\nE: second")}
    message = refusal(machine, Engines(), progress)
    assert "Unable to locate package docker.io. Try 'apt-get install docker.io iptables'" in message
    assert [line.split(" -")[0] for line in machine.ran] == ["apt-get install", "apt-get update", "apt-get install"]


def test_a_dockerd_that_dies_is_quoted(machine: FakeMachine, progress: SetupProgress, shown: io.StringIO) -> None:
    """Its last meaningful line is in the message, which is all that is shown, and the wait ends at once."""
    machine.spawned_ends = True
    machine.log = (
        'time="2026-01-01" level=info msg="Starting up"\n'
        "failed to start daemon: Error initializing network controller: iptables not found\n"
    )
    message = refusal(machine, Engines(), progress)
    assert "Error initializing network controller: iptables not found" in message
    assert str(machine.state_dir / "dockerd.log") in message
    assert machine.slept_s == 0
    assert shown.getvalue() == ""


def test_a_dockerd_that_never_answers_is_given_up(machine: FakeMachine, progress: SetupProgress) -> None:
    """The wait has an end."""
    assert "did not answer within" in refusal(machine, Engines(), progress)
    assert machine.slept_s >= docker_setup.START_S - 1


def test_systemd_tells_that_it_failed(machine: FakeMachine, progress: SetupProgress) -> None:
    """The person is sent to the journal."""
    machine.systemd = True
    machine.says = {"systemctl": CommandResult(1, "Job for docker.service failed.")}
    assert "journalctl -u docker" in refusal(machine, Engines(), progress)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", "it said nothing"),
        ('time="x" level=error msg="no space left" module=a\ntime="x" level=info msg="bye"', "no space left"),
        ('time="x" level=fatal msg="bad \\"flag\\" given"', 'bad "flag" given'),
        ("plain words", "plain words"),
    ],
)
def test_last_words_are_the_telling_ones(log: str, words: str) -> None:
    """The reason is picked out of the log lines, not merely the last line."""
    assert last_words(log) == words


def test_limits_that_the_engine_cannot_hold_are_found() -> None:
    """Each missing controller is named with its fix; a whole engine gives no finding."""
    whole = {"MemoryLimit": True, "SwapLimit": True, "PidsLimit": True, "SecurityOptions": ["name=seccomp"]}
    assert limits_lacking(whole) == ()
    found = limits_lacking(whole | {"MemoryLimit": False, "PidsLimit": False, "SecurityOptions": []})
    assert [any(word in finding.text for word in ("memory", "processes", "seccomp")) for finding in found] == [True] * 3
    assert all(finding.fix for finding in found)


@pytest.fixture
def local(tmp_path: Path) -> LocalMachine:
    return LocalMachine(tmp_path / "state", {"DOCKER_HOST": f"unix://{tmp_path}/engine.sock"})


def test_an_engine_that_says_nothing_is_told_from_none(local: LocalMachine, tmp_path: Path) -> None:
    """With the real SDK and real sockets: nobody there, nobody listening, somebody silent."""

    def impatient(env: Mapping[str, str]) -> docker.DockerClient:
        return docker.from_env(environment=dict(env), timeout=1, version="auto")

    assert find_engine(local, connect=impatient).health is EngineHealth.ABSENT
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "engine.sock"))
        assert find_engine(local, connect=impatient).health is EngineHealth.ABSENT
        server.listen()
        assert find_engine(local, connect=impatient).health is EngineHealth.SILENT


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:1", "nonsense://x", "unix:///x" + "y" * 200])
def test_a_host_that_leads_nowhere_is_absent(tmp_path: Path, url: str) -> None:
    """Whatever DOCKER_HOST holds, the answer is a sentence."""
    machine = LocalMachine(tmp_path, {"DOCKER_HOST": url})
    with pytest.raises(Unavailable, match="No container engine answers at DOCKER_HOST="):
        ensure_engine(machine, SetupProgress())
