"""Imports over the API: a dry run writes nothing, then all of it comes or nothing does, and nothing of it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.capabilities.calendar.rows import EntryStatus
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey
from orchestrator.operations.agent_import import imports
from orchestrator.operations.agent_import.import_rows import count_files
from tests.support.app_fixture import AppFixture, run_app
from tests.support.foreign_agents import FAKE_KEY, HERMES, NANOBOT, OPENCLAW, zipped
from tests.unit.conftest import Api, Browser
from tests.unit.dashboard.test_audit import page

KEY = CubicleKey("molty", 1)


def look(who: Api, content: bytes) -> dict[str, Any]:
    """The dry run."""
    answer = who.client.put("/api/imports", data=content, headers={"Authorization": f"Bearer {who.token}"})
    body: dict[str, Any] = answer.get_json()
    assert answer.status_code == 201, body
    return body


def inbox(webapp: AppFixture, key: CubicleKey = KEY) -> dict[str, bytes]:
    """What lies in the agent's ``in``."""
    folder = webapp.services.settings.home / "workspaces" / key.agent / str(key.user) / "in"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}


def test_a_dry_run_writes_nothing(webapp: AppFixture, operator: Api) -> None:
    """Neither rows nor files, nor the zip itself; and it can be read again."""
    home = webapp.services.settings.home
    before = sorted(path for path in home.rglob("*") if "db" not in path.parts)
    plan = look(operator, zipped(OPENCLAW))
    assert (plan["product"], plan["name"], plan["time_zone"]) == ("OpenClaw", "molty", "Europe/Vienna")
    assert operator.get(f"/imports/{plan['id']}") == plan
    assert sorted(path for path in home.rglob("*") if "db" not in path.parts) == before
    assert [agent["name"] for agent in operator.get("/agents")["agents"]] == ["crab"]
    for path in home.rglob("*"):
        assert not path.is_file() or FAKE_KEY.encode() not in path.read_bytes(), path


def test_all_of_it_comes(webapp: AppFixture, operator: Api) -> None:
    """Who it is, what it knows, its files; schedules are there, paused."""
    plan = look(operator, zipped(OPENCLAW))
    came = operator.post(f"/imports/{plan['id']}", {"agent": "molty", "color": "coral"})
    assert came == {"agent": "molty", "is_new": True, "memories": 8, "schedules": 2, "files": 5, "pending": 0}
    agent = operator.get("/agents/molty")
    assert (agent["display_name"], agent["avatar"], agent["color"]) == ("Molty", "🦞", "coral")
    assert "Be genuinely helpful." in agent["personality"]
    facts = [fact.text for fact in webapp.services.memories.list_facts(KEY, limit=100)]
    assert "The boat: She is called Nautilus." in facts
    entries = webapp.services.calendar.list_entries("molty", 1)
    assert {entry.status for entry in entries} == {EntryStatus.PAUSED}
    assert {entry.next_at for entry in entries} == {None}
    assert {(entry.title, entry.time_zone) for entry in entries} == {
        ("Morning brief", "America/New_York"),
        ("Varnish", "Europe/Vienna"),
    }
    assert sorted(inbox(webapp)) == sorted(file["name"] for file in plan["files"])
    assert b"1. Mix." in inbox(webapp)["skill-bread.md"]
    assert webapp.services.turns.list_running() == []
    assert operator.refused("GET", f"/imports/{plan['id']}")[0] == 404


def test_no_secret_is_anywhere_afterwards(webapp: AppFixture, operator: Api) -> None:
    """Not in the database either."""
    for files, name in ((OPENCLAW, "molty"), (HERMES, "hermes"), (NANOBOT, "nanobot")):
        operator.post(f"/imports/{look(operator, zipped(files))['id']}", {"agent": name})
    for path in webapp.services.settings.home.rglob("*"):
        assert not path.is_file() or FAKE_KEY.encode() not in path.read_bytes(), path


def test_what_is_ticked_comes(webapp: AppFixture, operator: Api) -> None:
    """One by one; the audit log says which."""
    path = ".openclaw/.env"
    plan = look(operator, zipped(OPENCLAW))
    assert path in [secret["path"] for secret in plan["secrets"]]
    operator.post(f"/imports/{plan['id']}", {"agent": "molty", "secrets": [path]})
    assert FAKE_KEY.encode() in inbox(webapp)["env"]
    assert "oauth.json" not in inbox(webapp)
    [row] = [row for row in operator.get("/audit")["rows"] if row["kind"] == "agent.imported"]
    assert row["detail"] == {"secrets": [path]}


def test_an_agent_that_is_there_stays_who_it_is(webapp: AppFixture, operator: Api) -> None:
    """Memories, files and schedules are added."""
    before = operator.get("/agents/crab")
    came = operator.post(f"/imports/{look(operator, zipped(HERMES))['id']}", {"agent": "crab"})
    assert came["is_new"] is False
    after = operator.get("/agents/crab")
    assert {k: after[k] for k in ("display_name", "role", "personality", "avatar")} == {
        k: before[k] for k in ("display_name", "role", "personality", "avatar")
    }
    assert len(webapp.services.calendar.list_entries("crab", 1)) == 3
    assert "skill-devops-deploy.md" in inbox(webapp, CubicleKey("crab", 1))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"agent": "Not A Name"}, "agent"),
        ({"agent": "new"}, "name"),
        ({"agent": "molty", "secrets": ["../../etc/passwd"]}, "secrets"),
        ({"agent": "molty", "secrets": "all"}, "secrets"),
        ({"agent": "molty", "color": "pink"}, "color"),
        ({"agent": "molty", "display_name": "crab"}, "display_name"),
        ({"agent": "molty", "personality": "x"}, "personality"),
        ({}, "agent"),
    ],
)
def test_what_is_refused_leaves_nothing(webapp: AppFixture, operator: Api, body: dict[str, object], field: str) -> None:
    """The error names the field, and the plan is still there to try again."""
    plan = look(operator, zipped(OPENCLAW))
    _, said = operator.refused("POST", f"/imports/{plan['id']}", body)
    assert said.startswith(f"{field}:"), said
    assert [agent["name"] for agent in operator.get("/agents")["agents"]] == ["crab"]
    assert webapp.services.memories.list_facts(KEY) == []
    assert inbox(webapp) == {}
    assert operator.post(f"/imports/{plan['id']}", {"agent": "molty"})["is_new"]


def test_a_calendar_that_is_full_takes_nothing_of_it(webapp: AppFixture, operator: Api) -> None:
    """Neither the memories before it nor the files after it."""
    key = CubicleKey("crab", 1)
    who = webapp.services.users.get_operator()
    for number in range(99):
        webapp.services.calendar.create_entry(
            key, {"title": f"n{number}", "prompt": "x", "start": "2031-01-01T09:00"}, by=who
        )
    plan = look(operator, zipped(OPENCLAW))
    assert operator.refused("POST", f"/imports/{plan['id']}", {"agent": "crab"})[0] == 429
    assert webapp.services.memories.list_facts(key) == []
    assert len(webapp.services.calendar.list_entries("crab", 1)) == 99
    assert inbox(webapp, key) == {}


def test_files_that_were_on_their_way_come_at_the_next_start(tmp_path: Path) -> None:
    """A full disk, or a death: the rest is there, and the files follow, each once."""
    with run_app(tmp_path) as install:
        who = install.services.users.get_operator()
        number, _ = install.services.imports.look(zipped(OPENCLAW), who)
        folder = tmp_path / "workspaces" / "molty" / "1"
        folder.mkdir(parents=True)
        (folder / "in").write_text("in the way", encoding="utf-8")
        came = install.services.imports.carry_out(number, who, "molty", {}, ())
        assert came.pending == came.files == 5
        (folder / "in").unlink()
    with run_app(tmp_path) as install:
        assert len(inbox(install)) == 5
        with install.app._store.reading() as db:
            assert count_files(db, KEY) == 0
        before = inbox(install)
        install.services.imports.lay_files()
        assert inbox(install) == before


def test_a_plan_is_its_lookers_and_lasts_an_hour(
    webapp: AppFixture, operator: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another operator has none of it; old ones and too many go."""
    first = look(operator, zipped(OPENCLAW))
    other = webapp.services.users.add({"name": "eve", "role": "operator"})
    with pytest.raises(NotFound):
        webapp.services.imports.get_plan(first["id"], other)
    for _ in range(imports.MOST_KEPT):
        look(operator, zipped(NANOBOT))
    assert operator.refused("GET", f"/imports/{first['id']}")[0] == 404
    last = look(operator, zipped(NANOBOT))
    monkeypatch.setattr(imports, "KEPT_S", -1.0)
    assert operator.refused("GET", f"/imports/{last['id']}")[0] == 404


def test_what_is_no_zip_is_refused(operator: Api) -> None:
    """With a sentence; members can't send any."""
    headers = {"Authorization": f"Bearer {operator.token}"}
    for content in (b"hello", zipped({"a.txt": "b"})):
        answer = operator.client.put("/api/imports", data=content, headers=headers)
        assert answer.status_code == 400
        assert len(answer.get_json()["error"]["message"]) > 20


def test_the_page_shows_everything_as_text(operator: Api, browser: Browser) -> None:
    """Markup in names, memories, schedules and paths stays text."""
    evil = "<script>alert(1)</script>"
    files = {
        "SOUL.md": f"Kind. {evil}",
        "IDENTITY.md": f"- **Name:** Mallory {evil}\n- **Vibe:** {evil}",
        "MEMORY.md": f"- {evil} likes tea\n- password: hunter22 {evil}",
        f"x{evil.replace('/', '')}.md": "x",
    }
    services = operator.get("/me")
    assert services["role"] == "operator"
    answer = browser.client.put(
        "/api/imports",
        data=zipped(files),
        headers={"Origin": "http://localhost", "X-CSRF-Token": browser.csrf},
    )
    seen = page(browser, f"/import?look={answer.get_json()['id']}")
    html = browser.client.get(f"/import?look={answer.get_json()['id']}").get_data(as_text=True)
    assert evil not in html
    assert "Mallory" in seen
    assert "What looks like a secret" in seen
