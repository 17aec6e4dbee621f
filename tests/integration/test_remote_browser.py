"""An agent in a real cubicle uses a browser that is somebody else's: the same commands, the same questions, a context
of its own for each cubicle, and what nobody allowed is not asked for as far as the driver sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import docker
import pytest

from orchestrator.browser.remote_address import RemoteAddress
from orchestrator.core.config import REMOTE_BROWSER
from orchestrator.operations.doctor.remote_browser import examine_remote_browser
from orchestrator.web.limits import Internet
from tests.support.browsing import approved, close_browser, ref_of, run
from tests.support.driven_site import DrivenSite, driven_site
from tests.support.real_app import RealApp, Talker, eventually, real_install
from tests.support.remote_chromium import CuttableRelay, remote_chromium

pytestmark = [pytest.mark.docker, pytest.mark.browser]

TOKEN = "very-secret-token"


@pytest.fixture(scope="module")
def site() -> Iterator[DrivenSite]:
    """The internet, as the remote browser sees it."""
    with driven_site() as made:
        yield made


@pytest.fixture(scope="module")
def relay(site: DrivenSite) -> Iterator[CuttableRelay]:
    """The way to the remote browser."""
    with remote_chromium(site.port) as made:
        yield made


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    relay: CuttableRelay,
) -> Iterator[RealApp]:
    """An install whose operator named that browser."""
    environment = {REMOTE_BROWSER: f"http://127.0.0.1:{relay.port}?token={TOKEN}"}
    with real_install(tmp_path_factory.mktemp("home"), client, image_tag, environment=environment) as made:
        yield made


@pytest.fixture
def talkers(install: RealApp) -> Iterator[tuple[Talker, Talker]]:
    """Two agents that may browse, whose cubicles run."""
    both = install.agent(toolsets=["browser"]), install.agent(toolsets=["browser"])
    for one in both:
        one.wake()
    yield both
    for one in both:
        close_browser(install, one)


def test_it_is_used_like_any_other(install: RealApp, talkers: tuple[Talker, Talker], site: DrivenSite) -> None:
    """A site is asked about, with where the browser is; pages are read, clicked and photographed; a dialog is answered;
    a host that nobody allowed is refused and listed; no file goes in or out; then it is closed."""
    talker = talkers[0]
    ran, question = approved(install, talker, "open", "http://lab.test/")
    assert "# Lab" in ran.out, ran
    assert any("127.0.0.1" in one and "sees its pages" in one for one in question["detail"]["warnings"])
    assert TOKEN not in json.dumps(question)
    assert "clicked low" in run(install, talker, "click", ref_of(ran.out, "Low button")).out
    assert "Really delete?" in run(install, talker, "click", ref_of(ran.out, "Delete")).out
    assert run(install, talker, "dialog", "accept").code == 0
    assert "asked true" in run(install, talker, "snapshot", "--full").out
    shot = run(install, talker, "screenshot")
    assert ".jp" in shot.out, shot
    for words in (("upload", ref_of(ran.out, "File"), "notes.txt"), ("save", "1")):
        refused = run(install, talker, *words)
        assert refused.code != 0, refused
    reaching = run(install, talker, "open", "http://lab.test/reaching")
    assert "evil.test" in reaching.out, reaching
    assert run(install, talker, "close").code == 0
    assert {"evil.test", "embed.test"} & site.hosts_asked() == set()
    record = install.app.services.settings.home / "browsers" / "remote.json"
    assert json.loads(record.read_text()) == {}


def test_cubicles_are_kept_apart(install: RealApp, talkers: tuple[Talker, Talker]) -> None:
    """A cookie of one is not seen by the other."""
    one, other = talkers
    for talker in talkers:
        ran, _ = approved(install, talker, "open", "http://lab.test/cookie")
        assert "none" in ran.out, ran
    assert "login=yes" in run(install, one, "reload").out
    assert run(install, one, "close").code == 0
    assert "login=yes" in run(install, other, "reload").out


def test_a_dialog_waits_while_the_connection_is_cut(
    install: RealApp, talkers: tuple[Talker, Talker], relay: CuttableRelay
) -> None:
    """It is there afterwards, and is answered."""
    talker = talkers[0]
    ran, _ = approved(install, talker, "open", "http://lab.test/")
    assert "Really delete?" in run(install, talker, "click", ref_of(ran.out, "Delete")).out
    relay.cut()
    assert "Really delete?" in run(install, talker, "snapshot").out
    assert run(install, talker, "dialog", "accept").code == 0
    eventually(lambda: "asked true" in run(install, talker, "snapshot", "--full").out)


def test_the_doctor_says_what_does_not_hold(install: RealApp) -> None:
    """It answers, and has a network of its own; its address is shown without its key."""
    found = examine_remote_browser(install.app.services.settings, Internet())
    assert [str(one.state) for one in found] == ["ok", "warn"]
    assert "WebRTC" in found[1].text
    told = repr(found) + repr(install.app.services.settings) + repr(RemoteAddress(f"ws://x?token={TOKEN}"))
    assert TOKEN not in told
