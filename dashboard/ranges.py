"""Parts of a file, as audio and video are asked for (RFC 9110, 14): one range at a time. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_BYTES = 4 << 20
"""Of one answer to a range: a player asks on, and keeps no connection while it has enough."""
_ONE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


class ByteRange(NamedTuple):
    """What is sent of a file."""

    start: int
    length: int


def parse_range(header: str, size_bytes: int) -> ByteRange | None:
    """What is asked for by a ``Range`` header; None where all of the file is to be sent. Raises ValueError for a range
    that lies outside of it."""
    found = _ONE.fullmatch(header.strip())
    if found is None or not (found[1] or found[2]):
        return None
    if found[1]:
        start = int(found[1])
        end = min(int(found[2]) if found[2] else size_bytes - 1, size_bytes - 1)
        if found[2] and int(found[2]) < start:
            return None
    else:
        start, end = max(0, size_bytes - int(found[2])), size_bytes - 1
    if start >= size_bytes or end < start:
        raise ValueError(header)
    return ByteRange(start, min(end - start + 1, MOST_BYTES))
