"""Web apps: files against nginx that serves the same folder, a live app's round trip against the same server on plain
loopback, and a hundred streams at once. ``python -m bench.previews [--write]`` keeps the figures in
docs/performance.md.

nginx and wrk are installed by apt where they are missing; where they can't be had, files are left out and it says so.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from bench.figures import machine
from bench.install import Fixture, running_install
from tests.support.free_ports import free_port

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- app figures -->", "<!-- end of app figures -->"
SERVER = Path(__file__).with_name("echo_server.py")
SIZES = {"1 KB": 1_024, "100 KB": 102_400, "5 MB": 5 * 1024 * 1024}
PORT, STREAMS = 8765, 100
_CONFIG = """
worker_processes 1; daemon off; pid {folder}/pid; error_log stderr;
events {{ worker_connections 256; }}
http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen 127.0.0.1:{port}; root {root}; }} }}
"""


def files(install: Fixture, www: Path) -> list[str]:
    """A row for each size and number of connections; empty where there is no nginx to compare with."""
    if not _has_tools():
        return []
    (www / "index.html").write_text("<!doctype html>")
    for name, size in SIZES.items():
        (www / _file(name)).write_bytes(os.urandom(size))
    base = _frame(install, "app")
    rows = []
    with _nginx(www) as plain:
        for name in SIZES:
            for connections in (1, 8):
                ours, theirs = _both(f"{base}{_file(name)}", f"{plain}/{_file(name)}", connections)
                what = f"{name}, {connections} connection{'s' if connections > 1 else ''}"
                rows.append(f"| {what} | {ours:,.0f} | {theirs:,.0f} | {theirs / ours:.1f} × |")
    return rows


def live(install: Fixture, count: int) -> list[str]:
    """Round trips and streams, through the preview origin and straight."""
    with _server_beside() as plain:
        through = urlsplit(_frame(install, "live"))
        beside = urlsplit(plain)
        _until_it_answers(through)
        ours, theirs = _round_trips(through, count), _round_trips(beside, count)
        told, told_beside = _delays(through), _delays(beside)
    added = statistics.median(ours) - statistics.median(theirs)
    return [
        _row("round trip, same server on plain loopback", theirs),
        _row("round trip through preview origin, tunnel and cubicle", ours),
        f"| … what that adds at p50 | {added:.2f} |  | ≤ 5 |",
        _row(f"an event of one of {STREAMS} streams at once, plain loopback", told_beside),
        _row(f"an event of one of {STREAMS} streams at once, through the preview origin", told),
    ]


def _row(what: str, times: list[float], goal: str = "") -> str:
    ordered = sorted(times)
    return f"| {what} | {statistics.median(times):.2f} | {ordered[int(len(ordered) * 0.99)]:.2f} | {goal} |"


def _frame(install: Fixture, name: str) -> str:
    apps = install.call("GET", "/agents/crab/apps")["apps"]
    return str(next(app["frame_url"] for app in apps if app["name"] == name))


def _file(name: str) -> str:
    return f"{name.replace(' ', '').lower()}.bin"


# --- files ---------------------------------------------------------------------------------------------------------


def _has_tools() -> bool:
    missing = [name for name in ("nginx", "wrk") if shutil.which(name) is None]
    if missing:
        packages = [{"nginx": "nginx-light"}.get(name, name) for name in missing]
        command = ["/usr/bin/apt-get", "install", "-y", "--no-install-recommends", *packages]
        subprocess.run(command, check=False, capture_output=True)
    return all(shutil.which(name) for name in ("nginx", "wrk"))


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise RuntimeError(f"{name} is gone")
    return found


@contextmanager
def _nginx(root: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        config = Path(folder) / "nginx.conf"
        user = "user root;" if os.geteuid() == 0 else ""  # the workspace is no other user's to read
        config.write_text(user + _CONFIG.format(folder=folder, port=port, root=root), encoding="ascii")
        process = subprocess.Popen([_tool("nginx"), "-p", folder, "-c", str(config)], stderr=subprocess.DEVNULL)
        try:
            _until_it_answers(urlsplit(f"http://127.0.0.1:{port}/index.html"))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


def _both(ours: str, theirs: str, connections: int) -> tuple[float, float]:
    """Requests a second, in turns, so that what else the machine does meets both."""
    rates: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        for url, found in zip((ours, theirs), rates, strict=True):
            found.append(_wrk(url, connections))
    return statistics.median(rates[0]), statistics.median(rates[1])


def _wrk(url: str, connections: int) -> float:
    command = [_tool("wrk"), "-t1", f"-c{connections}", "-d2s", "-H", "Sec-Fetch-Dest: image", url]
    said = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    if "Non-2xx" in said or "Socket errors" in said:
        raise RuntimeError(said)
    found = re.search(r"Requests/sec:\s+([0-9.]+)", said)
    if found is None:
        raise RuntimeError(said)
    return float(found[1])


# --- live apps -----------------------------------------------------------------------------------------------------


def start_inside(install: Fixture, www: Path) -> None:
    """The server runs in the cubicle, and says where."""
    work = www.parent / "work"
    (work / SERVER.name).write_bytes(SERVER.read_bytes())
    (work / SERVER.name).chmod(0o644)
    (www / "live").mkdir()
    (www / "live" / "app.json").write_text(f'{{"port": {PORT}}}')
    install.container().exec_run(["python3", f"/app/workspace/work/{SERVER.name}", str(PORT)], detach=True)


@contextmanager
def _server_beside() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen([sys.executable, str(SERVER), str(port)])
    try:
        _until_it_answers(urlsplit(f"http://127.0.0.1:{port}/"))
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(10)


def _ask(place: SplitResult, path: str = "") -> socket.socket:
    wire = socket.create_connection((place.hostname, place.port), timeout=30)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire.sendall(_request(place, path))
    return wire


def _request(place: SplitResult, path: str = "") -> bytes:
    return f"GET {place.path}{path} HTTP/1.1\r\nHost: {place.netloc}\r\nSec-Fetch-Dest: empty\r\n\r\n".encode()


def _until_it_answers(place: SplitResult) -> None:
    for _ in range(200):
        try:
            with _ask(place) as wire:
                if wire.recv(65_536).startswith(b"HTTP/1.1 200"):
                    return
        except ConnectionError:
            pass  # not yet
        time.sleep(0.05)
    raise RuntimeError(f"nothing answers at {place.netloc}")


def _round_trips(place: SplitResult, count: int) -> list[float]:
    """Milliseconds of each, over one connection that is kept."""
    times = []
    with _ask(place) as wire:
        _answer(wire)
        for number in range(count + 20):
            began = time.monotonic_ns()
            wire.sendall(_request(place))
            _answer(wire)
            if number >= 20:
                times.append((time.monotonic_ns() - began) / 1e6)
    return times


def _answer(wire: socket.socket) -> None:
    said = b""
    while not said.endswith(b"\r\n\r\nok"):
        piece = wire.recv(65_536)
        if not piece:
            raise RuntimeError("the connection was closed")
        said += piece


def _delays(place: SplitResult) -> list[float]:
    """Milliseconds from the server's clock to here, of every event of all streams."""
    delays: list[list[float]] = [[] for _ in range(STREAMS)]
    threads = [threading.Thread(target=_listen, args=(place, found)) for found in delays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    if any(len(found) != 20 for found in delays):
        raise RuntimeError("a stream was incomplete")
    return [delay for found in delays for delay in found[1:]]  # the first one waits for its stream


def _listen(place: SplitResult, found: list[float]) -> None:
    with _ask(place, "events") as wire:
        rest = b""
        while piece := wire.recv(65_536):
            now = time.monotonic_ns()
            *lines, rest = (rest + piece).split(b"\n")
            found += [(now - int(line[6:])) / 1e6 for line in lines if line.startswith(b"data: ")]
            if len(found) == 20:
                return


def main() -> None:
    """Measure, print, and with ``--write`` keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--count", type=int, default=500)
    options = parser.parse_args()
    with running_install() as install:
        install.say("steps=0")
        www = install.home / "workspaces" / "crab" / "1" / "www"
        (www / "app").mkdir()
        start_inside(install, www)
        lives = live(install, options.count)
        served = files(install, www / "app")
    text = "| live apps | p50 ms | p99 ms | goal |\n|---|---:|---:|---|\n" + "\n".join(lives) + "\n\n"
    if served:
        text += "| files, a second | ours | nginx | nginx is |\n|---|---:|---:|---:|\n" + "\n".join(served)
    else:
        text += "Files were not measured: nginx and wrk could not be installed."
    text += f"\n\nMachine: {machine()}, {time.strftime('%Y-%m-%d')}, "
    text += f"with a load of {os.getloadavg()[0]:.1f} while it was measured."
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        head, tail = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
