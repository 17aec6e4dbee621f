"""What every model provider must keep to, run on each of them: the protocol ``Upstream`` of
``orchestrator.core.models``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from orchestrator.core.errors import Stopped, UpstreamFailed
from orchestrator.core.models import Completion, ModelRequest, TokenUse, Upstream
from orchestrator.llm.upstreams.anthropic import Anthropic
from orchestrator.llm.upstreams.openai_compatible import OpenAICompatible
from orchestrator.llm.upstreams.rehearsal import Rehearsal
from tests.support.scripted_upstream import Gate, ScriptedUpstream, hangs, says, status, streams

KEY = "sk-contract-0123456789"
KINDS = ("openai", "anthropic", "rehearsal")
OVER_HTTP = ("openai", "anthropic")

Make = Callable[[str], Upstream]


@pytest.fixture
def provider() -> Iterator[ScriptedUpstream]:
    """A scripted provider."""
    with ScriptedUpstream() as scripted:
        yield scripted


@pytest.fixture
def make(provider: ScriptedUpstream) -> Iterator[Make]:
    """Makes an upstream of a kind that talks to the scripted provider."""
    opened: list[OpenAICompatible | Anthropic] = []

    def build(kind: str) -> Upstream:
        if kind == "rehearsal":
            return Rehearsal()
        upstream: OpenAICompatible | Anthropic
        if kind == "anthropic":
            upstream = Anthropic(KEY, "scripted", base_url=provider.base_url)
        else:
            upstream = OpenAICompatible("custom", provider.base_url, KEY, "scripted")
        opened.append(upstream)
        return upstream

    yield build
    for upstream in opened:
        upstream.close()


def request_of(text: str = "hello", *, model: str = "scripted") -> ModelRequest:
    """A small request."""
    messages = ({"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": text})
    return ModelRequest(model, messages, 100)


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_arrives_in_parts_and_ends_with_its_use(kind: str, make: Make, provider: ScriptedUpstream) -> None:
    """The deltas make the text; the use and the reason are there after the last one and not before."""
    provider.script(says("one two three"))
    completion = make(kind).complete(request_of())
    assert completion.use == TokenUse()
    assert completion.finish_reason == ""
    deltas = list(completion)
    assert len(deltas) > 1
    assert all(deltas)
    assert completion.finish_reason == "stop"
    assert (completion.use.prompt or 0) > 0
    assert (completion.use.completion or 0) > 0
    if kind in OVER_HTTP:
        assert "".join(deltas) == "one two three"


@pytest.mark.parametrize("kind", KINDS)
def test_models_are_listed_sorted(kind: str, make: Make) -> None:
    """There is at least one model, and the list is sorted."""
    models = make(kind).list_models()
    assert models == sorted(models) != []


@pytest.mark.parametrize("kind", KINDS)
def test_close_ends_the_iteration(kind: str, make: Make, provider: ScriptedUpstream) -> None:
    """After ``close`` the next delta is a ``Stopped``; closing again, or after that, changes nothing."""
    gate = Gate()
    provider.script(streams(["one ", gate, "two"]))
    completion = make(kind).complete(request_of())
    deltas = iter(completion)
    next(deltas)
    completion.close()
    completion.close()
    with pytest.raises(Stopped):
        list(deltas)
    completion.close()
    gate.open()


@pytest.mark.parametrize("kind", KINDS)
def test_close_after_the_end_is_harmless(kind: str, make: Make) -> None:
    """Closing a finished completion breaks neither it nor the next call."""
    upstream = make(kind)
    completion = upstream.complete(request_of())
    assert list(completion)
    completion.close()
    assert list(upstream.complete(request_of()))


@pytest.mark.parametrize("kind", KINDS)
def test_opened_gets_the_completion_first(kind: str, make: Make, provider: ScriptedUpstream) -> None:
    """``opened`` is called with what is returned, before the provider hears of the call."""
    seen: list[tuple[Completion, int]] = []
    completion = make(kind).complete(request_of(), opened=lambda made: seen.append((made, len(provider.requests))))
    assert seen == [(completion, 0)]
    assert list(completion)


@pytest.mark.parametrize("kind", KINDS)
def test_calls_on_many_threads_do_not_mix(kind: str, make: Make, provider: ScriptedUpstream) -> None:
    """Eight threads with ten calls each get each their own answer, over at most eight connections."""
    upstream = make(kind)
    wrong: list[str] = []

    def work(number: int) -> None:
        for turn in range(10):
            text = f"run echo {number}-{turn}."
            if f"echo {number}-{turn}." not in "".join(upstream.complete(request_of(text))):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert provider.connections <= 8


@pytest.mark.parametrize("kind", OVER_HTTP)
def test_a_call_is_sent_once(kind: str, make: Make, provider: ScriptedUpstream) -> None:
    """A failure is reported and not repeated: trying again is the caller's business."""
    provider.script(status(500))
    with pytest.raises(UpstreamFailed) as failed:
        make(kind).complete(request_of())
    assert failed.value.may_retry
    assert len(provider.requests) == 1


@pytest.mark.parametrize("kind", OVER_HTTP)
def test_close_wakes_a_reader_that_waits_in_the_middle(kind: str, make: Make, provider: ScriptedUpstream) -> None:
    """A reader blocked on a silent stream gets ``Stopped`` at once, and the provider sees the connection go."""
    gate = Gate()
    provider.script(streams(["one ", gate, "two"]))
    completion = make(kind).complete(request_of())
    got = Reader(completion)
    assert gate.reached.wait(5)
    completion.close()
    assert isinstance(got.end(), Stopped)
    gate.open()
    provider.wait_until_left()


@pytest.mark.parametrize("kind", OVER_HTTP)
def test_close_wakes_a_call_that_waits_for_its_head(kind: str, make: Make, provider: ScriptedUpstream) -> None:
    """A provider that has not answered a byte can be given up at once too."""
    gate = Gate()
    provider.script(hangs(gate))
    upstream = make(kind)
    made: list[Completion] = []
    ended: list[BaseException] = []

    def call() -> None:
        try:
            upstream.complete(request_of(), opened=made.append)
        except Stopped as stopped:
            ended.append(stopped)

    thread = threading.Thread(target=call)
    thread.start()
    assert gate.reached.wait(5)
    made[0].close()
    thread.join(2)
    assert not thread.is_alive()
    assert [type(error) for error in ended] == [Stopped]
    gate.open()
    provider.wait_until_left()


@pytest.mark.parametrize("kind", OVER_HTTP)
def test_a_finished_connection_is_kept_and_an_aborted_one_is_not(
    kind: str, make: Make, provider: ScriptedUpstream
) -> None:
    """Whole answers, refusals and lists share one connection; an abort costs one."""
    upstream = make(kind)
    provider.script(says("a"), status(429), says("b"))
    assert list(upstream.complete(request_of()))
    with pytest.raises(UpstreamFailed):
        upstream.complete(request_of())
    assert list(upstream.complete(request_of()))
    assert upstream.list_models()
    assert provider.connections == 1
    provider.script(streams(["one ", "two"]))
    upstream.complete(request_of()).close()
    assert list(upstream.complete(request_of()))
    assert provider.connections == 2


@pytest.mark.parametrize("kind", OVER_HTTP)
def test_a_completion_given_up_halfway_closes_its_connection(kind: str, make: Make, provider: ScriptedUpstream) -> None:
    """A caller that leaves the loop early leaves no open connection behind."""
    gate = Gate()
    provider.script(streams(["one ", gate, "two"]))
    deltas = iter(make(kind).complete(request_of()))
    assert next(deltas) == "one "
    del deltas
    gate.open()
    provider.wait_until_left()


class Reader:
    """A thread that iterates a completion and keeps how that ended."""

    def __init__(self, completion: Completion) -> None:
        self._end: BaseException | None = None
        self._completion = completion
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        try:
            for _ in self._completion:
                pass
        except (Stopped, UpstreamFailed) as error:
            self._end = error

    def end(self) -> BaseException | None:
        """How it ended; it must end within two seconds."""
        self._thread.join(2)
        assert not self._thread.is_alive()
        return self._end
