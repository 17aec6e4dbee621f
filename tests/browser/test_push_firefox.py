"""Notifications in a real Firefox, from the press that turns them on to the press on Approve: its own subscription, its
own push connection to a service of the test's, its own service worker and its own notification.

It runs where Firefox is installed (Debian: apt-get install firefox-esr), and is skipped elsewhere.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, run_app
from tests.support.push_service import PushService, run_push_service
from tests.support.real_firefox import PATIENCE_S, PushConnection, RealFirefox

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox") or ""
KEY = CubicleKey("crab", 1)
BOX = "document.querySelector('[data-push]').dataset.state"

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not FIREFOX, reason="there is no Firefox here")]


@pytest.fixture
def service() -> Iterator[PushService]:
    """Where the install posts."""
    with run_push_service() as running:
        yield running


@pytest.fixture
def install(tmp_path: Path, service: PushService) -> Iterator[AppFixture]:
    """An install that may post there."""
    with run_app(tmp_path / "home", environment={"HERMIT_PUSH_HOSTS": service.origin}) as running:
        running.plays["ask"] = lambda scene: scene.say(f"ran: {scene.run(1, 'rm -r build')}")
        yield running


def test_an_approval_is_approved_on_the_notification(install: AppFixture, service: PushService, tmp_path: Path) -> None:
    """No page is open any more: the service worker alone brings the answer, with this browser's login."""
    with (
        closing(PushConnection(f"{service.origin}/wpush")) as push,
        closing(RealFirefox(FIREFOX, tmp_path / "profile", push, site=install.url)) as firefox,
    ):
        firefox.open(f"/login/{install.services.users.make_link(1)}")
        firefox.evaluate("document.querySelector('form button').click()")
        firefox.await_true("document.body?.dataset.viewer !== undefined")
        firefox.open("/you")
        firefox.await_true(f"{BOX} === 'off'")
        firefox.evaluate("document.querySelector('[data-push] [data-push-on]').click()")
        firefox.await_true(f"{BOX} === 'on'")
        (device,) = install.services.push.devices.list_devices(1)
        firefox.leave()
        turn = install.services.turns.submit(KEY, "ask", source="dashboard").id
        push.deliver(device.endpoint.rpartition("/")[2], service.take().body)
        assert push.acknowledged.get(timeout=PATIENCE_S)["updates"][0]["code"] == 100
        firefox.press_alert("crab: may this run?", "approve")
        assert install.services.turns.wait_for_end(turn, PATIENCE_S).reply == "ran: True"
