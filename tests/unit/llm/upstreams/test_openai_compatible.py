"""The OpenAI-compatible upstream: what it sends, what it reads, and what it learns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.models import ModelRequest, TokenUse
from orchestrator.llm.upstreams.openai_compatible import OLD_LIMIT, OpenAICompatible
from tests.support.scripted_upstream import (
    Reply,
    Request,
    ScriptedUpstream,
    garbage,
    http,
    plain,
    raw_events,
    says,
    split_at,
    status,
)

SYSTEM = {"role": "system", "content": "Answer with one JSON object."}
REQUEST = ModelRequest("m", (SYSTEM, {"role": "user", "content": "hello"}), 100)


@pytest.fixture
def provider() -> Iterator[ScriptedUpstream]:
    """A scripted provider."""
    with ScriptedUpstream() as scripted:
        yield scripted


@pytest.fixture
def upstream(provider: ScriptedUpstream) -> Iterator[OpenAICompatible]:
    """An upstream that talks to it."""
    made = OpenAICompatible("custom", provider.base_url, "sk-1", "default-model", key_setting="HERMIT_LLM_API_KEY")
    yield made
    made.close()


def chunk(**choice: Any) -> str:
    """One line with one choice."""
    return "data: " + json.dumps({"choices": [{"index": 0, **choice}]})


def delta(text: Any) -> str:
    """One line with one delta."""
    return chunk(delta={"content": text})


END = chunk(delta={}, finish_reason="stop")
DONE = "data: [DONE]"


def test_the_request_is_made_of_the_model_request_alone(upstream: OpenAICompatible, provider: ScriptedUpstream) -> None:
    """Model, messages, limits and the ask for JSON go out with our key; other keys of a message do not."""
    sneaky = {"role": "user", "content": "hi", "name": "x", "tool_calls": [1]}
    request = ModelRequest("m", (SYSTEM, sneaky), 77, temperature=0.5, stop=("END",))
    assert list(upstream.complete(request))
    call = provider.calls[0]
    assert (call.method, call.path) == ("POST", "/v1/chat/completions")
    assert call.headers["authorization"] == "Bearer sk-1"
    assert call.json == {
        "model": "m",
        "messages": [SYSTEM, {"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 77,
        "temperature": 0.5,
        "stop": ["END"],
        "response_format": {"type": "json_object"},
    }


@pytest.mark.parametrize(
    "request_",
    [
        ModelRequest("m", (SYSTEM, {"role": "user", "content": "hi"}), 9, json_object=False),
        ModelRequest("m", ({"role": "user", "content": "no such word"},), 9),
    ],
)
def test_json_is_asked_for_only_where_it_can_be(
    upstream: OpenAICompatible, provider: ScriptedUpstream, request_: ModelRequest
) -> None:
    """Nobody asked for it, or the conversation does not speak of JSON (OpenAI refuses that): no ``response_format``."""
    assert list(upstream.complete(request_))
    assert "response_format" not in provider.calls[0].json


def test_a_server_without_a_key_gets_no_authorization(provider: ScriptedUpstream) -> None:
    """Without a key there is no such header."""
    upstream = OpenAICompatible("ollama", provider.base_url)
    assert list(upstream.complete(REQUEST))
    assert "authorization" not in provider.calls[0].headers
    upstream.close()


def test_a_query_in_the_base_url_is_kept(provider: ScriptedUpstream) -> None:
    """``https://host/v1?api-version=1`` keeps its version behind the path."""
    upstream = OpenAICompatible("custom", provider.base_url + "/?api-version=1")
    assert list(upstream.complete(REQUEST))
    assert provider.calls[0].path == "/v1/chat/completions?api-version=1"
    upstream.close()


def test_odd_text_is_sent_as_unicode(upstream: OpenAICompatible, provider: ScriptedUpstream) -> None:
    """Umlauts go out as they are; half a character (from a file name, say) becomes a question mark and no crash."""
    assert list(upstream.complete(ModelRequest("m", ({"role": "user", "content": "ü 🦀 \udc80 json"},), 9)))
    assert provider.calls[0].last_text == "ü 🦀 ? json"


ANSWERS: list[tuple[Reply, str, str, TokenUse]] = [
    (raw_events(delta("a"), delta("b"), END, DONE), "ab", "stop", TokenUse()),
    (raw_events(delta("a"), END), "a", "stop", TokenUse()),
    (raw_events(delta("a"), DONE), "a", "stop", TokenUse()),
    (raw_events(delta("a"), END, DONE, end="\r\n\r\n"), "a", "stop", TokenUse()),
    (raw_events(": OPENROUTER PROCESSING", delta("a"), ": more", END, DONE), "a", "stop", TokenUse()),
    (raw_events("event: x\n" + delta("a"), END, DONE), "a", "stop", TokenUse()),
    (raw_events(delta(None), delta("a"), delta(7), END, DONE), "a", "stop", TokenUse()),
    (raw_events(chunk(delta={"reasoning_content": "hm", "content": None}), delta("a"), END), "a", "stop", TokenUse()),
    (raw_events(chunk(delta={"reasoning": "hm", "content": ""}), delta("a"), END), "a", "stop", TokenUse()),
    (raw_events(delta([{"type": "thinking"}, {"type": "text", "text": "a"}]), END), "a", "stop", TokenUse()),
    (raw_events(chunk(delta=None), delta("a"), END), "a", "stop", TokenUse()),
    (raw_events(chunk(index=1, delta={"content": "other"}), delta("a"), END), "a", "stop", TokenUse()),
    (raw_events('data: {"choices": []}', 'data: {"choices": null}', delta("a"), END), "a", "stop", TokenUse()),
    (raw_events('data: {"error": null, "choices": []}', delta("a"), END), "a", "stop", TokenUse()),
    (raw_events(delta("a"), chunk(delta={}, finish_reason="length"), DONE), "a", "length", TokenUse()),
    (
        raw_events(
            delta("a"), END, 'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}', DONE
        ),
        "a",
        "stop",
        TokenUse(3, 4),
    ),
    (
        raw_events(
            delta("a"),
            'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], '
            '"x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}}',
        ),
        "a",
        "stop",
        TokenUse(3, 4),
    ),
    (
        raw_events(delta("a"), END, 'data: {"usage": {"cost": 0.00125, "prompt_tokens": NaN}}', DONE),
        "a",
        "stop",
        TokenUse(None, None, 1250),
    ),
    (says("a b", usage=None), "a b", "stop", TokenUse()),
    (says("a", usage="lots"), "a", "stop", TokenUse()),
    (says("a", usage={"prompt_tokens": -5, "completion_tokens": 10**12}), "a", "stop", TokenUse()),
    (says("a", usage={"prompt_tokens": float("nan"), "completion_tokens": True}), "a", "stop", TokenUse()),
    (plain("whole", usage={"prompt_tokens": 1, "completion_tokens": 2}), "whole", "stop", TokenUse(1, 2)),
    (
        lambda request: iter([http(200, b"\n  " + _body(plain("padded", usage=None), request))]),
        "padded",
        "stop",
        TokenUse(),
    ),
]


def _body(reply: Reply, request: Request) -> bytes:
    whole = b"".join(piece for piece in reply(request) if isinstance(piece, bytes))
    return whole.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_answers_are_read_however_they_come(
    upstream: OpenAICompatible, provider: ScriptedUpstream, number: int
) -> None:
    """Every way that providers write an answer gives its text, its end and what it used."""
    reply, text, reason, use = ANSWERS[number]
    provider.script(reply)
    completion = upstream.complete(REQUEST)
    assert "".join(completion) == text
    assert (completion.finish_reason, completion.use) == (reason, use)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_chunk_boundaries_do_not_matter(upstream: OpenAICompatible, provider: ScriptedUpstream, size: int) -> None:
    """A stream that is cut in the middle of characters and lines is read the same."""
    provider.script(split_at(size, "grüß dich 🦀 crab"))
    assert "".join(upstream.complete(REQUEST)) == "grüß dich 🦀 crab"


ERRORS: list[tuple[Reply, bool]] = [
    (raw_events('data: {"error": {"code": 502, "message": "SECRET"}}'), True),
    (raw_events(delta("a"), 'data: {"error": {"code": "server_error", "message": "SECRET"}, "choices": []}'), True),
    (raw_events('data: {"error": {"code": 402, "message": "SECRET"}}'), False),
    (raw_events('data: {"error": "SECRET"}'), True),
    (raw_events(chunk(delta={"content": ""}, error={"code": 400, "message": "SECRET"})), False),
    (raw_events(delta("a"), chunk(delta={"content": ""}, finish_reason="error"), DONE), True),
    (garbage(b'{"error": {"code": 400, "message": "SECRET"}}'), False),
    (raw_events(DONE), True),
    (raw_events('data: {"choices": []}', DONE), True),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_an_error_in_a_good_looking_answer_is_a_failure(
    upstream: OpenAICompatible, provider: ScriptedUpstream, number: int
) -> None:
    """200 with an error in it, or with nothing in it, fails, without the provider's words, and may have cost money."""
    reply, may_retry = ERRORS[number]
    provider.script(reply)
    with pytest.raises(UpstreamFailed) as failed:
        list(upstream.complete(REQUEST))
    assert failed.value.may_retry is may_retry
    assert failed.value.may_have_cost
    assert "SECRET" not in failed.value.message


def test_a_break_behind_the_end_costs_only_the_usage(upstream: OpenAICompatible, provider: ScriptedUpstream) -> None:
    """A connection that breaks after the reason was there leaves a whole answer with unknown use."""

    def reply(_request: Request) -> Iterator[bytes]:
        text = f"{delta('all of it')}\n\n{END}\n\n".encode()
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\nff\r\ndata: {" % (len(text), text)
        raise OSError("cut")

    provider.script(reply)
    completion = upstream.complete(REQUEST)
    assert "".join(completion) == "all of it"
    assert (completion.finish_reason, completion.use) == ("stop", TokenUse())


class Picky:
    """A provider that refuses some fields with 400, naming them or not."""

    def __init__(self, *fields: str, words: str = "Unsupported parameter: '{}'") -> None:
        self.fields = fields
        self.words = words

    def __call__(self, request: Request) -> Reply:
        bad = next((name for name in self.fields if name in request.json), None)
        if bad is None:
            return says("fine")
        return status(400, json.dumps({"error": {"message": self.words.format(bad)}}).encode())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (("response_format",), "Unsupported parameter: '{}'"),
        (("response_format",), "This model does not know JSON mode"),
        (("response_format",), "Bad request"),
        (("stream_options",), "extra_forbidden: {}"),
        (("stream_options",), "Bad request"),
        (("temperature",), "Only the default temperature (1) is supported"),
        (("max_tokens",), "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        (("max_tokens", "temperature"), "Unsupported parameter: '{}' (not max_completion_tokens)"),
        (("response_format", "stream_options", "temperature", "max_tokens"), "No {} here"),
    ],
)
def test_refused_fields_are_left_out_and_remembered(
    upstream: OpenAICompatible, provider: ScriptedUpstream, fields: tuple[str, ...], words: str
) -> None:
    """A call that is refused for a field goes out again without it, and the next call of that model has learned."""
    provider.answer(Picky(*fields, words=words))
    request = ModelRequest("m", REQUEST.messages, 100, temperature=0.2)
    assert "".join(upstream.complete(request)) == "fine"
    before = len(provider.calls)
    assert before > 1
    assert "".join(upstream.complete(request)) == "fine"
    assert len(provider.calls) == before + 1
    last = provider.calls[-1].json
    assert not any(name in last for name in fields)
    assert last.get("max_tokens", last.get("max_completion_tokens")) == 100
    assert provider.connections == 1


def test_what_is_learned_is_by_model(upstream: OpenAICompatible, provider: ScriptedUpstream) -> None:
    """Another model of the same provider is asked with all fields again."""
    provider.answer(Picky("response_format"))
    assert list(upstream.complete(REQUEST))
    provider.answer(lambda _: says("fine"))
    assert list(upstream.complete(ModelRequest("other", REQUEST.messages, 100)))
    assert "response_format" in provider.calls[-1].json


def test_a_refusal_that_nothing_helps_teaches_nothing(upstream: OpenAICompatible, provider: ScriptedUpstream) -> None:
    """An unknown model fails after a bounded number of tries, and the next call still has all its fields."""
    provider.answer(lambda _: status(400, b'{"error": "no such model"}'))
    with pytest.raises(UpstreamFailed, match="refused the request"):
        upstream.complete(REQUEST)
    assert len(provider.calls) == 3
    provider.answer(lambda _: says("fine"))
    assert list(upstream.complete(REQUEST))
    assert {"response_format", "stream_options"} <= provider.calls[-1].json.keys()


def test_both_limits_refused_ends(provider: ScriptedUpstream) -> None:
    """A provider that wants neither name of the limit is not asked for ever."""
    provider.answer(Picky("max_tokens", "max_completion_tokens"))
    for refuses in (frozenset[str](), frozenset({OLD_LIMIT})):
        upstream = OpenAICompatible("custom", provider.base_url, refuses=refuses)
        before = len(provider.calls)
        with pytest.raises(UpstreamFailed):
            upstream.complete(REQUEST)
        assert len(provider.calls) - before <= 3
        upstream.close()


def test_known_habits_need_no_lesson(provider: ScriptedUpstream) -> None:
    """What a provider is known to refuse is never sent, and its own fields go along."""
    upstream = OpenAICompatible(
        "openai",
        provider.base_url,
        refuses=frozenset({OLD_LIMIT, "stream_options"}),
        extra={"usage": {"include": True}},
    )
    assert list(upstream.complete(REQUEST))
    sent = provider.calls[0].json
    assert sent["max_completion_tokens"] == 100
    assert "max_tokens" not in sent
    assert "stream_options" not in sent
    assert sent["usage"] == {"include": True}
    upstream.close()


def test_the_default_model(upstream: OpenAICompatible, provider: ScriptedUpstream) -> None:
    """A request that names no model gets the upstream's."""
    assert list(upstream.complete(ModelRequest("", REQUEST.messages, 9)))
    assert provider.calls[0].json["model"] == "default-model"


def test_without_a_default_the_first_model_on_offer_is_taken(provider: ScriptedUpstream) -> None:
    """A local server has whatever was installed; it is asked once."""
    upstream = OpenAICompatible("ollama", provider.base_url)
    for _ in range(2):
        assert list(upstream.complete(ModelRequest("", REQUEST.messages, 9)))
    assert [request.path for request in provider.requests].count("/v1/models") == 1
    assert provider.calls[-1].json["model"] == "scripted-large"
    upstream.close()


@pytest.mark.parametrize("code", [404, 405, 501])
def test_a_server_that_keeps_no_list_is_asked_all_the_same(provider: ScriptedUpstream, code: int) -> None:
    """A small one has a single model and needs no name: that it answers completions is enough."""
    provider.offer(http(code, b"nothing here"))
    upstream = OpenAICompatible("custom", provider.base_url)
    for _ in range(2):
        assert list(upstream.complete(ModelRequest("", REQUEST.messages, 9)))
    assert [request.path for request in provider.requests].count("/v1/models") == 1
    assert provider.calls[-1].json["model"] == "default"
    upstream.close()


def test_a_list_that_can_not_be_had_just_now_is_no_missing_one(provider: ScriptedUpstream) -> None:
    """Nor is an empty one: nothing is asked for then."""
    upstream = OpenAICompatible("custom", provider.base_url)
    for answer in (http(503, b""), http(401, b""), http(200, b'{"data": []}')):
        provider.offer(answer)
        with pytest.raises(UpstreamFailed):
            upstream.complete(ModelRequest("", REQUEST.messages, 9))
    assert provider.calls == []
    upstream.close()
