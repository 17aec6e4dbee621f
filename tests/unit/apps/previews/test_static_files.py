"""The preview origin with apps made of files: what is served, to whom, and nothing beside it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from orchestrator.apps.previews import server
from orchestrator.apps.previews.shim_loader import MAX_STORED_BYTES, with_shim
from orchestrator.apps.previews.signed_urls import Ticket
from orchestrator.core.models import CubicleKey
from tests.support.core_fixture import KEY, OTHER, core_fixture
from tests.support.preview_fixture import DASHBOARD, PreviewFixture, preview_install

PAGE = "<!doctype html><html><head><title>To do</title></head><body>hello</body></html>"
CANARY = "canary-7f3a"


@pytest.fixture
def install(tmp_path: Path) -> Iterator[PreviewFixture]:
    """An origin with one app."""
    with core_fixture(tmp_path / "home") as made, preview_install(made.home, made.store) as previews:
        previews.write("todo/index.html", PAGE)
        previews.write("todo/js/app.js", "let a = 1;")
        yield previews


def test_a_page_comes_with_its_walls(install: PreviewFixture) -> None:
    """An opaque origin that reaches itself alone, held by the dashboard that the ticket names; no cookie."""
    got = install.app("todo")
    assert got.status == 200
    assert got.headers["content-type"] == "text/html; charset=utf-8"
    assert got.policy["sandbox"] == "allow-scripts allow-forms allow-pointer-lock"
    assert got.policy["frame-ancestors"] == DASHBOARD
    assert got.policy["connect-src"].startswith(f"{install.origin}/a/")
    assert "set-cookie" not in got.headers
    assert got.headers["referrer-policy"] == "no-referrer"
    assert got.headers["access-control-allow-origin"] == "null", "its own origin, and no site's that has a name"


def test_a_page_of_the_workspace_by_itself(install: PreviewFixture) -> None:
    """Whatever it is called and wherever it lies, with an app's walls; it has no other files, and remembers nothing."""
    work = install.www.parent / "work"
    (work / "a b").mkdir()
    (work / "a b" / "report.htm").write_bytes(PAGE if isinstance(PAGE, bytes) else PAGE.encode())
    (work / "secret.txt").write_text("secret")
    (work / "link.html").symlink_to(work / "secret.txt")
    found = {}
    for page in ("work/a%20b/report.htm", "work/link.html", "work/none.html", "../../db"):
        ticket = install.tickets.encode_ticket(Ticket(KEY, "", DASHBOARD, int(time.time()) + 60, page=page))
        found[page] = install.get(f"/a/{ticket}/")
        for other in ("secret.txt", "../secret.txt", ".hermit/storage", "index.html"):
            assert install.get(f"/a/{ticket}/{other}").status == 404
        assert install.get(f"/a/{ticket}/.hermit/storage", method="PUT", body=b"{}").status == 404
        assert install.get(f"/a/{ticket}/.hermit/shim.js").status == 200
        assert install.get(f"/a/{ticket}/", Sec_Fetch_Dest="document").status == 403
    got = found.pop("work/a%20b/report.htm")
    assert got.status == 200
    assert set(got.policy) == set(install.app("todo").policy)
    assert got.policy["sandbox"] == "allow-scripts allow-forms allow-pointer-lock"
    assert got.policy["frame-ancestors"] == DASHBOARD
    assert got.body.startswith(b'<!doctype html><script src="')
    assert {answer.status for answer in found.values()} == {404}


def test_a_delivered_page_by_itself(install: PreviewFixture) -> None:
    """As it was then, with the same walls; the ticket leads to nothing else, and to no other person's."""
    home = install.www.parents[3]
    (home / f"{KEY.agent}-{KEY.user}-5.html").write_bytes(b"<!doctype html><p>Report")
    (home / f"{KEY.agent}-{KEY.user}-6.html").write_bytes(b"x" * (9 << 20))
    found = {}
    for cubicle, delivery in ((KEY, 5), (KEY, 6), (KEY, 7), (OTHER, 5)):
        ticket = install.tickets.encode_ticket(Ticket(cubicle, "", DASHBOARD, int(time.time()) + 60, delivery=delivery))
        found[cubicle, delivery] = install.get(f"/a/{ticket}/")
        for other in ("index.html", "../5", ".hermit/storage"):
            assert install.get(f"/a/{ticket}/{other}").status == 404
        assert install.get(f"/a/{ticket}/", Sec_Fetch_Dest="document").status == 403
        assert install.get(f"/a/{ticket}/", method="POST").status == 404
    got = found.pop((KEY, 5))
    assert (got.status, set(got.policy)) == (200, set(install.app("todo").policy))
    assert got.body.startswith(b'<!doctype html><script src="')
    assert got.body.endswith(b"<p>Report")
    assert {answer.status for answer in found.values()} == {404}


def test_no_service_worker_is_handed_out(install: PreviewFixture) -> None:
    """One would go on when its page and its app are gone."""
    assert install.app("todo", "js/app.js", Service_Worker="script").status == 403
    assert install.app("todo", "js/app.js").status == 200


def test_the_installs_script_is_first(install: PreviewFixture) -> None:
    """Right behind the doctype, so that nothing of the page runs before it."""
    body = install.app("todo").body.decode()
    assert body.startswith('<!doctype html><script src="')
    assert body.index(".hermit/shim.js") < body.index("<head>")
    script = install.app("todo", ".hermit/shim.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert b'"__BASE__"' not in script.body


@pytest.mark.parametrize(
    ("page", "found"),
    [
        (b"", b"S"),
        (b"<p>", b"S<p>"),
        (b"<!DOCTYPE html><p>", b"<!DOCTYPE html>S<p>"),
        (b"\n<!-- hi --><!doctype html>\n<p>", b"\n<!-- hi --><!doctype html>S\n<p>"),
        (b"\xef\xbb\xbf<!doctype html><p>", b"\xef\xbb\xbf<!doctype html>S<p>"),
        (b"<script>x</script><!doctype html>", b"S<script>x</script><!doctype html>"),
    ],
)
def test_where_the_script_goes(page: bytes, found: bytes) -> None:
    """Before everything but the doctype, whatever stands before that."""
    assert with_shim(page, "B/").replace(b'<script src="B/.hermit/shim.js"></script>', b"S") == found


@pytest.mark.parametrize("page", [b"<!---->" * 1_000, b"<!-- -->\n" * 400 + b"<!doctyp", b"<!--" * 3_000, b" " * 9_000])
def test_a_page_that_takes_long_to_understand(page: bytes) -> None:
    """However many comments an agent writes before nothing, it is one look."""
    began = time.thread_time()
    assert with_shim(page, "B/").endswith(page)
    assert time.thread_time() - began < 2


def test_files_have_their_types(install: PreviewFixture) -> None:
    """As browsers insist on for scripts and styles."""
    types = {
        "js/app.js": "text/javascript; charset=utf-8",
        "a.css": "text/css; charset=utf-8",
        "a.mjs": "text/javascript; charset=utf-8",
        "a.wasm": "application/wasm",
        "a.png": "image/png",
        "a.svg": "image/svg+xml; charset=utf-8",
        "a.json": "application/json; charset=utf-8",
        "a.unknown": "application/octet-stream",
    }
    for name in types:
        install.write(f"todo/{name}", "x")
    assert {name: install.app("todo", name).headers["content-type"] for name in types} == types


def test_a_file_is_sent_again_only_when_it_changed(install: PreviewFixture) -> None:
    """By its tag."""
    first = install.app("todo", "js/app.js")
    assert (first.status, first.body) == (200, b"let a = 1;")
    assert install.app("todo", "js/app.js", If_None_Match=first.headers["etag"]).status == 304
    install.write("todo/js/app.js", "let a = 22;")
    assert install.app("todo", "js/app.js", If_None_Match=first.headers["etag"]).body == b"let a = 22;"


@pytest.mark.parametrize(
    ("wanted", "status", "body", "said"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=4-", 206, b"456789", "bytes 4-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("bytes=5-2", 416, b"", "bytes */10"),
        ("lines=1-2", 200, b"0123456789", None),
    ],
)
def test_parts_of_files(install: PreviewFixture, wanted: str, status: int, body: bytes, said: str | None) -> None:
    """One range is a part, several are the whole, none within it is an error."""
    install.write("todo/ten.bin", "0123456789")
    got = install.app("todo", "ten.bin", Range=wanted)
    assert (got.status, got.body, got.headers.get("content-range")) == (status, body, said)


def test_large_files_arrive_whole(install: PreviewFixture) -> None:
    """From the disk to the network, several on one connection."""
    blob = os.urandom(5_000_000)
    install.write("todo/large.bin", blob)
    assert install.app("todo", "large.bin").body == blob
    assert install.app("todo", "large.bin", method="HEAD").headers["content-length"] == "5000000"


def test_folders(install: PreviewFixture) -> None:
    """One with a front page is that page, under an address that ends with a slash."""
    install.write("todo/help/index.html", "<p>help")
    ticket = install.ticket("todo")
    moved = install.get(f"/a/{ticket}/help")
    assert (moved.status, moved.headers["location"]) == (308, f"{install.origin}/a/{ticket}/help/")
    assert b"help" in install.get(f"/a/{ticket}/help/").body
    moved = install.get(f"/a/{ticket}")
    assert (moved.status, moved.headers["location"]) == (308, f"{install.origin}/a/{ticket}/")
    assert install.get(f"/a/{ticket}/js/").status == 404


@pytest.mark.parametrize(
    "path",
    [
        "link.txt", "links/x.txt", "pipe", "twin.txt", "js", "nothing.html", ".git/config", ".env", "js/.hidden",
        "../notes/secret.txt", "..%2fnotes/secret.txt", "%2e%2e/notes/secret.txt", "js/../../notes/secret.txt",
        "js//app.js", "./js/app.js", "js/app.js%00.html", "js%2fapp.js", "%2fetc%2fpasswd", "/etc/passwd", "js/app.js/",
        "..\\notes",
    ],
)  # fmt: skip
def test_nothing_but_the_apps_own_plain_files(install: PreviewFixture, tmp_path: Path, path: str) -> None:
    """Links, pipes, files with two names, hidden names and every trick with dots: not found."""
    secret = tmp_path / "secret.txt"
    secret.write_text(CANARY)
    install.write("notes/secret.txt", CANARY)
    todo = install.www / "todo"
    (todo / "link.txt").symlink_to(secret)
    (todo / "links").symlink_to(tmp_path)
    os.mkfifo(todo / "pipe")
    os.link(install.write("todo/one.txt", CANARY), todo / "twin.txt")
    install.write("todo/.git/config", CANARY)
    install.write("todo/.env", CANARY)
    install.write("todo/js/.hidden", CANARY)
    got = install.app("todo", path)
    assert got.status == 404, got
    assert CANARY.encode() not in got.body


def test_opened_by_itself_it_says_where_to_go(install: PreviewFixture) -> None:
    """Not a byte of the app is shown outside a frame, and nothing runs on that page."""
    for dest in ("document", "embed", "object"):
        got = install.app("todo", Sec_Fetch_Dest=dest)
        assert got.status == 403
        assert b"Open this in the dashboard" in got.body
        assert b"hello" not in got.body
        assert "script-src" not in got.policy
        assert got.policy["default-src"] == "'none'"


def test_a_browser_that_says_nothing_is_told_by_the_script(install: PreviewFixture) -> None:
    """Without encryption, on an address of the home network, browsers leave that header out."""
    got = install.app("todo", Sec_Fetch_Dest="")
    assert got.status == 200
    assert b"window.top === window" in install.app("todo", ".hermit/shim.js").body


def test_tickets_are_asked_for(install: PreviewFixture) -> None:
    """None, a wrong one, an old one, another app's: nothing is there."""
    assert install.get("/a/x.y/").status == 404
    assert install.get("/").status == 404
    assert install.get(f"/a/{install.ticket('todo', good_for_s=-5)}/").status == 404
    assert install.app("other").status == 404
    stranger = install.ticket("todo", key=CubicleKey("crab", 99))
    assert install.get(f"/a/{stranger}/").status == 404


def test_other_host_names_are_refused(install: PreviewFixture) -> None:
    """A name that a foreign page pointed at us gets nothing."""
    assert install.app("todo", Host="evil.example").status == 421


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "TRACE"])
def test_files_are_only_read(install: PreviewFixture, method: str) -> None:
    """Nothing on this origin changes a file."""
    assert install.app("todo", "js/app.js", method=method, body=b"x").status == 405


def test_unfinished_folders_say_what_is_missing(install: PreviewFixture) -> None:
    """To whoever opens them."""
    install.write("empty/readme.txt", "x")
    got = install.app("empty")
    assert got.status == 404
    assert b"no index.html" in got.body


def test_what_an_app_remembers(install: PreviewFixture) -> None:
    """It comes back with the next page, to this app alone."""
    kept = {"items": '["</script><b>"]', "n": "1"}
    stored = install.app("todo", ".hermit/storage", method="PUT", body=json.dumps(kept).encode())
    assert stored.status == 204
    assert stored.headers["access-control-allow-origin"] == "null"
    script = install.app("todo", ".hermit/shim.js").body.decode()
    assert "</script>" not in script
    assert install.storage.get_values(KEY, "todo") == kept
    install.write("other/index.html", PAGE)
    assert b"items" not in install.app("other", ".hermit/shim.js").body
    assert install.app("todo", ".hermit/storage", method="OPTIONS").status == 204


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[]", 400),
        (b'{"a": 1}', 400),
        (b'{"a": "1", "a": "2"}', 400),
        (b"nonsense", 400),
        (json.dumps({"a": "x" * (MAX_STORED_BYTES * 2)}).encode(), 413),
        (json.dumps({str(n): "" for n in range(3_000)}).encode(), 400),
        (b'{"a": "\\ud800"}', 400),
    ],
)
def test_what_an_app_may_not_keep(install: PreviewFixture, body: bytes, status: int) -> None:
    """Texts, and not too much."""
    assert install.app("todo", ".hermit/storage", method="PUT", body=body).status == status


def test_writing_too_often_is_refused(install: PreviewFixture) -> None:
    """A page in a loop wears out nobody's disk."""
    statuses = {install.app("todo", ".hermit/storage", method="PUT", body=b'{"a": "1"}').status for _ in range(5)}
    assert statuses == {204, 429}


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 40_000 + b"\r\n\r\n",
        b"POST /a/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=["no http", "long head", "two lengths", "no host"],
)
def test_what_is_no_request_ends_its_own_connection(install: PreviewFixture, sent: bytes) -> None:
    """And the next one is served."""
    with socket.create_connection(("127.0.0.1", install.port), timeout=20) as connection:
        connection.sendall(sent)
        heard = connection.recv(65536)
    assert heard == b"" or heard.startswith(b"HTTP/1.1 4")
    assert install.app("todo").status == 200


def test_silent_connections_hold_nothing_up(install: PreviewFixture) -> None:
    """However many are open."""
    idle = [socket.create_connection(("127.0.0.1", install.port), timeout=20) for _ in range(200)]
    began = time.monotonic()
    assert install.app("todo").status == 200
    assert time.monotonic() - began < 15
    for connection in idle:
        connection.close()


def test_a_crowd_of_silent_connections_keeps_nobody_out(
    install: PreviewFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the cap, one that only waits makes room."""
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 8)
    install.write("todo/index.html", PAGE)
    with ExitStack() as crowd:
        for _ in range(5):
            for _ in range(20):
                crowd.enter_context(socket.create_connection(("127.0.0.1", install.port), timeout=20))
            assert install.app("todo").status == 200


def test_one_connection_for_many_requests(install: PreviewFixture) -> None:
    """It is kept, after files, pages, errors, and bodies that nobody wanted."""
    install.write("todo/index.html", PAGE)
    install.write("todo/a.bin", b"a" * 100_000)
    with closing(http.client.HTTPConnection("localhost", install.port, timeout=20)) as connection:
        connection.connect()
        wire = connection.sock
        for method, path, body in (
            ("GET", "", None),
            ("GET", "a.bin", None),
            ("HEAD", "a.bin", None),
            ("GET", "missing", None),
            ("POST", "a.bin", b"x" * 50_000),
            ("GET", "a.bin", None),
        ):
            connection.request(method, f"/a/{install.ticket('todo')}/{path}", body, {"Sec-Fetch-Dest": "iframe"})
            connection.getresponse().read()
            assert connection.sock is wire, path
