"""What comes over the wire, bounded: bytes, time, pace, and what becomes of them when they are packed.

The whole answer, its head too, is read through one `Wire`, so a server that dawdles in a header line runs into the
same bounds as one that never ends. Nothing the server wrote gets into an error text.
"""

from __future__ import annotations

import io
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPResponse

from orchestrator.core.errors import Stopped, TooLarge, Unavailable

MB = 1 << 20
READ_BYTES = 64 * 1024
_HEAD_BYTES = 256 * 1024
"""For the head, the lengths of chunks and whatever else surrounds the file."""
_SLICE_S = 0.25
"""How soon a stop is noticed while nothing comes."""
_GZIP = zlib.MAX_WBITS | 16
_PACKED_AS_GZIP = frozenset({"gzip", "x-gzip"})


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How much, how long, how slowly."""

    file_bytes: int = 100 * MB
    """The file as it is kept, and as it is on the wire."""
    total_s: float = 300.0
    """Everything together, redirects and look-ups too."""
    connect_s: float = 10.0
    """Each of: a name's look-up, an address's answer, its handshake."""
    silence_s: float = 30.0
    """Between two bytes."""
    pace_bytes: int = 10 * 1024
    """At least so many ..."""
    pace_window_s: float = 10.0
    """... in each span of this length."""
    redirects: int = 5


class FetchDeadline:
    """The time that is left for one fetch, and whether anybody still wants it."""

    def __init__(self, total_s: float, is_stopped: Callable[[], bool]) -> None:
        self._end = time.monotonic() + total_s
        self._total_s = total_s
        self._is_stopped = is_stopped

    def seconds_left(self) -> float:
        """Seconds. Raises Stopped, or Unavailable when there are none."""
        if self._is_stopped():
            raise Stopped("The download was stopped.")
        left = self._end - time.monotonic()
        if left <= 0:
            raise Unavailable(
                f"The download took longer than {self._total_s:,.0f} s and was given up. Try again later."
            )
        return left


class FetchConnection(io.RawIOBase):
    """The reading side of a connection, for one answer."""

    def __init__(self, sock: socket.socket, limits: FetchLimits, clock: FetchDeadline) -> None:
        super().__init__()
        self._sock = sock
        self._limits = limits
        self._clock = clock
        self.received = 0
        self._window_end: float | None = None  # a server may think before its first byte
        self._window_bytes = 0

    def makefile(self, mode: str) -> io.BufferedReader:
        """What ``http.client`` calls, as of a socket; ``mode`` is ``rb``."""
        if mode != "rb":
            raise ValueError(mode)
        return io.BufferedReader(self, READ_BYTES)

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the wider type is no use here
        """The next bytes, within all bounds."""
        count = self._receive(buffer)
        self.received += count
        if self.received > self._limits.file_bytes + _HEAD_BYTES:
            raise too_large(self._limits)
        if count:
            self._keep_pace(count)
        return count

    def _receive(self, buffer: memoryview) -> int:
        silent_until = time.monotonic() + self._limits.silence_s
        while True:
            left = min(self._clock.seconds_left(), silent_until - time.monotonic())
            if left <= 0:
                raise Unavailable("The server stopped sending in the middle. Try again later.")
            self._sock.settimeout(min(left, _SLICE_S))
            try:
                return self._sock.recv_into(buffer)
            except TimeoutError:
                continue  # the bounds above decide

    def _keep_pace(self, count: int) -> None:
        self._window_bytes += count
        now = time.monotonic()
        if self._window_end is None:
            self._window_end = now + self._limits.pace_window_s
        if now < self._window_end:
            return
        spans = 1 + (now - self._window_end) / self._limits.pace_window_s
        if self._window_bytes < self._limits.pace_bytes * spans:
            raise Unavailable("The server sends too slowly, so the download was given up. Try again later.")
        self._window_end, self._window_bytes = now + self._limits.pace_window_s, 0


def too_large(limits: FetchLimits) -> TooLarge:
    """The error for a file over the limit."""
    return TooLarge(f"The file is larger than the limit of {limits.file_bytes / MB:,.4g} MB, so nothing was kept.")


def read_unpacked(answer: HTTPResponse, limits: FetchLimits) -> Iterator[bytes]:
    """The file in pieces, gzip taken off when the server put it on. Raises when it is too large or not whole."""
    packing = (answer.getheader("Content-Encoding") or "").strip().lower()
    if packing in ("", "identity"):
        return _limit_pieces(_read_pieces(answer), limits)
    if packing in _PACKED_AS_GZIP:
        return _limit_pieces(_gunzip_pieces(_read_pieces(answer)), limits)
    raise Unavailable("The server packed the file in a way that cannot be read here.")


def _read_pieces(answer: HTTPResponse) -> Iterator[bytes]:
    while piece := answer.read(READ_BYTES):
        yield piece
    if answer.length:
        raise _cut_off()


def _limit_pieces(pieces: Iterator[bytes], limits: FetchLimits) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > limits.file_bytes:
            raise too_large(limits)
        yield piece


def _gunzip_pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Unpacks at most `READ_BYTES` at a time, so that a bomb is noticed before it is in memory."""
    packed = zlib.decompressobj(_GZIP)
    for piece in pieces:
        rest = piece
        while rest:
            if packed.eof:  # gzip may come in several members
                packed = zlib.decompressobj(_GZIP)
            try:
                plain = packed.decompress(rest, READ_BYTES)
            except zlib.error:
                raise Unavailable("The server sent a packed file that is damaged.") from None
            rest = packed.unused_data if packed.eof else packed.unconsumed_tail
            if plain:
                yield plain
    if not packed.eof:
        raise _cut_off()


def _cut_off() -> Unavailable:
    return Unavailable("The server broke off in the middle of the file. Try again.")
