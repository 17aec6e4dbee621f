"""What a scripted model needs to work with real pages: to find the ref of an element by its name, and a person who says
yes."""

from __future__ import annotations

from tests.support.real_app import RealApp, Talker, eventually

FIND = r"""ref() {
    hermit browser snapshot --full | grep -oE "e[0-9]+: ($1)|\[($1)[^]]*\]\(e[0-9]+\)" | grep -oE 'e[0-9]+' | head -1
}"""
"""A function of bash: the first element whose name begins so."""
_ENDED = ("done", "failed", "stopped")


def decide_all(install: RealApp, agent: Talker, turn: int, *, patience_s: float = 180.0) -> list[str]:
    """A yes to each question until the turn has ended; the kinds of the questions."""
    kinds: list[str] = []

    def is_over() -> bool:
        for one in install.api.get("/approvals", status="pending")["approvals"]:
            if one["turn"] == turn and agent.decide(one["id"], "approve").ok:
                kinds.append(str(one["kind"]))
        return agent.turn(turn)["status"] in _ENDED

    eventually(is_over, patience_s=patience_s)
    return kinds
