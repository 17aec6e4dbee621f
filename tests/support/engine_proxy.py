"""A wire to the engine that tests may hold up or cut, so that an engine is gone or hangs for one install alone."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
from pathlib import Path


class EngineProxy:
    """A unix socket in front of the engine's, which can be held up or cut."""

    def __init__(self, path: Path, target: str) -> None:
        self.path = path
        self._target = target
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()  # protects _open
        self._flows = threading.Event()
        self._flows.set()
        self._is_cut = False
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(64)
        threading.Thread(target=self._accept, name="wire", daemon=True).start()

    def close(self) -> None:
        """Nobody is there any more."""
        self.cut()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def join_up(self) -> None:
        """The engine is back."""
        self._is_cut = False

    def cut(self) -> None:
        """As when the engine ends: all connections break, and so does every new one."""
        self._is_cut = True
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def hold(self) -> None:
        """As when the engine hangs: connections stand, and not a byte goes through."""
        self._flows.clear()

    def let_go(self) -> None:
        """What was held goes on."""
        self._flows.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            if self._is_cut:
                near.close()
                continue
            threading.Thread(target=self._carry, args=(near,), name="wire", daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        with near, socket.socket(socket.AF_UNIX) as far, selectors.DefaultSelector() as ready:
            try:
                far.connect(self._target)
            except OSError:
                return  # the engine is down, which whoever called sees by the end of the connection
            with self._lock:
                self._open |= {near, far}
            for one, other in ((near, far), (far, near)):
                ready.register(one, selectors.EVENT_READ, other)
            with contextlib.suppress(OSError):
                while self._carry_once(ready):
                    pass
            with self._lock:
                self._open -= {near, far}

    def _carry_once(self, ready: selectors.BaseSelector) -> bool:
        for key, _ in ready.select():
            self._flows.wait()
            data = os.read(key.fd, 65536)
            if not data:
                return False
            key.data.sendall(data)
        return True
