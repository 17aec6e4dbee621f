"""Examines the model provider, by one tiny call."""

from __future__ import annotations

import time
from collections.abc import Mapping

from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.finding import Finding, fail, ok, warn
from orchestrator.core.models import ModelRequest, Upstream
from orchestrator.llm.upstreams.models import default_model_of
from orchestrator.llm.upstreams.rehearsal import NAME as REHEARSAL

MODEL = "model"
_QUESTION = ({"role": "user", "content": "Answer with the word ok."},)
_MAX_TOKENS = 16


def examine_model(upstreams: Mapping[str, Upstream], default: str) -> Finding:
    """The default provider answers. Costs one question of six words, a tiny part of a cent."""
    if default == REHEARSAL:
        return warn(
            MODEL,
            "No model is connected: the built-in demo answers, a script that knows a few words.",
            "Add a provider's key in the dashboard's Settings, or in HERMIT_HOME/hermit.env and restart.",
        )
    asked = time.monotonic()
    try:
        upstream = upstreams[default]
        model = default_model_of(upstream)
        completion = upstream.complete(
            ModelRequest(model=model, messages=_QUESTION, max_tokens=_MAX_TOKENS, json_object=False)
        )
        try:
            for _ in completion:
                pass
        finally:
            completion.close()
    except UpstreamFailed as error:
        return fail(
            MODEL,
            error.message,
            f"Check the key, the address and the model of {default} in the dashboard's Settings or hermit.env.",
        )
    took_ms = (time.monotonic() - asked) * 1000
    return ok(MODEL, f"{default} answers with {model} ({took_ms:.0f} ms; asking it one word cost next to nothing).")
