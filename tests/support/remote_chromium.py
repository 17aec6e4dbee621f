"""A real headless Chromium whose debugging port is open, as a remote browser's is, behind a relay that can be cut."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.driven_browser import PROGRAM, SWITCHES

_READY_S = 30.0


class CuttableRelay:
    """Passes bytes on to a port of this machine, until it is cut."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self.lets_in = True
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Every connection breaks; whoever comes next is let in where ``lets_in``."""
        with self._lock:
            gone, self._open = self._open, set()
        for one in gone:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def close(self) -> None:
        """Nothing of it is left."""
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self.lets_in:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._to_port))
            except OSError:
                near.close()
                continue
            for one in (near, far):  # else it would wait 40 ms for each acknowledgement
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                target.sendall(piece)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def remote_chromium(site_port: int) -> Iterator[CuttableRelay]:
    """Names that end in ``.test`` lead to ``site_port``."""
    profile = Path(tempfile.mkdtemp(prefix="remote-chromium-"))
    switches = [one for one in SWITCHES if one != "--remote-debugging-pipe"]
    rules = f"--host-resolver-rules=MAP *.test 127.0.0.1:{site_port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    secure = "--unsafely-treat-insecure-origin-as-secure=http://lab.test"
    own = ["--remote-debugging-port=0", f"--user-data-dir={profile}", rules, secure, "about:blank"]
    process = subprocess.Popen(
        [PROGRAM, *switches, *own], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    relay = None
    try:
        relay = CuttableRelay(_port_of(profile))
        yield relay
    finally:
        if relay is not None:
            relay.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)


def _port_of(profile: Path) -> int:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError, IndexError):
            return int((profile / "DevToolsActivePort").read_text().splitlines()[0])
        time.sleep(0.02)
    raise AssertionError("Chromium opened no debugging port.")
