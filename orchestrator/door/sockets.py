"""Doors: one unix socket per cubicle, opened and closed while the program runs. Which socket a request came through is
who it is."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.door.bodies import ALLOWANCE, BodyAllowance
from orchestrator.door.http.server import HttpServer, Listener, ServerLimits, WsgiApp
from orchestrator.files.workspace import Workspaces

logger = logging.getLogger(__name__)

_NAME, _FRESH_NAME = _NAMES = "door.sock", ".door.new"

KEY = "hermit.cubicle"
"""Where a request's WSGI environment says whose door it came through."""

LIMITS = ServerLimits(connections=16, header_bytes=8 * 1024, body_bytes=8 * 1024 * 1024, read_s=15.0, idle_s=600.0)


def environ_of(key: CubicleKey) -> dict[str, object]:
    """What joins the WSGI environment of every request through one cubicle's door."""
    return {KEY: key, ALLOWANCE: BodyAllowance()}


class DoorSockets:
    """The open doors of this install."""

    def __init__(
        self,
        server: HttpServer,
        workspaces: Workspaces,
        app: WsgiApp,
        *,
        on_close: Callable[[CubicleKey], None] = lambda _: None,
    ) -> None:
        """``on_close`` hears of each door that was closed."""
        self._server = server
        self._workspaces = workspaces
        self._app = app
        self._on_close = on_close
        self._open: dict[CubicleKey, Listener] = {}
        self._lock = threading.Lock()  # protects _open

    def open(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """The cubicle's door answers, to its own user alone; open already is fine. Raises Unavailable."""
        with self._lock:
            if key in self._open:
                return
            try:
                listening = self._bind(key, uid, gid)
            except OSError as error:
                raise Unavailable(
                    f"The door of {key} can't be opened ({error.strerror}). HERMIT_HOME must lie on a local disk."
                ) from error
            self._open[key] = self._server.add_listener(listening, self._app, limits=LIMITS, environ=environ_of(key))

    def renew(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Another door in another folder, for a container that is about to be made: whatever still lives in an older
        one is cut off, and finds no door where it looks. Raises Unavailable or UnsafePath."""
        self.close(key)
        self._workspaces.remove_cubicle(key, tops=("run",))
        self.open(key, uid=uid, gid=gid)

    def close(self, key: CubicleKey) -> None:
        """Nobody answers at the cubicle's door any more, and it is not there; closed already is fine."""
        with self._lock:
            listener = self._open.pop(key, None)
        if listener is not None:
            self._server.remove_listener(listener)
            self.remove_stale(key)
            self._on_close(key)

    def remove_stale(self, key: CubicleKey) -> None:
        """Sockets that nobody listens at are not left lying; an open door stays."""
        with self._lock:
            if key in self._open:
                return
            try:
                with self._workspaces.run_folder(key) as folder:
                    for name in _NAMES:
                        with suppress(FileNotFoundError):
                            os.unlink(name, dir_fd=folder)
            except (OSError, OrchestratorError) as error:  # they do no harm where they lie
                logger.info("the sockets of %s could not be taken away: %s", key, error)

    def close_all(self) -> None:
        """Nobody answers anywhere."""
        for key in tuple(self._open):
            self.close(key)

    @property
    def count(self) -> int:
        """How many doors are open."""
        return len(self._open)

    def _bind(self, key: CubicleKey, uid: int, gid: int) -> socket.socket:
        with self._workspaces.run_folder(key) as folder:
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            try:
                # By way of the descriptor: socket paths end at 107 bytes, HERMIT_HOME may be longer.
                with suppress(FileNotFoundError):  # left there by a death between bind and rename
                    os.unlink(_FRESH_NAME, dir_fd=folder)
                where = f"/proc/self/fd/{folder}"
                listening.bind(f"{where}/{_FRESH_NAME}")
                os.chmod(_FRESH_NAME, 0o600, dir_fd=folder)
                if os.geteuid() == 0:
                    os.chown(_FRESH_NAME, uid, gid, dir_fd=folder)
                listening.listen(64)
                listening.setblocking(False)
                os.rename(_FRESH_NAME, _NAME, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                listening.close()
                raise
            return listening
