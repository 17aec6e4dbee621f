"""What the operator looks after on the page of settings: the doctor, one round at a time; backups that are made, handed
out and deleted; hosts of all agents. And the roles that a new agent may begin with."""

from __future__ import annotations

import html
import io
import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.capabilities.roles import ROLES
from orchestrator.core.errors import Conflict, OrchestratorError, Unavailable
from orchestrator.core.events import Broker
from orchestrator.core.finding import Finding, fail, ok, warn
from orchestrator.core.models import CubicleKey, Stage
from orchestrator.files.quota import Room
from orchestrator.operations.backup import verify as reading
from orchestrator.operations.backup.backups import Backups
from orchestrator.operations.doctor.runner import DoctorRunner
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_audit import page

FOUND = [
    ok("engine", "It <b>answers</b>."),
    warn("image", "It is old.", "Run './hermit up'."),
    fail("disk", "Full.", "Free some."),
]


def until(is_so: Callable[[], bool]) -> None:
    """Waits for it."""
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


# --- the doctor ------------------------------------------------------------------------------------------------


def test_the_doctor_looks_once_at_a_time() -> None:
    """A second round is refused while one is under way; then what was found is there, and another may begin."""
    going, broker = threading.Event(), Broker()
    news = broker.subscribe("doctor")

    def examine() -> list[Finding]:
        assert going.wait(30)
        return FOUND

    doctor = DoctorRunner(examine, broker)
    assert doctor.get_report().stage is Stage.NONE
    assert doctor.begin_run().stage is Stage.RUNNING
    with pytest.raises(Conflict):
        doctor.begin_run()
    going.set()
    until(lambda: doctor.get_report().stage is Stage.DONE)
    assert doctor.get_report().findings == tuple(FOUND)
    assert [event.kind for _ in range(2) if (event := news.get(5))] == ["doctor", "doctor"]
    doctor.begin_run()
    doctor.close()


@pytest.mark.parametrize(
    ("error", "said"),
    [(OrchestratorError("The engine is away."), "The engine is away."), (KeyError("x"), "The diagnostics failed")],
)
def test_a_round_that_breaks_off_says_so(error: Exception, said: str) -> None:
    """A sentence for whoever waits, and never what Python says."""

    def examine() -> list[Finding]:
        raise error

    doctor = DoctorRunner(examine, Broker())
    doctor.begin_run()
    doctor.close()
    report = doctor.get_report()
    assert report.stage is Stage.FAILED
    assert report.problem.startswith(said)
    assert doctor.begin_run().problem == ""
    doctor.close()


def test_what_was_found_is_shown_worst_first(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """With its fix, as text; the API has the same."""
    assert "Run diagnostics" in page(browser, "/parts/doctor")
    webapp.services.doctor._examine = lambda: FOUND
    assert operator.post("/doctor")["stage"] in ("running", "done")
    webapp.services.doctor.close()
    assert [found["state"] for found in operator.get("/doctor")["findings"]] == ["ok", "warn", "fail"]
    seen = page(browser, "/settings")
    assert "1 thing to fix, 1 thing to know." in seen
    assert seen.index("Full.") < seen.index("It is old.") < seen.index("It <b>answers</b>.")
    assert "Fix: Free some." in seen


def test_the_diagnostics_write_the_name_as_it_is(webapp: AppFixture, browser: Browser) -> None:
    """HermitShell, which the program itself calls ``hermitshell``."""
    webapp.services.doctor._examine = lambda: [ok("hermitshell", "Running and healthy.")]
    webapp.services.doctor.begin_run()
    webapp.services.doctor.close()
    assert "HermitShell Running and healthy." in page(browser, "/parts/doctor")


# --- backups ---------------------------------------------------------------------------------------------------


def made(webapp: AppFixture, api: Api) -> str:
    """A backup that is there; its name."""
    name: str = api.post("/backups")["file"]
    until(lambda: webapp.services.backups.get_progress().stage is not Stage.RUNNING)
    assert webapp.services.backups.get_progress().problem == ""
    return name


def test_a_backup_is_made_downloaded_and_deleted(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """What is downloaded is a whole backup; each deed is in the audit log; what is gone is gone."""
    assert "No backup yet." in page(browser, "/parts/backups")
    name = made(webapp, operator)
    (listed,) = operator.get("/backups")["backups"]
    answer = operator.call("GET", f"/backups/{name}")
    content = answer.get_data()
    answer.close()
    assert (listed["name"], listed["size_bytes"]) == (name, len(content))
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert reading.check_backup(io.BytesIO(content)).manifest.agents == 1
    assert "was created and verified" in page(browser, "/parts/backups")
    assert operator.call("DELETE", f"/backups/{name}").status_code == 204
    assert operator.refused("GET", f"/backups/{name}")[0] == 404
    assert operator.refused("DELETE", f"/backups/{name}")[0] == 404
    kinds = [row.kind for row in webapp.services.audit.search_records(limit=50) if row.kind.startswith("backup.")]
    assert kinds == ["backup.deleted", "backup.downloaded", "backup.made"]
    assert list((webapp.services.settings.home / "backups").iterdir()) == []


@pytest.mark.parametrize(
    "name", ["..%2fdb%2fhermit.db", "link.tar", "folder.tar", "before-upgrade-3.db", "nothing.tar"]
)
def test_nothing_but_a_backup_is_handed_out_or_deleted(webapp: AppFixture, operator: Api, name: str) -> None:
    """No link, no folder, no other file, and no way out of the folder."""
    backups = webapp.services.settings.home / "backups"
    secret = webapp.services.settings.home / "keys" / "command.token"
    (backups / "link.tar").symlink_to(secret)
    (backups / "folder.tar").mkdir()
    (backups / "before-upgrade-3.db").write_bytes(b"x")
    for method in ("GET", "DELETE"):
        assert (
            operator.client.open(
                f"/api/backups/{name}", method=method, headers={"Authorization": f"Bearer {operator.token}"}
            ).status_code
            == 404
        )
    assert operator.get("/backups")["backups"] == []
    assert secret.is_file()


def test_a_disk_without_room_is_said_before_anything_is_written(webapp: AppFixture, operator: Api) -> None:
    """How much it would take, how much there is, what to do; and nothing is left."""
    backups = webapp.services.backups

    class Small:
        def measure_room(self) -> Room:
            return Room(free_bytes=1000, free_inodes=10**6, total_bytes=10**9)

    backups._reserve = Small()  # type: ignore[assignment]  # a reserve is only asked for its room here
    operator.post("/backups")
    until(lambda: backups.get_progress().stage is not Stage.RUNNING)
    assert backups.get_progress().stage is Stage.FAILED
    assert "Free some space" in backups.get_progress().problem
    assert list((webapp.services.settings.home / "backups").iterdir()) == []


def test_an_install_that_stops_gives_a_backup_up(webapp: AppFixture, tmp_path: Path) -> None:
    """Nothing of it is left, and it says why; one at a time before that."""
    services = webapp.services
    begun, going = threading.Event(), threading.Event()

    class Slow(Backups):
        def _check_room(self, needed: int) -> None:
            begun.set()
            assert going.wait(30)

    slow = Slow(services.backups._home, services.audit, services.broker)
    operator = services.users.get_operator()
    slow.begin_backup(operator)
    assert begun.wait(30)
    with pytest.raises(Conflict):
        slow.begin_backup(operator)
    slow._closing.set()
    going.set()
    slow.close()
    assert "being stopped" in slow.get_progress().problem
    assert list((services.settings.home / "backups").iterdir()) == []


# --- hosts, and who may see all this ---------------------------------------------------------------------------


def test_the_grants_of_all_agents_stand_together(webapp: AppFixture, browser: Browser) -> None:
    """Each with its agent and a way to revoke it; and the names that the dashboard answers to."""
    webapp.services.agents.create({"name": "reader"})
    operator = webapp.services.users.get_operator()
    with webapp.app._store.writing() as db:
        for agent, host in (("crab", "a.example"), ("reader", "b.example")):
            webapp.services.grants.insert_grant(
                db, CubicleKey(agent, 1), GrantKind.HOST, (host,), GrantScope.ALWAYS, by=operator, surface="telegram"
            )
    seen = page(browser, "/settings")
    assert "a.example" in seen
    assert f"reader · always · allowed by {operator.name} (telegram)" in seen
    assert "localhost" in seen
    html = browser.client.get("/parts/allowed").get_data(as_text=True)
    assert re.search(r'data-path="/api/agents/reader/grants/[a-z2-9]{8}"', html)


def test_members_see_none_of_it(webapp: AppFixture, app: Flask, member: Api) -> None:
    """Neither pages nor parts nor news."""
    client = logged_in(webapp, app, member.user).client
    for path in ("/parts/doctor", "/parts/backups", "/parts/allowed", "/parts/strangers", "/agents/new"):
        assert client.get(path).status_code == 403, path


# --- a new agent -----------------------------------------------------------------------------------------------


def test_every_role_makes_an_agent(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """As it stands there; the page offers all of them, and knows which names are taken."""
    seen = page(browser, "/agents/new")
    for role in ROLES:
        assert role.title in seen
        given = {"name": role.name, "role": role.role, "personality": role.personality}
        more = {"toolsets": list(role.toolsets), "daily_budget_usd": role.daily_budget_usd, "image": role.image}
        operator.post("/agents", {**given, **more})
        made = webapp.services.agents.get(role.name)
        assert (made.toolsets, made.image) == (role.toolsets, role.image)
    assert "planner&#34;" in browser.client.get("/agents/new").get_data(as_text=True)


def test_a_role_brings_the_container_that_its_first_task_needs(browser: Browser) -> None:
    """Tables and charts, PDF and scans are in Studio alone; the form fills its field with what the role says."""
    shown = browser.client.get("/agents/new").get_data(as_text=True)
    fillings = [json.loads(html.unescape(found)) for found in re.findall(r'data-filling="([^"]*)"', shown)]
    studio = {filling["name"] for filling in fillings if filling["image"] == "studio"}
    assert studio == {"reader", "analyst", "home"}
    assert '<select name="image"' in shown


def test_no_agent_is_called_as_the_page_is(operator: Api, browser: Browser) -> None:
    """It could not be reached."""
    assert "Choose another name" in operator.refused("POST", "/agents", {"name": "new"})[1]
    assert browser.client.get("/agents/new").status_code == 200


def test_an_empty_install_teaches(webapp: AppFixture, app: Flask, browser: Browser, member: Api) -> None:
    """The operator is shown the way, a member whom to ask."""
    webapp.services.remove_agent("crab")
    assert "Create your first agent" in page(browser, "/")
    seen = page(logged_in(webapp, app, member.user), "/")
    assert "Create your first agent" not in seen
    assert "Ask an admin to create one." in seen


def test_a_backup_refuses_where_the_disk_does_not_answer(webapp: AppFixture, browser: Browser) -> None:
    """The page is there all the same."""

    class Away:
        def measure_room(self) -> Room:
            raise Unavailable("The disk is away.")

    webapp.services.backups._reserve = Away()  # type: ignore[assignment]  # a reserve is only asked for its room here
    assert "Back up now" in page(browser, "/parts/backups")
