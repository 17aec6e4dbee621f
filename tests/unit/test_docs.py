"""What the documents say is so: settings, commands and links in them are checked against the program."""

from __future__ import annotations

import argparse
import importlib.util
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.capabilities.table import Caller
from orchestrator.config import SETTINGS
from orchestrator.errors import BadInput
from orchestrator.nouns import CubicleKey

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
TESTS = re.compile(r"`(tests/[\w/]+\.py)`")


def commands() -> list[str]:
    """The commands for people, as the parser knows them."""
    choices = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return [name for name in choices.choices if name != "serve"]


@pytest.mark.parametrize("name", SETTINGS)
def test_readme_names_every_setting(name: str) -> None:
    """A setting that nobody can read of does not exist."""
    assert f"| `{name}` |" in README


def test_readme_names_no_setting_that_is_none() -> None:
    """Every name in the table of settings is one."""
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", README, re.MULTILINE)) == set(SETTINGS)


@pytest.mark.parametrize("name", commands())
def test_readme_names_every_command(name: str) -> None:
    """Every command is in the README."""
    assert re.search(rf"(\./hermit|·|`) ?{re.escape(name)}\b", README), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link and picture exists."""
    targets = [t for t in LINK.findall(page.read_text(encoding="utf-8")) if not t.startswith(("http", "mailto"))]
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_security_names_tests_that_exist() -> None:
    """A claim of the security model points at a test file that is there."""
    named = TESTS.findall((ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_example_of_a_capability_runs(tmp_path: Path) -> None:
    """As it stands on the page: it throws within its sides, and refuses others by the field's name."""
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "dice_example.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("dice_example", path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    capability = example.table[example.Roll]
    with closing(sqlite3.connect(":memory:")) as db:
        caller = Caller(CubicleKey("crab", 1), None)
        fell = {capability.run(db, caller, example.Roll(sides=2)).result["fell"] for _ in range(100)}
        assert fell == {1, 2}
        with pytest.raises(BadInput, match="sides"):
            capability.run(db, caller, example.Roll(sides=1))
