"""Files that come in over the API: uploads, and those that a message takes along."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from flask import Flask

from dashboard.app import create_app
from orchestrator.core.errors import Unavailable
from tests.support.app_fixture import AppFixture
from tests.support.workspace_api import FILES, fetch, prepared, put
from tests.unit.conftest import Api, someone

CANARY = "canary-that-must-not-appear"


@pytest.fixture
def workspace(webapp: AppFixture) -> Path:
    """The operator's workspace with ``crab``, with its folders made."""
    return prepared(webapp, 1)


# --- uploads ---------------------------------------------------------------------------------------------------


def test_an_upload_lies_in_in(operator: Api, workspace: Path) -> None:
    """Its path, size, hash and type are said; it comes back as it was."""
    content = b"%PDF-1.7" + os.urandom(300_000)
    answer = put(operator, "in/my%20report.pdf", content)
    assert answer.status_code == 201
    assert answer.get_json() == {
        "path": "in/my%20report.pdf",
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "type": "application/pdf",
    }
    assert (workspace / "in" / "my report.pdf").read_bytes() == content
    assert fetch(operator, answer.get_json()["path"]).data == content


def test_an_upload_replaces_nothing(operator: Api) -> None:
    """The second of a name gets another; before the first message too."""
    assert [put(operator, "in/a.txt", b"%d" % n).get_json()["path"] for n in range(3)] == [
        "in/a.txt",
        "in/a-2.txt",
        "in/a-3.txt",
    ]
    assert fetch(operator, "in/a.txt").data == b"0"


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("..%2f..%2fx", "x"),
        ("%2fetc%2fpasswd", "passwd"),
        ("..", "file"),
        (".", "file"),
        ("%20", "file"),
        ("CON", "_CON"),
        (".bashrc", "bashrc"),
        ("-rf", "rf"),
        ("a%0d%0ab", "a b"),
        ("a%00b", "a_b"),
        ("%ff", "\ufffd"),
        ("a%e2%80%aegpj.exe", "a_gpj.exe"),
        ("x" * 300 + ".txt", "x" * 251 + ".txt"),
        ("C%3a%5cevil.exe", "evil.exe"),
    ],
)
def test_the_name_of_an_upload_is_tamed(operator: Api, workspace: Path, sent: str, name: str) -> None:
    """Wherever it wanted to go, it lies in in/, under a plain name, and nowhere else."""
    before = sorted(path.name for path in workspace.iterdir())
    answer = put(operator, f"in/{sent}", b"content")
    assert answer.status_code == 201, answer.text
    assert [path.name for path in (workspace / "in").iterdir()] == [name]
    assert answer.get_json()["path"] == f"in/{quote(name, safe='')}"
    assert sorted(path.name for path in workspace.iterdir()) == before


@pytest.mark.parametrize(
    "path", ["out/x", "work/x", "www/app/index.html", "data/x", "x", "in/", "in/a/b", "in", "IN/x"]
)
def test_the_host_writes_into_in_alone(operator: Api, workspace: Path, path: str) -> None:
    """403 with a sentence that says where to, and nothing is written."""
    before = sorted(workspace.rglob("*"))
    answer = put(operator, path, b"x")
    assert (answer.status_code, "in/" in answer.get_json()["error"]["message"]) == (403, True)
    assert sorted(workspace.rglob("*")) == before


def test_an_upload_says_its_length_and_fits(webapp: AppFixture, operator: Api, workspace: Path) -> None:
    """411 without a length, 413 for what the workspace may not hold any more; the sentence says how much fits."""
    header = {"Authorization": f"Bearer {operator.token}"}
    webapp.services.agents.update_agent("crab", {"limits": {"disk_mb": 16}})
    assert operator.client.put(f"/api{FILES}/in/x", headers=header).status_code == 411
    assert put(operator, "in/x", bytes(10 << 20)).status_code == 201
    answer = put(operator, "in/y", bytes(10 << 20))
    assert answer.status_code == 413
    assert "may have" in answer.get_json()["error"]["message"]
    assert [path.name for path in (workspace / "in").iterdir()] == ["x"]


class Silent:
    """An audit log that can't be written."""

    def record_event(self, *_: object, **__: object) -> None:
        """Raises."""
        raise Unavailable("The database cannot be written.")


def test_nothing_happens_that_is_not_written_down(webapp: AppFixture, workspace: Path) -> None:
    """Without its row in the audit log no file stays, and none goes."""
    app = create_app(replace(webapp.services, audit=Silent()))  # type: ignore[arg-type]  # a fake
    operator = someone(webapp, app, webapp.services.users.get_operator())
    (workspace / "out" / "a").write_text("kept")
    assert put(operator, "in/x", b"x").status_code == 503
    assert operator.call("DELETE", f"{FILES}/out/a").status_code == 503
    assert list((workspace / "in").iterdir()) == []
    assert (workspace / "out" / "a").read_text() == "kept"


# --- files with a message --------------------------------------------------------------------------------------


def test_a_message_takes_files_along(operator: Api) -> None:
    """The agent is told where they are; without a text too."""
    path = put(operator, "in/my%20report.pdf", b"%PDF-1.7").get_json()["path"]
    turn = operator.post("/agents/crab/messages", {"text": "Sum it up.", "files": [path], "wait": True})["turn"]
    line = '- "/app/workspace/in/my report.pdf" (8 bytes, application/pdf)'
    prompt = operator.get(f"/turns/{turn}")["prompt"]
    assert prompt == f"Sum it up.\n\n[Files that came with this message: 1]\n{line}"
    for body in ({"files": [path, path]}, {"text": "", "files": ["in/my report.pdf"]}):
        turn = operator.post("/agents/crab/messages", body)["turn"]
        assert operator.get(f"/turns/{turn}")["prompt"].endswith(line)


@pytest.mark.parametrize(
    ("files", "word"),
    [
        (["in/none.txt"], "in/none.txt"),
        (["out/a"], "out/a"),
        (["in/../out/a"], "in/../out/a"),
        (["in/..%2fout%2fa"], "in/..%2fout%2fa"),
        (["in"], "in is no file"),
        ([""], "no file"),
        (["in/link"], "in/link"),
        (["in/folder"], "in/folder"),
        (["in/a\ud800"], "no file"),
        (["in/x"] * 21, "20"),
        ("in/x", "list"),
        ([1], "list"),
        (None, "list"),
    ],
)
def test_files_that_are_none_are_refused(operator: Api, workspace: Path, files: object, word: str) -> None:
    """400 that names it, and there is no turn."""
    (workspace / "out" / "a").write_text("x")
    (workspace / "in" / "folder").mkdir()
    (workspace / "in" / "link").symlink_to("/etc/passwd")
    body = {"text": "Look.", "files": files}
    if files == ["in/a\ud800"]:
        assert operator.call("POST", "/agents/crab/messages", body).status_code == 400
        return
    status, message = operator.refused("POST", "/agents/crab/messages", body)
    assert (status, word in message) == (400, True), message
    assert operator.get("/agents/crab/history")["turns"] == []


def test_the_operator_sends_a_file_in_anothers_name(operator: Api, member: Api, app: Flask) -> None:
    """Files of a message are looked for in the workspace that the message goes to."""
    put(operator, "in/mine.txt", b"x")
    body = {"text": "x", "files": ["in/mine.txt"]}
    assert operator.refused("POST", f"/agents/crab/messages?user={member.user.id}", body)[0] == 400
    assert operator.call("POST", "/agents/crab/messages", body).status_code == 202
