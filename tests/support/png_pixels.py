"""The pixels of a PNG, for tests: 8 bits a channel, RGB or RGBA, not interlaced."""

from __future__ import annotations

import zlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Pixels:
    """A decoded picture."""

    width: int
    height: int
    channels: int
    rows: list[bytes]

    def at(self, x: int, y: int) -> tuple[int, int, int]:
        """Red, green and blue of a pixel."""
        red, green, blue = self.rows[y][x * self.channels : x * self.channels + 3]
        return red, green, blue


def pixels(content: bytes) -> Pixels:
    """The picture, decoded."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, header = 8, b"", b""
    while at < len(content):
        size, name = int.from_bytes(content[at : at + 4]), content[at + 4 : at + 8]
        body = content[at + 8 : at + 8 + size]
        header = body if name == b"IHDR" else header
        packed += body if name == b"IDAT" else b""
        at += size + 12
    width, height = int.from_bytes(header[:4]), int.from_bytes(header[4:8])
    depth, colour, _, _, interlace = header[8:13]
    assert (depth, colour in (2, 6), interlace) == (8, True, 0)
    channels = 3 if colour == 2 else 4
    return Pixels(width, height, channels, _rows(zlib.decompress(packed), width * channels, channels))


def _rows(raw: bytes, stride: int, step: int) -> list[bytes]:
    rows: list[bytes] = []
    above = bytes(stride)
    for at in range(0, len(raw), stride + 1):
        kind, line = raw[at], bytearray(raw[at + 1 : at + 1 + stride])
        for i in range(stride) if kind else ():
            left = line[i - step] if i >= step else 0
            corner = above[i - step] if i >= step else 0
            line[i] = (
                line[i] + (0, left, above[i], (left + above[i]) // 2, _paeth(left, above[i], corner))[kind]
            ) & 255
        above = bytes(line)
        rows.append(above)
    return rows


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    return min((abs(guess - left), 0, left), (abs(guess - above), 1, above), (abs(guess - corner), 2, corner))[2]
