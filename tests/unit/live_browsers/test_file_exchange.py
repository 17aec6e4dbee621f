"""``orchestrator.live_browsers.file_exchange``: what goes into a browser has one plain name, what comes out is one
plain file of the moment, whatever the browser put there."""

from __future__ import annotations

import io
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.core.errors import BadInput, NotFound, TooLarge
from orchestrator.engine import helper_folder
from orchestrator.engine.helpers import LIVE_BROWSER, HelperSpec
from orchestrator.live_browsers import file_exchange
from orchestrator.live_browsers.file_exchange import MAX_UPLOADS, put_upload, take_download

GUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.fixture
def spec(tmp_path: Path) -> HelperSpec:
    """A browser's folders."""
    return helper_folder.make_folder(
        tmp_path, "1", LIVE_BROWSER, "image", {}, time_s=1.0, max_bytes=1, has_sockets=True
    )


@pytest.mark.parametrize("name", ["a.txt", "ü ?*.pdf", "-rf", "x" * 200, ".hidden"])
def test_an_upload(spec: HelperSpec, name: str) -> None:
    """It lies inside under its own name, for the browser's user alone, and two of one name don't meet."""
    places = [put_upload(spec, name, io.BytesIO(content)) for content in (b"one", b"two")]
    for place, content in zip(places, (b"one", b"two"), strict=True):
        assert place.is_relative_to("/helper/in")
        assert place.name == name
        path = spec.given / place.relative_to("/helper/in")
        assert path.read_bytes() == content
        assert stat.S_IMODE(path.stat().st_mode) == 0o400
        assert path.stat().st_uid == path.parent.stat().st_uid == spec.uid


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../a", "a\0b", "x" * 201, "ü" * 101])
def test_a_name_that_is_none(spec: HelperSpec, name: str) -> None:
    """Nothing is written."""
    with pytest.raises(BadInput, match="name"):
        put_upload(spec, name, io.BytesIO(b"x"))
    assert list(spec.given.iterdir()) == []


def test_too_much_to_give(spec: HelperSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large leaves nothing; so many files and no more."""
    monkeypatch.setattr(file_exchange, "MAX_UPLOAD_BYTES", 10)
    with pytest.raises(TooLarge):
        put_upload(spec, "a", io.BytesIO(b"x" * 11))
    assert list(spec.given.iterdir()) == []
    for _ in range(MAX_UPLOADS):
        put_upload(spec, "a", io.BytesIO(b"x" * 10))
    with pytest.raises(TooLarge):
        put_upload(spec, "a", io.BytesIO(b"x"))


def test_a_download(spec: HelperSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is copied once and gone; one that is too large stays."""
    monkeypatch.setattr(file_exchange, "MAX_DOWNLOAD_BYTES", 10)
    (spec.brought / GUID).write_bytes(b"x" * 10)
    target = io.BytesIO()
    assert take_download(spec, GUID, target) == 10
    assert target.getvalue() == b"x" * 10
    assert list(spec.brought.iterdir()) == []
    (spec.brought / GUID).write_bytes(b"x" * 11)
    with pytest.raises(TooLarge):
        take_download(spec, GUID, io.BytesIO())


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def _second_name(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"secret")
    path.hardlink_to(other)


def _listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        descriptor = os.open(path.parent, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{descriptor}/{path.name}")
        os.close(descriptor)


@pytest.mark.parametrize("make", [_link, _second_name, _listen, os.mkfifo, Path.mkdir])
def test_what_is_no_download(spec: HelperSpec, make: Callable[[Path], object]) -> None:
    """A link, a file with two names, a socket, a pipe, a folder: none is opened for its content."""
    make(spec.brought / GUID)
    with pytest.raises(NotFound):
        take_download(spec, GUID, io.BytesIO())


@pytest.mark.parametrize("guid", ["", "..", "../in", "a/b", "x" * 65, GUID + "\n", "ended.json", GUID])
def test_what_no_download_is_called(spec: HelperSpec, guid: str) -> None:
    """A number as browsers give it, and one that is there."""
    with pytest.raises(NotFound):
        take_download(spec, guid, io.BytesIO())


def test_a_download_that_stays(spec: HelperSpec) -> None:
    """It is copied, and dropped later; what has no number is not touched."""
    (spec.brought / GUID).write_bytes(b"x")
    for _ in range(2):
        target = io.BytesIO()
        assert take_download(spec, GUID, target, stays=True) == 1
    (spec.given / "a").write_bytes(b"a")
    file_exchange.drop_download(spec, "../in/a")
    assert (spec.given / "a").exists()
    for _ in range(2):
        file_exchange.drop_download(spec, GUID)
        assert list(spec.brought.iterdir()) == []
