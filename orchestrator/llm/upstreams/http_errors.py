"""What an HTTP status of a provider means, as a sentence for a person and the answer to "try again?".

Pure: a status and a few headers in, an error out. Nothing of a body is looked at, and of the headers only the waiting
time.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from orchestrator.core.errors import UpstreamFailed

MAX_WAIT_S = 24 * 3600.0

_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)?")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


@dataclass(frozen=True, slots=True)
class Provider:
    """How a provider is called in sentences for a person."""

    name: str
    key_setting: str = ""
    """Where its key is set, e.g. ``OPENAI_API_KEY``; empty when it needs none."""


def failure_of_status(
    provider: Provider, status: int, header: Callable[[str], str], *, host: str, now: float | None = None
) -> UpstreamFailed:
    """The error for any status but 200."""
    name = provider.name
    if 300 <= status < 400:
        text = (
            f"The provider {name} at {host} redirects elsewhere ({status}), which is not followed. Check its address."
        )
        return UpstreamFailed(text, may_retry=False)
    if status in (401, 403):
        where = f" Check the key in {provider.key_setting}." if provider.key_setting else " It may want a key."
        return UpstreamFailed(f"The provider {name} refused the key ({status}).{where}", may_retry=False)
    if status == 429:
        wait_s = retry_after(header, now=time.time() if now is None else now)
        text = f"The provider {name} is asked too often (429). Wait a little, or raise the limit of your account there."
        return UpstreamFailed(text, may_retry=True, retry_after_s=wait_s)
    if status >= 500 or status in (408, 409, 425):
        wait_s = retry_after(header, now=time.time() if now is None else now)
        text = f"The provider {name} has a problem of its own ({status}). Try again in a while."
        return UpstreamFailed(text, may_retry=True, retry_after_s=wait_s)
    return UpstreamFailed(_REFUSED.get(status, _OTHER).format(name=name, status=status, host=host), may_retry=False)


_OTHER = "The provider {name} at {host} gave an unexpected answer ({status}). Check its address."
_REFUSED = {
    400: "The provider {name} refused the request (400). Check the model's name and the conversation's length.",
    402: "The account at {name} is out of credit (402). Top it up there, or choose another provider.",
    404: "The provider {name} does not know this model or address (404). Check the model's name and the address.",
    413: "The conversation is too large for {name} (413). Clear the history, or choose a model that takes more.",
    422: "The provider {name} refused the request (422). Check the model's name.",
}


def retry_after(header: Callable[[str], str], *, now: float) -> float | None:
    """The seconds that the provider asks us to wait, at most a day; None when it says nothing usable."""
    in_ms = _duration_s(header("retry-after-ms"), bare_unit_s=0.001)
    if in_ms is not None:
        return in_ms
    text = header("retry-after").strip()
    wait_s = _duration_s(text, bare_unit_s=1.0)
    return wait_s if wait_s is not None else _until_date_s(text, now)


def _duration_s(text: str, *, bare_unit_s: float) -> float | None:
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    unit_s = _UNIT_S[match[2]] if match[2] else bare_unit_s
    return min(float(match[1]) * unit_s, MAX_WAIT_S)


def _until_date_s(text: str, now: float) -> float | None:
    if not text or len(text) > 64:
        return None
    try:
        wait_s = parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return min(max(wait_s, 0.0), MAX_WAIT_S) if math.isfinite(wait_s) else None
