"""The program that the official conformance suite of MCP starts: our client, told what to do by the scenario's name.

``python -m tests.support.mcp_conformance_client URL``, with ``MCP_CONFORMANCE_SCENARIO`` and ``…_CONTEXT`` set.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from http.client import HTTPConnection
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from orchestrator.mcp.faults import McpRefused, McpUnauthorized
from orchestrator.mcp.http import HttpTransport
from orchestrator.mcp.models import McpAnswer, McpCatalog, McpQuestion
from orchestrator.mcp.oauth import McpLogins
from orchestrator.mcp.oauth_models import McpClientId, McpGrant
from orchestrator.mcp.session import McpSession
from orchestrator.web.limits import Internet

Result = TypeVar("Result")


def answer(question: McpQuestion) -> McpAnswer:
    """A person who leaves every default as it is."""
    content: dict[str, Any] = {}
    for field in question.fields:
        if field.default is not None:
            content[field.name] = field.default
        elif field.required:
            content[field.name] = {"yes_no": True, "number": 1, "integer": 1}.get(field.kind, "x")
    return McpAnswer("accept", content)


def arguments_for(name: str, catalog: McpCatalog, calls: Mapping[str, Any]) -> dict[str, Any]:
    """What the scenario wants a tool to be called with."""
    if name in calls:
        return dict(calls[name])
    if name == "json_schema_echo":
        schemas = [tool.input_schema for tool in catalog.tools if tool.name != name] or [catalog.tools[0].input_schema]
        return {"schema": schemas[0]}
    return {"a": 1, "b": 2} if "add" in name else {}


CLIENT_URL = "https://conformance-test.local/client-metadata.json"
REDIRECT = "http://localhost:3000/callback"
MAX_LOGINS = 3


class Browser:
    """A person who allows everything: follows the link to the login and brings back what it answers."""

    def __init__(self, url: str, context: Mapping[str, Any]) -> None:
        issuer, client_id, secret = (context.get(key, "") for key in ("issuer", "client_id", "client_secret"))
        registered = McpClientId(issuer, client_id, secret, "client_secret_basic") if issuer and client_id else None
        self._logins = McpLogins(
            url,
            internet=Internet(),
            redirect_uri=REDIRECT,
            client_metadata_url=CLIENT_URL,
            registered=registered,
            is_private_allowed=True,
        )
        self._grant: McpGrant | None = None
        self._count = 0

    def token(self) -> str:
        """The token, where there is one."""
        return self._grant.access_token if self._grant is not None else ""

    def log_in(self, refusal: McpUnauthorized) -> None:
        """Make the login."""
        self._count += 1
        if self._count > MAX_LOGINS:
            raise refusal
        start = self._logins.begin(refusal, self._grant)
        there = urlsplit(start.url)
        connection = HTTPConnection(there.hostname or "", there.port, timeout=20)
        connection.request("GET", f"{there.path}?{there.query}")
        back = connection.getresponse().getheader("Location") or ""
        connection.close()
        self._grant = self._logins.finish(start, dict(parse_qsl(urlsplit(back).query)))


def main() -> None:
    """Connect, list, and call each tool; log in where that is wanted."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    calls = {call["name"]: call.get("arguments", {}) for call in context.get("toolCalls", [])}
    browser = Browser(sys.argv[-1], context)
    transport = HttpTransport(
        sys.argv[-1], internet=Internet(), bearer=browser.token, is_private_allowed=True, hears_questions=True
    )
    session = McpSession(transport, client_version="1", asks_persons=True)

    def allowed(deed: Callable[[], Result]) -> Result:
        while True:
            try:
                return deed()
            except McpUnauthorized as refusal:
                browser.log_in(refusal)

    say(allowed(session.connect))
    catalog = allowed(session.fetch_catalog)
    say(catalog.dropped)
    for tool in catalog.tools:
        arguments = arguments_for(tool.name, catalog, calls)
        call = partial(session.call, tool.name, arguments, on_question=answer)
        try:
            say(tool.name, allowed(call))
        except McpRefused as error:
            say(tool.name, error, error.said)
    session.close()


def say(*words: object) -> None:
    """For whoever looks why a scenario failed."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")


if __name__ == "__main__":
    main()
