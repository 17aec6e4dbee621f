"""Changing files by hand over the API: names, places, folders, texts, many at once; what the log and the history have
of it."""

from __future__ import annotations

import hashlib
import io
import zipfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from orchestrator.checkpoints.models import PointKind
from orchestrator.core.models import CubicleKey
from orchestrator.files.person_changes import MOST_SAVED_BYTES
from tests.support.app_fixture import AppFixture
from tests.support.openapi_check import check
from tests.support.workspace_api import FILES, entries, fetch, prepared, put
from tests.unit.conftest import Api


@pytest.fixture
def workspace(webapp: AppFixture) -> Path:
    """The operator's workspace with ``crab``, with its folders made."""
    return prepared(webapp, 1)


def save(api: Api, path: str, content: bytes, **headers: str) -> TestResponse:
    """A text, described as the document says."""
    answer = put(api, path, content, **{name.replace("_", "-"): value for name, value in headers.items()})
    check("PUT", f"/api{FILES}/{path}", answer.status_code, answer.get_json(silent=True))
    return answer


def test_a_path_gets_another_name_and_place(operator: Api, workspace: Path) -> None:
    """Percent-encoded on both sides; what is taken, outside or not there is refused."""
    (workspace / "work" / "a b.txt").write_bytes(b"a")
    (workspace / "out" / "taken").write_bytes(b"t")
    moved = operator.call("PATCH", f"{FILES}/work/a%20b.txt", {"to": "out/%C3%BC%20%25.txt"})
    assert (moved.status_code, moved.get_json()) == (200, {"path": "out/%C3%BC%20%25.txt"})
    assert (workspace / "out" / "ü %.txt").read_bytes() == b"a"
    for to, status in (("out/taken", 409), ("data/x", 409), ("none/x", 404), ("out/../x", 409), ("out/a%2fb", 409)):
        assert operator.refused("PATCH", f"{FILES}/out/%C3%BC%20%25.txt", {"to": to})[0] == status, to
    assert operator.refused("PATCH", f"{FILES}/out/%C3%BC%20%25.txt", {})[0] == 400
    assert (workspace / "out" / "taken").read_bytes() == b"t"


def test_folders_are_made(operator: Api, workspace: Path) -> None:
    """Where the agent owns what is there."""
    assert operator.call("POST", f"{FILES}/work/new%20one").get_json() == {"path": "work/new%20one"}
    assert (workspace / "work" / "new one").is_dir()
    for path, status in (("work/new%20one", 409), ("in/x", 409), ("data/x", 409), ("work/none/x", 404)):
        assert operator.refused("POST", f"{FILES}/{path}")[0] == status, path


def test_many_at_once(operator: Api, workspace: Path) -> None:
    """Moved and deleted, each by itself; what can't be is told and keeps nothing else."""
    for name in ("a", "b", "c"):
        (workspace / "work" / name).write_bytes(b"x")
    operator.call("POST", f"{FILES}/work/d")
    body: dict[str, Any] = {"do": "move", "paths": ["work/a", "work/none", "work/b", "work/d"], "to": "work/d"}
    answer = operator.post(f"{FILES}/", body)
    assert answer["done"] == ["work/a", "work/b"]
    assert [one["path"] for one in answer["failed"]] == ["work/none", "work/d"]
    assert sorted(path.name for path in (workspace / "work" / "d").iterdir()) == ["a", "b"]
    answer = operator.post(f"{FILES}/", {"do": "delete", "paths": ["work/c", "work/d", "data/x", ""]})
    assert answer["done"] == ["work/c", "work/d"]
    assert len(answer["failed"]) == 2
    assert list((workspace / "work").iterdir()) == []
    for wrong in ({"do": "copy", "paths": []}, {"do": "move", "paths": []}, {"do": "delete", "paths": ["x"] * 201}):
        assert operator.refused("POST", f"{FILES}/", wrong)[0] == 400
    assert operator.refused("POST", f"{FILES}/", {"do": "move", "paths": [], "to": "work/none"})[0] == 404


def test_a_text_is_saved_if_it_is_as_it_was(operator: Api, workspace: Path) -> None:
    """By the ETag of what was read; 412 when the agent wrote in between, and what it wrote stays."""
    (workspace / "work" / "a.py").write_bytes(b"old")
    etag = fetch(operator, "work/a.py").headers["ETag"]
    assert etag == f'"{hashlib.sha256(b"old").hexdigest()}"'
    saved = save(operator, "work/a.py", b"new", If_Match=etag)
    assert (saved.status_code, saved.get_json()["sha256"]) == (200, hashlib.sha256(b"new").hexdigest())
    (workspace / "work" / "a.py").write_bytes(b"the agent's")
    assert save(operator, "work/a.py", b"mine", If_Match=f'"{saved.get_json()["sha256"]}"').status_code == 412
    assert (workspace / "work" / "a.py").read_bytes() == b"the agent's"
    assert save(operator, "work/new.txt", b"hello", If_None_Match="*").status_code == 201
    assert save(operator, "work/new.txt", b"again", If_None_Match="*").status_code == 409
    assert (workspace / "work" / "new.txt").read_bytes() == b"hello"
    for headers in ({"If_Match": "*"}, {"If_Match": '"x"'}, {"If_Match": etag, "If_None_Match": "*"}):
        assert save(operator, "work/a.py", b"mine", **headers).status_code == 400
    assert save(operator, "work/a.py", b"x" * (MOST_SAVED_BYTES + 1), If_Match=etag).status_code == 413
    assert save(operator, "work/a.py", b"mine").status_code == 403


def test_what_is_named_is_found_and_packed(operator: Api, workspace: Path) -> None:
    """Names below a folder, and some of a folder as one archive."""
    (workspace / "work" / "sub").mkdir()
    for name in ("tide.txt", "moon.txt", "sub/tide table.csv"):
        (workspace / "work" / name).write_bytes(name.encode())
    found = operator.get(f"{FILES}/work?find=TIDE")
    assert ([one["path"] for one in found["entries"]], found["is_complete"]) == (
        ["work/tide.txt", "work/sub/tide%20table.csv"],
        True,
    )
    assert [one["path"] for one in operator.get(f"{FILES}/?find=table")["entries"]] == ["work/sub/tide%20table.csv"]
    packed = fetch(operator, "work?zip=1&only=sub&only=moon.txt&only=none").data
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert [name for name in archive.namelist() if not name.endswith("/")] == [
            "work/moon.txt",
            "work/sub/tide table.csv",
            "HERMITSHELL-LEFT-OUT.txt",
        ]
    assert operator.refused("GET", f"{FILES}/work?zip=1&only=sub%2Fx")[0] == 400
    assert operator.refused("GET", f"{FILES}/?zip=1&only=work")[0] == 400


def test_it_is_in_the_log_and_in_the_history(member: Api, webapp: AppFixture) -> None:
    """Who did what; what was there before can be put back, though no turn had ever seen it."""
    workspace = prepared(webapp, member.user.id)
    (workspace / "work" / "a").write_bytes(b"precious")
    member.call("POST", f"{FILES}/work/d")
    member.call("PATCH", f"{FILES}/work/a", {"to": "work/d/a"})
    save(member, "work/d/a", b"spoilt", If_Match=f'"{hashlib.sha256(b"precious").hexdigest()}"')
    member.call("DELETE", f"{FILES}/work/d")
    key = CubicleKey("crab", member.user.id)
    rows = webapp.services.audit.search_records(limit=20)
    assert [row.text for row in rows if row.kind.startswith("file.")] == [
        "ben deleted work/d.",
        "ben saved work/d/a (6 bytes).",
        "ben moved work/a to work/d/a.",
        "ben made the folder work/d.",
    ]
    points = webapp.services.checkpoints.list_checkpoints(key, limit=50)
    assert {point.kind for point in points} == {PointKind.PERSON}
    seen = {
        (b"/".join(change.path), change.old and change.old.size_bytes, change.new and change.new.size_bytes)
        for newer, older in pairwise(points)
        for change in webapp.services.checkpoints.diff(key, older.id, newer.id)
    }
    assert {(b"work/a", 8, None), (b"work/d/a", None, 8), (b"work/d/a", 8, 6)} <= seen


def test_anothers_is_nowhere(operator: Api, member: Api, webapp: AppFixture) -> None:
    """A member changes nothing of the operator's; the operator may, by saying whose."""
    mine, theirs = prepared(webapp, 1), prepared(webapp, member.user.id)
    (mine / "work" / "a").write_bytes(b"x")
    (theirs / "work" / "b").write_bytes(b"x")
    assert member.refused("PATCH", f"{FILES}/work/a?user=1", {"to": "work/c"})[0] in (403, 404)
    assert member.refused("POST", f"{FILES}/?user=1", {"do": "delete", "paths": ["work/a"]})[0] in (403, 404)
    assert operator.call("PATCH", f"{FILES}/work/b?user={member.user.id}", {"to": "work/c"}).status_code == 200
    assert [one["name"] for one in entries(member, "work")] == ["c"]
    assert (mine / "work" / "a").exists()
