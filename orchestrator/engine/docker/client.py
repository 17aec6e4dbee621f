"""What the engine's library raises, in one sentence for a person; and removing containers, whatever happens."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import docker
import requests

from orchestrator.core.errors import Unavailable

logger = logging.getLogger(__name__)

INSTALL_LABEL, HOME_LABEL = "hermitshell.install", "hermitshell.home"
SILENT = "The Docker engine does not answer. Start it with './hermit up', or see 'docker info'."
_UNKNOWN = "The Docker engine does not answer. './hermit doctor' shows what is wrong."
_REMOVED_S, _LOOK_S = 10.0, 0.1
_PAUSED_S = 30.0


class DockerFacts:
    """What the engine behind ``client`` says of itself. Raises Unavailable."""

    def __init__(self, client: docker.DockerClient) -> None:
        self._client = client

    def version(self) -> Mapping[str, Any]:
        """Its own version and those of its parts."""
        with translate_errors(silent=_UNKNOWN):
            return dict(self._client.version())

    def info(self) -> Mapping[str, Any]:
        """How it is set up, and what it has."""
        with translate_errors(silent=_UNKNOWN):
            return dict(self._client.info())


@contextlib.contextmanager
def translate_errors(
    *, silent: str = SILENT, refused: str = "", by_status: Mapping[int, str] | None = None
) -> Iterator[None]:
    """What the library raises within becomes Unavailable, and the story goes to the log. ``silent`` is told when the
    engine does not answer, ``refused`` when it answers with an error (``silent`` too where it is empty), unless its
    HTTP status has a sentence of its own."""
    try:
        yield
    except (docker.errors.DockerException, requests.RequestException) as error:
        logger.warning("the engine failed: %s", getattr(error, "explanation", None) or error)
        if not isinstance(error, docker.errors.APIError):
            raise Unavailable(silent) from error
        raise Unavailable((by_status or {}).get(error.status_code or 0, refused or silent)) from error


def remove_container(api: docker.APIClient, name: str) -> None:
    """Nothing is left of it. Gone is success, and one that somebody is removing just now is waited for. Raises
    Unavailable, and what the library raises."""
    deadline = time.monotonic() + _REMOVED_S
    while time.monotonic() < deadline:
        try:
            api.remove_container(name, force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError as error:
            if error.status_code != 409:  # it is being removed already
                raise
            time.sleep(_LOOK_S)
        else:
            return
    raise Unavailable(f"The engine does not finish removing the container {name}. Restart Docker.")


def pause_container(api: docker.APIClient, name: str, *, is_wanted: Callable[[], bool] = lambda: True) -> bool:
    """It gets no processor; paused already is success. False when that was no longer wanted before it came about.
    Raises Unavailable, and what the library raises.

    A process has to run to stop, and the engine gives it a moment only: on a busy machine that takes several tries.
    """
    deadline = time.monotonic() + _PAUSED_S
    while True:
        try:
            api.pause(name)
        except docker.errors.APIError as error:
            said = str(error.explanation)
            if "already paused" in said:
                return True
            if "unable to freeze" not in said:
                raise
            if time.monotonic() > deadline:
                raise Unavailable("Its programs can't be paused, as this computer is too busy. Try again.") from error
            if not is_wanted():
                return False
            time.sleep(_LOOK_S)
        else:
            return True


def resume_container(api: docker.APIClient, name: str) -> None:
    """It goes on; not paused is success. Raises what the library raises."""
    try:
        api.unpause(name)
    except docker.errors.APIError as error:
        if "is not paused" not in str(error.explanation):
            raise


def remove_labelled(api: docker.APIClient, label: str) -> None:
    """No container has this label (``name=value``) any more. Raises as above."""
    for found in api.containers(all=True, filters={"label": label}):
        remove_container(api, found["Id"])
