"""When a call that failed is sent once more."""

from __future__ import annotations

import pytest

from orchestrator.core.errors import UpstreamFailed
from orchestrator.llm.retry import TRIES, RetryPolicy


@pytest.mark.parametrize("attempt", range(1, TRIES))
def test_the_wait_doubles_with_each_try(attempt: int) -> None:
    """Within a fifth, so that many that failed together don't come back together."""
    wait_s = RetryPolicy(2.0).choose_wait_s(UpstreamFailed("Busy.", may_retry=True), attempt)
    assert wait_s is not None
    assert 0.8 <= wait_s / 2.0**attempt <= 1.2


def test_what_the_provider_says_goes_first() -> None:
    """Up to a minute; a longer one is no wait, but the end."""
    policy = RetryPolicy(0.5)
    assert policy.choose_wait_s(UpstreamFailed("Busy.", may_retry=True, retry_after_s=59.0), 1) == 59.0
    assert policy.choose_wait_s(UpstreamFailed("Busy.", may_retry=True, retry_after_s=61.0), 1) is None


def test_there_is_an_end() -> None:
    """After the last try, and at once where a try makes no sense."""
    policy = RetryPolicy(0.5)
    assert policy.choose_wait_s(UpstreamFailed("Busy.", may_retry=True), TRIES) is None
    assert policy.choose_wait_s(UpstreamFailed("No such key.", may_retry=False), 1) is None
