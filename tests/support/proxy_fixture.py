"""A model proxy over real rules, whose providers are made of paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from orchestrator.core.errors import OrchestratorError
from orchestrator.llm.pricing import PriceTable, load_prices
from orchestrator.llm.proxy import Proxy
from orchestrator.llm.retry import RetryPolicy
from orchestrator.turns.partial_replies import PartialReplies
from tests.support.core_fixture import KEY, CoreFixture
from tests.support.fakes import FakeUpstream, Reply

BODY = {"messages": [{"role": "user", "content": "hi"}]}


@dataclass
class ProxyFixture:
    """A proxy with its providers."""

    install: CoreFixture
    proxy: Proxy
    fake: FakeUpstream
    other: FakeUpstream

    def ask(self, body: dict[str, Any] | None = None, *, turn: int | None = None) -> dict[str, Any]:
        """A cubicle's call."""
        whole = (BODY if body is None else body) | ({} if turn is None else {"turn": turn})
        check: Callable[[], None] = partial(self.install.turns.check_wanted, KEY, turn or 0)
        return self.proxy.complete(KEY, whole, check_wanted=check if turn is not None else lambda: None)

    def spent(self) -> tuple[int, int]:
        """Booked and held today, in micro-dollars."""
        day = self.install.budget.get_today("crab")
        return day.spent_micro, day.reserved_micro


def line_of(
    install: CoreFixture,
    *replies: Reply,
    other: tuple[Reply, ...] = (),
    backoff_s: float = 0.001,
    prices: Callable[[], PriceTable] = load_prices,
) -> ProxyFixture:
    """Providers that reply so, and a proxy to them."""
    fake, second = FakeUpstream("fake", *replies), FakeUpstream("other", *other)
    proxy = Proxy(
        agents=install.agents,
        budget=install.budget,
        broker=install.broker,
        upstreams={"fake": fake, "other": second},
        default_provider=lambda: "fake",
        prices=prices,
        retry=RetryPolicy(backoff_s),
        keep=PartialReplies(install.store).save_reply,
    )
    return ProxyFixture(install, proxy, fake, second)


def swallow(deed: Callable[[], Any]) -> Any:
    """What it gives, or the error that it ends with."""
    try:
        return deed()
    except OrchestratorError as error:
        return error
