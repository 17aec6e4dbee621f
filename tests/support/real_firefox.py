"""A real Firefox without a window, driven by WebDriver BiDi, and the connection that it keeps to its push service: that
is the test's, on this machine.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from tests.support.free_ports import free_port
from tests.support.push_service import unpadded
from tests.support.web_sockets import WebSocket, accept, connect

PATIENCE_S = 60.0
_QUIET = {
    "app.update.enabled": False,
    "toolkit.telemetry.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "services.settings.server": "data:,",
    "extensions.update.enabled": False,
    "network.proxy.type": 0,
}
_PRESS = """(() => {
  const shown = [...Services.wm.getEnumerator("alert:alert")];
  const one = shown.find((it) => it.document.getElementById("alertTitleLabel")?.value === %s);
  if (!one?.gAlertListener) return false;
  const button = { QueryInterface: ChromeUtils.generateQI(["nsIAlertAction"]), action: %s, title: "", iconURL: "",
    windowsSystemActivationType: false, opaqueRelaunchData: "" };
  one.gAlertListener.observe(button, "alertclickcallback", one.gAlertCookie);
  return true;
})()"""
"""What the browser itself does when a system's notification tells it of a press."""


class PushConnection:
    """What Firefox holds open to its push service (autopush' protocol): it registers there, and is told."""

    def __init__(self, endpoints: str) -> None:
        """``endpoints`` is what addresses begin with."""
        self._endpoints = endpoints
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._browsers: list[WebSocket] = []
        self.acknowledged: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._accept_all, name="push connection", daemon=True).start()

    def deliver(self, channel: str, body: bytes) -> None:
        """Hand over what was posted to a channel's address."""
        data = {"data": unpadded(body), "headers": {"encoding": "aes128gcm"}}
        self._say(self._browsers[-1], "notification", channelID=channel, version=uuid.uuid4().hex, **data)

    def close(self) -> None:
        """Nobody is listened to any more."""
        self._listener.close()
        for browser in self._browsers:
            browser.close()

    def _accept_all(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), name="a browser's push", daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        browser = accept(sock)
        self._browsers.append(browser)
        try:
            while (text := browser.receive()) is not None:
                self._answer(browser, json.loads(text))
        except (OSError, ValueError):  # it was closed
            return

    def _answer(self, browser: WebSocket, said: dict[str, Any]) -> None:
        kind = said.get("messageType")
        if kind == "hello":
            self._say(browser, "hello", status=200, uaid=uuid.uuid4().hex, use_webpush=True, broadcasts={})
        elif kind == "register":
            channel = said["channelID"]
            self._say(browser, "register", status=200, channelID=channel, pushEndpoint=f"{self._endpoints}/{channel}")
        elif kind == "unregister":
            self._say(browser, "unregister", status=200, channelID=said["channelID"])
        elif kind == "ack":
            self.acknowledged.put(said)
        elif not said:
            browser.send("{}")

    def _say(self, browser: WebSocket, kind: str, **more: Any) -> None:
        browser.send(json.dumps({"messageType": kind, **more}))


class RealFirefox:
    """One Firefox with a profile of its own."""

    def __init__(self, program: str, folder: Path, push: PushConnection, *, site: str) -> None:
        """``site`` may show notifications without asking."""
        folder.mkdir()
        settings: dict[str, Any] = {
            **_QUIET,
            "dom.push.serverURL": f"ws://127.0.0.1:{push.port}/",
            "dom.push.testing.allowInsecureServerURL": True,
            "dom.push.connection.enabled": True,
            "dom.push.userAgentID": "",
            "permissions.default.desktop-notification": 1,
            "dom.webnotifications.requireuserinteraction": False,
            "alerts.useSystemBackend": False,
        }
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in settings.items()]
        (folder / "user.js").write_text("\n".join(lines), encoding="utf-8")
        port = free_port()
        self._process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--profile", str(folder), f"--remote-debugging-port={port}",
             "--remote-allow-system-access"],
            env={**os.environ, "HOME": str(folder), "MOZ_DISABLE_CONTENT_SANDBOX": "1"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._number = 0
        self._line = self._connect(port)
        self.ask("session.new", capabilities={})
        self._context = self.ask("browsingContext.getTree")["contexts"][0]["context"]
        self.site = site

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of BiDi, and its answer."""
        self._number += 1
        self._line.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while (text := self._line.receive()) is not None:
            answer = json.loads(text)
            if answer.get("id") == self._number:
                assert answer["type"] == "success", answer
                result: dict[str, Any] = answer["result"]
                return result
        raise AssertionError("Firefox is gone")

    def open(self, path: str) -> None:
        """A page of the site, until it is there."""
        self.ask("browsingContext.navigate", context=self._context, url=f"{self.site}{path}", wait="complete")

    def evaluate(self, expression: str, *, context: str = "") -> Any:
        """What it comes to, as JSON; a promise is awaited."""
        answer = self.ask(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})))()",
            target={"context": context or self._context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        value = answer["result"].get("value")
        return None if value is None else json.loads(value)

    def await_true(self, expression: str) -> None:
        """It comes to be true."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, expression
            time.sleep(0.05)

    def leave(self) -> None:
        """No page of the site is open any more."""
        self.ask("browsingContext.navigate", context=self._context, url="about:blank", wait="complete")

    def press_alert(self, title: str, action: str) -> None:
        """The browser's own window shows a notification with this title: its button of this name is pressed."""
        tree = self.ask("browsingContext.getTree", **{"moz:scope": "chrome"})
        chrome = tree["contexts"][0]["context"]
        deadline = time.monotonic() + PATIENCE_S
        while not self.evaluate(_PRESS % (json.dumps(title), json.dumps(action)), context=chrome):
            assert time.monotonic() < deadline, f"no notification says {title!r}"
            time.sleep(0.05)

    def close(self) -> None:
        """It ends."""
        self._line.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _connect(self, port: int) -> WebSocket:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return connect(port, "/session")
            except OSError:
                assert time.monotonic() < deadline, "Firefox does not answer"
                time.sleep(0.1)
