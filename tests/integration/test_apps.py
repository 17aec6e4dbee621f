"""Web apps on the real engine: the model writes files and starts servers inside real cubicles that have no network, and
a browser's requests reach them through the preview origin."""

from __future__ import annotations

import base64
import importlib.metadata
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from tests.support.real_app import AppProcess, RealApp, Talker, eventually, run_inside

pytestmark = pytest.mark.docker

SERVER = base64.b64encode((Path(__file__).parents[1] / "data" / "live_server.py").read_bytes()).decode()
AS_FRAME = {"Sec-Fetch-Dest": "iframe"}
FIND_TUNNEL = (
    "import os\n"
    "for pid in filter(str.isdigit, os.listdir('/proc')):\n"
    "    try: said = open(f'/proc/{pid}/cmdline').read()\n"
    "    except OSError: continue\n"
    "    if 'crab.tunnel' in said and pid != str(os.getpid()): print(pid)\n"
)


def begins(port: int, name: str) -> str:
    """The command that starts a server and says to the install where."""
    return (
        f"mkdir -p ../www/live && echo {SERVER} | base64 -d > server.py && "
        f"(setsid nohup python3 server.py {port} {name} >server.log 2>&1 & echo $! > pid) && "
        f'echo \'{{"port": {port}, "title": "{name}"}}\' > ../www/live/app.json'
    )


def frame(agent: Talker, app: str) -> str:
    """Where the app is, on the preview origin."""
    apps = agent.api.get(f"/agents/{agent.name}/apps")["apps"]
    return str(next(found["frame_url"] for found in apps if found["name"] == app))


def got(url: str, **options: object) -> requests.Response:
    """One request of a frame."""
    return requests.get(url, headers=AS_FRAME, timeout=60, **options)  # type: ignore[arg-type]  # passed as they are


def answers(url: str) -> requests.Response:
    """The first answer of a server that was just started."""
    return eventually(lambda: found if (found := got(url)).ok else None)


@pytest.fixture(scope="module")
def live(install: RealApp) -> Talker:
    """An agent whose server runs."""
    agent = install.agent()
    assert agent.ask(install.plays.commands(begins(8080, "harbour")))["status"] == "done"
    answers(frame(agent, "live"))
    return agent


def test_a_static_app(install: RealApp) -> None:
    """Written by a command, served at once, changed at once; what leads elsewhere is not there."""
    agent = install.agent()
    agent.ask(
        install.plays.commands(
            "mkdir -p ../www/todo/sub && cd ../www/todo && echo '<!doctype html><p>hello' > index.html && echo '<p>' > "
            "sub/index.html && echo 'let a = 1' > app.js && ln -s /etc/passwd link && ln -s .. up && mkfifo pipe && "
            "ln app.js second && ln -s /proc/self/environ environ && echo hidden > .secret"
        )
    )
    base = frame(agent, "todo")
    page = got(base)
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "hello" in page.text
    assert got(f"{base}sub", allow_redirects=False).headers["Location"] == f"{base}sub/"
    for path in (
        "link",
        "up/todo/index.html",
        "pipe",
        "second",
        "app.js",
        "environ",
        ".secret",
        "%2e%2e/live/app.json",
    ):
        assert got(base + path).status_code == 404, path
    agent.ask(install.plays.commands("rm ../www/todo/second && echo changed > ../www/todo/index.html"))
    assert got(f"{base}app.js").text == "let a = 1\n"
    assert "changed" in got(base).text
    agent.ask(install.plays.commands("rm -r ../www/todo && ln -s /etc ../www/todo"))
    assert got(base).status_code == got(f"{base}passwd").status_code == 404


def test_a_live_app(live: Talker) -> None:
    """Pages and posts, events as they come, a WebSocket; its cookies stay on the host."""
    base = frame(live, "live")
    page = got(base)
    prefix = urlsplit(base).path
    assert f"src='{prefix}x.png'" in page.text
    assert "Set-Cookie" not in page.headers
    posted = requests.post(f"{base}post", data=b"x" * 300_000, headers=AS_FRAME, timeout=60)
    assert posted.content == b"X" * 300_000
    with got(f"{base}events", stream=True) as events:
        lines = events.iter_lines()
        assert next(lines) == b"data: first"
        (live.work / "go").touch()
        assert b"data: second" in list(lines)
    assert echoed(base, "ahoy") == echoed(base, "ahoy", "again") == "ahoy"


def echoed(base: str, *texts: str) -> str:
    """The first text, once it came back over a WebSocket, with the others behind it."""
    parts = urlsplit(base)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as wire, wire.makefile("rb") as heard:
        wire.sendall(
            f"GET {parts.path}ws HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        assert b" 101 " in heard.readline()
        while heard.readline() != b"\r\n":
            pass
        back = []
        for text in texts:
            wire.sendall(bytes((0x81, 0x80 | len(text), 0, 0, 0, 0)) + text.encode())
            back.append(heard.read(heard.read(2)[1]).decode())
        assert tuple(back) == texts
        return back[0]


def test_the_tunnel_is_started_again(install: RealApp, live: Talker) -> None:
    """Whatever ended it: the next request brings it back, again and again."""
    base = frame(live, "live")
    for _ in range(3):
        assert got(base).ok
        (pid,) = run_inside(install.client, live, "python3", "-c", FIND_TUNNEL).out.split()
        assert run_inside(install.client, live, "kill", "-9", pid).code == 0
    assert got(base).ok


def test_a_turn_goes_on_beside_it(install: RealApp, live: Talker) -> None:
    """A command runs, and many requests are answered meanwhile; neither holds the other up."""
    base = frame(live, "live")
    turn = live.send(install.plays.commands("until test -e enough; do sleep 0.05; done; echo seen"))
    live.running(turn)
    with ThreadPoolExecutor(20) as pool:
        assert all(answer.ok for answer in pool.map(got, [base] * 100))
    (live.work / "enough").touch()
    assert live.ended(turn)["steps"][0]["output"] == "seen\n"


def test_two_cubicles_with_the_same_port(install: RealApp, live: Talker) -> None:
    """Each is led to its own server, also where the other's is gone; a ticket opens one app alone."""
    other = install.agent()
    other.ask(install.plays.commands(begins(8080, "lighthouse")))
    mine, theirs = frame(live, "live"), frame(other, "live")
    assert "lighthouse" in answers(theirs).text
    with ThreadPoolExecutor(10) as pool:
        pages = list(pool.map(got, [mine, theirs] * 20))
    assert ["harbour" in page.text for page in pages] == [True, False] * 20
    other.ask(
        install.plays.commands("pkill -f server.py || kill $(cat /proc/[0-9]*/comm >/dev/null; pgrep -f server.py)")
    )


@contextmanager
def held(url: str, count: int) -> Iterator[list[socket.socket]]:
    """So many requests that wait for their answers."""
    parts = urlsplit(url)
    wires = []
    for _ in range(count):
        wire = socket.create_connection((parts.hostname, parts.port), timeout=30)
        wire.sendall(f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nSec-Fetch-Dest: iframe\r\n\r\n".encode())
        wires.append(wire)
    try:
        yield wires
    finally:
        for wire in wires:
            wire.close()


@pytest.mark.parametrize("manner", ["silent", "flood"])
def test_a_server_without_manners(install: RealApp, live: Talker, manner: str) -> None:
    """It never answers, or sends without end: turns of the same cubicle, and apps of others, go on as ever."""
    other = install.agent()
    other.ask(install.plays.commands("mkdir -p ../www/still && echo still here > ../www/still/index.html"))
    base = frame(live, "live")
    with held(base + manner, 60):
        eventually(lambda: int(got(f"{base}busy").text) >= 60)
        ended = live.ask(install.plays.commands("echo fine"))
        assert (ended["status"], ended["steps"][0]["output"]) == ("done", "fine\n")
        assert "still here" in got(frame(other, "still")).text
        assert "harbour" in got(base).text
    assert got(base).ok


def test_a_server_that_hangs_up_or_is_gone(install: RealApp, live: Talker) -> None:
    """A sentence says so; the next request is answered."""
    base = frame(live, "live")
    assert got(f"{base}nothing").status_code == 503
    assert got(base).ok
    agent = install.agent()
    agent.ask(install.plays.commands("mkdir -p ../www/gone && echo '{\"port\": 9}' > ../www/gone/app.json"))
    answer = got(frame(agent, "gone"))
    assert answer.status_code == 404
    assert "Is the server running?" in answer.text


WSGI = """
from wsgiref.simple_server import make_server
def app(asked, start):
    if asked["REQUEST_METHOD"] == "POST":
        start("303 See Other", [("Location", "/done"), ("Set-Cookie", "who=ada; Path=/; HttpOnly")])
        return [b""]
    start("200 OK", [("Content-Type", "text/plain")])
    told = asked["PATH_INFO"], asked.get("HTTP_COOKIE", "nobody"), asked["HTTP_X_FORWARDED_PREFIX"]
    return [" ".join(told).encode()]
make_server("127.0.0.1", 5000, app).serve_forever()
"""
NODE = """
require("http").createServer((asked, answer) => {
  answer.writeHead(200, {"Content-Type": "application/json"});
  answer.write('{"from": ');
  setTimeout(() => answer.end('"node"}'), 20);
}).listen(3000);
"""


@pytest.mark.parametrize(("program", "source", "port"), [("python3", WSGI, 5000), ("node", NODE, 3000)])
def test_other_servers(install: RealApp, program: str, source: str, port: int) -> None:
    """A WSGI application with a form, a session and a redirect, as frameworks have them; a server of Node."""
    agent = install.agent()
    packed = base64.b64encode(source.encode()).decode()
    agent.ask(
        install.plays.commands(
            f"mkdir -p ../www/app && echo {packed} | base64 -d > server && "
            f"echo '{{\"port\": {port}}}' > ../www/app/app.json && (setsid nohup {program} server >server.log 2>&1 &)"
        )
    )
    base = frame(agent, "app")
    first = answers(base)
    if program == "node":
        assert first.json() == {"from": "node"}
        return
    prefix = urlsplit(base).path
    assert first.text.split() == ["/", "nobody", prefix.rstrip("/")]
    posted = requests.post(f"{base}sign-in", headers=AS_FRAME, timeout=60)
    assert posted.url == f"{base}done"
    assert posted.text.split() == ["/done", "who=ada", prefix.rstrip("/")]


FLASK = """
from flask import Flask, redirect, request, session, url_for
app = Flask(__name__)
app.secret_key = "kept in the cubicle"
@app.get("/")
def home():
    who, prefix = session.get("name", "nobody"), request.headers["X-Forwarded-Prefix"]
    return f"<a href='{url_for('count')}'>count</a> {who} {prefix}"
@app.post("/name")
def name():
    session["name"] = request.form["name"]
    return redirect(url_for("home"))
@app.get("/count")
def count():
    return app.response_class((f"{n}\\n" for n in range(3)), mimetype="text/plain")
@app.get("/broken")
def broken():
    return 1 / 0
app.run("127.0.0.1", 5000)
"""


def test_flask(install: RealApp) -> None:
    """Its own server, sessions, redirects, streams and a view that breaks, from packages in the agent's home."""
    agent = install.agent()
    bring(agent, "flask", "werkzeug", "jinja2", "click", "itsdangerous", "blinker", "markupsafe")
    packed = base64.b64encode(FLASK.encode()).decode()
    agent.ask(
        install.plays.commands(
            f"mkdir -p ../www/shop && echo {packed} | base64 -d > shop.py && echo '{{\"port\": 5000}}' > "
            "../www/shop/app.json && (PYTHONPATH=$HOME/site setsid nohup python3 shop.py >shop.log 2>&1 &)"
        )
    )
    base = frame(agent, "shop")
    assert answers(base).text.split()[-2:] == ["nobody", urlsplit(base).path.rstrip("/")]
    named = requests.post(f"{base}name", data={"name": "Ada"}, headers=AS_FRAME, timeout=60)
    assert (named.url, named.text.split()[-2]) == (base, "Ada")
    assert got(f"{base}count").text == "0\n1\n2\n"
    assert got(f"{base}broken").status_code == 500
    assert got(f"{base}nowhere").status_code == 404


def bring(agent: Talker, *packages: str) -> None:
    """Python packages of the tests' own, put where the agent's commands find them."""
    skipped = shutil.ignore_patterns("*.so", "__pycache__")
    for package in packages:
        installed = importlib.metadata.distribution(package)
        for folder in {Path(str(file)).parts[0] for file in installed.files or []} - {".."}:
            shutil.copytree(str(installed.locate_file(folder)), agent.work / "site" / folder, ignore=skipped)


def test_over_a_restart(process: AppProcess) -> None:
    """The server inside goes on while the orchestrator is away, and the same address leads to it afterwards."""
    agent = process.agent()
    agent.ask(process.plays.commands(begins(8081, "tide")))
    base = frame(agent, "live")
    assert "tide" in answers(base).text
    process.restart()
    assert "tide" in answers(base).text
    assert agent.ask(process.plays.commands("echo fine"))["steps"][0]["output"] == "fine\n"
