"""A driver of a live browser that knows nothing of pages: commands out, answers and events in. And a way out that leads
to one small site of the test's own."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helpers import HelperSpec

ANSWERS_S = 30.0


class RawDriver:
    """Speaks with one browser; lives in its loop."""

    def __init__(self, key: CubicleKey) -> None:
        self.key = key
        self.events: list[dict[str, Any]] = []
        self.connections = 0
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._ready = asyncio.Event()
        self._news = asyncio.Event()

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the connection ends."""
        self._writer, self.connections = writer, self.connections + 1
        rest = b""
        try:
            while piece := await reader.read(1 << 16):
                *messages, rest = (rest + piece).split(b"\0")
                for message in messages:
                    self._take(json.loads(message))
        except OSError:
            pass  # it ended
        self._ready.clear()
        self._writer = None
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Unavailable("The connection was lost."))
        self._waiting.clear()

    async def wait_ready(self, within_s: float) -> None:
        """The relay has told all."""
        try:
            await asyncio.wait_for(self._ready.wait(), within_s)
        except TimeoutError as error:
            raise Unavailable("The browser did not start in time.") from error

    async def close(self) -> None:
        """Cut the connection."""
        self.drop()

    def drop(self) -> None:
        """Our end goes away."""
        if self._writer is not None:
            self._writer.close()

    async def command(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """What the browser answers."""
        await asyncio.wait_for(self._ready.wait(), ANSWERS_S)
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        if self._writer is None:
            raise Unavailable("The connection was lost.")
        self._writer.write(json.dumps(message).encode() + b"\0")
        answer = await asyncio.wait_for(future, ANSWERS_S)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    async def wait_event(
        self, method: str, *, since: int = 0, within_s: float = ANSWERS_S, state: str = "", session: str = ""
    ) -> dict[str, Any]:
        """The first of these, in this state and of this session if they are named, after the first ``since`` events of
        all."""
        async with asyncio.timeout(within_s):
            while True:
                self._news.clear()
                for event in self.events[since:]:
                    is_it = event["method"] == method and state in ("", event["params"].get("state"))
                    if is_it and session in ("", event.get("sessionId")):
                        return event
                await self._news.wait()

    async def open_tab(self) -> str:
        """The session of a new tab."""
        made = await self.command("Target.createTarget", url="about:blank")
        found = await self.command("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        session = str(found["sessionId"])
        await self.command("Page.enable", session)
        await self.command("Page.getFrameTree", session)
        return session

    async def navigate(self, session: str, url: str) -> None:
        """The page is loaded."""
        since = len(self.events)
        answer = await self.command("Page.navigate", session, url=url)
        assert "errorText" not in answer, answer
        await self.wait_event("Page.loadEventFired", since=since, session=session)

    async def evaluate(self, session: str, script: str) -> Any:
        """What a script gives."""
        found = await self.command("Runtime.evaluate", session, expression=script, returnByValue=True)
        return found["result"].get("value")

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            future = self._waiting.pop(message["id"], None)
            if future is not None and not future.done():
                future.set_result(message)
            return
        self.events.append(message)
        if message["method"] == "Relay.ready":
            self._ready.set()
        self._news.set()


class SiteGate:
    """A way out for one container that leads nowhere but to the pages of the test, and notes who was asked for."""

    def __init__(self, folder: Path, pages: dict[str, bytes], asked: list[str]) -> None:
        self._pages, self._asked = pages, asked
        path = folder / "gate.sock"
        path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        path.chmod(0o666)
        self._listening.listen(64)
        self._thread = threading.Thread(target=self._serve, name="site-gate", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Nobody answers any more."""
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                if not (piece := connection.recv(4096)):
                    return
                head += piece
            how, url = head.split(b" ")[:2]
            self._asked.append(url.decode("latin-1"))
            page = self._pages.get(url.decode("latin-1")) if how == b"GET" else None
            status = b"200 OK" if page is not None else b"403 Forbidden"
            kind = b"application/octet-stream" if url.endswith(b".bin") else b"text/html"
            body = page or b"no"
            connection.sendall(
                b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
                % (status, kind, len(body), body)
            )


def gate_maker(pages: dict[str, bytes], asked: list[str]) -> Callable[[CubicleKey, HelperSpec], SiteGate]:
    """Opens such a gate for each browser."""

    def open_gate(_key: CubicleKey, spec: HelperSpec) -> SiteGate:
        assert spec.sockets is not None
        return SiteGate(spec.sockets, pages, asked)

    return open_gate
