"""The server name in a TLS client's greeting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.gate.client_hello import MAX_HELLO_BYTES, NotTls, read_server_name
from tests.support.gate_fixture import client_hello

HELLO = client_hello("files.example")


def name_extension(*names: bytes, kind: int = 0) -> bytes:
    """A server-name extension of these names."""
    listed = b"".join(bytes([kind]) + len(name).to_bytes(2, "big") + name for name in names)
    content = len(listed).to_bytes(2, "big") + listed
    return b"\0\0" + len(content).to_bytes(2, "big") + content


def hello(*extensions: bytes, record: int = 1 << 14) -> bytes:
    """A greeting with these extensions, in records of this size."""
    joined = b"".join(extensions)
    body = b"\x03\x03" + b"r" * 32 + b"\0" + b"\0\x02\x13\x01" + b"\x01\0" + len(joined).to_bytes(2, "big") + joined
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    pieces = [message[at : at + record] for at in range(0, len(message), record)]
    return b"".join(b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece for piece in pieces)


@given(st.integers(0, len(HELLO)))
def test_a_greeting_may_come_in_pieces(cut: int) -> None:
    """Nothing is known before all of it is there, and then its name is."""
    found = read_server_name(HELLO[:cut])
    assert found == ("files.example" if cut == len(HELLO) else None)


@given(st.integers(1, 60))
def test_a_greeting_may_be_spread_over_records(size: int) -> None:
    """However small they are."""
    data = hello(b"\0\x17\0\0", name_extension(b"Files.Example"), record=size)
    assert read_server_name(data) == "files.example"
    assert read_server_name(data[:-1]) is None


@given(st.binary(max_size=400) | st.binary(max_size=300).map(lambda tail: HELLO[:40] + tail))
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    """Without another error."""
    try:
        found = read_server_name(data)
    except NotTls:
        return
    assert found is None or (found.isascii() and found == found.lower())


@pytest.mark.parametrize(
    "data",
    [
        hello(name_extension(b"a.example"), name_extension(b"b.example")),
        hello(name_extension(b"a.example", b"b.example")),
        hello(name_extension(b"a.example", kind=1)),
        hello(name_extension(b"")),
        hello(name_extension(b"\xc3\xa9.example")),
        hello(name_extension(b"a.example") + b"\0"),
        b"\x16\x02\x00\x00\x05",
        b"\x16\x03\x01\x00\x00",
        b"\x15\x03\x01\x00\x02\x01\x00",
        b"GET / HTTP/1.1\r\n",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
    ],
)
def test_what_is_refused(data: bytes) -> None:
    """Two names, no name, no greeting."""
    with pytest.raises(NotTls):
        read_server_name(data)


def test_a_greeting_has_an_end() -> None:
    """One that grows is refused before it fills memory."""
    record = b"\x16\x03\x01\x00\x01\x01" + b"\x16\x03\x01\x00\x03\x00\xff\xff"
    with pytest.raises(NotTls):
        read_server_name(record + b"\x16\x03\x01\x40\x00" + b"x" * (1 << 14) + b"\x16" * MAX_HELLO_BYTES)


def test_no_name_is_told_from_no_greeting() -> None:
    """A client that names no server gives an empty name."""
    assert read_server_name(client_hello(None)) == ""
    assert read_server_name(b"") is None
