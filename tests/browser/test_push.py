"""Notifications in a real Chromium: turned on by a person, shown by the service worker, answered on the notification
with this browser's login.

Chromium's own push service is out of reach. So the subscription is a stand-in with real keys, and what the install
posted is handed to the worker by the debugging protocol, as the push service would hand it over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, Worker, expect

from orchestrator.core.models import ApprovalStatus, CubicleKey
from tests.browser.conftest import ARGUMENTS, CHROMIUM, PHONE, Visit, open_window
from tests.support.app_fixture import AppFixture, run_app
from tests.support.push_service import PushService, SubscribedBrowser, run_push_service

pytestmark = pytest.mark.browser

KEY = CubicleKey("crab", 1)
ASKED = ["crab: may this run?", "rm -r build", ["Approve", "Deny"]]
STAND_IN = """
  let known = null;
  const make = (options) => ({
    options, endpoint: %(endpoint)s, toJSON: () => (%(subscription)s), unsubscribe: async () => ((known = null), true),
  });
  PushManager.prototype.subscribe = async function (options) {
    return (known = make({ applicationServerKey: options.applicationServerKey.buffer }));
  };
  PushManager.prototype.getSubscription = async () => known;
"""

LOOKED_AWAY = "Object.defineProperty(document, 'hidden', { get: () => sessionStorage.away === 'yes' });"
"""A page that is open, and that nobody looks at."""


class Handset:
    """A browser on a phone, with what its push service would do."""

    def __init__(self, context: BrowserContext, install: AppFixture, service: PushService) -> None:
        self.context, self.install, self.service = context, install, service
        self.push: SubscribedBrowser = service.subscribe("handset")
        subscription = json.dumps(self.push.subscription)
        context.add_init_script(LOOKED_AWAY)
        context.add_init_script(STAND_IN % {"endpoint": json.dumps(self.push.endpoint), "subscription": subscription})
        context.grant_permissions(["notifications"], origin=install.url)
        self.visit: Visit = open_window(context, install)
        self._is_looked_at: bool | None = None
        """What the worker is told; None: it finds out."""

    @property
    def page(self) -> Page:
        """Its window."""
        return self.visit.page

    @property
    def worker(self) -> Worker:
        """Its service worker, which the browser ends when it has nothing to do, and starts again for a message."""
        for _ in range(300):
            self.page.evaluate("async () => (await navigator.serviceWorker.ready).active.postMessage('wake')")
            running = [worker for worker in self.context.service_workers if worker.url.endswith("/sw.js")]
            if running:
                return running[-1]
            self.page.wait_for_timeout(30)
        raise AssertionError("the service worker does not run")

    def hear(self) -> dict[str, Any]:
        """The next message reaches it."""
        said = self.push.open_message(self.service.take().body)
        debugging: CDPSession = self.context.new_cdp_session(self.page)
        registrations: list[dict[str, Any]] = []
        debugging.on("ServiceWorker.workerRegistrationUpdated", lambda e: registrations.extend(e["registrations"]))
        debugging.send("ServiceWorker.enable")
        for _ in range(100):
            if registrations:
                break
            self.page.wait_for_timeout(20)
        message = {
            "origin": self.install.url,
            "registrationId": registrations[0]["registrationId"],
            "data": json.dumps(said),
        }
        for _ in range(10):
            self._prepare_worker()
            debugging.send("ServiceWorker.deliverPushMessage", message)
            if self._is_prepared():
                break
        debugging.detach()
        return said

    def _prepare_worker(self) -> None:
        """It thinks of a page that is looked at what it is told."""
        if self._is_looked_at is not None:
            self.worker.evaluate(
                "(is) => { self.isLookedAt = async () => is; self.isTold = true; }", self._is_looked_at
            )

    def _is_prepared(self) -> bool:
        """It still thinks so: a worker that was started again meanwhile knows nothing of it."""
        return self._is_looked_at is None or bool(self.worker.evaluate("() => self.isTold === true"))

    def shown(self) -> list[list[Any]]:
        """Its notifications: title, text and buttons."""
        found: list[list[Any]] = self.page.evaluate(
            """async () => (await (await navigator.serviceWorker.ready).getNotifications())
              .map((shown) => [shown.title, shown.body, shown.actions.map((button) => button.title)])"""
        )
        return found

    def press(self, button: str) -> None:
        """On the one that is shown."""
        self.worker.evaluate(
            """async (button) => {
              const [shown] = await self.registration.getNotifications();
              shown.close();
              await press(shown, button);
            }""",
            button,
        )

    def close_all(self) -> None:
        """Its person has swiped them away."""
        self.worker.evaluate("async () => (await self.registration.getNotifications()).forEach((it) => it.close())")

    def expect_shown(self, *wanted: list[Any]) -> None:
        """These notifications come to be shown, and no other. A browser lists what it is just putting up now and then,
        and not at the next moment."""
        for _ in range(300):
            if self.shown() == list(wanted):
                return
            self.page.wait_for_timeout(30)
        assert self.shown() == list(wanted)

    def ask(self) -> int:
        """The agent asks for an approval; the turn."""
        return self.install.services.turns.submit(KEY, "ask", source="dashboard").id

    def look_at_it(self) -> None:
        """A page of ours is looked at."""
        self._is_looked_at = True
        self.page.evaluate("() => sessionStorage.removeItem('away')")

    def look_away(self) -> None:
        """No page of ours is looked at, though one stays open."""
        self._is_looked_at = False
        self.page.evaluate("() => sessionStorage.setItem('away', 'yes')")
        self.page.reload()  # what it was doing while it was looked at is over


@pytest.fixture(scope="module")
def handset(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Handset]:
    """A whole Chromium that may show notifications, logged in."""
    folder: Path = tmp_path_factory.mktemp("push")
    with run_push_service() as service, run_app(folder, environment={"HERMIT_PUSH_HOSTS": service.origin}) as install:
        install.services.push.watch._read_first_s = 0.0
        install.plays["ask"] = lambda scene: scene.say(f"ran: {scene.run(1, 'rm -r build')}")
        context = browser.browser_type.launch_persistent_context(
            str(folder / "profile"), executable_path=CHROMIUM, args=ARGUMENTS, viewport=PHONE, headless=True
        )
        made = Handset(context, install, service)
        made.visit.log_in()
        turn_on(made)
        yield made
        context.close()
        assert made.visit.complaints == []


def turn_on(handset: Handset) -> None:
    """Under You, for approvals alone."""
    page = handset.page
    page.goto(f"{handset.install.url}/you")
    page.get_by_role("button", name="Turn on notifications on this device").click()
    expect(page.get_by_text("This device gets notifications.")).to_be_visible()
    turn_to_approvals(handset)


def turn_to_approvals(handset: Handset) -> None:
    """It is told of nothing else."""
    box = handset.page.get_by_role("region", name="Notifications")
    for topic in ("Questions", "Answers", "Calendar"):
        box.get_by_role("checkbox", name=topic).uncheck()
    box.get_by_role("button", name="Save").click()
    expect(box.get_by_text("Saved.")).to_be_visible()


def test_it_was_turned_on_under_you(handset: Handset) -> None:
    """The device is listed with what it is told of, a test reaches it, and a reload changes nothing."""
    page = handset.page
    page.goto(f"{handset.install.url}/you")
    expect(page.get_by_text("This device gets notifications.")).to_be_visible()
    assert handset.install.services.push.devices.list_devices(1)[0].tells == ("approvals",)
    page.get_by_role("button", name="Send a test").click()
    handset.hear()
    expect(page.get_by_text("last notification")).to_be_visible()
    handset.expect_shown(["HermitShell", "Notifications work on this device.", []])
    handset.close_all()


def test_it_is_offered_once_beside_the_first_card(handset: Handset) -> None:
    """Where the browser was never asked; whoever says no is not asked again."""
    page, install = handset.context.new_page(), handset.install
    page.add_init_script("Object.defineProperty(Notification, 'permission', { get: () => 'default' })")
    turn = handset.ask()
    handset.hear()
    page.goto(f"{install.url}/you")
    page.evaluate("() => localStorage.removeItem('push offered')")
    page.goto(f"{install.url}/approvals")
    offer = page.locator("[data-approval]").get_by_role("region", name="Be told on this device?")
    expect(offer.get_by_role("button", name="Turn on notifications")).to_be_visible()
    offer.get_by_role("button", name="Not now").click()
    expect(page.get_by_text("Be told on this device?")).to_be_hidden()
    page.reload()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    expect(page.get_by_text("Be told on this device?")).to_be_hidden()
    page.get_by_role("button", name="Deny", exact=True).click()
    install.services.turns.wait_for_end(turn, 20)
    assert handset.hear()["is_over"]
    page.close()


def test_an_approval_is_approved_on_the_notification(handset: Handset) -> None:
    """With the cookie that only this browser has, though no page's script took part; and the title counts it."""
    page, install = handset.page, handset.install
    page.goto(f"{install.url}/calendar")
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    handset.look_away()
    turn = handset.ask()
    handset.hear()
    handset.expect_shown(ASKED)
    expect(page).to_have_title("(1) Calendar · HermitShell")
    expect(page.locator('link[rel="icon"]')).to_have_attribute("href", re.compile("logo-waiting"))
    handset.press("approve")
    assert install.services.turns.wait_for_end(turn, 20).reply == "ran: True"
    expect(page).to_have_title("Calendar · HermitShell")
    handset.expect_shown()


def test_what_is_decided_elsewhere_stops_asking(handset: Handset) -> None:
    """It says how it ended, without buttons; and it goes once somebody looks at a page."""
    install = handset.install
    handset.close_all()
    turn = handset.ask()
    handset.hear()
    handset.expect_shown(ASKED)
    asked = install.services.approvals.list_approvals(status=ApprovalStatus.PENDING)[0]
    install.services.approvals.decide(
        asked.id, approve=False, by=install.services.users.get_operator(), surface="telegram"
    )
    install.services.turns.wait_for_end(turn, 20)
    assert handset.hear()["is_over"]
    handset.expect_shown(["crab: settled", "Denied by ada (telegram).", []])
    handset.look_at_it()
    handset.page.goto(f"{install.url}/you")
    handset.expect_shown()


def test_whoever_looks_at_a_page_is_not_disturbed(handset: Handset) -> None:
    """The page says it itself."""
    handset.look_at_it()
    turn = handset.ask()
    handset.hear()
    expect(handset.page).to_have_title(re.compile(r"^\(1\) "))
    handset.expect_shown()
    handset.install.services.turns.stop(turn)
    handset.install.services.turns.wait_for_end(turn, 20)
    assert handset.hear()["is_over"]
    handset.expect_shown()


def test_without_its_login_a_button_leads_to_the_login_page(handset: Handset) -> None:
    """And decides nothing; the device is told nothing any more until its person is back."""
    install, users = handset.install, handset.install.services.users
    handset.close_all()
    handset.look_away()
    turn = handset.ask()
    handset.hear()
    handset.expect_shown(ASKED)
    users.log_out_everywhere(1)
    handset.worker.evaluate("() => { self.opened = ''; self.open = async (path) => { self.opened = path; }; }")
    handset.press("approve")
    assert handset.worker.evaluate("() => self.opened") == "/login?next=%2Fapprovals"
    assert len(install.services.approvals.list_approvals(status=ApprovalStatus.PENDING)) == 1
    install.services.turns.stop(turn)
    install.services.turns.wait_for_end(turn, 20)
    assert handset.service.is_quiet
    expect(handset.page).to_have_url(re.compile(r"/login\?"))  # which the page finds out by itself
    handset.visit.log_in()
    handset.page.goto(f"{install.url}/you")  # it was on before: it is on again by itself, for the new login
    expect(handset.page.get_by_text("This device gets notifications.")).to_be_visible()
    turn_to_approvals(handset)
    handset.visit.complaints.clear()  # that the worker was told 401
