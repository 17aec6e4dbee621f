"""The floors of the house, as a table that knows every module: imports only point down, and the dangerous things
(processes, SQL, the engine, an agent's paths, the environment) each happen in their own place alone.

A new module needs a line here; where it goes is a decision, not an accident.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOPS = ("orchestrator", "dashboard", "crab")
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 60
LONGER = {"orchestrator.nouns": 400}
"""The one glossary: nothing in it but fields and their sentences."""

FLOORS: tuple[tuple[str, str], ...] = (
    ("words", "nouns errors"),
    (
        "pure",
        ("config conversation http_framing migrations policy policy_code policy_git policy_languages policy_parts "
        "policy_python policy_rules policy_wrappers pricing shell_bodies shell_parts shell_source shell_syntax shell_words "
        "strict_json text"),
    ),
    (
        "the outside world, wrapped",
        ("bells engine_docker events home http_server logs ports workspace "
        "store store.agents store.approvals store.audit store.database store.ledger store.people store.turns "
        "llm llm.upstreams llm.upstreams.answer llm.upstreams.anthropic llm.upstreams.catalog llm.upstreams.habits "
        "llm.upstreams.http llm.upstreams.models llm.upstreams.openai_compatible llm.upstreams.reading "
        "llm.upstreams.refusals llm.upstreams.rehearsal llm.upstreams.rehearsal_script llm.upstreams.rehearsal_texts "
        "llm.upstreams.secret llm.upstreams.sse "
        "host host.apt host.base_image host.engine_setup host.image host.machine host.progress host.test_tools"),
    ),
    ("hands", "agents audit budget doors locks people"),
    ("rules", "approvals cubicles"),
    ("the loop's host half", "llm.proxy turns wake"),
    ("judging and watching", "steps watch"),
    ("what the inside and the surfaces may call", "door services"),
    ("composition", "app"),
    (
        "examinations",
        (
            "examine examine.engine examine.finding examine.inside examine.services examine.surroundings "
            "examine.walls"
        ),
    ),
    (
        "commands",
        ("commands commands.agent commands.chat commands.client commands.context commands.doctor commands.inbox "
        "commands.look commands.tests commands.up"),
    ),
    ("the program", "__main__"),
)  # fmt: skip
"""The orchestrator from the bottom up. Modules of one floor don't know each other, except within a family."""

DASHBOARD: tuple[tuple[str, str], ...] = (
    ("leaves", "ages csrf faults headers house markdown marks openapi_schemas origin times"),
    ("requests and shapes", "bodies cookies hosts shapes"),
    ("who asks", "auth"),
    (
        "routes",
        (
            "api api.agents api.approvals api.audit api.cubicles api.events api.health api.messages api.openapi "
            "api.tokens api.users pages pages.chat pages.filters pages.home pages.login pages.views"
        ),
    ),
    ("the application", "app"),
)
CRAB: tuple[tuple[str, str], ...] = (
    ("leaves", "door lenient locks log output prompt reaper turn"),
    ("reading, talking, running", "answer messages shell"),
    ("a turn's work", "work"),
    ("the loop", "agent"),
)

FAMILIES = (
    "orchestrator.policy",
    "orchestrator.shell_",
    "orchestrator.llm.upstreams",
    "orchestrator.host",
    "orchestrator.commands",
    "orchestrator.examine",
    "dashboard.api",
    "dashboard.pages",
)
"""Modules that share an idea and a beginning of their names may know each other, without a cycle."""
RELATED = frozenset({("orchestrator.policy", "orchestrator.shell_")})

SHARED_WITH_CRAB = frozenset({"crab.answer", "crab.lenient"})
"""One copy of the rules for reading answers serves both sides."""

_WORKS_WITH = ("services", "nouns", "errors", "text", "strict_json")
_SHOWS = ("agents", "approvals", "budget", "cubicles", "events", "people", "store.audit", "turns")
DASHBOARD_SEES = frozenset(f"orchestrator.{name}" for name in (*_WORKS_WITH, *_SHOWS))
OF_OTHER_PYTHONS = frozenset({"_sha2", "_sha256"})
"""What the standard library calls its hash in versions before and after this one."""
HOST_SEES = frozenset({"orchestrator.errors"})


@dataclass(frozen=True)
class Module:
    """One file."""

    name: str
    path: Path
    tree: ast.Module
    lines: int

    @property
    def top(self) -> str:
        """The package that it is in."""
        return self.name.partition(".")[0]

    def imports(self) -> Iterator[tuple[str, int]]:
        """Every module that it imports, anywhere in it, and the line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((_target(node.module or "", alias.name), node.lineno) for alias in node.names)

    def own_imports(self) -> set[str]:
        """Those of ours."""
        return {name for name, _ in self.imports() if name.partition(".")[0] in TOPS}


def _target(module: str, name: str) -> str:
    """``from a import b`` means the module ``a.b`` where there is one."""
    inner = ROOT.joinpath(*module.split("."), name)
    return f"{module}.{name}" if inner.with_suffix(".py").exists() or inner.is_dir() else module


@cache
def modules() -> dict[str, Module]:
    """Every module of the three packages, by name."""
    found = {}
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path, ast.parse(text), len(text.splitlines()))
    return found


@cache
def floors() -> dict[str, int]:
    """Which floor each module is on, as the tables say."""
    placed = {"orchestrator": 0, "dashboard": 0, "crab": 0}
    for top, table in (("orchestrator", FLOORS), ("dashboard", DASHBOARD), ("crab", CRAB)):
        for floor, (_, names) in enumerate(table):
            placed |= {f"{top}.{name}": floor for name in names.split()}
    return placed


def _family(name: str) -> str:
    return next((family for family in FAMILIES if name.startswith(family)), name)


def _may_know(module: str, other: str) -> bool:
    """Downwards, within a family, or between two families that belong together."""
    if floors()[other] < floors()[module]:
        return True
    mine, theirs = _family(module), _family(other)
    return floors()[other] == floors()[module] and (mine == theirs or (mine, theirs) in RELATED)


ALL = sorted(modules())
HOST_SIDE = [name for name in ALL if modules()[name].top != "crab"]


def test_every_module_has_its_floor() -> None:
    """The tables name each module that there is, once, and no other."""
    listed = [f"{top}.{name}" for top, table in (("orchestrator", FLOORS), ("dashboard", DASHBOARD), ("crab", CRAB))
              for _, names in table for name in names.split()]  # fmt: skip
    assert sorted(listed) == sorted(name for name in ALL if name not in TOPS)


@pytest.mark.parametrize("name", ALL)
def test_imports_point_down(name: str) -> None:
    """No module knows one above it, nor a stranger beside it."""
    own = {other for other in modules()[name].own_imports() if other.partition(".")[0] == modules()[name].top}
    known = {other for other in own if name in floors() and other in floors() and _may_know(name, other)}
    assert sorted(own - known) == []


def test_nothing_knows_itself_by_a_detour() -> None:
    """There is no cycle, within families neither."""
    finished: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> None:
        assert name not in way, " → ".join((*way, name))
        if name in finished or name not in modules():
            return
        for other in sorted(modules()[name].own_imports() - {name}):
            walk(other, (*way, name))
        finished.add(name)

    for name in ALL:
        walk(name, ())


@pytest.mark.parametrize("name", ALL)
def test_packages_know_only_what_they_may(name: str) -> None:
    """The crab knows nobody, the orchestrator of the crab only how to read answers, the dashboard only the services."""
    module = modules()[name]
    foreign = {other for other in module.own_imports() if other.partition(".")[0] != module.top}
    allowed = {
        "crab": frozenset[str](),
        "dashboard": DASHBOARD_SEES,
        "orchestrator": frozenset({"dashboard.app"}) if name == "orchestrator.app" else SHARED_WITH_CRAB,
    }[module.top]
    assert sorted(foreign - allowed) == []


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("orchestrator.host")])
def test_the_set_up_of_the_host_stands_alone(name: str) -> None:
    """It runs before anything else is there, so it needs nothing else."""
    outside = {other for other in modules()[name].own_imports() if not other.startswith("orchestrator.host")}
    assert sorted(outside - HOST_SEES) == []


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("crab")])
def test_the_crab_needs_the_standard_library_alone(name: str) -> None:
    """Nothing is installed for it inside the cubicle."""
    tops = {other.partition(".")[0] for other, _ in modules()[name].imports()}
    assert sorted(tops - sys.stdlib_module_names - OF_OTHER_PYTHONS - {"crab"}) == []


@pytest.mark.parametrize("name", ALL)
def test_imports_of_our_own_stand_at_the_top(name: str) -> None:
    """An import within a function hides a cycle."""
    hidden = [
        node.lineno
        for function in ast.walk(modules()[name].tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if (isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in TOPS)
        or (isinstance(node, ast.Import) and any(alias.name.partition(".")[0] in TOPS for alias in node.names))
    ]
    assert hidden == []


# --- sizes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_files_and_functions_stay_small(name: str) -> None:
    """One idea a file, one thought a function."""
    module = modules()[name]
    assert module.lines <= LONGER.get(name, MAX_FILE_LINES)
    long = {
        node.name: (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(module.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert {function: lines for function, lines in long.items() if lines > MAX_FUNCTION_LINES} == {}


@pytest.mark.parametrize("name", [name for name in ALL if modules()[name].lines > 2])
def test_files_open_with_what_they_own(name: str) -> None:
    """A docstring, always."""
    assert ast.get_docstring(modules()[name].tree)


# --- what happens in one place alone ---------------------------------------------------------------------------


def _uses(name: str, *dotted: str) -> list[int]:
    """The lines that use ``module.attribute``, or import it by name."""
    wanted = {tuple(path.rsplit(".", 1)) for path in dotted}
    found = []
    for node in ast.walk(modules()[name].tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found += [node.lineno] if (node.value.id, node.attr) in wanted else []
        elif isinstance(node, ast.ImportFrom):
            found += [node.lineno for alias in node.names if (node.module, alias.name) in wanted]
    return found


def _imports_any(name: str, *tops: str) -> bool:
    return any(other.partition(".")[0] in tops for other, _ in modules()[name].imports())


@pytest.mark.parametrize("name", HOST_SIDE)
def test_only_the_program_reads_the_environment(name: str) -> None:
    """Everybody else is handed the settings."""
    if name != "orchestrator.__main__":
        assert _uses(name, "os.environ", "os.environb", "os.getenv", "os.putenv", "os.unsetenv") == []


@pytest.mark.parametrize("name", HOST_SIDE)
def test_only_the_set_up_and_the_commands_start_processes(name: str) -> None:
    """While the house runs, no program of the host is started."""
    if not name.startswith(("orchestrator.host", "orchestrator.commands")):
        assert not _imports_any(name, "subprocess", "multiprocessing", "pty", "asyncio")
        starting = ("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve", "execvp")
        assert _uses(name, *(f"os.{call}" for call in starting)) == []


@pytest.mark.parametrize("name", HOST_SIDE)
def test_only_the_engine_and_the_set_up_talk_to_docker(name: str) -> None:
    """Every restriction of a cubicle is written in one file."""
    may = name == "orchestrator.engine_docker" or name.startswith(
        ("orchestrator.host", "orchestrator.commands", "orchestrator.examine")
    )
    assert may or not _imports_any(name, "docker")


@pytest.mark.parametrize("name", HOST_SIDE)
def test_only_the_store_speaks_sql(name: str) -> None:
    """Everybody else calls its functions."""
    if not name.startswith(("orchestrator.store", "orchestrator.migrations")):
        calls = [
            node.lineno
            for node in ast.walk(modules()[name].tree)
            if isinstance(node, ast.Attribute) and node.attr in ("execute", "executemany", "executescript")
        ]
        assert calls == []


@pytest.mark.parametrize("name", HOST_SIDE)
def test_only_the_workspace_opens_what_an_agent_can_touch(name: str) -> None:
    """Nobody else names the folder, joins a path to a mount, or works from a descriptor of one (locks, doors and
    the doctor do in run folders, which no agent can write)."""
    nodes = list(ast.walk(modules()[name].tree))
    if name not in ("orchestrator.workspace", "orchestrator.home"):
        assert [n.lineno for n in nodes if isinstance(n, ast.Constant) and n.value == "workspaces"] == []
    if name not in (
        "orchestrator.workspace",
        "orchestrator.locks",
        "orchestrator.doors",
        "orchestrator.examine.surroundings",
    ):
        assert [
            n.value.lineno for n in nodes if isinstance(n, ast.keyword) and n.arg and n.arg.endswith("dir_fd")
        ] == []
    if name not in ("orchestrator.workspace", "orchestrator.engine_docker"):
        folders = ("work", "inbox", "out", "www")
        owners = [n for n in nodes if isinstance(n, ast.Attribute) and n.attr in folders]
        assert [n.lineno for n in owners if "mounts" in ast.unparse(n.value)] == []


@pytest.mark.parametrize("name", HOST_SIDE)
def test_only_the_edges_know_the_web_framework(name: str) -> None:
    """The door and the dashboard are HTTP; nothing below them is."""
    may = name == "orchestrator.door" or modules()[name].top == "dashboard"
    assert may or not _imports_any(name, "flask", "werkzeug", "jinja2")


# --- the tests themselves --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("test_*.py")), ids=lambda path: path.stem)
def test_every_test_says_what_holds(path: Path) -> None:
    """A sentence each."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    assert [function.name for function in functions if not ast.get_docstring(function)] == []
