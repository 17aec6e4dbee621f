"""What a scripted model needs to work with real pages: to find the ref of an element by its name, and a person who says
yes."""

from __future__ import annotations

from tests.support.real_app import RealApp, Talker, eventually

FIND = r"""ref() {
    hermit browser snapshot --full | grep -oE "e[0-9]+: ($1)|\[($1)[^]]*\]\(e[0-9]+" | grep -oE 'e[0-9]+' | head -1
}
last() { hermit browser snapshot --full | grep -oE "$1" | grep -oE 'e[0-9]+' | tail -1; }
until_it_shows() { for _ in 1 2 3 4 5; do hermit browser wait "$1" 2>&1 | grep -v 'does not show' && return; done; }"""
"""Functions of bash: the first element whose name begins so; the last one whose line has this; a minute's patience."""
_ENDED = ("done", "failed", "stopped")


def decide_all(install: RealApp, agent: Talker, turn: int, *, patience_s: float = 180.0) -> list[str]:
    """A yes to each question until the turn has ended; the kinds of the questions."""
    kinds: list[str] = []

    def is_over() -> bool:
        asked = [one for one in install.api.get("/approvals", status="pending")["approvals"] if one["turn"] == turn]
        kinds.extend(str(one["kind"]) for one in asked if agent.decide(one["id"], "approve").ok)
        return agent.turn(turn)["status"] in _ENDED

    eventually(is_over, patience_s=patience_s)
    return kinds
