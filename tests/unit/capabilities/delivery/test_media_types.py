"""``orchestrator.capabilities.delivery.media_types``: what a file is by its beginning and its name."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.capabilities.delivery.media_types import HEAD_BYTES, PHOTO_BYTES, judge_file, size_of_image
from orchestrator.files.magic import content_of


def png(width: int = 100, height: int = 100) -> bytes:
    """The beginning of a PNG."""
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\0\0\0"


def jpeg(width: int = 100, height: int = 100, *, before: bytes = b"") -> bytes:
    """The beginning of a JPEG."""
    return b"\xff\xd8" + before + b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + b"\x03" * 10


def webp(form: bytes, rest: bytes) -> bytes:
    """The beginning of a WebP."""
    return b"RIFF\x00\x10\x00\x00WEBP" + form + b"\x00\x01\x00\x00" + rest


GIF = b"GIF89a" + struct.pack("<HH", 100, 50) + b"\0" * 10
EXIF = b"\xff\xe1" + struct.pack(">H", 5000) + b"\0" * 4998
OPUS = b"OggS\x00\x02" + b"\0" * 22 + b"OpusHead\x01"
MP4 = b"\0\0\0\x18ftypisom\0\0\0\0"
M4A = b"\0\0\0\x18ftypM4A \0\0\0\0"
ELF = b"\x7fELF" + b"\0" * 100
PE = b"MZ" + b"\0" * 100


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a.png", png(), "photo"),
        ("a.PNG", png(), "photo"),
        ("a.jpg", jpeg(), "photo"),
        ("a.jpeg", jpeg(before=EXIF), "photo"),
        ("a.webp", webp(b"VP8X", b"\0" * 4 + b"\x63\0\0" + b"\x63\0\0"), "photo"),
        ("a.webp", webp(b"VP8L", b"\x2f" + struct.pack("<I", 99 | 99 << 14)), "photo"),
        ("a.webp", webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 100, 100)), "photo"),
        ("image", png(), "photo"),
        ("a.gif", GIF, "animation"),
        ("a.mp4", MP4, "video"),
        ("a.m4v", MP4, "video"),
        ("a.m4a", M4A, "audio"),
        ("a.mp3", b"ID3\x04" + b"\0" * 20, "audio"),
        ("a.mp3", b"\xff\xfb\x90\x00" + b"\0" * 20, "audio"),
        ("a.ogg", OPUS, "voice"),
        ("a.opus", OPUS, "voice"),
        ("a.oga", OPUS, "voice"),
        ("a.ogg", b"OggS\x00\x02" + b"\0" * 22 + b"\x01vorbis", "document"),
        ("a.wav", b"RIFF\0\0\0\0WAVEfmt ", "document"),
        ("a.webm", b"\x1aE\xdf\xa3" + b"\0" * 20, "document"),
        ("a.pdf", b"%PDF-1.7\n", "document"),
        ("a.txt", b"hello", "document"),
        ("a.zip", b"PK\x03\x04", "document"),
        ("a.docx", b"PK\x03\x04", "document"),
        ("a.csv", b"a,b\n", "document"),
        ("a.html", b"<!doctype html>", "document"),
        ("a.svg", b"<svg>", "document"),
        ("program", ELF, "document"),
        ("setup.exe", PE, "document"),
        ("archive.tar.gz", b"\x1f\x8b", "document"),
        ("data.csv.zip", b"PK\x03\x04", "document"),
        ("v1.2.png", png(), "photo"),
        ("empty.txt", b"", "document"),
        ("a.bin", png(), "document"),
    ],
)
def test_the_kind_of_an_honest_file(name: str, head: bytes, kind: str) -> None:
    """No warning with it."""
    assert judge_file(name.encode(), head, len(head)) == (kind, "")


@pytest.mark.parametrize(
    ("width", "height", "size", "kind"),
    [
        (5000, 5000, 100, "photo"),
        (5001, 5000, 100, "document"),
        (50_000, 50_000, 100, "document"),
        (2**31, 2**31, 100, "document"),
        (2000, 100, 100, "photo"),
        (2001, 100, 100, "document"),
        (100, 2001, 100, "document"),
        (0, 100, 100, "document"),
        (100, 100, PHOTO_BYTES, "photo"),
        (100, 100, PHOTO_BYTES + 1, "document"),
    ],
)
def test_a_photo_must_fit(width: int, height: int, size: int, kind: str) -> None:
    """By what its header says; nothing is decoded."""
    assert judge_file(b"a.png", png(width, height), size).kind == kind


@pytest.mark.parametrize(
    ("name", "head", "words"),
    [
        (b"photo.png", PE, "called .png but is a program"),
        (b"photo.jpg", b"<html>", "called .jpg but is a web page"),
        (b"photo.jpg", png(), "called .jpg but is a PNG"),
        (b"report.pdf", ELF, "called .pdf but is a program"),
        (b"report.pdf", b"hello", "something else"),
        (b"notes.txt", PE, "called .txt but is a program"),
        (b"table.csv", ELF, "is a program"),
        (b"invoice.pdf.exe", PE, "looks like .pdf but is .exe"),
        (b"photo.jpg.html", b"<html>", "looks like .jpg but is .html"),
        (b"x.docx.js", b"", "looks like .docx but is .js"),
        ("gpj\u202eexe.png".encode(), png(), "hide or reorder"),
        ("a\u200b.png".encode(), png(), "hide or reorder"),
        (b"a\n.png", png(), "hide or reorder"),
    ],
)
def test_what_is_disguised_is_a_document_with_a_warning(name: bytes, head: bytes, words: str) -> None:
    """In one line that can be shown."""
    kind, warning = judge_file(name, head, len(head))
    assert kind == "document"
    assert words in warning
    assert warning.isprintable()


@given(st.binary(max_size=300), st.binary(max_size=64))
def test_no_bytes_break_it(name: bytes, rest: bytes) -> None:
    """Whatever begins like an image and goes on like none."""
    for start in (
        b"",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"GIF89a",
        b"RIFF\0\0\0\0WEBPVP8X",
        b"RIFF\0\0\0\0WEBPVP8L",
    ):
        head = start + rest
        judge_file(name, head, len(head))
        size_of_image(content_of(head), head)


def test_a_jpeg_without_an_end_is_walked_once() -> None:
    """Fill bytes and empty segments lead nowhere, soon."""
    for filler in (b"\xff", b"\xff\xe0\x00\x00", b"\xff\x01"):
        head = (b"\xff\xd8\xff" + filler * HEAD_BYTES)[:HEAD_BYTES]
        assert size_of_image("jpeg", head) is None
