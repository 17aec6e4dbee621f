"""The way to the models: a call from a cubicle is read, and a new one is made up from allow-listed parts and our own
key.

Nothing of the cubicle's request is forwarded: only chat messages of text and inline pictures, and three bounded
numbers, get through. Model, provider and key are the host's. Money is held before each try and booked after it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.core.errors import BadInput, NotFound, Stopped, UpstreamFailed
from orchestrator.core.events import Broker
from orchestrator.core.models import MICRO, Agent, Completion, CubicleKey, ModelRequest, TokenUse, Upstream
from orchestrator.llm.budget import Budget
from orchestrator.llm.paid_call import PaidCall
from orchestrator.llm.pricing import PriceTable, price_of
from orchestrator.llm.reply_events import Keep, ReplyEvents
from orchestrator.llm.request import read_request, size_of
from orchestrator.llm.retry import TRIES, USUAL_RETRY, RetryPolicy
from orchestrator.llm.upstreams.models import default_model_of

logger = logging.getLogger(__name__)

_TRIAL = ModelRequest(
    model="",
    messages=({"role": "user", "content": "Answer with the one word: ready"},),
    max_tokens=512,
    json_object=False,
)

Remember = Callable[[CubicleKey, int | None, tuple[dict[str, Any], ...]], tuple[dict[str, Any], ...]]
"""The messages of a turn's call, with what is remembered put in."""


@dataclass(frozen=True, slots=True)
class ModelRoute:
    """Where a call goes."""

    upstream: Upstream
    model: str
    """Empty for the upstream's default, which may have to be asked for."""


class Proxy:
    """Every model call of every cubicle."""

    def __init__(
        self,
        *,
        agents: Agents,
        budget: Budget,
        broker: Broker,
        upstreams: Mapping[str, Upstream],
        default_provider: Callable[[], str],
        prices: Callable[[], PriceTable],
        retry: RetryPolicy = USUAL_RETRY,
        remember: Remember = lambda _key, _turn, messages: messages,
        keep: Keep = lambda _turn, _text: None,
    ) -> None:
        """``retry`` says when a failed call is sent once more; ``remember`` adds to a turn's messages what is
        remembered; ``keep`` stores what a turn's model has written so far."""
        self._agents = agents
        self._budget = budget
        self._drafting = ReplyEvents(broker, keep=keep)
        self._upstreams = upstreams
        self._default_provider = default_provider
        self._prices = prices
        self._retry = retry
        self._remember = remember
        self._calls: dict[_Call, None] = {}
        self._lock = threading.Lock()  # protects _calls

    def complete(self, key: CubicleKey, body: Mapping[str, Any], *, check_wanted: Callable[[], None]) -> dict[str, Any]:
        """Answer a cubicle's call ``{"turn"?, "messages", "max_tokens"?, "temperature"?, "stop"?}``.

        ``check_wanted`` is called once ``abort_turn`` would reach the call, and raises when its turn is none of the
        cubicle's or has been stopped before that. Raises BadInput, NotFound, TooLarge, OverBudget, UpstreamFailed or
        Stopped; their messages are for the person.
        """
        request = read_request(body)
        turn = body.get("turn")
        if turn is not None and type(turn) is not int:
            raise BadInput("turn: send the turn's number.")
        agent = self._agents.get(key.agent)
        call = _Call(key, turn, is_from_door=True)
        with self._lock:
            self._calls[call] = None
        try:
            check_wanted()
            request = replace(request, messages=self._remember(key, turn, request.messages))
            return self._first_that_answers(agent, call, request)
        finally:
            with self._lock:
                del self._calls[call]

    def try_out(self, key: CubicleKey, route: ModelRoute, *, within_s: float) -> dict[str, Any]:
        """One tiny call, at this agent's cost. Raises NotFound, OverBudget or UpstreamFailed, also when it is late."""
        agent = self._agents.get(key.agent)
        return self._aside(key, route.upstream.name, within_s, lambda call: self._call_once(agent, call, route, _TRIAL))

    def on_behalf(self, key: CubicleKey, request: ModelRequest, *, within_s: float, turn: int | None = None) -> str:
        """The answer to a question of the program's own, from this agent's model and at its cost; that of ``turn``,
        where it belongs to one, with which it ends. Raises NotFound, OverBudget or UpstreamFailed, also when late."""
        agent = self._agents.get(key.agent)
        name = agent.provider or self._default_provider()

        def ask(call: _Call) -> dict[str, Any]:
            return self._first_that_answers(agent, call, request)

        return str(self._aside(key, name, within_s, ask, turn=turn)["output"])

    def _aside(
        self,
        key: CubicleKey,
        provider: str,
        within_s: float,
        ask: Callable[[_Call], dict[str, Any]],
        *,
        turn: int | None = None,
    ) -> dict[str, Any]:
        """A call that no cubicle's own program makes."""
        call = _Call(key, turn, is_from_door=False)
        with self._lock:
            self._calls[call] = None
        hurry = threading.Timer(within_s, call.stop)
        hurry.daemon = True
        hurry.start()
        try:
            return ask(call)
        except Stopped:
            text = f"The provider {provider} gave no complete answer within {within_s:g} seconds. Try again."
            raise UpstreamFailed(text, may_retry=False) from None
        finally:
            hurry.cancel()
            with self._lock:
                del self._calls[call]

    def abort_turn(self, turn: int) -> None:
        """Cut every call of a turn; each ends with Stopped."""
        for call in self._under_way():
            if call.turn == turn:
                call.stop()

    def abort_door_calls(self, key: CubicleKey) -> None:
        """Cut every call that came through this cubicle's door: it is closed, so nobody would hear the answers, and
        none is tried again at a person's cost."""
        for call in self._under_way():
            if call.key == key and call.is_from_door:
                call.stop()

    def is_busy(self, key: CubicleKey) -> bool:
        """A call of this cubicle is under way."""
        return any(call.key == key for call in self._under_way())

    def close(self) -> None:
        """Cut every call."""
        for call in self._under_way():
            call.stop()

    def _under_way(self) -> tuple[_Call, ...]:
        with self._lock:
            return tuple(self._calls)

    def _first_that_answers(self, agent: Agent, call: _Call, request: ModelRequest) -> dict[str, Any]:
        provider = agent.provider or self._default_provider()
        try:
            return self._persistently(agent, call, self._route(provider, agent.model), request)
        except UpstreamFailed as error:
            if not agent.fallback_model:
                raise
            logger.info("%s: %s, so the fallback model is asked", call.key, error.message)
        return self._persistently(agent, call, self._choose_fallback(provider, agent.fallback_model), request)

    def _choose_fallback(self, provider: str, text: str) -> ModelRoute:
        """Written as MODEL, or MODEL@PROVIDER for another provider's."""
        model, _, other = text.rpartition("@")
        return self._route(other, model) if other in self._upstreams and model else self._route(provider, text)

    def _route(self, provider: str, model: str) -> ModelRoute:
        upstream = self._upstreams.get(provider)
        if upstream is None:
            raise NotFound(
                f"The model provider {provider} is not set up: the operator gives its key in the dashboard's Settings."
            )
        return ModelRoute(upstream, model)

    def _persistently(self, agent: Agent, call: _Call, route: ModelRoute, request: ModelRequest) -> dict[str, Any]:
        for attempt in range(1, TRIES + 1):
            try:
                return self._call_once(agent, call, route, request)
            except UpstreamFailed as error:
                wait_s = self._retry.choose_wait_s(error, attempt)
                if wait_s is None:
                    raise
                logger.info("%s: %s, trying again in %.1f s", call.key, error.message, wait_s)
                call.pause(wait_s)
        raise AssertionError("the last attempt returns or raises")

    def _call_once(self, agent: Agent, call: _Call, route: ModelRoute, request: ModelRequest) -> dict[str, Any]:
        call.raise_if_stopped()  # before any money is held: nothing was sent
        model = route.model or default_model_of(route.upstream)
        price = price_of(route.upstream.name, model, self._prices())
        size = sum(size_of(message["content"]) for message in request.messages)
        paid_call = PaidCall(
            self._budget,
            agent,
            call.key,
            call.turn,
            provider=route.upstream.name,
            model=model,
            price=price,
            size_bytes=size,
            messages=len(request.messages),
            max_tokens=request.max_tokens,
        )
        with paid_call.sending(nothing_came="no answer came"):
            completion = call.send_request(route.upstream, replace(request, model=model))
        text = self._read_answer(call, completion, paid_call)
        use, paid = paid_call.settle(completion.use)
        return {"output": text, "usage": _usage_json(use, paid), "model": model}

    def _read_answer(self, call: _Call, completion: Completion, paid_call: PaidCall) -> str:
        """The whole answer, shown to whoever watches as it comes; one that breaks off is kept as far as it came."""
        parts: list[str] = []
        sketch = self._drafting.begin_reply(call.key, call.turn if call.is_from_door else None)
        try:
            for delta in completion:
                parts.append(delta)
                sketch.add_piece(delta)
        except BaseException:
            paid_call.break_off(completion.use)
            sketch.keep_reply()
            raise
        finally:
            completion.close()
        return "".join(parts)


class _Call:
    """One call, which another thread may stop at any moment."""

    def __init__(self, key: CubicleKey, turn: int | None, *, is_from_door: bool) -> None:
        self.key = key
        self.turn = turn
        self.is_from_door = is_from_door
        self._stopped = threading.Event()
        self._completion: Completion | None = None

    def stop(self) -> None:
        self._stopped.set()
        if self._completion is not None:
            self._completion.close()

    def send_request(self, upstream: Upstream, request: ModelRequest) -> Completion:
        completion = upstream.complete(request, opened=self._hold_completion)
        self._hold_completion(completion)
        return completion

    def pause(self, seconds: float) -> None:
        self._stopped.wait(seconds)
        self.raise_if_stopped()

    def _hold_completion(self, completion: Completion) -> None:
        self._completion = completion
        if self._stopped.is_set():
            completion.close()

    def raise_if_stopped(self) -> None:
        if self._stopped.is_set():
            raise Stopped("The turn was stopped.")


def _usage_json(use: TokenUse, paid_micro: int) -> dict[str, Any]:
    return {"prompt_tokens": use.prompt, "completion_tokens": use.completion, "cost_usd": paid_micro / MICRO}
