"""Fuzzing: how many examples each property of ``tests/fuzz`` gets, and a pytest plug-in (``-p tests.fuzzing``) that
tries every property test of the repository for as long as one likes and counts what it tried.

Owns no target. ``./hermit test --fuzz 10m`` comes through here.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

BOUNDED, LONG = "bounded", "long"
"""The profiles: the same few examples each time, or others each time."""
PROFILE = "HYPOTHESIS_PROFILE"
_COUNT = "fuzzed"
_CALM = (
    HealthCheck.too_slow,
    HealthCheck.function_scoped_fixture,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
)

settings.register_profile(BOUNDED, derandomize=True, database=None, deadline=None, suppress_health_check=_CALM)
settings.register_profile(LONG, database=None, deadline=None, print_blob=True, suppress_health_check=_CALM)


def load_profile() -> None:
    """For every property: the examples are the same each time, but in a long run; none has to be quick."""
    settings.load_profile(_chosen())


def bounded(examples: int) -> settings:
    """So many examples in a run of the tests, the same each time; in a long run so many a round, others each time."""
    return settings(settings.get_profile(_chosen()), max_examples=examples)


def _chosen() -> str:
    return LONG if os.environ.get(PROFILE) == LONG else BOUNDED


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--fuzz-for``: how long, in all."""
    parser.addoption("--fuzz-for", type=float, default=0.0, help="seconds, shared out among all property tests")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a long run there is nothing but property tests."""
    if not config.getoption("--fuzz-for"):
        return
    others = [item for item in items if not _is_property(item)]
    items[:] = [item for item in items if _is_property(item)]
    config.hook.pytest_deselected(items=others)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object:
    """One property, round after round until its share of the time is over."""
    whole_s = float(pyfuncitem.config.getoption("--fuzz-for"))
    if not whole_s or not _is_property(pyfuncitem):
        return None
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    end = time.monotonic() + whole_s * workers / len(pyfuncitem.session.items)
    names = pyfuncitem._fixtureinfo.argnames
    given = {name: pyfuncitem.funcargs[name] for name in names}
    count = [0]
    handle = pyfuncitem.obj.hypothesis
    inner = handle.inner_test
    handle.inner_test = _counted(inner, count)
    try:
        while True:
            pyfuncitem.obj(**given)
            if time.monotonic() >= end:
                return True
    finally:
        handle.inner_test = inner
        pyfuncitem.user_properties.append((_COUNT, count[0]))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How much was tried of what."""
    found = sorted(_counts(terminalreporter.stats), key=lambda row: row[1])
    if not found:
        return
    terminalreporter.section("examples tried")
    for count, name, outcome in found:
        terminalreporter.write_line(f"{count:>10,}  {name}{'' if outcome == 'passed' else f'  {outcome.upper()}'}")
    terminalreporter.write_line(f"{sum(count for count, _, _ in found):>10,}  in all, of {len(found)} properties")


def _counts(stats: dict[str, list[Any]]) -> Iterator[tuple[int, str, str]]:
    for reports in stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == _COUNT and getattr(report, "when", "") == "call":
                    yield int(value), str(report.nodeid), str(report.outcome)


def _is_property(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)


def _counted(inner: Callable[..., Any], count: list[int]) -> Callable[..., Any]:
    @functools.wraps(inner)
    def counted(*given: Any, **named: Any) -> Any:
        count[0] += 1
        return inner(*given, **named)

    return counted
