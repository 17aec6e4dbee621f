"""Programs and terminals in a cubicle that runs. It starts no container, and can't weaken one: what it runs has the
walls of the cubicle that it is in, and is the cubicle's own user, never root.

The engine leaves a shell alone inside when its client goes. So a shell is ended from the inside: a second, short
program finds and ends whatever was started in the terminal.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import docker
import requests

from orchestrator.core.errors import Unavailable
from orchestrator.engine.docker.client import INSTALL_LABEL, translate_errors
from orchestrator.engine.docker.hardening import create_exec
from orchestrator.engine.docker.stream import Stream
from orchestrator.engine.tty import MARK, Size, Tty

logger = logging.getLogger(__name__)

_HOME = "/app/workspace/work"
_SHELL = ("/bin/bash", "--noprofile", "--norc", "-i")
"""Without the start-up files that lie in the workspace: those are the agent's."""
_KILL_SESSION = Path(__file__).parents[1] / "kill_session.py"
_HANGS_UP_S = 10.0
_SIZED_S = 3.0
_ENDS_S = 3.0
_LOOK_S = 0.05
_GONE = "The cubicle does not run any more. Open the terminal again: that starts it."
_NOT_OPENED = "The Docker engine could not open a terminal. './hermit doctor' shows what is wrong."
_RUNS_NOTHING = "The engine started a cubicle but could run nothing in it. Look at the engine's log."


class DockerExec:
    """Runs programs in the cubicles of one install."""

    def __init__(self, client: docker.DockerClient, install: str) -> None:
        self._api = client.api
        self._install = install
        self._kill_session = _KILL_SESSION.read_text(encoding="utf-8")

    def run_program(
        self, container: str, command: tuple[str, ...], *, within_s: float = 60.0, most_bytes: int = 1 << 20
    ) -> bytes:
        """What it printed; see the protocol. Raises Unavailable."""
        with translate_errors(silent=_RUNS_NOTHING):
            run = create_exec(self._api, container, command, environment={"HOME": "/nonexistent"})
            stream = Stream(self._api.exec_start(run, socket=True))
        late = threading.Timer(within_s, stream.close)
        late.daemon = True
        late.start()
        output = b""
        try:
            while len(output) < most_bytes and (piece := stream.read_stdout()):
                output += piece
        finally:
            late.cancel()
            stream.close()
        return output[:most_bytes]

    def open_terminal(self, container: str, size: Size, environment: Mapping[str, str]) -> Tty:
        """A shell of the cubicle's own user. Raises Unavailable."""
        with _translate_errors():
            run = create_exec(
                self._api,
                container,
                _SHELL,
                user=self._user(container),
                workdir=_HOME,
                environment=_shell_environment(environment),
                stdin=True,
                tty=True,
            )
            tty = DockerTty(self._api, run)
            tty.resize(size)
            return tty

    def end_terminals(self, container: str, terminal: str = "") -> None:
        """Nothing of the terminal runs inside. Raises Unavailable when that can't be told."""
        program = ("/usr/bin/python3", "-I", "-S", "-c", self._kill_session, f"{MARK}={terminal}")
        with _translate_errors():
            try:
                run = create_exec(self._api, container, program, user=self._user(container))
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
        if (config.get("Labels") or {}).get(INSTALL_LABEL) != self._install:
            raise Unavailable(f"Another program's container is called {container}.")
        if not user.partition(":")[0].isdecimal() or int(user.partition(":")[0]) == 0:
            raise Unavailable("This cubicle does not say which user it runs as, so nothing was opened in it.")
        return user


class DockerTty(Stream):
    """One shell's terminal."""

    def __init__(self, api: docker.APIClient, run: str) -> None:
        super().__init__(api.exec_start(run, tty=True, socket=True))
        self._api, self._run = api, run

    def write(self, data: bytes) -> None:
        """The shell gets this. Raises Unavailable."""
        try:
            super().write(data)
        except Unavailable as error:
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

    def _has_ended(self) -> bool:
        try:
            return self._api.exec_inspect(self._run).get("ExitCode") is not None
        except (docker.errors.DockerException, requests.RequestException):
            return True


def _shell_environment(given: Mapping[str, str]) -> dict[str, str]:
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


def _translate_errors() -> contextlib.AbstractContextManager[None]:
    return translate_errors(refused=_NOT_OPENED, by_status={404: _GONE, 409: _GONE})
