"""Logins that stay, with real browsers in a real cubicle: who was logged in is so in the next browser, on that site and
for that agent alone, until the person forgets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.browsing import approved, close_browser, pending, ref_of, run
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, opened
from tests.support.real_app import RealApp, Talker, real_install

pytestmark = pytest.mark.docker

PAGE = (
    "<title>Account</title><p>{who}</p><p id=kept></p><button onclick=\"localStorage.setItem('theme','dark');"
    "location.href='/login'\">Log in</button><script>document.getElementById('kept').textContent="
    "'theme '+localStorage.getItem('theme')</script>"
)


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image_tag: Callable[[str], str]
) -> Iterator[RealApp]:
    """An install with a site that knows its visitors by a cookie that no script reads."""

    def gives(visit: Visit) -> None:
        who = "Hello Ada" if "sid=ada" in visit.head else "Who are you?"
        more = {"Set_Cookie": "sid=ada; HttpOnly; Path=/; Max-Age=3600"} if visit.target == "/login" else {}
        page = PAGE.format(who=who).encode()
        visit.send(answer(page, Content_Type="text/html; charset=utf-8", **more))

    town = FakeInternet({"shop.test": [[PUBLIC]], "other.test": [[PUBLIC]]})
    with opened(gives) as site:
        town.sites[PUBLIC] = site
        named = {"HERMIT_PRIVATE_HOSTS": "shop.test:80,other.test:80"}
        home = tmp_path_factory.mktemp("home")
        with real_install(home, client, image_tag, internet=Internet(town), environment=named) as made:
            yield made


@pytest.fixture
def agent(install: RealApp) -> Iterator[Talker]:
    """One that may browse."""
    made = install.agent(toolsets=["browser"])
    made.wake()
    yield made
    close_browser(install, made)


def look(install: RealApp, agent: Talker, host: str = "shop.test") -> str:
    """What a page of a host says, after a yes where one is needed."""
    page, _ = approved(install, agent, "open", f"http://{host}/")
    assert page.code == 0, page
    return page.out


def log_in(install: RealApp, agent: Talker) -> None:
    """By the button of the page that is open."""
    run(install, agent, "click", ref_of(run(install, agent, "snapshot", "--full").out, "Log in"))
    assert "Hello Ada" in run(install, agent, "open", "http://shop.test/").out


def test_a_login_outlives_its_browser(install: RealApp, agent: Talker) -> None:
    """Also one that no script of the page can read; what pages stored comes back with it."""
    path = f"/agents/{agent.name}/browser/logins"
    assert "Who are you?" in look(install, agent)
    log_in(install, agent)
    close_browser(install, agent)
    assert "Who are you?" in look(install, agent)

    kept = install.api.post(path, {"site": "www.shop.test"})
    assert kept["site"] == "shop.test"
    log_in(install, agent)
    (listed,) = install.api.get(path)["logins"]
    assert listed["cookies"] == 1
    assert set(listed) == {"site", "since", "by", "saved_at", "cookies"}
    close_browser(install, agent)
    back = look(install, agent)
    assert "Hello Ada" in back
    assert "theme dark" in back
    assert [row["kind"] for row in install.api.get("/audit")["rows"]].count("login.restored") == 1


def test_nobody_else_is_logged_in(install: RealApp, agent: Talker) -> None:
    """Not another agent, not another site; and nothing is given while the site is not allowed."""
    install.api.post(f"/agents/{agent.name}/browser/logins", {"site": "shop.test"})
    look(install, agent)
    log_in(install, agent)
    assert "Who are you?" in look(install, agent, "other.test")
    other = install.agent(toolsets=["browser"])
    other.wake()
    assert "Who are you?" in look(install, other)
    close_browser(install, other)
    close_browser(install, agent)
    before = [row["kind"] for row in install.api.get("/audit")["rows"]].count("login.restored")
    assert "Who are you?" in look(install, agent, "other.test")
    assert [row["kind"] for row in install.api.get("/audit")["rows"]].count("login.restored") == before
    assert pending(install) == []


def test_what_is_forgotten_is_gone_from_an_open_browser_too(install: RealApp, agent: Talker) -> None:
    """At once, and for those that come."""
    path = f"/agents/{agent.name}/browser/logins"
    look(install, agent)
    log_in(install, agent)
    install.api.post(path, {"site": "shop.test"})
    assert install.api.get(path)["logins"][0]["cookies"] == 1
    assert install.api.call("DELETE", f"{path}/shop.test").status_code == 204
    page = run(install, agent, "open", "http://shop.test/").out
    assert "Who are you?" in page
    assert "theme null" in page
    assert install.api.get(path)["logins"] == []
    assert install.api.call("DELETE", f"{path}/shop.test").status_code == 404
