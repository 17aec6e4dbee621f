"""Sound and video of a workspace: what is played, in pieces, and with which walls around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from werkzeug.test import TestResponse

from dashboard.headers import HELD
from dashboard.pages.media import MOST_AT_ONCE
from dashboard.transfers import MOST
from tests.support.app_fixture import AppFixture
from tests.support.workspace_api import prepared
from tests.unit.conftest import Browser

WAV = b"RIFF\x24\0\0\0WAVEfmt " + bytes(range(256)) * 4
MP4 = b"\0\0\0\x20ftypisom" + b"\0" * 400


@pytest.fixture
def out(webapp: AppFixture) -> Path:
    """What the operator's crab made."""
    return prepared(webapp, 1) / "out"


def play(browser: Browser, name: str, **headers: str) -> TestResponse:
    """What a player gets."""
    return browser.client.get(f"/agents/crab/media/out/{name}", headers=headers, buffered=True)


def test_a_player_on_the_page_of_what_is_played(browser: Browser, out: Path) -> None:
    """By its bytes, whatever it is called; media is loaded from us alone."""
    (out / "a.txt").write_bytes(WAV)
    (out / "film").write_bytes(MP4)
    (out / "b.wav").write_text("only a name")
    pages = {name: browser.client.get(f"/agents/crab/files/out/{name}") for name in ("a.txt", "film", "b.wav")}
    assert '<audio class="player" src="/agents/crab/media/out/a.txt" controls' in pages["a.txt"].get_data(as_text=True)
    assert '<video class="player" src="/agents/crab/media/out/film" controls' in pages["film"].get_data(as_text=True)
    policies = {name: answer.headers["Content-Security-Policy"] for name, answer in pages.items()}
    assert policies["a.txt"] == policies["film"] == policies["b.wav"]
    assert "; media-src 'self';" in policies["a.txt"]


@pytest.mark.parametrize(
    ("asked", "status", "piece"),
    [
        ("", 200, (0, len(WAV))),
        ("bytes=0-", 206, (0, len(WAV))),
        ("bytes=10-19", 206, (10, 20)),
        ("bytes=1000-99999", 206, (1000, len(WAV))),
        ("bytes=-5", 206, (len(WAV) - 5, len(WAV))),
        ("bytes=9999-", 416, (0, 0)),
        ("bytes=20-10", 200, (0, len(WAV))),
        ("lines=1-2", 200, (0, len(WAV))),
    ],
)
def test_it_comes_in_pieces(browser: Browser, out: Path, asked: str, status: int, piece: tuple[int, int]) -> None:
    """As they are asked for; in a sandbox, of one type, kept by nobody."""
    (out / "a.wav").write_bytes(WAV)
    begin, end = piece
    answer = play(browser, "a.wav", **({"Range": asked} if asked else {}))
    assert (answer.status_code, answer.data) == (status, WAV[begin:end])
    assert answer.headers["Content-Type"] == "audio/wav"
    assert answer.headers["Content-Security-Policy"] == HELD
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Accept-Ranges"] == "bytes"
    if status == 206:
        assert answer.headers["Content-Range"] == f"bytes {begin}-{end - 1}/{len(WAV)}"


def test_a_piece_is_no_film(browser: Browser, out: Path) -> None:
    """So much at a time; what is asked for again and again holds no place among the transfers."""
    with (out / "film.mp4").open("wb") as file:
        file.write(MP4)
        file.truncate(3 * MOST_AT_ONCE)
    for _ in range(MOST + 1):
        answer = play(browser, "film.mp4", Range="bytes=5-")
        assert len(answer.data) == MOST_AT_ONCE


def test_what_is_not_played(browser: Browser, out: Path, tmp_path: Path) -> None:
    """Text, pages, pictures, links: not found."""
    (tmp_path / "sound.wav").write_bytes(WAV)
    (out / "page.mp4").write_text("<script>alert(1)</script>")
    (out / "link.wav").symlink_to(tmp_path / "sound.wav")
    (out / "png.wav").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 40)
    for name in ("page.mp4", "link.wav", "png.wav", "none.wav"):
        assert play(browser, name).status_code == 404
