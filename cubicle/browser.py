"""One picture, taken in a container that is thrown away and has no network: serves a copy of a web app's files to a
browser beside it, on loopback, and leaves what that shows. It reads ``/helper/in/task.json`` and the files beside that,
and leaves ``/helper/out/shot.png``; when the page can't be shown in time it leaves nothing.

The page is a stranger's and may take over all that is in here. Nobody trusts the picture: whoever asked for it reads
its first bytes as a stranger's, and never decodes it.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

IN, OUT = Path("/helper/in"), Path("/helper/out")
BROWSER = "/usr/bin/chromium-headless-shell"
SWITCHES = (
    # Its own sandbox needs namespaces of its own, which nothing in here may make: the container is the sandbox.
    "--no-sandbox",
    "--no-zygote",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-features=IsolateSandboxedIframes",  # so that its time is the page's
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--user-data-dir=/tmp/profile",
    "about:blank",
)
HOLDER = """<!doctype html><style>body{{margin:0}}iframe{{border:0;display:block;width:100vw;height:100vh}}</style>
<iframe sandbox="{sandbox}" src="{base}"></iframe>
"""
"""The page that holds the app, as the dashboard does it."""
STARTS_S, LOADS_S, SETTLES_S, SHOWS_S = 20.0, 12.0, 8.0, 8.0
ENDS_S = 75
SETTLING_MS = 1_500
"""Of the page's own time, after it was loaded: what moves in has moved in."""
MOST_BYTES = 2_000_000
_CHUNK = 1 << 16


class Late(Exception):
    """The browser or the page did not do it in time."""


class Browser:
    """A browser, spoken to over a pair of pipes."""

    def __init__(self) -> None:
        """It runs."""
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # The browser reads commands from 3 and writes answers to 4: first out of the way of one another, then there.
        ends = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in (to_read, to_write)]
        places = [(os.POSIX_SPAWN_DUP2, descriptor, place) for place, descriptor in enumerate(ends, 3)]
        self._process = os.posix_spawn(BROWSER, (BROWSER, *SWITCHES), os.environ, file_actions=places)
        for descriptor in (to_read, to_write, *ends):
            os.close(descriptor)
        self._number, self._rest = 0, b""
        self._happened: set[str] = set()
        self.session = ""

    def call(self, method: str, *, within_s: float, **params: Any) -> dict[str, Any]:
        """What the browser answers; raises Late."""
        number = self._send(method, params)
        deadline = time.monotonic() + within_s
        while True:
            message = self._message(deadline)
            if message.get("id") == number:
                return dict(message.get("result", {}))

    def forget(self) -> None:
        """What happened up to now is waited for no more."""
        self._happened.clear()

    def wait_for(self, event: str, *, within_s: float) -> bool:
        """Whether this happened to the page."""
        deadline = time.monotonic() + within_s
        try:
            while event not in self._happened:
                self._message(deadline)
        except Late:
            return False
        return True

    def close(self) -> None:
        """It is gone."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)

    def _send(self, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return self._number

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise Late
            chunk = os.read(self._from, _CHUNK)
            if not chunk:
                raise Late
            self._rest += chunk
        text, _, self._rest = self._rest.partition(b"\0")
        message = dict(json.loads(text))
        event = str(message.get("method", ""))
        if event == "Page.javascriptDialogOpening":
            self._send("Page.handleJavaScriptDialog", {"accept": False})
        self._happened.add(event)
        return message


def main() -> int:
    """The picture is there, or not."""
    signal.alarm(ENDS_S)  # should nobody be left who ends this container
    task = json.loads((IN / "task.json").read_text(encoding="utf-8"))
    server = ThreadingHTTPServer(("127.0.0.1", int(task["port"])), serving(task))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser()
    try:
        picture = shot(browser, task)
    except (Late, OSError):  # or the browser is gone
        return 1
    finally:
        browser.close()
    (OUT / "shot.new").write_bytes(picture)
    (OUT / "shot.new").rename(OUT / "shot.png")
    return 0


def shot(browser: Browser, task: dict[str, Any]) -> bytes:
    """The page as it looks when it has settled, as PNG; raises Late."""
    size = {"width": int(task["width"]), "height": int(task["height"])}
    target = browser.call("Target.createTarget", within_s=STARTS_S, url="about:blank", **size)["targetId"]
    attached = browser.call("Target.attachToTarget", within_s=STARTS_S, targetId=target, flatten=True)
    browser.session = attached["sessionId"]
    browser.call("Page.enable", within_s=STARTS_S)
    browser.call("Emulation.setDeviceMetricsOverride", within_s=STARTS_S, deviceScaleFactor=1, mobile=False, **size)
    browser.forget()
    browser.call("Page.navigate", within_s=LOADS_S, url=urljoin(task["url"], "/"))
    if not browser.wait_for("Page.loadEventFired", within_s=LOADS_S):
        raise Late
    browser.call(
        "Emulation.setVirtualTimePolicy",
        within_s=SETTLES_S,
        policy="pauseIfNetworkFetchesPending",
        budget=SETTLING_MS,
    )
    browser.wait_for("Emulation.virtualTimeBudgetExpired", within_s=SETTLES_S)  # else as it is by now
    browser.call(
        "Emulation.setVirtualTimePolicy", within_s=SETTLES_S, policy="advance"
    )  # while it stands, nothing shows
    for scale in (1, 0.5):
        clip = {"x": 0, "y": 0, **size, "scale": scale}
        found = browser.call("Page.captureScreenshot", within_s=SHOWS_S, format="png", clip=clip)
        picture = base64.b64decode(found.get("data", ""))
        if 0 < len(picture) <= MOST_BYTES:
            return picture
    raise Late


def serving(task: dict[str, Any]) -> type[BaseHTTPRequestHandler]:
    """Answers with the app's files alone, under the app's own restrictions."""
    base, headers, files = urlsplit(task["url"]).path, dict(task["headers"]), dict(task["files"])
    holder = HOLDER.format(sandbox=task["sandbox"], base=base).encode()

    class Files(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            found = files.get(path.removeprefix(base)) if path.startswith(base) else None
            if path == "/":
                self._answer(200, {"Content-Type": "text/html"}, holder)
            elif found is None:
                self._answer(404, headers, b"")
            else:
                self._answer(200, headers | found["headers"], (IN / found["file"]).read_bytes())

        def _answer(self, status: int, told: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in (told | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    return Files


if __name__ == "__main__":
    sys.exit(main())
