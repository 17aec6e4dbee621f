"""What is measured inside a cubicle: small programs run there once, which print their times as JSON."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import socket
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_PREAMBLE = """
import json, os, socket, sys, time
def timed(count, work):
    for _ in range(3): work()
    times = []
    for _ in range(count):
        began = time.monotonic_ns(); work(); times.append((time.monotonic_ns() - began) / 1e6)
    print(json.dumps(times))
"""

PROGRAMS = {
    "bash_true": """
def work():
    os.waitpid(os.posix_spawn("/bin/bash", ["bash", "-c", "true"], os.environ), 0)
timed(COUNT, work)
""",
    "door_calls": """
door = socket.socket(socket.AF_UNIX); door.connect("/run/hermit/door.sock")
body = json.dumps({"messages": [{"role": "user", "content": "steps=0"}]}).encode()
head = b"POST /api/internal/llm HTTP/1.1\\r\\nHost: door\\r\\nContent-Type: application/json\\r\\nContent-Length: "
request = head + str(len(body)).encode() + b"\\r\\n\\r\\n" + body
def work():
    door.sendall(request)
    got = b""
    while b"\\r\\n\\r\\n" not in got: got += door.recv(65536)
    head, rest = got.split(b"\\r\\n\\r\\n", 1)
    length = int(next(l.split(b":")[1] for l in head.split(b"\\r\\n") if l.lower().startswith(b"content-length")))
    while len(rest) < length: rest += door.recv(65536)
    assert head.startswith(b"HTTP/1.1 200"), got
timed(COUNT, work)
""",
    "crab_start": """
import tempfile
folder = tempfile.mkdtemp()
os.mkdir(folder + "/work")
server = socket.socket(socket.AF_UNIX); server.bind(folder + "/door.sock"); server.listen(8)
code = "import sys; sys.path.insert(0, '/app'); from crab import agent; agent.main(%r, %r)" % (folder, folder)
def work():
    pid = os.posix_spawn("/usr/bin/python3", ["python3", "-I", "-S", "-c", code], os.environ)
    client, _ = server.accept()
    client.recv(65536)
    os.kill(pid, 9); os.waitpid(pid, 0); client.close()
timed(COUNT, work)
""",
    "closes": """
folder, ended = "/app/workspace/out/", []
for n in range(COUNT):
    file = os.open(folder + ".bench-%d" % n, os.O_WRONLY | os.O_CREAT)
    os.write(file, b"x")
    time.sleep(0.003)
    ended.append(time.monotonic_ns())
    os.close(file)
time.sleep(0.1)
for n in range(COUNT): os.unlink(folder + ".bench-%d" % n)
print(json.dumps(ended))
""",
    "arrival": """
folder = "/app/workspace/out/"
with open(folder + ".bench", "w") as file: file.write("number %d" % NUMBER)
time.sleep(0.05)
at = time.monotonic_ns()
os.rename(folder + ".bench", folder + "bench-%d.txt" % NUMBER)
print(json.dumps(at))
""",
    "memory": """
for name in filter(str.isdigit, os.listdir("/proc")):
    facts = dict(line.split(":", 1) for line in open("/proc/%s/status" % name))
    if facts["Name"].strip().startswith("python3") and facts["PPid"].strip() == "1":  # the init's child: the crab
        resident = int(facts["VmRSS"].split()[0]) / 1024
print(json.dumps(resident))
""",
}


def measure(container: Any, program: str, count: int) -> list[float]:
    """The milliseconds that a program of ``PROGRAMS`` printed, run ``count`` times inside."""
    times = ask(container, program, COUNT=count)
    assert isinstance(times, list)
    return [float(ms) for ms in times]


def ask(container: Any, program: str, **values: int) -> Any:
    """What a program of ``PROGRAMS`` printed."""
    names = "".join(f"{name} = {value}\n" for name, value in values.items())
    done = container.exec_run(["/usr/bin/python3", "-I", "-c", names + _PREAMBLE + PROGRAMS[program]])
    if done.exit_code:
        raise RuntimeError(done.output.decode())
    return json.loads(done.output)


def socket_round_trips(count: int) -> list[float]:
    """A bare HTTP exchange over a kept unix socket with another process."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "s")
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(1)
        echo = multiprocessing.get_context("fork").Process(target=_echo, args=(server,))
        echo.start()
        client = socket.socket(socket.AF_UNIX)
        client.connect(path)
        times = []
        for _ in range(count):
            began = time.monotonic_ns()
            client.sendall(b"GET / HTTP/1.1\r\nHost: floor\r\n\r\n")
            answer = b""
            while not answer.endswith(b"{}"):
                answer += client.recv(65536)
            times.append((time.monotonic_ns() - began) / 1e6)
        client.close()
        echo.join()
        server.close()
        return times


def _echo(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        while connection.recv(65536):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


class Direct:
    """A kept connection straight to the model server, as a client without us would hold."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
        self._path = f"{parts.path}/chat/completions"

    def call(self, body: dict[str, Any]) -> None:
        """One streamed call, read to its end."""
        payload = json.dumps({"model": "scripted-large", "stream": True, **body})
        self._connection.request("POST", self._path, payload, {"Content-Type": "application/json"})
        self._connection.getresponse().read()

    def close(self) -> None:
        """Let go."""
        self._connection.close()
