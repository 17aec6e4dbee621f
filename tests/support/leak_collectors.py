"""Somebody on the network who waits for what leaks: one TCP and one UDP port of this machine for each try, so that
it is known which try reached it even where nothing is said; and what a browser's own log tells of the names that it
looked up."""

from __future__ import annotations

import json
import re
import selectors
import socket
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Self

_ANSWER = b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_NAME = re.compile(r"([a-z0-9-]+)\.([a-z]+)\.hermit-collector\.test")


class Collectors:
    """A collector for each name, as a context."""

    def __init__(self, names: Iterable[str]) -> None:
        self.ports: dict[str, int] = {}
        self.reached: dict[str, list[str]] = {}
        """What came, by name: ``udp``, ``connection``, or the first line of what was said."""
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        self._selector.register(self._wake, selectors.EVENT_READ)
        for name in names:
            self._open(name)
        self._thread = threading.Thread(target=self._collect, name="collectors")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._waker.close()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]  # sockets, all of them
        self._selector.close()

    def _open(self, name: str) -> None:
        while True:
            tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
            tcp.bind(("127.0.0.1", 0))
            try:
                udp.bind(tcp.getsockname())
                break
            except OSError:  # taken for UDP: another one
                tcp.close()
                udp.close()
        tcp.listen()
        self.ports[name] = tcp.getsockname()[1]
        self._selector.register(tcp, selectors.EVENT_READ, (name, "listen"))
        self._selector.register(udp, selectors.EVENT_READ, (name, "udp"))

    def _collect(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return
                one = key.fileobj
                assert isinstance(one, socket.socket)
                self._heard(one, *key.data)

    def _heard(self, one: socket.socket, name: str, kind: str) -> None:
        if kind == "listen":
            came, _ = one.accept()
            self._selector.register(came, selectors.EVENT_READ, (name, "said"))
            self._note(name, "connection")
        elif kind == "udp":
            one.recvfrom(2_000)
            self._note(name, "udp")
        else:
            said = b""
            try:
                said = one.recv(4_096)
                one.sendall(_ANSWER if said else b"")
            except OSError:
                self._note(name, "reset")
            if said:
                self._note(name, said.split(b"\r\n")[0].decode("latin-1"))
            self._selector.unregister(one)
            one.close()

    def _note(self, name: str, what: str) -> None:
        self.reached.setdefault(name, []).append(what)


def names_looked_up(log: Path) -> set[tuple[str, str]]:
    """The collector's names that a browser asked the resolver for, by its own network log: ``(try, side)``."""
    read = json.loads(log.read_text(encoding="utf-8", errors="replace"))
    kinds = {number: kind for kind, number in read["constants"]["logEventTypes"].items()}
    found = set()
    for event in read["events"]:
        if kinds.get(event["type"], "").startswith("HOST_RESOLVER"):
            found |= {(name.replace("-", "_"), side) for name, side in _NAME.findall(json.dumps(event))}
    return found
