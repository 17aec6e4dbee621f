"""Terminals: a shell in a cubicle that runs. It starts no container, and can't weaken one: what it runs has the walls
of the cubicle that it is in, is never privileged, and is the cubicle's own user, never root.

The engine leaves a shell alone inside when its client goes. So a shell is ended from the inside: a second, short
program finds and ends whatever was started in the terminal.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import docker
import requests

from orchestrator.errors import Unavailable
from orchestrator.terminals.lines import MARK, Line, Size

logger = logging.getLogger(__name__)

_INSTALL = "hermitshell.install"
_HOME = "/app/workspace/work"
_SHELL = ("/bin/bash", "--noprofile", "--norc", "-i")
"""Without the start-up files that lie in the workspace: those are the agent's."""
_PROGRAM = Path(__file__).with_name("terminals") / "inside.py"
_PIECE = 32 * 1024
_TAKES_S = 10
"""How long a shell may take nothing of what is typed."""
_HANGS_UP_S = 10.0
_SIZED_S = 3.0
_ENDS_S = 3.0
_LOOK_S = 0.05


class DockerTerminals:
    """Lays lines into the cubicles of one install."""

    def __init__(self, client: docker.DockerClient, install: str) -> None:
        self._api = client.api
        self._install = install
        self._program = _PROGRAM.read_text(encoding="utf-8")

    def open(self, container: str, size: Size, environment: Mapping[str, str]) -> Line:
        """A shell of the cubicle's own user. Raises Unavailable."""
        with _explained():
            run = self._api.exec_create(
                container,
                list(_SHELL),
                user=self._user(container),
                workdir=_HOME,
                environment=_environment(environment),
                stdin=True,
                tty=True,
                privileged=False,
            )["Id"]
            line = _DockerLine(self._api, run)
            line.resize(size)
            return line

    def hang_up(self, container: str, terminal: str = "") -> None:
        """Nothing of the terminal runs inside. Raises Unavailable when that can't be told."""
        with _explained():
            try:
                run = self._api.exec_create(
                    container,
                    ["/usr/bin/python3", "-I", "-S", "-c", self._program, f"{MARK}={terminal}"],
                    user=self._user(container),
                    privileged=False,
                )["Id"]
                self._api.exec_start(run, detach=True)
                self._await(container, run)
            except docker.errors.APIError as error:
                if error.status_code not in (404, 409) and not self._is_ending(container):
                    raise  # else it is gone or does not run, so nothing runs in there

    def _is_ending(self, container: str) -> bool:
        """It does not run, or won't in a moment: one that is being stopped refuses programs before it says so."""
        deadline = time.monotonic() + _ENDS_S
        while time.monotonic() < deadline:
            try:
                if not self._api.inspect_container(container)["State"]["Running"]:
                    return True
            except docker.errors.NotFound:
                return True
            time.sleep(_LOOK_S)
        return False

    def _await(self, container: str, run: str) -> None:
        """What answers is inside, so its word is not waited for without end."""
        deadline = time.monotonic() + _HANGS_UP_S
        while self._api.exec_inspect(run)["Running"]:
            if time.monotonic() > deadline:
                raise Unavailable(f"What was started in a terminal of {container} can't be ended. Stop the cubicle.")
            time.sleep(_LOOK_S)

    def _user(self, container: str) -> str:
        """The user that the cubicle runs as."""
        config = self._api.inspect_container(container)["Config"]
        user = str(config.get("User", ""))
        if (config.get("Labels") or {}).get(_INSTALL) != self._install:
            raise Unavailable(f"Another program's container is called {container}.")
        if not user.partition(":")[0].isdecimal() or int(user.partition(":")[0]) == 0:
            raise Unavailable("This cubicle does not say which user it runs as, so nothing was opened in it.")
        return user


class _DockerLine:
    """One shell's connection: bytes, as they come, both ways."""

    def __init__(self, api: Any, run: str) -> None:
        self._api, self._run = api, run
        raw = api.exec_start(run, tty=True, socket=True)
        self._answer = raw._response  # noqa: SLF001 - the SDK hands out half of what belongs together
        # The SDK reads the head of the answer through this reader, so what came with the head is still in it.
        self._reader = self._answer.raw._fp.fp  # noqa: SLF001 - as above
        self._socket: socket.socket = getattr(raw, "_sock", raw)
        self._socket.settimeout(None)  # a shell may be silent for as long as it likes
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", _TAKES_S, 0))

    def read(self) -> bytes:
        """The next piece; empty at the end."""
        try:
            return bytes(self._reader.read1(_PIECE))
        except (OSError, ValueError):  # ValueError: closed meanwhile
            return b""

    def write(self, data: bytes) -> None:
        """The shell gets this. Raises Unavailable."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Unavailable("The shell takes nothing more. Close this terminal and open another.") from error

    def resize(self, size: Size) -> None:
        """The window has another size. A shell that has just been asked for may not be there yet."""
        deadline = time.monotonic() + _SIZED_S
        while True:
            try:
                self._api.exec_resize(self._run, height=size.rows, width=size.columns)
            except docker.errors.APIError as error:
                if self._has_ended() or time.monotonic() > deadline:
                    logger.info("a terminal was not resized: %s", error)
                    return
                time.sleep(_LOOK_S)
            except requests.RequestException as error:
                logger.info("a terminal was not resized: %s", error)
                return
            else:
                return

    def close(self) -> None:
        """The connection ends under whatever reads it."""
        with contextlib.suppress(OSError):  # ended already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._answer.close()

    def _has_ended(self) -> bool:
        try:
            return self._api.exec_inspect(self._run).get("ExitCode") is not None
        except (docker.errors.DockerException, requests.RequestException):
            return True


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """What the shell finds, beside what the image says."""
    return {
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "USER": "hermit",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "PS1": r"\[\e[36m\]\h\[\e[0m\]:\[\e[1m\]\w\[\e[0m\]\$ ",
        "HISTFILE": "",  # what is typed stays out of the workspace
        **given,
    }


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except docker.errors.APIError as error:
        logger.warning("a terminal failed: %s", error)
        if error.status_code in (404, 409):
            raise Unavailable("The cubicle does not run any more. Open the terminal again: that starts it.") from error
        raise Unavailable(
            "The Docker engine could not open a terminal. './hermit doctor' shows what is wrong."
        ) from error
    except (docker.errors.DockerException, requests.RequestException) as error:
        logger.warning("a terminal failed: %s", error)
        raise Unavailable(
            "The Docker engine does not answer. Start it with './hermit up', or see 'docker info'."
        ) from error
