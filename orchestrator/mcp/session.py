"""One conversation with one MCP server: agreeing on a protocol, lists, calls. Knows both ways of speaking: the newest
protocol has no sessions, and each request says all about itself; the older ones begin with ``initialize``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.core.errors import BadInput, Stopped
from orchestrator.mcp.entries import EntryList, McpDropped, read_prompt, read_resource, read_template, read_tool
from orchestrator.mcp.faults import McpBroken, McpError, McpRefused, McpSlow
from orchestrator.mcp.headers import read_mirrored, write_mirrored
from orchestrator.mcp.hearing import McpEar, OnProgress, OnQuestion
from orchestrator.mcp.models import (
    MAX_CALL_S,
    McpCatalog,
    McpContent,
    McpHello,
    McpLimits,
    McpPromptMessage,
    McpResult,
    McpTool,
)
from orchestrator.mcp.results import read_contents, read_hello, read_prompt_messages, read_tool_result
from orchestrator.mcp.transport import JsonObject, McpClock, McpRequest, McpTransport

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
KNOWN_LEGACY = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", LEGACY})
_META = "io.modelcontextprotocol/"
_CLIENT = "hermitshell"
_NEEDS_MORE = -32021
_VERSION_REFUSED = -32022
_CANCEL_S = 2.0
_DISCOVER_SHARE = 2 / 3
"""Of the time to connect: how long the newest protocol is waited for."""


class McpSession:
    """A conversation with one server. Used by one thread at a time."""

    def __init__(
        self,
        transport: McpTransport,
        limits: McpLimits | None = None,
        *,
        client_version: str,
        asks_persons: bool = False,
        tries_newest: bool = True,
    ) -> None:
        """``asks_persons``: calls come with ``on_question``, so servers may be told that questions are answered.
        ``tries_newest``: False for a server that ended when it was asked for the newest protocol."""
        self._transport = transport
        self._limits = limits or McpLimits()
        self._me = {"name": _CLIENT, "version": client_version}
        self._asks_persons, self._tries_newest = asks_persons, tries_newest
        self._is_modern = False
        self._version = ""
        self._hello: McpHello | None = None
        self._last_id = 0
        self._mirrored: dict[str, Mapping[tuple[str, ...], str]] | None = None
        self._is_changed = False

    @property
    def is_changed(self) -> bool:
        """The server said since the last `fetch_catalog` that a list of its changed."""
        return self._is_changed

    def connect(self) -> McpHello:
        """Agree on a protocol. Raises McpError."""
        clock = McpClock(self._limits.connect_s)
        hello = self._discover(clock) if self._tries_newest else None
        self._hello = hello or self._initialize(clock)
        return self._hello

    def fetch_catalog(self) -> McpCatalog:
        """Everything that the server offers; what is malformed is left out and said. Raises McpError."""
        hello = self._greeted()
        self._is_changed = False
        dropped = McpDropped()
        tools: tuple[McpTool, ...] = self._list("tool", "tools/list", "tools", self._read_tool, dropped)
        offers = hello.capabilities
        has_resources, has_prompts = "resources" in offers, "prompts" in offers
        listed = ("resources/list", "resources/templates/list") if has_resources else ("", "")
        return McpCatalog(
            hello,
            tools,
            self._list("resource", listed[0], "resources", read_resource, dropped),
            self._list("template", listed[1], "resourceTemplates", read_template, dropped),
            self._list("prompt", "prompts/list" if has_prompts else "", "prompts", read_prompt, dropped),
            dropped.listed(),
        )

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
        on_question: OnQuestion | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> McpResult:
        """Call a tool. Raises McpRefused, McpSlow, McpBroken, McpUnauthorized, and Stopped."""
        self._greeted()
        clock = McpClock(self._seconds(timeout_s), should_stop)
        ear = self._ear(clock, on_progress, on_question)
        params = {"name": tool, "arguments": dict(arguments)}
        mirrored = self._headers_for(tool, arguments)
        return read_tool_result(self._ask_on("tools/call", params, ear, subject=tool, mirrored=mirrored))

    def read(
        self,
        uri: str,
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
        on_question: OnQuestion | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> tuple[McpContent, ...]:
        """Read a resource. Raises as `call`."""
        self._greeted()
        clock = McpClock(self._seconds(timeout_s), should_stop)
        ear = self._ear(clock, on_progress, on_question)
        return read_contents(self._ask_on("resources/read", {"uri": uri}, ear, subject=uri))

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str],
        *,
        timeout_s: float | None = None,
        on_question: OnQuestion | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> tuple[McpPromptMessage, ...]:
        """The messages of a prompt, as data. Raises as `call`."""
        self._greeted()
        clock = McpClock(self._seconds(timeout_s), should_stop)
        ear = self._ear(clock, None, on_question)
        params = {"name": name, "arguments": dict(arguments)}
        return read_prompt_messages(self._ask_on("prompts/get", params, ear, subject=name))

    def close(self) -> None:
        """End it. Never raises."""
        self._transport.close()

    # --- agreeing on a protocol

    def _discover(self, whole: McpClock) -> McpHello | None:
        """Ask in the newest protocol. None for a server of an older one."""
        self._is_modern, self._version = True, MODERN
        clock = McpClock(whole.seconds_left() * _DISCOVER_SHARE)
        try:
            result = self._ask_to_discover(clock)
        except McpRefused as error:
            if error.number == _NEEDS_MORE:
                raise
            return None
        except McpSlow:
            return None
        if MODERN not in _texts(result.get("supportedVersions")):
            return None  # some older servers answer whatever they are asked with an empty result
        meta = result.get("_meta")
        who = meta.get(f"{_META}serverInfo") if isinstance(meta, dict) else None
        return read_hello(MODERN, result, who or result.get("serverInfo"))

    def _ask_to_discover(self, clock: McpClock) -> JsonObject:
        """Ask; once more where the server refuses the version and names the same one."""
        try:
            return self._ask("server/discover", {}, self._ear(clock))
        except McpRefused as error:
            named = error.details.get("supported") if isinstance(error.details, dict) else None
            if error.number != _VERSION_REFUSED or MODERN not in _texts(named):
                raise
            return self._ask("server/discover", {}, self._ear(clock))

    def _initialize(self, clock: McpClock) -> McpHello:
        self._is_modern, self._version = False, ""
        params = {"protocolVersion": LEGACY, "capabilities": self._capabilities(), "clientInfo": self._me}
        result = self._ask("initialize", params, self._ear(clock))
        version = result.get("protocolVersion")
        if not isinstance(version, str) or version not in KNOWN_LEGACY:
            raise McpBroken(
                "The server speaks no version of the protocol that is known here. Install another version of it."
            )
        self._version = version
        self._notify("notifications/initialized", {}, clock)
        return read_hello(version, result, result.get("serverInfo"))

    def _greeted(self) -> McpHello:
        return self._hello or self.connect()

    def _capabilities(self) -> dict[str, Any]:
        """What is offered to the server."""
        if not (self._is_modern or self._transport.hears_questions):
            return {}
        return {"elicitation": {"form": {}}} if self._asks_persons else {}

    # --- lists

    def _list(
        self, noun: str, method: str, key: str, read: Callable[[Mapping[str, Any]], Any], dropped: McpDropped
    ) -> tuple[Any, ...]:
        """All pages of a list; nothing without a method."""
        listed = EntryList(noun, read, dropped, self._limits.max_tools, self._limits.max_tool)
        params: dict[str, Any] = {}
        for _ in range(self._limits.max_pages if method else 0):
            clock = McpClock(self._limits.call_s)
            try:
                result = self._ask(method, params, self._ear(clock))
            except McpRefused:
                dropped.add(f"The server refused to list its {noun}s.")
                break
            listed.take(result.get(key))
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or listed.is_full:
                break
            params = {"cursor": cursor}
        else:
            if method:
                dropped.add(f"The list of {noun}s has more than {self._limits.max_pages} pages; the rest was left out.")
        return listed.entries()

    def _read_tool(self, wire: Mapping[str, Any]) -> tuple[str, McpTool]:
        name, tool = read_tool(wire)
        if self._is_modern and self._transport.is_http:
            mirrored = read_mirrored(tool.input_schema)
            if self._mirrored is None:
                self._mirrored = {}
            self._mirrored[name] = mirrored
        return name, tool

    def _headers_for(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, str]:
        """What the tool wants of its arguments in headers; its schema is fetched for it where nobody did."""
        if not (self._is_modern and self._transport.is_http):
            return {}
        if self._mirrored is None:
            self._mirrored = {}
            self._list("tool", "tools/list", "tools", self._read_tool, McpDropped())
        return write_mirrored(self._mirrored.get(tool, {}), arguments)

    # --- asking

    def _ask_on(
        self,
        method: str,
        params: JsonObject,
        ear: McpEar,
        *,
        subject: str,
        mirrored: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """Ask until there is a result, and answer the questions that come instead."""
        asked = dict(params)
        while True:
            result = self._ask(method, asked, ear, subject=subject, mirrored=mirrored)
            kind = result.get("resultType", "complete")
            if kind == "complete":
                return result
            if kind != "input_required" or not self._is_modern:
                raise McpBroken("The server sent a result of a kind that is not known here.")
            answers = ear.answer_inputs(result.get("inputRequests", {}))
            asked = {**params, "inputResponses": answers}
            if "requestState" in result:
                asked["requestState"] = result["requestState"]

    def _ask(
        self,
        method: str,
        params: JsonObject,
        ear: McpEar,
        *,
        subject: str = "",
        mirrored: Mapping[str, str] | None = None,
    ) -> JsonObject:
        """One request, and its result. Raises McpError, and Stopped."""
        self._last_id += 1
        ear.token = self._last_id
        sent = self._with_meta(params, ear)
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": sent}
        request = McpRequest(message, self._version, self._is_modern, subject, mirrored or {})
        try:
            answer = self._transport.exchange(request, ear.hear, ear.clock)
        except (McpSlow, Stopped) as error:
            self._cancel(self._last_id, error)
            raise
        if isinstance(error_said := answer.get("error"), dict):
            raise _refused(error_said)
        result = answer.get("result")
        if not isinstance(result, dict):
            raise McpBroken("The server's answer has no result object.")
        return result

    def _with_meta(self, params: JsonObject, ear: McpEar) -> JsonObject:
        meta: dict[str, Any] = {"progressToken": ear.token} if ear.wants_progress else {}
        if self._is_modern:
            meta |= {
                f"{_META}protocolVersion": self._version,
                f"{_META}clientInfo": self._me,
                f"{_META}clientCapabilities": self._capabilities(),
            }
        return {**params, "_meta": meta} if meta else params

    def _notify(self, method: str, params: JsonObject, clock: McpClock) -> None:
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}
        self._transport.notify(McpRequest(message, self._version, self._is_modern), clock)

    def _cancel(self, request_id: int, reason: McpSlow | Stopped) -> None:
        """Tell the server that nobody waits any more. Over HTTP of the newest protocol the closed answer says so."""
        if self._is_modern and self._transport.is_http:
            return
        text = "stopped" if isinstance(reason, Stopped) else "timeout"
        try:
            self._notify("notifications/cancelled", {"requestId": request_id, "reason": text}, McpClock(_CANCEL_S))
        except McpError:
            return  # it is gone already: the next request says so

    def _ear(
        self, clock: McpClock, on_progress: OnProgress | None = None, on_question: OnQuestion | None = None
    ) -> McpEar:
        return McpEar(self._limits, clock, on_progress, on_question, self._note_change)

    def _note_change(self) -> None:
        self._is_changed = True

    def _seconds(self, timeout_s: float | None) -> float:
        seconds = self._limits.call_s if timeout_s is None else timeout_s
        if not 0 < seconds <= MAX_CALL_S:
            raise BadInput(f"timeout_s: must be more than 0 and at most {MAX_CALL_S:,.0f} seconds.")
        return seconds


def _refused(error: Mapping[str, Any]) -> McpRefused:
    number, said = error.get("code"), error.get("message")
    return McpRefused(
        number if isinstance(number, int) else 0, said if isinstance(said, str) else "", details=error.get("data")
    )


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
