"""Our browser beside ``@playwright/mcp`` on the same pages in the same run: what an agent waits for, what its model has
to read, and what is kept in memory. The peer runs on the host, without a container, by the Chromium that is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench import processes
from bench.figures import Row, table
from crab.hermit_commands import CommandList
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.browser.capability import CAPABILITY, COMMANDS
from orchestrator.core.models import CubicleKey
from orchestrator.live_browsers.browsers import LiveBrowsers
from tests.support.foreign_packages import npm_folder

PEER = "`@playwright/mcp`"
ROUNDS = 5
CHARS_A_TOKEN = 4.0
KEY = CubicleKey("crab-0", 1)
_CLICKED = "<script>onclick = (e) => document.body.append('Done: ' + e.target.textContent + ' ')</script>"
_WORDS = "The tide comes in and goes out again twice a day, and the boats in the harbour rise and fall with it. " * 3
_ROWS = "".join(
    f"<tr><td>{n}<td><a href='#{n}'>Order {n}</a><td>{n * 7} euro<td><button>Pay {n}</button>" for n in range(60)
)
_FIELDS = "".join(f"<p><label>{name} <input name={name}></label></p>" for name in ("Name", "Street", "City", "Country"))
PATHS = {
    "/form": f"<!doctype html><title>Form</title><h1>Where to</h1>{_FIELDS}<button>Pay 7</button>{_CLICKED}",
    "/text": "<!doctype html><title>Tides</title><h1>Tides</h1>"
    + "".join(f"<h2>Part {n}</h2><p>{_WORDS}<a href='#{n}'>Part {n}</a></p>" for n in range(15))
    + f"<button>Pay 7</button>{_CLICKED}",
    "/rows": f"<!doctype html><title>Orders</title><table>{_ROWS}</table>{_CLICKED}",
}
PAGES = {f"http://site.test{path}": page.encode() for path, page in PATHS.items()}
Figures = dict[str, list[float]]


class PlaywrightPeer:
    """The peer as a process, asked as an agent's program asks it: JSON lines over its standard input and output."""

    def __init__(self, folder: Path) -> None:
        """``folder``: where it may write. Raises RuntimeError: it does not answer."""
        cli = npm_folder("playwright-mcp") / "node_modules/@playwright/mcp/cli.js"
        chromium = _find_chromium()
        flags = ["--headless", "--isolated", "--no-sandbox", "--output-dir", str(folder)]
        command = [shutil.which("node") or "node", str(cli), *flags, "--executable-path", chromium]
        self._process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._count = 0
        self._ask(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
        )
        self._send({"method": "notifications/initialized"})

    def tools(self) -> str:
        """What of its tools a model is given."""
        kept = ("name", "description", "inputSchema")
        return json.dumps([{name: tool[name] for name in kept} for tool in self._ask("tools/list", {})["tools"]])

    def call(self, tool: str, **given: Any) -> str:
        """What a model reads of a call. Raises RuntimeError."""
        found = self._ask("tools/call", {"name": tool, "arguments": given})
        text = "\n".join(part["text"] for part in found["content"] if part["type"] == "text")
        if found.get("isError"):
            raise RuntimeError(f"{PEER}: {tool} failed: {text[:500]}")
        return text

    def memory_mib(self) -> float:
        """Of it and its browser, each shared page once."""
        children, waiting, total = processes.families(), [self._process.pid], 0.0
        while waiting:
            pid = waiting.pop()
            waiting += children.get(pid, [])
            try:
                total += processes.pss_mib(pid)
            except OSError:  # it ended meanwhile
                continue
        return total

    def close(self) -> None:
        """It has ended, with its browser."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._count += 1
        self._send({"id": self._count, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line) if line.startswith("{") else {}
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{PEER}: {method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
        raise RuntimeError(f"{PEER} ended while it was asked for {method}.")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()


def missing() -> str:
    """Why the peer can't be measured here; empty where it can."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "npm is not installed"
    return "" if _find_chromium() else "this machine has no Chromium"


def _find_chromium() -> str:
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), "")


@contextmanager
def served() -> Iterator[str]:
    """The same pages for the peer; where they are."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = PATHS.get(self.path, "").encode()
            self.send_response(200 if page else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_given: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def measure_peer(folder: Path, found: Figures) -> None:
    """Its figures, by rounds from nothing."""
    with served() as site:
        for _ in range(ROUNDS):
            began = time.monotonic()
            peer = PlaywrightPeer(folder)
            try:
                peer.call("browser_navigate", url=f"{site}/rows")
                text = peer.call("browser_snapshot")
                found["first"].append((time.monotonic() - began) * 1e3)
                for _ in range(ROUNDS):
                    target = _sought(r'button "Pay 7" [^\n]*?\[ref=(\w+)\]', text)
                    began = time.monotonic()
                    peer.call("browser_click", target=target, element="Pay 7")
                    text = peer.call("browser_snapshot")
                    found["click"].append((time.monotonic() - began) * 1e3)
                assert "Done: Pay 7" in text, text[-500:]
                found["memory"].append(peer.memory_mib())
                found["clicked"].append(len(text) / CHARS_A_TOKEN)
                for path in PATHS:
                    peer.call("browser_navigate", url=site + path)
                    found["page"].append(len(peer.call("browser_snapshot")) / CHARS_A_TOKEN)
                found["tools"].append(len(peer.tools()) / CHARS_A_TOKEN)
            finally:
                peer.close()


def measure_ours(browsers: LiveBrowsers[BrowserSession], memory: Callable[[], float], found: Figures) -> None:
    """The same of ours, in its container behind its gate."""

    async def click(session: BrowserSession, *, ref: str) -> str:
        return (await session.click(ref)).text

    def opened(path: str) -> str:
        async def work(session: BrowserSession) -> str:
            return (await session.open(f"http://site.test{path}")).text

        return browsers.call(KEY, work)

    for _ in range(ROUNDS):
        began = time.monotonic()
        text = opened("/rows")
        found["first"].append((time.monotonic() - began) * 1e3)
        ref, told = _sought(r"\[button (e\d+): Pay 7\]", text), ""
        for _ in range(ROUNDS):
            began = time.monotonic()
            told = browsers.call(KEY, partial(click, ref=ref), starts=False)
            found["click"].append((time.monotonic() - began) * 1e3)
        assert "Done: Pay 7" in told, told
        found["memory"].append(memory())
        found["clicked"].append(len(told) / CHARS_A_TOKEN)
        found["page"] += [len(opened(path)) / CHARS_A_TOKEN for path in PATHS]
        browsers.end(KEY)
    prompt = " ".join(text for text in CAPABILITY.prompt if isinstance(text, str))
    listed = CommandList(COMMANDS).get_overview(None, "browser")
    found["prompt"].append(len(prompt) / CHARS_A_TOKEN)
    found["tools"].append((len(prompt) + len(listed)) / CHARS_A_TOKEN)


def compare(browsers: LiveBrowsers[BrowserSession], memory: Callable[[], float], folder: Path) -> str:
    """The table of both, or of ours with the reason why the peer is missing."""
    ours: Figures = defaultdict(list)
    theirs: Figures = defaultdict(list)
    measure_ours(browsers, memory, ours)
    why = missing()
    if not why:
        measure_peer(folder, theirs)
    named = {
        "first": ("from nothing to the first snapshot", "ms", 1_200),
        "click": ("a click, until what it changed is known", "ms", 200),
        "memory": ("memory with a page", "MiB", 130),
        "page": ("a snapshot, of three pages", "tokens", 1_500),
        "clicked": ("what is told after a click", "tokens", None),
        "tools": ("what tells a model of its tools", "tokens", None),
    }
    floors = {key: Row(f"{PEER}: {what}", theirs[key], unit=unit) for key, (what, unit, _) in named.items() if theirs}
    rows = [
        Row(what, ours[key], key if theirs else "", most=most, unit=unit) for key, (what, unit, most) in named.items()
    ]
    rows.append(Row("of that, in each prompt; the rest is read when it is needed", ours["prompt"], unit="tokens"))
    text = _short(table(rows, floors))
    return f"{text}\n\n{PEER} was not measured: {why}." if why else text


def _short(text: str) -> str:
    """The last column but two names the peer alone."""
    return re.sub(rf"× {re.escape(PEER)}: [^|]* \|", f"× {PEER} |", text)


def _sought(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found, text[:2_000]
    return found[1]
