"""What the upstreams make of a provider that misbehaves, in both dialects: a kind sentence, and never its words."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from email.utils import formatdate

import pytest

from orchestrator.core.errors import ConfigError, UpstreamFailed
from orchestrator.core.models import ModelRequest
from orchestrator.llm.upstreams import http
from orchestrator.llm.upstreams.anthropic import Anthropic
from orchestrator.llm.upstreams.http_errors import Provider, failure_of_status, retry_after
from orchestrator.llm.upstreams.openai_compatible import OpenAICompatible
from orchestrator.llm.upstreams.secret import Secret
from tests.support.scripted_upstream import (
    Gate,
    Reply,
    ScriptedUpstream,
    cut,
    drip,
    echoes_key,
    endless_line,
    endless_stream,
    garbage,
    hangs,
    hangs_up,
    not_http,
    raw_stream,
    says,
    status,
    streams,
    web_page,
)
from tests.support.scripted_upstream import http as http_answer

KEY = "sk-secret-0123456789abcdef"
REQUEST = ModelRequest(
    "scripted", ({"role": "system", "content": "JSON, please."}, {"role": "user", "content": "hello"}), 100
)
Client = OpenAICompatible | Anthropic
Connect = Callable[..., Client]


@pytest.fixture
def provider() -> Iterator[ScriptedUpstream]:
    """A scripted provider."""
    with ScriptedUpstream() as scripted:
        yield scripted


@pytest.fixture(params=["openai", "anthropic"])
def connect(request: pytest.FixtureRequest, provider: ScriptedUpstream) -> Iterator[Connect]:
    """Makes an upstream, once for each dialect."""
    made: list[Client] = []

    def build(base_url: str = "", *, idle_timeout_s: float = 120.0) -> Client:
        base_url = base_url or provider.base_url
        client: Client
        if request.param == "anthropic":
            client = Anthropic(KEY, "scripted", name="custom", base_url=base_url, idle_timeout_s=idle_timeout_s)
        else:
            client = OpenAICompatible(
                "custom", base_url, KEY, "scripted", key_setting="OPENAI_API_KEY", idle_timeout_s=idle_timeout_s
            )
        made.append(client)
        return client

    yield build
    for client in made:
        client.close()


def failure(client: Client) -> UpstreamFailed:
    """The failure of one call, wherever in it."""
    with pytest.raises(UpstreamFailed) as failed:
        list(client.complete(REQUEST))
    return failed.value


STATUSES = [
    (301, False, "redirects elsewhere (301)"),
    (307, False, "redirects elsewhere (307)"),
    (400, False, "refused the request (400)"),
    (401, False, "refused the key (401). Check the key in "),
    (402, False, "out of credit (402)"),
    (403, False, "refused the key (403). Check the key in "),
    (404, False, "does not know this model or address (404)"),
    (408, True, "problem of its own (408)"),
    (413, False, "too large for custom (413)"),
    (418, False, "unexpected answer (418)"),
    (422, False, "refused the request (422)"),
    (429, True, "asked too often (429)"),
    (500, True, "problem of its own (500)"),
    (503, True, "problem of its own (503)"),
    (529, True, "problem of its own (529)"),
]


@pytest.mark.parametrize(("code", "may_retry", "says_so"), STATUSES)
def test_every_status_has_its_sentence(
    connect: Connect,
    provider: ScriptedUpstream,
    code: int,
    may_retry: bool,  # noqa: FBT001 - pytest passes it by name
    says_so: str,
) -> None:
    """The sentence names the provider and the status, and says whether a second try makes sense."""
    provider.script(*[status(code, Location="/elsewhere")] * 5)
    failed = failure(connect())
    assert says_so in failed.message
    assert "custom" in failed.message
    assert failed.may_retry is may_retry


BROKEN: list[tuple[Reply, bool, str]] = [
    (garbage(), True, "not a model's answer"),
    (garbage(b""), True, "not a model's answer"),
    (garbage(b"{not json"), True, "not a model's answer"),
    (garbage(b"[1, 2]"), True, "not a model's answer"),
    (garbage(b'{"object": "list"}'), True, "not a model's answer"),
    (garbage(b"{" + b'"a":{' * 100_000), True, "not a model's answer"),
    (web_page(), False, "web page"),
    (web_page(502), True, "problem of its own (502)"),
    (not_http(), True, "broke off the connection"),
    (hangs_up(), True, "broke off the connection"),
    (raw_stream(), True, "not a model's answer"),
    (raw_stream(b": only a comment\n\n"), True, "not a model's answer"),
    (raw_stream(b"data: {not json}\n\n"), True, "not a model's answer"),
    (raw_stream(b"data: [1]\n\n"), True, "not a model's answer"),
    (raw_stream(b"\xff\xfe\x00" * 5000), True, "not a model's answer"),
    (endless_line(), True, "does not end"),
    (endless_line(b"data: x\n" * 8192), True, "does not end"),
    (endless_stream(), False, "far more than an answer can hold"),
    (lambda _: iter([b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{}"]), True, ""),
    (lambda _: iter([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]), True, "broke off"),
    (lambda _: iter([b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"]), True, "broke off"),
    (lambda _: iter([b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n"]), True, "broke off"),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_a_broken_answer_is_a_plain_failure_and_the_next_call_works(
    connect: Connect, provider: ScriptedUpstream, number: int
) -> None:
    """Garbage, cut and endless answers end in one sentence, and leave nothing behind that hurts the next call."""
    reply, may_retry, says_so = BROKEN[number]
    client = connect(idle_timeout_s=1.0)
    provider.script(reply, says("fine"))
    failed = failure(client)
    assert says_so in failed.message
    assert failed.may_retry is may_retry
    assert "".join(client.complete(REQUEST)) == "fine"


def test_a_stream_cut_anywhere_is_never_taken_for_whole(connect: Connect, provider: ScriptedUpstream) -> None:
    """Wherever the connection breaks, the call fails and may be tried again, or the text was whole already."""
    client, text = connect(), "one two three"
    ends = [_end_of(client, provider, cut(text, at=at)) for at in range(0, 1800, 37)]
    assert ends[0] != text
    assert ends[-1] == text
    assert all(end == text or "broke off" in end for end in ends)


def _end_of(client: Client, provider: ScriptedUpstream, reply: Reply) -> str:
    """The text of the answer, or the sentence of a failure that may be tried again."""
    provider.script(reply)
    try:
        return "".join(client.complete(REQUEST))
    except UpstreamFailed as failed:
        return failed.message if failed.may_retry else "not worth trying again"


def test_slow_bytes_make_the_same_answer(connect: Connect, provider: ScriptedUpstream) -> None:
    """An answer whose bytes come one by one is read like any other."""
    provider.script(drip("grüß dich, 🦀 crab"))
    assert "".join(connect().complete(REQUEST)) == "grüß dich, 🦀 crab"


def test_silence_is_given_up(connect: Connect, provider: ScriptedUpstream) -> None:
    """A provider that falls silent, before its head or in its answer, fails after the idle time and may be retried."""
    before, within = Gate(), Gate()
    provider.script(hangs(before), streams(["one ", within, "two"]))
    client = connect(idle_timeout_s=0.1)
    for gate in (before, within):
        failed = failure(client)
        assert failed.may_retry
        assert "stopped answering" in failed.message
        gate.open()


def test_the_total_time_is_bounded(provider: ScriptedUpstream, connect: Connect) -> None:
    """A provider that drips for ever is ended by the clock, and the call is not worth repeating."""
    client = connect()
    client._endpoint.total_timeout_s = 0.0
    provider.script(endless_stream())
    failed = failure(client)
    assert "took longer than 0 s" in failed.message
    assert not failed.may_retry


def test_nobody_there(connect: Connect) -> None:
    """A port where nothing listens, and a name that does not exist, cannot be reached at HOST."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    for url, host in ((f"http://127.0.0.1:{port}/v1", "127.0.0.1"), ("http://nobody.invalid/v1", "nobody.invalid")):
        failed = failure(connect(url))
        assert f"cannot be reached at {host}" in failed.message
        assert failed.may_retry


def test_a_provider_that_went_away_is_called_anew(connect: Connect, provider: ScriptedUpstream) -> None:
    """A kept connection that the provider has closed meanwhile is not used again."""
    client = connect()
    assert list(client.complete(REQUEST))
    provider.hang_up()
    provider.wait_until_left()
    assert list(client.complete(REQUEST))
    assert provider.connections == 2


@pytest.mark.parametrize("code", [400, 401, 403, 429, 500, 302])
def test_the_key_never_shows(
    connect: Connect, provider: ScriptedUpstream, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    """A provider that repeats the key in body and headers gets it into no error, no log line and no repr."""
    caplog.set_level(logging.DEBUG)
    client = connect()
    provider.script(*[echoes_key(code)] * 5)
    failed = failure(client)
    seen = [str(failed), repr(failed), repr(failed.__cause__), repr(client), str(client), caplog.text]
    assert KEY in str(provider.calls[0].headers)
    assert all(KEY not in text for text in seen)


def test_malformed_headers_do_not_reach_the_log(
    connect: Connect, provider: ScriptedUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    """Headers that cannot be parsed are not logged as they came."""
    caplog.set_level(logging.DEBUG)
    provider.script(lambda _: iter([f"HTTP/1.1 401 No\r\nbad header {KEY}\r\nContent-Length: 0\r\n\r\n".encode()]))
    failure(connect())
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", ["sk-with\nnewline", "sk-with\r\nX-Evil: 1", "sk-\x00", "schlüssel", "x" * 5000])
def test_an_unusable_key_is_refused_without_showing_it(key: str) -> None:
    """A key that no header can carry is refused when the upstream is made, and the message does not hold it."""
    with pytest.raises(ConfigError) as refused:
        OpenAICompatible("custom", "http://127.0.0.1:1/v1", key, key_setting="HERMIT_LLM_API_KEY")
    assert "HERMIT_LLM_API_KEY" in refused.value.message
    assert key not in refused.value.message


def test_a_secret_hides() -> None:
    """A secret prints as hidden, is false when empty, drops blanks around it and cannot be pickled."""
    secret = Secret(f" {KEY}\n", setting="X")
    assert secret.reveal() == KEY
    assert KEY not in f"{secret} {secret!r}"
    assert not Secret("", setting="X")
    with pytest.raises(TypeError):
        secret.__reduce__()


@pytest.mark.parametrize(
    "url",
    ["", "ftp://x/v1", "https://", "http://[::1", "http://x:99999/v1", "http://user:pw@host/v1", "http://a\x01/v1"],
)
def test_an_unusable_base_url_is_refused(url: str) -> None:
    """The base URL is checked when the upstream is made, and a password in it is not repeated."""
    with pytest.raises(ConfigError) as refused:
        OpenAICompatible("custom", url)
    assert "pw" not in refused.value.message
    assert "custom" in refused.value.message


def test_a_compressed_answer_is_not_unpacked(connect: Connect, provider: ScriptedUpstream) -> None:
    """We ask for plain bytes; an answer that is compressed all the same fails, so that no bomb goes off."""
    provider.script(lambda _: iter([http_answer(200, b"\x1f\x8b" * 50, {"Content-Encoding": "gzip"})]))
    failed = failure(connect())
    assert provider.calls[0].headers["accept-encoding"] == "identity"
    assert "compressed" in failed.message


WAITS = [
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "1.5"}, 1.5),
    ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
    ({"retry-after": "2m"}, 120.0),
    ({"retry-after": "999999999"}, 86400.0),
    ({"retry-after": formatdate(1000 + 30, usegmt=True)}, 30.0),
    ({"retry-after": formatdate(1000 - 30, usegmt=True)}, 0.0),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "-5"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "9" * 400}, None),
    ({}, None),
]


@pytest.mark.parametrize(("headers", "wait_s"), WAITS)
def test_retry_after(headers: dict[str, str], wait_s: float | None) -> None:
    """Seconds, milliseconds, units and dates are understood; anything else is no time; a day is the most."""
    assert retry_after(lambda name: headers.get(name, ""), now=1000.0) == wait_s


def test_retry_after_comes_with_the_failure(connect: Connect, provider: ScriptedUpstream) -> None:
    """A 429 with a waiting time hands it on."""
    provider.script(status(429, retry_after="3"))
    assert failure(connect()).retry_after_s == 3.0


def test_a_provider_without_a_key_setting() -> None:
    """A 401 of a server that was set up without a key says so."""
    failed = failure_of_status(Provider("ollama"), 401, lambda _: "", host="127.0.0.1")
    assert failed.message == "The provider ollama refused the key (401). It may want a key."


def test_the_caps_are_what_the_docs_say() -> None:
    """The limits that docs/providers.md states."""
    assert http.CONNECT_TIMEOUT_S == 10
    assert http.IDLE_TIMEOUT_S == 120
    assert http.TOTAL_TIMEOUT_S == 600
    assert http.MAX_ANSWER_BYTES == 16 * 1024 * 1024
