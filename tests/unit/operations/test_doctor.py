"""What the doctor finds: each check with a world that is well, and with each thing in it that can be wrong."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.config import load
from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.finding import Finding, FindingState
from orchestrator.core.home import prepare_home
from orchestrator.engine import sandbox_probe_inside
from orchestrator.engine.sandbox_probe import find_missing_walls, judge_walls
from orchestrator.llm.upstreams.openai_compatible import OpenAICompatible
from orchestrator.llm.upstreams.rehearsal import Rehearsal
from orchestrator.operations.doctor.engine import examine_engine, parse_version
from orchestrator.operations.doctor.reach import examine_reach
from orchestrator.operations.doctor.services import examine_model
from orchestrator.operations.doctor.surroundings import (
    examine_clock,
    examine_crashes,
    examine_disk,
    examine_openness,
    examine_permissions,
    examine_ports,
    examine_watches,
    newest_change,
)
from tests.support.fake_machine import FakeMachine
from tests.support.scripted_upstream import ScriptedUpstream, says, status

GOOD_INFO = {"SecurityOptions": ["name=seccomp,profile=default"]}
NOON = 1_800_000_000.0
WHOLE_WALLS: dict[str, Any] = {
    "interfaces": ["lo"], "reaches_out": False, "capabilities": [], "no_new_privs": True, "seccomp": True,
    "families": [], "calls": [], "uid": 20_999, "writes": [], "keeps": [], "sockets": [], "knobs": [], "bared": [],
    "strangers": 0,
}  # fmt: skip


def states(found: list[Finding]) -> list[str]:
    """How each is."""
    return [str(finding.state) for finding in found]


def version(number: str, *beside: tuple[str, str]) -> dict[str, Any]:
    """What an engine says of itself."""
    return {"Version": number, "Components": [{"Name": name, "Version": text} for name, text in beside]}


# --- the engine ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "info", "expected"),
    [
        (version("29.4.3", ("runc", "1.3.4")), GOOD_INFO, ["ok"]),
        (version("20.10.24+dfsg1"), GOOD_INFO, ["ok", "warn"]),
        (version("4.3.1", ("Podman Engine", "4.3.1")), GOOD_INFO, ["ok"]),
        (version("30.0.0"), {**GOOD_INFO, "MemoryLimit": False}, ["ok", "fail"]),
        (version("30.0.0"), {"SecurityOptions": []}, ["ok", "fail"]),
        ({}, GOOD_INFO, ["ok", "warn"]),
    ],
)
def test_the_engine(said: dict[str, Any], info: dict[str, Any], expected: list[str]) -> None:
    """An old Docker is a warning, a limit that it can't hold a failure; each has its fix."""
    found = examine_engine(said, info)
    assert states(found) == expected
    assert all(finding.fix for finding in found if finding.state is not FindingState.OK)


def test_versions_are_read_as_numbers() -> None:
    """Whatever a distribution hangs on behind them."""
    assert [parse_version(text) for text in ("20.10.24+dfsg1", "29.4.3", "v1", "")] == [
        (20, 10, 24),
        (29, 4, 3),
        (),
        (),
    ]


def test_the_runtime_is_named() -> None:
    """As its faults are the engine's too."""
    assert "runc 1.1.5" in examine_engine(version("29.9.9", ("runc", "1.1.5")), GOOD_INFO)[0].text


# --- the air gap -----------------------------------------------------------------------------------------------


def test_whole_walls() -> None:
    """Nothing but ok."""
    assert set(states(judge_walls(WHOLE_WALLS))) == {"ok"}


@pytest.mark.parametrize(
    ("seen", "named"),
    [
        ({"interfaces": ["eth0", "lo"]}, "eth0"),
        ({"reaches_out": True}, "way out"),
        ({"uid": 0}, "root"),
        ({"capabilities": ["00000000a80425fb"]}, "capabilities"),
        ({"no_new_privs": False}, "gain"),
        ({"seccomp": False}, "not filtered"),
        ({"families": ["AF_VSOCK"]}, "AF_VSOCK"),
        ({"calls": ["io_uring_setup"]}, "io_uring_setup"),
        ({"knobs": ["/proc/sysrq-trigger"]}, "/proc/sysrq-trigger"),
        ({"bared": ["/proc/keys"]}, "/proc/keys"),
        ({"strangers": 120}, "120 processes"),
        ({"writes": ["/run/hermit"]}, "/run/hermit"),
        ({"keeps": ["/app/workspace/work"]}, "/app/workspace/work"),
        ({"sockets": ["/run/docker.sock"]}, "/run/docker.sock"),
    ],
)
def test_each_hole_is_one_failure(seen: dict[str, Any], named: str) -> None:
    """It is named, with a fix."""
    failed = [finding for finding in judge_walls({**WHOLE_WALLS, **seen}) if finding.state is FindingState.FAIL]
    (only,) = failed
    assert named in only.text
    assert only.fix


@pytest.mark.parametrize(
    ("seen", "runtime", "lacking"),
    [
        ({}, "", 0),
        ({"keeps": ["/app/workspace/work"]}, "", 0),
        ({"seccomp": False}, "", 1),
        ({"seccomp": False}, "runc", 1),
        ({"seccomp": False, "calls": ["ptrace"]}, "runsc", 0),
        ({"reaches_out": True, "uid": 0, "seccomp": False}, "runsc", 2),
    ],
)
def test_what_keeps_a_cubicle_from_work(seen: dict[str, Any], runtime: str, lacking: int) -> None:
    """A wall does, a folder that it can't write does not; a runtime with its own kernel needs no filter of ours."""
    assert len(find_missing_walls({**WHOLE_WALLS, **seen}, runtime=runtime)) == lacking


def test_the_probe_can_tell(tmp_path: Path) -> None:
    """What is possible it finds possible, so that its no means something."""
    assert sandbox_probe_inside.can_open(socket.AF_UNIX)
    assert not sandbox_probe_inside.can_open(99)
    assert sandbox_probe_inside.can_write(str(tmp_path))
    assert not sandbox_probe_inside.can_write(str(tmp_path / "nowhere"))
    assert list(tmp_path.iterdir()) == []
    assert sandbox_probe_inside.status()["NoNewPrivs"] in ("0", "1")


# --- the surroundings ------------------------------------------------------------------------------------------


def test_a_home_that_is_well(tmp_path: Path) -> None:
    """As ``up`` makes it, and one that does not exist yet."""
    home = prepare_home(tmp_path / "home").path
    assert states(examine_permissions(home)) == ["ok"]
    assert not list(home.glob(".doctor*"))
    assert states(examine_permissions(tmp_path / "new")) == ["ok"]


@pytest.mark.parametrize("open_one", [".", "hermit.env", "keys/command.token"])
def test_what_others_may_read(tmp_path: Path, open_one: str) -> None:
    """The folder, the settings, a key: named, with the command that closes it."""
    home = prepare_home(tmp_path / "home").path
    (home / "hermit.env").touch(mode=0o600)
    (home / open_one).chmod(0o744)
    (only,) = examine_permissions(home)
    assert only.state is FindingState.FAIL
    assert str(home / open_one) in only.fix


def test_a_very_deep_home_can_hold_sockets(tmp_path: Path) -> None:
    """Although the path of a socket may have 107 bytes alone."""
    home = prepare_home(tmp_path / ("x" * 120)).path
    assert states(examine_permissions(home)) == ["ok"]


@pytest.mark.parametrize(
    ("total", "free", "state"),
    [
        (10**12, 10**10, "ok"),
        (10**12, 3 * 10**9, "warn"),
        (10**12, 10**9, "fail"),
        (10**10, 3 * 10**9, "ok"),
        (10**10, 10**9, "warn"),
        (10**10, 4 * 10**8, "fail"),
    ],
)
def test_room(tmp_path: Path, total: int, free: int, state: str) -> None:
    """Little is a warning, less than the reserve a failure, for each place; little is less on a small disk."""
    machine = FakeMachine(tmp_path, free=free, total=total)
    assert states(examine_disk(machine, {"files": tmp_path, "images": tmp_path})) == [state, state]


def test_a_dashboard_in_the_open_is_told() -> None:
    """Over the network without encryption; on this machine alone there is nothing to say."""
    assert examine_openness("127.0.0.1", is_open=False) == []
    (found,) = examine_openness("0.0.0.0", is_open=True)
    assert (found.state, "HERMIT_HOST=0.0.0.0" in found.text) == (FindingState.WARN, True)


@pytest.mark.parametrize(
    ("environment", "state", "says"),
    [
        ({}, FindingState.OK, "Only this computer"),
        ({"HERMIT_HOST": "0.0.0.0"}, FindingState.WARN, "without https"),
        ({"HERMIT_PUBLIC_URL": "http://nas.local:3000"}, FindingState.WARN, "without https"),
        ({"HERMIT_PUBLIC_URL": "https://hermit.example.org"}, FindingState.OK, "https://hermit.example.org"),
    ],
)
def test_whether_a_phone_gets_in_is_said(
    tmp_path: Path, environment: dict[str, str], state: FindingState, says: str
) -> None:
    """And how to get the https that notifications need, where it is missing."""
    found = examine_reach(load(environment, tmp_path))
    assert (found.state, says in found.text) == (state, True)
    said = f"{found.text} {found.fix}"
    assert ("tailscale serve --bg 3000" in said) == (not environment.get("HERMIT_PUBLIC_URL", "").startswith("https"))


@pytest.mark.parametrize(
    ("now", "engine", "state"),
    [
        (NOON, "", "ok"),
        (NOON, "2027-01-15T08:00:00.123456789Z", "ok"),
        (NOON, "2027-01-15T07:30:00Z", "warn"),
        (NOON, "garbage Z", "ok"),
        (0.0, "", "fail"),
        (NOON - 40 * 24 * 3600, "", "fail"),
    ],
)
def test_the_clock(now: float, engine: str, state: str) -> None:
    """Earlier than the program's own files can't be; another time than the engine's is worth a word."""
    assert examine_clock(now, newest_file=NOON - 100, engine_time=engine).state == state


def test_the_newest_file(tmp_path: Path) -> None:
    """Of the program's own."""
    (tmp_path / "a.py").touch()
    os.utime(tmp_path / "a.py", (5, 5))
    assert newest_change(tmp_path) == 5
    assert newest_change(tmp_path / "nothing") == 0


@pytest.mark.parametrize(
    ("pattern", "state"), [("core\n", "ok"), ("|/usr/share/apport/apport %p\n", "warn"), (None, "ok")]
)
def test_the_crash_helper(tmp_path: Path, pattern: str | None, state: str) -> None:
    """A piped pattern is a warning that names the helper."""
    machine = FakeMachine(tmp_path)
    machine.files = {"/proc/sys/kernel/core_pattern": [pattern] if pattern else []}
    found = examine_crashes(machine)
    assert found.state == state
    assert ("apport" in found.text) == (state == "warn")


@pytest.mark.parametrize(
    ("instances", "watches", "state"),
    [("128\n", "65536\n", "ok"), ("128", "100", "warn"), ("1", "65536", "warn"), ("", "", "ok")],
)
def test_the_kernel_s_watches(tmp_path: Path, instances: str, watches: str, state: str) -> None:
    """Few of them are a warning with the fix; where nothing is said, nothing is wrong."""
    machine = FakeMachine(tmp_path)
    folder = "/proc/sys/fs/inotify"
    machine.files = {f"{folder}/max_user_instances": [instances], f"{folder}/max_user_watches": [watches]}
    found = examine_watches(machine)
    assert found.state == state
    assert ("sysctl" in found.fix) == (state == "warn")


def test_ports() -> None:
    """A port that somebody holds is named with who and with its setting; free ones are fine."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        assert states(examine_ports({"HERMIT_PORT": port})) == ["ok"]
        taken.listen()
        (only,) = examine_ports({"HERMIT_PORT": port})
    assert only.state is FindingState.FAIL
    assert f"process {os.getpid()}" in only.text
    assert "HERMIT_PORT" in only.fix


# --- outside ---------------------------------------------------------------------------------------------------


def test_without_a_model() -> None:
    """The rehearsal is a warning: it works, but it is no model."""
    found = examine_model({"rehearsal": Rehearsal()}, "rehearsal")
    assert found.state is FindingState.WARN
    assert "hermit.env" in found.fix


def examined(prepare_model: Callable[[ScriptedUpstream], None], key: str = "sk-secret") -> tuple[Finding, int]:
    """What is found of a provider, and how many calls it took."""
    with ScriptedUpstream() as model:
        prepare_model(model)
        upstream = OpenAICompatible("custom", model.base_url, key, "", key_setting="HERMIT_LLM_API_KEY")
        try:
            return examine_model({"custom": upstream}, "custom"), len(model.calls)
        finally:
            upstream.close()


def test_a_model_that_answers() -> None:
    """One call, and the model's name is said."""
    found, calls = examined(lambda model: model.script(says("ok")))
    assert (found.state, calls) == (FindingState.OK, 1)
    assert "scripted-large" in found.text


def test_a_model_that_refuses_the_key() -> None:
    """Said without the key, with where to look."""
    found, calls = examined(lambda model: model.script(status(401)))
    assert (found.state, calls) == (FindingState.FAIL, 1)
    assert "key" in found.text
    assert "sk-secret" not in found.text + found.fix


def test_a_provider_that_is_not_there() -> None:
    """Also one that takes no connection is one sentence."""
    upstream = OpenAICompatible("custom", "http://127.0.0.1:9/v1", "k", "m", key_setting="HERMIT_LLM_API_KEY")
    with pytest.raises(UpstreamFailed):
        upstream.list_models()
    assert examine_model({"custom": upstream}, "custom").state is FindingState.FAIL
    upstream.close()
