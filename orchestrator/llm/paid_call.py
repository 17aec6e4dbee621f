"""A call that costs money: held before it is sent, booked however it ends. Models and embeddings are paid for here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.models import Agent, CubicleKey, TokenUse
from orchestrator.llm.budget import Budget
from orchestrator.llm.pricing import Price, believable, cost, reservation, tokens_reserved, tokens_used


class PaidCall:
    """One call, for which money is held from the start. Exactly one of its ends is booked."""

    def __init__(
        self,
        budget: Budget,
        agent: Agent,
        key: CubicleKey,
        turn: int | None,
        *,
        provider: str,
        model: str,
        price: Price,
        size_bytes: int,
        messages: int,
        max_tokens: int = 0,
    ) -> None:
        """Raises OverBudget when the day's budgets do not cover what it may cost at most."""
        self._budget, self._price = budget, price
        most = reservation(price, size_bytes, max_tokens, messages=messages)
        tokens = tokens_reserved(price, size_bytes, max_tokens, messages=messages)
        self._hold = budget.reserve(agent, key, turn, provider=provider, model=model, micro=most, tokens=tokens)

    @contextmanager
    def sending(self, *, nothing_came: str) -> Iterator[None]:
        """What fails in here ends the call: refused ones cost nothing, others all that was held, with
        ``nothing_came`` as the reason."""
        try:
            yield
        except UpstreamFailed as error:
            if error.may_have_cost:
                self._budget.keep(self._hold, TokenUse(), nothing_came)
            else:
                self._budget.release(self._hold, "it was refused")
            raise
        except BaseException:
            self._budget.keep(self._hold, TokenUse(), "it was cut off")
            raise

    def break_off(self, use: TokenUse) -> None:
        """It ended in the middle of its answer: it costs all that was held."""
        self._budget.keep(self._hold, believable(use), "the answer broke off")

    def settle(self, use: TokenUse) -> tuple[TokenUse, int]:
        """It went through: what of its use can be believed, and what it cost in micro-dollars."""
        use = believable(use)
        paid = cost(self._price, use, self._hold.micro)
        self._budget.settle(self._hold, paid, use, tokens=tokens_used(use, self._hold.tokens))
        return use, paid
