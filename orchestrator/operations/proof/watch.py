"""What the host lays out for a proof and listens to, so that it knows by itself whether something got through: a port
at which a word may arrive, files with secret words that nobody inside may know, a thread under a secret name, and the
fingerprints of the real keys. All of it is there for the seconds of one proof.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
import selectors
import shutil
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from orchestrator.core.models import CubicleLimits

logger = logging.getLogger(__name__)

PREFIX = "hp-"
_NOWHERE = ("192.0.2.1", 9)
"""An address for examples, to which nothing is sent: asking the way there tells our own address."""
_MOST_HEARD, _MOST_BYTES = 200, 64
_WORD_S, _ECHO_S, _LOOK_S = 0.5, 2.0, 0.2


class EscapeWatch:
    """Around one proof. ``given`` is what the program inside is told, ``has_come`` what the host has seen."""

    def __init__(self, folder: Path, keys: Iterable[str], *, doors: Path, address: str) -> None:
        """``folder`` is made and removed; ``keys`` are the real ones, of which fingerprints are kept alone; ``address``
        is this computer's, or empty."""
        self._folder, self._doors, self._address = folder, doors, address
        self._fingerprints = {hashlib.sha256(key.encode()).hexdigest() for key in keys if len(key) >= 8}
        self._word, self._read_word, self._key_word = (secrets.token_hex(16) for _ in range(3))
        self._name = PREFIX + secrets.token_hex(6)
        self._ears: _Ears | None = None
        self._is_named = False

    def __enter__(self) -> Self:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(mode=0o700)
        for name, word in (("another-agents-file", self._read_word), ("settings.env", f"sk-proof-{self._key_word}")):
            path = self._folder / name
            path.touch(mode=0o600)
            path.write_text(word, encoding="ascii")
        with contextlib.suppress(OSError):
            self._ears = _Ears(self._word, self._name, self._address)
        return self

    def __exit__(self, *_: object) -> None:
        if self._ears is not None:
            self._ears.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def given(self, limits: CubicleLimits, *, other: int | None) -> dict[str, Any]:
        """What an attempt needs to know; ``other`` is a turn of somebody else's cubicle, where there is one."""
        ears = self._ears
        return {
            "word": self._word,
            "addresses": [] if ears is None else ears.addresses,
            "port": 9 if ears is None else ears.port,
            "udp_port": 9 if ears is None else ears.udp_port,
            "bait": str(self._folder / "another-agents-file"),
            "key_bait": str(self._folder / "settings.env"),
            "prefix": PREFIX,
            "doors": str(self._doors),
            "other": other,
            "pids": limits.pids,
            "file_bytes": limits.disk_mb << 20,
        }

    def has_come(self, attempt: str, brought: Iterable[str]) -> bool | None:
        """Whether the host knows that this attempt got through; None where it can't tell."""
        got = set(brought)
        if attempt in ("machine", "name"):
            return None if self._ears is None else self._ears.has_heard(attempt)
        if attempt == "files":
            return self._read_word in got
        if attempt == "key":
            return f"sk-proof-{self._key_word}" in got or bool(got & self._fingerprints)
        if attempt == "programs":
            return None if self._ears is None or not self._ears.is_named else self._name in got
        return None


class _Ears:
    """Ports on this computer that are open for the moment, and what was heard there. One thread."""

    def __init__(self, word: str, name: str, address: str) -> None:
        """Raises OSError."""
        self._words = {word.encode()}
        self._heard: set[tuple[str, bytes]] = set()
        self._told = threading.Condition()  # protects _heard
        self._count = 0
        self._begun, self._closing = threading.Event(), threading.Event()
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        self.is_named = False
        """The thread carries the secret name."""
        loopback = self._listen("127.0.0.1", 0, 0)
        self.port, self.udp_port = loopback
        self.addresses: list[str] = []
        if address:
            with contextlib.suppress(OSError):  # somebody has the same port there: this computer is heard on loopback
                self._listen(address, self.port, self.udp_port)
                self.addresses.append(address)
        self._thread = threading.Thread(target=self._keep_hearing, args=(name,), name="proof", daemon=True)
        self._thread.start()
        self._begun.wait(_ECHO_S)

    def has_heard(self, attempt: str) -> bool | None:
        """The word has arrived; None where we don't even hear ourselves. What came before our own word has been heard
        by the time that it is, as each port is read in order."""
        kind = "tcp" if attempt == "machine" else "udp"
        for address in ("127.0.0.1", *self.addresses):
            if not self._hears_itself(kind, address):
                return None
        with self._told:
            return any((kind, word) in self._heard for word in self._words)

    def close(self) -> None:
        """Nothing is open any more."""
        self._closing.set()
        self._thread.join(_ECHO_S)
        self._selector.close()
        for each in self._sockets:
            each.close()

    def _listen(self, address: str, port: int, udp_port: int) -> tuple[int, int]:
        found = []
        for kind, wanted in ((socket.SOCK_STREAM, port), (socket.SOCK_DGRAM, udp_port)):
            ear = socket.socket(socket.AF_INET, kind)
            self._sockets.append(ear)
            ear.setblocking(False)
            ear.bind((address, wanted))
            if kind == socket.SOCK_STREAM:
                ear.listen(16)
            self._selector.register(ear, selectors.EVENT_READ)
            found.append(int(ear.getsockname()[1]))
        return found[0], found[1]

    def _hears_itself(self, kind: str, address: str) -> bool:
        word = secrets.token_hex(16).encode()
        way = socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM
        try:
            with socket.socket(socket.AF_INET, way) as mouth:
                mouth.settimeout(_WORD_S)
                mouth.connect((address, self.port if kind == "tcp" else self.udp_port))
                mouth.sendall(word)
        except OSError:
            return False
        with self._told:
            return self._told.wait_for(lambda: (kind, word) in self._heard, _ECHO_S)

    def _keep_hearing(self, name: str) -> None:
        with contextlib.suppress(OSError):
            Path("/proc/thread-self/comm").write_text(name, encoding="ascii")
            self.is_named = True
        self._begun.set()
        while not self._closing.is_set():
            for ready, _ in self._selector.select(_LOOK_S):
                with contextlib.suppress(OSError):
                    self._hear(ready.fileobj)

    def _hear(self, ear: Any) -> None:
        if ear.type == socket.SOCK_DGRAM:
            self._note("udp", ear.recv(_MOST_BYTES))
            return
        caller, _ = ear.accept()
        with caller:
            self._note("tcp", _read_word(caller))

    def _note(self, kind: str, word: bytes) -> None:
        with self._told:
            self._count += 1
            if self._count <= _MOST_HEARD or word in self._words:
                self._heard.add((kind, word))
            self._told.notify_all()


def _read_word(caller: socket.socket) -> bytes:
    deadline, word = time.monotonic() + _WORD_S, b""
    while len(word) < _MOST_BYTES:
        caller.settimeout(max(0.01, deadline - time.monotonic()))
        piece = caller.recv(_MOST_BYTES - len(word))
        if not piece:
            break
        word += piece
    return word


def find_address() -> str:
    """The address that this computer has towards others; empty where it has none. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_NOWHERE)
        except OSError:
            return ""
        return str(probe.getsockname()[0])
