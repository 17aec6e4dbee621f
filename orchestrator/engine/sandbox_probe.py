"""Examines the air gap for real. The doctor starts a throw-away cubicle as every cubicle is started, probes its walls
from inside, and removes it, whatever happens; ``FirstLook`` probes the first cubicle of each image on each engine
likewise, before it gets any work."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from orchestrator.core.errors import Unavailable, WallMissing
from orchestrator.core.finding import Finding, FindingState, fail, ok
from orchestrator.core.home import Home
from orchestrator.core.models import CubicleKey, CubicleLimits, CubicleSpec, Mounts
from orchestrator.engine.protocol import CubicleEngine, EngineFacts, ExecEngine

logger = logging.getLogger(__name__)

PART = "air gap"
PROBE = Path(__file__).with_name("sandbox_probe_inside.py")
PROBE_S = 20
_NAME = "doctor_"
"""No agent can have this name, as of its underscore."""
_UID = 20_999
_FOLDERS = ("work", "inbox", "out", "www", "data", "run")
_SHARES_THE_KERNEL = ("", "runc", "crun", "io.containerd.runc.v2")
_FIX = "Do not use it like this: update the engine and its runtime, then run './hermit doctor' again."


def examine_walls(
    cubicles: CubicleEngine, programs: ExecEngine, home: Home, *, image: str, runtime: str
) -> list[Finding]:
    """What a cubicle can do that it must not. Raises Unavailable when none can be started."""
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=home.path / "run") as folder:
        spec = throw_away(Path(folder), home, image=image, runtime=runtime)
        try:
            cubicles.start(spec)
            seen = _run_probe(programs, spec.name)
        finally:
            cubicles.remove(spec.name)
    return judge_walls(seen)


class FirstLook:
    """Looks once from inside at what an engine makes of an image; to be asked about each cubicle that was started."""

    def __init__(self, programs: ExecEngine, facts: EngineFacts) -> None:
        self._programs, self._facts = programs, facts
        self._seen: set[str] = set()

    def __call__(self, spec: CubicleSpec) -> None:
        """Raises WallMissing when the cubicle, which runs, lacks a wall; Unavailable when that can't be told."""
        kind = _describe_engine(self._facts.version(), spec)
        if kind in self._seen:
            return
        seen = _run_probe(self._programs, spec.name, "closed")
        missing = find_missing_walls(seen, runtime=spec.runtime or self._facts.info().get("DefaultRuntime", ""))
        if missing:
            logger.error("%s is taken away again: %s", spec.name, " ".join(missing))
            raise WallMissing(f"{missing[0]} It was removed, and nothing is answered until that is fixed. {_FIX}")
        logger.info("cubicles of %s have their walls on this engine", spec.image)
        self._seen.add(kind)


def find_missing_walls(seen: Mapping[str, Any], *, runtime: str) -> list[str]:
    """The walls that a cubicle lacks, each in a sentence. What a runtime with a kernel of its own, such as gVisor's,
    makes of system calls is that kernel's affair."""
    checks = [check for check in _CHECKS if check is not _check_filter or runtime in _SHARES_THE_KERNEL]
    found = [check({**seen, "keeps": []}) for check in checks]
    return [finding.text for finding in found if finding.state is FindingState.FAIL]


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
        limits=CubicleLimits(cpus=1.0, memory_mb=128, pids=64, disk_mb=16),
        runtime=runtime,
    )


def _describe_engine(version: Mapping[str, Any], spec: CubicleSpec) -> str:
    """Engine, kernel, runtimes and image, by their versions: what changes any of them is looked at again."""
    text = json.dumps([version, spec.image, spec.runtime], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _run_probe(programs: ExecEngine, name: str, *how: str) -> dict[str, Any]:
    """What the probe inside printed; its time is limited inside, where killing ends it."""
    program = ("/usr/bin/python3", "-I", "-c", PROBE.read_text("utf-8"), *how)
    output = programs.run_program(name, ("/usr/bin/timeout", "-k", "1", str(PROBE_S), *program))
    try:
        seen: dict[str, Any] = json.loads(output)
    except ValueError as error:
        raise Unavailable("The probe inside a cubicle gave no answer. Run './hermit doctor' again.") from error
    return seen


# --- the walls -------------------------------------------------------------------------------------------------


def _check_network(seen: Mapping[str, Any]) -> Finding:
    others = [name for name in seen["interfaces"] if name != "lo"]
    if others or seen["reaches_out"]:
        return fail(PART, f"A cubicle has a network ({', '.join(others) or 'a way out'}).", _FIX)
    return ok(PART, "A cubicle has no network but its own loopback.")


def _check_powers(seen: Mapping[str, Any]) -> Finding:
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
        return fail(PART, f"A cubicle has privileges: {', '.join(wrong)}.", _FIX)
    return ok(PART, "It is an ordinary user without capabilities, and can gain none.")


def _check_filter(seen: Mapping[str, Any]) -> Finding:
    if not seen["seccomp"]:
        return fail(PART, "A cubicle's system calls are not filtered.", "Use a kernel and an engine with seccomp.")
    if seen["families"]:
        return fail(PART, f"The system-call filter lets {', '.join(seen['families'])} sockets through.", _FIX)
    if seen["calls"]:
        return fail(PART, f"The system-call filter lets {', '.join(seen['calls'])} through.", _FIX)
    return ok(PART, "Its system calls are filtered; sockets beyond the plain kinds are refused (AF_ALG too).")


def _check_files(seen: Mapping[str, Any]) -> Finding:
    if seen["writes"]:
        return fail(PART, f"A cubicle can write where it must not: {', '.join(seen['writes'])}.", _FIX)
    if seen["keeps"]:
        fix = "HERMIT_HOME must lie on a local file system, at the same path for the engine as for us."
        return fail(PART, f"A cubicle can't write where it must: {', '.join(seen['keeps'])}.", fix)
    return ok(PART, "Its system files, uploads and connection to HermitShell are read-only; its workspace is writable.")


def _check_sockets(seen: Mapping[str, Any]) -> Finding:
    if seen["sockets"]:
        return fail(PART, f"A cubicle sees an engine's socket: {', '.join(seen['sockets'])}.", _FIX)
    return ok(PART, "It sees no engine's socket.")


def _check_kernel(seen: Mapping[str, Any]) -> Finding:
    if seen["knobs"]:
        return fail(PART, f"A cubicle can change the kernel's settings: {', '.join(seen['knobs'])}.", _FIX)
    if seen["bared"]:
        return fail(PART, f"A cubicle can read what an engine hides: {', '.join(seen['bared'])}.", _FIX)
    return ok(PART, "It can't change the kernel's settings, or read what an engine hides.")


def _check_processes(seen: Mapping[str, Any]) -> Finding:
    if seen["strangers"]:
        return fail(PART, f"A cubicle sees {seen['strangers']:,} processes that are not its own.", _FIX)
    return ok(PART, "It sees no process but its own.")


_CHECKS: tuple[Callable[[Mapping[str, Any]], Finding], ...] = (
    _check_network,
    _check_powers,
    _check_filter,
    _check_files,
    _check_sockets,
    _check_kernel,
    _check_processes,
)
