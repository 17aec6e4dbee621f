"""``orchestrator.browser.noise``: one noisy page is found among quiet ones, and listened to again when it has
changed."""

from __future__ import annotations

from orchestrator.browser.noise import MAX_EVENTS_A_SECOND, NoiseMeter

LOADS, WRITES = "Network.loadingFinished", "Runtime.consoleAPICalled"


def test_the_noisy_one_is_found_once() -> None:
    """At the event that is too much, and again after it was let speak; others are not meant."""
    now = 10.0
    meter = NoiseMeter(lambda: now)
    found = []
    for n in range(2 * MAX_EVENTS_A_SECOND):
        if meter.is_too_much("loud", LOADS):
            found.append(n)
        assert not meter.is_too_much(f"quiet {n % 9}", LOADS)
    assert found == [MAX_EVENTS_A_SECOND]
    assert meter.let_speak("loud")
    assert not meter.let_speak("loud")
    assert meter.is_too_much("loud", LOADS)


def test_much_over_a_long_time_is_no_noise() -> None:
    """What is counted is one second."""
    now = 10.0
    meter = NoiseMeter(lambda: now)
    for _ in range(5):
        assert not any(meter.is_too_much("page", LOADS) for _ in range(MAX_EVENTS_A_SECOND))
        now += 1.0


def test_lines_of_the_console_weigh_more() -> None:
    """Some three hundred a second are too many."""
    now = 10.0
    meter = NoiseMeter(lambda: now)
    assert not meter.is_ignored("page", WRITES)
    assert [meter.is_too_much("page", WRITES) for _ in range(400)].index(True) == MAX_EVENTS_A_SECOND // 8
    assert meter.is_ignored("page", WRITES)
    assert not meter.is_ignored("page", LOADS)
    assert not meter.is_ignored("other", WRITES)
