"""The layers, held: packages import only what is below them, and the dangerous things (processes, SQL, the engine, an
agent's paths, the environment) each happen in their own place alone.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOPS = ("orchestrator", "dashboard", "crab")
MAX_FILE_LINES = 500
"""A habit is 100 to 350 lines; what is longer than this is two ideas."""
MAX_FUNCTION_LINES = 60
LONGER = {"orchestrator.core.db.migrations": 3000}
"""The list of migrations only ever grows."""

LAYERS = (
    "core",
    "languages",
    "files",
    "web",
    "mcp",
    "gate",
    "browser",
    "engine",
    "live_browsers",
    "checkpoints",
    "agents",
    "approvals",
    "mcp_servers",
    "jobs",
    "llm",
    "turns",
    "capabilities",
    "door",
    "operations",
    "apps",
    "services",
    "channels",
    "app",
    "cli",
    "__main__",
)
"""The orchestrator's packages from the bottom up: each imports only those before it."""

SEPARATE = {
    "orchestrator.channels.chat": (),
    "orchestrator.channels.push": (),
    "orchestrator.channels.telegram": ("orchestrator.channels.chat",),
    "orchestrator.engine.setup": (),
    "orchestrator.llm.upstreams": (
        "orchestrator.llm.memory_block",
        "orchestrator.llm.pricing",
        "orchestrator.llm.first_tasks",
    ),
    "orchestrator.approvals.bash": (),
    "orchestrator.approvals.policy": ("orchestrator.approvals.bash",),
    "orchestrator.capabilities.calendar.recurrence": ("orchestrator.capabilities.actions",),
}
"""Folders that know nothing of what stands beside them in their package, but for those named."""

HIDDEN_FROM_SURFACES = (
    "orchestrator.app",
    "orchestrator.apps.previews.server",
    "orchestrator.approvals.policy",
    "orchestrator.channels.chat",
    "orchestrator.cli",
    "orchestrator.core.db.database",
    "orchestrator.core.db.migrations",
    "orchestrator.door",
    "orchestrator.engine.docker",
    "orchestrator.engine.setup",
    "orchestrator.gate",
    "orchestrator.llm.upstreams",
    "orchestrator.web",
)
"""The dashboard reaches what is behind these through the services alone."""

SHARED_WITH_CRAB = frozenset({"crab.answer", "crab.hermit_commands", "crab.lenient"})
"""One copy of the rules for reading answers, and of what a command is, serves both sides."""
BENEATH_THE_WORKSPACE = tuple(
    f"orchestrator.files.{name}"
    for name in (
        "uploads",
        "safe_open",
        "private_copy",
        "renames",
        "tree",
    )
)
"""How paths that an agent can touch are opened, walked, copied, renamed and stored: for the workspace alone."""
OF_THE_WORKSPACE = tuple(f"orchestrator.files.{name}" for name in ("workspace", "person_changes", "finding"))
"""The workspace, what a person changes in it, and looking for names."""
AROUND_POINTS = tuple(
    f"orchestrator.checkpoints.{name}" for name in ("looking", "capture", "tree_writer", "store", "journal")
)
"""Points of time are of links, odd names and whole trees, which no copy can stand for: these go by descriptors too."""
OF_OTHER_PYTHONS = frozenset({"_sha2", "_sha256"})
"""What the standard library calls its hash in versions before and after this one."""
EVENT_LOOPS = (
    "orchestrator.browser",
    "orchestrator.capabilities.browser.kept_logins",
    "orchestrator.capabilities.browser.page_work",
    "orchestrator.capabilities.browser.remote_backend",
    "orchestrator.capabilities.browser.site_access",
    "orchestrator.live_browsers",
    "orchestrator.channels",
    "orchestrator.gate",
    "orchestrator.apps.previews",
    "orchestrator.door.reverse_tunnel",
    "orchestrator.operations.doctor.remote_browser",
)
"""Who has an event loop of its own, in a thread of its own, or runs in that of its caller."""
STARTS_PROCESSES = ("orchestrator.engine.setup", "orchestrator.cli")
RUNS_INSIDE = ("orchestrator.operations.proof.inside",)
"""A program for the inside of a cubicle, which is handed over as text and never imported by the host."""
SPEAKS_SQL = re.compile(r"orchestrator\.(core\.db\.\w+|.*\.(rows|\w+_rows|\w+_db|db_\w+))")


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


def _package(name: str) -> str:
    """The package of a module of the orchestrator: ``turns`` for ``orchestrator.turns.queue``."""
    return [*name.split("."), ""][1]


def _is_in(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


ALL = sorted(modules())


def test_packages_import_only_what_is_below() -> None:
    """One order of packages, and no import against it."""
    wrong: dict[str, list[str]] = {}
    for name, module in modules().items():
        if module.top == "orchestrator" and name != "orchestrator":
            rank = LAYERS.index(_package(name))
            own = {o for o in module.own_imports() if o.startswith("orchestrator.") and _package(o) != _package(name)}
            wrong[name] = sorted(o for o in own if LAYERS.index(_package(o)) >= rank)
    assert _offences(wrong) == {}


def test_there_is_no_cycle() -> None:
    """Not within a package either."""
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


def test_separate_folders_know_nothing_beside_them() -> None:
    """The chat core knows no adapter, the reading of bash no policy, the set-up of the host no engine."""
    wrong = {}
    for folder, may in SEPARATE.items():
        package = ".".join(folder.split(".")[:2])
        for name, module in modules().items():
            if _is_in(name, folder):
                own = {other for other in module.own_imports() if _is_in(other, package) and other != package}
                wrong[name] = sorted(other for other in own if not _is_in(other, folder, *may))
    assert _offences(wrong) == {}


def test_capabilities_know_no_other() -> None:
    """Each can be deleted with its folder; only what puts a file into ``out/`` knows the delivery."""
    root = ROOT / "orchestrator/capabilities"
    folders = [f"orchestrator.capabilities.{path.parent.name}" for path in sorted(root.glob("*/__init__.py"))]
    capabilities = [folder for folder in folders if not folder.endswith(".actions")]
    wrong = {}
    for name, module in modules().items():
        home = next((folder for folder in capabilities if _is_in(name, folder)), "")
        others = [folder for folder in capabilities if folder not in (home, "orchestrator.capabilities.delivery")]
        wrong[name] = sorted(o for o in module.own_imports() if home and _is_in(o, *others))
    assert _offences(wrong) == {}


def test_the_dashboard_sees_the_services_and_what_they_show() -> None:
    """It calls the services; the types of what they return come from their own modules."""
    allowed = {"crab": frozenset[str](), "orchestrator": SHARED_WITH_CRAB}
    wrong = {}
    for name, module in modules().items():
        foreign = {other for other in module.own_imports() if other.partition(".")[0] != module.top}
        if module.top == "dashboard":
            wrong[name] = sorted(o for o in foreign if _is_in(o, *HIDDEN_FROM_SURFACES))
        else:
            composed = {"dashboard.app"} if name == "orchestrator.app.app" else set[str]()
            wrong[name] = sorted(foreign - allowed[module.top] - composed)
    assert _offences(wrong) == {}


def test_pages_and_api_of_the_dashboard_do_not_know_each_other() -> None:
    """What both need stands beside them; only the application knows both."""
    wrong = {}
    for name, module in modules().items():
        sides = ("dashboard.api", "dashboard.pages")
        if module.top == "dashboard" and name not in ("dashboard.app", *sides):
            wrong[name] = sorted(o for o in module.own_imports() if _is_in(o, *sides) and not _is_in(name, *sides))
    assert _offences(wrong) == {}


def test_the_set_up_of_the_host_stands_alone() -> None:
    """It runs before anything else is there, so it needs nothing else."""
    may = ("orchestrator.engine.setup", "orchestrator.core.errors", "orchestrator.core.version")
    wrong = {
        name: sorted(o for o in module.own_imports() if not _is_in(o, *may))
        for name, module in modules().items()
        if _is_in(name, "orchestrator.engine.setup")
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


# --- sizes and names
# -----------------------------------------------------------------------------------------------------


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


def test_docstrings_of_packages_name_what_is_there() -> None:
    """Each package's docstring draws it: every folder of it, and no module that is gone."""
    wrong = {}
    for path in sorted((ROOT / "orchestrator").rglob("__init__.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        named = set(re.findall(r"``([a-z_]+)``", text)) | set(re.findall(r"^ +([a-z_]+)\.py ", text, re.MULTILINE))
        folders = {inner.parent.name for inner in path.parent.glob("*/__init__.py")}
        missing = {folder for folder in folders if f"{folder}/" not in text}
        there = {inner.stem for inner in path.parent.glob("*.py")} | folders
        wrong[str(path.parent.relative_to(ROOT))] = sorted((named - there) | missing)
    assert _offences(wrong) == {}


def test_words_of_the_trade_lead_to_a_file() -> None:
    """What the page on the architecture says is where."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = page.partition("### Where to find what")[2].partition("\n## ")[0]
    files = re.findall(r"^\| [^|]+ \| `([^`]+)` \|$", table, re.MULTILINE)
    assert len(files) > 35
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_class_names_stand_once() -> None:
    """A name that is searched for leads to one place."""
    places: dict[str, list[str]] = {}
    for name, module in modules().items():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


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
    """While the install runs, no program of the host is started; chat apps and previews have a loop."""
    calls = ("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve", "execvp")
    loops = ("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "asyncio.subprocess")
    wrong = {
        m.name: _imports_of(m, "subprocess", "multiprocessing", "pty")
        + (_uses(m, *loops) if m.name.startswith(EVENT_LOOPS) else _imports_of(m, "asyncio"))
        + _uses(m, *(f"os.{c}" for c in calls))
        for m in _on_the_host(*STARTS_PROCESSES, *RUNS_INSIDE)
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


def test_only_rows_speak_sql() -> None:
    """Everybody else calls their functions."""
    wrong = {
        m.name: [
            node.lineno
            for node in ast.walk(m.tree)
            if isinstance(node, ast.Attribute) and node.attr in ("execute", "executemany", "executescript")
        ]
        for m in _on_the_host()
        if not SPEAKS_SQL.fullmatch(m.name)
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
        for m in _on_the_host("orchestrator.files.workspace", "orchestrator.core.home", "orchestrator.engine.docker")
    }
    assert _offences(wrong) == {}


def test_only_those_who_open_agents_folders_work_from_descriptors() -> None:
    """Locks, doors and the doctor do so too, in folders that no agent can write."""
    openers = (*OF_THE_WORKSPACE, *BENEATH_THE_WORKSPACE)
    may = (
        *openers,
        "orchestrator.approvals.lock_files",
        "orchestrator.door.sockets",
        "orchestrator.capabilities.delivery.outbox_folder",
        "orchestrator.operations.doctor.surroundings",
        "orchestrator.core.dirs",
        "orchestrator.capabilities.packages.package_store",
        *AROUND_POINTS,
    )
    wrong = {
        m.name: [n.value.lineno for n in ast.walk(m.tree) if isinstance(n, ast.keyword) and "dir_fd" in (n.arg or "")]
        for m in _on_the_host(*may)
    }
    assert _offences(wrong) == {}


def test_only_the_workspace_sends_for_what_lies_beneath_it() -> None:
    """Everybody else asks the workspace, and gets copies and words. What is in ``data`` no agent made."""
    may = (
        *OF_THE_WORKSPACE,
        *BENEATH_THE_WORKSPACE,
        "orchestrator.capabilities.packages.package_store",
        *AROUND_POINTS,
    )
    wrong = {m.name: sorted(m.own_imports() & set(BENEATH_THE_WORKSPACE)) for m in _on_the_host(*may)}
    assert _offences(wrong) == {}


def test_only_the_edges_know_the_web_framework() -> None:
    """The door and the dashboard are HTTP; nothing below them is."""
    wrong = {
        m.name: _imports_of(m, "flask", "werkzeug", "jinja2")
        for m in _on_the_host("orchestrator.door.api", "dashboard")
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
