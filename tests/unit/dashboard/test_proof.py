"""Proofs in an install without containers: one at a time, kept and told row by row, on a page, as a file to share, by
the API and by ``./hermit prove``."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.models import CubicleKey
from orchestrator.operations.proof.attempts import ATTEMPTS
from tests.support.app_fixture import AppFixture, Scene, run_app
from tests.support.command_line import CommandLine
from tests.support.real_app import eventually
from tests.support.walled_programs import ALL_HELD, WalledPrograms, say
from tests.unit.conftest import Api, Browser, logged_in, someone
from tests.unit.dashboard.test_audit import page

KEY = CubicleKey("crab", 1)


@pytest.fixture
def programs() -> WalledPrograms:
    """What runs in the cubicles."""
    return WalledPrograms()


@pytest.fixture
def walled(tmp_path: Path, programs: WalledPrograms) -> Iterator[AppFixture]:
    """An install with such programs."""
    with run_app(tmp_path, lines=programs, environment={"OPENAI_API_KEY": "sk-real-key-of-ada-0123456789"}) as install:
        yield install


@pytest.fixture
def ada(walled: AppFixture) -> Api:
    """The operator."""
    return someone(walled, walled.app.dashboard, walled.services.users.get_operator())


@pytest.fixture
def reader(walled: AppFixture) -> Browser:
    """The operator in a browser."""
    return logged_in(walled, walled.app.dashboard, walled.services.users.get_operator())


def _proven(api: Api) -> dict[str, Any]:
    """One, from beginning to end."""
    api.post("/agents/crab/proof")
    return _ended(api)


def _ended(api: Api) -> dict[str, Any]:
    def look() -> dict[str, Any]:
        found: dict[str, Any] = api.get("/agents/crab/proof")
        return found if found["stage"] in ("done", "failed") else {}

    return eventually(look)


def _verdicts(found: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(one["id"], one["verdict"]) for one in found["attempts"]]


def test_all_twelve_are_held_and_kept(walled: AppFixture, ada: Api, programs: WalledPrograms) -> None:
    """In order, with what they ran on; written into the audit log; nothing is left of what was laid out."""
    assert ada.get("/agents/crab/proof")["stage"] == "none"
    found = _proven(ada)
    assert _verdicts(found) == ALL_HELD
    assert (found["stage"], found["held"], found["of"], found["problem"]) == ("done", 12, 12, "")
    assert (found["engine"], found["kernel"]) == ("Docker Engine 29.1.0", "6.12.0")
    assert programs.made == [attempt.id for attempt in ATTEMPTS]
    records = {row["kind"]: row for row in ada.get("/audit?agent=crab")["rows"]}
    assert records["proof.begun"]["text"] == "ada let crab try twelve ways out of its cubicle."
    assert "12 of 12" in records["proof.ended"]["text"]
    assert not (walled.services.settings.home / "proof").exists()


def test_each_is_told_as_it_ends(walled: AppFixture, ada: Api, reader: Browser, programs: WalledPrograms) -> None:
    """While one is being made those before it stand, those after it wait, and nobody begins another."""
    gate = programs.gates["key"] = threading.Event()
    news = walled.services.broker.subscribe("proof")
    ada.post("/agents/crab/proof")
    eventually(lambda: "key" in programs.made)
    assert _verdicts(ada.get("/agents/crab/proof")) == ALL_HELD[:4] + [(one, None) for one, _ in ALL_HELD[4:]]
    assert "4 of 12 held so far." in page(reader, "/parts/proof/crab")
    assert ada.refused("POST", "/agents/crab/proof") == (
        409,
        "A proof is already running. Wait a few seconds until it has finished.",
    )
    assert ada.refused("GET", "/agents/crab/proof/page")[0] == 404
    gate.set()
    _ended(ada)
    told = [event for _ in range(14) if (event := news.get(5))]
    assert [event.cubicle for event in told] == [KEY] * 14  # the beginning, each of the twelve, and the end


def test_one_that_gets_through_is_told_loudly(
    walled: AppFixture, ada: Api, reader: Browser, programs: WalledPrograms
) -> None:
    """By the program's word, or by the host's own ear though the program denies it; with what to do."""
    programs.others["root"] = lambda attempt, _: say(attempt, setuid="done")
    programs.others["files"] = lambda attempt, given: say(attempt, Path(given["bait"]).read_text(encoding="ascii"))
    found = _proven(ada)
    broken = [one for one in found["attempts"] if one["verdict"] != "held"]
    assert [(one["id"], one["verdict"]) for one in broken] == [("files", "not_held"), ("root", "not_held")]
    assert all(one["fix"].startswith("Stop this agent") for one in broken)
    assert "2 of 12 were NOT held." in page(reader, "/agents/crab/proof")
    text = next(row["text"] for row in ada.get("/audit?agent=crab")["rows"] if row["kind"] == "proof.ended")
    assert "NOT held: Read other agents’ files, Become the administrator." in text


def test_a_program_that_is_held_up_proves_nothing(ada: Api, reader: Browser, programs: WalledPrograms) -> None:
    """It is unclear, and says so; the others count."""
    programs.others["door"] = lambda *_: b"<script>alert(1)</script>"
    found = _proven(ada)
    assert (found["stage"], found["held"]) == ("done", 11)
    assert [one["id"] for one in found["attempts"] if one["verdict"] == "unclear"] == ["door"]
    shown = page(reader, "/agents/crab/proof")
    assert "11 of 12 held, 1 unclear." in shown
    assert "alert(1)" not in shown


def test_an_agent_at_work_is_not_disturbed(walled: AppFixture, ada: Api, programs: WalledPrograms) -> None:
    """It would be stopped at its limit of programs in the middle of a command."""
    done = threading.Event()

    def work(_: Scene) -> None:
        done.wait(30)

    walled.plays["Work."] = work
    walled.services.turns.submit(KEY, "Work.", source="test")
    eventually(walled.services.turns.list_running)
    status, said = ada.refused("POST", "/agents/crab/proof")
    done.set()
    assert (status, said) == (409, "crab is working. Wait until it has answered, then try again.")
    assert programs.made == []


def test_what_a_death_cut_short_is_over_at_the_next_start(tmp_path: Path) -> None:
    """It is not shown as running for ever, and can be run again."""
    with run_app(tmp_path) as install:
        store = install.services.proofs._parts.store
        with store.writing() as db:
            db.execute(
                "INSERT INTO proofs (agent, user, started_at, stage, version) VALUES ('crab', 1, 1.0, 'running', '0')"
            )
        install.services.proofs.reconcile()
        latest = install.services.proofs.get_latest(KEY)
        assert latest.stage == "failed"
        assert latest.problem == "HermitShell was stopped before it was finished. Run it again."


def test_an_engine_that_is_gone_is_told(ada: Api, programs: WalledPrograms, walled: AppFixture) -> None:
    """As the reason why it broke off."""
    with run_app(walled.services.settings.home.parent / "other") as install:
        other = someone(install, install.app.dashboard, install.services.users.get_operator())
        found = _proven(other)
    assert found["stage"] == "failed"
    assert found["problem"].startswith("The Docker engine does not answer.")


def test_the_page_to_share_names_nobody(walled: AppFixture, ada: Api, reader: Browser) -> None:
    """One file without scripts that loads nothing; no agent, no person, no path, no word that was laid out."""
    walled.services.users.update_user(1, {"name": "Ada-Lovelace"})
    _proven(ada)
    answer = reader.client.get("/api/agents/crab/proof/page")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="hermitshell-proof.html"'
    text = answer.get_data(as_text=True)
    assert text.count('class="held"') == 12
    assert "12 of 12 held" in text
    assert "Network is unreachable (ENETUNREACH)" in text or "Permission denied" in text
    private = ("crab", "Ada-Lovelace", str(walled.services.settings.home), "sk-")
    assert [word for word in (*private, "<script", "http:", "https:", "src=", "url(") if word in text] == []
    assert "default-src 'none'" in text


def test_others_have_their_own(walled: AppFixture, ada: Api) -> None:
    """A member proves their own cubicle, and sees no other's; the operator may look."""
    ben = someone(walled, walled.app.dashboard, walled.services.users.add({"name": "ben"}))
    _proven(ada)
    assert ben.get("/agents/crab/proof")["stage"] == "none"
    assert ben.refused("POST", "/agents/crab/proof?user=1")[0] == 403
    assert ben.post("/agents/crab/proof")["stage"] == "running"
    eventually(lambda: ben.get("/agents/crab/proof")["stage"] == "done")
    assert ada.get(f"/agents/crab/proof?user={ben.user.id}")["held"] == 12
    assert ada.refused("GET", "/agents/nobody/proof")[0] == 404


def test_the_pages_lead_there(walled: AppFixture, reader: Browser) -> None:
    """From the cubicle's page, the settings and an empty chat."""
    for path in ("/agents/crab/cubicle", "/settings", "/agents/crab"):
        assert 'href="/agents/crab/proof"' in reader.client.get(path).get_data(as_text=True), path


def test_the_command_tells_each_and_ends_with_its_verdict(
    walled: AppFixture, programs: WalledPrograms, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 when all are held, else 1; without a name the first agent; as JSON too."""
    line = CommandLine(walled, capsys)
    said = line.good("prove").splitlines()
    assert len(said) == 13
    assert said[0].startswith("held      Connect to the internet: ")
    assert said[-1].startswith("12 of 12 held. HermitShell ")
    programs.others["engine"] = lambda attempt, _: say(attempt, docker="done")
    told = line.good("prove", "crab", code=1)
    assert "NOT HELD  Command the container engine: " in told
    assert "          Stop this agent." in told
    assert json.loads(line.good("prove", "crab", "--json", code=1))["held"] == 11
