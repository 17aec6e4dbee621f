"""The commands that look after an install: people, tokens, ways in, the audit log, cubicles and apps."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from orchestrator.cli.tunnel import has_browser, ssh_command
from orchestrator.core.config import load
from orchestrator.core.home import HomeLock, prepare_home
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import API_TOKEN, run_app
from tests.support.command_line import ROOT, CommandLine


@pytest.fixture
def hermit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[CommandLine]:
    """A command line in front of an install."""
    with run_app(tmp_path / "home") as install:
        yield CommandLine(install, capsys)


def _environment(hermit: CommandLine) -> dict[str, str]:
    """Of a process of its own."""
    settings = hermit.install.services.settings
    return {
        "PATH": os.environ["PATH"],
        "HERMIT_HOME": str(settings.home),
        "HERMIT_PORT": str(settings.port),
        "HERMIT_API_TOKEN": API_TOKEN,
        "PYTHONPATH": str(ROOT),
    }


def test_a_person_from_first_to_last(hermit: CommandLine) -> None:
    """Added with a link that lets them in, listed, changed by name and by number, deleted."""
    said = hermit.good("user", "add", "ben", "--time-zone", "Europe/Vienna")
    assert said.startswith("ben is added. This link logs them in, once, for 24 hours:\n")
    assert "only opens on this machine" in hermit.aside
    link = said.splitlines()[-1]
    assert requests.get(link, timeout=5).ok
    assert hermit.good("user", "list").splitlines()[1:] == [
        "1   ada   operator  -         UTC",
        "2   ben   member    -         Europe/Vienna",
    ]
    assert hermit.good("user", "set", "ben", "name=Benjamin", "telegram_id=4200001") == "Benjamin is changed.\n"
    assert hermit.install.services.users.get(2).id_in("telegram") == 4_200_001
    hermit.good("user", "set", "2", "telegram_id=", "role=operator")
    person = hermit.install.services.users.get(2)
    assert (person.id_in("telegram"), person.role.value) == (None, "operator")
    again = hermit.good("user", "login-link", "Benjamin").splitlines()[-1]
    assert again != link
    assert "--yes" in hermit.refused("user", "rm", "Benjamin")
    assert len(json.loads(hermit.good("user", "list", "--json"))["users"]) == 2
    assert hermit.good("user", "rm", "Benjamin", "--yes") == "Benjamin is deleted.\n"
    assert [user.name for user in hermit.install.services.users.list_users()] == ["ada"]


def test_json_of_a_new_person(hermit: CommandLine) -> None:
    """The API's own object, with the link."""
    added = json.loads(hermit.good("user", "add", "ann", "--role", "operator", "--telegram-id", "77", "--json"))
    assert (added["name"], added["role"], added["telegram_id"]) == ("ann", "operator", 77)
    assert "/login/" in added["login_url"]
    link = json.loads(hermit.good("user", "login-link", "ann", "--json"))
    assert (link["valid_for_s"], link["name"], link["is_local"]) == (86_400, "ann", True)
    hermit.good("login-link", "--user", "ann")
    assert hermit.aside.startswith("It works once, for 24 hours.\nIt only opens on this machine")


def test_nobody_of_that_name(hermit: CommandLine) -> None:
    """The sentence names who there is; a wrong field is named, too."""
    assert hermit.refused("user", "rm", "bob", "--yes") == "There is nobody called 'bob'; there are ada."
    assert "there are ada" in hermit.refused("login-link", "--user", "bob")
    assert "write FIELD=VALUE" in hermit.refused("user", "set", "ada", "role")
    assert "telegram_id" in hermit.refused("user", "set", "ada", "telegram_id=abc")
    assert "no such field" in hermit.refused("user", "set", "ada", "colour=red")


def test_a_token_from_first_to_last(hermit: CommandLine) -> None:
    """It works until it is deleted; the list knows nothing of what it is."""
    assert "There are no tokens" in hermit.good("token", "list")
    hermit.good("user", "add", "ben")
    token = hermit.good("token", "create", "backup/job", "--user", "ben").strip()
    assert "only this once" in hermit.aside
    users = hermit.install.services.users
    assert (user := users.of_token(token)) is not None
    assert user.name == "ben"
    head, row = hermit.good("token", "list").splitlines()
    assert head.startswith("NAME")
    assert row.startswith("backup/job  ben ")
    assert token not in hermit.good("token", "list", "--json")
    assert "--yes" in hermit.refused("token", "rm", "backup/job")
    assert hermit.good("token", "rm", "backup/job", "--yes") == "The token backup/job is deleted.\n"
    assert users.of_token(token) is None
    assert "no token called 'backup/job'" in hermit.refused("token", "rm", "backup/job", "--yes")


def test_a_login_link_says_how_long(hermit: CommandLine) -> None:
    """Beside standard output, which is the link alone."""
    assert hermit.good("login-link").count("\n") == 1
    assert hermit.aside.splitlines()[0] == "It works once, for 15 minutes."
    assert json.loads(hermit.good("login-link", "--json"))["valid_for_s"] == 900
    assert hermit.aside == ""


@pytest.mark.parametrize(
    ("environment", "platform", "is_one"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"WSL_DISTRO_NAME": "Debian"}, "linux", True),
        ({"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "x"}, "linux", False),
        ({"SSH_CONNECTION": "x", "BROWSER": "mine"}, "linux", True),
        ({}, "darwin", True),
        ({"SSH_TTY": "/dev/pts/0"}, "darwin", False),
    ],
)
def test_where_a_browser_is(environment: dict[str, str], platform: str, *, is_one: bool) -> None:
    """A desktop of whoever sits there; over SSH it would open in front of somebody else, or nobody."""
    assert has_browser(environment, platform) is is_one


def test_on_a_server_the_line_for_ones_own_computer_is_told(hermit: CommandLine) -> None:
    """With this install's ports, and the name and the address that the person came by; beside the link itself."""
    hermit.environment = {"SSH_CONNECTION": "198.51.100.7 50212 203.0.113.9 22", "USER": "ada"}
    settings = hermit.install.services.settings
    ways = f"-L {settings.port}:127.0.0.1:{settings.port} -L {settings.preview_port}:127.0.0.1:{settings.preview_port}"
    line = f"On another computer, first run this there: ssh {ways} ada@203.0.113.9\n"
    for command in ("login-link", "open"):
        assert hermit.good(command).count("\n") == 1
        assert line in hermit.aside
    claim = HomeLock(prepare_home(settings.home))
    assert line in hermit.good("up")
    claim.release()
    assert "ssh" not in hermit.good("login-link", "--json") + hermit.aside


@pytest.mark.parametrize(
    ("given", "environment", "line"),
    [
        ({}, {"USER": "ada", "SSH_CONNECTION": "a 1 2001:db8::9 2222"}, "ssh -p 2222 {} ada@2001:db8::9"),
        ({}, {"LOGNAME": "ben", "SSH_CONNECTION": "nonsense"}, f"ssh {{}} ben@{socket.gethostname()}"),
        ({}, {"USER": "ada"}, f"ssh {{}} ada@{socket.gethostname()}"),
        ({}, {"USER": "ada", "DISPLAY": ":0"}, ""),
        ({"HERMIT_PUBLIC_URL": "https://hermit.example.org"}, {"USER": "ada"}, ""),
        ({"HERMIT_HOST": "0.0.0.0"}, {"USER": "ada"}, ""),
    ],
)
def test_who_needs_a_tunnel(tmp_path: Path, given: dict[str, str], environment: dict[str, str], line: str) -> None:
    """Somebody without a browser here, where only this machine reaches the dashboard."""
    settings = load(
        {"HERMIT_HOME": str(tmp_path), "HERMIT_PORT": "4000", "HERMIT_PREVIEW_PORT": "4001", **given}, tmp_path
    )
    assert ssh_command(settings, environment) == line.format("-L 4000:127.0.0.1:4000 -L 4001:127.0.0.1:4001")


def test_open_hands_the_link_to_the_browser_alone(hermit: CommandLine, tmp_path: Path) -> None:
    """It is in a file that nobody else can read, not in the arguments, which everybody on the machine can see."""
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "orchestrator", "open"],
        env=_environment(hermit) | {"BROWSER": str(browser)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    link = ran.stdout.strip()
    page = Path(opened.read_text().strip().removeprefix("file://"))
    assert link.startswith(f"{hermit.install.url}/login/")
    assert link in page.read_text()
    assert page.stat().st_mode & 0o077 == 0
    assert "opens in your browser" in ran.stderr


def test_open_without_a_browser_prints_the_link(hermit: CommandLine) -> None:
    """As over SSH."""
    assert hermit.good("open").startswith(f"{hermit.install.url}/login/")
    assert hermit.aside.startswith("There is no browser here.")
    assert "15 minutes" in hermit.aside


def test_the_audit_log(hermit: CommandLine) -> None:
    """The newest last; by kind, by agent, by page, as JSON and as a file."""
    for name in ("ben", "cem", "dan"):
        hermit.good("user", "add", name)
    lines = hermit.good("audit", "--kind", "user.added", "--limit", "2").splitlines()
    assert [line.rpartition("  ")[2] for line in lines[1:]] == ["User cem was added.", "User dan was added."]
    before = lines[0].partition("--before ")[2].rstrip(")")
    older = hermit.good("audit", "--kind", "user.added", "--before", before)
    assert "ben" in older
    assert "cem" not in older
    assert hermit.good("audit", "--agent", "nobody") == "Nothing that fits has happened.\n"
    assert len(json.loads(hermit.good("audit", "--kind", "user.added", "--limit", "2", "--json"))["rows"]) == 2


@pytest.mark.parametrize("how", ["csv", "jsonl"])
def test_the_audit_log_for_other_programs(hermit: CommandLine, how: str) -> None:
    """All of it, whatever a page holds."""
    for name in ("ben", "cem"):
        hermit.install.services.users.add({"name": name})
    text = hermit.good("audit", "--kind", "user.added", "--export", how)
    rows = list(csv.DictReader(io.StringIO(text))) if how == "csv" else [json.loads(line) for line in text.splitlines()]
    assert {"User ben was added.", "User cem was added."} <= {row["text"] for row in rows}


def test_the_audit_log_is_followed(hermit: CommandLine) -> None:
    """What happens is printed as it happens, once and in order; Ctrl-C ends it without a trace."""
    users = hermit.install.services.users
    users.add({"name": "ben"})
    words = ["audit", "--kind", "user.added", "--follow", "--json"]
    with subprocess.Popen(
        # Tests that run in the background may be deaf for Ctrl-C, which a person at a terminal is not.
        ["/usr/bin/env", "--default-signal=INT", sys.executable, "-P", "-m", "orchestrator", *words],
        env=_environment(hermit),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as follower:
        assert follower.stdout is not None
        for line in follower.stdout:  # the operator comes first
            if json.loads(line)["text"] == "User ben was added.":
                break
        for name in ("cem", "dan"):
            users.add({"name": name})
        seen = [json.loads(follower.stdout.readline())["text"] for _ in range(2)]
        follower.send_signal(signal.SIGINT)
        assert follower.wait(20) == 130
        assert follower.stderr is not None
        assert follower.stderr.read() == ""
    assert seen == ["User cem was added.", "User dan was added."]


def test_a_cubicle_is_looked_at_and_put_in_order(hermit: CommandLine) -> None:
    """Started, stopped, and replaced by a fresh one."""
    assert hermit.good("cubicle", "crab", "status").startswith("state    stopped\n")
    said = hermit.good("cubicle", "crab", "start")
    assert said.startswith("state    running\nsince    20")
    assert "memory   7 MB\n" in said
    assert "disk     0.0 of " in said
    before = hermit.install.engine.containers.copy()
    assert "running" in hermit.good("cubicle", "crab", "restart")
    assert hermit.install.engine.containers.keys() == before.keys()
    assert hermit.install.engine.containers != before
    assert json.loads(hermit.good("cubicle", "crab", "stop", "--json"))["state"] == "stopped"
    assert not hermit.install.engine.containers
    assert "no agent called" in hermit.refused("cubicle", "nobody", "status")


def test_apps_have_addresses(hermit: CommandLine) -> None:
    """Of all agents, or of one."""
    assert hermit.good("apps").startswith("There are no apps yet.")
    mounts = hermit.install.services.workspaces.prepare_folders(
        CubicleKey("crab", 1), uid=os.geteuid(), gid=os.getegid()
    )
    (mounts.www / "clock").mkdir()
    (mounts.www / "clock" / "index.html").write_text("<h1>now</h1>")
    for words in (["apps"], ["apps", "crab"]):
        _, row = hermit.good(*words).splitlines()
        assert row.startswith("crab   clock  ada ")
        assert f"  {hermit.install.url}/" in row
        assert [app["name"] for app in json.loads(hermit.good(*words, "--json"))["apps"]] == ["clock"]
    assert "no agent called" in hermit.refused("apps", "nobody")
