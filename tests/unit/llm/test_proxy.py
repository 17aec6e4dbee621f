"""``orchestrator.llm.proxy``: what of a cubicle's call gets to a provider, and how it is tried again, cut and shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.errors import BadInput, NotFound, Stopped, TooLarge, UpstreamFailed
from orchestrator.core.models import ModelRequest, TokenUse
from orchestrator.llm.request import MAX_TOKENS, read_request
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching
from tests.support.fakes import Reply, failing
from tests.support.proxy_fixture import BODY, ProxyFixture, line_of, swallow

SECRET = "sk-attacker-1234567890"


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


# --- what gets through -----------------------------------------------------------------------------------------


def test_answers_with_text_usage_and_model(install: CoreFixture) -> None:
    """The whole text, what it cost, and who gave it."""
    line = line_of(install, Reply(texts=("hel", "lo"), use=TokenUse(prompt=1000, completion=100)))
    answer = line.ask()
    assert (answer["output"], answer["model"]) == ("hello", "fake-1")
    assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (1000, 100)
    assert line.spent() == (round(answer["usage"]["cost_usd"] * 1e6), 0)
    assert line.spent()[0] > 0


def test_only_allowed_parts_reach_the_provider(install: CoreFixture) -> None:
    """Tools, connectors, keys, addresses, counts and unknown fields of any kind are dropped."""
    line = line_of(install)
    line.ask(
        {
            "messages": [
                {"role": "system", "content": "s", "name": SECRET, "tool_calls": [{"id": SECRET}]},
                {"role": "user", "content": [{"type": "text", "text": "t", "cache_control": {"x": SECRET}}]},
            ],
            "model": SECRET,
            "provider": "other",
            "tools": [{"type": "web_search_20260209"}, {"type": "mcp", "server_url": "https://evil.example"}],
            "tool_choice": "auto",
            "mcp_servers": [{"url": "https://evil.example"}],
            "plugins": [{"id": "web"}],
            "web_search_options": {},
            "n": 50,
            "stream": True,
            "api_key": SECRET,
            "authorization": SECRET,
            "extra_headers": {"x-api-key": SECRET},
            "base_url": "https://evil.example",
            "agent": "other",
            "user": 2,
            "max_tokens": 10**9,
            "temperature": 1,
            "stop": "END",
        }
    )
    assert line.other.requests == []
    assert line.fake.requests == [
        ModelRequest(
            model="fake-1",
            messages=(
                {"role": "system", "content": "s"},
                {"role": "user", "content": [{"type": "text", "text": "t"}]},
            ),
            max_tokens=MAX_TOKENS,
            temperature=1.0,
            stop=("END",),
        )
    ]
    with install.store.reading() as db:
        assert tuple(db.execute("SELECT agent, user, turn FROM spending").fetchone()) == ("crab", 1, None)


def _content(content: Any, role: str = "user") -> dict[str, Any]:
    return {"messages": [{"role": role, "content": content}]}


PICTURE = "data:image/png;base64,iVBORw0KGgo="
REFUSED = {
    "no messages": {},
    "messages that are none": {"messages": "hi"},
    "an empty list": {"messages": []},
    "too many": {"messages": [{"role": "user", "content": "x"}] * 2001},
    "a text as message": {"messages": ["hi"]},
    "an unknown role": _content("x", "tool"),
    "a list as role": {"messages": [{"role": ["user"], "content": "x"}]},
    "no content": _content(None),
    "a number as content": _content(7),
    "no parts": _content([]),
    "an http picture": _content([{"type": "image_url", "image_url": {"url": "https://evil.example/?d=1"}}]),
    "a picture as text": _content([{"type": "image_url", "image_url": PICTURE}]),
    "a data URL with an address in it": _content(
        [{"type": "image_url", "image_url": {"url": PICTURE + " https://evil.example"}}]
    ),
    "an SVG": _content([{"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,AAAA"}}]),
    "a source by URL": _content([{"type": "image", "source": {"type": "url", "url": "https://evil.example"}}]),
    "a file": _content([{"type": "file", "file": {"file_id": "file-1"}}]),
    "a file URL": _content([{"type": "input_file", "file_url": "https://evil.example"}]),
    "a document": _content([{"type": "document", "source": {"type": "url", "url": "https://evil.example"}}]),
    "a tool result with a URL within": _content(
        [{"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": "https://evil"}}]}]
    ),
    "audio": _content([{"type": "input_audio", "input_audio": {"data": "AAAA"}}]),
    "max_tokens as text": BODY | {"max_tokens": "many"},
    "max_tokens as truth": BODY | {"max_tokens": True},
    "max_tokens of 0": BODY | {"max_tokens": 0},
    "a fraction of a token": BODY | {"max_tokens": 1.5},
    "a temperature of 3": BODY | {"temperature": 3},
    "a negative temperature": BODY | {"temperature": -0.1},
    "no temperature at all": BODY | {"temperature": float("nan")},
    "a true temperature": BODY | {"temperature": True},
    "five stops": BODY | {"stop": ["a"] * 5},
    "a stop that is no text": BODY | {"stop": [1]},
    "a long stop": BODY | {"stop": ["x" * 101]},
    "a stop object": BODY | {"stop": {"a": 1}},
    "a turn by name": BODY | {"turn": "7"},
    "a true turn": BODY | {"turn": True},
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_refuses_what_it_can_not_vouch_for(install: CoreFixture, body: dict[str, Any]) -> None:
    """Nothing is sent, nothing is held."""
    line = line_of(install)
    with pytest.raises(BadInput):
        line.ask(body)
    assert line.fake.requests == []
    assert line.spent() == (0, 0)


def test_too_much_is_refused(install: CoreFixture) -> None:
    """Six MiB of messages are the most."""
    with pytest.raises(TooLarge):
        line_of(install).ask({"messages": [{"role": "user", "content": "x" * 2_200_000}] * 3})


def test_inline_pictures_pass() -> None:
    """As they are, without whatever else stood beside them."""
    part = {"type": "image_url", "image_url": {"url": PICTURE, "detail": "high"}, "x": 1}
    assert read_request(_content([part])).messages == (
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PICTURE}}]},
    )


# --- whose turn ------------------------------------------------------------------------------------------------


def test_a_call_belongs_to_a_turn_of_its_own_cubicle(install: CoreFixture) -> None:
    """Another's turn is not found, and is not charged; one's own is."""
    line, foreign, mine = line_of(install), install.under_way("x", OTHER), install.under_way()
    with pytest.raises(NotFound):
        line.ask(turn=foreign.id)
    assert line.fake.requests == []
    line.ask(turn=mine.id)
    assert (install.turns.get(foreign.id).cost_micro, install.turns.get(mine.id).tokens) == (0, 110)


def test_a_stopped_turn_calls_no_model(install: CoreFixture) -> None:
    """Neither while the crab has not heard of it yet, nor later."""
    line, turn = line_of(install), install.under_way()
    install.turns.stop(turn.id)
    with pytest.raises(Stopped):
        line.ask(turn=turn.id)
    assert (line.fake.requests, line.spent()) == ([], (0, 0))


# --- trying again ----------------------------------------------------------------------------------------------


def test_tries_again_and_holds_money_for_each_try(install: CoreFixture) -> None:
    """Refused, refused, answered: one settled, two released."""
    line = line_of(install, failing(), failing(), Reply())
    line.ask()
    with install.store.reading() as db:
        states = [row["state"] for row in db.execute("SELECT state FROM spending ORDER BY id")]
    assert states == ["released", "released", "settled"]


def test_gives_up_after_four_tries(install: CoreFixture) -> None:
    """And says what the last of them said."""
    line = line_of(install, failing("It is down."))
    with pytest.raises(UpstreamFailed, match=r"It is down\."):
        line.ask()
    assert len(line.fake.requests) == 4


def test_does_not_repeat_what_is_hopeless(install: CoreFixture) -> None:
    """A wrong key is wrong the second time too."""
    line = line_of(install, failing(may_retry=False))
    with pytest.raises(UpstreamFailed):
        line.ask()
    assert len(line.fake.requests) == 1


def test_waits_as_long_as_the_provider_says(install: CoreFixture) -> None:
    """Its Retry-After, not our own pause; longer ones each time without one."""
    line = line_of(install, failing(retry_after_s=0.08), failing(), failing(), Reply(), backoff_s=0.01)
    line.ask()
    pauses = [after - before for before, after in zip(line.fake.at, line.fake.at[1:], strict=False)]
    assert pauses[0] >= 0.08
    assert pauses[1] >= 0.8 * 0.02
    assert pauses[2] >= 0.8 * 0.04


def test_does_not_wait_for_hours(install: CoreFixture) -> None:
    """A Retry-After beyond our patience ends the call at once."""
    line = line_of(install, failing(retry_after_s=3600))
    with pytest.raises(UpstreamFailed):
        line.ask()
    assert len(line.fake.requests) == 1


@pytest.mark.parametrize(
    ("fallback", "provider", "model"),
    [("small", "fake", "small"), ("tiny@other", "other", "tiny"), ("a@b", "fake", "a@b")],
)
def test_the_fallback_answers_when_the_model_does_not(
    install: CoreFixture, fallback: str, provider: str, model: str
) -> None:
    """Written as MODEL or MODEL@PROVIDER."""
    install.agents.update_agent("crab", {"fallback_model": fallback})
    line = line_of(install, failing(may_retry=False), Reply())
    assert line.ask()["model"] == model
    asked = {"fake": line.fake, "other": line.other}[provider]
    assert asked.requests[-1].model == model


def test_the_fallback_answers_when_the_default_model_can_not_even_be_found_out(install: CoreFixture) -> None:
    """A local server that is down has no list of models."""
    install.agents.update_agent("crab", {"fallback_model": "tiny@other"})
    line = line_of(install)
    line.fake.default_model = ""
    assert line.ask()["model"] == "tiny"


def test_a_fallback_that_fails_too_is_the_error(install: CoreFixture) -> None:
    """The last word is the fallback's."""
    install.agents.update_agent("crab", {"fallback_model": "tiny@other"})
    line = line_of(install, failing("one", may_retry=False), other=(failing("two", may_retry=False),))
    with pytest.raises(UpstreamFailed, match="two"):
        line.ask()


def test_a_provider_that_was_taken_away_is_named(install: CoreFixture) -> None:
    """With what to do."""
    install.agents.update_agent("crab", {"provider": "other"})
    line = line_of(install)
    line.proxy._upstreams = {"fake": line.fake}
    with pytest.raises(NotFound, match="other is not set up"):
        line.ask()


# --- stopping --------------------------------------------------------------------------------------------------


def _stopped_while(line: ProxyFixture, turn: int, is_there: Callable[[], bool]) -> Any:
    return _cut_while(line, turn, is_there, lambda: line.proxy.abort_turn(turn))


def _cut_while(line: ProxyFixture, turn: int, is_there: Callable[[], bool], cut: Callable[[], None]) -> Any:
    results: list[Any] = []
    caller = threading.Thread(target=lambda: results.append(swallow(partial(line.ask, turn=turn))))
    caller.start()
    while not is_there():
        assert caller.is_alive()
        caller.join(0.005)
    assert line.proxy.is_busy(KEY)
    cut()
    caller.join(10)
    assert not line.proxy.is_busy(KEY)
    return results[0]


@pytest.mark.parametrize(
    "reply", [Reply(hold_head=True), Reply(texts=("hel",), hold_tail=True)], ids=["head", "stream"]
)
def test_a_stop_cuts_the_call_and_its_hold_is_kept(install: CoreFixture, reply: Reply) -> None:
    """Before the answer's head and within it: nobody knows what it cost."""
    line, turn = line_of(install, reply), install.under_way()
    assert isinstance(_stopped_while(line, turn.id, line.fake.is_held.is_set), Stopped)
    with install.store.reading() as db:
        assert [row["state"] for row in db.execute("SELECT state FROM spending")] == ["kept"]


def test_a_stop_ends_the_pause_before_the_next_try(install: CoreFixture) -> None:
    """At once, and nothing more is sent or held."""
    line, turn = line_of(install, failing(retry_after_s=30)), install.under_way()
    assert isinstance(_stopped_while(line, turn.id, lambda: bool(line.fake.requests)), Stopped)
    assert (len(line.fake.requests), line.spent()) == (1, (0, 0))


def test_closing_cuts_every_call(install: CoreFixture) -> None:
    """Whoever waits is let go."""
    line = line_of(install, Reply(hold_head=True))
    results: list[Any] = []
    crowd = threading.Thread(target=lambda: results.extend(at_once(*[line.ask] * 5)))
    crowd.start()
    while len(line.fake.requests) < 5:
        crowd.join(0.005)
    line.proxy.close()
    crowd.join(10)
    assert all(isinstance(result, Stopped) for result in results)


# --- watching --------------------------------------------------------------------------------------------------


def test_the_message_is_shown_as_it_comes_to_those_who_watch(install: CoreFixture) -> None:
    """The message within the answer, never the answer's own form."""
    line, turn = line_of(install, Reply(texts=('{"message": "hel', 'lo", "terminal": "rm x"}'))), install.under_way()
    with watching(install.broker) as news:
        line.ask(turn=turn.id)
        shown = [body["text"] for body in of_kind(heard(news), "delta")]
    assert shown
    assert all("hello".startswith(text) for text in shown)


def test_nobody_watches_nothing_is_shown(install: CoreFixture) -> None:
    """A call without a turn is nobody's to watch either."""
    line = line_of(install)
    with watching(install.broker) as news:
        line.ask()
        assert of_kind(heard(news), "delta") == []


def test_a_closed_door_cuts_what_was_asked_through_it(install: CoreFixture) -> None:
    """Nobody would hear the answer, so it is not asked for again; another cubicle's calls go on."""
    line, turn = line_of(install, failing(retry_after_s=30)), install.under_way()

    def close_doors() -> None:
        line.proxy.abort_door_calls(OTHER)
        assert line.proxy.is_busy(KEY)
        line.proxy.abort_door_calls(KEY)

    assert isinstance(_cut_while(line, turn.id, lambda: bool(line.fake.requests), close_doors), Stopped)
    assert (len(line.fake.requests), line.spent()) == (1, (0, 0))


def test_a_closed_door_leaves_what_the_program_asks_by_itself(install: CoreFixture) -> None:
    """Such as a summary, which needs no cubicle that runs."""
    line = line_of(install, failing(retry_after_s=0.2), Reply())
    request = ModelRequest(model="", messages=({"role": "user", "content": "Sum up."},), max_tokens=9)
    answers: list[Any] = []
    caller = threading.Thread(target=lambda: answers.append(line.proxy.on_behalf(KEY, request, within_s=30)))
    caller.start()
    while not line.fake.requests:
        caller.join(0.005)
    line.proxy.abort_door_calls(KEY)
    caller.join(10)
    assert answers == ['{"message": "hello"}']
