"""``./hermit import`` against an install without containers: what would come, then that; links aren't followed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import run_app
from tests.support.foreign_agents import FAKE_KEY, NANOBOT, OPENCLAW, lay_folder, zipped
from tests.unit.cli.test_files import Terminal


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """Somebody with a folder."""
    home, here = tmp_path / "home", tmp_path / "here"
    here.mkdir()
    with run_app(home) as install:
        yield Terminal(install, home / "workspaces" / "crab" / "1", here, capsys)


def test_a_dry_run_says_what_would_come(terminal: Terminal) -> None:
    """And nothing comes."""
    folder = lay_folder(OPENCLAW, terminal.here)
    said = terminal.hermit("import", str(folder), "--dry-run")
    assert said.startswith("Molty, from OpenClaw (time zone Europe/Vienna), would be the agent molty.")
    assert "The boat: She is called Nautilus." in said
    assert "Morning brief: every weekday at 07:00 (America/New_York)" in said
    assert ".openclaw/.env: Such files usually hold keys or passwords." in said
    assert FAKE_KEY not in said
    plan = json.loads(terminal.hermit("import", str(folder), "--dry-run", "--json"))
    assert len(plan["memories"]) == 8
    assert [agent.name for agent in terminal.install.services.agents.list_agents()] == ["crab"]


def test_it_comes(terminal: Terminal) -> None:
    """Under the name that is given, with the secret that is named, and once more under its own name."""
    folder = lay_folder(OPENCLAW, terminal.here)
    said = terminal.hermit(
        "import", str(folder), "--agent", "lobster", "--yes", "--with-secret", ".openclaw/workspace/TOOLS.md"
    )
    assert "lobster has 8 memories, 6 files, 2 schedules (paused)." in said
    agents = terminal.install.services.agents
    assert agents.called("lobster") == "Molty"
    terminal.hermit("import", str(folder), "--agent", "second", "--yes")
    assert agents.called("second") == "second"


def test_a_zip_does_as_well(terminal: Terminal) -> None:
    """Without a yes nothing comes."""
    file = terminal.here / "nano.zip"
    file.write_bytes(zipped(NANOBOT))
    assert "Nothing was imported: add --yes" in terminal.refused("import", str(file))
    assert "nanobot has 4 memories" in terminal.hermit("import", str(file), "--yes")


def test_links_lead_nowhere(terminal: Terminal) -> None:
    """Neither to a file nor to a folder, nor in circles."""
    outside = terminal.here / "outside"
    outside.mkdir()
    (outside / "MEMORY.md").write_text("- Ada's diary", encoding="utf-8")
    folder = lay_folder({"w/SOUL.md": "Kind.", "w/IDENTITY.md": "- **Name:** Wanda\n"}, terminal.here)
    (folder / "MEMORY.md").symlink_to(outside / "MEMORY.md")
    (folder / "memory").symlink_to(outside)
    (folder / "round").symlink_to(folder)
    terminal.hermit("import", str(folder), "--yes")
    assert terminal.install.services.memories.list_facts(CubicleKey("wanda", 1)) == []


@pytest.mark.parametrize("what", ["nowhere", "file", "empty"])
def test_what_can_not_be_imported(terminal: Terminal, what: str) -> None:
    """One line each."""
    (terminal.here / "file").write_text("hello", encoding="utf-8")
    (terminal.here / "empty").mkdir()
    assert len(terminal.refused("import", str(terminal.here / what), "--yes")) > 20
