"""Trying a provider out: one tiny real call, and in plain words what came of it. It is paid for as every call is, from
the first agent's budget. Nothing is kept of what was tried, and nothing that the provider wrote but its models' names.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from orchestrator.agents.agents import Agents
from orchestrator.core.errors import Conflict, OverBudget, UpstreamFailed
from orchestrator.core.models import CubicleKey, Upstream
from orchestrator.languages.told import worded
from orchestrator.llm.providers import Providers
from orchestrator.llm.proxy import ModelRoute, Proxy

WITHIN_S = 45.0


@dataclass(frozen=True, slots=True)
class Trial:
    """How it went."""

    ok: bool
    message: str
    """For a person."""
    model: str
    """Which one was asked; empty when it did not come to that."""
    models: tuple[str, ...]
    """What the provider offers; empty when it would not say."""
    cost_usd: float = 0.0
    latency_s: float = 0.0


class ProviderCheck:
    """Who tries."""

    def __init__(self, providers: Providers, proxy: Proxy, agents: Agents) -> None:
        self._providers, self._proxy, self._agents = providers, proxy, agents

    def check_known(self, name: str, model: str, *, user: int) -> Trial:
        """A provider as it is set up. Raises NotFound, or Conflict when it is not, or there is no agent to pay."""
        upstream = self._providers.get(name)
        if upstream is None:
            state = self._providers.get_state(name)
            raise Conflict(worded("%(name)s has no key yet. Give it one first.", name=state.label))
        return self._try_provider(upstream, model.strip(), user)

    def check_new(self, name: str, key: str, base_url: str, model: str, *, user: int) -> Trial:
        """A provider with a key that is not kept. Raises as ``Providers.make_candidate``, and Conflict."""
        return self._try_provider(self._providers.make_candidate(name, key, base_url), model.strip(), user)

    def list_models(self, name: str) -> tuple[str, ...]:
        """What a provider offers; raises NotFound, Conflict or UpstreamFailed."""
        upstream = self._providers.get(name)
        if upstream is None:
            state = self._providers.get_state(name)
            raise Conflict(worded("%(name)s has no key yet. Give it one first.", name=state.label))
        return tuple(upstream.list_models())

    def _try_provider(self, upstream: Upstream, model: str, user: int) -> Trial:
        agents = self._agents.list_agents()
        if not agents:
            raise Conflict("There is no agent that could pay for a try. Make one first.")
        models = _list_offered(upstream)
        model, started = model or upstream.default_model or next(iter(models), ""), time.monotonic()
        try:
            key = CubicleKey(agents[0].name, user)
            answer = self._proxy.try_out(key, ModelRoute(upstream, model), within_s=WITHIN_S)
        except (UpstreamFailed, OverBudget) as error:
            return Trial(ok=False, message=error.message, model=model, models=models)
        took_s, cost_usd = time.monotonic() - started, float(answer["usage"]["cost_usd"])
        paid = f", for ${cost_usd:.6f}".rstrip("0").rstrip(".") if cost_usd else ""
        said = f"It works: {answer['model']} answered after {took_s:.1f} seconds{paid}."
        return Trial(True, said, str(answer["model"]), models, cost_usd, round(took_s, 3))


def _list_offered(upstream: Upstream) -> tuple[str, ...]:
    try:
        return tuple(upstream.list_models())
    except UpstreamFailed:
        return ()  # the call that follows says what is the matter
