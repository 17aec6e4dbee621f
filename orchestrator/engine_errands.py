"""Errands: a container that is thrown away fetches or makes something and is gone. The other module that starts
containers, with the walls of a cubicle, and without workspace and door.

What it may do is written here: an errand chooses an image of ours, two private folders and numbers. Whether it has the
engine's network, and which program it runs, is a matter of its sort, which the composition root chooses.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import docker
import requests
from docker.types import LogConfig, Mount, Ulimit

from orchestrator.engine_docker import SECCOMP_FILE
from orchestrator.errors import Unavailable
from orchestrator.packages.errand import Errand

logger = logging.getLogger(__name__)

_HOME = "hermitshell.home"
_LOOK_S = 0.2
_MEMORY_MB, _TMP_MB, _OPEN_FILES = 1024, 700, 1024
_FULL_SHARES = 1024


@dataclass(frozen=True, slots=True)
class Sort:
    """What errands of one sort have in common."""

    name: str
    label: str
    """Its own: errands are no cubicles, and whoever looks for those must not find them."""
    network: Literal["bridge", "none"]
    program: tuple[str, ...] = ()
    """What it runs; empty for what its image says."""
    cpus: float = 1.0
    shares: int = _FULL_SHARES
    """How much it gets of a processor that others want too, where a cubicle has 1,024."""
    pids: int = 128
    """Processes and threads."""


COURIER = Sort("courier", "hermitshell.errands-of", "bridge")
"""Fetches packages."""
STUDIO = Sort(
    "studio",
    "hermitshell.videos-of",
    "none",
    program=("/usr/bin/python3", "-I", "/errand/in/clawmotion"),
    cpus=2.0,
    shares=256,
)
"""Animates texts."""
BROWSER = Sort("browser", "hermitshell.pictures-of", "none", cpus=2.0, shares=256, pids=256)
"""Takes pictures of web apps. A browser's own sandbox can't stand within these walls, nor needs to."""
PAGES = Sort("pages", "hermitshell.pages-of", "none", program=("/usr/bin/python3", "-I", "/app/pages.py"), shares=256)
"""Draws the pages of PDFs."""


class DockerErrands:
    """Sends errands of one install and one sort, one container each."""

    def __init__(self, client: docker.DockerClient, install: str, home: str, sort: Sort = COURIER) -> None:
        self._api = client.api
        self._install, self._home, self._sort = install, home, sort
        self._seccomp = json.dumps(json.loads(SECCOMP_FILE.read_text(encoding="utf-8")))

    def run(self, errand: Errand, *, is_wanted: Callable[[], bool]) -> None:
        """The errand is over and its container gone, whether it did what it should, took too long or too much room, or
        was no longer wanted. What it brought is a stranger's word. Raises Unavailable."""
        with _explained(self._sort):
            name = f"hermit-{self._install}-{self._sort.name}-{errand.id}"
            self._remove(name)
            try:
                self._start(name, errand)
                self._await_end(name, errand, is_wanted)
            finally:
                self._remove(name)

    def clear(self) -> None:
        """No errand of this install is under way, whoever sent it."""
        with _explained(self._sort):
            label = f"{self._sort.label}={self._install}"
            for found in self._api.containers(all=True, filters={"label": label}):
                self._remove(found["Id"])

    def _start(self, name: str, errand: Errand) -> None:
        host = self._api.create_host_config(
            network_mode=self._sort.network,
            read_only=True,
            privileged=False,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true", f"seccomp={self._seccomp}"],
            ipc_mode="private",
            init=True,
            auto_remove=True,
            mem_limit=f"{_MEMORY_MB}m",
            memswap_limit=f"{_MEMORY_MB}m",
            nano_cpus=int(min(self._sort.cpus, self._api.info()["NCPU"]) * 1_000_000_000),
            cpu_shares=self._sort.shares,
            pids_limit=self._sort.pids,
            oom_score_adj=500,
            tmpfs={"/tmp": f"rw,nosuid,nodev,noexec,size={_TMP_MB}m,mode=1777"},  # noqa: S108 - of the container
            ulimits=_ulimits(),
            mounts=[_bind(errand.given, "/errand/in", read_only=True), _bind(errand.brought, "/errand/out")],
            log_config=LogConfig(type="none"),
            restart_policy={"Name": "no"},
        )
        self._api.create_container(
            errand.image,
            list(self._sort.program) or None,
            name=name,
            hostname=self._sort.name,
            user=f"{errand.uid}:{errand.gid}",
            labels={self._sort.label: self._install, _HOME: self._home},
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
def _explained(sort: Sort) -> Iterator[None]:
    try:
        yield
    except docker.errors.ImageNotFound as error:
        raise Unavailable(f"The {sort.name} container's image is missing. Ask again: it will be rebuilt.") from error
    except (docker.errors.DockerException, requests.RequestException) as error:
        text: Any = getattr(error, "explanation", None) or error
        logger.warning("a helper container failed: %s", text)
        raise Unavailable(
            f"The Docker engine could not run the {sort.name} container. './hermit doctor' shows what is wrong."
        ) from error
