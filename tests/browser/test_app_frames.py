"""An app in its frame, in a real browser: what it can't do to the dashboard around it, and what it can do within its
own address."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Response, expect

from dashboard.app import create_app
from orchestrator.apps.previews.csp import SANDBOX
from orchestrator.apps.previews.origins import app_url
from orchestrator.apps.previews.signed_urls import Ticket
from orchestrator.core.models import CubicleKey
from tests.browser.conftest import open_window
from tests.support.app_fixture import AppFixture
from tests.support.core_fixture import KEY, core_fixture
from tests.support.free_ports import free_port
from tests.support.other_site import OtherSite
from tests.support.preview_fixture import PreviewFixture, preview_install
from tests.support.real_app import eventually

pytestmark = pytest.mark.browser

DATA = Path(__file__).parents[1] / "data"
EXAMPLES = {"name": "crab", "app": "replay", "path": "in/x", "model": "own/model", "provider": "custom"}


def changing_calls(install: AppFixture) -> list[tuple[str, str]]:
    """Every call that changes something, and some that tell secrets."""
    calls = [("GET", "/api/me"), ("GET", "/api/agents"), ("GET", "/"), ("GET", "/api/agents/crab/apps")]
    for rule in create_app(install.services).url_map.iter_rules():
        path = re.sub(r"<(?:\w+:)?(\w+)>", lambda found: EXAMPLES.get(found[1], "1"), rule.rule)
        calls += [(method, path) for method in sorted((rule.methods or set()) - {"GET", "HEAD", "OPTIONS"})]
    return calls


def test_an_app_does_nothing_to_the_dashboard(browser: Browser, install: AppFixture) -> None:
    """Somebody who is logged in looks at it; its calls are refused before they are sent, and nothing can be read."""
    calls = changing_calls(install)
    assert len(calls) > 40
    mounts = install.services.workspaces.prepare_folders(CubicleKey("crab", 1), uid=0, gid=0)
    (mounts.www / "replay").mkdir()
    told = f"const house = {json.dumps(install.url)}; const calls = {json.dumps(calls)};"
    source = (DATA / "replay.js").read_text(encoding="utf-8")
    (mounts.www / "replay" / "index.html").write_text(f"<!doctype html><body><script>{told}{source}</script>")
    context = browser.new_context()
    visit = open_window(context, install)
    visit.log_in()
    answered: list[str] = []

    def note(response: Response) -> None:
        if response.frame.name != "" or response.frame.parent_frame is not None:
            answered.append(f"{response.request.method} {response.url}")

    visit.page.on("response", note)
    visit.page.goto(f"{install.url}/agents/crab/apps/replay")
    inside = visit.page.frame_locator("iframe").locator("body")
    expect(inside).to_have_attribute("data-got", "[]", timeout=60_000)
    assert [one for one in answered if one.split()[1].startswith(install.url)] == []
    assert visit.page.url == f"{install.url}/agents/crab/apps/replay"
    assert [agent.name for agent in install.services.agents.list_agents()] == ["crab"]
    assert install.services.turns.list_running() == []
    context.close()


ABILITIES = """<!doctype html><title>t</title><link rel="stylesheet" href="style.css?v=1"><body><p id="p">x</p>
<img id="i" src="/dot.svg"><script type="module">
import { seven } from "./seven.js";
const can = { module: seven === 7 };
const text = async (answer) => (await answer).text();
const soon = (work) => new Promise(work);
can.image = await soon((done) => { i.onload = () => done(true); i.onerror = () => done(false); i.src += "?again"; });
can.fetched = await text(fetch("/plain.txt")) === "plain";
can.redirected = (await text(fetch("folder"))).includes("in a folder");
can.styled = getComputedStyle(p).color === "rgb(1, 2, 3)";
const worker = new Worker(URL.createObjectURL(new Blob(["postMessage(7)"])));
can.worker = await soon((done) => { worker.onmessage = () => done(true); worker.onerror = () => done(false); });
can.stored = localStorage.getItem("x") ?? "nothing";
localStorage.setItem("x", "kept");
setTimeout(() => { document.body.dataset.can = JSON.stringify(can); }, 600);
</script>"""
LIVE = """<!doctype html><body><script>
const can = {};
(async () => {
  can.posted = await (await fetch("/post", { method: "POST", body: "loud" })).text();
  const source = new EventSource("/events");
  can.told = await new Promise((done) => { source.onmessage = (m) => { done(m.data); source.close(); }; });
  can.echoed = await new Promise((done) => {
    const s = new WebSocket(location.origin.replace("http", "ws") + "/ws");
    s.onopen = () => s.send("ahoy"); s.onmessage = (m) => done(m.data); s.onerror = () => done("refused");
  });
  document.body.dataset.can = JSON.stringify(can);
})();
</script>"""


@pytest.fixture
def previews(tmp_path: Path) -> Iterator[PreviewFixture]:
    """A preview origin with a tunnel."""
    with core_fixture(tmp_path / "db") as made, preview_install(tmp_path, made.store) as install:
        yield install


def shown(browser: Browser, previews: PreviewFixture, app: str) -> dict[str, object]:
    """What a page in a frame like the dashboard's says it can do."""
    with OtherSite() as stage:
        ticket = previews.tickets.encode_ticket(Ticket(KEY, app, stage.origin, int(time.time()) + 600))
        base = app_url(previews.origin, ticket)
        policy = f"default-src 'none'; frame-src {base}"
        stage.pages["/"] = (f'<!doctype html><iframe sandbox="{SANDBOX}" src="{base}"></iframe>', policy)
        page = browser.new_page()
        page.goto(stage.origin)
        body = page.frame_locator("iframe").locator("body")
        expect(body).to_have_attribute("data-can", re.compile("."), timeout=30_000)
        found: dict[str, object] = json.loads(body.get_attribute("data-can") or "")
        page.close()
        return found


def test_what_an_app_of_files_can_do(browser: Browser, previews: PreviewFixture) -> None:
    """Its own modules, pictures, styles, files, workers and storage work behind all walls."""
    for name, text in {
        "index.html": ABILITIES,
        "style.css": "#p { color: rgb(1, 2, 3) }",
        "seven.js": "export const seven = 7;",
        "plain.txt": "plain",
        "dot.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
        "folder/index.html": "in a folder",
    }.items():
        previews.write(f"able/{name}", text)
    good = dict.fromkeys(("module", "image", "fetched", "redirected", "styled", "worker"), True)
    assert shown(browser, previews, "able") == {**good, "stored": "nothing"}
    assert shown(browser, previews, "able") == {**good, "stored": "kept"}


def test_what_a_live_app_can_do(browser: Browser, previews: PreviewFixture, tmp_path: Path) -> None:
    """It talks to its own server: posts, events, a WebSocket."""
    port = free_port()
    (tmp_path / "page.html").write_text(LIVE)
    command = [sys.executable, str(DATA / "live_server.py"), str(port), "x", str(tmp_path / "page.html")]
    with subprocess.Popen(command, cwd=tmp_path) as server:
        previews.write("live/app.json", json.dumps({"port": port}))
        previews.sail()
        (tmp_path / "go").touch()
        try:
            eventually(lambda: previews.app("live").status == 200)
            assert shown(browser, previews, "live") == {"posted": "LOUD", "told": "first", "echoed": "ahoy"}
        finally:
            server.kill()
