"""The cubicle's images and its system-call filter in real containers: what has to work does, the rest is refused."""

from __future__ import annotations

import io
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from orchestrator.cli.sbom import in_image
from orchestrator.core.errors import NotFound
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.docker.images import DockerImages
from orchestrator.engine.helpers import LISTER
from orchestrator.engine.setup.cubicle_image import CONTENT_LABEL, ROOT, TARGET_LABEL, Target, _remove_old, ensure_image
from orchestrator.engine.setup.docker_setup import ensure_engine, limits_lacking
from orchestrator.engine.setup.machine import LocalMachine
from orchestrator.engine.setup.progress import SetupProgress
from tests.integration.inside_tools import PARALLEL, WORKS

pytestmark = pytest.mark.docker

FILTER = (ROOT / "cubicle/seccomp.json").read_text(encoding="utf-8")
PROBES = Path(__file__).with_name("inside_syscalls.py").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Outcome:
    """How a command in a container ended."""

    code: int
    output: str


@dataclass(frozen=True)
class Cubicles:
    """Starts containers as cubicles are started, each for one command, and removes every one."""

    client: docker.DockerClient
    label: str
    machine: LocalMachine

    def image(self, target: Target) -> str:
        return ensure_image(self.client, target, machine=self.machine, progress=SetupProgress())

    def run(self, target: Target, *command: str, uid: int = 1000, filtered: bool = True) -> Outcome:
        container = self.client.containers.run(
            self.image(target),
            list(command),
            detach=True,
            init=True,
            network_mode="none",
            read_only=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges", f"seccomp={FILTER if filtered else 'unconfined'}"],
            user=f"{uid}:{uid}",
            mem_limit="1g",
            memswap_limit="1g",
            pids_limit=256,
            tmpfs={"/tmp": "size=256m,mode=1777", "/app/workspace/work": f"exec,size=256m,uid={uid},gid={uid}"},
            labels={"test-run": self.label},
        )
        try:
            code = container.wait(timeout=120)["StatusCode"]
            return Outcome(code, container.logs().decode(errors="replace"))
        finally:
            container.remove(force=True)

    def bash(self, target: Target, script: str, **options: Any) -> Outcome:
        return self.run(target, "bash", "-euo", "pipefail", "-c", script, **options)


@pytest.fixture(scope="module")
def cubicles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cubicles]:
    machine = LocalMachine(tmp_path_factory.mktemp("state"), os.environ)
    client = ensure_engine(machine, SetupProgress())
    yield Cubicles(client, uuid.uuid4().hex, machine)
    client.close()


# --- the images ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["base", "studio"])
def test_an_image_that_is_there_costs_nothing(cubicles: Cubicles, target: Target) -> None:
    """The second call is silent and gives the same name; the engine knows it by what it holds."""
    name = cubicles.image(target)
    shown = io.StringIO()
    assert ensure_image(cubicles.client, target, machine=cubicles.machine, progress=SetupProgress(shown)) == name
    assert shown.getvalue() == ""
    labels = cubicles.client.images.get(name).labels
    assert name == f"hermitshell/cubicle:{target}-{labels[CONTENT_LABEL][:12]}"
    assert labels[TARGET_LABEL] == target


def test_an_image_is_found_as_it_is_now(cubicles: Cubicles, tmp_path: Path) -> None:
    """By its name, its digest and its size; one whose files have changed is not there, and is not built by asking."""
    images = DockerImages(cubicles.client, cubicles.machine, SetupProgress(), ROOT)
    for target in ("base", "something else"):  # which is what an agent has that chose nothing
        found = images.find_image(target)
        made = cubicles.client.images.get(cubicles.image("base"))
        assert (found.name, found.digest) == (images.ensure_image(target), made.id)
        assert found.size_bytes > 50_000_000
    for part in ("cubicle", "crab"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / "crab" / "new.py").touch()
    with pytest.raises(NotFound, match="out of date"):
        DockerImages(cubicles.client, cubicles.machine, SetupProgress(), tmp_path).find_image("base")


@pytest.mark.parametrize("target", ["base", "studio"])
def test_an_image_holds_nothing_to_climb_with(cubicles: Cubicles, target: Target) -> None:
    """No set-uid file, no compiler, no SSH; nothing of the root is the agent's to write."""
    script = """
        find / -xdev -perm /6000 2>/dev/null || true
        for tool in gcc cc g++ clang ld as make ssh scp sshd sudo telnet docker; do command -v $tool || true; done
        find / -xdev -user hermit 2>/dev/null || true
        find / -xdev -perm -2 ! -type l 2>/dev/null || true
    """
    outcome = cubicles.bash(target, script)
    mounts_and_standard = {"/app/workspace/work", "/tmp", "/var/tmp", "/run/lock"}
    assert outcome.code == 0
    assert set(outcome.output.split()) <= mounts_and_standard


@pytest.mark.parametrize("uid", [1000, 1999, 20000, 20007, 20999])
def test_whoever_the_agent_is_it_has_a_name_and_a_home(cubicles: Cubicles, uid: int) -> None:
    """Programs that look themselves up find `hermit`."""
    script = (
        "import getpass, grp, os, pwd\n"
        "me = pwd.getpwuid(os.getuid())\n"
        "print(me.pw_name, me.pw_dir, me.pw_shell, grp.getgrgid(os.getgid()).gr_name, getpass.getuser(), os.getcwd())"
    )
    outcome = cubicles.run("base", "python3", "-c", script, uid=uid)
    assert outcome.output.split() == [
        "hermit", "/app/workspace/work", "/bin/bash", "hermit", "hermit", "/app/workspace/work",
    ]  # fmt: skip


def test_the_root_cannot_be_written(cubicles: Cubicles) -> None:
    """Only the mounts are the agent's."""
    places = "/app/x /app/crab/x /usr/bin/x /etc/x /run/hermit/x /app/workspace/x /app/workspace/in/x /var/tmp/x"
    script = f"for f in {places}; do ! touch $f 2>/dev/null || echo wrote $f; done; touch /app/workspace/work/x /tmp/x"
    assert cubicles.bash("base", script) == Outcome(0, "")


def test_the_crab_is_what_starts(cubicles: Cubicles) -> None:
    """The image's own command runs the crab isolated from what lies in the working folder, and compiled."""
    config = cubicles.client.images.get(cubicles.image("base")).attrs["Config"]
    assert config["Cmd"] == ["/usr/bin/python3", "-I", "-S", "/app/crab-start"]
    assert config["User"] == "1000:1000"
    script = (
        "cd /app/workspace/work; echo 'print(666)' >json.py; mkdir crab; echo 'print(666)' >crab/__init__.py\n"
        "python3 -I -S -c 'import sys; sys.path.insert(0, \"/app\"); import crab.agent; print(crab.agent.__cached__)'\n"
        "ls /app/crab/__pycache__ | grep -c agent"
    )
    outcome = cubicles.bash("base", script)
    assert outcome.output.split() == ["/app/crab/__pycache__/agent.cpython-311.pyc", "1"]


def test_old_images_go_unless_they_are_needed(cubicles: Cubicles) -> None:
    """Of our label and target, old and unused: removed. In use, young, or another's: kept."""
    api, made = cubicles.client.api, {}
    for kind in ("old", "used", "other"):
        name = f"hermitshell/cubicle:test-{cubicles.label[:8]}-{kind}"
        labels = {CONTENT_LABEL: f"{kind}-{cubicles.label}", TARGET_LABEL: "test" if kind != "other" else "other"}
        dockerfile = io.BytesIO(f"FROM {cubicles.image('base')}\n".encode())
        list(api.build(fileobj=dockerfile, tag=name, labels=labels, rm=True, decode=True))
        made[kind] = name
    container = api.create_container(made["used"], labels={"test-run": cubicles.label})
    try:
        _remove_old(cubicles.client, "test", "new", older_than_s=3600)
        assert _present(cubicles, made) == {"old", "used", "other"}
        _remove_old(cubicles.client, "test", "new", older_than_s=-3600)
        assert _present(cubicles, made) == {"used", "other"}
    finally:
        api.remove_container(container, force=True)
        for kind in _present(cubicles, made):
            api.remove_image(made[kind])


def _present(cubicles: Cubicles, made: dict[str, str]) -> set[str]:
    tags = {tag for image in cubicles.client.images.list(name="hermitshell/cubicle") for tag in image.tags}
    return {kind for kind, name in made.items() if name in tags}


def test_this_engine_can_hold_the_limits(cubicles: Cubicles) -> None:
    """Memory, swap, processes and CPU, and it filters system calls."""
    assert limits_lacking(cubicles.client.info()) == ()


# --- what has to work under the filter -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "script", "expected"), [work[1:] for work in WORKS], ids=[work[0] for work in WORKS]
)
def test_the_tools_of_the_image_work(cubicles: Cubicles, target: Target, script: str, expected: str) -> None:
    """Each does a piece of real work without network, capabilities or a writable root."""
    outcome = cubicles.bash(target, script)
    assert (outcome.code, sorted(outcome.output.split())) == (0, sorted(expected.split())), outcome.output


def test_python_runs_things_in_parallel(cubicles: Cubicles) -> None:
    """Processes, threads, event loops, shared semaphores, pidfds."""
    outcome = cubicles.bash("base", f"cat >p.py <<'END'\n{PARALLEL}\nEND\npython3 p.py")
    assert outcome.output.split() == ["sub", "async", "ok", "10", "3", "3", "3", "7", "True", "True", "x"]


def test_there_is_no_network_but_the_loopback(cubicles: Cubicles) -> None:
    """No interface, no name, no way to another address."""
    script = (
        "ls /sys/class/net | tr '\\n' ' '; curl -s -m 3 http://1.1.1.1/ || echo no-address;"
        " curl -s -m 3 http://example.com/ || echo no-name"
    )
    assert cubicles.bash("base", script).output.split() == ["lo", "no-address", "no-name"]


# --- what the filter refuses -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tries(cubicles: Cubicles) -> Callable[[bool], dict[str, dict[str, str]]]:
    if os.uname().machine != "x86_64":
        pytest.skip("the probes hold the call numbers of x86-64")
    done: dict[bool, dict[str, dict[str, str]]] = {}

    def outcomes(filtered: bool) -> dict[str, dict[str, str]]:  # noqa: FBT001 - the one question there is
        if filtered not in done:
            outcome = cubicles.run("base", "/usr/bin/python3", "-c", PROBES, filtered=filtered)
            done[filtered] = json.loads(outcome.output)
        return done[filtered]

    return outcomes


def test_what_must_be_refused_is(tries: Callable[[bool], dict[str, dict[str, str]]]) -> None:
    """Each by the filter's own answer, not by chance: the errors are those that the filter gives."""
    answers = {
        "Operation not permitted",
        "Function not implemented",
        "Address family not supported by protocol",
        "killed by SIGSYS",
    }
    found = tries(True)["refuse"]
    assert {name: what for name, what in found.items() if what not in answers} == {}
    assert found["32-bit entry"] == found["x32 entry"] == "killed by SIGSYS"
    assert found["clone3"] == "Function not implemented"


def test_what_must_work_does(tries: Callable[[bool], dict[str, dict[str, str]]]) -> None:
    """The harmless sides of the calls that have two."""
    assert set(tries(True)["allow"].values()) == {"allowed"}


def test_the_probes_can_tell(tries: Callable[[bool], dict[str, dict[str, str]]]) -> None:
    """Without the filter some of the same tries succeed, so it is the filter that refuses them."""
    open_without = {name for name, what in tries(False)["refuse"].items() if what == "allowed"}
    assert {"32-bit entry", "personality no randomization", "prlimit64 core", "socket netlink raw"} <= open_without


def test_the_image_tells_what_it_is_made_of(cubicles: Cubicles, tmp_path: Path) -> None:
    """Its Debian packages with their versions, told in a container that is gone afterwards."""
    image = cubicles.image("base")
    parts = {
        one.name: one for one in in_image(DockerHelpers(cubicles.client, "test-sbom", str(tmp_path)), image, tmp_path)
    }
    assert {"bash", "libc6", "python3"} <= set(parts)
    assert parts["libc6"].purl.startswith("pkg:deb/debian/libc6@2.")
    assert cubicles.client.containers.list(all=True, filters={"label": f"{LISTER.label}=test-sbom"}) == []
