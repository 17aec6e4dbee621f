"""What waits in an install that is lived in (``tests.support.sample_data``): a command, a download and packages that
need a word, and an agent that asks something.
"""

from __future__ import annotations

import time

from orchestrator.capabilities.capability import Caller
from orchestrator.core.models import ApprovalStatus, CubicleKey
from tests.support.app_fixture import AppFixture, Scene
from tests.support.real_app import eventually

CRAB, LIBRARIAN, NAVIGATOR = (CubicleKey(name, 1) for name in ("crab", "librarian", "navigator"))
_ROOM = "Make room: delete what the last build left behind."
_PRICES = "Compare the prices of charts with those of last year."
_HARBOUR = "Tell me every weekday at half past seven when it is high water."


def work_under_way(install: AppFixture) -> str:
    """A command, a download and packages wait for a word, an agent asks something; the command's question."""

    def clean(scene: Scene) -> None:
        scene.run(1, "du -sh build cache", thought="I look at what is large first.", output="1.4G build\n")
        install.steps.start_step(
            CRAB, scene.turn.id, 2, thought="Nothing else needs it.", command="rm -rf build cache/old", approval=None
        )
        install.steps.ask_person(CRAB, scene.turn.id, 2)
        _until(scene)

    def prices(scene: Scene) -> None:
        _ask_for_file(install, scene.turn.id)
        _ask_for_packages(install, scene.turn.id)
        _until(scene)

    def harbour(scene: Scene) -> None:
        scene.run(1, "python3 tides.py --harbours all", thought="I look up the tides first.", output="3 harbours\n")
        choices = ["Vlissingen", "Harlingen", "Hook of Holland"]
        asked = {"question": "I found tides for three harbours. Which one is yours?", "choices": choices}
        install.app._capabilities.calls.run_command(Caller(NAVIGATOR, scene.turn.id), "harbour", "ASK", asked)
        _until(scene)

    services = install.services
    install.plays.update({_ROOM: clean, _HARBOUR: harbour, _PRICES: prices})
    services.turns.submit(CRAB, _ROOM, source="dashboard")
    eventually(lambda: services.approvals.list_approvals(status=ApprovalStatus.PENDING))
    services.turns.submit(NAVIGATOR, _HARBOUR, source="dashboard")
    services.turns.submit(LIBRARIAN, _PRICES, source="dashboard")
    eventually(lambda: len(services.approvals.list_approvals(status=ApprovalStatus.PENDING)) == 3)
    eventually(lambda: bool(services.questions.list_questions(status="pending")))
    return next(
        one.id for one in services.approvals.list_approvals(status=ApprovalStatus.PENDING) if one.kind == "command"
    )


def _until(scene: Scene) -> None:
    while not scene.is_stopped():
        time.sleep(0.05)


def _ask_for_file(install: AppFixture, turn: int) -> None:
    detail = {
        "host": "xn--bcher-kva.example.com",
        "host_shown": "bücher.example.com",
        "url_chars": 26,
        "warnings": ["The host looks like bücher.example.com, but its real name is xn--bcher-kva.example.com."],
        "description": "The spring catalogue, to compare the prices you asked for",
        "file_type": "application/pdf",
    }
    _ask_host(install, turn, "asset", "https://xn--bcher-kva.example.com/catalogue/2026/spring.pdf", detail=detail)


def _ask_for_packages(install: AppFixture, turn: int) -> None:
    found = (("pandas", "2.2.3", 12_700_000), ("numpy", "2.1.2", 16_300_000), ("pytz", "2024.2", 508_002))
    sha256 = "ab12" * 16
    packages = [{"name": n, "version": v, "size_bytes": s, "sha256": sha256} for n, v, s in found]
    text = "pip install\n" + "\n".join(f"{n}=={v}  {s}  sha256:{sha256}" for n, v, s in found)
    detail = {"system": "pip", "asked": ["pandas"], "packages": packages, "total_bytes": sum(s for _, _, s in found)}
    _ask_host(install, turn, "packages", text, reason="To read the table of tides that you sent.", detail=detail)


def _ask_host(
    install: AppFixture, turn: int, kind: str, text: str, *, reason: str = "", detail: dict[str, object]
) -> None:
    approvals = install.services.approvals
    with install.app._store.writing() as db:
        approvals.ask_person(db, LIBRARIAN, turn, kind=kind, text=text, reason=reason, timeout_s=36_000, detail=detail)
