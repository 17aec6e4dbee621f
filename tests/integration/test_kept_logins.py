"""Logins that stay, with real browsers in a real cubicle: who was logged in is so in the next browser, on that site and
for that agent alone, until the person forgets it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.browsing import approved, close_browser, pending, ref_of, run
from tests.support.fake_internet import PUBLIC, FakeInternet, FakeSite, Visit, answer, opened
from tests.support.real_app import AppProcess, RealApp, Talker, eventually, process_install, real_install, run_inside

pytestmark = pytest.mark.docker

PAGE = (
    "<title>Account</title><p>{who}</p><p id=kept></p><button onclick=\"localStorage.setItem('theme','dark');"
    "location.href='/login'\">Log in</button><script>document.getElementById('kept').textContent="
    "'theme '+localStorage.getItem('theme')</script>"
)


def give_page(visit: Visit) -> None:
    """It knows its visitors by a cookie that no script reads."""
    is_login = visit.target == "/login"
    who = "Hello Ada" if is_login or "sid=ada" in visit.head else "Who are you?"
    more = {"Set_Cookie": "sid=ada; HttpOnly; Path=/; Max-Age=3600"} if is_login else {}
    visit.send(answer(PAGE.format(who=who).encode(), Content_Type="text/html; charset=utf-8", **more))


@pytest.fixture(scope="module")
def shop() -> Iterator[FakeSite]:
    """The site."""
    with opened(give_page) as site:
        yield site


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    shop: FakeSite,
) -> Iterator[RealApp]:
    """An install with the site under two names."""
    town = FakeInternet({"shop.test": [[PUBLIC]], "other.test": [[PUBLIC]]})
    town.sites[PUBLIC] = shop
    named = {"HERMIT_PRIVATE_HOSTS": "shop.test:80,other.test:80"}
    home = tmp_path_factory.mktemp("home")
    with real_install(home, client, image_tag, internet=Internet(town), environment=named) as made:
        yield made


@pytest.fixture(scope="module")
def process(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    shop: FakeSite,
) -> Iterator[AppProcess]:
    """An install that is a process, whose operator named the site."""
    image_tag("base"), image_tag("browser")
    environment = {"HERMIT_PRIVATE_HOSTS": f"localhost:{shop.port}"}
    with process_install(tmp_path_factory.mktemp("home"), client, environment) as made:
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


def restored(install: RealApp) -> int:
    """How often a browser was given what was kept."""
    return [row["kind"] for row in install.api.get("/audit")["rows"]].count("login.restored")


def allowed(process: AppProcess, agent: Talker, url: str) -> str:
    """What a page says, after a person's yes."""
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(run_inside, process.client, agent, "hermit", "browser", "open", url)
        (question,) = eventually(lambda: process.api.get("/approvals", status="pending")["approvals"])
        assert agent.decide(question["id"], "approve").ok
        return opening.result(90).out


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
    assert set(listed) == {"site", "since", "by", "saved_at", "cookies", "names"}
    assert listed["names"] == ["sid"]
    close_browser(install, agent)
    back = look(install, agent)
    assert "Hello Ada" in back
    assert "theme dark" in back
    assert restored(install) == 1


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
    before = restored(install)
    assert "Who are you?" in look(install, agent, "other.test")
    assert restored(install) == before
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


def test_a_site_that_is_no_longer_allowed_gets_nothing(install: RealApp, agent: Talker) -> None:
    """Allowed in advance it does; afterwards its cookies are not in the browser at all."""
    install.api.post(f"/agents/{agent.name}/browser/logins", {"site": "shop.test"})
    look(install, agent)
    log_in(install, agent)
    close_browser(install, agent)
    grant = install.api.post(
        f"/agents/{agent.name}/grants", {"kind": "site", "subject": "shop.test", "scope": "always"}
    )
    assert "Hello Ada" in run(install, agent, "open", "http://shop.test/").out
    close_browser(install, agent)
    before = restored(install)
    assert install.api.call("DELETE", f"/agents/{agent.name}/grants/{grant['id']}").ok
    look(install, agent, "other.test")
    assert restored(install) == before


def test_a_login_that_comes_behind_a_call_is_kept_too(install: RealApp, agent: Talker) -> None:
    """The page went on by itself when the agent's call had ended; and one of a call that failed."""
    path = f"/agents/{agent.name}/browser/logins"
    install.api.post(path, {"site": "shop.test"})
    look(install, agent)
    script = "setTimeout(() => { document.cookie = 'late=1; Max-Age=3600' }, 50); await new Promise(() => {})"
    wanted = json.dumps({"expression": f"(async () => {{ {script} }})()", "awaitPromise": False})
    assert run(install, agent, "cdp", "Runtime.evaluate", wanted).code == 0
    eventually(lambda: "late" in install.api.get(path)["logins"][0]["names"])
    close_browser(install, agent)
    look(install, agent)
    shown = json.dumps({"expression": "document.cookie", "returnByValue": True})
    assert "late=1" in run(install, agent, "cdp", "Runtime.evaluate", shown).out


def test_a_person_logs_in_and_keeps_it(install: RealApp, agent: Talker) -> None:
    """Taken over, with a site of their own choosing; what was kept is there when they come back to it by hand."""
    path = f"/agents/{agent.name}/browser"
    look(install, agent, "other.test")
    install.api.post(f"{path}/take-over")
    assert install.api.call("POST", f"{path}/go", json={"url": "http://shop.test/login"}).ok
    assert install.api.get(path)["site"] == "shop.test"
    assert install.api.post(f"{path}/logins", {"site": "shop.test"})["names"] == ["sid"]
    install.api.post(f"{path}/give-back")
    close_browser(install, agent)
    look(install, agent, "other.test")
    install.api.post(f"{path}/take-over")
    assert install.api.call("POST", f"{path}/go", json={"url": "http://shop.test/"}).ok
    install.api.post(f"{path}/give-back")
    assert "Hello Ada" in run(install, agent, "snapshot", "--full").out


@pytest.mark.parametrize("end", [AppProcess.kill, AppProcess.terminate], ids=["killed", "stopped"])
def test_a_login_outlives_the_orchestrator(
    process: AppProcess, shop: FakeSite, end: Callable[[AppProcess], None]
) -> None:
    """Killed or stopped while the browser was open, and started again; no other agent is logged in."""
    agent, url = process.agent(toolsets=["browser"]), f"http://localhost:{shop.port}/"
    agent.wake()
    assert "Who are you?" in allowed(process, agent, url)
    process.api.post(f"/agents/{agent.name}/browser/logins", {"site": "localhost"})
    assert "Hello Ada" in run_inside(process.client, agent, "hermit", "browser", "open", f"{url}login").out
    end(process)
    process.start()
    agent.wake()
    assert "Hello Ada" in allowed(process, agent, url)
    other = process.agent(toolsets=["browser"])
    other.wake()
    assert "Who are you?" in allowed(process, other, url)
    for one in (agent, other):
        process.api.call("POST", f"/agents/{one.name}/browser/close")
