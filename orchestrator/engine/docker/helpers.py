"""Helper containers: one that is thrown away fetches or makes something and is gone; one that lives is spoken with over
its standard input and output. Both have the walls of a cubicle, and no workspace and no door.

Which there are, and with which program, is written in ``engine.helpers``.
"""

from __future__ import annotations

import contextlib
import math
import stat
import time
from collections.abc import Callable
from pathlib import Path

import docker

from orchestrator.engine.docker.client import (
    HOME_LABEL,
    pause_container,
    remove_container,
    remove_labelled,
    resume_container,
    translate_errors,
)
from orchestrator.engine.docker.hardening import create_container, sandbox_helper
from orchestrator.engine.docker.stream import Stream
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from orchestrator.engine.protocol import LivingHelper

_LOOK_S = 0.2


class DockerHelpers:
    """Runs the helper containers of one install."""

    def __init__(self, client: docker.DockerClient, install: str, home: str) -> None:
        self._api = client.api
        self._install, self._home = install, home

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """The helper is over and its container gone, whether it did what it should, took too long or too much room, or
        was no longer wanted. What it brought is a stranger's word. Raises Unavailable."""
        with _translate_errors(spec.kind):
            name = self._create(spec)
            try:
                self._api.start(name)
                deadline = time.monotonic() + spec.time_s
                while (end := _end_of(self._api, name, spec, deadline)) is None:
                    if not is_wanted():
                        return HelperEnd.NOT_WANTED
                    time.sleep(_LOOK_S)
                return end
            finally:
                remove_container(self._api, name)

    def start_helper(self, spec: HelperSpec) -> LivingHelper:
        """A helper that lives, and is spoken with. Raises Unavailable."""
        with _translate_errors(spec.kind):
            name = self._create(spec, has_stdin=True)
            try:
                return DockerLivingHelper(self._api, name, spec)
            except (docker.errors.DockerException, OSError):
                remove_container(self._api, name)
                raise

    def clear_helpers(self, kind: HelperKind) -> None:
        """None of that kind runs for this install, whoever started it. Raises Unavailable."""
        with _translate_errors(kind):
            remove_labelled(self._api, f"{kind.label}={self._install}")

    def _create(self, spec: HelperSpec, *, has_stdin: bool = False) -> str:
        """Its container's name; what is left of an older one is removed."""
        kind = spec.kind
        name = f"hermit-{self._install}-{kind.name}-{spec.id}"
        remove_container(self._api, name)
        create_container(
            self._api,
            spec.image,
            sandbox_helper(spec, most_cpus=self._api.info()["NCPU"]),
            name=name,
            hostname=kind.name,
            uid=spec.uid,
            gid=spec.gid,
            labels={kind.label: self._install, HOME_LABEL: self._home},
            command=kind.program,
            has_stdin=has_stdin,
        )
        return name


class DockerLivingHelper:
    """One that lives: its stream, and what may be done with its container."""

    def __init__(self, api: docker.APIClient, name: str, spec: HelperSpec) -> None:
        """Starts it. It is attached to before, so that nothing that it says is missed."""
        # By its id from now on: one that takes its place has its name, and is none of this one's business.
        self._name = str(api.inspect_container(name)["Id"])
        self._api, self._spec = api, spec
        self._stream = Stream(api.attach_socket(name, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}))
        api.start(name)
        self._deadline = time.monotonic() + spec.time_s

    def read(self) -> bytes:
        """What its program wrote next; empty at the end."""
        return self._stream.read_stdout()

    def write(self, data: bytes) -> None:
        """Its program gets this. Raises Unavailable."""
        self._stream.write(data)

    def poll(self) -> HelperEnd | None:
        """None while it lives; one that is over its limits is stopped. Raises Unavailable."""
        with _translate_errors(self._spec.kind):
            end = _end_of(self._api, self._name, self._spec, self._deadline)
        if end is not None:
            self.stop()
        return end

    def pause(self, *, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """It gets no processor; False when that was no longer wanted before it came about. Raises Unavailable."""
        with _translate_errors(self._spec.kind):
            return pause_container(self._api, self._name, is_wanted=is_wanted)

    def resume(self) -> None:
        """It goes on. Raises Unavailable."""
        with _translate_errors(self._spec.kind):
            resume_container(self._api, self._name)

    def stop(self) -> None:
        """Its container and its stream are gone. Raises Unavailable."""
        self._stream.close()
        with _translate_errors(self._spec.kind):
            remove_container(self._api, self._name)


def _end_of(api: docker.APIClient, name: str, spec: HelperSpec, deadline: float) -> HelperEnd | None:
    """Why a helper is over, or is to be; None while it runs within its limits."""
    try:
        if not api.inspect_container(name)["State"]["Running"]:
            return HelperEnd.ENDED
    except docker.errors.NotFound:
        return HelperEnd.ENDED
    if time.monotonic() > deadline:
        return HelperEnd.TOO_LONG
    return HelperEnd.TOO_MUCH if _bytes_in(spec.brought) > spec.max_bytes else None


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


def _translate_errors(kind: HelperKind) -> contextlib.AbstractContextManager[None]:
    return translate_errors(
        silent=f"The Docker engine could not run the {kind.name} container. './hermit doctor' shows what is wrong.",
        by_status={404: f"The {kind.name} container's image is missing. Ask again: it will be rebuilt."},
    )
