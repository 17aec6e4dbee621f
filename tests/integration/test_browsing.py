"""An agent in a real cubicle uses a real browser: a person is asked about each site, once; what the page shows comes
back as text; and nothing goes anywhere else. The internet is a few sites on loopback.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.browsing import approved, close_browser, pending, ref_of, run
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, opened
from tests.support.real_app import Ran, RealApp, Talker, eventually, real_install, run_inside

pytestmark = pytest.mark.docker

PAGES = {
    "shop.test/": "<title>Shop</title><h1>Shoes</h1><a href=/cart>Cart</a><input aria-label=Size id=s>"
    "<button onclick=\"document.body.append('Size ' + document.getElementById('s').value)\">Look</button>"
    "<img src=http://static.test/a.png><script src=http://www.google-analytics.com/ga.js></script>"
    "<a href=http://other.test/>Elsewhere</a>",
    "shop.test/cart": "<title>Cart</title><p>It is empty.</p><button onclick=\"document.title=confirm('Sure?')\">Pay",
    "shop.test/tides": "<title>Tides</title><article id=a></article><script>document.getElementById('a').innerHTML = "
    "'<h2>Tides</h2>' + '<p>The tide comes in, and <a href=/cart>goes out</a> again.</p>'.repeat(20)</script>",
    "shop.test/up": "<title>Up</title><button onclick=\"fetch('/sink', {method: 'POST', body: new Uint8Array(3e6)})"
    ".then(() => document.title = 'sent', () => document.title = 'cut')\">Send</button>",
    "other.test/": "<title>Other</title><p>Another site<p><a href=http://shop.test/?words>Back to the shop</a>",
    "static.test/a.png": "no picture",
}


@pytest.fixture(scope="module")
def town() -> FakeInternet:
    """Which names there are, and what was asked of them."""
    names = ("shop.test", "other.test", "static.test", "www.google-analytics.com")
    return FakeInternet({name: [[PUBLIC]] for name in names})


@pytest.fixture(scope="module")
def heads() -> list[str]:
    """Every request that arrived anywhere."""
    return []


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    town: FakeInternet,
    heads: list[str],
) -> Iterator[RealApp]:
    """An install whose way out leads to these sites."""

    def gives(visit: Visit) -> None:
        place = f"{visit.host}{visit.target}"
        heads.append(place)
        while visit.head.startswith("POST") and visit.sock.recv(1 << 16):
            pass  # all of it
        page = PAGES.get(place)
        status = "404 Not Found" if page is None else "200 OK"
        visit.send(answer((page or "").encode(), status, Content_Type="text/html"))

    with opened(gives) as site:
        town.sites[PUBLIC] = site
        with real_install(tmp_path_factory.mktemp("home"), client, image_tag, internet=Internet(town)) as made:
            yield made


@pytest.fixture
def talker(install: RealApp) -> Iterator[Talker]:
    """An agent that may browse, whose cubicle runs."""
    made = install.agent(toolsets=["browser"])
    made.wake()
    yield made
    close_browser(install, made)


def test_a_site_is_asked_about_and_used(install: RealApp, talker: Talker, town: FakeInternet, heads: list[str]) -> None:
    """Nothing is looked up before a yes; then its pages are there, and nothing of anybody else's."""
    looked_up, seen = len(town.looked_up), len(heads)
    ran, question = approved(install, talker, "open", "http://shop.test/", "--why", "for the shoes")
    assert ran.code == 0, ran
    assert "# Shoes" in ran.out
    assert "not loaded" in ran.out.lower()
    assert "static.test" in ran.out
    assert question["text"] == "http://shop.test/"
    assert question["detail"]["site"] == "shop.test"
    assert set(town.looked_up[looked_up:]) == {"shop.test"}
    assert all(one.startswith("shop.test/") for one in heads[seen:])
    size, look = (ref_of(ran.out, word) for word in ("Size", "Look"))
    assert run(install, talker, "type", size, "43").code == 0
    assert "Size 43" in run(install, talker, "click", look).out
    assert "It is empty." in run(install, talker, "open", "http://shop.test/cart").out  # it is there: nobody is asked
    assert pending(install) == []
    back = run(install, talker, "back")
    assert "# Shoes" in back.out
    gone = run(install, talker, "click", ref_of(run(install, talker, "snapshot", "--full").out, "Elsewhere"))
    assert "other.test" in gone.out + gone.err
    assert "other.test" not in town.looked_up[looked_up:]
    turn_sources = install.api.get(f"/agents/{talker.name}/grants")["grants"]
    assert turn_sources == []


def test_a_no_opens_nothing(install: RealApp, talker: Talker, town: FakeInternet) -> None:
    """The agent is told, and nothing was looked up."""
    looked_up = len(town.looked_up)
    ran: list[Ran] = []
    thread = threading.Thread(target=lambda: ran.append(run(install, talker, "open", "http://shop.test/")))
    thread.start()
    question = eventually(lambda: next(iter(pending(install)), {}))
    install.api.post(f"/approvals/{question['id']}", {"decision": "deny", "note": "not that shop"})
    thread.join(60)
    assert ran[0].code == 3, ran
    assert "not that shop" in ran[0].err
    assert town.looked_up[looked_up:] == []


def test_companions_are_one_question(install: RealApp, talker: Talker, heads: list[str]) -> None:
    """What the page was kept from is asked about together, but never who measures people."""
    approved(install, talker, "open", "http://shop.test/")
    seen = len(heads)
    ran, question = approved(install, talker, "allow", "--why", "the pictures")
    assert ran.code == 0, ran
    assert question["text"] == "With shop.test:\nstatic.test"
    assert "static.test/a.png" in heads[seen:]
    assert not any("google-analytics" in one for one in heads)


def test_a_dialog_is_answered(install: RealApp, talker: Talker) -> None:
    """It is told at once, and its answer reaches the page."""
    approved(install, talker, "open", "http://shop.test/cart")
    pay = ref_of(run(install, talker, "snapshot", "--full").out, "Pay")
    asked = run(install, talker, "click", pay)
    assert "Sure?" in asked.out
    assert "was accepted" in run(install, talker, "dialog", "accept").out
    assert run(install, talker, "snapshot", "--full").out.startswith("true\n")


def test_a_picture_lands_in_the_inbox(install: RealApp, talker: Talker) -> None:
    """A JPEG and a PDF, named as was asked."""
    approved(install, talker, "open", "http://shop.test/cart")
    assert "../in/cart.jpg" in run(install, talker, "screenshot", "--out", "cart.jpg").out
    assert "../in/page.pdf" in run(install, talker, "pdf").out
    inbox = talker.work.parent / "in"
    assert (inbox / "cart.jpg").read_bytes()[:3] == b"\xff\xd8\xff"
    assert (inbox / "page.pdf").read_bytes()[:5] == b"%PDF-"


def test_a_page_that_scripts_make_is_read(install: RealApp, talker: Talker) -> None:
    """As Markdown, by the reader inside the cubicle; by either command, after one yes."""
    install.api.patch(f"/agents/{talker.name}", {"toolsets": ["browser", "assets"]})
    ran, _ = approved(install, talker, "read", "http://shop.test/tides", "--links")
    assert ran.code == 0, ran
    assert ran.out.startswith("# Tides\n")
    assert "The tide comes in" in ran.out
    assert "[1] http://shop.test/cart" in ran.out
    again = run_inside(
        install.client, talker, "hermit", "read", "http://shop.test/tides", "--browser", "--why", "tides"
    )
    assert "The tide comes in" in again.out, again


def test_who_sends_much_is_asked_about_again(install: RealApp, talker: Talker) -> None:
    """3 MB do not get through, and then nothing more does until a person said yes once more."""
    approved(install, talker, "open", "http://shop.test/up")
    send = ref_of(run(install, talker, "snapshot", "--full").out, "Send")
    run(install, talker, "click", send)
    assert run(install, talker, "wait", "1").code == 0
    assert run(install, talker, "snapshot", "--full").out.startswith("cut\n")
    ran, question = approved(install, talker, "open", "http://shop.test/")
    assert "2 MB in this task already" in question["detail"]["warnings"][0]
    assert "# Shoes" in ran.out


def test_a_grant_is_for_the_site_until_another_is_read(install: RealApp, talker: Talker) -> None:
    """Allowed in advance nobody is asked; after another site was read, a person is."""
    install.api.post(f"/agents/{talker.name}/grants", {"kind": "site", "subject": "www.shop.test", "scope": "always"})
    (grant,) = install.api.get(f"/agents/{talker.name}/grants")["grants"]
    assert (grant["kind"], grant["subject"]) == ("site", "shop.test")
    assert "# Shoes" in run(install, talker, "open", "http://shop.test/").out
    ran, _ = approved(install, talker, "open", "http://other.test/")
    led = run(install, talker, "click", ref_of(ran.out, "Back to the shop"))
    assert "shop.test" in led.out + led.err  # a link of a stranger's is no way around the question
    assert "# Shoes" not in run(install, talker, "snapshot", "--full").out
    approved(install, talker, "open", "http://shop.test/")


def test_what_can_be_used_is_told(install: RealApp, talker: Talker) -> None:
    """What is missing or odd is said before anybody is asked."""
    assert "No browser is open" in run(install, talker, "snapshot").err
    assert "not an address" in run(install, talker, "open", "http://93.184.215.14/").err
    assert "measures people" in run(install, talker, "open", "http://www.google-analytics.com/").err
    assert run(install, talker, "scroll", "sideways").code != 0
    assert pending(install) == []


def test_the_model_is_asked_about_a_picture(install: RealApp, talker: Talker) -> None:
    """At the turn's cost; the picture goes to the model alone, and its answer comes back as what a page says."""
    page, _ = approved(install, talker, "open", "http://shop.test/")
    assert page.code == 0, page
    command = "hermit browser look 'What colour are the shoes?'"
    turn = talker.ask(install.plays.commands(command))
    (step,) = turn["steps"]
    assert (step["exit_code"], step["output"].splitlines()[-1]) == (0, "I see a picture."), step
    asked = next(r.json for r in install.model.calls if not isinstance(r.json["messages"][-1]["content"], str))
    system, (question, picture) = asked["messages"][0], asked["messages"][1]["content"]
    assert "never an order" in system["content"]
    assert question["text"] == "What colour are the shoes?"
    assert picture["image_url"]["url"].startswith("data:image/jpeg;base64,/9j/")
    assert len(picture["image_url"]["url"]) < 3_000_000
    assert "shop.test" in str(turn.get("sources", ""))
