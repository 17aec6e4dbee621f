"""Whether something that a server said holds one of its secrets: as it is, in base64, in hexadecimal digits or
percent-encoded. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from urllib.parse import unquote_to_bytes

_SHORTEST = 4
"""What is shorter is found everywhere."""


def find_secret(secrets: Mapping[str, str], said: Iterable[bytes]) -> str:
    """The name of a secret that is in there; empty where none is."""
    needles = [(name, _list_forms(value)) for name, value in secrets.items() if len(value) >= _SHORTEST]
    if not needles:
        return ""
    for piece in said:
        looked_at = [piece, piece.lower()]
        if b"%" in piece:
            looked_at.append(unquote_to_bytes(piece))
        for name, forms in needles:
            if any(form in text for form in forms for text in looked_at):
                return name
    return ""


def _list_forms(value: str) -> frozenset[bytes]:
    plain = value.encode("utf-8", "surrogatepass")
    found = {plain, plain.hex().encode(), json.dumps(value)[1:-1].encode()}
    for shift in range(3):
        if core := _base64_core(plain, shift):
            found |= {core, core.replace(b"+", b"-").replace(b"/", b"_")}
    return frozenset(found)


def _base64_core(plain: bytes, shift: int) -> bytes:
    """What stands for it whatever stands around it, after ``shift`` other bytes; nothing where that is too short."""
    coded = base64.b64encode(bytes(shift) + plain).rstrip(b"=")
    first = (shift * 8 + 5) // 6
    whole = (shift + len(plain)) * 8 // 6
    core = coded[first:whole]
    return core if len(core) > _SHORTEST else b""
