"""``orchestrator.core.strict_json``: what is read, and everything that is refused before it can do harm."""

from __future__ import annotations

import pytest

from orchestrator.core.errors import BadInput
from orchestrator.core.strict_json import MAX_DEPTH, MAX_ITEMS, read_object

REFUSED = {
    "nothing": (b"", "can't be read"),
    "no object": (b"[1]", "must be one JSON object"),
    "two objects": (b"{}{}", "can't be read"),
    "a duplicate key": (b'{"command": "ls", "command": "rm"}', "twice"),
    "a duplicate key within": (b'{"a": [{"b": 1, "b": 2}]}', "twice"),
    "NaN": (b'{"a": NaN}', "NaN is no number"),
    "infinity": (b'{"a": -Infinity}', "-Infinity is no number"),
    "a float beyond floats": (b'{"a": 1e999}', "too large"),
    "a number of 31 digits": (b'{"a": ' + b"9" * 31 + b"}", "too long"),
    "a number of 5,000 digits": (b'{"a": ' + b"9" * 5000 + b"}", "too long"),
    "too deep": (b'{"a":' * (MAX_DEPTH + 2) + b"1" + b"}" * (MAX_DEPTH + 2), "deeper"),
    "10,000 deep": (b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}", "can't be read"),
    "100,000 deep": (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "more than 20,000 values"),
    "bytes that are no text": (b'{"a": "\xff\xfe"}', "can't be read"),
    "an escaped half character": (b'{"a": "x\\ud800"}', "half a character"),
    "the other half": (b'{"a": "\\uDFFFx"}', "half a character"),
    "half a character as a key": (b'{"\\ud800": 1}', "half a character"),
    "half a character in raw bytes": (b'{"a": "\xed\xa0\x80"}', ""),
    "UTF-16": ('{"a": 1}'.encode("utf-16-le"), "can't be read"),
    "too many values": (b'{"a":[' + b"1," * MAX_ITEMS + b"1]}", "more than 20,000 values"),
    "too many lists": (b'{"a":[' + b",".join([b"[]"] * (MAX_ITEMS // 2)) + b"]}", "more than 20,000 values"),
    "too many objects": (b'{"a":[' + b",".join([b"{}"] * (MAX_ITEMS // 2)) + b"]}", "more than 20,000 values"),
    "too many keys": (b"{" + b",".join(b'"%d":0' % n for n in range(MAX_ITEMS + 1)) + b"}", "more than 20,000 values"),
    "too many texts": (b'{"a":[' + b",".join([b'""'] * (MAX_ITEMS + 1)) + b"]}", "more than 20,000 values"),
    "half a character in UTF-16": ('{"a": "'.encode("utf-16-le") + b"\x00\xd8" + '"}'.encode("utf-16-le"), ""),
}


@pytest.mark.parametrize(("body", "reason"), REFUSED.values(), ids=REFUSED)
def test_refuses(body: bytes, reason: str) -> None:
    """Each is a BadInput that says why."""
    with pytest.raises(BadInput) as refused:
        read_object(body)
    assert reason in refused.value.message


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"{}", {}),
        (b' {"a": [1, 2.5, null, true, "\\u00e9"]} ', {"a": [1, 2.5, None, True, "é"]}),
        (b'{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        ('{"a": "😀"}'.encode(), {"a": "😀"}),
        (b'{"a": "\\\\ud800"}', {"a": "\\ud800"}),
        (b'{"a": "x\\u0000y"}', {"a": "x\0y"}),
        (b'{"a": "' + b'[,{\\"' * MAX_ITEMS + b'"}', {"a": '[,{"' * MAX_ITEMS}),
        (b'{"a":[' + b"1," * (MAX_ITEMS - 3) + b"1]}", {"a": [1] * (MAX_ITEMS - 2)}),
        (b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH, None),
    ],
)
def test_reads(body: bytes, value: object) -> None:
    """Ordinary objects are read, up to the depth that is allowed."""
    assert value is None or read_object(body) == value
