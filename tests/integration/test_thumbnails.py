"""Pictures of web apps on the real engine: a real browser inside a container without a network shows what a real
cubicle's agent wrote, and whatever the app does there ends with the container.
"""

from __future__ import annotations

import base64
import hashlib
import time
from urllib.parse import urlsplit

import docker
import pytest

from orchestrator.core.models import CubicleKey
from orchestrator.engine.helpers import PAGE_BROWSER
from tests.support.png_pixels import pixels
from tests.support.real_app import RealApp, Talker, eventually

pytestmark = pytest.mark.docker
PICTURES = True

LABEL = "hermitshell.pictures-of"
GAME = """<!doctype html><title>Game</title><link rel="stylesheet" href="style.css">
<canvas id="c" width="1280" height="800"></canvas><script src="js/draw.js"></script>"""
STYLE = "body { margin: 0; overflow: hidden } canvas { display: block }"
DRAW = """
const g = document.getElementById("c").getContext("2d");
localStorage.setItem("seen", "1");
const draw = () => {
  g.fillStyle = "rgb(20, 90, 200)"; g.fillRect(0, 0, 1280, 400);
  g.fillStyle = localStorage.getItem("seen") ? "rgb(250, 180, 20)" : "black"; g.fillRect(0, 400, 1280, 400);
  requestAnimationFrame(draw);
};
setTimeout(draw, 1000);
"""
FOREVER = "for (;;);"
HOSTILE = {
    "later": "setTimeout(() => { for (;;); }, 200)",
    "huge": "for (let i = 0; i < 60; i++) { const c = document.createElement('canvas'); c.width = c.height = 16000;"
    " c.getContext('2d').fillRect(0, 0, 16000, 16000); document.body.append(c); }",
    "again": "location.reload()",
    "crowd": "setInterval(() => { for (let i = 0; i < 400; i++) { window.open(location.href); const f = document"
    ".createElement('iframe'); f.src = location.href + '?' + Math.random(); document.body.append(f);"
    " new Worker(URL.createObjectURL(new Blob(['for(;;);']))); } }, 5)",
}
POLITE = "alert(1); confirm(2); prompt(3); print(); document.body.style.background = 'rgb(0, 128, 0)'"
"""Asks for dialogs, which nobody answers, and goes on."""


def written(path: str, content: str) -> str:
    """The command that writes a file of an app."""
    packed = base64.b64encode(content.encode()).decode()
    return f"mkdir -p $(dirname ../www/{path}) && echo {packed} | base64 -d > ../www/{path}"


def is_done(install: RealApp, agent: Talker, app: str) -> bool:
    """The app's picture is taken, or given up."""
    return not install.app.services.thumbnails.is_coming(CubicleKey(agent.name, agent.user), app)


def picture(agent: Talker, app: str) -> bytes | None:
    """What the dashboard serves."""
    url = agent.api.get(f"/agents/{agent.name}/apps/{app}")["thumbnail_url"]
    if url is None:
        return None
    address = urlsplit(url)
    answer = agent.api.session.get(f"{agent.api.url}{address.path}?{address.query}", timeout=30)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")
    return answer.content


def test_a_canvas_app_s_picture_shows_what_it_draws(install: RealApp) -> None:
    """With its own style and script, a second after it was opened; drawn in frames that never end."""
    agent = install.agent()
    files = {"game/index.html": GAME, "game/style.css": STYLE, "game/js/draw.js": DRAW}
    agent.ask(install.plays.commands(*[written(path, content) for path, content in files.items()]))
    eventually(lambda: is_done(install, agent, "game"), patience_s=120)
    content = picture(agent, "game")
    assert content is not None
    shown = pixels(content)
    assert (shown.width, shown.height) == (1280, 800)
    for x in (3, 640, 1275):
        assert (shown.at(x, 50), shown.at(x, 750)) == ((20, 90, 200), (250, 180, 20))


def test_the_browser_lives_behind_a_cubicle_s_walls(install: RealApp, client: docker.DockerClient) -> None:
    """No network, no capability, nothing of the host; and one that is busy for ever ends without a picture."""
    agent = install.agent()
    agent.ask(install.plays.commands(written("slow/index.html", f"<script>{FOREVER}</script>")))
    label = f"{LABEL}={install.install}"
    found = eventually(lambda: client.api.containers(filters={"label": label}))
    facts = client.api.inspect_container(found[0]["Id"])
    host = facts["HostConfig"]
    assert (host["NetworkMode"], host["CapDrop"], host["ReadonlyRootfs"]) == ("none", ["ALL"], True)
    assert (host["Privileged"], host["PidsLimit"], host["Memory"]) == (False, 256, 1 << 30)
    assert host["MemorySwap"] == host["Memory"]
    assert any(option.startswith("seccomp={") for option in host["SecurityOpt"])
    assert {(m["Destination"], m["RW"]) for m in facts["Mounts"]} == {("/helper/in", False), ("/helper/out", True)}
    assert all("workspaces" not in m["Source"] for m in facts["Mounts"])
    assert facts["Config"]["User"].split(":")[0] not in ("", "0", "1000")
    assert not facts["NetworkSettings"]["Networks"]["none"]["IPAddress"]
    eventually(lambda: is_done(install, agent, "slow"), patience_s=120)
    assert picture(agent, "slow") is None
    assert client.api.containers(all=True, filters={"label": label}) == []


def test_whatever_an_app_does_ends_with_its_container(install: RealApp, client: docker.DockerClient) -> None:
    """Loops that begin later, gigabytes, crowds of frames and workers: a picture comes or none, and nothing is left."""
    agent = install.agent()
    apps = {**HOSTILE, "polite": POLITE}
    commands = [written(f"{app}/index.html", f"<body><script>{script}</script>") for app, script in apps.items()]
    began = time.monotonic()
    agent.ask(install.plays.commands(*commands))
    eventually(lambda: all(is_done(install, agent, app) for app in apps), patience_s=90 * len(apps))
    assert time.monotonic() - began < 75 * len(apps)
    for app in ("later", "huge"):
        assert picture(agent, app) is None, app
    shown = picture(agent, "polite")
    assert shown is not None
    assert pixels(shown).at(640, 400) == (0, 128, 0)
    assert client.api.containers(all=True, filters={"label": f"{LABEL}={install.install}"}) == []
    assert list((install.home / "browser").iterdir()) == []
    gallery = agent.api.session.get(f"{agent.api.url}/agents/{agent.name}/apps", timeout=30).text
    assert gallery.count("</text></svg>") + gallery.count('<img class="app-thumb"') == len(apps)


PAGE = b"""<!doctype html><style>body { margin: 0; background: rgb(20, 90, 200) }</style>
<script>fetch("http://1.1.1.1/").catch(() => { document.documentElement.style.background = "rgb(250, 180, 20)";
document.body.style.background = "none" })</script>"""


def test_a_delivered_page_has_a_picture(install: RealApp, client: docker.DockerClient) -> None:
    """Of what it shows by itself when its script has run, which reaches nobody; no container is left."""
    key = CubicleKey("crab", install.app.services.users.get_operator().id)
    digest = hashlib.sha256(PAGE).hexdigest()
    path = install.app.services.page_pictures.take(key, digest, PAGE, wait_s=90.0)
    assert path is not None
    seen = pixels(path.read_bytes()).at(600, 400)
    assert all(abs(a - b) <= 4 for a, b in zip(seen, (250, 180, 20), strict=True)), seen
    label = f"{PAGE_BROWSER.label}={install.install}"
    assert client.api.containers(all=True, filters={"label": label}) == []
