"""``orchestrator.engine.docker.hardening``: one profile for every container, and nothing differs that has no reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from orchestrator.core.models import CubicleKey, CubicleLimits, CubicleSpec, Mounts
from orchestrator.engine import helpers
from orchestrator.engine.docker.hardening import (
    DIFFERENCES,
    create_container,
    host_config,
    sandbox_cubicle,
    sandbox_helper,
)
from orchestrator.engine.helpers import LIVE_BROWSER, RESOLVER, SANDBOX_TRIAL, HelperKind, HelperSpec

ROOT = Path(__file__).resolve().parents[3]
KINDS = [kind for kind in vars(helpers).values() if isinstance(kind, HelperKind)]
HERE = Path("/nowhere")
SPEC = CubicleSpec(
    name="hermit-t-crab-1", install="t", home="/nowhere", key=CubicleKey("crab", 1), image="image", uid=20_000,
    gid=20_000, mounts=Mounts(*[HERE] * 6), limits=CubicleLimits(cpus=1.5, memory_mb=512, pids=200, disk_mb=300),
    runtime="runsc",
)  # fmt: skip
CREATES = {"create_container", "create_container_from_config", "create_host_config", "exec_create", "exec_run", "run"}


@pytest.fixture
def api() -> Iterator[docker.APIClient]:
    """The library, with no engine behind it."""
    client = docker.APIClient("http://127.0.0.1:9", version="1.43")
    yield client
    client.close()


def helper_config(api: docker.APIClient, kind: HelperKind) -> dict[str, Any]:
    """What the engine is told of a helper of this kind."""
    spec = HelperSpec("1", kind, "image", 19_999, 19_999, HERE, HERE, 1.0, 1, hosts=(("api.test", "127.0.0.2"),))
    return host_config(api, sandbox_helper(spec, most_cpus=4))


def test_nothing_differs_without_a_reason(api: docker.APIClient) -> None:
    """Between a cubicle and any kind of helper; and each reason is one for something that does differ."""
    cubicle = host_config(api, sandbox_cubicle(SPEC))
    differing: set[str] = set()
    for kind in KINDS:
        helper = helper_config(api, kind)
        differing |= {key for key in cubicle | helper if cubicle.get(key) != helper.get(key)}
    assert differing == set(DIFFERENCES)
    assert all(reason.endswith(".") for reason in DIFFERENCES.values())


def test_names_lead_to_loopback_alone(api: docker.APIClient) -> None:
    """No helper finds another machine by a name of ours."""
    spec = HelperSpec("1", KINDS[0], "image", 19_999, 19_999, HERE, HERE, 1.0, 1, hosts=(("api.test", "10.0.0.1"),))
    with pytest.raises(ValueError, match="loopback"):
        host_config(api, sandbox_helper(spec, most_cpus=4))


def test_what_all_are_denied(api: docker.APIClient) -> None:
    """By the engine's names for it, whatever else there is."""
    for config in (host_config(api, sandbox_cubicle(SPEC)), *(helper_config(api, kind) for kind in KINDS)):
        assert (config["CapDrop"], config.get("CapAdd"), config.get("Privileged")) == (["ALL"], None, None)
        assert (config["ReadonlyRootfs"], config["IpcMode"], config["Init"]) == (True, "private", True)
        assert config["SecurityOpt"][0] == "no-new-privileges:true"
        assert config["SecurityOpt"][1].startswith("seccomp={")
        assert config["MemorySwap"] == config["Memory"] > 0
        assert config["NanoCpus"] > 0
        assert config["PidsLimit"] > 0
        assert config["RestartPolicy"] == {"Name": "no"}
        assert "nosuid,nodev" in config["Tmpfs"]["/tmp"]
        assert {mount["BindOptions"]["Propagation"] for mount in config["Mounts"]} == {"rprivate"}
        assert ("core", 1, 1) in {(limit["Name"], limit["Soft"], limit["Hard"]) for limit in config["Ulimits"]}


def test_nothing_has_a_network(api: docker.APIClient) -> None:
    """No cubicle and no kind of helper; nothing tells of the host's name servers either."""
    for config in (host_config(api, sandbox_cubicle(SPEC)), *(helper_config(api, kind) for kind in KINDS)):
        assert (config["NetworkMode"], config["Dns"], config["DnsSearch"]) == ("none", ["127.0.0.1"], ["."])


def test_sockets_are_mounted_read_only(api: docker.APIClient) -> None:
    """Where a helper has some; nothing else about it differs."""
    spec = HelperSpec("1", RESOLVER, "image", 19_999, 19_999, HERE, HERE, 1.0, 1)
    with_sockets = replace(spec, sockets=HERE / "run")
    one, two = (host_config(api, sandbox_helper(each, most_cpus=4)) for each in (spec, with_sockets))
    assert {key for key in one | two if one.get(key) != two.get(key)} == {"Mounts"}
    added = [mount for mount in two["Mounts"] if mount not in one["Mounts"]]
    assert [(mount["Target"], mount["ReadOnly"]) for mount in added] == [("/run/helper", True)]


def test_one_kind_alone_makes_namespaces(api: docker.APIClient) -> None:
    """A live browser whose sandbox stands, and what tries whether it does."""
    usual = host_config(api, sandbox_cubicle(SPEC))["SecurityOpt"]
    found = {kind.name for kind in KINDS if helper_config(api, kind)["SecurityOpt"] != usual}
    assert found == {LIVE_BROWSER.name, SANDBOX_TRIAL.name}


def test_sockets_are_read_only_inside(api: docker.APIClient) -> None:
    """Where a helper has any."""
    spec = HelperSpec("1", LIVE_BROWSER, "image", 19_999, 19_999, HERE, HERE, 1.0, 1, HERE)
    config = host_config(api, sandbox_helper(spec, most_cpus=4))
    assert {mount["Target"]: mount["ReadOnly"] for mount in config["Mounts"]} == {
        "/helper/in": True,
        "/helper/out": False,
        "/run/helper": True,
    }


def test_a_spec_reaches_its_numbers_and_no_more(api: docker.APIClient) -> None:
    """Two cubicles differ in what their specs say differently."""
    other = replace(SPEC, limits=replace(SPEC.limits, memory_mb=1024), runtime="")
    one, two = (host_config(api, sandbox_cubicle(spec)) for spec in (SPEC, other))
    assert {key for key in one | two if one.get(key) != two.get(key)} == {"Memory", "MemorySwap", "Runtime"}


def test_root_is_refused(api: docker.APIClient) -> None:
    """Before the engine is asked."""
    with pytest.raises(ValueError, match="root"):
        create_container(
            api, "image", sandbox_cubicle(SPEC), name="x", hostname="x", uid=0, gid=20_000, labels={}
        )  # fmt: skip


def test_nobody_else_creates_a_container() -> None:
    """Nor a program in one; building the base image has a way of its own."""
    may = {"hardening.py"}
    found = {
        path.name
        for path in (ROOT / "orchestrator" / "engine" / "docker").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CREATES
        and ast.unparse(node.func.value) != "hardening"
    }
    assert found == may
