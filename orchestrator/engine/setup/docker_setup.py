"""A container engine that answers: the one that runs already if there is one, else Docker from Debian's packages.

It starts an engine only where none listens, never restarts or reconfigures one that does, and judges it by its answer,
not by which programs are installed. What it finds lacking it says in one sentence, with how to fix it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import docker
import requests

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup.apt import install_packages
from orchestrator.engine.setup.machine import Machine
from orchestrator.engine.setup.progress import SetupProgress, Task

logger = logging.getLogger(__name__)

DOCKER_SOCKET = "/var/run/docker.sock"
OLDEST_API = (1, 40)
PROBE_S = 10
"""An engine that is up answers in milliseconds; one that starts or swaps gets this long."""
CALL_S = 60
START_S = 60
LOG = "dockerd.log"

Connect = Callable[[Mapping[str, str]], docker.DockerClient]
"""Makes a client from DOCKER_* variables; raises what the SDK raises."""


class EngineHealth(StrEnum):
    """What came of knocking at an engine's door."""

    ANSWERS = "answers"
    ABSENT = "absent"
    DENIED = "denied"
    SILENT = "silent"
    UNFIT = "unfit"


@dataclass(frozen=True, slots=True)
class Knock:
    """One engine's answer."""

    url: str
    health: EngineHealth
    client: docker.DockerClient | None = None
    detail: str = ""
    """For ``UNFIT``: what is wrong with it and how to fix it."""


@dataclass(frozen=True, slots=True)
class EngineAdvice:
    """Something about the engine that a person may want to fix, though cubicles run."""

    text: str
    fix: str


def connect_docker(env: Mapping[str, str]) -> docker.DockerClient:
    """The real :data:`Connect`."""
    return docker.from_env(environment=dict(env), timeout=PROBE_S, version="auto")


def ensure_engine(
    machine: Machine, progress: SetupProgress, *, connect: Connect = connect_docker
) -> docker.DockerClient:
    """A client of an engine that answers; installs and starts Docker if there is none and we may.

    Raises :class:`Unavailable` with one sentence that says how to fix it.
    """
    knock = find_engine(machine, connect=connect)
    if knock.health is EngineHealth.ABSENT and not machine.env.get("DOCKER_HOST"):
        knock = _start_engine(machine, progress, connect)
    return require_usable(knock, machine)


def find_engine(machine: Machine, *, connect: Connect = connect_docker) -> Knock:
    """The best engine there is; ``ABSENT`` when none listens. Changes nothing."""
    best = Knock(f"unix://{DOCKER_SOCKET}", EngineHealth.ABSENT)
    for url in _list_places(machine):
        knock = _try_engine(url, machine, connect)
        if knock.health is EngineHealth.ANSWERS:
            return knock
        if best.health is EngineHealth.ABSENT and knock.health is not EngineHealth.ABSENT:
            best = knock
    return best


def require_usable(knock: Knock, machine: Machine) -> docker.DockerClient:
    """The client of an engine that answered. Raises :class:`Unavailable` for any other."""
    if knock.health is EngineHealth.ANSWERS and knock.client:
        return knock.client
    raise Unavailable(_explain_failure(knock, machine))


def limits_lacking(info: Mapping[str, Any]) -> tuple[EngineAdvice, ...]:
    """Limits on a cubicle that this engine (its ``info``) cannot hold."""
    fix = "turn the cgroup controller on (cgroup v2, or kernel options 'cgroup_enable=memory swapaccount=1')"
    lacking = {
        "MemoryLimit": "The engine cannot limit memory: one cubicle could take all of the host's.",
        "SwapLimit": "The engine cannot limit swap: a cubicle could use more memory than it was given.",
        "PidsLimit": "The engine cannot limit processes: one cubicle could use up the host's.",
        "CpuCfsQuota": "The engine cannot limit CPU time: one cubicle could slow the host down.",
    }
    found = [EngineAdvice(text, fix) for name, text in lacking.items() if info.get(name) is False]
    if not any("seccomp" in option for option in info.get("SecurityOptions") or ()):
        found.append(
            EngineAdvice("The engine has no system-call filter (seccomp).", "use a kernel and an engine with seccomp")
        )
    return tuple(found)


# --- finding ---------------------------------------------------------------------------------------------------


def _list_places(machine: Machine) -> tuple[str, ...]:
    """Where engines listen; with DOCKER_HOST set, there alone."""
    if named := machine.env.get("DOCKER_HOST"):
        return (named,)
    runtime = machine.env.get("XDG_RUNTIME_DIR") or f"/run/user/{machine.user_id()}"
    sockets = (DOCKER_SOCKET, f"{runtime}/docker.sock", "/run/podman/podman.sock", f"{runtime}/podman/podman.sock")
    return tuple(f"unix://{path}" for path in sockets)


def _try_engine(url: str, machine: Machine, connect: Connect) -> Knock:
    if url.startswith("unix://") and (refused := machine.socket_error(url.removeprefix("unix://"))):
        return Knock(url, _health_of(refused))
    settings = {name: machine.env[name] for name in ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH") if name in machine.env}
    try:
        client = connect({**settings, "DOCKER_HOST": url})
        version = client.version()
    except (docker.errors.DockerException, requests.RequestException, OSError, ValueError) as error:
        logger.info("no engine at %s: %s", url, error)
        return Knock(url, _health_of(error))
    if complaint := _explain_unfit(version):
        client.close()
        return Knock(url, EngineHealth.UNFIT, detail=complaint)
    client.api.timeout = CALL_S
    return Knock(url, EngineHealth.ANSWERS, client)


def _explain_unfit(version: Mapping[str, Any]) -> str:
    """Why an engine that answers cannot serve, or empty."""
    if version.get("Os", "linux") != "linux":
        return "The container engine runs Windows containers: switch it to Linux containers, then try again."
    api = str(version.get("ApiVersion", "0"))
    if _version_numbers(api) < OLDEST_API:
        return (
            f"The container engine {version.get('Version', '')} is too old (API {api}): update it to Docker 20.10 or"
            " newer, then try again."
        )
    return ""


def _version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _health_of(error: BaseException) -> EngineHealth:
    """The SDK wraps the reason several times over; the innermost system error tells."""
    for cause in _list_causes(error):
        if isinstance(cause, requests.Timeout | TimeoutError | BlockingIOError):
            return EngineHealth.SILENT
        if isinstance(cause, PermissionError):
            return EngineHealth.DENIED
    return EngineHealth.ABSENT


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """The error and everything that it was made from."""
    todo, seen = [error], set[int]()
    while todo:
        current = todo.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        inner = [current.__cause__, current.__context__, *current.args]
        todo += [item for item in inner if isinstance(item, BaseException)]


def _explain_failure(knock: Knock, machine: Machine) -> str:
    where = knock.url.removeprefix("unix://")
    if knock.health is EngineHealth.UNFIT:
        return knock.detail
    if knock.health is EngineHealth.DENIED:
        user = machine.env.get("USER") or "$USER"
        return (
            f"A container engine runs, but I may not use its socket ({where}): run 'sudo usermod -aG docker {user}',"
            " log out and in, then try again."
        )
    if knock.health is EngineHealth.SILENT:
        return f"The container engine at {where} does not answer: restart it, then try again."
    if named := machine.env.get("DOCKER_HOST"):
        return f"No container engine answers at DOCKER_HOST={named}: start it, or unset DOCKER_HOST, then try again."
    return f"No container engine answers at {where}: start one, then try again."


# --- starting --------------------------------------------------------------------------------------------------


def _start_engine(machine: Machine, progress: SetupProgress, connect: Connect) -> Knock:
    if not machine.is_root():
        raise Unavailable(_not_root(machine))
    if not machine.has_command("dockerd"):
        install_packages(machine, progress, ["docker.io", "iptables"], what="Docker")
    with progress.task("Starting Docker") as task:
        pid = _launch_engine(machine)
        return _wait_for_engine(machine, task, connect, pid)


def _not_root(machine: Machine) -> str:
    if not machine.has_command("dockerd"):
        how = (
            "install it with 'sudo apt-get install docker.io'"
            if machine.has_command("apt-get")
            else "install Docker or Podman"
        )
        return f"There is no container engine here and I am not root: {how}, then try again."
    start = "sudo systemctl start docker" if machine.has_systemd() else "sudo dockerd"
    return f"Docker is not answering and I am not root: start it with '{start}', then try again."


def _launch_engine(machine: Machine) -> int | None:
    """Docker is on its way up; its process id where we are its parent."""
    if not machine.has_systemd():
        return machine.spawn_command(["dockerd"], log=LOG)
    ran = machine.run_command(["systemctl", "start", "docker"], timeout_s=START_S, log="systemctl.log")
    if ran.code != 0:
        raise Unavailable(f"systemd could not start Docker: {ran.last_line} See 'journalctl -u docker' for the reason.")
    return None


def _wait_for_engine(machine: Machine, task: Task, connect: Connect, pid: int | None) -> Knock:
    for _ in range(START_S * 5):
        knock = find_engine(machine, connect=connect)
        if knock.health not in (EngineHealth.ABSENT, EngineHealth.SILENT):
            return knock
        if pid is not None and machine.has_ended(pid):
            raise Unavailable(
                f"Docker stopped while it was starting: {last_words(machine.log_text(LOG))}. The log is"
                f" {machine.state_dir / LOG}."
            )
        task.show_detail("waiting for its first answer")
        machine.sleep(0.2)
    raise Unavailable(f"Docker was started but did not answer within {START_S} s; see {machine.state_dir / LOG}.")


def last_words(log: str) -> str:
    """The line of dockerd's log that says why it ended."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("failed to start") or "level=fatal" in line]
    telling = telling or [line for line in lines if "level=error" in line]
    return _log_message((telling or lines or ["it said nothing"])[-1]).rstrip(".")


def _log_message(line: str) -> str:
    """The ``msg`` of a log line, shortened; the line itself if it has none."""
    found = re.search(r'\bmsg="((?:[^"\\]|\\.)*)"', line)
    text = found[1].replace('\\"', '"') if found else line
    return text if len(text) <= 300 else text[:299] + "…"
