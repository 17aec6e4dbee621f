"""Files over the API: what a folder holds, what is sent and how, what is refused, and what goes."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import zipfile
from email.message import Message
from pathlib import Path
from urllib.parse import quote, quote_from_bytes

import pytest

from dashboard.headers import HELD
from dashboard.transfers import MOST
from tests.support.app_fixture import AppFixture
from tests.support.workspace_api import FILES, entries, fetch, prepared, put
from tests.unit.conftest import OWN_ORIGIN, Api, Browser

CANARY = "canary-that-must-not-appear"


@pytest.fixture
def workspace(webapp: AppFixture) -> Path:
    """The operator's workspace with ``crab``, with its folders made."""
    return prepared(webapp, 1)


# --- looking ---------------------------------------------------------------------------------------------------


def test_a_workspace_is_empty_until_it_is_made(operator: Api) -> None:
    """No error for whoever looks first; the folders are empty then too."""
    assert operator.get(f"{FILES}/") == operator.get(f"{FILES}/out") == {"entries": [], "next": None}
    assert operator.client.get(f"/api{FILES}", headers={"Authorization": f"Bearer {operator.token}"}).status_code == 200


def test_folders_and_what_is_in_them(operator: Api, workspace: Path) -> None:
    """Name, path, kind, size, time."""
    (workspace / "out" / "sub").mkdir()
    (workspace / "out" / "a b.txt").write_bytes(b"hello")
    os.utime(workspace / "out" / "a b.txt", (1_700_000_000, 1_700_000_000))
    (workspace / "out" / "link").symlink_to("/etc/passwd")
    assert [e["path"] for e in entries(operator, "")] == ["data", "in", "out", "work", "www"]
    assert [(e["name"], e["path"], e["kind"], e["size"]) for e in entries(operator, "out")] == [
        ("a b.txt", "out/a%20b.txt", "file", 5),
        ("link", "out/link", "other", 0),
        ("sub", "out/sub", "folder", 0),
    ]
    assert entries(operator, "out/")[0]["modified"] == "2023-11-14T22:13:20.000Z"
    assert entries(operator, "out/sub") == []


def test_a_folder_of_more_than_ten_thousand_is_paged(operator: Api, workspace: Path) -> None:
    """Every name once, in order, names that are no UTF-8 at the page's edge too."""
    names = sorted([*(b"f%05d" % number for number in range(10_000)), *(b"\xff%03d %%41" % n for n in range(250))])
    for name in names:
        os.close(os.open(os.fsencode(workspace / "work") + b"/" + name, os.O_CREAT | os.O_WRONLY))
    seen, after, pages = [], "", 0
    while True:
        page = operator.get(f"{FILES}/work?limit=1000&after={quote(after)}")
        seen += [entry["path"] for entry in page["entries"]]
        pages += 1
        if page["next"] is None:
            break
        after = page["next"]
    assert seen == [f"work/{quote_from_bytes(name, safe='')}" for name in names]
    assert pages == 11
    assert len(entries(operator, "work")) == 200


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "after=a/b"])
def test_pages_that_make_no_sense(refused_one: Api, query: str) -> None:
    """400 with the field."""
    status, message = refused_one.refused("GET", f"{FILES}/out?{query}")
    assert (status, message.startswith(query.partition("=")[0])) == (400, True)


# --- downloads -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 65_535, 262_144, 262_145, 5_000_003])
def test_a_file_comes_byte_for_byte(operator: Api, workspace: Path, size: int) -> None:
    """With its length, for GET and HEAD."""
    content = os.urandom(size)
    (workspace / "out" / "file.bin").write_bytes(content)
    answer = fetch(operator, "out/file.bin")
    assert answer.data == content
    assert answer.headers["Content-Length"] == str(size)
    given = {"Authorization": f"Bearer {operator.token}"}
    head = operator.client.head(f"/api{FILES}/out/file.bin", headers=given, buffered=True)
    assert (head.data, head.headers["Content-Length"]) == (b"", str(size))
    assert head.headers["Content-Disposition"] == answer.headers["Content-Disposition"]


TYPES = {
    "a.png": "image/png",
    "a.PDF": "application/pdf",
    "a.txt": "text/plain; charset=utf-8",
    "a.mp4": "video/mp4",
    "a.html": "application/octet-stream",
    "a.svg": "application/octet-stream",
    "a.xml": "application/octet-stream",
    "a.js": "application/octet-stream",
    "a.png.html": "application/octet-stream",
    "a": "application/octet-stream",
}


@pytest.mark.parametrize(("name", "kind"), TYPES.items())
def test_nothing_that_is_sent_can_run(operator: Api, workspace: Path, name: str, kind: str) -> None:
    """A harmless type, no sniffing, a sandbox without any source; an attachment unless a harmless one is asked for."""
    (workspace / "out" / name).write_text("<script>alert(1)</script>")
    answers = {query: fetch(operator, f"out/{name}{query}") for query in ("", "?inline=1", "?inline=0")}
    for answer in answers.values():
        assert answer.headers["Content-Type"] == kind
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"] == HELD
        assert "sandbox" in HELD
        assert "default-src 'none'" in HELD
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    shown = {query: answer.headers["Content-Disposition"].partition(";")[0] for query, answer in answers.items()}
    is_harmless = kind != "application/octet-stream"
    assert shown == {
        "": "attachment",
        "?inline=1": "inline" if is_harmless else "attachment",
        "?inline=0": "attachment",
    }


EVIL = [
    b"new\nline.txt",
    b"a\r\nSet-Cookie: x=y",
    b'quote".txt',
    b"semi;colon=1.txt",
    "rtl\u202egpj.exe".encode(),
    "zero\u200bwidth".encode(),
    b"\xff\xfe\x80",
    b"%2e%2e%2fpasswd",
    b"%",
    b"?zip=1",
    b"#top",
    b"a\\b",
    b"-rf",
    b" ",
    b"...",
    b"\x1b[2J",
    b"x" * 255,
    "Größe 🦀.txt".encode(),
    b"index.html/".replace(b"/", b";"),
    b"'><script>alert(1)</script>"[:20].replace(b"/", b""),
]


@pytest.mark.parametrize("raw", EVIL)
def test_every_name_can_be_listed_fetched_and_deleted(operator: Api, workspace: Path, raw: bytes) -> None:
    """By the path that the list gives; the headers stay whole and show nothing hidden."""
    (workspace / "out" / os.fsdecode(raw)).write_bytes(raw)
    (workspace / "out" / "good.txt").write_bytes(b"good")
    (entry,) = [e for e in entries(operator, "out") if e["name"] != "good.txt"]
    assert entry["name"].isprintable()
    answer = fetch(operator, entry["path"])
    assert answer.data == raw
    assert "Set-Cookie" not in answer.headers
    said = answer.headers["Content-Disposition"]
    assert said.isascii()
    assert said.isprintable()
    read = Message()
    read["Content-Disposition"] = said
    name = read.get_filename() or ""
    assert name.isprintable()
    assert not set(name) & set('/\\"')
    assert operator.call("DELETE", f"{FILES}/{entry['path']}").status_code == 204
    assert [e["name"] for e in entries(operator, "out")] == ["good.txt"]


def make_odd_things(folder: Path, secret: Path) -> list[str]:
    """Everything that is not a regular file, some of it leading to ``secret``."""
    (folder / "link").symlink_to(secret / "canary")
    (folder / "relative").symlink_to(os.path.relpath(secret / "canary", folder))
    (folder / "to-folder").symlink_to(secret)
    (folder / "loop").symlink_to("loop")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "self").symlink_to("/proc/self/environ")
    os.mkfifo(folder / "pipe")
    (folder / "one").write_text(CANARY)
    (folder / "two").hardlink_to(folder / "one")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
    return [*(path.name for path in folder.iterdir()), "to-folder/canary", "link/x", "one/x", "pipe/x"]


def test_what_is_no_plain_file_is_not_found(operator: Api, workspace: Path, tmp_path: Path) -> None:
    """404 and no byte of what it leads to; nobody waits for a pipe."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "canary").write_text(CANARY)
    names = make_odd_things(workspace / "out", secret)
    assert len(names) == 14
    for name in names:
        for query in ("", "?zip=1", "?inline=1"):
            answer = fetch(operator, f"out/{name}{query}")
            assert (answer.status_code, CANARY in answer.text) == (404, False), (name, query)
        head = operator.client.head(f"/api{FILES}/out/{name}", headers={"Authorization": f"Bearer {operator.token}"})
        assert head.status_code == 404


def test_a_folder_of_the_five_that_is_a_link_is_not_followed(operator: Api, workspace: Path, tmp_path: Path) -> None:
    """Should one ever become so."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "canary").write_text(CANARY)
    (workspace / "out").rmdir()
    (workspace / "out").symlink_to(secret)
    for path in ("out", "out/canary", "out?zip=1"):
        assert fetch(operator, path).status_code == 404, path
    with zipfile.ZipFile(io.BytesIO(fetch(operator, "?zip=1").data)) as archive:
        assert "out/canary" not in archive.namelist()


@pytest.mark.parametrize(
    "path",
    [
        "../1/out/a",
        "out/../../../db/hermit.db",
        "out/%2e%2e/%2e%2e/%2e%2e/db",
        "out/..%2f..%2fdb",
        "out//a",
        "/etc/passwd",
        "//etc/passwd",
        "%2fetc/passwd",
        "out/a%00.txt",
        "out/.",
        "README.txt",
        "keys",
        "out/" + "x" * 300,
        "out" + "/d" * 5_000,
        "out/none",
        "%ff",
    ],
)
def test_paths_that_lead_nowhere(operator: Api, workspace: Path, path: str) -> None:
    """404, for reading and deleting."""
    (workspace / "out" / "a").write_text("here")
    assert fetch(operator, path).status_code == 404
    assert operator.call("DELETE", f"{FILES}/{path}").status_code in (404, 409)
    assert (workspace / "out" / "a").exists()


def test_a_huge_file_is_refused_with_its_size(operator: Api, workspace: Path) -> None:
    """A terabyte that is none."""
    with (workspace / "out" / "huge").open("wb") as file:
        file.truncate(1 << 40)
    status, message = operator.refused("GET", f"{FILES}/out/huge")
    assert (status, "larger" in message) == (413, True)


def test_a_folder_comes_as_an_archive(operator: Api, workspace: Path) -> None:
    """Named after the folder, or the agent; a file is none."""
    (workspace / "out" / "sub").mkdir()
    (workspace / "out" / "sub" / "a.txt").write_bytes(b"hello")
    for path, name, inside in (("out/sub", "sub.zip", "sub/a.txt"), ("", "crab.zip", "out/sub/a.txt")):
        answer = fetch(operator, f"{path}?zip=1")
        assert answer.headers["Content-Type"] == "application/zip"
        assert f'attachment; filename="{name}"' in answer.headers["Content-Disposition"]
        with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
            assert archive.read(inside) == b"hello"
    assert operator.refused("GET", f"{FILES}/out/sub/a.txt?zip=1")[0] == 400
    assert operator.refused("GET", f"{FILES}/out/none?zip=1")[0] == 404


def test_one_person_has_only_so_many_on_their_way(operator: Api, member: Api, workspace: Path) -> None:
    """429 for one more; a place is free when one has arrived, and others are not concerned."""
    (workspace / "out" / "a").write_bytes(b"hello")
    header = {"Authorization": f"Bearer {operator.token}"}
    path = f"/api{FILES}/out/a"
    under_way = [operator.client.get(path, headers=header, buffered=False) for _ in range(MOST)]
    assert operator.client.get(path, headers=header).status_code == 429
    assert put(operator, "in/x", b"x").status_code == 429
    assert operator.client.get(f"/api{FILES}/out?zip=1", headers=header).status_code == 429
    assert put(member, "in/x", b"x").status_code == 201
    under_way.pop().close()
    assert operator.client.get(path, headers=header, buffered=True).data == b"hello"
    for answer in under_way:
        answer.close()
    assert put(operator, "in/x", b"x").status_code == 201


# --- deletion, the log, and who may ----------------------------------------------------------------------------


def test_files_folders_and_links_are_deleted(operator: Api, workspace: Path, tmp_path: Path) -> None:
    """With all that is in them; what a link leads to stays."""
    kept = tmp_path / "kept"
    kept.write_text("kept")
    (workspace / "work" / "deep" / "er").mkdir(parents=True)
    (workspace / "work" / "deep" / "er" / "a").write_text("x")
    (workspace / "work" / "link").symlink_to(kept)
    (workspace / "in" / "a").write_text("x")
    for path in ("work/deep", "work/link", "in/a"):
        assert operator.call("DELETE", f"{FILES}/{path}").status_code == 204
        assert operator.call("DELETE", f"{FILES}/{path}").status_code == 404
    assert kept.read_text() == "kept"
    assert list((workspace / "work").iterdir()) == []


@pytest.mark.parametrize("path", ["in", "out", "work/", "data/calendar.db"])
def test_what_is_ours_is_not_deleted(operator: Api, workspace: Path, path: str) -> None:
    """409: the five folders, and what is in data/."""
    (workspace / "data" / "calendar.db").write_text("x")
    assert operator.refused("DELETE", f"{FILES}/{path}")[0] == 409
    assert (workspace / "data" / "calendar.db").exists()


def test_uploads_and_deletions_are_in_the_audit_log(operator: Api, member: Api, webapp: AppFixture) -> None:
    """Who, what, with hidden characters written out; nothing of what was refused."""
    workspace = prepared(webapp, member.user.id)
    put(member, "in/notes.txt", b"hello")
    (workspace / "out" / "a\u202eb\n").write_text("x")
    (entry,) = entries(member, "out")
    operator.call("DELETE", f"{FILES}/{entry['path']}?user={member.user.id}")
    member.call("DELETE", f"{FILES}/out/none")
    put(member, "out/x", b"x")
    rows = operator.get("/audit")["rows"]
    found = [(row["kind"], row["text"], row["user"], row["detail"]) for row in rows if row["kind"].startswith("file.")]
    sha256 = hashlib.sha256(b"hello").hexdigest()
    assert found == [
        (
            "file.deleted",
            "ada deleted out/a\\u202eb\\n.",
            member.user.id,
            {"path": "out/a\\u202eb\\n", "by": "ada"},
        ),
        (
            "file.uploaded",
            "ben uploaded in/notes.txt (5 bytes).",
            member.user.id,
            {"path": "in/notes.txt", "size": 5, "sha256": sha256, "by": "ben"},
        ),
    ]


def test_everybody_has_a_workspace_of_their_own(operator: Api, member: Api, webapp: AppFixture) -> None:
    """A member has no way into another's; the operator may look, and knows no person that is none."""
    prepared(webapp, 1)
    theirs = prepared(webapp, member.user.id)
    put(operator, "in/mine.txt", b"mine")
    assert fetch(member, "in/mine.txt").status_code == 404
    for method in ("GET", "DELETE"):
        assert member.call(method, f"{FILES}/in/mine.txt?user=1").status_code == 403
    assert put(member, "in/x?user=1", b"x").status_code == 403
    (theirs / "out" / "a").write_text("theirs")
    assert fetch(operator, f"out/a?user={member.user.id}").data == b"theirs"
    assert fetch(operator, "out/a").status_code == 404
    assert fetch(operator, "out/a?user=77").status_code == 404
    assert operator.call("GET", "/agents/nobody/files/out").status_code == 404


def test_a_browser_needs_our_own_page_to_change_files(browser: Browser, workspace: Path) -> None:
    """No upload and no deletion without the session's token; with it, both."""
    path = f"/api{FILES}/in/a.txt"
    own = {"Origin": OWN_ORIGIN, "X-CSRF-Token": browser.csrf}
    assert browser.client.put(path, data=b"x", headers={"Origin": OWN_ORIGIN}).status_code == 403
    form = {"Origin": OWN_ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    assert browser.client.put(path, data=b"csrf=" + browser.csrf.encode(), headers=form).status_code == 403
    assert browser.client.put(path, data=b"x", headers=own).status_code == 201
    assert browser.client.delete(path, headers={"Origin": OWN_ORIGIN}).status_code == 403
    assert browser.client.delete(path, headers=own).status_code == 204
