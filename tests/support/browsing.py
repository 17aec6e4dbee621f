"""Commands of the browser in a real cubicle, and the questions that they lead to."""

from __future__ import annotations

import re
import threading
from typing import Any

from tests.support.real_app import Ran, RealApp, Talker, eventually, run_inside


def run(install: RealApp, agent: Talker, *words: str) -> Ran:
    """A command of the browser."""
    return run_inside(install.client, agent, "hermit", "browser", *words)


def approved(
    install: RealApp, agent: Talker, *words: str, kind: str = "site", **more: Any
) -> tuple[Ran, dict[str, Any]]:
    """The same, with a yes to the question that it leads to; the question."""
    ran: list[Ran] = []
    thread = threading.Thread(target=lambda: ran.append(run(install, agent, *words)))
    thread.start()
    question = eventually(
        lambda: next((a for a in pending(install) if a["agent"] == agent.name and a["kind"].startswith(kind)), {}),
        patience_s=60,
    )
    install.api.post(f"/approvals/{question['id']}", {"decision": "approve", **more})
    thread.join(120)
    return ran[0], question


def close_browser(install: RealApp, agent: Talker) -> None:
    """Its pages are gone, also where a person has it; none is fine."""
    install.api.call("POST", f"/agents/{agent.name}/browser/close")


def pending(install: RealApp) -> list[dict[str, Any]]:
    """The open questions."""
    found: list[dict[str, Any]] = install.api.get("/approvals?status=pending")["approvals"]
    return found


def ref_of(text: str, name: str) -> str:
    """The ref of the element of this name."""
    found = re.search(rf"\[(?:\w+ )?(e\d+): {name}\b|\[{name}\]\((e\d+)\)", text)
    assert found, (name, text)
    return found[1] or found[2]
