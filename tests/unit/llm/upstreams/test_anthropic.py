"""The Anthropic upstream: how a chat is translated there, and the stream back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.models import ModelRequest, TokenUse
from orchestrator.llm.upstreams.anthropic import Anthropic
from tests.support.scripted_upstream import Reply, Request, ScriptedUpstream, plain, raw_events, says, status

CACHE = {"type": "ephemeral"}


@pytest.fixture
def provider() -> Iterator[ScriptedUpstream]:
    """A scripted provider."""
    with ScriptedUpstream() as scripted:
        yield scripted


@pytest.fixture
def upstream(provider: ScriptedUpstream) -> Iterator[Anthropic]:
    """An upstream that talks to it."""
    made = Anthropic("sk-ant-1", "claude-default", base_url=provider.base_url)
    yield made
    made.close()


def text(words: str, **more: Any) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words, **more}


def sent(upstream: Anthropic, provider: ScriptedUpstream, *messages: dict[str, Any], **more: Any) -> Any:
    """What went out for these messages."""
    assert list(upstream.complete(ModelRequest("m", messages, 50, **more)))
    return provider.calls[-1].json


def test_the_request(upstream: Anthropic, provider: ScriptedUpstream) -> None:
    """The key, the version and the fields are where Anthropic wants them; the system prompt is marked for the cache."""
    body = sent(
        upstream,
        provider,
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
        temperature=1.7,
        stop=("END",),
    )
    call = provider.calls[0]
    assert (call.path, call.headers["x-api-key"]) == ("/v1/messages", "sk-ant-1")
    assert call.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in call.headers
    assert body == {
        "model": "m",
        "max_tokens": 50,
        "stream": True,
        "system": [text("Be brief.", cache_control=CACHE)],
        "messages": [{"role": "user", "content": [text("hello")]}],
        "stop_sequences": ["END"],
        "temperature": 1.0,
    }


USER, ASSISTANT, SYSTEM = "user", "assistant", "system"
TALKS: list[tuple[list[tuple[str, Any]], list[tuple[str, list[str]]]]] = [
    ([(USER, "a")], [(USER, ["a"])]),
    (
        [(USER, "a"), (USER, "b"), (ASSISTANT, "c"), (USER, "d")],
        [(USER, ["a", "b"]), (ASSISTANT, ["c"]), (USER, ["d"])],
    ),
    ([(ASSISTANT, "c"), (USER, "d")], [(USER, ["(The talk goes on.)"]), (ASSISTANT, ["c"]), (USER, ["d"])]),
    ([(USER, "a"), (SYSTEM, "x"), (USER, "b")], [(USER, ["a", "b"])]),
    ([(USER, "a"), (ASSISTANT, "  "), (USER, "b")], [(USER, ["a", "b"])]),
    ([(USER, "")], [(USER, ["(empty)"])]),
    ([(USER, [{"type": "text", "text": "p"}, {"type": "text", "text": ""}, 7])], [(USER, ["p"])]),
]


@pytest.mark.parametrize(("talk", "expected"), TALKS)
def test_messages_are_merged_into_turns(
    upstream: Anthropic,
    provider: ScriptedUpstream,
    talk: list[tuple[str, Any]],
    expected: list[tuple[str, list[str]]],
) -> None:
    """Same roles in a row become one message, empty ones go, and a person speaks first."""
    body = sent(upstream, provider, *({"role": role, "content": content} for role, content in talk))
    found = [(each["role"], [block["text"] for block in each["content"]]) for each in body["messages"]]
    assert found == expected


def test_the_system_prompt_is_lifted_out(upstream: Anthropic, provider: ScriptedUpstream) -> None:
    """System messages, wherever they stand, become one system prompt; without one the field is missing."""
    body = sent(
        upstream,
        provider,
        {"role": SYSTEM, "content": "a"},
        {"role": USER, "content": "u"},
        {"role": SYSTEM, "content": "b"},
    )
    assert body["system"] == [text("a\n\nb", cache_control=CACHE)]
    assert "system" not in sent(upstream, provider, {"role": USER, "content": "u"})


def test_a_talk_under_way_is_marked_for_the_cache(upstream: Anthropic, provider: ScriptedUpstream) -> None:
    """Once the model has spoken, the last message carries a mark, so that the next step reads all of it cheaply."""
    talk = [{"role": USER, "content": "a"}, {"role": ASSISTANT, "content": "b"}, {"role": USER, "content": "c"}]
    assert sent(upstream, provider, *talk)["messages"][-1]["content"] == [text("c", cache_control=CACHE)]
    assert sent(upstream, provider, talk[0])["messages"][-1]["content"] == [text("a")]


def test_inline_pictures_are_translated(upstream: Anthropic, provider: ScriptedUpstream) -> None:
    """A data URL becomes a base64 source."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    body = sent(upstream, provider, {"role": USER, "content": [picture, {"type": "text", "text": "what is it?"}]})
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    assert body["messages"][0]["content"] == [{"type": "image", "source": source}, text("what is it?")]


@pytest.mark.parametrize(
    "url", ["https://evil.example/x.png", "data:text/html;base64,AAAA", "data:image/svg+xml;base64,AAAA", "", None, 7]
)
def test_a_picture_behind_a_link_is_never_sent(upstream: Anthropic, provider: ScriptedUpstream, url: Any) -> None:
    """A link would be fetched by the provider, which is a way out: nothing is sent at all."""
    message = {"role": USER, "content": [{"type": "image_url", "image_url": {"url": url}}]}
    with pytest.raises(UpstreamFailed, match="inline"):
        upstream.complete(ModelRequest("m", (message,), 50))
    assert provider.calls == []


def event(kind: str, **parts: Any) -> str:
    """One event's lines."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **parts})}"


START = event("message_start", message={"usage": {"input_tokens": 10, "output_tokens": 1}})
CACHED_START = event(
    "message_start",
    message={"usage": {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30}},
)


def words(said: str) -> str:
    """A text delta."""
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": said})


def stop(reason: str, **usage: Any) -> str:
    """The message's delta at its end."""
    return event("message_delta", delta={"stop_reason": reason}, usage=usage)


STOP = event("message_stop")
ANSWERS: list[tuple[Reply, str, str, TokenUse]] = [
    (raw_events(START, words("a"), words("b"), stop("end_turn", output_tokens=5), STOP), "ab", "stop", TokenUse(10, 5)),
    (
        raw_events(START, event("ping"), words("a"), stop("max_tokens", output_tokens=5), STOP),
        "a",
        "length",
        TokenUse(10, 5),
    ),
    (raw_events(START, words("a"), stop("stop_sequence"), STOP), "a", "stop", TokenUse(10, None)),
    (raw_events(START, words("a"), stop("refusal", output_tokens=0), STOP), "a", "content_filter", TokenUse(10, 0)),
    (raw_events(START, words("a"), stop("end_turn", output_tokens=5)), "a", "stop", TokenUse(10, 5)),
    (
        raw_events(
            START,
            event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"}),
            event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "x"}),
            words("a"),
            stop("end_turn", output_tokens=5),
            STOP,
        ),
        "a",
        "stop",
        TokenUse(10, 5),
    ),
    (
        raw_events(CACHED_START, words("a"), stop("end_turn", output_tokens=5), STOP),
        "a",
        "stop",
        TokenUse(240, 5, None, 200, 30),
    ),
    (
        raw_events(START, words("a"), stop("end_turn", output_tokens=5, input_tokens=12), STOP),
        "a",
        "stop",
        TokenUse(12, 5),
    ),
    (says("a", usage={"input_tokens": -1, "output_tokens": "many"}), "a", "stop", TokenUse()),
    (says("a", usage=None), "a", "stop", TokenUse()),
    (plain("whole", usage={"input_tokens": 3, "output_tokens": 4}), "whole", "stop", TokenUse(3, 4)),
    (raw_events(words("x"), event("unheard_of", a=1), stop("pause_turn"), STOP), "x", "pause_turn", TokenUse()),
]


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_answers(upstream: Anthropic, provider: ScriptedUpstream, number: int) -> None:
    """Text, end and use are read from the events; thinking is no part of the answer; the cache counts as prompt."""
    reply, said, reason, use = ANSWERS[number]
    provider.script(reply)
    completion = upstream.complete(ModelRequest("m", ({"role": USER, "content": "u"},), 50))
    assert "".join(completion) == said
    assert (completion.finish_reason, completion.use) == (reason, use)


@pytest.mark.parametrize(
    ("kind", "may_retry"),
    [
        ("overloaded_error", True),
        ("api_error", True),
        ("rate_limit_error", True),
        ("timeout_error", True),
        ("invalid_request_error", False),
        ("authentication_error", False),
        (None, False),
    ],
)
def test_an_error_in_the_stream(
    upstream: Anthropic,
    provider: ScriptedUpstream,
    kind: str | None,
    may_retry: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """An overloaded provider is worth a second try, a refused request is not; its words stay out."""
    provider.script(raw_events(START, words("a"), event("error", error={"type": kind, "message": "SECRET"})))
    with pytest.raises(UpstreamFailed) as failed:
        list(upstream.complete(ModelRequest("m", ({"role": USER, "content": "u"},), 50)))
    assert failed.value.may_retry is may_retry
    assert "SECRET" not in failed.value.message


def test_newer_models_take_no_temperature(upstream: Anthropic, provider: ScriptedUpstream) -> None:
    """A refusal of the temperature is learned for that model."""

    def picky(request: Request) -> Reply:
        return status(400, b'{"error": "temperature is deprecated"}') if "temperature" in request.json else says("fine")

    provider.answer(picky)
    for _ in range(2):
        sent(upstream, provider, {"role": USER, "content": "u"}, temperature=0.2)
    assert ["temperature" in call.json for call in provider.calls] == [True, False, False]


def test_models(upstream: Anthropic, provider: ScriptedUpstream) -> None:
    """The list is asked for with the key."""
    assert upstream.list_models() == ["scripted-large", "scripted-small"]
    assert provider.requests[0].headers["x-api-key"] == "sk-ant-1"
