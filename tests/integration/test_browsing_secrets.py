"""A secret that a person keeps for a host, in a real cubicle with a real browser: it reaches pages of that host, and no
answer, file or row that an agent or a log could read.
"""

from __future__ import annotations

import html
import sqlite3
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.browsing import approved, close_browser, pending, ref_of, run
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, opened
from tests.support.real_app import RealApp, Talker, eventually, real_install

pytestmark = pytest.mark.docker

VALUE = "correct horse&ü7"
SPELLED = (VALUE, quote(VALUE), quote_plus(VALUE), html.escape(VALUE))
PAGE = (
    '<title>Login</title><input aria-label=Password id=p><p id=echo></p><button onclick="login()">Log in'
    "</button><script>function login(){"
    "const v=document.getElementById('p').value;history.pushState(0,'','/login/'+encodeURIComponent(v));"
    "document.title=v;fetch('/form?'+new URLSearchParams({pass:v}))}document.getElementById('p').addEventListener("
    "'input',e=>document.getElementById('echo').textContent='You wrote '+e.target.value)</script>"
)


_LOOKS = (("snapshot", "--full"), ("screenshot",), ("console",), ("tabs",), ("frames",), ("images",))


@pytest.fixture(scope="module")
def targets() -> list[str]:
    """What was asked of any site."""
    return []


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    targets: list[str],
) -> Iterator[RealApp]:
    """An install whose operator named one host without encryption; there is another."""

    def gives(visit: Visit) -> None:
        targets.append(visit.target)
        page = f"<title>Account</title><p>Your password is {VALUE}" if visit.target == "/shown" else PAGE
        visit.send(answer(page.encode(), Content_Type="text/html; charset=utf-8"))

    town = FakeInternet({"wiki.test": [[PUBLIC]], "other.test": [[PUBLIC]]})
    with opened(gives) as site:
        town.sites[PUBLIC] = site
        home, named = tmp_path_factory.mktemp("home"), {"HERMIT_PRIVATE_HOSTS": "wiki.test:80"}
        with real_install(home, client, image_tag, internet=Internet(town), environment=named) as made:
            yield made


@pytest.fixture
def talker(install: RealApp) -> Iterator[Talker]:
    """An agent that may browse, with a secret for one host."""
    made = install.agent(toolsets=["browser"])
    made.wake()
    install.api.post("/me/page-secrets", {"name": "wiki", "host": "wiki.test", "value": VALUE})
    yield made
    close_browser(install, made)


def test_its_page_gets_it_and_nobody_else_sees_it(
    install: RealApp, talker: Talker, targets: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Without a question; the page shows it, and the agent reads dots and gets no picture of it."""
    caplog.set_level("DEBUG")
    assert run(install, talker, "secrets").out == "wiki for wiki.test\n"
    opened_page, _ = approved(install, talker, "open", "http://wiki.test/")
    field, button = (ref_of(opened_page.out, name) for name in ("Password", "Log in"))
    filled = run(install, talker, "fill", field, "--secret", "wiki")
    assert filled.code == 0, filled
    assert "You wrote •••" in filled.out
    assert pending(install) == []
    clicked = run(install, talker, "click", button)
    assert eventually(lambda: f"/form?pass={quote_plus(VALUE)}" in targets)
    looked = [run(install, talker, *words) for words in _LOOKS]
    raw = run(install, talker, "cdp", "Runtime.evaluate", '{"expression": "document.getElementById(\\"p\\").value"}')
    for ran in (filled, clicked, raw, *looked):
        assert not any(spelled in ran.out + ran.err for spelled in SPELLED)
    assert "/login/•••" in looked[3].out
    assert looked[1].code != 0
    assert raw.code != 0
    account = run(install, talker, "open", "http://wiki.test/shown")
    assert "Your password is •••" in account.out
    assert run(install, talker, "screenshot").code != 0
    (used,) = [row for row in install.api.get("/audit")["rows"] if row["kind"] == "secret.used"]
    assert (used["agent"], used["detail"]) == (talker.name, {"name": "wiki", "host": "wiki.test"})
    with sqlite3.connect(install.home / "db" / "hermit.db") as db:
        holding = [line for line in db.iterdump() if VALUE in line]
    assert len(holding) == 1
    assert holding[0].startswith('INSERT INTO "page_secrets"')
    assert VALUE not in caplog.text


def test_another_page_gets_nothing(install: RealApp, talker: Talker, targets: list[str]) -> None:
    """Nor does one that nobody encrypts, though a secret is kept for it, nor is one made up."""
    install.api.post("/me/page-secrets", {"name": "other", "host": "other.test", "value": VALUE})
    seen = len(targets)
    opened_page, _ = approved(install, talker, "open", "http://other.test/")
    field = ref_of(opened_page.out, "Password")
    assert "Secret wiki is for wiki.test alone" in run(install, talker, "fill", field, "--secret", "wiki").err
    assert "not encrypted" in run(install, talker, "fill", field, "--secret", "other").err
    assert "There is no secret “none”" in run(install, talker, "fill", field, "--secret", "none").err
    run(install, talker, "click", ref_of(opened_page.out, "Log in"))
    assert not any("correct" in target for target in targets[seen:])
