"""Which test files a change can reach: what ``./hermit test --changed`` runs.

A test is chosen when it imports what changed, directly or by way of other modules, when it stands in the folder that
mirrors the changed package, or when it changed itself. The composition root and the fixtures that start a whole app
import everything, so the search doesn't go on through them: what is chosen is a quick look, and the whole suite stays
the proof.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from orchestrator.core.errors import BadInput

_SOURCES = ("orchestrator", "dashboard", "crab", "tests")
_IMPORTS_EVERYTHING = ("orchestrator.app", "orchestrator.services", "orchestrator.__main__", "dashboard.app")
_STARTS_EVERYTHING = "tests.support."
_REACHES_ALL = re.compile(
    r"pyproject\.toml|requirements.*\.lock|vendored\.toml|tests/(conftest|__init__|fuzzing)\.py|hermit"
)
"""Paths of what every test stands on."""

_REACHED_BY_FOLDER = {
    "dashboard/templates/": ("tests/unit/dashboard", "tests/browser"),
    "dashboard/static/": ("tests/unit/dashboard", "tests/browser"),
    "cubicle/": ("tests/integration", "tests/unit/engine"),
    "workspace_template/": ("tests/unit/files",),
    "docs/": ("tests/unit/test_docs.py",),
    "README.md": ("tests/unit/test_docs.py",),
    "docker-compose.yml": ("tests/unit/test_compose.py",),
    ".ci/": (),
}
"""What isn't Python, by how its path begins."""


def list_changed_files(root: Path, since: str) -> list[str]:
    """The files that differ from a commit, and those that git doesn't know yet, as paths from the root.

    Args:
        root: the checkout.
        since: what to compare with, such as ``HEAD`` or ``main``.

    Raises:
        BadInput: where git can't tell, for example of a commit that there isn't.
    """
    found: list[str] = []
    for command in (["diff", "--name-only", since, "--"], ["ls-files", "--others", "--exclude-standard"]):
        argv = ["git", "-C", str(root), *command]
        told = subprocess.run(argv, capture_output=True, text=True, check=False)
        if told.returncode != 0:
            reason = (told.stderr.strip().splitlines() or ["git is not here"])[0]
            raise BadInput(f"--changed: git can't say what changed since '{since}': {reason}")
        found += told.stdout.splitlines()
    return sorted(set(found))


def choose_tests(root: Path, changed: list[str]) -> list[str] | None:
    """The test files for these changes, as paths from the root.

    Args:
        root: the checkout.
        changed: paths from the root; files that are gone count too.

    Returns:
        None where a change can reach every test; an empty list where it reaches none.
    """
    if any(_REACHES_ALL.fullmatch(path) for path in changed):
        return None
    tests = {_name(path): path for path in _list_sources(root) if Path(path).name.startswith("test_")}
    reached = _reach({_name(path) for path in changed if path.endswith(".py")}, _read_importers(root))
    chosen = {path for name, path in tests.items() if name in reached}
    folders = {folder for path in changed for folder in _list_folders_of(path)} | _list_folders_of_conftests(reached)
    chosen |= {test for test in tests.values() if any(test == at or test.startswith(f"{at}/") for at in folders)}
    return sorted(chosen)


def _list_folders_of(path: str) -> list[str]:
    by_start = [folders for start, folders in _REACHED_BY_FOLDER.items() if path.startswith(start)]
    return _mirror(path) + [folder for folders in by_start for folder in folders]


def _list_folders_of_conftests(reached: set[str]) -> set[str]:
    """Nobody imports a ``conftest``; it serves the tests of its folder."""
    return {name.removesuffix(".conftest").replace(".", "/") for name in reached if name.endswith(".conftest")}


def _mirror(path: str) -> list[str]:
    """``orchestrator/llm/budget.py`` is tested in ``tests/unit/llm``, a capability also by the integration test that
    bears its name; every module is in its place by ``tests/test_layers.py``."""
    top, *inner = Path(path).parent.parts or ("",)
    if top not in _SOURCES[:3] or not path.endswith(".py"):
        return []
    layers = ["tests/test_layers.py"]
    if top != "orchestrator" or len(inner) > 1:
        capability = [f"tests/integration/test_{inner[1]}.py"] if inner[:1] == ["capabilities"] else []
        mirrored = [top, *inner] if top != "orchestrator" else inner
        return [f"tests/unit/{'/'.join(mirrored)}", *capability, *layers]
    return ["/".join(["tests/unit", *inner, f"test_{Path(path).stem}.py"]), *layers]


def _reach(changed: set[str], importers: dict[str, set[str]]) -> set[str]:
    reached, ahead = set(changed), list(changed)
    while ahead:
        name = ahead.pop()
        if name not in changed and _is_end(name):
            continue
        new = importers[name] - reached
        reached |= new
        ahead += new
    return reached


def _is_end(name: str) -> bool:
    """What imports this isn't chosen for it: it imports everything, or it is a test that lends another a function."""
    is_root = any(name == root or name.startswith(f"{root}.") for root in _IMPORTS_EVERYTHING)
    return is_root or name.startswith(_STARTS_EVERYTHING) or name.rpartition(".")[2].startswith("test_")


def _read_importers(root: Path) -> dict[str, set[str]]:
    """Who imports each module, tests included."""
    sources = _list_sources(root)
    names = {_name(path) for path in sources}
    importers: dict[str, set[str]] = defaultdict(set)
    for path in sources:
        for node in ast.walk(ast.parse((root / path).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                imported = [name if name in names else node.module for name in inner]
            else:
                continue
            for name in imported:
                importers[name].add(_name(path))
    return importers


def _list_sources(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for top in _SOURCES for path in sorted((root / top).rglob("*.py"))]


def _name(path: str) -> str:
    return ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")
