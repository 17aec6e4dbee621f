"""Helper containers on the real engine, thrown away and alive; and the walls of all three kinds of what runs: cubicle,
helper and terminal, as the engine itself lists them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import pytest

from orchestrator.core.errors import Unavailable
from orchestrator.engine import helper_folder
from orchestrator.engine.docker.exec import DockerExec, DockerTty
from orchestrator.engine.docker.hardening import DIFFERENCES, host_config, sandbox_cubicle, sandbox_helper
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from orchestrator.engine.protocol import LivingHelper
from orchestrator.engine.tty import Size
from tests.integration.test_engine import Bench
from tests.support.real_app import eventually, sweep

pytestmark = pytest.mark.docker

PATIENCE_S = 20.0
LABEL = "hermitshell.tries-of"


def kind_of(program: str) -> HelperKind:
    """A kind of helper that runs this Python."""
    return HelperKind("try", LABEL, program=("/usr/bin/python3", "-I", "-u", "-c", program))


UPPER = "import sys\nfor line in sys.stdin: print(line.upper(), end=''); print('aside', file=sys.stderr)"
STUBBORN = "import time\nprint('here')\nwhile True: time.sleep(1)"
TICKS = "import time\nfor n in range(10**6): print(n); time.sleep(0.02)"
WRITES = "open('/helper/out/file', 'wb').write(b'x' * 2_000_000)\nimport time; time.sleep(60)"


@dataclass
class Tries:
    """Helpers of one install, and specs to start with it."""

    client: docker.DockerClient
    image: str
    folder: Path
    bench: Bench
    alive: list[LivingHelper] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.helpers = DockerHelpers(self.client, self.bench.install, str(self.folder))

    def spec(self, program: str, name: str = "1", *, time_s: float = 60.0, max_bytes: int = 1_000_000) -> HelperSpec:
        """A helper that runs this Python."""
        kind = kind_of(program)
        return helper_folder.make_folder(
            self.folder, name, kind, self.image, {"given": b"given"}, time_s=time_s, max_bytes=max_bytes
        )

    def start(self, program: str, name: str = "1", **limits: Any) -> LivingHelper:
        """One that lives, stopped after the test."""
        self.alive.append(self.helpers.start_helper(self.spec(program, name, **limits)))
        return self.alive[-1]

    def there(self) -> list[dict[str, Any]]:
        """The helpers that the engine has."""
        filters = {"label": f"{LABEL}={self.bench.install}"}
        return list(self.client.api.containers(all=True, filters=filters))

    def diagnostics(self) -> str:
        """For a test that failed."""
        return self.bench.diagnostics()


@pytest.fixture(scope="module")
def bench(client: docker.DockerClient, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """An engine, and cubicles for it."""
    made = Bench(client, image, tmp_path_factory.mktemp("bench"))
    yield made
    sweep(client, made.install)


@pytest.fixture
def tries(client: docker.DockerClient, image: str, tmp_path: Path, bench: Bench) -> Iterator[Tries]:
    """Helpers, none of which outlives its test."""
    made = Tries(client, image, tmp_path, bench)
    yield made
    made.helpers.clear_helpers(kind_of(""))
    for one in made.alive:
        one.stop()


def line_of(helper: LivingHelper) -> bytes:
    """What it writes up to the end of a line, or to its end."""
    said = b""
    while not said.endswith(b"\n"):
        if not (piece := helper.read()):
            break
        said += piece
    return said


# --- the walls -------------------------------------------------------------------------------------------------


def as_listed(asked: dict[str, Any], listed: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What the engine lists otherwise than it was asked for."""
    return {key: (value, listed.get(key)) for key, value in asked.items() if not _is_same(value, listed.get(key))}


def _is_same(asked: Any, listed: Any) -> bool:
    if isinstance(asked, dict) and isinstance(listed, dict):
        return all(_is_same(value, listed.get(key)) for key, value in asked.items())
    if isinstance(asked, list) and isinstance(listed, list) and len(asked) == len(listed):
        return all(map(_is_same, asked, listed))
    return bool(asked == listed) or (not asked and not listed)


def test_the_walls_are_those_of_the_table(tries: Tries) -> None:
    """A real cubicle and a real helper have the profile as the engine lists it, and differ in its rows alone."""
    api, bench = tries.client.api, tries.bench
    spec, container = bench.started()
    cubicle = api.inspect_container(container.id)
    helper_spec = tries.spec(STUBBORN)
    tries.alive.append(tries.helpers.start_helper(helper_spec))
    helper = api.inspect_container(tries.there()[0]["Id"])
    assert as_listed(host_config(api, sandbox_cubicle(spec)), cubicle["HostConfig"]) == {}
    assert as_listed(host_config(api, sandbox_helper(helper_spec, most_cpus=64)), helper["HostConfig"]) == {}
    keys = cubicle["HostConfig"].keys() | helper["HostConfig"].keys()
    differing = {key for key in keys if cubicle["HostConfig"].get(key) != helper["HostConfig"].get(key)}
    assert differing <= {*DIFFERENCES, "ContainerIDFile"}
    for facts in (cubicle, helper):
        assert facts["Config"]["User"].partition(":")[0] not in ("", "0", "root")
        assert list(facts["NetworkSettings"]["Networks"]) == ["none"]


def test_a_terminal_has_its_cubicles_walls(tries: Tries) -> None:
    """Not privileged, of the cubicle's own user, without a capability, and with the filter."""
    spec, container = tries.bench.started()
    programs = DockerExec(tries.client, tries.bench.install)
    tty = programs.open_terminal(container.name, Size(80, 24), {})
    assert isinstance(tty, DockerTty)
    try:
        facts = tries.client.api.exec_inspect(tty._run)
        config = facts["ProcessConfig"]
        assert (config["privileged"], config["user"]) == (False, f"{spec.uid}:{spec.gid}")
        assert facts["ContainerID"] == container.id
        tty.write(b"grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'; echo e''nd\n")
        said = b""
        while b"\nend\r" not in said:  # which what is typed is not, however often it is shown
            piece = tty.read()
            assert piece, said
            said += piece
    finally:
        tty.close()
    for wall in (b"CapEff:0000000000000000", b"CapBnd:0000000000000000", b"NoNewPrivs:1", b"Seccomp:2"):
        assert wall in said


# --- thrown away -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "limits", "end"),
    [
        ("open('/helper/out/file', 'wb').write(open('/helper/in/given', 'rb').read())", {}, HelperEnd.ENDED),
        ("raise SystemExit(3)", {}, HelperEnd.ENDED),
        (STUBBORN, {"time_s": 0.5}, HelperEnd.TOO_LONG),
        (WRITES, {}, HelperEnd.TOO_MUCH),
        ("import os, time\nos.mkdir('/helper/out/folder'); time.sleep(60)", {}, HelperEnd.TOO_MUCH),
    ],
)
def test_why_one_is_over(tries: Tries, program: str, limits: dict[str, Any], end: HelperEnd) -> None:
    """It is told, and nothing of it is left."""
    spec = tries.spec(program, **limits)
    assert tries.helpers.run_helper(spec, is_wanted=lambda: True) is end
    assert tries.there() == []
    if end is HelperEnd.ENDED and "given" in program:
        assert (spec.brought / "file").read_bytes() == b"given"


def test_one_that_is_not_wanted_any_more(tries: Tries) -> None:
    """It is ended, however long it would take."""
    since = time.monotonic()
    spec = tries.spec(STUBBORN)
    assert tries.helpers.run_helper(spec, is_wanted=lambda: time.monotonic() < since + 1.0) is HelperEnd.NOT_WANTED
    assert tries.there() == []


def test_an_image_that_is_not_there(tries: Tries) -> None:
    """A sentence, for one that lives too."""
    tries.image = "hermitshell/none:none"
    with pytest.raises(Unavailable, match="image is missing"):
        tries.helpers.run_helper(tries.spec(STUBBORN), is_wanted=lambda: True)
    with pytest.raises(Unavailable, match="image is missing"):
        tries.helpers.start_helper(tries.spec(STUBBORN))


# --- alive -----------------------------------------------------------------------------------------------------


def test_the_stream_goes_both_ways(tries: Tries) -> None:
    """Line by line and much at once; what it says aside is no part of it."""
    helper = tries.start(UPPER)
    assert helper.poll() is None
    for word in (b"one", b"two"):
        helper.write(word + b"\n")
        assert line_of(helper) == word.upper() + b"\n"
    helper.write(b"x" * 300_000 + b"\n")
    assert line_of(helper) == b"X" * 300_000 + b"\n"


def test_one_that_ends_by_itself(tries: Tries) -> None:
    """Its last words are read, then nothing; it is told as ended, and its container is gone."""
    helper = tries.start("print('last words')")
    assert line_of(helper) == b"last words\n"
    assert helper.read() == b""
    eventually(lambda: helper.poll() is HelperEnd.ENDED, patience_s=PATIENCE_S)
    assert tries.there() == []


def test_stopping_and_stopping_again(tries: Tries) -> None:
    """Nothing is left, a read ends, and a write is refused."""
    helper = tries.start(STUBBORN)
    assert line_of(helper) == b"here\n"
    helper.stop()
    helper.stop()
    assert tries.there() == []
    assert helper.read() == b""
    assert helper.poll() is HelperEnd.ENDED
    with pytest.raises(Unavailable):
        helper.write(b"still there?\n")


def test_one_that_sleeps(tries: Tries) -> None:
    """It gets no processor until it is woken, and goes on where it was; both may be said again."""
    helper = tries.start(TICKS)
    assert line_of(helper).startswith(b"0\n")
    helper.pause()
    helper.pause()
    assert tries.there()[0]["State"] == "paused"
    assert helper.poll() is None
    helper.resume()
    helper.resume()
    assert helper.read()


@pytest.mark.parametrize(
    ("program", "limits", "end"),
    [(STUBBORN, {"time_s": 0.3}, HelperEnd.TOO_LONG), (WRITES, {}, HelperEnd.TOO_MUCH)],
)
def test_limits_hold_for_one_that_lives(tries: Tries, program: str, limits: dict[str, Any], end: HelperEnd) -> None:
    """Whoever looks after it learns why it was stopped."""
    helper = tries.start(program, **limits)
    assert eventually(helper.poll, patience_s=PATIENCE_S) is end
    assert tries.there() == []


def test_a_second_of_the_same_id_takes_its_place(tries: Tries) -> None:
    """Two of other ids live side by side."""
    first, other = tries.start(STUBBORN), tries.start(STUBBORN, "2")
    again = tries.start(STUBBORN)
    assert line_of(again) == b"here\n"
    eventually(lambda: first.read() == b"", patience_s=PATIENCE_S)
    assert first.poll() is HelperEnd.ENDED  # and what is done with it does nothing to the other
    first.stop()
    assert again.poll() is None
    assert other.poll() is None
    assert len(tries.there()) == 2


HOST = """
import json, sys, time
from pathlib import Path
import docker
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.helpers import HelperKind, HelperSpec
given = json.loads(sys.argv[1])
helpers = DockerHelpers(docker.DockerClient(given["url"]), given["install"], "/nowhere")
kind = HelperKind("try", given["label"], program=tuple(given["program"]))
folders = Path(given["given"]), Path(given["brought"])
spec = HelperSpec("dies", kind, given["image"], given["uid"], given["gid"], *folders, 60.0, 10**6)
helper = helpers.start_helper(spec)
print(helper.read(), flush=True)
time.sleep(600)
"""


def leave_behind(tries: Tries, program: str) -> None:
    """A process of its own starts such a helper, hears from it and is killed."""
    spec = tries.spec(program, "dies")
    given = {
        "url": tries.client.api.base_url.replace("http+docker://localhost", "unix:///var/run/docker.sock"),
        "install": tries.bench.install, "label": LABEL, "program": spec.kind.program, "image": spec.image,
        "uid": spec.uid, "gid": spec.gid, "given": str(spec.given), "brought": str(spec.brought),
    }  # fmt: skip
    argv = [sys.executable, "-P", "-c", HOST, json.dumps(given)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env={"PYTHONPATH": str(Path(__file__).parents[2])}) as host:
        assert host.stdout is not None
        assert b"here" in host.stdout.readline()
        host.send_signal(signal.SIGKILL)


def test_what_reads_ends_with_a_killed_host(tries: Tries) -> None:
    """Its input ends, so a program that waits for the next word ends by itself."""
    leave_behind(tries, "import sys\nprint('here')\nfor line in sys.stdin: pass")
    eventually(lambda: tries.there() == [], patience_s=PATIENCE_S)


def test_what_does_not_read_is_cleared_at_the_next_start(tries: Tries) -> None:
    """It outlives the host that was killed; the next one's clearing removes it, and no other install's."""
    leave_behind(tries, STUBBORN)
    assert [one["State"] for one in tries.there()] == ["running"]
    DockerHelpers(tries.client, "another", "/nowhere").clear_helpers(kind_of(""))
    assert len(tries.there()) == 1
    DockerHelpers(tries.client, tries.bench.install, "/nowhere").clear_helpers(kind_of(""))
    assert tries.there() == []
