"""How soon a message is answered, and a file of ``out/`` begins to leave, on Telegram: an install with a bot, and a Bot
API server on loopback that notes when each call arrives."""

from __future__ import annotations

import time

from bench import inside
from bench.install import Fixture, running_install
from tests.support.bot_api import BotApi

_OPERATOR = 4_200_001


def measure(count: int) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds from a message until the answer is there, from a rename into ``out/`` until Telegram has the small
    upload, and the same from a close by a command that then ends; one after the other."""
    with BotApi() as api:
        bot = api.bot("Bench")
        ada = api.person(_OPERATOR, "Ada")
        settings = {
            "TELEGRAM_BOT_TOKEN": bot,
            "HERMIT_TELEGRAM_OPERATOR_ID": str(_OPERATOR),
            "HERMIT_TELEGRAM_API_URL": api.url,
        }

        def answers() -> int:
            return sum(text.rpartition("\n")[2].replace(" ", "").isdigit() for text in api.said(ada, bot=bot))

        with running_install(settings) as install:
            first = []
            for n in range(count + 1):
                began = time.monotonic_ns()
                ada.says(bot, "steps=0")
                api.wait_for(lambda n=n: answers() > n, 60)  # type: ignore[misc]  # a bound default
                first.append((time.monotonic_ns() - began) / 1e6)
                time.sleep(0.5)
            times = []
            for n in range(count):
                renamed: int = inside.ask(install.container(), "arrival", NUMBER=n)
                api.wait_for(lambda n=n: len(api.calls("sendDocument")) > n, 30)  # type: ignore[misc]  # a bound default
                times.append((time.monotonic_ns() - renamed) / 1e6)
                time.sleep(0.2)
            written = []
            for n in range(count // 2):  # twenty files a minute are let through, and the renamed ones count
                before = len(api.calls("sendDocument"))
                ada.says(bot, f"steps=1 file={n}")
                api.wait_for(lambda before=before: len(api.calls("sendDocument")) > before)  # type: ignore[misc]
                arrived = time.time_ns()
                time.sleep(0.5)  # until the turn's rows are all there
                written.append((arrived - _closed_ns(install)) / 1e6)
            return first[1:], times, written


def _closed_ns(install: Fixture) -> int:
    """What the newest turn's command printed: when its file was closed."""
    newest = install.call("GET", "/agents/crab/deliveries")["deliveries"][0]
    (step,) = install.call("GET", f"/turns/{newest['turn']}")["steps"]
    return int(step["output"])
