"""The scripted provider itself: it records, follows its script, and lets a test hold an answer up."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.scripted_upstream import Gate, ScriptedUpstream, answers, hangs, says, status, streams

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi there"}], "stream": True}


@pytest.fixture
def provider() -> Iterator[ScriptedUpstream]:
    """A scripted provider."""
    with ScriptedUpstream() as scripted:
        yield scripted


def post(provider: ScriptedUpstream, path: str = "/v1/chat/completions") -> tuple[int, bytes]:
    """One call with a client that is not ours."""
    client = http.client.HTTPConnection("127.0.0.1", provider.port, timeout=5)
    client.request("POST", path, json.dumps(BODY), {"X-Test": "yes"})
    response = client.getresponse()
    body = response.read()
    client.close()
    return response.status, body


def text_in(body: bytes, *keys: str) -> str:
    """The text of all deltas in an event stream."""
    found: list[str] = []
    for line in body.decode().splitlines():
        if not line.startswith("data: {"):
            continue
        document: Any = json.loads(line.removeprefix("data: "))
        choices = document.get("choices") or [document]
        found.append(choices[0].get("delta", {}).get(keys[0]) or "")
    return "".join(found)


def test_without_a_script_it_repeats_in_the_form_of_an_agent(provider: ScriptedUpstream) -> None:
    """The default answer is an object with the last user message in it, in both dialects."""
    for path, key in (("/v1/chat/completions", "content"), ("/v1/messages", "text")):
        code, body = post(provider, path)
        assert code == 200
        assert json.loads(text_in(body, key))["message"] == "You said: hi there"


def test_it_records_every_request(provider: ScriptedUpstream) -> None:
    """Path, headers and body are kept as they came."""
    post(provider)
    (request,) = provider.wait_for_requests(1)
    assert (request.method, request.path, request.headers["x-test"]) == ("POST", "/v1/chat/completions", "yes")
    assert request.json == BODY
    assert request.last_text == "hi there"


def test_the_script_goes_before_the_rule(provider: ScriptedUpstream) -> None:
    """Scripted replies come in order, then the function decides, by text or by reply."""
    provider.answer(lambda request: f"rule {request.last_text}")
    provider.script(says("one"), status(503), answers("two", terminal="ls"))
    assert text_in(post(provider)[1], "content") == "one"
    assert post(provider)[0] == 503
    assert json.loads(text_in(post(provider)[1], "content"))["terminal"] == "ls"
    assert text_in(post(provider)[1], "content") == "rule hi there"


def test_a_gate_holds_an_answer_up(provider: ScriptedUpstream) -> None:
    """Nothing behind the gate is sent before the test opens it."""
    before, within = Gate(), Gate()
    provider.script(hangs(before, streams(["one", within, "two"])))
    with socket.create_connection(("127.0.0.1", provider.port), timeout=5) as client:
        body = json.dumps(BODY).encode()
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        assert before.reached.wait(5)
        before.open()
        assert within.reached.wait(5)
        within.open()
        received = b""
        while not received.endswith(b"0\r\n\r\n"):
            received += client.recv(65536)
    assert b"one" in received
    assert b"two" in received
    provider.wait_until_left()


def test_waiting_for_what_does_not_come_fails(provider: ScriptedUpstream) -> None:
    """The waits end with an error instead of hanging."""
    with pytest.raises(TimeoutError):
        provider.wait_for_requests(1, timeout_s=0.01)
    gate = Gate()
    provider.script(hangs(gate))
    with socket.create_connection(("127.0.0.1", provider.port)) as client:
        client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\n\r\n")
        assert gate.reached.wait(5)
        with pytest.raises(TimeoutError):
            provider.wait_until_left(timeout_s=0.05)
        gate.open()
