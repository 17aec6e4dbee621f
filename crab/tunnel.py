"""The tunnel: carries streams of bytes between the door and servers that run in this cubicle.

A process of its own, which lives while somebody uses an app. It opens connections *outwards*, to the door, and keeps a
few of them spare; the host says on one to which port it shall lead. Looks into no stream, and connects to this machine
alone, which has no other network anyway.
"""

from __future__ import annotations

import os
import select
import socket
import time

SPARES = 3
"""Connections that wait for use; each one taken is replaced at once."""
IDLE_S = 120.0
"""Without any stream for so long the tunnel ends; the next one is started when it is wanted."""
CONNECT_S = 4.0
PIECE = 64 * 1024
_OFFER = b"POST /api/internal/streams HTTP/1.1\r\nHost: door\r\nContent-Length: 2\r\n\r\n{}"
_HOSTS = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


def main(door: str = "/run/hermit/door.sock") -> None:
    """Serves until nobody has used it for a while, or the door is closed."""
    Tunnel(door).run()


class Tunnel:
    """All streams of this cubicle, in one loop."""

    __slots__ = ("_door", "_ends", "_poll", "_spares", "_used_at")

    def __init__(self, door: str) -> None:
        self._door = door
        self._poll = select.epoll()
        self._spares: dict[int, socket.socket] = {}
        self._ends: dict[int, _End] = {}
        self._used_at = time.monotonic()

    def run(self) -> None:
        """The loop."""
        try:
            self._run_loop()
        finally:
            for spare in self._spares.values():
                spare.close()
            self._poll.close()

    def _run_loop(self) -> None:
        while self._ends or time.monotonic() - self._used_at < IDLE_S:
            if not self._keep_spares():
                return
            for number, events in self._poll.poll(5.0):
                if number in self._spares:
                    self._connect_spare(self._spares.pop(number))
                elif number in self._ends:
                    self._move_bytes(self._ends[number], events)

    def _keep_spares(self) -> bool:
        """There are enough spares; False when the door takes none."""
        while len(self._spares) < SPARES:
            spare = _offer_spare(self._door)
            if spare is None:
                return bool(self._ends)  # streams under way go on
            self._spares[spare.fileno()] = spare
            self._poll.register(spare, select.EPOLLIN)
        return True

    def _connect_spare(self, spare: socket.socket) -> None:
        """The host said which port, or closed the connection."""
        self._poll.unregister(spare)
        port = _read_port(spare)
        if port == 0:
            spare.close()
            if not self._ends:
                time.sleep(0.05)  # a door that throws spares away is not stormed
            return
        self._used_at = time.monotonic()
        server = _connect_server(port)
        try:
            spare.sendall(b"ok\n" if server else b"refused\n")
        except OSError:
            server = None
        if server is None:
            spare.close()
            return
        for one, other in ((spare, server), (server, spare)):
            one.setblocking(False)
            self._ends[one.fileno()] = _End(one, other.fileno())
            self._poll.register(one, select.EPOLLIN)

    def _move_bytes(self, end: _End, events: int) -> None:
        """Carry what is there, from this end to the other or what waits for this one."""
        other = self._ends[end.other]
        try:
            is_open = other.waiting or not events & ~select.EPOLLOUT or end.read_into(other)
            for one in (end, other):
                one.write()
        except OSError:
            is_open = False
        if not is_open:
            self._drop_streams(end, other)
            return
        self._update_events(end, other)
        self._update_events(other, end)

    def _update_events(self, end: _End, other: _End) -> None:
        """Wait for room to write, and for pieces as long as the other end keeps up. An end that is waited for in
        neither way is not looked at, as epoll reports a closed one again and again."""
        wanted = (0 if other.waiting else select.EPOLLIN) | (select.EPOLLOUT if end.waiting else 0)
        if wanted == end.wanted:
            return
        if not wanted:
            self._poll.unregister(end.socket)
        elif end.wanted:
            self._poll.modify(end.socket, wanted)
        else:
            self._poll.register(end.socket, wanted)
        end.wanted = wanted

    def _drop_streams(self, *ends: _End) -> None:
        for end in ends:
            del self._ends[end.socket.fileno()]
            if end.wanted:
                self._poll.unregister(end.socket)
            end.socket.close()
        self._used_at = time.monotonic()


class _End:
    """One end of a stream, and what waits to be written into it."""

    __slots__ = ("other", "socket", "waiting", "wanted")

    def __init__(self, one: socket.socket, other: int) -> None:
        self.socket = one
        self.other = other
        self.waiting = b""
        self.wanted = select.EPOLLIN

    def read_into(self, other: _End) -> bool:
        """Take a piece for the other end, which has taken all before it; False at the end of the stream."""
        try:
            other.waiting = self.socket.recv(PIECE)
        except BlockingIOError:
            return True
        return bool(other.waiting)

    def write(self) -> None:
        """Give what this end takes now."""
        if not self.waiting:
            return
        try:
            sent = self.socket.send(self.waiting)
        except BlockingIOError:
            return
        self.waiting = self.waiting[sent:]


def _offer_spare(door: str) -> socket.socket | None:
    """A connection that the door has taken as a spare, or None."""
    spare = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        spare.settimeout(CONNECT_S)
        spare.connect(door)
        spare.sendall(_OFFER)
        head = b""
        while not head.endswith(b"\r\n\r\n{}\n") and not head.endswith(b"\r\n\r\n{}"):
            piece = spare.recv(1)  # what comes after the answer is no longer HTTP
            if not piece or len(head) > 4096:
                spare.close()
                return None
            head += piece
    except OSError:
        spare.close()
        return None
    return spare


def _read_port(spare: socket.socket) -> int:
    """The port that the host asks for; 0 when it closed the connection."""
    said = b""
    try:
        spare.settimeout(CONNECT_S)
        while not said.endswith(b"\n") and len(said) < 20:
            piece = spare.recv(1)
            if not piece:
                return 0
            said += piece
    except OSError:
        return 0
    word, _, number = said.strip().partition(b" ")
    return int(number) if word == b"PORT" and number.isdigit() and int(number) < 65536 else 0


def _connect_server(port: int) -> socket.socket | None:
    """A connection to a server on this machine, or None when none listens."""
    for family, host in _HOSTS:
        try:
            server = socket.socket(family, socket.SOCK_STREAM)
        except OSError:
            continue  # no IPv6 here
        try:
            server.settimeout(CONNECT_S)
            server.connect((host, port))
        except OSError:
            server.close()
            continue
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return server
    return None


if __name__ == "__main__":
    os.chdir("/")
    main()
