"""Examines the remote browser that agents use in place of one in a container: it answers, and what does not hold there
is said.
"""

from __future__ import annotations

import asyncio

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.fields import Fields, text_of
from orchestrator.browser.remote_address import RemoteAddress
from orchestrator.browser.web_socket import open_web_socket
from orchestrator.browser.wire import Wire
from orchestrator.core.config import REMOTE_BROWSER, Settings
from orchestrator.core.errors import Unavailable
from orchestrator.core.finding import Finding, fail, ok, warn
from orchestrator.core.text import one_line
from orchestrator.web.limits import Internet

REMOTE = "remote browser"
_ANSWER_S = 10.0


def examine_remote_browser(settings: Settings, internet: Internet) -> list[Finding]:
    """Nothing where there is none."""
    url = settings.secrets.get(REMOTE_BROWSER)
    if not url:
        return []
    address = RemoteAddress(url)
    try:
        product, makes_contexts = asyncio.run(_ask(address, internet))
    except (Unavailable, BrowserError) as error:
        return [fail(REMOTE, error.message, f"Check {REMOTE_BROWSER}, and that this machine reaches {address.host}.")]
    found = [ok(REMOTE, f"{product} answers at {address.host}.")]
    text = (
        "Agents' browsers have a network of their own there. Their requests are judged by HermitShell, but names that "
        "pages look up, WebSockets and WebRTC are not held back, and whoever runs the browser sees everything in it."
    )
    found.append(
        warn(REMOTE, text, f"Use it for what you would show its owner; without {REMOTE_BROWSER} a gate holds.")
    )
    if not address.is_encrypted and not address.host.startswith(("127.", "[::1]", "localhost")):
        text = f"What agents see and type goes to {address.host} without encryption."
        found.append(warn(REMOTE, text, "Use a wss or https address, or a tunnel."))
    if not makes_contexts:
        text = "It keeps agents apart by no contexts, so one agent can have a browser at a time."
        found.append(warn(REMOTE, text, "Use a browser that makes contexts, as Chromium does."))
    return found


async def _ask(address: RemoteAddress, internet: Internet) -> tuple[str, bool]:
    """What it calls itself, and whether it makes contexts. Raises Unavailable and BrowserError."""

    def ignore(_method: str, _fields: Fields, _session: str) -> None:
        return

    wire = Wire(ignore)
    socket = await asyncio.to_thread(address.find_socket, internet)
    transport = await open_web_socket(socket, address.host, internet.tls)
    reading = asyncio.create_task(wire.attend(transport))
    await asyncio.sleep(0)
    try:
        version = await wire.call("Browser.getVersion", within_s=_ANSWER_S)
        product = one_line(text_of(version, "product", most=60), 60) or "A browser"
        try:
            made = await wire.call("Target.createBrowserContext", "", {"disposeOnDetach": True}, within_s=_ANSWER_S)
        except BrowserError:
            return product, False
        return product, bool(text_of(made, "browserContextId", most=200))
    finally:
        wire.drop()
        await asyncio.gather(reading, return_exceptions=True)
