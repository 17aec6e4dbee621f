"""Cubicles as Docker containers: starts, watches and ends those of one install."""

from __future__ import annotations

import calendar
import contextlib
import hashlib
import json
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import docker
import requests

from orchestrator.core.errors import NotFound, OrchestratorError, Unavailable
from orchestrator.core.models import Container, CubicleKey, CubicleSpec, Exit, Usage
from orchestrator.engine.docker import hardening
from orchestrator.engine.docker.client import (
    HOME_LABEL,
    INSTALL_LABEL,
    pause_container,
    remove_container,
    resume_container,
    translate_errors,
)
from orchestrator.engine.docker.seccomp import seccomp_filter

logger = logging.getLogger(__name__)

_AGENT, _USER, _SPEC = "hermitshell.agent", "hermitshell.user", "hermitshell.spec"
_PROCESSES_AT_REST = 2
_RECIPE = 2
"""Part of every spec's fingerprint: raised when the profile changes, so that older containers are replaced."""


class DockerCubicles:
    """Starts, watches and ends the cubicles of one install."""

    def __init__(
        self, client: docker.DockerClient, install: str, *, look: Callable[[CubicleSpec], None] = lambda _: None
    ) -> None:
        """``look`` is asked about each cubicle that was just started, and raises what speaks against leaving it so."""
        self._api = client.api
        self._install = install
        self._look = look
        self._starting: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # one start a name at a time
        self._samples: dict[str, tuple[int, float]] = {}

    def start(self, spec: CubicleSpec, *, anew: Callable[[], None] = lambda: None) -> Container:
        """The cubicle runs: a running one of the same spec is adopted, any other of that name replaced."""
        with self._starting[spec.name], translate_errors():
            there = self._find_container(spec.name)
            if there is not None and there.running and there.spec == _spec_fingerprint(spec):
                if there.is_frozen:
                    self._change(resume_container, spec.name)
                return replace(there, is_frozen=False)
            if there is not None:
                self._remove_container(spec.name)
            anew()
            return self._create_container(spec)

    def poll(self, name: str) -> Exit | None:
        """None while it runs, else how it ended."""
        with translate_errors():
            try:
                state = self._api.inspect_container(name)["State"]
            except docker.errors.NotFound:
                return Exit(-1, "its container is gone")
        if state.get("Running"):
            return None
        return Exit(int(state.get("ExitCode", -1)), _exit_reason(state))

    def stop(self, name: str, *, grace_s: float = 2.0) -> None:
        """It no longer runs; gone is success."""
        with translate_errors(), contextlib.suppress(docker.errors.NotFound):
            self._api.stop(name, timeout=int(grace_s))

    def remove(self, name: str) -> None:
        """Nothing is left of it; gone is success."""
        with translate_errors():
            self._remove_container(name)

    def list_containers(self) -> list[Container]:
        """Every container that carries this install's label."""
        with translate_errors():
            found = self._api.containers(all=True, filters={"label": f"{INSTALL_LABEL}={self._install}"})
        return [_make_container(entry["Names"][0].lstrip("/"), entry) for entry in found if entry.get("Names")]

    def get_usage(self, name: str) -> Usage:
        """What it uses now: CPU since the last question (at first since its start), memory without caches."""
        with translate_errors():
            try:
                sample = self._api.stats(name, stream=False, one_shot=True)
                before, since = self._samples.get(name) or (0, self._started_at(name))
            # Of one that ends while it is measured the engine says nothing at all, and calls that 200.
            except (docker.errors.NotFound, requests.exceptions.JSONDecodeError) as error:
                raise NotFound("This cubicle does not run.") from error
        memory = sample.get("memory_stats", {})
        if "usage" not in memory:
            raise NotFound("This cubicle does not run.")
        now, used = time.time(), int(sample["cpu_stats"]["cpu_usage"]["total_usage"])
        self._samples[name] = (used, now)
        cached = memory.get("stats", {})
        return Usage(
            cpu_percent=max(0.0, (used - before) / 1e7 / max(now - since, 1e-3)) if used >= before else 0.0,
            memory_bytes=int(memory["usage"]) - int(cached.get("inactive_file", cached.get("total_inactive_file", 0))),
            pids=int(sample.get("pids_stats", {}).get("current", 0)),
        )

    def is_at_rest(self, name: str) -> bool:
        """Only its init and the crab run in it, and nobody has frozen it."""
        with translate_errors():
            try:
                if self._api.inspect_container(name)["State"].get("Paused"):
                    return False
                return len(self._api.top(name, ps_args="-e -o pid")["Processes"] or ()) <= _PROCESSES_AT_REST
            except docker.errors.APIError as error:
                logger.info("what runs in %s can't be told: %s", name, error)
                return False

    def freeze(self, name: str) -> None:
        """It gets no processor until it is thawed; frozen already, stopped or gone is success."""
        with translate_errors():
            self._change(pause_container, name)

    def thaw(self, name: str) -> None:
        """It goes on; not frozen, stopped or gone is success."""
        with translate_errors():
            self._change(resume_container, name)

    def _change(self, change: Callable[[docker.APIClient, str], object], name: str) -> None:
        """Stopped or gone is success."""
        try:
            change(self._api, name)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError as error:
            if "is not running" not in str(error.explanation):
                raise

    def _create_container(self, spec: CubicleSpec) -> Container:
        try:
            hardening.create_container(
                self._api,
                spec.image,
                hardening.sandbox_cubicle(spec),
                name=spec.name,
                hostname=spec.key.agent,
                uid=spec.uid,
                gid=spec.gid,
                labels={
                    INSTALL_LABEL: spec.install,
                    HOME_LABEL: spec.home,
                    _AGENT: spec.key.agent,
                    _USER: str(spec.key.user),
                    _SPEC: _spec_fingerprint(spec),
                },
            )
            self._api.start(spec.name)
            self._look(spec)
        except docker.errors.APIError as error:
            self._remove_container(spec.name)
            raise _start_failed(error, spec) from error
        except OrchestratorError:
            self._remove_container(spec.name)
            raise
        there = self._find_container(spec.name)
        if there is None:
            raise Unavailable(f"The container of {spec.key} vanished while it was started. Send the message again.")
        return there

    def _find_container(self, name: str) -> Container | None:
        try:
            facts = self._api.inspect_container(name)
        except docker.errors.NotFound:
            return None
        if facts["Config"]["Labels"].get(INSTALL_LABEL) != self._install:
            raise Unavailable(f"Another program's container is called {name}. Remove it with 'docker rm -f {name}'.")
        entry = {
            "Id": facts["Id"],
            "Image": facts["Config"]["Image"],
            "Labels": facts["Config"]["Labels"],
            "State": _state_of(facts["State"]),
            "Created": _parse_time(facts["State"]["StartedAt"]),
        }
        return _make_container(name, entry)

    def _started_at(self, name: str) -> float:
        return _parse_time(self._api.inspect_container(name)["State"]["StartedAt"])

    def _remove_container(self, name: str) -> None:
        self._samples.pop(name, None)
        remove_container(self._api, name)


def _spec_fingerprint(spec: CubicleSpec) -> str:
    facts = json.dumps([_RECIPE, asdict(spec), seccomp_filter()], default=str, sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def _make_container(name: str, entry: dict[str, Any]) -> Container:
    labels = entry["Labels"]
    return Container(
        id=entry["Id"],
        name=name,
        key=CubicleKey(labels.get(_AGENT, ""), int(labels.get(_USER) or 0)),
        image=entry["Image"],
        spec=labels.get(_SPEC, ""),
        running=entry["State"] in ("running", "paused"),
        started_at=float(entry["Created"]),
        is_frozen=entry["State"] == "paused",
    )


def _state_of(state: dict[str, Any]) -> str:
    """In the word that a list of containers has for it."""
    if not state["Running"]:
        return "exited"
    return "paused" if state.get("Paused") else "running"


def _exit_reason(state: dict[str, Any]) -> str:
    if state.get("OOMKilled") or state.get("ExitCode") == 137:
        return "its container was killed, perhaps because it used more memory than it may"
    return f"its container ended with code {state.get('ExitCode')}"


def _parse_time(stamp: str) -> float:
    """Docker's RFC 3339 with nanoseconds, to the second."""
    return float(calendar.timegm(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")))


def _start_failed(error: docker.errors.APIError, spec: CubicleSpec) -> Unavailable:
    text = str(error.explanation or error)
    logger.error("the engine did not start %s: %s", spec.name, text)
    if "runtime" in text and spec.runtime:
        return Unavailable(
            f"The engine knows no runtime called {spec.runtime}. Install it, or change HERMIT_CUBICLE_RUNTIME; "
            "no other runtime is used instead."
        )
    if isinstance(error, docker.errors.ImageNotFound):
        return Unavailable("The cubicle's image is missing. Send the message again: it will be rebuilt.")
    if "no space left" in text:
        return Unavailable("The disk is full, so the container can't start. Free some space, then send it again.")
    return Unavailable("The engine could not start the container. './hermit doctor' shows what is wrong.")
