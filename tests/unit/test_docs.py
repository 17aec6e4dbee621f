"""What the documents say is so: settings, commands, routes, links and contents are checked against the program."""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from dashboard.api.openapi import build_document
from orchestrator.__main__ import parser
from orchestrator.core.config import SETTINGS
from orchestrator.core.http_statuses import STATUS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUNNING = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
TESTS = re.compile(r"`(tests/[\w/]+\.py)`")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#{1,6}) (.+?)\s*$", re.MULTILINE)
CONTENTS = re.compile(r"^\*\*On this page\*\*\n\n((?:- \[.*\n)+)", re.MULTILINE)
NAMED = re.compile(r"\bdocs/[\w-]+\.md\b")
QUOTED = re.compile(r"`([^`\n]+)`")
STARTS = (
    *("", "orchestrator", "orchestrator/capabilities/calendar", "orchestrator/channels", "orchestrator/llm/upstreams"),
    "tests/unit",
)
"""Where a path on a page may begin."""
TOPS = ("orchestrator", "dashboard", "crab", "cubicle", "bench", "tests")
NONE_OF_OURS = {
    *("in/", "out/", "work/", "www/", "data/"),  # of a workspace
    *("lib/", "css/", "http.client"),  # of other packages
    *("image/png", "turns/next", "data/packages", "db/ballast", "limits.disk_mb", "limits.memory_mb", "hermit.env"),
    *("app.json", "sitecustomize.py", "orchestrator/capabilities/coin/capability.py"),  # an agent's, and an example's
}
"""What looks like a name of ours on a page."""


def commands() -> list[str]:
    """The commands for people, as the parser knows them."""
    choices = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return [name for name in choices.choices if name != "serve"]


def section(page: str, title: str) -> str:
    """What stands under a heading of the second level, up to the next."""
    return page.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def headings(page: str) -> list[tuple[int, str]]:
    """The level and text of each heading; what looks like one in a block of code is none."""
    return [(len(marks), text) for marks, text in HEADING.findall(CODE.sub("", page))]


def anchors(page: str) -> list[str]:
    """The anchors of the headings, as GitHub makes them."""
    found: list[str] = []
    for _, text in headings(page):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        earlier = sum(1 for one in found if re.fullmatch(re.escape(anchor) + r"(-\d+)?", one))
        found.append(f"{anchor}-{earlier}" if earlier else anchor)
    return found


def broken(page: Path) -> list[str]:
    """The relative links and pictures of a page that lead nowhere: no such file, or no such heading in it."""
    wrong: list[str] = []
    for file, anchor in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / file).resolve() if file else page
        if file.startswith(("http:", "https:", "mailto:")):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
            wrong.append(f"{file}#{anchor}" if anchor else file)
    return wrong


@pytest.mark.parametrize("name", SETTINGS)
def test_the_table_of_settings_names_every_one(name: str) -> None:
    """A setting that nobody can read of does not exist."""
    assert f"| `{name}` |" in section(RUNNING, "Settings")


def test_the_table_of_settings_names_none_that_is_none() -> None:
    """Every name in the table of settings is one."""
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", section(RUNNING, "Settings"), re.MULTILINE)) == set(SETTINGS)


@pytest.mark.parametrize("name", commands())
def test_the_table_of_commands_names_every_one(name: str) -> None:
    """Every command is in the table of commands."""
    assert re.search(rf"(\./hermit|·|`) ?{re.escape(name)}\b", section(RUNNING, "Commands")), name


def test_the_readme_leads_to_both_tables() -> None:
    """They are two links away at most for whoever begins with the README."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(docs/running.md#settings)" in readme
    assert "(docs/running.md#commands)" in readme


def test_the_api_page_has_every_route_once() -> None:
    """The page and the OpenAPI document, that of terminals too, have the same routes."""
    real = [f"{method.upper()} {path}" for path, of in build_document(terminal=True)["paths"].items() for method in of]
    assert sorted(re.findall(r"^\| `([A-Z]+ /[^`]*)` \|", API, re.MULTILINE)) == sorted(real)


def test_the_api_page_has_every_event() -> None:
    """The kinds of news that the program sends are those that the page explains."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "orchestrator").rglob("*.py"))
    sent = {kind for source in sources for kind in re.findall(r'\bEvent\("(\w+)"', source)}
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", section(API, "Events"), re.MULTILINE)
    assert {kind for row in rows for kind in re.findall(r"\w+", row)} == sent


def test_the_api_page_has_every_error() -> None:
    """Each status stands with the codes that it comes with, as the surface's own table has them."""
    told = {
        int(status): set(re.findall(r"`(\w+)`", codes))
        for status, codes in re.findall(r"^\| (\d{3}) \| (.+?) \|", API, re.MULTILINE)
    }
    missing = [(status, kind.code) for kind, status in STATUS if kind.code not in told.get(status, set())]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link and picture exists, and what stands behind a # is a heading of its page."""
    assert broken(page) == []


def test_a_link_to_no_heading_is_found(tmp_path: Path) -> None:
    """Anchors are those that GitHub makes: of code, commas and repeats too, and of no line within a block of code."""
    page = tmp_path / "page.md"
    good = "[a](#one) [b](#one-1) [c](#hermit-the-agents-own) [d](page.md#one) [e](https://example.org/#x)"
    page.write_text(
        "# One\n\n## `hermit`, the agent's own\n\n```\n# no heading, [no](#link)\n```\n\n### One\n\n"
        f"{good} [f](#two) [g](#no-heading) [h](page.md#ones) [i](gone.md)\n",
        encoding="utf-8",
    )
    assert broken(page) == ["#two", "#no-heading", "page.md#ones", "gone.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_list_of_contents_is_that_of_the_headings(page: Path) -> None:
    """In their order, all of them; every long page has one."""
    text = page.read_text(encoding="utf-8")
    titles = [title for level, title in headings(text) if level == 2]
    lists = CONTENTS.findall(text)
    assert len(lists) == (page.name != "README.md" and len(titles) >= 10)
    for one in lists:
        assert re.findall(r"^- \[(.+)\]\(#.+\)$", one, re.MULTILINE) == titles


def test_pages_that_the_program_names_are_there() -> None:
    """A sentence or a comment that sends somebody to a page names one that exists."""
    files = [ROOT / "docker-compose.yml", ROOT / "pyproject.toml", ROOT / "hermit"]
    files += [
        path for part in ("orchestrator", "dashboard", "crab", "cubicle", "bench", "tests") for path in _texts(part)
    ]
    named = {(str(file.relative_to(ROOT)), name) for file in files for name in NAMED.findall(_text(file))}
    assert named
    assert sorted(one for one in named if not (ROOT / one[1]).exists()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_modules_that_a_page_names_are_there(page: Path) -> None:
    """Every `path/file.py`, `package/`, `package/module`, `module.function` and `Class.method` in backquotes."""
    assert [name for name in _quoted(page) if not _is_there(name)] == []


def test_a_name_that_is_gone_is_found() -> None:
    """Of each form; what only looks like one is left alone."""
    good = ["tests/unit/test_docs.py", "llm/test_budget.py", "turns/", "jobs/pool", "App.start", "budget.reserve"]
    good += ["limits.disk_mb", "in/", "image/png", "hermit.env", "`in/` of an agent", "TIMES/", "-d"]
    gone = ["tests/floors.py", "app_builders.py", "store/", "store/jobs", "turns.submit", "budget.spend", "App.begin"]
    assert [name for name in good + gone if not _is_there(name)] == gone


@pytest.mark.parametrize("name", ["architecture.md", "extending.md"])
def test_words_of_the_program_on_its_maps_are_in_it(name: str) -> None:
    """A module, a class, a function, a field, a table or a state is called so."""
    words = {re.sub(r"\(.*\)$", "", one) for one in _quoted(ROOT / "docs" / name)}
    assert sorted(word for word in words if re.fullmatch(r"[A-Za-z_]\w+", word) and not _is_word(word)) == []


def _quoted(page: Path) -> list[str]:
    return QUOTED.findall(CODE.sub("", _text(page)))


def _is_there(name: str) -> bool:
    """What this names in our files; true too where it names nothing of ours."""
    if name in NONE_OF_OURS:
        return True
    if re.fullmatch(r"[a-z][a-z0-9_/-]*\.py", name):
        return any((ROOT / start / name).is_file() for start in STARTS) or (
            "/" not in name and any(path.name == name for path in _modules())
        )
    if re.fullmatch(r"[a-z]\w*(/[a-z]\w*)*/", name):
        return any((ROOT / start / name).is_dir() for start in STARTS)
    if re.fullmatch(r"[a-z]\w*(/[a-z]\w*)+", name):
        return any((ROOT / start / f"{name}{end}").exists() for start in STARTS for end in ("", ".py"))
    if re.fullmatch(r"[A-Za-z]\w*\.[a-z]\w*", name):
        return _is_defined(*name.split("."))
    return True


def _is_defined(owner: str, name: str) -> bool:
    """A class has such a method, a module such a function, a package such a module; true for any other owner."""
    if owner[0].isupper():
        texts = [text for text in _modules().values() if re.search(rf"^class {owner}\b", text, re.MULTILINE)]
        return not texts or any(re.search(rf"^    def {name}\b", text, re.MULTILINE) for text in texts)
    if (ROOT / "orchestrator" / owner).is_dir():
        return (ROOT / "orchestrator" / owner / f"{name}.py").exists()
    texts = [text for path, text in _modules().items() if path.stem == owner]
    return not texts or any(re.search(rf"^ *(def|class) {name}\b", text, re.MULTILINE) for text in texts)


@cache
def _modules() -> dict[Path, str]:
    """Every module of ours, with its text."""
    return {path: _text(path) for top in TOPS for path in sorted((ROOT / top).rglob("*.py"))}


def _is_word(word: str) -> bool:
    """A module, a folder, a name or a text of the program is called so; comments and docstrings don't count."""
    if any(word in path.with_suffix("").parts for path in _modules()):
        return True
    called = re.compile(rf"\b{word}\b")
    return any(word in _words(path) for path, text in _modules().items() if called.search(text))


@cache
def _words(path: Path) -> frozenset[str]:
    words = set[str]()
    tree = ast.parse(_modules()[path])
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            words.update(re.findall(r"\w+", node.value))
        for field in ("id", "attr", "name", "arg"):
            words.add(str(getattr(node, field, "")))
    return frozenset(words)


def _texts(part: str) -> list[Path]:
    return [path for path in (ROOT / part).rglob("*") if path.suffix in {".py", ".js", ".html", ".md", ".toml"}]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def test_security_names_tests_that_exist() -> None:
    """A claim of the security model points at a test file that is there."""
    named = TESTS.findall((ROOT / "docs" / "security.md").read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_example_of_a_capability_runs(tmp_path: Path) -> None:
    """As it stands on the page: its folder and its entry in the list are enough for the command, the panel action, the
    settings, the API's description and the prompt."""
    (source,) = re.findall(r"```python\n(.*?)```", _text(ROOT / "docs" / "extending.md"), re.DOTALL)
    copy = tmp_path / "copy"
    for package in ("orchestrator", "dashboard", "crab"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for shared in ("tests", "workspace_template"):
        (copy / shared).symlink_to(ROOT / shared)
    folder = copy / "orchestrator" / "capabilities" / "coin"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "capability.py").write_text(source, encoding="utf-8")
    table = folder.parent / "table.py"
    before = "\nCAPABILITIES = (\n"
    entry = "from orchestrator.capabilities.coin import capability as coin\n\nCAPABILITIES = (\n    coin.CAPABILITY,\n"
    assert before in _text(table)
    table.write_text(_text(table).replace(before, entry), encoding="utf-8")

    ran = subprocess.run(
        [sys.executable, "-P", "-B", "-m", "tests.support.added_capability", str(tmp_path / "home")],
        env={**os.environ, "PYTHONPATH": str(copy)}, cwd=copy, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert "hermit toss " in told["help"]
    assert told["page"].startswith("hermit toss [COINS]\n")
    assert told["command"]["coins"] == 7
    assert 0 <= told["command"]["heads"] <= 7
    done, too_many, wrong = told["panel"]
    assert re.fullmatch(r"Heads: [0-5] of 5\.", done["result"])
    assert too_many == {"ok": False, "error": "TOSS: coins: toss at most 100 at a time."}
    assert wrong["error"].startswith("TOSS: coins must be a whole number")
    for page in ("settings", "wizard"):
        assert 'value="chance"' in told[page]
        assert "<strong>Chance</strong>" in told[page]
    assert told["openapi"]
    assert all("chance" in values for values in told["openapi"])
    assert "- `hermit toss 3` tosses fair coins." in told["prompt"]
    assert "- TOSS:coins, as `hermit toss`." in told["prompt"]
    assert "toss" not in told["without"]
    refused, offered = told["off"]
    assert refused["error"] == "TOSS is switched off for this agent (its toolset chance)."
    assert "TOSS" not in offered
