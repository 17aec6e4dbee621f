"""A hostile program in a real cubicle: what it can learn of its neighbours and of the host, what it can do to the door
and to the logs, and what becomes of a cubicle that lacks a wall."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import docker
import pytest

from orchestrator.capabilities.table import TOOLSETS
from orchestrator.core.errors import WallMissing
from orchestrator.core.models import CubicleKey, CubicleLimits, CubicleSpec, Mounts
from orchestrator.engine.docker.client import DockerFacts
from orchestrator.engine.docker.cubicles import DockerCubicles
from orchestrator.engine.docker.exec import DockerExec
from orchestrator.engine.sandbox_probe import FirstLook, find_missing_walls
from tests.support.real_app import AppProcess, RealApp, Talker, eventually, run_inside
from tests.support.scripted_upstream import answers

pytestmark = pytest.mark.docker

HERE = Path(__file__).parent
NEIGHBOUR = (HERE / "inside_neighbour.py").read_text(encoding="utf-8")
SIEGE = (HERE / "inside_attack.py").read_text(encoding="utf-8")
PROBE = (HERE.parents[1] / "orchestrator" / "engine" / "sandbox_probe_inside.py").read_text(encoding="utf-8")
PYTHON = ("/usr/bin/python3", "-I", "-c")
OWN_NAMESPACES = ("net", "ipc", "mnt", "pid", "uts")


@pytest.fixture(scope="module")
def pair(install: RealApp) -> tuple[Talker, Talker]:
    """Two agents whose containers run."""
    pair = install.agent(), install.agent()
    for agent in pair:
        agent.wake()
    return pair


# --- neighbours and the host -----------------------------------------------------------------------------------


def test_neighbours_share_nothing(install: RealApp, pair: tuple[Talker, Talker]) -> None:
    """What one leaves in sockets, memory, queues, processes, names and locks it finds again itself, and no other; but
    for the engine's own init program, one file of the host in all containers, which can be locked and not written."""
    install.client.containers.get(pair[0].container).exec_run([*PYTHON, NEIGHBOUR, "leave"], detach=True)
    made = json.loads(eventually(lambda: run_inside(install.client, pair[0], "cat", "/tmp/left").out))
    own, other = (json.loads(install.inside(agent, *PYTHON, NEIGHBOUR, "look")) for agent in pair)
    assert "message queue of POSIX" not in made["done"]
    assert "host name" not in made["done"]
    assert set(made["done"]) <= set(own["done"])
    assert len(own["done"]) >= 10
    assert set(other["done"]) <= {"lock on the init"}
    host = {path.name: str(path.readlink()) for path in Path("/proc/self/ns").iterdir()}
    for name in OWN_NAMESPACES:
        assert len({made["namespaces"][name], other["namespaces"][name], host[name]}) == 3, name


def test_no_address_of_the_host_answers(install: RealApp, pair: tuple[Talker, Talker]) -> None:
    """Not the dashboard, not the engine's bridge, not the cloud's metadata; no name is known; nothing is broadcast."""
    port = int(install.api.url.rpartition(":")[2])
    targets = [(address, port) for address in (*_addresses_of_this_machine(), "127.0.0.1", "::1")]
    targets += [
        ("172.17.0.1", 2375),
        ("169.254.169.254", 80),
        ("100.100.100.200", 80),
        ("fe80::1", 80),
        ("::ffff:1.1.1.1", 53),
    ]
    program = (
        "import json, socket, sys\nreached = []\n"
        "def attempt(what, deed):\n"
        "    try: deed()\n"
        "    except OSError: return\n"
        "    reached.append(what)\n"
        "for host, port in json.loads(sys.argv[1]):\n"
        "    attempt(host, lambda: socket.create_connection((host, port), 2))\n"
        "    family = socket.AF_INET6 if ':' in host else socket.AF_INET\n"
        "    if not host.startswith(('127.', '::1')):\n"
        "        attempt('udp ' + host, lambda: socket.socket(family, socket.SOCK_DGRAM).sendto(b'x', (host, port)))\n"
        "for host in ('255.255.255.255', '224.0.0.251'):\n"
        "    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "    made.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)\n"
        "    attempt(host, lambda: made.sendto(b'x', (host, 5353)))\n"
        "for name in ('example.com', 'host.docker.internal', 'gateway.docker.internal', 'metadata.google.internal'):\n"
        "    attempt(name, lambda: socket.getaddrinfo(name, 80))\n"
        "print(json.dumps(reached))\n"
    )
    assert json.loads(install.inside(pair[0], *PYTHON, program, json.dumps(targets))) == []


def _addresses_of_this_machine() -> list[str]:
    """Where it would be reached from outside; a datagram socket is told without sending anything."""
    found = ["172.17.0.1"]
    for family, somewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((somewhere, 9))
            found.append(str(probe.getsockname()[0]))
    return found


def test_the_probe_of_the_doctor_finds_every_wall(install: RealApp, pair: tuple[Talker, Talker]) -> None:
    """Of a cubicle as agents have it; and it leaves no file behind."""
    seen = json.loads(install.inside(pair[0], *PYTHON, PROBE, "closed"))
    assert find_missing_walls(seen, runtime="") == []
    assert not list(pair[0].work.glob(".probe*"))


def test_a_command_inherits_nothing(install: RealApp, pair: tuple[Talker, Talker]) -> None:
    """No descriptor but its own three, no secret in what it can read of any process or of the mount table, and a crash
    leaves no picture of its memory."""
    commands = (
        "python3 -c 'import os; print(sorted(int(f) for f in os.listdir(\"/proc/self/fd\"))[:-1])'",
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/self/mountinfo | tr '\\0' '\\n'; env",
        "mkdir crash; cd crash; (ulimit -c unlimited; kill -SEGV $BASHPID); ulimit -c 0; ls -A . /tmp | grep -c core",
    )
    steps = pair[0].ask(install.plays.commands(*commands))["steps"]
    assert steps[0]["output"].strip() == "[0, 1, 2]"
    for secret in ("sk-test", "test-token", "API_KEY", "hs_"):
        assert secret not in steps[1]["output"]
    assert steps[2]["output"].strip().splitlines()[-1] == "0", steps[2]


# --- the door --------------------------------------------------------------------------------------------------


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_an_attack_on_the_door(install: RealApp, pair: tuple[Talker, Talker]) -> None:
    """A thousand silent or dripping connections, half requests and ones that are far too large: each doubtful one is
    refused, the install holds few descriptors for it, another cubicle is served, and so is this one afterwards."""
    bad, good = pair
    before = _descriptors()
    with ThreadPoolExecutor(1) as pool:
        besieging = pool.submit(run_inside, install.client, bad, *PYTHON, SIEGE, "3")
        for _ in range(3):
            asked = time.monotonic()
            turn = good.ask(install.plays.commands("echo calm"))
            assert turn["steps"][0]["output"] == "calm\n"
            assert time.monotonic() - asked < 20
            assert _descriptors() < before + 100
        ended = besieging.result()
    assert ended.code == 0, ended
    seen = json.loads(ended.out)
    assert {
        name: said for name, said in seen["answers"].items() if said[:1] not in ("4", "5") and said != "hung up"
    } == {}
    assert sum(seen["met"].values()) == 1_000
    assert bad.ask(install.plays.commands("echo open again"))["steps"][0]["output"] == "open again\n"


# --- a wall that is missing ------------------------------------------------------------------------------------


@pytest.fixture
def bare(client: docker.DockerClient, image: str) -> Iterator[str]:
    """A container of the cubicle's image without any of its walls, as an engine that ignores them would make it."""
    made: Any = client.containers.run(
        image, ["60"], entrypoint="/bin/sleep", detach=True, security_opt=["seccomp=unconfined"], user="0", init=True,
        labels={"hermitshell.test": "bare"},
    )  # fmt: skip
    yield made.name
    made.remove(force=True)


def _spec(name: str, image: str, folder: Path) -> CubicleSpec:
    return CubicleSpec(
        name=name, install="none", home=str(folder), key=CubicleKey("bare", 1), image=image, uid=0, gid=0,
        mounts=Mounts(*[folder] * 6),
        limits=CubicleLimits(cpus=1, memory_mb=128, pids=64, disk_mb=16),
    )  # fmt: skip


def test_a_cubicle_without_walls_is_found_out(
    client: docker.DockerClient, image: str, bare: str, tmp_path: Path
) -> None:
    """By the first look at it; what was found is not taken for well the second time."""
    look = FirstLook(DockerExec(client, "none"), DockerFacts(client))
    for _ in range(2):
        with pytest.raises(WallMissing) as missing:
            look(_spec(bare, image, tmp_path))
        assert "network" in missing.value.message


def test_no_turn_is_served_where_a_wall_is_missing(install: RealApp, client: docker.DockerClient) -> None:
    """The message fails at once with the reason, and the container is gone; with the wall it is served."""
    looked: list[str] = []

    def refuse(spec: CubicleSpec) -> None:
        looked.append(spec.name)
        raise WallMissing("A cubicle has a network (eth0).")

    agent = install.agent()
    whole = install.app._cubicles._engine
    install.app._cubicles._engine = DockerCubicles(client, install.install, look=refuse)
    try:
        turn = agent.ask(install.plays.commands("echo never"))
    finally:
        install.app._cubicles._engine = whole
    assert (turn["status"], turn["steps"]) == ("failed", [])
    assert "eth0" in turn["error"]
    assert looked == [agent.container]
    assert install.engine.poll(agent.container) is not None
    assert agent.ask(install.plays.commands("echo served"))["status"] == "done"


def test_it_is_looked_at_once(install: RealApp, client: docker.DockerClient) -> None:
    """For each image on each engine: the second cubicle of a kind costs one question to the engine."""
    asked: list[str] = []

    class Counting(FirstLook):
        def __call__(self, spec: CubicleSpec) -> None:
            before = len(self._seen)
            super().__call__(spec)
            asked.append("looked" if len(self._seen) > before else "known")

    look = Counting(DockerExec(client, install.install), DockerFacts(client))
    whole = install.app._cubicles._engine
    install.app._cubicles._engine = DockerCubicles(client, install.install, look=look)
    try:
        for agent in (install.agent(), install.agent()):
            agent.wake()
    finally:
        install.app._cubicles._engine = whole
    assert asked == ["looked", "known"]


def test_the_program_looks(process: AppProcess) -> None:
    """As it is started by ``up``, not only as tests put it together."""
    process.agent().wake()
    log = (process.home / "logs" / "orchestrator.log").read_text(encoding="utf-8")
    assert len(re.findall(r"cubicles of hermitshell/cubicle:\S+ have their walls", log)) == 1


# --- what is written about it ----------------------------------------------------------------------------------

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x9b31m\rX\u202e\n2026-01-01 00:00:00,000 INFO orchestrator: forged"
)
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PUSH = """
import http.client, json, socket, sys
class Line(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect("/run/hermit/door.sock")
evil = json.loads(sys.argv[1])
done = []
fields = {"text": "remember " + "".join(c for c in evil if c == "\\n" or c.isprintable())}
for path, body in (
    ("status", {"state": evil}), ("approvals", {"id": evil, "reason": evil}), ("llm", {"model": evil}),
    ("calls", {"call": evil, "name": evil, "fields": {evil: evil}}),
    ("calls", {"call": "one", "name": "MEMORY_ADD", "fields": fields}), (evil.encode().hex(), {}),
    ("turns/1/steps", {"kind": evil}), ("turns/1/finish", {"error": evil, "message": evil}),
):
    line = Line("door")
    line.request("POST", "/api/internal/" + path, json.dumps(body), {"Content-Type": "application/json"})
    answer = line.getresponse()
    done.append((answer.status, answer.read(300).decode()))
    line.close()
print(json.dumps(done))
"""


def test_nothing_hostile_reaches_a_terminal_or_a_log_raw(process: AppProcess) -> None:
    """Escapes, carriage returns and forged lines in everything that an agent can say: the orchestrator's log has them
    within its own lines, the command shows them written out, and in the audit log they are no rows of their own."""
    agent = process.agent(toolsets=list(TOOLSETS))
    play = process.plays.add(
        answers(HOSTILE, terminal=f"printf '%s\\n' '{HOSTILE}' | tee -a .hermit.log; exit 3"), answers(HOSTILE)
    )
    turn = agent.ask(play)
    pushed = run_inside(process.client, agent, *PYTHON, PUSH, json.dumps(HOSTILE))
    assert pushed.code == 0, pushed
    assert {status for status, _ in json.loads(pushed.out)} >= {200, 400, 404}, pushed
    agent.change(approval="all")
    waiting = agent.send(process.plays.commands(f"echo '{HOSTILE}'"))
    asked = agent.question(waiting)
    for command in (["logs", agent.name], ["approvals"], ["status"], ["agent", "list"], ["agent", "show", agent.name]):
        shown = process.command(*command)
        assert RAW.findall(shown.stdout + shown.stderr) == [], command
    assert "forged" in process.command("logs", agent.name).stdout
    assert "\\x1b" in process.command("approvals").stdout
    assert turn["steps"]
    agent.decide(asked["id"], "deny")
    for log in (process.home / "logs").glob("*.log*"):
        text = log.read_text(encoding="utf-8", errors="strict")
        assert RAW.findall(text) == [], log
        assert not [line for line in text.splitlines() if line.startswith("2026-01-01 00:00:00,000")], log
    listed = agent.api.call("GET", "/audit", params={"format": "jsonl"}).text.splitlines()
    rows = [json.loads(line) for line in listed]
    assert len(rows) > 5
    assert {row["id"] for row in rows} == set(range(1, len(rows) + 1))
    assert not [row for row in rows if row["text"].startswith("2026-01-01")]


# --- beside the cubicle, on the host ---------------------------------------------------------------------------

SELF_STARTERS = {
    ".git/hooks/post-checkout": "#!/bin/sh\ntouch {ran}\n",
    ".git/config": "[core]\n\tfsmonitor = touch {ran}\n\tpager = touch {ran}\n\thooksPath = .git/hooks\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    ".envrc": "touch {ran}\n",
    ".bashrc": "touch {ran}\n",
    ".profile": "touch {ran}\n",
    "sitecustomize.py": "open('{ran}', 'w')\n",
    "usercustomize.py": "open('{ran}', 'w')\n",
    "conftest.py": "open('{ran}', 'w')\n",
    "json.py": "open('{ran}', 'w')\n",
    "orchestrator/__init__.py": "open('{ran}', 'w')\n",
    "hermit": "#!/bin/sh\ntouch {ran}\n",
    "Makefile": "all:\n\ttouch {ran}\n",
    "index.html": "<p>hello",
    "report.pdf": "%PDF-1.7 /Launch (touch {ran})",
    "picture.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
}


def test_nothing_that_lies_in_a_workspace_runs_on_the_host(process: AppProcess, tmp_path: Path) -> None:
    """Files that trusting tools start by themselves, in every folder that an agent can write, while they are listed,
    sent, packed, shown, examined and backed up, and over a restart."""
    ran = tmp_path / "ran"
    tmp_path.chmod(0o777)
    files = {name: text.replace("{ran}", str(ran)) for name, text in SELF_STARTERS.items()}
    program = (
        "import json, os, pathlib, sys\n"
        "for top in ('work', 'out', 'www/app', 'out/folder'):\n"
        "    for name, text in json.loads(sys.argv[1]).items():\n"
        "        path = pathlib.Path('/app/workspace', top, name)\n"
        "        path.parent.mkdir(parents=True, exist_ok=True)\n"
        "        path.write_text(text)\n"
        "        path.chmod(0o4755)\n"
    )
    agent = process.agent()
    agent.wake()
    assert run_inside(process.client, agent, *PYTHON, program, json.dumps(files)).code == 0
    agent.ask(process.plays.commands("echo done"))
    eventually(lambda: agent.api.get(f"/agents/{agent.name}/deliveries")["deliveries"])
    for path in ("work", "out", "out/report.pdf", "www/app/picture.svg", "out?zip=1", "www?zip=1", "work?zip=1"):
        assert agent.api.call("GET", f"/agents/{agent.name}/files/{path}").ok, path
    assert agent.api.get(f"/agents/{agent.name}/apps")["apps"]
    for command in (["doctor"], ["backup", str(tmp_path / "all.tgz")], ["status"]):
        process.command(*command)
    process.restart()
    assert agent.ask(process.plays.commands("echo again"))["status"] == "done"
    assert not ran.exists()
    assert (tmp_path / "all.tgz").exists()


PROWL = """
import json, os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(int(sys.argv[2]))
got = []
for name in json.loads(sys.argv[1]):
    try:
        if name.endswith(".sock"):
            made = socket.socket(socket.AF_UNIX)
            made.connect(name)
            made.close()
        elif os.path.isdir(name):
            os.listdir(name)
        else:
            open(name, "rb").close()
        got.append(name)
    except OSError:
        pass
    try:
        open(os.path.join(name, ".prowl") if os.path.isdir(name) else name, "ab").close()
        got.append("write " + name)
    except OSError:
        pass
print(json.dumps(got))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_gets_nothing(process: AppProcess) -> None:
    """Whoever else has a login on the host reads, writes and connects to nothing of the install's, even where the
    way to it is open; and the install listens on loopback alone.
    """
    agent = process.agent()
    agent.ask(process.plays.commands("echo private > private.txt"))
    for folder in process.home.resolve().parents:  # as it may lie in a place that all can enter
        if folder != Path("/") and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o001)
    everything = [str(path) for path in (process.home, *process.home.rglob("*"))]
    assert any(name.endswith("door.sock") for name in everything)
    assert any(name.endswith("private.txt") for name in everything)
    for uid in (65534, 20_998):
        prowl = [sys.executable, "-I", "-c", PROWL, json.dumps(everything), str(uid)]
        found = subprocess.run(prowl, capture_output=True, text=True, check=True)
        assert json.loads(found.stdout) == [], uid
    pid = int(process._process.pid) if process._process else 0
    assert _listens_at(pid) <= {"0100007F", "00000000000000000000000001000000"}


def _listens_at(pid: int) -> set[str]:
    """The addresses, as the kernel lists them, where a process accepts connections."""
    inodes = {str(path.readlink()).partition("[")[2].rstrip("]") for path in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()
    ]
    found = {fields[1].partition(":")[0] for fields in lines if fields[3] == "0A" and fields[9] in inodes}
    assert found
    return found
