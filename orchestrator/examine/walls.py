"""Examines the air gap for real: starts a throw-away cubicle as every cubicle is started, probes its walls from inside,
and removes it, whatever happens."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import docker
import requests

from orchestrator.errors import Unavailable
from orchestrator.examine.finding import Finding, fail, ok
from orchestrator.home import Home
from orchestrator.nouns import CubicleKey, CubicleSpec, Engine, Limits, Mounts

PART = "air gap"
PROBE = Path(__file__).with_name("inside.py")
PROBE_S = 20
_NAME = "doctor_"
"""No agent can have this name, as of its underscore."""
_UID = 20_999
_FOLDERS = ("work", "inbox", "out", "www", "data", "run")
_MEND = "Do not use it like this: update the engine and its runtime, then run './hermit doctor' again."


def examine_walls(
    engine: Engine, client: docker.DockerClient, home: Home, *, image: str, runtime: str
) -> list[Finding]:
    """What a cubicle can do that it must not. Raises Unavailable when none can be started."""
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=home.path / "run") as folder:
        spec = throw_away(Path(folder), home, image=image, runtime=runtime)
        try:
            engine.start(spec)
            seen = _probe(client, spec.name)
        finally:
            engine.remove(spec.name)
    return judge_walls(seen)


def judge_walls(seen: Mapping[str, Any]) -> list[Finding]:
    """A finding for each wall, from what the probe saw."""
    return [check(seen) for check in _CHECKS]


def throw_away(folder: Path, home: Home, *, image: str, runtime: str) -> CubicleSpec:
    """A small cubicle over empty folders, under a name that no agent can have."""
    is_root = os.geteuid() == 0
    uid, gid = (_UID, _UID) if is_root else (os.geteuid(), os.getegid())
    folder.chmod(0o711)
    paths = {name: folder / name for name in _FOLDERS}
    for name, path in paths.items():
        path.mkdir(mode=0o755)
        if is_root and name in ("work", "out", "www"):
            os.chown(path, uid, gid)
    number = secrets.randbelow(10**9)
    return CubicleSpec(
        name=f"hermit-{home.install}-{_NAME}-{number}",
        install=home.install,
        home=str(home.path),
        key=CubicleKey(_NAME, number),
        image=image,
        uid=uid,
        gid=gid,
        mounts=Mounts(**paths),
        limits=Limits(cpus=1.0, memory_mb=128, pids=64, disk_mb=16),
        runtime=runtime,
    )


def _probe(client: docker.DockerClient, name: str) -> dict[str, Any]:
    """What the probe inside printed; its time is limited inside, where killing ends it."""
    command = ["/usr/bin/timeout", "-k", "1", str(PROBE_S), "/usr/bin/python3", "-I", "-c", PROBE.read_text("utf-8")]
    try:
        made = client.api.exec_create(name, command, environment={"HOME": "/nonexistent"})
        output = client.api.exec_start(made["Id"])
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise Unavailable(
            "The engine started a cubicle but could run nothing in it. Look at the engine's log."
        ) from error
    try:
        seen: dict[str, Any] = json.loads(output)
    except ValueError as error:
        raise Unavailable("The probe inside a cubicle gave no answer. Run './hermit doctor' again.") from error
    return seen


# --- the walls -------------------------------------------------------------------------------------------------


def _network(seen: Mapping[str, Any]) -> Finding:
    others = [name for name in seen["interfaces"] if name != "lo"]
    if others or seen["reaches_out"]:
        return fail(PART, f"A cubicle has a network ({', '.join(others) or 'a way out'}).", _MEND)
    return ok(PART, "A cubicle has no network but its own loopback.")


def _powers(seen: Mapping[str, Any]) -> Finding:
    wrong = [
        text
        for text, is_wrong in (
            ("it runs as root", seen["uid"] == 0),
            ("it has capabilities", bool(seen["capabilities"])),
            ("it can gain privileges", not seen["no_new_privs"]),
        )
        if is_wrong
    ]
    if wrong:
        return fail(PART, f"A cubicle has powers: {', '.join(wrong)}.", _MEND)
    return ok(PART, "It is an ordinary user without capabilities, and can gain none.")


def _filter(seen: Mapping[str, Any]) -> Finding:
    if not seen["seccomp"]:
        return fail(PART, "A cubicle's system calls are not filtered.", "Use a kernel and an engine with seccomp.")
    if seen["families"]:
        return fail(PART, f"The system-call filter lets {', '.join(seen['families'])} sockets through.", _MEND)
    return ok(PART, "Its system calls are filtered; sockets beyond the plain kinds are refused (AF_ALG too).")


def _files(seen: Mapping[str, Any]) -> Finding:
    if seen["writes"]:
        return fail(PART, f"A cubicle can write where it must not: {', '.join(seen['writes'])}.", _MEND)
    if seen["keeps"]:
        mend = "HERMIT_HOME must lie on a local file system, at the same path for the engine as for us."
        return fail(PART, f"A cubicle can't write where it must: {', '.join(seen['keeps'])}.", mend)
    return ok(PART, "Its root, its uploads and the folder of its door are read-only; its workspace is not.")


def _sockets(seen: Mapping[str, Any]) -> Finding:
    if seen["sockets"]:
        return fail(PART, f"A cubicle sees an engine's socket: {', '.join(seen['sockets'])}.", _MEND)
    return ok(PART, "No engine's socket is in its sight.")


_CHECKS: tuple[Callable[[Mapping[str, Any]], Finding], ...] = (_network, _powers, _filter, _files, _sockets)
