"""MCP over HTTP. Each message is posted, and its answer comes as JSON or as a stream of events. A server that knows
only the way of 2024-11-05 is spoken to over two channels (``two_channels``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import cast

from orchestrator.mcp.events import McpEventReader
from orchestrator.mcp.faults import McpBroken, McpError, McpRefused, McpUnauthorized
from orchestrator.mcp.headers import write_value
from orchestrator.mcp.messages import is_answer_to, read_message, write_message
from orchestrator.mcp.side_stream import SideStream
from orchestrator.mcp.transport import Hear, JsonObject, McpClock, McpRequest
from orchestrator.mcp.two_channels import TwoChannels
from orchestrator.mcp.wire import HttpReply, HttpWire
from orchestrator.web.limits import Internet

_ACCEPT = {"Accept": "application/json, text/event-stream"}
_STREAM = "text/event-stream"
_SESSION = "Mcp-Session-Id"
_SESSION_ID = re.compile(r"[\x21-\x7e]{1,500}")
_NO_STREAMABLE = frozenset({-400, -404, -405})
_END_S = 2.0
_POST_S = 20.0
_MESSAGES_IN_AN_ANSWER = 4
"""Of the largest size: what one answer may hold with all that comes before the result."""


class HttpTransport:
    """A server at a URL."""

    is_http = True

    def __init__(
        self,
        url: str,
        *,
        internet: Internet,
        headers: Mapping[str, str] | None = None,
        bearer: Callable[[], str] | None = None,
        is_private_allowed: bool = False,
        hears_questions: bool = False,
        max_message: int = 4 << 20,
    ) -> None:
        """``bearer`` gives the token for each request, empty for none. ``is_private_allowed``: the operator named a
        host of a private network, so it may be there, over plain HTTP too. ``hears_questions``: a person answers, so
        the second stream of older servers is opened. Raises BadInput (the URL, a header)."""
        self.hears_questions = hears_questions
        self._side: SideStream | None = None
        self._wire = HttpWire(
            url,
            internet,
            headers=headers or {},
            bearer=bearer,
            is_private_allowed=is_private_allowed,
            max_exchange=_MESSAGES_IN_AN_ANSWER * max_message,
        )
        self._max_message = max_message
        self._session = ""
        self._version = ""
        self._old: TwoChannels | None = None

    def exchange(self, request: McpRequest, hear: Hear, clock: McpClock) -> JsonObject:
        """As `McpTransport.exchange`."""
        if self._old is not None:
            return self._old.exchange(request, hear, clock)
        try:
            return self._exchange_beside(request, hear, clock)
        except McpRefused as error:
            if request.message["method"] != "initialize" or error.number not in _NO_STREAMABLE:
                raise
        old = TwoChannels(self._wire, self._max_message)
        old.open(clock)
        self._old = old
        return old.exchange(request, hear, clock)

    def notify(self, request: McpRequest, clock: McpClock) -> None:
        """As `McpTransport.notify`."""
        if self._old is not None:
            self._old.notify(request, clock)
        else:
            self._post(request.message, self._headers(request), clock)

    def close(self) -> None:
        """As `McpTransport.close`."""
        if self._side is not None:
            self._side.close()
        if self._old is not None:
            self._old.close()
        elif self._session:
            try:
                with self._wire.send("DELETE", self._session_headers(self._version), McpClock(_END_S)):
                    self._session = ""
            except McpError:
                self._session = ""  # the server ends it by itself, some time

    def _exchange_beside(self, request: McpRequest, hear: Hear, clock: McpClock) -> JsonObject:
        """Exchange, while the second stream is heard too where there is one."""
        if request.is_modern or not request.version or not self.hears_questions:
            return self._exchange(request, hear, clock)
        if self._side is None:
            headers = self._session_headers(request.version)
            self._side = SideStream(self._wire, headers, self._max_message, partial(self._post_late, headers))
            self._side.start(clock)
        try:
            return self._exchange(request, self._side.begin_call(hear, clock), clock)
        finally:
            self._side.end_call()

    def _post_late(self, headers: Mapping[str, str], message: JsonObject) -> None:
        self._post(message, headers, McpClock(_POST_S))

    def _exchange(self, request: McpRequest, hear: Hear, clock: McpClock) -> JsonObject:
        events = McpEventReader(self._max_message)
        body = write_message(request.message)
        with self._wire.send("POST", {**_ACCEPT, **self._headers(request)}, clock, body=body) as reply:
            self._check(reply)
            if not request.is_modern and _SESSION_ID.fullmatch(found := reply.header(_SESSION)):
                self._session, self._version = found, request.version
            if reply.content_type != _STREAM:
                return self._read_whole(reply, request.message["id"])
            answer = self._find_answer(reply, events, request, hear, clock)
        while answer is None:
            answer = self._resume(events, request, hear, clock)
        return answer

    def _read_whole(self, reply: HttpReply, wanted: object) -> JsonObject:
        raw = reply.body(self._max_message)
        try:
            message = read_message(raw, self._max_message) if reply.content_type == "application/json" else {}
        except McpBroken:
            if reply.status == 200:
                raise
            message = {}
        if not is_answer_to(message, wanted):
            raise McpRefused(-reply.status, "")
        return message

    def _find_answer(
        self,
        reply: HttpReply,
        events: McpEventReader,
        request: McpRequest,
        hear: Hear,
        clock: McpClock,
    ) -> JsonObject | None:
        """The answer in a stream of events; None when the stream ends before it."""
        for message in self._messages(reply, events):
            if is_answer_to(message, request.message["id"]):
                return message
            if (said := hear(message)) is not None:
                self._post(said, self._session_headers(request.version), clock)
        return None

    def _messages(self, reply: HttpReply, events: McpEventReader) -> Iterator[JsonObject]:
        for event in events.read(reply.pieces()):
            if event.kind == "message" and event.data.strip():
                yield read_message(event.data, self._max_message)

    def _resume(self, events: McpEventReader, request: McpRequest, hear: Hear, clock: McpClock) -> JsonObject | None:
        """Go on with a stream that ended early, as servers of the older protocol may let it."""
        if request.is_modern or events.last_id is None:
            raise McpBroken("The server's answer ended in the middle. Try again.")
        clock.sleep(events.retry_s)
        headers = {"Accept": _STREAM, "Last-Event-ID": events.last_id, **self._session_headers(request.version)}
        with self._wire.send("GET", headers, clock) as reply:
            self._check(reply)
            if reply.status != 200 or reply.content_type != _STREAM:
                raise McpBroken("The server's answer ended in the middle. Try again.")
            return self._find_answer(reply, events, request, hear, clock)

    def _post(self, message: JsonObject, headers: Mapping[str, str], clock: McpClock) -> None:
        """Send what has no answer."""
        body = write_message(message)
        with self._wire.send("POST", {**_ACCEPT, **headers}, clock, body=body) as reply:
            self._check(reply)

    def _headers(self, request: McpRequest) -> dict[str, str]:
        if not request.is_modern:
            return self._session_headers(request.version)
        headers = {"MCP-Protocol-Version": request.version, "Mcp-Method": cast("str", request.message["method"])}
        if request.subject:
            headers["Mcp-Name"] = write_value(request.subject)
        return {**headers, **request.mirrored}

    def _session_headers(self, version: str) -> dict[str, str]:
        headers = {"MCP-Protocol-Version": version} if version else {}
        return {**headers, **({_SESSION: self._session} if self._session else {})}

    def _check(self, reply: HttpReply) -> None:
        """Raise for what no message can follow."""
        if reply.status in (401, 403):
            raise unauthorized(reply)
        if reply.status == 404 and self._session:
            self._session = ""
            raise McpBroken("The server forgot this session. Try again: the next call begins a new one.")
        if 300 <= reply.status < 400:
            raise McpBroken("The server sends on to another address in a way that is not followed.")


def unauthorized(reply: HttpReply) -> McpUnauthorized:
    """The error for a server that wants a login."""
    wants = "wants a login" if reply.status == 401 else "does not allow this with the login that it was shown"
    return McpUnauthorized(
        f"The server {wants}. Connect it again on its page.",
        status=reply.status,
        challenge=reply.header("WWW-Authenticate")[:4_000],
    )
