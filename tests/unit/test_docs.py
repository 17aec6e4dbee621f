"""What the documents say is so: settings, commands and links in them are checked against the program."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.config import SETTINGS

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
