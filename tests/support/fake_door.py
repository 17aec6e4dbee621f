"""A door that tests script: HTTP over a unix socket, one thread per connection, and the host's half of a turn.

It hands out the turns it was given, answers ``llm`` from a list, rules on commands by a function, writes lock files
like the host does, and remembers every call. ``faults`` are used up one a call; each is one named misbehaviour.
"""

from __future__ import annotations

import hashlib
import json
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
Ruling = tuple[str, str]


class FakeDoor:
    """Use as a context manager; ``folder`` is what the crab knows as ``/run/hermit``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.turns: list[Json] = []
        self.answers: list[str | Json | Callable[[Json], str]] = []
        """What the model says, in order: a text, an error object ``{"status", "code", "message"}``, or a function."""
        self.rule: Callable[[str], Ruling] = lambda _: ("run", "")
        """The host's ruling on a command: ``run``, ``ask``, ``refuse`` or ``stop``, and why."""
        self.decide: Callable[[Json], Json | None] = lambda lock: lock | {"status": "approved"}
        """What becomes of a question: the content of the lock file, or None for no lock at all."""
        self.expires_in_s = 60.0
        self.asked_about = ""
        """What the person is asked about instead of the command itself."""
        self.on_end: Callable[[Json], str] = lambda _: "continue"
        """What the host says after a command or after panel actions: ``continue`` or ``stop``."""
        self.on_output: Callable[[Json], None] = lambda _: None
        """Called while the host takes what a running command has printed so far; it may take its time."""
        self.act: Callable[[Any], Json] = lambda action: {"ok": True, "result": f"did {action}"}
        self.waited: Callable[[], tuple[float, bool]] = lambda: (0.0, False)
        """How long people were waited for, and whether one still is."""
        self.call: Callable[[str, Json], tuple[int, Json]] = lambda _route, _body: (200, {})
        """The host's answer to ``calls`` and ``calls/ID…``; the body is empty for a look."""
        self.faults: list[str] = []
        """``drop`` (hang up unheard), ``drop_after`` (hang up after doing it), a status, ``garbage``, ``chunked``."""
        self.calls: list[tuple[str, Json]] = []
        """Route and body of every call that was heard, in order."""
        self.connections = 0
        self.broken: list[str] = []
        """What went wrong in the door itself, e.g. a call that is not by the book."""
        self.finished: dict[int, Json] = {}
        self.changed = threading.Condition()
        self._commands: dict[tuple[int, int], str] = {}
        self._approved: set[str] = set()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.shut()

    @property
    def path(self) -> str:
        """Where the socket is."""
        return str(self.folder / "door.sock")

    def open(self) -> None:
        """Listens; after :meth:`shut` this is a host that came back."""
        Path(self.path).unlink(missing_ok=True)
        self._server = _Server(self.path, _Handler)
        self._server.door = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name="fake-door"
        )
        self._thread.start()

    def shut(self) -> None:
        """Hangs up on everybody and removes the socket."""
        if self._server and self._thread:
            self._server.shutdown()
            self._server.hang_up()
            self._server.server_close()
            self._thread.join()
            Path(self.path).unlink(missing_ok=True)
        self._server = self._thread = None

    def turn(self, text: str = "do it", **more: Any) -> Json:
        """Queues a turn and returns it."""
        turn: Json = {
            "id": len(self.turns) + len(self.finished) + 17,
            "user": "1",
            "text": text,
            "now": "2026-02-28T09:00:00Z",
            "time_zone": "Europe/Vienna",
            "history": [],
            "agent": {"name": "crab", "role": "", "personality": "", "image": "base"},
            "limits": {"steps": 30, "command_timeout_s": 10, "output_bytes": 16000},
        } | more
        with self.changed:
            self.turns.append(turn)
            self.changed.notify_all()
        return turn

    def wait_finished(self, turn: Json, timeout_s: float = 20.0) -> Json:
        """How the turn ended, as the crab said."""
        with self.changed:
            assert self.changed.wait_for(lambda: turn["id"] in self.finished, timeout_s), "the turn did not end"
            return self.finished[turn["id"]]

    def bodies(self, route: str, phase: str = "") -> list[Json]:
        """The bodies of all calls whose route ends so."""
        with self.changed:
            return [body for name, body in self.calls if name.endswith(route) and body.get("phase", "") == phase]

    def approve(self, approval: str) -> None:
        """The host will let the approval run its step once; the lock is another matter."""
        self._approved.add(approval)

    def write_lock(self, kind: str, name: object, content: Json) -> None:
        """A lock file, whole from the first moment."""
        draft = self.folder / f"draft-{threading.get_ident()}"
        draft.write_text(json.dumps(content))
        draft.rename(self.folder / f"hermit_{kind}.{name}.lock")

    def answer(self, method: str, target: str, body: Json) -> tuple[int, Json | None]:
        """One call, by the book."""
        url = urlsplit(target)
        assert url.path.startswith("/api/internal/")
        route = url.path.removeprefix("/api/internal/")
        with self.changed:
            self.calls.append((route, body))
            self.changed.notify_all()
        if (method, route) == ("GET", "turns/next"):
            return self._next(parse_qs(url.query))
        if route == "calls" or route.startswith("calls/"):
            return self.call(route, body)
        if method == "GET" and route.endswith("/waited"):
            assert float(parse_qs(url.query)["since"][0]) > 1e9
            waited_s, is_waiting = self.waited()
            return 200, {"waited_s": waited_s, "is_waiting": is_waiting}
        assert method == "POST", f"{method} {route}"
        if route == "llm":
            return self._llm(body)
        if route == "approvals":
            return 200, self._ask(body)
        if route.endswith("/finish"):
            return self._finish(int(route.split("/")[1]), body)
        if route.endswith("/steps"):
            return 200, self._step(int(route.split("/")[1]), body)
        assert route == "status", route
        return 200, {}

    def _next(self, query: dict[str, list[str]]) -> tuple[int, Json | None]:
        assert query["boot"][0]
        wait_s = min(float(query["wait"][0]), 0.5)
        with self.changed:
            self.changed.wait_for(lambda: bool(self.turns), wait_s)
            return (200, {"turn": self.turns.pop(0)}) if self.turns else (204, None)

    def _llm(self, body: Json) -> tuple[int, Json]:
        if not self.answers:
            return 503, {"error": {"code": "upstream_failed", "message": "The script has no more answers."}}
        answer = self.answers.pop(0)
        if isinstance(answer, dict):
            return answer["status"], {"error": {"code": answer["code"], "message": answer["message"]}}
        output = answer if isinstance(answer, str) else answer(body)
        return 200, {
            "output": output,
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "cost_usd": 0},
            "model": "m",
        }

    def _step(self, turn: int, body: Json) -> Json:
        if body["phase"] == "actions":
            return {"results": [self.act(action) for action in body["actions"]], "do": self.on_end(body)}
        if body["phase"] == "output":
            self.on_output(body)
            return {"do": "continue"}
        if body["phase"] == "end":
            return {"do": self.on_end(body)}
        self._commands[turn, body["n"]] = body["command"]
        if body["approval"]:
            known = body["approval"] in self._approved
            self._approved.discard(body["approval"])
            return {"do": "run"} if known else {"do": "refuse", "reason": "There is no such approval."}
        do, reason = self.rule(body["command"])
        return {"do": do, "reason": reason} if reason else {"do": do}

    def _ask(self, body: Json) -> Json:
        approval = f"A{body['turn']}x{body['n']}"
        sha256 = hashlib.sha256((self.asked_about or self._commands[body["turn"], body["n"]]).encode()).hexdigest()
        expires_at = time.time() + self.expires_in_s
        asked = {"id": approval, "sha256": sha256, "turn": body["turn"], "n": body["n"], "expires_at": expires_at}
        lock = self.decide(asked)
        if lock is not None:
            approved = lock["status"] == "approved"
            if approved:
                self.approve(approval)
            self.write_lock("approval" if approved else "deny", approval, lock)
        return {"approval": approval, "sha256": sha256, "expires_at": expires_at}

    def _finish(self, turn: int, body: Json) -> tuple[int, Json]:
        with self.changed:
            self.finished[turn] = body
            self.changed.notify_all()
        return 200, {}


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    door: FakeDoor

    def __init__(self, path: str, handler: type[BaseHTTPRequestHandler]) -> None:
        self.open_sockets: set[Any] = set()
        super().__init__(path, handler)

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        self.open_sockets.add(connection)
        self.door.connections += 1
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self.open_sockets.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Ends every connection."""
        for connection in list(self.open_sockets):
            try:
                connection.shutdown(2)
            except OSError:
                continue  # ended by itself

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.door.broken.append(repr(error))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def address_string(self) -> str:
        return "crab"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        return

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        assert "Transfer-Encoding" not in self.headers
        self._serve(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _serve(self, body: Json) -> None:
        door = self.server.door
        if self.path.startswith(
            "/api/internal/streams"
        ):  # the tunnel listener's thread: beside the turns, and never scripted
            time.sleep(0.5)
            self._send(200, {"wanted": False})
            return
        fault = door.faults.pop(0) if door.faults else ""
        if fault == "drop":
            self.close_connection = True
            return
        if fault == "garbage":
            self.wfile.write(b"SMTP ready\r\n\r\n")
            self.close_connection = True
            return
        if fault == "chunked":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
            self.close_connection = True
            return
        if fault.isdigit():
            code = {"400": "bad_input", "429": "too_many"}.get(fault, "trouble")
            self._send(int(fault), {"error": {"code": code, "message": f"Answered {fault}."}})
            return
        status, answer = door.answer(self.command, self.path, body)
        if fault == "drop_after":
            self.close_connection = True
            return
        self._send(status, answer)

    def _send(self, status: int, answer: Json | None) -> None:
        raw = b"" if answer is None else json.dumps(answer).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(raw)}\r\n\r\n"
        self.wfile.write(head.encode() + raw)


def serve_crab(folder: Path, workspace: Path, python: str) -> list[str]:
    """The command line that starts a crab like the launcher in the image does."""
    root = Path(__file__).resolve().parents[2]
    start = f"from crab.agent import main; main({str(folder)!r}, {str(workspace)!r})"
    return [python, "-I", "-S", "-B", "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {start}"]
