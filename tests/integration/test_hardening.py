"""What a cubicle is denied: as the engine lists it, and as it looks from inside. Nothing here may ever be weakened."""

from __future__ import annotations

import json
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_app import RealApp, Talker, eventually
from tests.support.scripted_upstream import answers

pytestmark = pytest.mark.docker

PROBE = Path(__file__).with_name("inside_walls.py").read_text(encoding="utf-8")
WORKSPACE = "/app/workspace"
GIVEN_FOLDERS = {f"{WORKSPACE}/work", f"{WORKSPACE}/out", f"{WORKSPACE}/www", "/tmp", "/dev/shm", "/dev/mqueue"}
"""All that may be written."""


@pytest.fixture(scope="module")
def agent(install: RealApp) -> Talker:
    """An agent that has worked: its container runs."""
    made = install.agent(limits={"cpus": 0.5, "memory_mb": 256, "pids": 100, "disk_mb": 64})
    made.ask(install.plays.commands("mkdir deep; echo x > deep/file"))
    return made


@pytest.fixture(scope="module")
def facts(install: RealApp, agent: Talker) -> dict[str, Any]:
    """What the engine says of it."""
    return dict(install.client.api.inspect_container(agent.container))


@pytest.fixture(scope="module")
def seen(install: RealApp, agent: Talker) -> dict[str, Any]:
    """What it looks like from within."""
    found: dict[str, Any] = json.loads(install.inside(agent, "/usr/bin/python3", "-I", "-c", PROBE))
    return found


# --- as the engine lists it ------------------------------------------------------------------------------------


def test_the_restrictions_as_the_engine_lists_them(facts: dict[str, Any], agent: Talker) -> None:
    """Each by its own field; none has a value that weakens it."""
    host = facts["HostConfig"]
    wanted = {
        "NetworkMode": "none", "ReadonlyRootfs": True, "Privileged": False, "CapDrop": ["ALL"], "PidMode": "",
        "UTSMode": "", "UsernsMode": "", "IpcMode": "private", "Init": True, "Memory": 256 * 2**20,
        "MemorySwap": 256 * 2**20, "NanoCpus": 500_000_000, "PidsLimit": 100, "PublishAllPorts": False,
        "LogConfig": {"Type": "json-file", "Config": {"max-file": "2", "max-size": "1m"}},
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0}, "AutoRemove": False,
    }  # fmt: skip
    assert {name: host[name] for name in wanted} == wanted
    empty = ("CapAdd", "Devices", "DeviceRequests", "DeviceCgroupRules", "GroupAdd", "Binds", "VolumesFrom", "Links",
             "PortBindings", "ExtraHosts", "OomKillDisable")  # fmt: skip
    assert {name: host.get(name) for name in empty if host.get(name)} == {}
    assert all(name.startswith("net.ipv6.conf.lo.") for name in host.get("Sysctls") or {})
    assert host["MaskedPaths"]
    assert host["ReadonlyPaths"]
    assert {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} == {
        "fsize": 64 * 2**20, "nofile": 4096, "core": 1,
    }  # fmt: skip
    assert facts["Config"]["User"] not in ("", "0", "root", "0:0")
    assert facts["Config"]["Labels"]["hermitshell.agent"] == agent.name
    assert list(facts["NetworkSettings"]["Networks"]) == ["none"]
    assert not facts["NetworkSettings"]["Ports"]


def test_the_system_call_filter_is_ours(facts: dict[str, Any]) -> None:
    """With no-new-privileges, and never unconfined."""
    options = dict(
        option.replace("privileges:", "privileges=").split("=", 1) for option in facts["HostConfig"]["SecurityOpt"]
    )
    assert options["no-new-privileges"] == "true"
    ours = Path(__file__).parents[2] / "cubicle" / "seccomp.json"
    assert json.loads(options["seccomp"]) == json.loads(ours.read_text(encoding="utf-8"))


def test_what_is_mounted_and_nothing_else(facts: dict[str, Any], agent: Talker) -> None:
    """The five folders, each by itself, and the door's; ``in``, ``data`` and the door's read-only."""
    base = agent.work.parent
    found = {m["Destination"]: (m["Type"], m["Source"], m["RW"]) for m in facts["Mounts"] if m["Type"] != "tmpfs"}
    assert found == {
        f"{WORKSPACE}/work": ("bind", str(base / "work"), True),
        f"{WORKSPACE}/out": ("bind", str(base / "out"), True),
        f"{WORKSPACE}/www": ("bind", str(base / "www"), True),
        f"{WORKSPACE}/in": ("bind", str(base / "in"), False),
        f"{WORKSPACE}/data": ("bind", str(base / "data"), False),
        "/run/hermit": ("bind", str(agent.run_folder), False),
    }
    assert list(facts["HostConfig"]["Tmpfs"]) == ["/tmp"]
    assert "size=" in facts["HostConfig"]["Tmpfs"]["/tmp"]


def test_no_network_of_the_engine_holds_a_cubicle(install: RealApp, agent: Talker) -> None:
    """In no state: started, stopped and started again, reset."""
    for verb in ("start", "stop", "start", "reset"):
        install.api.post(f"/agents/{agent.name}/cubicle/{verb}")
        assert not any(
            agent.container == member["Name"]
            for network in install.client.networks.list()
            if network.name != "none"
            for member in (install.client.api.inspect_network(str(network.id))["Containers"] or {}).values()
        )


# --- as it looks from within -----------------------------------------------------------------------------------


def test_there_is_nothing_but_the_loopback(seen: dict[str, Any]) -> None:
    """No interface, no route, no name server of the host's."""
    assert seen["interfaces"] == ["lo"]
    assert seen["routes"] == []
    assert [line for line in seen["resolver"].splitlines() if line.startswith("nameserver")] == ["nameserver 127.0.0.1"]


def test_there_is_no_power(seen: dict[str, Any]) -> None:
    """No capability in any set, no way to gain one, system calls filtered, an ordinary user alone in its group."""
    status = seen["status"]
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert min(seen["ids"]) >= 1000
    assert len(set(seen["ids"])) == 1
    assert "init" in seen["init"].split()[0]


def test_the_root_is_read_only_and_so_is_most_else(seen: dict[str, Any]) -> None:
    """Only what is meant to be written is mounted so."""
    real = {point: how for point, (kind, how) in seen["mounts"].items() if kind not in ("proc", "sysfs", "cgroup")}
    writable = {point for point, how in real.items() if how == "rw" and not point.startswith("/proc/")}
    assert seen["mounts"]["/"][1] == "ro"
    assert writable <= GIVEN_FOLDERS | {"/dev", "/dev/pts", "/dev/console", "/sys/fs/cgroup"}
    assert {seen["mounts"][point][1] for point in (f"{WORKSPACE}/in", f"{WORKSPACE}/data", "/run/hermit")} == {"ro"}


def test_nothing_else_can_be_written(seen: dict[str, Any]) -> None:
    """Tried on every folder and looked up for every file of the whole tree."""
    inside = tuple(f"{folder}/" for folder in GIVEN_FOLDERS)
    assert {f for f in seen["tree"]["folders"] if not f.startswith(inside)} <= GIVEN_FOLDERS
    assert {f for f in seen["tree"]["files"] if not f.startswith(inside)} == set()
    assert seen["kernel"] == []


def test_nothing_to_climb_with(seen: dict[str, Any]) -> None:
    """No set-uid file, no device beyond the harmless ones, no socket but the door, no descriptor of the host's."""
    assert seen["tree"]["setuid"] == []
    harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
    assert {Path(d).name for d in seen["tree"]["devices"] if not d.startswith("/dev/pts/")} <= harmless
    assert seen["tree"]["sockets"] == ["/run/hermit/door.sock"]
    assert seen["leaks"] == []


def test_nothing_of_the_hosts_can_be_forged(seen: dict[str, Any]) -> None:
    """Door, locks and read-only folders: no writing, linking, renaming, replacing."""
    assert {name: what for name, what in seen["forgeries"].items() if what == "it worked"} == {}


def test_no_secret_is_in_any_environment(seen: dict[str, Any]) -> None:
    """Of no process in the cubicle."""
    text = "\n".join(seen["environments"])
    for word in ("sk-test", "test-token", "API_KEY", "HERMIT_API_TOKEN", "HERMIT_HOME", "DOCKER_HOST"):
        assert word not in text


def test_the_limits_of_files(install: RealApp, agent: Talker, seen: dict[str, Any]) -> None:
    """A file can't grow beyond the workspace's size, nor /tmp beyond its own; a core limit of 1 can't be lowered."""
    assert seen["limits"]["FSIZE"] == [64 * 2**20] * 2
    assert seen["limits"]["CORE"] == [1, 1]
    grow = (
        "truncate -s 64M big && truncate -s 65M big; head -c 1G /dev/zero > /tmp/big; stat -c %s big /tmp/big; rm big"
    )
    turn = agent.ask(install.plays.commands(grow))
    sizes = [int(line) for line in turn["steps"][0]["output"].splitlines() if line.isdecimal()]
    assert sizes[0] == 64 * 2**20
    assert sizes[1] <= 128 * 2**20


def test_what_it_prints_to_its_log_stays_small(install: RealApp, agent: Talker) -> None:
    """Through the stdout of its first process, an agent would otherwise fill the host's disk."""
    agent.ask(install.plays.commands("head -c 20M /dev/zero | tr '\\0' 'x' | fold -w 1000 > /proc/1/fd/1; echo $?"))
    log = Path(install.client.api.inspect_container(agent.container)["LogPath"])
    if not os.access(log, os.R_OK):
        pytest.skip("the engine's logs are not ours to read")
    written = eventually(lambda: list(log.parent.glob("*-json.log*")))
    assert sum(path.stat().st_size for path in written) <= 3 * 2**20


def test_a_sibling_is_out_of_sight(install: RealApp, agent: Talker, seen: dict[str, Any]) -> None:
    """Nothing that another cubicle owns on the host is anywhere in this one's tree."""
    other = install.agent()
    other.ask(install.plays.commands("echo secret > secret.txt; mkdir -p ../out/x"))
    theirs = set()
    for top in (other.work.parent, other.run_folder):
        for folder, _, files in os.walk(top):
            for path in (Path(folder), *(Path(folder, name) for name in files)):
                facts = path.lstat()
                theirs.add(f"{facts.st_dev}:{facts.st_ino}")
    again = json.loads(install.inside(agent, "/usr/bin/python3", "-I", "-c", PROBE))
    mine = set(again["tree"]["inodes"])
    own = os.lstat(agent.work / "deep" / "file")
    assert f"{own.st_dev}:{own.st_ino}" in mine
    assert not theirs & mine


def test_a_workspace_folder_that_became_a_link_is_not_mounted(install: RealApp, tmp_path: Path) -> None:
    """Refused with a reason, however it came about; nothing of the link's target is touched."""
    victim = install.agent()
    victim.ask(install.plays.add(answers("Here.")))
    install.api.post(f"/agents/{victim.name}/cubicle/stop")
    out = victim.work.parent / "out"
    out.rmdir()
    out.symlink_to(tmp_path)
    before = tmp_path.stat()
    turn = victim.ask(install.plays.add(answers("Never.")))
    assert turn["status"] == "failed"
    assert "link" in turn["error"]
    assert install.engine.poll(victim.container) is not None
    assert (tmp_path.stat().st_uid, stat.S_IMODE(tmp_path.stat().st_mode)) == (
        before.st_uid,
        stat.S_IMODE(before.st_mode),
    )


# --- a cubicle that misbehaves ---------------------------------------------------------------------------------

HOGS = {
    "processes": "bomb() { bomb | bomb & }; bomb; sleep 60",
    "memory": "python3 -c 'hold = [b\"x\" * 10**7 for _ in range(10**6)]'",
    "memory in many processes": "for i in $(seq 40); do tail -c 100M /dev/zero & done; wait",
    "threads": "python3 -c 'import threading, time\nwhile 1: threading.Thread(target=time.sleep, args=(60,)).start()'",
    "cpu": "for i in $(seq 20); do (while :; do :; done) & done; wait",
    "output": "yes",
    "disk": "while :; do dd if=/dev/zero of=sink bs=1M count=32 conv=fsync status=none; sync; done",
    "temporary files": 'python3 -c \'import itertools\nfor n in itertools.count(): open(f"/tmp/{n}", "x").close()\'',
}


@pytest.mark.parametrize("hog", HOGS.values(), ids=HOGS.keys())
def test_a_hog_harms_itself_alone(install: RealApp, agent: Talker, hog: str) -> None:
    """Another agent answers meanwhile, and the hog's next turn works."""
    other = install.agent()
    other.ask(install.plays.add(answers("Here.")))
    agent.change(command_timeout_s=3)
    with ThreadPoolExecutor(1) as pool:
        hogging = pool.submit(agent.ask, install.plays.commands(hog))
        time.sleep(0.1)
        asked = time.monotonic()
        assert other.ask(install.plays.commands("echo fine"))["steps"][0]["output"] == "fine\n"
        assert time.monotonic() - asked < 20
        turn = hogging.result()
    assert turn["status"] in ("done", "failed")
    assert turn["reply"] or turn["error"]
    after = agent.ask(install.plays.commands("echo alive"))
    assert after["steps"][0]["output"] == "alive\n"
