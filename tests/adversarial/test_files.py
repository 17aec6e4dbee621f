"""Files between a person and a hostile agent, over real HTTP: what is swapped, faked, grown or broken off at the worst
moment. A canary stands for whatever of the host must never be sent."""

from __future__ import annotations

import io
import itertools
import os
import re
import socket
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import requests

from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import API_TOKEN, AppFixture, run_app
from tests.support.meanwhile import meanwhile

CANARY = b"canary-that-must-not-appear"
HARMLESS = b"the agent's own" * 1000
RACE_S = 3.0
LARGE = 300 << 20
GROWTH = 100 << 20
PATIENCE_S = 10.0
QUIET_S = 0.3


@dataclass
class Fixture:
    """The operator at the API of an install, and the agent at the folders."""

    install: AppFixture
    workspace: Path
    secret: Path
    session: requests.Session

    def get(self, path: str) -> requests.Response:
        """A download, whole."""
        return self.session.get(f"{self.install.url}/api/agents/crab/files/{path}", timeout=60)

    def put(self, name: str, content: object) -> requests.Response:
        """An upload."""
        url = f"{self.install.url}/api/agents/crab/files/in/{name}"
        return self.session.put(url, data=content, timeout=60)  # type: ignore[arg-type]  # an iterable with a length

    def begin_upload(self, length: int, sent: bytes) -> socket.socket:
        """An upload that stops somewhere."""
        where = urlsplit(self.install.url)
        client = socket.create_connection((where.hostname or "", where.port or 0), timeout=PATIENCE_S)
        head = f"PUT /api/agents/crab/files/in/x HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {API_TOKEN}"
        client.sendall(f"{head}\r\nContent-Length: {length}\r\n\r\n".encode() + sent)
        return client


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """An install with a canary beside it."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "file").write_bytes(CANARY)
    with run_app(tmp_path / "home") as install, requests.Session() as session:
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {API_TOKEN}"
        key = CubicleKey("crab", 1)
        mounts = install.services.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
        yield Fixture(install, mounts.out.parent, secret, session)


def swapper(folder: Path, secret: Path) -> list[Callable[[], None]]:
    """A file, and a folder on the way to one, that are links to the canary every other moment."""
    (folder / "dir-real").mkdir()
    (folder / "dir-real" / "file").write_bytes(HARMLESS)
    numbers = itertools.count()

    def swap_file() -> None:
        fresh = folder / f".f{next(numbers)}"
        fresh.symlink_to(secret / "file") if next(numbers) % 4 < 2 else fresh.write_bytes(HARMLESS)
        fresh.replace(folder / "file")

    def swap_folder() -> None:
        (folder / "dir").unlink(missing_ok=True)
        (folder / "dir").symlink_to(secret)
        (folder / "dir").unlink()
        (folder / "dir-real").rename(folder / "dir")
        (folder / "dir").rename(folder / "dir-real")

    return [swap_file, swap_folder]


def test_a_swap_between_look_and_open_shows_nothing(fixture: Fixture) -> None:
    """File and parent folder become links and files again all the time: downloads are the agent's bytes or nothing."""
    seen: Counter[int] = Counter()
    with meanwhile(*swapper(fixture.workspace / "out", fixture.secret)):
        end = time.monotonic() + RACE_S
        while time.monotonic() < end:
            for path in ("out/file", "out/dir/file", "out/dir-real/file", "out/file?inline=1"):
                answer = fixture.get(path)
                seen[answer.status_code] += 1
                assert CANARY not in answer.content
                assert answer.status_code in (200, 404, 409)
                assert answer.status_code != 200 or answer.content == HARMLESS
    assert seen[200]
    assert seen[404]


def test_a_swap_during_packing_packs_nothing_else(fixture: Fixture) -> None:
    """Each archive is whole, and in none of its entries is what the links led to."""
    packed = 0
    with meanwhile(*swapper(fixture.workspace / "out", fixture.secret)):
        end = time.monotonic() + RACE_S
        while time.monotonic() < end:
            for path in ("out?zip=1", "?zip=1", "out/dir?zip=1"):
                answer = fixture.get(path)
                if answer.status_code == 404:
                    continue
                with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
                    contents = [archive.read(name) for name in archive.namelist()]
                assert all(CANARY not in content for content in contents)
                packed += HARMLESS in contents
    assert packed


def test_a_file_that_grows_or_shrinks_is_sent_as_one_moment_or_not_at_all(fixture: Fixture) -> None:
    """The length that was said is the length that comes, and 409 says that it is being written."""
    path = fixture.workspace / "out" / "log"
    path.write_bytes(b"")

    def write() -> None:
        with path.open("ab") as file:
            file.write(b"x" * 100_000)
        if path.stat().st_size > 5_000_000:
            path.write_bytes(b"")

    with meanwhile(write):
        end = time.monotonic() + RACE_S / 2
        while time.monotonic() < end:
            answer = fixture.get("out/log")
            assert answer.status_code in (200, 409)
            if answer.status_code == 200:
                assert len(answer.content) == int(answer.headers["Content-Length"])
                assert not answer.content.strip(b"x")


def test_a_terabyte_that_is_none_costs_nothing(fixture: Fixture) -> None:
    """It is refused by its claimed size; beside it a folder is still packed."""
    with (fixture.workspace / "out" / "huge").open("wb") as file:
        file.truncate(1 << 40)
    (fixture.workspace / "out" / "small").write_bytes(b"small")
    assert fixture.get("out/huge").status_code == 413
    with zipfile.ZipFile(io.BytesIO(fixture.get("out?zip=1").content)) as archive:
        assert archive.read("out/small") == b"small"
        assert "out/huge" not in archive.namelist()


def test_a_page_that_the_agent_made_does_not_run_here(fixture: Fixture) -> None:
    """However it is called and asked for: bytes in a sandbox, not a page of ours."""
    for name in ("a.html", "a.svg", "a.xhtml", "a.pdf.html", "a.html%20", "a.html.", "A.HTML", "a.shtml", "a"):
        (fixture.workspace / "out" / unquote(name)).write_bytes(b"<script>fetch('//evil')</script>")
        answer = fixture.get(f"out/{name}?inline=1")
        assert answer.headers["Content-Type"] == "application/octet-stream", name
        assert answer.headers["Content-Disposition"].startswith("attachment"), name
        assert answer.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'"), name
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


# --- uploads ---------------------------------------------------------------------------------------------------


class Large:
    """A body of many bytes that takes up no memory."""

    def __init__(self, size: int) -> None:
        self._left = self._size = size
        self._piece = os.urandom(1 << 20)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read(1 << 20):
            yield piece

    def read(self, size: int = 1 << 20) -> bytes:
        """The next of them."""
        piece = self._piece[: min(size, self._left, len(self._piece))]
        self._left -= len(piece)
        return piece


def memory(name: str) -> int:
    """``VmRSS`` now, or ``VmHWM``: the most that it has been."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found
    return int(found[1]) * 1024


def test_large_files_are_never_whole_in_memory(fixture: Fixture) -> None:
    """Up, down, and down in an archive; with this test itself in the same process."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM begins again
    before = memory("VmRSS")
    answer = fixture.put("large", Large(LARGE))
    assert (answer.status_code, answer.json()["size"]) == (201, LARGE)
    for path in ("in/large", "in?zip=1"):
        with fixture.session.get(
            f"{fixture.install.url}/api/agents/crab/files/{path}", stream=True, timeout=60
        ) as download:
            assert download.status_code == 200
            assert sum(len(piece) for piece in download.iter_content(1 << 18)) >= LARGE // 1000
    assert memory("VmHWM") - before < GROWTH


def until_left(folder: Path, *names: str) -> None:
    """Nothing else is in it, soon. A request that broke off may be looked at only now, and make its file then: it stays
    so for a while."""
    deadline = time.monotonic() + PATIENCE_S
    quiet_since = time.monotonic()
    while time.monotonic() < quiet_since + QUIET_S:
        if [path.name for path in folder.iterdir()] != list(names):
            quiet_since = time.monotonic()
            assert quiet_since < deadline, list(folder.iterdir())
        time.sleep(0.02)


@pytest.mark.parametrize("sent", [0, 1, 300_000, 5_000_000])
def test_an_upload_that_breaks_off_leaves_nothing(fixture: Fixture, sent: int) -> None:
    """Not the half of it, no row that says it came, no place that stays taken."""
    inbox = fixture.workspace / "in"
    for _ in range(10):
        fixture.begin_upload(10_000_000, b"x" * sent).close()
    assert fixture.put("good.txt", b"good").status_code == 201
    until_left(inbox, "good.txt")
    rows = fixture.install.services.audit.search_records(kind="file.uploaded")
    assert [row.detail["path"] for row in rows] == ["in/good.txt"]


def test_uploads_that_hang_leave_the_rest_of_the_install_alone(fixture: Fixture) -> None:
    """One person's are counted; everything else answers, and when they end there is room again."""
    hanging = [fixture.begin_upload(1_000_000, b"x") for _ in range(30)]
    with closing(hanging[0]):
        deadline = time.monotonic() + PATIENCE_S
        while fixture.put("one-more", b"x").status_code != 429 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert fixture.put("one-more", b"x").status_code == 429
        assert fixture.get("in").status_code == 200
    for client in hanging:
        client.close()
    deadline = time.monotonic() + PATIENCE_S
    while fixture.put("again", b"x").status_code == 429:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_upload_is_written_through_nothing_that_lies_there(fixture: Fixture) -> None:
    """Should ``in`` ever hold links, pipes or folders of the same name, they stay as they are."""
    inbox = fixture.workspace / "in"
    (inbox / "link").symlink_to(fixture.secret / "file")
    (inbox / "dangling").symlink_to(fixture.secret / "new")
    (inbox / "folder").mkdir()
    os.mkfifo(inbox / "pipe")
    for name in ("link", "dangling", "folder", "pipe"):
        stored = fixture.put(name, b"uploaded").json()["path"]
        assert stored == f"in/{name}-2"
        assert fixture.get(stored).content == b"uploaded"
    assert (fixture.secret / "file").read_bytes() == CANARY
    assert [path.name for path in fixture.secret.iterdir()] == ["file"]


def test_many_uploads_of_one_name_are_many_files(fixture: Fixture) -> None:
    """At the same time; none is lost, none mixed with another."""
    url = f"{fixture.install.url}/api/agents/crab/files/in/same.txt"

    def upload(number: int) -> tuple[str, bytes]:
        content = b"%d" % number * 50_000
        answer = requests.put(url, data=content, headers=dict(fixture.session.headers), timeout=60)
        assert answer.status_code == 201, answer.text
        return answer.json()["path"], content

    with ThreadPoolExecutor(6) as pool:
        stored = dict(pool.map(upload, range(40)))
    assert len(stored) == 40
    for path, content in stored.items():
        assert (fixture.workspace / path).read_bytes() == content
