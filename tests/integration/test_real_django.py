"""A model works in Django's own administration by the browser's commands, in a real cubicle and a real browser: it logs
in with a secret that it never sees, adds a row with the help of a second window, hands in a file, takes one away, and
deletes after a second question. What counts is what Django has in the end."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from orchestrator.web.limits import Internet
from tests.support.app_town import AppTown, served
from tests.support.foreign_packages import PINNED, pip_folder
from tests.support.free_ports import free_port
from tests.support.page_shell import FIND, decide_all
from tests.support.real_app import RealApp, real_install

pytestmark = [pytest.mark.docker, pytest.mark.thirdparty]

PASSWORD = "a long word & 7 signs"
SITE = "http://club.test"


@dataclass(frozen=True)
class Club:
    """The application, and what it has."""

    port: int
    home: Path

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Of its database."""
        with sqlite3.connect(self.home / "club.sqlite3") as db:
            return db.execute(query).fetchall()


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Club]:
    """It runs, with an administrator and a member."""
    home, port = tmp_path_factory.mktemp("club"), free_port()
    environment = {
        "PYTHONPATH": f"{pip_folder('django')}:{PINNED / 'django'}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "DJANGO_SETTINGS_MODULE": "club_settings",
        "CLUB_HOME": str(home),
    }
    begin = (
        "import django; django.setup()\n"
        "from django.core.management import call_command\n"
        "call_command('migrate', run_syncdb=True, verbosity=0)\n"
        "from django.contrib.auth.models import User\n"
        f"User.objects.create_superuser('ada', '', {PASSWORD!r})\n"
        "from club.models import Member, Team\n"
        "Member.objects.create(name='Old Bob', team=Team.objects.create(name='Chess'), since='2020-02-03')\n"
    )
    made = [sys.executable, "-c", begin]
    done = subprocess.run(made, check=False, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    command = [sys.executable, "-m", "django", "runserver", "--noreload", f"127.0.0.1:{port}"]
    with served(command, environment, home / "log", f"http://127.0.0.1:{port}/admin/login/"):
        yield Club(port, home)


@pytest.fixture(scope="module")
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
    club: Club,
) -> Iterator[RealApp]:
    """An install whose way out leads there, and whose operator named it: it has no encryption."""
    internet = Internet(AppTown({"club.test": club.port}))
    home, named = tmp_path_factory.mktemp("home"), {"HERMIT_PRIVATE_HOSTS": "club.test:80"}
    with real_install(home, client, image_tag, internet=internet, environment=named) as made:
        yield made


COMMANDS = (
    (
        f"echo {shlex.quote(FIND)} > find.sh; echo 'I can swim.' > paper.txt; "
        f"hermit browser open {SITE}/admin/ --why 'the new member'"
    ),
    (
        ". ./find.sh; hermit browser type $(ref Username) ada; hermit browser fill $(ref Password) --secret club; "
        "hermit browser click $(ref 'Log in')"
    ),
    f"hermit browser open {SITE}/admin/club/member/add/",
    ". ./find.sh; hermit browser type $(ref Name) Eve Winter; hermit browser click $(ref 'Add another team')",
    ". ./find.sh; hermit browser tabs; hermit browser type $(ref Name) Rowing; hermit browser click $(ref Save)",
    ". ./find.sh; hermit browser tabs; hermit browser type $(ref Since) 2026-11-28; hermit browser snapshot --full",
    ". ./find.sh; hermit browser upload $(ref Paper) paper.txt --why 'she brought it'",
    ". ./find.sh; hermit browser click $(ref Save)",
    (
        ". ./find.sh; hermit browser click $(ref 'Select all objects'); "
        "hermit browser select $(ref Action) 'Save selected members as a table'; "
        "hermit browser click $(ref 'Run|Go')"
    ),
    "hermit browser save 1 --why 'the list'; cat ../in/members.csv",
    ". ./find.sh; hermit browser click $(ref 'Old Bob')",
    ". ./find.sh; hermit browser click $(ref Delete)",
    ". ./find.sh; hermit browser click $(ref 'Yes, I.m sure')",
)


def test_an_administration_is_worked_in(install: RealApp, club: Club) -> None:
    """The new member is there with team, day and paper; the old one is gone; the table was saved."""
    agent = install.agent(toolsets=["browser"])
    install.api.post("/me/page-secrets", {"name": "club", "host": "club.test", "value": PASSWORD})
    turn = agent.send(install.plays.commands(*COMMANDS))
    kinds = decide_all(install, agent, turn)
    steps = agent.ended(turn, patience_s=60)["steps"]
    told = [step["output"] for step in steps]
    assert len(steps) == len(COMMANDS), told
    assert club.rows("SELECT name, since, paper FROM club_member") == [
        ("Eve Winter", "2026-11-28", "papers/paper.txt")
    ], told
    assert club.rows("SELECT name FROM club_team ORDER BY name") == [("Chess",), ("Rowing",)], told
    assert (club.home / "media/papers/paper.txt").read_text() == "I can swim.\n"
    assert 'Paper: = "paper.txt"' in told[6], told
    assert "[select e" in told[7], told
    assert ": Action: = ---------" in told[7], told
    assert "Add team | Django site admin" in told[4], told
    assert "Eve Winter,Rowing,2026-11-28" in told[9], told
    assert kinds == ["site", "page_upload", "page_file"], told
    assert PASSWORD not in "".join(told)
