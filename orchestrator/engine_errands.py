"""Errands: a container that is thrown away fetches something from the outside and is gone. The other module that starts
containers, with the walls of a cubicle; only that it has the engine's network, no workspace and no door.

What it may do is written here: an errand chooses an image of ours, two private folders and numbers.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import requests
from docker.types import LogConfig, Mount, Ulimit

from orchestrator.engine_docker import SECCOMP_FILE
from orchestrator.errors import Unavailable
from orchestrator.packages.errand import Errand

logger = logging.getLogger(__name__)

_INSTALL, _HOME = "hermitshell.errands-of", "hermitshell.home"
"""A label of its own: errands are no cubicles, and whoever looks for those must not find them."""
_LOOK_S = 0.2
_MEMORY_MB, _TMP_MB, _PIDS, _CPUS, _OPEN_FILES = 1024, 700, 128, 1.0, 1024


class DockerErrands:
    """Sends errands of one install, one container each."""

    def __init__(self, client: docker.DockerClient, install: str, home: str) -> None:
        self._api = client.api
        self._install, self._home = install, home
        self._seccomp = json.dumps(json.loads(SECCOMP_FILE.read_text(encoding="utf-8")))

    def run(self, errand: Errand, *, is_wanted: Callable[[], bool]) -> None:
        """The errand is over and its container gone, whether it did what it should, took too long or too much room, or
        was no longer wanted. What it brought is a stranger's word. Raises Unavailable."""
        with _explained():
            name = f"hermit-{self._install}-errand-{errand.id}"
            self._remove(name)
            try:
                self._start(name, errand)
                self._await_end(name, errand, is_wanted)
            finally:
                self._remove(name)

    def clear(self) -> None:
        """No errand of this install is under way, whoever sent it."""
        with _explained():
            for found in self._api.containers(all=True, filters={"label": f"{_INSTALL}={self._install}"}):
                self._remove(found["Id"])

    def _start(self, name: str, errand: Errand) -> None:
        host = self._api.create_host_config(
            network_mode="bridge",
            read_only=True,
            privileged=False,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true", f"seccomp={self._seccomp}"],
            ipc_mode="private",
            init=True,
            auto_remove=True,
            mem_limit=f"{_MEMORY_MB}m",
            memswap_limit=f"{_MEMORY_MB}m",
            nano_cpus=int(_CPUS * 1_000_000_000),
            pids_limit=_PIDS,
            oom_score_adj=500,
            tmpfs={"/tmp": f"rw,nosuid,nodev,noexec,size={_TMP_MB}m,mode=1777"},  # noqa: S108 - of the container
            ulimits=_ulimits(),
            mounts=[_bind(errand.given, "/errand/in", read_only=True), _bind(errand.brought, "/errand/out")],
            log_config=LogConfig(type="none"),
            restart_policy={"Name": "no"},
        )
        self._api.create_container(
            errand.image,
            name=name,
            hostname="courier",
            user=f"{errand.uid}:{errand.gid}",
            labels={_INSTALL: self._install, _HOME: self._home},
            host_config=host,
        )
        self._api.start(name)

    def _await_end(self, name: str, errand: Errand, is_wanted: Callable[[], bool]) -> None:
        deadline = time.monotonic() + errand.time_s
        while self._is_running(name):
            if not is_wanted() or time.monotonic() > deadline or _bytes_in(errand.brought) > errand.max_bytes:
                return
            time.sleep(_LOOK_S)

    def _is_running(self, name: str) -> bool:
        try:
            return bool(self._api.inspect_container(name)["State"]["Running"])
        except docker.errors.NotFound:
            return False

    def _remove(self, name: str) -> None:
        """Gone is success; it may be going by itself just now, and then it is waited for."""
        for _ in range(50):
            try:
                self._api.remove_container(name, force=True, v=True)
            except docker.errors.NotFound:
                return
            except docker.errors.APIError as error:
                if error.status_code != 409:  # it is being removed already
                    raise
            time.sleep(0.1)
        raise Unavailable(f"The engine does not finish removing the container {name}. Restart Docker.")


def _bind(source: Path, target: str, *, read_only: bool = False) -> Mount:
    return Mount(target, str(source), type="bind", read_only=read_only, propagation="rprivate")


def _ulimits() -> list[Ulimit]:
    max_bytes = _TMP_MB << 20
    return [
        Ulimit(name="fsize", soft=max_bytes, hard=max_bytes),
        Ulimit(name="nofile", soft=_OPEN_FILES, hard=_OPEN_FILES),
        Ulimit(name="core", soft=1, hard=1),  # 1, not 0: as for cubicles
    ]


def _bytes_in(folder: Path) -> float:
    """What lies in a folder that the container alone writes. Nobody needs folders in it."""
    total = 0
    for entry in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # it went meanwhile
            facts = entry.lstat()
            if stat.S_ISDIR(facts.st_mode):
                return math.inf
            total += facts.st_size
    return total


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise Unavailable("The courier's image has vanished. Ask again: it is built anew.") from error
    except (docker.errors.DockerException, requests.RequestException) as error:
        text: Any = getattr(error, "explanation", None) or error
        logger.warning("an errand failed: %s", text)
        raise Unavailable(
            "The Docker engine could not run the courier. './hermit doctor' shows what is wrong."
        ) from error
