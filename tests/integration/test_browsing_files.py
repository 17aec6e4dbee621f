"""Files that pages give and get, in a real cubicle with a real browser: a person is asked about exactly one file, and
exactly that goes.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.browsing import approved, close_browser, pending, ref_of, run
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, opened
from tests.support.real_app import Ran, RealApp, Talker, eventually, real_install

pytestmark = pytest.mark.docker

INVOICE = b"%PDF-1.4 the invoice of May" + b"." * 5_000
PAGES = {
    "shop.test/": "<title>Shop</title><a href=/invoice.pdf download>Invoice</a>"
    "<a download='../../etc/.pass wd.txt' href='data:text/plain,made%20here'>Made</a>"
    "<a href=/missing download>Missing</a>"
    "<button onclick=\"const a=document.createElement('a');a.href=window.URL.createObjectURL(new Blob(['a,b\\n1,2']));"
    "a.download='table.csv';a.click()\">Table</button>",
}
TAKES = (
    "<title>Desk</title><input type=file multiple aria-label=Papers><p id=got>nothing</p><script>"
    "document.querySelector('input').onchange=async e=>{for(const f of e.target.files)"
    "{const r=await fetch('/take/'+f.name,{method:'POST',body:f});got.textContent+=' '+await r.text()}}</script>"
)
PAGES["shop.test/desk"] = TAKES
PAGES["shop.test/other"] = TAKES.replace("Desk", "Other desk")
FILES = {"shop.test/invoice.pdf": INVOICE}


@pytest.fixture(scope="module")
def taken() -> dict[str, bytes]:
    """What pages sent away, by where it went."""
    return {}


def body_of(visit: Visit) -> bytes:
    """All of a request's body."""
    head, _, body = visit.head.encode("latin-1").partition(b"\r\n\r\n")
    size = int(next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))[15:])
    while len(body) < size and (piece := visit.sock.recv(65536)):
        body += piece
    return body


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    taken: dict[str, bytes],
) -> Iterator[RealApp]:
    """An install whose way out leads to one site."""

    def gives(visit: Visit) -> None:
        place = f"{visit.host}{visit.target}"
        if visit.head.startswith("POST "):
            taken[visit.target] = body_of(visit)
            visit.send(answer(f"got {len(taken[visit.target])}".encode()))
        elif place in FILES:
            visit.send(answer(FILES[place], Content_Type="application/pdf"))
        else:
            page = PAGES.get(place)
            status = "404 Not Found" if page is None else "200 OK"
            visit.send(answer((page or "").encode(), status, Content_Type="text/html"))

    town = FakeInternet({"shop.test": [[PUBLIC]]})
    with opened(gives) as site:
        town.sites[PUBLIC] = site
        with real_install(tmp_path_factory.mktemp("home"), client, image_tag, internet=Internet(town)) as made:
            yield made


@pytest.fixture
def talker(install: RealApp) -> Iterator[Talker]:
    """An agent whose browser shows the shop."""
    made = install.agent(toolsets=["browser"])
    made.wake()
    approved(install, made, "open", "http://shop.test/")
    yield made
    close_browser(install, made)


def click(install: RealApp, agent: Talker, name: str) -> Ran:
    """On what is called so."""
    return run(install, agent, "click", ref_of(run(install, agent, "snapshot", "--full").out, name))


def listed(install: RealApp, agent: Talker) -> str:
    """What pages gave, once nothing is on its way."""
    return eventually(lambda: text if "is coming" not in (text := run(install, agent, "downloads").out) else "")


def test_a_file_is_saved_after_a_yes(install: RealApp, talker: Talker) -> None:
    """The question names it to the byte; it lies in the inbox under its name, once, and its host has been read."""
    assert "File 1: “invoice.pdf”" in click(install, talker, "Invoice").out
    assert "1: “invoice.pdf” from shop.test, 5,027 bytes, is there" in listed(install, talker)
    inbox = talker.work.parent / "in"
    assert not (inbox / "invoice.pdf").exists()
    ran, question = approved(install, talker, "save", "1", "--why", "for the books", kind="page_file")
    assert ran.code == 0, ran
    assert "../in/invoice.pdf (5,027 bytes)" in ran.out
    assert (inbox / "invoice.pdf").read_bytes() == INVOICE
    digest = hashlib.sha256(INVOICE).hexdigest()
    assert question["text"] == f"invoice.pdf\n5,027 bytes from shop.test\nSHA-256 {digest}"
    detail = question["detail"]
    assert (detail["host"], detail["page"], detail["why"]) == ("shop.test", "shop.test", "for the books")
    assert "was saved" in run(install, talker, "downloads").out
    assert "was saved already" in run(install, talker, "save", "1").err
    (line,) = [one for one in install.api.get("/audit")["rows"] if one["kind"] == "browser.saved"][:1]
    assert (line["detail"]["sha256"], line["detail"]["host"]) == (digest, "shop.test")
    assert eventually(lambda: held_by(install) == [])


def held_by(install: RealApp) -> list[str]:
    """Copies that lie about on the host."""
    folder = install.home / "browsers"
    return [path.name for kind in ("saved", "given") for path in folder.glob(f"{kind}/*")]


def test_a_no_saves_nothing_and_it_may_be_asked_again(install: RealApp, talker: Talker) -> None:
    """The agent hears the words; the file is still there for another question."""
    assert "table.csv" in click(install, talker, "Table").out + listed(install, talker)
    ran: list[Ran] = []
    thread = threading.Thread(target=lambda: ran.append(run(install, talker, "save", "1")))
    thread.start()
    question = eventually(lambda: next(iter(pending(install)), {}))
    install.api.post(f"/approvals/{question['id']}", {"decision": "deny", "note": "not that one"})
    thread.join(60)
    assert ran[0].code == 3, ran
    assert "not that one" in ran[0].err
    assert list((talker.work.parent / "in").iterdir()) == []
    assert eventually(lambda: held_by(install) == [])
    again, _ = approved(install, talker, "save", "1", "--out", "numbers.csv", kind="page_file")
    assert "../in/numbers.csv" in again.out
    assert (talker.work.parent / "in" / "numbers.csv").read_bytes() == b"a,b\n1,2"


def test_a_page_does_not_choose_the_place(install: RealApp, talker: Talker) -> None:
    """A name that leads elsewhere becomes a plain one, and a taken one gets a number; a script's file has a host."""
    click(install, talker, "Made")
    assert "from shop.test" in listed(install, talker)
    ran, question = approved(install, talker, "save", "1", kind="page_file")
    name = question["detail"]["name"]
    assert "/" not in name
    assert not name.startswith(".")
    assert (talker.work.parent / "in" / name).read_bytes() == b"made here", ran
    click(install, talker, "Made")
    again, _ = approved(install, talker, "save", "2", "--out", name, kind="page_file")
    assert again.code == 0
    assert len(list((talker.work.parent / "in").iterdir())) == 2


def test_a_host_that_was_allowed_is_not_asked_about(install: RealApp, talker: Talker) -> None:
    """As for downloads: until somebody else was read."""
    install.api.post(f"/agents/{talker.name}/grants", {"kind": "host", "subject": "shop.test", "scope": "always"})
    click(install, talker, "Invoice")
    ran = run(install, talker, "save", "1")
    assert "../in/invoice.pdf" in ran.out, ran
    assert pending(install) == []


def test_what_can_be_saved_is_told(install: RealApp, talker: Talker) -> None:
    """No number, no such file, none that came."""
    assert "NUMBER is missing" in run(install, talker, "save").err
    assert "There is no file 7" in run(install, talker, "save", "7").err
    assert run(install, talker, "downloads").out.strip() == "No page gave a file."
    assert pending(install) == []


def desk(install: RealApp, agent: Talker) -> str:
    """The page that takes files is open; the ref of its field."""
    return ref_of(run(install, agent, "open", "http://shop.test/desk").out, "Papers")


def test_a_page_gets_exactly_what_was_agreed_to(install: RealApp, talker: Talker, taken: dict[str, bytes]) -> None:
    """The copy of the moment of the question, at the page of the question, though it is more than pages may send
    otherwise; what was changed meanwhile stays here."""
    field = desk(install, talker)
    large = b"0123456789" * 300_000
    (talker.work / "large.bin").write_bytes(large)
    (talker.work / "small.txt").write_bytes(b"as it was")
    ran: list[Ran] = []
    words = ("upload", field, "/app/workspace/work/large.bin", "/app/workspace/work/small.txt", "--why", "as asked")
    thread = threading.Thread(target=lambda: ran.append(run(install, talker, *words)))
    thread.start()
    question = eventually(lambda: next(iter(pending(install)), {}))
    (talker.work / "small.txt").write_bytes(b"a password")
    assert taken == {}
    install.api.post(f"/approvals/{question['id']}", {"decision": "approve"})
    thread.join(60)
    assert ran[0].code == 0, ran
    assert eventually(lambda: len(taken) == 2)
    assert taken == {"/take/large.bin": large, "/take/small.txt": b"as it was"}
    digest = hashlib.sha256(large).hexdigest()
    assert question["text"].startswith(f"To http://shop.test:\nwork/large.bin\n3,000,000 bytes, SHA-256 {digest}\n")
    assert (question["kind"], question["detail"]["why"]) == ("page_upload", "as asked")
    assert eventually(lambda: held_by(install) == [])
    (line,) = [one for one in install.api.get("/audit")["rows"] if "files" in one["detail"]][:1]
    assert line["detail"]["origin"] == "http://shop.test"
    assert line["detail"]["files"][0] == {"path": "work/large.bin", "size_bytes": 3_000_000, "sha256": digest}


def test_a_no_gives_nothing(install: RealApp, talker: Talker, taken: dict[str, bytes]) -> None:
    """The copy is gone, the page got nothing, and a yes that comes after the page is another one gives nothing."""
    field = desk(install, talker)
    taken.clear()
    (talker.work / "paper.txt").write_bytes(b"a paper")
    for decision in ("deny", "approve"):
        ran: list[Ran] = []
        words = ("upload", field, "/app/workspace/work/paper.txt", "--why", decision)
        thread = threading.Thread(target=lambda words=words, ran=ran: ran.append(run(install, talker, *words)))
        thread.start()
        question = eventually(lambda: next(iter(pending(install)), {}))
        if decision == "approve":
            assert "Other desk" in run(install, talker, "open", "http://shop.test/other").out
        install.api.post(f"/approvals/{question['id']}", {"decision": decision})
        thread.join(60)
        assert ran[0].code != 0, ran
    assert taken == {}
    assert eventually(lambda: held_by(install) == [])


def test_what_can_be_given_is_told(install: RealApp, talker: Talker) -> None:
    """A path out of the workspace, a folder, a link that leads out, no such element: nobody is asked."""
    field = desk(install, talker)
    (talker.work / "out").symlink_to("/etc/passwd")
    assert "not in /app/workspace" in run(install, talker, "upload", field, "/etc/passwd").err
    assert "not in /app/workspace" in run(install, talker, "upload", field, "/app/workspace/work/out").err
    assert "not a plain file" in run(install, talker, "upload", field, "/app/workspace/work").err
    assert "No such file" in run(install, talker, "upload", field, "/app/workspace/work/none").err
    (talker.work / "paper.txt").write_bytes(b"a paper")
    assert run(install, talker, "upload", "e999", "/app/workspace/work/paper.txt").code == 1
    assert pending(install) == []
    assert eventually(lambda: held_by(install) == [])
