"""The client over HTTP, against servers on loopback that each do one thing wrong, or speak an older way."""

from __future__ import annotations

import json
import queue
from typing import Any

import pytest

from orchestrator.core.errors import BadInput
from orchestrator.mcp.faults import McpBroken, McpError, McpRefused, McpSlow, McpUnauthorized
from orchestrator.mcp.http import HttpTransport
from orchestrator.mcp.models import McpAnswer
from orchestrator.mcp.session import McpSession
from orchestrator.web.limits import Internet
from tests.support.mcp_site import Answer, SiteRequest, mcp_site
from tests.unit.mcp.test_hostile import little_memory

DISCOVERED = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
TOOLS = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
MIB = 1 << 20
EVENTS = "text/event-stream"


def session_at(url: str, *, asks: bool = False, **more: Any) -> McpSession:
    transport = HttpTransport(url, internet=Internet(), is_private_allowed=True, hears_questions=asks, **more)
    return McpSession(transport, client_version="1", asks_persons=asks)


def modern(call: Answer) -> Answer:
    """A server of the newest protocol whose calls are answered so."""

    def answer(request: SiteRequest) -> None:
        method = request.message.get("method")
        if method == "tools/call":
            call(request)
        else:
            request.result(DISCOVERED if method == "server/discover" else TOOLS)

    return answer


def endless_body(request: SiteRequest) -> None:
    request.begin(200, "application/json")
    while request.write(b" " * 65_536):
        pass


def endless_event(request: SiteRequest) -> None:
    request.begin(200, EVENTS)
    while request.write(b"data: " + b"x" * 65_536 + b"\n"):
        pass


def endless_line(request: SiteRequest) -> None:
    request.begin(200, EVENTS)
    while request.write(b"x" * 65_536):
        pass


def endless_comments(request: SiteRequest) -> None:
    request.begin(200, EVENTS)
    while request.write(b": still here\n" * 5_000):
        pass


def endless_news(request: SiteRequest) -> None:
    request.begin(200, EVENTS)
    while request.write(b'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n' * 100):
        pass


def half_a_stream(request: SiteRequest) -> None:
    request.begin(200, EVENTS)
    request.write(b'id: 1\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n')


def elsewhere(request: SiteRequest) -> None:
    request.begin(307, "text/plain", Location="http://127.0.0.2:9/mcp")


def around(request: SiteRequest) -> None:
    request.begin(307, "text/plain", Location="/mcp")


def other_redirect(request: SiteRequest) -> None:
    request.begin(302, "text/plain", Location="/else")


def say_nothing(request: SiteRequest) -> None:
    request.over.wait(60)


def packed(request: SiteRequest) -> None:
    request.begin(200, "application/json", Content_Encoding="gzip")
    request.write(b"\x1f\x8b" + b"0" * 100)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (endless_body, "more than 4 MiB"),
        (endless_event, "more than 4 MiB"),
        (endless_line, "too long"),
        (endless_comments, "say nothing"),
        (endless_news, "10,000 messages"),
        (half_a_stream, "ended in the middle"),
        (elsewhere, "another host"),
        (around, "too often"),
        (other_redirect, "not followed"),
        (packed, "packed its answer"),
        (lambda request: request.write(b"HTTP/9 nonsense\r\n\r\n"), "no valid answer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_ended_with_a_sentence(call: Answer, sentence: str) -> None:
    """Bodies, events, lines and redirects without end, and answers that are none."""
    with mcp_site(modern(call)) as site:
        session = session_at(site.url)
        session.connect()
        session.fetch_catalog()
        with little_memory(most=20 * MIB), pytest.raises(McpBroken, match=sentence):
            session.call("t", {})


def test_a_server_that_says_nothing_is_slow() -> None:
    """The time of the call ends it."""
    with mcp_site(modern(say_nothing)) as site:
        session = session_at(site.url)
        session.fetch_catalog()
        with pytest.raises(McpSlow):
            session.call("t", {}, timeout_s=0.3)


def test_a_status_without_a_message_is_a_refusal() -> None:
    """Its number is told, its page is not read."""
    with mcp_site(modern(lambda request: request.begin(500, "text/html"))) as site, pytest.raises(McpRefused) as caught:
        session_at(site.url).call("t", {})
    assert caught.value.number == -500


def test_a_redirect_on_the_same_host_is_followed() -> None:
    """Many servers want a slash more."""

    def answer(request: SiteRequest) -> None:
        if request.path == "/mcp":
            request.begin(308, "text/plain", Location="/mcp/")
        else:
            request.result(DISCOVERED)

    with mcp_site(answer) as site:
        assert session_at(site.url).connect().protocol_version == "2026-07-28"


def test_nothing_but_what_was_given_is_sent() -> None:
    """No cookie, and the token alone."""

    def answer(request: SiteRequest) -> None:
        request.result(DISCOVERED, Set_Cookie="a=b")

    with mcp_site(answer) as site:
        session = session_at(site.url, headers={"X-Team": "a"}, bearer=lambda: "tok")
        session.connect()
        session.connect()
        sent = [request.headers for request in site.asked]
    assert [(one["authorization"], one["x-team"]) for one in sent] == [("Bearer tok", "a")] * 2
    assert not [one for one in sent if "cookie" in one]


@pytest.mark.parametrize(
    "headers", [{"Host": "x"}, {"Cookie": "a=b"}, {"a b": "c"}, {"X": "a\r\nY: b"}, {"X": "ä"}, {"Content-Length": "3"}]
)
def test_headers_that_can_not_be_set_are_refused(headers: dict[str, str]) -> None:
    """Not those that frame a request, and nothing that makes two of one."""
    with pytest.raises(BadInput, match="headers"):
        HttpTransport("https://mcp.example/", internet=Internet(), headers=headers)


def test_a_private_address_needs_a_word_of_the_operator() -> None:
    """Neither address nor name, encrypted or not; nothing is sent."""
    with mcp_site(lambda request: request.result(DISCOVERED)) as site:
        for url in (site.url, site.url.replace("http:", "https:"), "https://printer.local/mcp"):
            with pytest.raises(BadInput):
                HttpTransport(url, internet=Internet())
        assert not site.asked


def test_a_name_that_leads_to_a_private_address_is_not_connected_to() -> None:
    """The name is looked up once and judged by its addresses."""

    class Rebound:
        def resolve(self, host: str, timeout_s: float) -> list[str]:
            """A public name."""
            return ["10.0.0.7"]

        def connect(self, *_: Any) -> Any:
            """Never called."""
            raise AssertionError

    transport = HttpTransport("https://mcp.example/", internet=Internet(network=Rebound()))
    with pytest.raises(McpBroken, match="private network"):
        McpSession(transport, client_version="1").connect()


def test_a_wish_for_a_login_is_told_with_its_challenge() -> None:
    """The caller needs it to begin one."""

    def answer(request: SiteRequest) -> None:
        request.begin(401, "text/plain", WWW_Authenticate='Bearer scope="a"')

    with mcp_site(answer) as site, pytest.raises(McpUnauthorized) as caught:
        session_at(site.url).connect()
    assert (caught.value.status, caught.value.challenge) == (401, 'Bearer scope="a"')


class OldServer:
    """Of 2025-11-25, with a session that it can forget."""

    def __init__(self) -> None:
        self.session = "s1"

    def __call__(self, request: SiteRequest) -> None:
        method = request.message.get("method")
        if method == "server/discover":
            request.begin(400, "text/plain")
        elif method == "initialize":
            request.result({"protocolVersion": "2025-06-18", "capabilities": {}}, Mcp_Session_Id=self.session)
        elif request.headers.get("mcp-session-id") != self.session:
            request.begin(404, "text/plain")
        elif "id" in request.message:
            request.result({"content": []})
        else:
            request.begin(202, "text/plain")


def test_a_session_of_an_older_server_is_kept_and_ended() -> None:
    """Its id goes with each message, and a DELETE ends it."""
    with mcp_site(OldServer()) as site:
        session = session_at(site.url)
        session.call("t", {})
        session.close()
        methods = [(request.method, request.message.get("method")) for request in site.asked]
    assert methods == [
        ("POST", "server/discover"),
        ("POST", "initialize"),
        ("POST", "notifications/initialized"),
        ("POST", "tools/call"),
        ("DELETE", None),
    ]


def test_a_forgotten_session_is_said() -> None:
    """The sentence says what to do."""
    server = OldServer()
    with mcp_site(server) as site:
        session = session_at(site.url)
        session.connect()
        server.session = "s2"
        with pytest.raises(McpBroken, match="forgot this session"):
            session.call("t", {})


class TwoChannelServer:
    """Of 2024-11-05: a stream, and an address to post to."""

    def __init__(self, endpoint: str = "/messages?id=1") -> None:
        self.endpoint = endpoint
        self.said: queue.Queue[Any] = queue.Queue()

    def __call__(self, request: SiteRequest) -> None:
        if request.method == "GET":
            request.begin(200, EVENTS)
            request.write(f"event: endpoint\ndata: {self.endpoint}\n\n".encode())
            while not request.over.is_set():
                try:
                    said = self.said.get(timeout=0.05)
                except queue.Empty:
                    continue
                request.write(b"event: message\ndata: " + json.dumps(said).encode() + b"\n\n")
        elif request.path == "/mcp":
            request.begin(405, "text/plain")
        else:
            message = request.message
            if "id" in message:
                hello = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}}
                result = {"initialize": hello, "tools/list": TOOLS}.get(message["method"], {"content": []})
                self.said.put({"jsonrpc": "2.0", "id": message["id"], "result": result})
            request.begin(202, "text/plain")


def test_the_two_channels_of_the_oldest_servers_are_spoken() -> None:
    """After streamable HTTP was refused."""
    with mcp_site(TwoChannelServer()) as site:
        session = session_at(site.url)
        assert session.connect().protocol_version == "2024-11-05"
        assert [tool.name for tool in session.fetch_catalog().tools] == ["t"]
        assert not session.call("t", {}).is_error
        session.close()


@pytest.mark.parametrize("endpoint", ["http://127.0.0.2:9/", "https://evil.example/", "//evil.example/x"])
def test_the_second_channel_is_on_the_same_host(endpoint: str) -> None:
    """A server can't have us write to another."""
    with mcp_site(TwoChannelServer(endpoint)) as site, pytest.raises(McpBroken, match="another host"):
        session_at(site.url).connect()


class AskingServer(OldServer):
    """Asks on its second stream while it is called."""

    def __init__(self, schema: dict[str, Any]) -> None:
        super().__init__()
        self.schema = schema
        self.calls: queue.Queue[int] = queue.Queue()
        self.answers: queue.Queue[Any] = queue.Queue()

    def __call__(self, request: SiteRequest) -> None:
        message = request.message
        if request.method == "GET":
            request.begin(200, EVENTS)
            while not request.over.is_set():
                try:
                    self.calls.get(timeout=0.05)
                except queue.Empty:
                    if not request.write(b":\n"):
                        return
                    continue
                params = {"message": "?", "requestedSchema": self.schema}
                asked = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params}
                request.write(b"data: " + json.dumps(asked).encode() + b"\n\n")
        elif message.get("method") == "tools/call":
            self.calls.put(1)
            request.result({"content": [], "structuredContent": self.answers.get(timeout=60)})
        elif message.get("id") == "q":
            self.answers.put(message["result"])
            request.begin(202, "text/plain")
        else:
            super().__call__(request)


def test_questions_on_the_second_stream_are_answered() -> None:
    """While the call itself waits."""
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 4}}}
    with mcp_site(AskingServer(schema)) as site:
        session = session_at(site.url, asks=True)
        result = session.call("t", {}, on_question=lambda asked: McpAnswer("accept", {"n": asked.fields[0].default}))
        session.close()
    assert result.structured == {"action": "accept", "content": {"n": 4}}


def test_an_answer_that_does_not_fit_ends_the_call() -> None:
    """Also where another thread found it."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    with mcp_site(AskingServer(schema)) as site:
        session = session_at(site.url, asks=True)
        with pytest.raises(BadInput, match=r"^n: "):
            session.call("t", {}, on_question=lambda _: McpAnswer("accept", {"n": "x"}))
        session.close()


def test_a_host_that_is_not_there_is_said() -> None:
    """Without waiting for the time to end."""
    with mcp_site(lambda request: request.result(DISCOVERED)) as site:
        url = site.url
    with pytest.raises(McpError, match="could not be reached"):
        session_at(url).connect()
