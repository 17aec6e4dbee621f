"""File names: any bytes that a file system takes, through every way that a file goes."""

from __future__ import annotations

import io
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.test import TestResponse

from dashboard.app import create_app
from orchestrator.core.models import DeliveryStatus
from orchestrator.files import uploads as arrivals
from orchestrator.files.names import MOST_BYTES
from orchestrator.files.zip_stream import LEFT_OUT, stream_zip
from tests.fuzzing import bounded
from tests.support.app_fixture import AppFixture, run_app
from tests.support.delivery_fixture import KEY, DeliveryFixture, RecordingCarrier, outgoing
from tests.support.workspace_api import FILES, prepared
from tests.unit.conftest import Api, someone
from tests.unit.files.test_zip_stream import is_harmless

_PIECES = st.sampled_from(
    [b"..", b".", b"-rf", b"\\", b"%2e%2e", b"%00", b"\n", b"\r\n", b"\x1b[2J", b"\xff", b"\xc3", "é".encode(),
     "e\u0301".encode(), "\u202e".encode(), b"CON", b"nul.txt",
     b" ", b"?", b"#", b"&", b"*", b":", b'"', b"'", b"<b>", b"|", b";", b"$(x)", b".png", b".html", b".tar.gz",
     b"a", b"A", b"\xed\xa0\x80", "😀".encode(), b"\x7f", b"~", b".zip", b"x" * 200]
)  # fmt: skip
NAMES = (
    (st.binary(min_size=1, max_size=MOST_BYTES) | st.lists(_PIECES, min_size=1, max_size=6).map(b"".join))
    .map(lambda raw: raw.replace(b"/", b"_").replace(b"\0", b"_")[:MOST_BYTES])
    .filter(lambda raw: raw not in (b".", b".."))
)


@pytest.fixture
def out_folder(tmp_path: Path) -> Iterator[DeliveryFixture]:
    """An agent's ``out/``, and somebody who takes what leaves it."""
    with outgoing(tmp_path, RecordingCarrier(largest_bytes=1 << 30)) as made:
        yield made


@bounded(60)
@given(NAMES, st.binary(max_size=30))
def test_any_name_is_delivered(out_folder: DeliveryFixture, raw: bytes, content: bytes) -> None:
    """A plain file in ``out/`` under any name is delivered with its content and a harmless name, or refused in words,
    and nothing is raised."""
    path = os.path.join(os.fsencode(out_folder.out), raw)  # noqa: PTH118 - bytes
    with out_folder.store.writing() as db:
        db.execute("DELETE FROM deliveries")
    out_folder.put(raw, content)
    try:
        out_folder.intake.take_file(KEY, raw, found_at=time.time())
        rows = out_folder.rows()
        assert len(rows) <= 1
        for row in rows:
            assert row.path == raw
            row.name.encode()
            assert is_harmless(row.name), row.name
            is_on_its_way = row.status in (DeliveryStatus.KEPT, DeliveryStatus.HANDED, DeliveryStatus.SENT)
            assert row.size_bytes == len(content) if is_on_its_way else row.why
    finally:
        os.unlink(path)  # noqa: PTH108 - bytes


@bounded(150)
@given(
    st.binary(max_size=400) | NAMES | st.lists(_PIECES | st.just(b"/") | st.just(b"\0"), max_size=8).map(b"".join),
    st.binary(max_size=20),
)
def test_any_name_arrives(tmp_path: Path, raw: bytes, content: bytes) -> None:
    """What is sent under any name becomes one plain file in the folder that is meant, under a harmless name."""
    inbox, before = tmp_path / "in", len(list(tmp_path.iterdir()))
    inbox.mkdir(exist_ok=True)
    folder = os.open(inbox, os.O_RDONLY | os.O_DIRECTORY)
    try:
        stored = arrivals.store_upload(folder, raw, io.BytesIO(content), max_bytes=1_000)
        assert [path.name for path in inbox.iterdir()] == [stored.name]
        assert is_harmless(stored.name), stored.name
        assert not stored.name.startswith((".", "-"))
        assert (inbox / stored.name).read_bytes() == content
        os.unlink(stored.name, dir_fd=folder)
    finally:
        os.close(folder)
    assert len(list(tmp_path.iterdir())) <= before + 1


@bounded(60)
@given(st.lists(st.tuples(NAMES, st.booleans()), min_size=1, max_size=4, unique_by=lambda pair: pair[0]))
def test_any_name_is_packed(out_folder: DeliveryFixture, raws: list[tuple[bytes, bool]]) -> None:
    """A folder of any names is a whole zip archive whose entries are harmless, one for each, inside one folder."""
    out = os.fsencode(out_folder.out)
    made = []
    for raw, is_folder in raws:
        path = os.path.join(out, raw)  # noqa: PTH118 - bytes
        if is_folder:
            os.mkdir(path)  # noqa: PTH102 - bytes
        else:
            out_folder.put(raw, raw)
        made.append((path, is_folder))
    try:
        with zipfile.ZipFile(io.BytesIO(b"".join(stream_zip(out_folder.workspaces, KEY, (b"out",))))) as archive:
            assert archive.testzip() is None
            names = [name for name in archive.namelist() if name != LEFT_OUT]
            assert len(set(names)) == len(names) == len(raws) + 1
            assert all(name.startswith("out/") for name in names)
            assert all(is_harmless(part) for name in names for part in name.rstrip("/").split("/"))
            held = sorted(archive.read(name) for name in names if not name.endswith("/"))
            assert held == sorted(raw for raw, is_folder in raws if not is_folder)
    finally:
        for path, is_folder in made:
            (os.rmdir if is_folder else os.unlink)(path)


@pytest.fixture
def webapp(tmp_path: Path) -> Iterator[AppFixture]:
    """An install without containers."""
    with run_app(tmp_path / "home") as install:
        yield install


@pytest.fixture
def owner(webapp: AppFixture) -> Api:
    """Its operator, by API."""

    return someone(webapp, create_app(webapp.services), webapp.services.users.get_operator())


@bounded(60)
@given(NAMES, st.binary(max_size=30))
def test_any_name_is_listed_fetched_and_deleted(webapp: AppFixture, owner: Api, raw: bytes, content: bytes) -> None:
    """A file of any name is in its folder's list, comes back byte for byte by the path that is listed there, without a
    line of a header being its own, and is gone when it is deleted."""
    work = prepared(webapp, 1) / "work"
    with open(os.path.join(os.fsencode(work), raw), "wb") as file:  # noqa: PTH118, PTH123 - bytes
        file.write(content)
    try:
        (listed,) = (entry for entry in owner.get(f"{FILES}/work")["entries"])
        assert listed["path"] == f"work/{quote_from_bytes(raw, safe='')}"
        answer = _call(owner, "GET", listed["path"])
        assert (answer.status_code, answer.data) == (200, content)
        shown = answer.headers["Content-Disposition"]
        assert shown.isascii()
        assert shown.isprintable()
        assert _call(owner, "DELETE", listed["path"]).status_code in (200, 204)
        assert not any(work.iterdir())
    finally:
        for left in work.iterdir():
            left.unlink()


_ASKED = st.lists(
    _PIECES | st.sampled_from([b"/", b"//", b"in", b"out", b"work", b"%2f", b"\0", b"../"]), max_size=7
).map(b"".join) | st.binary(max_size=60)


@bounded(80)
@given(
    _ASKED.map(lambda raw: quote_from_bytes(raw, safe="/")) | _ASKED.map(lambda raw: raw.decode("latin-1")),
    st.sampled_from(["GET", "PUT", "DELETE"]),
    st.sampled_from(["", "?zip=1", "?after=%ff", "?user=99", "?limit=1&after=a%2Fb"]),
)
def test_no_path_leads_out(webapp: AppFixture, owner: Api, asked: str, method: str, query: str) -> None:
    """Whatever path is asked for, written or deleted, nothing outside the workspace's folders comes into being, changes
    or goes, and no answer is a 500."""
    workspace = prepared(webapp, 1)
    secret = workspace.parent / "secret"
    secret.write_bytes(b"canary")
    before = sorted(path.name for path in workspace.parent.iterdir())
    path = asked.replace("?", "%3F").replace("#", "%23") + query
    answer = _call(owner, method, path, data=b"new" if method == "PUT" else None)
    assert answer.status_code < 500, answer.data
    assert b"canary" not in answer.data
    assert secret.read_bytes() == b"canary"
    assert sorted(path.name for path in workspace.parent.iterdir()) == before
    assert {path.name for path in workspace.iterdir()} >= {"in", "out", "work", "www", "data"}


def _call(who: Api, method: str, path: str, data: bytes | None = None) -> TestResponse:
    given = {"Authorization": f"Bearer {who.token}"}
    return who.client.open(f"/api{FILES}/{path}", method=method, headers=given, data=data, buffered=True)
