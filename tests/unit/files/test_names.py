"""``orchestrator.files.names``: names as data, coming in and going out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.errors import UnsafePath
from orchestrator.files.models import FilePath
from orchestrator.files.names import MOST_BYTES, add_number, display_path, parts_of, safe_name


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("", ()),
        ((), ()),
        ("out", (b"out",)),
        ("out/a b/ä.txt", (b"out", b"a b", "ä.txt".encode())),
        (b"out/\xff\xfe", (b"out", b"\xff\xfe")),
        ("out/\udcff", (b"out", b"\xff")),
        (("out", b"\xff", "..."), (b"out", b"\xff", b"...")),
        ("out/" + "n" * 255, (b"out", b"n" * 255)),
    ],
)
def test_a_path_comes_apart(path: FilePath, parts: tuple[bytes, ...]) -> None:
    """Text and bytes alike, strange names too."""
    assert parts_of(path) == parts


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "..",
        "out/../../x",
        "out/./x",
        "out//x",
        "out/",
        "out/a\0b",
        "out/" + "n" * 256,
        "out/\ud800",
        ("out", "a/b"),
        ("out", ""),
        ("out", ".."),
        ("/",),
        "x/" * 30_000 + "x",
    ],
)
def test_a_path_that_is_none_is_refused(path: FilePath) -> None:
    """With a sentence that fits on a line."""
    with pytest.raises(UnsafePath) as caught:
        parts_of(path)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 500


SAFE = [
    ("report.pdf", "report.pdf"),
    ("../../x", "x"),
    ("/etc/x", "x"),
    (b"/etc/x", "x"),
    ("C:\\Users\\ada\\photo.jpg", "photo.jpg"),
    ("folder/", "folder"),
    ("", "file"),
    (".", "file"),
    ("..", "file"),
    ("///", "file"),
    ("  .. ", "file"),
    ("\0\0", "file"),
    (".bashrc", "bashrc"),
    ("-rf", "rf"),
    ("--help .txt", "help .txt"),
    ("~root", "root"),
    ("CON", "_CON"),
    ("nul.txt", "_nul.txt"),
    ("COM1.tar.gz", "_COM1.tar.gz"),
    ("console.log", "console.log"),
    ("a\nb\r\nc.txt", "a b c.txt"),
    ("a\x1b[31m.txt", "a_[31m.txt"),
    ("photo\u202egpj.exe", "photo_gpj.exe"),
    ("zero\u200bwidth", "zero_width"),
    ("a\ud800b", "a_b"),
    ('what?<is>:"this"|*', "what__is___this___"),
    ("trailing. . ", "trailing"),
    (b"caf\xe9.txt", "caf\ufffd.txt"),
    ("日本語.txt", "日本語.txt"),
]


@pytest.mark.parametrize(("untrusted", "safe"), SAFE, ids=[ascii(row[0]) for row in SAFE])
def test_a_name_from_outside_becomes_safe(untrusted: str | bytes, safe: str) -> None:
    """Whatever comes in, a base name comes out, and it stays what it is the second time."""
    assert safe_name(untrusted) == safe
    assert safe_name(safe) == safe


@given(st.one_of(st.text(max_size=600), st.binary(max_size=600)), st.integers(2, 99))
def test_no_name_gets_out(untrusted: str | bytes, number: int) -> None:
    """Every safe name is one visible component of at most 255 bytes, also with a number."""
    for name in (safe_name(untrusted), add_number(safe_name(untrusted), str(number))):
        raw = name.encode()
        assert 0 < len(raw) <= MOST_BYTES
        assert not set(name) & set('/\\\0\n\r\x1b\u202e<>"|?*')
        assert name[0] not in ".-~ "
        assert parts_of(name) == (raw,)


@pytest.mark.parametrize(
    ("name", "with_number"),
    [
        ("report.pdf", "report-2.pdf"),
        ("file", "file-2"),
        ("a.tar.gz", "a-2.tar.gz"),
        ("n" * 255, "n" * 253 + "-2"),
        ("ä" * 125 + ".jpeg", "ä" * 124 + "-2.jpeg"),
        ("no.extension at all", "no.extension at all-2"),
    ],
)
def test_a_number_goes_before_the_extension(name: str, with_number: str) -> None:
    """And never makes a name too long, nor cuts a character in two."""
    assert add_number(name, "2") == with_number


def test_a_name_of_three_hundred_bytes_keeps_its_extension() -> None:
    """The stem gives way."""
    assert safe_name("n" * 300 + ".pdf") == "n" * 251 + ".pdf"


def test_shown_names_hide_nothing() -> None:
    """What draws nothing or turns the line around is written out, and so are bytes that are no text."""
    assert display_path(b"out", "a\u202eb\nc".encode(), b"\xff") == "out/a\\u202eb\\nc/\\xff"
