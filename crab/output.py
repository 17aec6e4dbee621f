"""What a command printed, within bounds: the beginning and the end are kept, the middle is counted.

Owns the shortening of texts for the model, by bytes and by characters. Pure memory; reads and writes no file.
"""

from __future__ import annotations


class Output:
    """Bytes as they arrive. Memory stays under twice the limit however much comes."""

    __slots__ = ("_head", "_head_bytes", "_tail", "_tail_bytes", "total")

    def __init__(self, limit_bytes: int) -> None:
        self._head_bytes = limit_bytes // 2
        self._tail_bytes = limit_bytes - self._head_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add_bytes(self, chunk: bytes) -> None:
        """Takes what was read from the pipe."""
        self.total += len(chunk)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk[-self._tail_bytes :]
        if len(self._tail) > self._tail_bytes:
            del self._tail[: -self._tail_bytes]

    def get_text(self) -> tuple[str, int]:
        """The output as text, with a note where bytes were left out, and how many were."""
        omitted = self.total - len(self._head) - len(self._tail)
        if not omitted:
            return _decode_bytes(self._head + self._tail), 0
        head, tail = _without_half_end(self._head), _without_half_start(self._tail)
        omitted = self.total - len(head) - len(tail)
        return f"{_decode_bytes(head)}\n[… {omitted} bytes omitted …]\n{_decode_bytes(tail)}", omitted


def shorten(text: str, limit: int) -> str:
    """``text`` itself, or its beginning and end with a note of what is missing in between."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters omitted …]\n{text[-half:]}"


def _decode_bytes(raw: bytes | bytearray) -> str:
    return raw.decode("utf-8", "replace").replace("\0", "\ufffd")


def _without_half_end(raw: bytearray) -> bytearray:
    """Drops the beginning of a UTF-8 character that the limit cut in two."""
    for back in range(1, min(4, len(raw)) + 1):
        byte = raw[-back]
        if byte & 0xC0 == 0x80:
            continue
        width = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return raw[:-back] if width > back else raw
    return raw


def _without_half_start(raw: bytearray) -> bytearray:
    """Drops the rest of a UTF-8 character that the limit cut in two."""
    start = 0
    while start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    return raw[start:]
