"""What containers are denied: the only module that creates one, or a program in one.

One profile holds for cubicles and helper containers alike, and for every exec by the container that it is in. Nothing
in a spec can weaken it: a spec chooses a name, an image of ours, folders and numbers. In what else a cubicle and a
helper differ stands in ``DIFFERENCES``, each with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import docker
from docker.types import LogConfig, Mount, Ulimit

from orchestrator.core.models import CubicleSpec
from orchestrator.engine.docker.seccomp import seccomp_filter
from orchestrator.engine.helpers import HelperSpec

_LARGEST_TMP_MB = 256
_HELPER_TMP_MB = 700

DIFFERENCES: Final[Mapping[str, str]] = {
    "Memory": "A number: a cubicle's is the operator's choice, a helper's is that of its kind.",
    "MemorySwap": "As Memory, so that nothing is swapped out.",
    "NanoCpus": "A number, as Memory.",
    "PidsLimit": "A number, as Memory.",
    "Ulimits": "Numbers: a cubicle's largest file is its quota, and its servers hold more files open.",
    "CpuShares": "Helpers that draw give way to cubicles, for which people wait.",
    "Tmpfs": "Agents build and run programs in /tmp, and MCP servers are unpacked there; for others it is noexec.",
    "Sysctls": "An agent's programs ask for localhost, so a cubicle's loopback has ::1 too. A helper's use 127.0.0.1.",
    "ExtraHosts": "An MCP server finds the hosts that an operator listed on its own loopback, joined to a gate.",
    "LogConfig": "What a crab prints is kept to find faults. What a helper prints may be a stranger's, and is not.",
    "AutoRemove": "How a cubicle ended is looked up after its end. A helper's report lies in its folder.",
    "Runtime": "HERMIT_CUBICLE_RUNTIME speaks of cubicles alone.",
    "Mounts": "A cubicle has its workspace and its door, a helper its own folders; in one are sockets, if any.",
    "SecurityOpt": "The filter: a live browser may make user namespaces, to shut each site's process in once more.",
}
"""In what a cubicle and a helper differ, by the engine's own names for it, and why. All else is the same for all."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A container's share of what differs."""

    memory_mb: int
    cpus: float
    pids: int
    file_mb: int
    """The largest file."""
    open_files: int
    tmp: str
    """Options of its /tmp beside those of all."""
    mounts: tuple[Mount, ...]
    cpu_shares: int | None = None
    log: LogConfig | None = None
    """None: what it prints is not kept."""
    has_local_ipv6: bool = False
    is_removed_at_end: bool = False
    runtime: str = ""
    sandboxes_itself: bool = False
    hosts: tuple[tuple[str, str], ...] = ()
    """Names for addresses on its loopback."""


def sandbox_cubicle(spec: CubicleSpec) -> Sandbox:
    """As its spec says, over its workspace."""
    limits, mounts, workspace = spec.limits, spec.mounts, "/app/workspace"
    return Sandbox(
        memory_mb=limits.memory_mb,
        cpus=limits.cpus,
        pids=limits.pids,
        file_mb=limits.disk_mb,
        open_files=4096,
        tmp=f"size={min(_LARGEST_TMP_MB, limits.memory_mb // 2)}m",
        mounts=(
            _bind_mount(mounts.work, f"{workspace}/work", read_only=False),
            _bind_mount(mounts.out, f"{workspace}/out", read_only=False),
            _bind_mount(mounts.www, f"{workspace}/www", read_only=False),
            _bind_mount(mounts.inbox, f"{workspace}/in"),
            _bind_mount(mounts.data, f"{workspace}/data"),
            _bind_mount(mounts.run, "/run/hermit"),
        ),
        log=LogConfig(type="json-file", config={"max-size": "1m", "max-file": "2"}),
        has_local_ipv6=Path("/proc/sys/net/ipv6").exists(),
        runtime=spec.runtime,
    )


def sandbox_helper(spec: HelperSpec, *, most_cpus: float) -> Sandbox:
    """As its kind says, over its folders; the engine has ``most_cpus``."""
    kind = spec.kind
    return Sandbox(
        memory_mb=kind.memory_mb,
        cpus=min(kind.cpus, most_cpus),
        pids=kind.pids,
        file_mb=_HELPER_TMP_MB,
        open_files=kind.open_files,
        tmp=f"{'exec' if kind.runs_from_tmp else 'noexec'},size={min(_HELPER_TMP_MB, kind.memory_mb * 3 // 4)}m",
        mounts=(
            _bind_mount(spec.given, "/helper/in"),
            _bind_mount(spec.brought, "/helper/out", read_only=False),
            *((_bind_mount(spec.sockets, "/run/helper"),) if spec.sockets else ()),
        ),
        cpu_shares=kind.shares,
        is_removed_at_end=True,
        sandboxes_itself=kind.sandboxes_itself,
        hosts=spec.hosts,
    )


def create_container(
    api: docker.APIClient,
    image: str,
    sandbox: Sandbox,
    *,
    name: str,
    hostname: str,
    uid: int,
    gid: int,
    labels: Mapping[str, str],
    command: Sequence[str] = (),
    has_stdin: bool = False,
) -> None:
    """It is there, and does not run yet. What it reads with ``has_stdin`` ends with whoever is attached to it. Raises
    what the library raises; ValueError for root."""
    if uid < 1:
        raise ValueError("no container runs as root")
    api.create_container(
        image,
        list(command) or None,
        name=name,
        hostname=hostname,
        user=f"{uid}:{gid}",
        labels=dict(labels),
        stop_signal="SIGTERM",
        stdin_open=has_stdin,
        host_config=host_config(api, sandbox),
    )


def create_exec(
    api: docker.APIClient, container: str, command: Sequence[str], *, user: str = "", **terminal: Any
) -> str:
    """The id of a program to be started in a container that runs. It has the container's walls, no more power than they
    leave, and the container's own user where none is named."""
    return str(api.exec_create(container, list(command), user=user, privileged=False, **terminal)["Id"])


def host_config(api: docker.APIClient, sandbox: Sandbox) -> dict[str, Any]:
    """The profile, in the engine's words."""
    found: dict[str, Any] = api.create_host_config(
        network_mode="none",
        read_only=True,
        privileged=False,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true", f"seccomp={seccomp_filter(sandboxes_itself=sandbox.sandboxes_itself)}"],
        ipc_mode="private",
        init=True,
        auto_remove=sandbox.is_removed_at_end,
        mem_limit=f"{sandbox.memory_mb}m",
        memswap_limit=f"{sandbox.memory_mb}m",
        nano_cpus=int(sandbox.cpus * 1_000_000_000),
        cpu_shares=sandbox.cpu_shares,
        pids_limit=sandbox.pids,
        shm_size="64m",
        oom_score_adj=500,
        tmpfs={"/tmp": f"rw,nosuid,nodev,{sandbox.tmp},mode=1777"},  # noqa: S108 - of the container
        ulimits=_make_ulimits(sandbox),
        mounts=list(sandbox.mounts),
        log_config=sandbox.log or LogConfig(type="none"),
        extra_hosts=_name_hosts(sandbox.hosts),
        dns=["127.0.0.1"],  # no file tells of the host's name servers
        dns_search=["."],
        restart_policy={"Name": "no"},
        # Loopback has ::1 too, which the engine's own /etc/hosts promises to programs that ask for localhost.
        sysctls={"net.ipv6.conf.lo.disable_ipv6": "0"} if sandbox.has_local_ipv6 else None,
        runtime=sandbox.runtime or None,
    )
    return found


def _name_hosts(hosts: tuple[tuple[str, str], ...]) -> dict[str, str] | None:
    """Raises ValueError for an address that is not on loopback."""
    if not all(address.startswith("127.") for _, address in hosts):
        raise ValueError("a name may lead to loopback alone")
    return dict(hosts) or None


def _make_ulimits(sandbox: Sandbox) -> list[Ulimit]:
    max_bytes = sandbox.file_mb << 20
    return [
        Ulimit(name="fsize", soft=max_bytes, hard=max_bytes),
        Ulimit(name="nofile", soft=sandbox.open_files, hard=sandbox.open_files),
        # 1, not 0: with 0 the kernel still starts a piped core_pattern helper on the host, with 1 not (core(5)).
        Ulimit(name="core", soft=1, hard=1),
    ]


def _bind_mount(source: Path, target: str, *, read_only: bool = True) -> Mount:
    return Mount(target, str(source), type="bind", read_only=read_only, propagation="rprivate")
