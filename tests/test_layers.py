"""The floors of the house, held: imports only point down (``floors.py`` says which module is where), and the dangerous
things (processes, SQL, the engine, an agent's paths, the environment) each happen in their own place alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.floors import (
    BENEATH_THE_WORKSPACE,
    CRAB,
    DASHBOARD,
    DASHBOARD_SEES,
    FAMILIES,
    FLOORS,
    HOST_SEES,
    LOOPS,
    OF_OTHER_PYTHONS,
    RELATED,
    SHARED_WITH_CRAB,
)

ROOT = Path(__file__).resolve().parents[1]
TOPS = ("orchestrator", "dashboard", "crab")
MAX_FILE_LINES = 350
MAX_FUNCTION_LINES = 60
LONGER = {"orchestrator.nouns": 500, "orchestrator.migrations": 1600}
"""The one glossary, with nothing in it but fields and their sentences; and the list that only ever grows."""


_CORE = "orchestrator.channels.chat"


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


def test_every_module_has_its_floor() -> None:
    """The tables name each module that there is, once, and no other."""
    listed = [f"{top}.{name}" for top, table in (("orchestrator", FLOORS), ("dashboard", DASHBOARD), ("crab", CRAB))
              for _, names in table for name in names.split()]  # fmt: skip
    assert sorted(listed) == sorted(name for name in ALL if name not in TOPS)


def test_imports_point_down() -> None:
    """No module knows one above it, nor a stranger beside it."""
    wrong = {}
    for name, module in modules().items():
        own = {other for other in module.own_imports() if other.partition(".")[0] == module.top}
        known = {other for other in own if name in floors() and other in floors() and _may_know(name, other)}
        wrong[name] = sorted(own - known)
    assert _offences(wrong) == {}


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


def test_packages_know_only_what_they_may() -> None:
    """The crab knows nobody, the orchestrator of the crab only how to read answers, the dashboard only the services."""
    allowed = {"crab": frozenset[str](), "dashboard": DASHBOARD_SEES, "orchestrator": SHARED_WITH_CRAB}
    wrong = {}
    for name, module in modules().items():
        foreign = {other for other in module.own_imports() if other.partition(".")[0] != module.top}
        composed = {"dashboard.app"} if name == "orchestrator.app" else set()
        wrong[name] = sorted(foreign - allowed[module.top] - composed)
    assert _offences(wrong) == {}


def test_the_set_up_of_the_host_stands_alone() -> None:
    """It runs before anything else is there, so it needs nothing else."""
    wrong = {
        name: sorted(o for o in module.own_imports() - HOST_SEES if not o.startswith("orchestrator.engine.setup"))
        for name, module in modules().items()
        if name.startswith("orchestrator.engine.setup")
    }
    assert _offences(wrong) == {}


def test_the_crab_needs_the_standard_library_alone() -> None:
    """Nothing is installed for it inside the cubicle."""
    may = sys.stdlib_module_names | OF_OTHER_PYTHONS | {"crab"}
    wrong = {
        name: sorted({other.partition(".")[0] for other, _ in module.imports()} - may)
        for name, module in modules().items()
        if module.top == "crab"
    }
    assert _offences(wrong) == {}


def test_imports_of_our_own_stand_at_the_top() -> None:
    """An import within a function hides a cycle."""
    wrong = {
        name: [
            node.lineno
            for function in _functions(module)
            for node in ast.walk(function)
            if (isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in TOPS)
            or (isinstance(node, ast.Import) and any(alias.name.partition(".")[0] in TOPS for alias in node.names))
        ]
        for name, module in modules().items()
    }
    assert _offences(wrong) == {}


# --- sizes -----------------------------------------------------------------------------------------------------


def test_files_stay_small() -> None:
    """One idea a file."""
    sizes = {name: module.lines for name, module in modules().items()}
    assert {name: lines for name, lines in sizes.items() if lines > LONGER.get(name, MAX_FILE_LINES)} == {}


def test_functions_stay_small() -> None:
    """One thought a function."""
    sizes = {
        f"{name}.{function.name}": (function.end_lineno or function.lineno) - function.lineno + 1
        for name, module in modules().items()
        for function in _functions(module)
    }
    assert {name: lines for name, lines in sizes.items() if lines > MAX_FUNCTION_LINES} == {}


def test_files_open_with_what_they_own() -> None:
    """A docstring, always; only a package's empty file may go without."""
    assert [name for name, module in modules().items() if module.lines and not ast.get_docstring(module.tree)] == []


# --- what happens in one place alone ---------------------------------------------------------------------------


def _offences(found: dict[str, Any]) -> dict[str, Any]:
    return {name: offences for name, offences in found.items() if offences}


def _functions(module: Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(module.tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def _on_the_host(*but: str) -> Iterator[Module]:
    """The modules of the host, but for those whose names begin so."""
    return (module for name, module in modules().items() if module.top != "crab" and not name.startswith(but or ("-",)))


def _uses(module: Module, *dotted: str) -> list[int]:
    """The lines that use ``module.attribute``, or import it by name."""
    wanted = {tuple(path.rsplit(".", 1)) for path in dotted}
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found += [node.lineno] if (node.value.id, node.attr) in wanted else []
        elif isinstance(node, ast.ImportFrom):
            found += [node.lineno for alias in node.names if (node.module, alias.name) in wanted]
    return found


def _imports_of(module: Module, *tops: str) -> list[int]:
    return [line for other, line in module.imports() if other.partition(".")[0] in tops]


def test_only_the_program_reads_the_environment() -> None:
    """Everybody else is handed the settings."""
    calls = ("os.environ", "os.environb", "os.getenv", "os.putenv", "os.unsetenv")
    assert _offences({m.name: _uses(m, *calls) for m in _on_the_host("orchestrator.__main__")}) == {}


def test_only_the_set_up_and_the_commands_start_processes() -> None:
    """While the house runs, no program of the host is started; chat apps and previews have a loop."""
    calls = ("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve", "execvp")
    loops = ("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "asyncio.subprocess")
    wrong = {
        m.name: _imports_of(m, "subprocess", "multiprocessing", "pty")
        + (_uses(m, *loops) if m.name.startswith(LOOPS) else _imports_of(m, "asyncio"))
        + _uses(m, *(f"os.{c}" for c in calls))
        for m in _on_the_host("orchestrator.engine.setup", "orchestrator.commands")
    }
    assert _offences(wrong) == {}


def test_only_the_engine_and_the_set_up_talk_to_docker() -> None:
    """Everybody else asks an engine, and every restriction of a container is written in one file beneath it."""
    may = ("orchestrator.engine.docker", "orchestrator.engine.setup")
    assert _offences({m.name: _imports_of(m, "docker") for m in _on_the_host(*may)}) == {}


def test_only_the_client_knows_the_library_for_telegram() -> None:
    """The library, its HTTP and with them the tokens stay in a bot's client and its parts."""
    may = tuple(
        f"orchestrator.channels.telegram.{name}" for name in ("client", "ptb_bot", "ptb_objects", "ptb_request")
    )
    assert _offences({m.name: _imports_of(m, "telegram", "httpx") for m in _on_the_host(*may)}) == {}


def test_the_chat_core_knows_no_app() -> None:
    """What every chat app shares imports nothing of an adapter."""
    apps = tuple(f"orchestrator.channels.{path.name}" for path in (ROOT / "orchestrator/channels").iterdir())
    wrong = {
        name: sorted(other for other in module.own_imports() if other.startswith(apps) and not other.startswith(_CORE))
        for name, module in modules().items()
        if name.startswith(_CORE)
    }
    assert _offences(wrong) == {}


def test_only_the_store_speaks_sql() -> None:
    """Everybody else calls its functions."""
    wrong = {
        m.name: [
            node.lineno
            for node in ast.walk(m.tree)
            if isinstance(node, ast.Attribute) and node.attr in ("execute", "executemany", "executescript")
        ]
        for m in _on_the_host("orchestrator.store", "orchestrator.migrations")
        if not m.name.endswith(("_rows", ".rows"))
    }
    assert _offences(wrong) == {}


def test_only_the_workspace_names_the_folders_of_agents() -> None:
    """Nobody else joins a path to them, nor to what is mounted into a cubicle."""
    wrong = {
        m.name: [
            node.lineno
            for node in ast.walk(m.tree)
            if (isinstance(node, ast.Constant) and node.value == "workspaces")
            or (
                isinstance(node, ast.Attribute)
                and node.attr in ("work", "inbox", "out", "www")
                and "mounts" in ast.unparse(node.value)
            )
        ]
        for m in _on_the_host("orchestrator.workspace", "orchestrator.home", "orchestrator.engine.docker")
    }
    assert _offences(wrong) == {}


def test_only_those_who_open_agents_folders_work_from_descriptors() -> None:
    """Locks, doors and the doctor do so too, in folders that no agent can write."""
    openers = ("orchestrator.workspace", *BENEATH_THE_WORKSPACE)
    may = (
        *openers,
        "orchestrator.locks",
        "orchestrator.doors",
        "orchestrator.delivery.trays",
        "orchestrator.examine.surroundings",
        "orchestrator.folders",
        "orchestrator.packages.shelf",
    )
    wrong = {
        m.name: [n.value.lineno for n in ast.walk(m.tree) if isinstance(n, ast.keyword) and "dir_fd" in (n.arg or "")]
        for m in _on_the_host(*may)
    }
    assert _offences(wrong) == {}


def test_only_the_workspace_sends_for_what_lies_beneath_it() -> None:
    """Everybody else asks the workspace, and gets copies and words. What is in ``data`` no agent made."""
    may = ("orchestrator.workspace", *BENEATH_THE_WORKSPACE, "orchestrator.packages.shelf")
    wrong = {m.name: sorted(m.own_imports() & set(BENEATH_THE_WORKSPACE)) for m in _on_the_host(*may)}
    assert _offences(wrong) == {}


def test_only_the_edges_know_the_web_framework() -> None:
    """The door and the dashboard are HTTP; nothing below them is."""
    wrong = {
        m.name: _imports_of(m, "flask", "werkzeug", "jinja2") for m in _on_the_host("orchestrator.door", "dashboard")
    }
    assert _offences(wrong) == {}


# --- the tests themselves --------------------------------------------------------------------------------------


def test_every_test_says_what_holds() -> None:
    """A sentence each."""
    silent = [
        f"{path.name}:{node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []
