"""What every command is given: the settings, where things are, and the way to a running orchestrator."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.cli.client import ApiClient
from orchestrator.cli.colors import Paint, paint_for
from orchestrator.core.config import Settings, load
from orchestrator.core.home import Home, prepare_home
from orchestrator.engine.setup.machine import LocalMachine
from orchestrator.engine.setup.progress import SetupProgress


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of one command."""

    root: Path
    environment: Mapping[str, str]
    settings: Settings

    @property
    def home(self) -> Home:
        """HERMIT_HOME, made if missing."""
        return prepare_home(self.settings.home)

    @property
    def client(self) -> ApiClient:
        """The API of the running orchestrator."""
        return ApiClient(self.settings.url, self.settings.secrets.get("HERMIT_API_TOKEN") or self.home.command_token)

    @property
    def machine(self) -> LocalMachine:
        """The host."""
        return LocalMachine(self.home.path / "logs", self.environment)

    @property
    def paint(self) -> Paint:
        """Colours on standard output, where they are wanted."""
        return paint_for(sys.stdout, self.environment)

    @property
    def progress(self) -> SetupProgress:
        """Progress on stderr."""
        return SetupProgress()


def read_context(environment: Mapping[str, str]) -> Context:
    """Read the settings; raises ConfigError."""
    root = Path(environment.get("HERMIT_ROOT") or Path(__file__).resolve().parents[2])
    return Context(root, environment, load(environment, root))


def print_body(body: Any, *, as_json: bool, lines: list[str]) -> None:
    """Print ``body`` as JSON, or the lines made for people."""
    if as_json:
        json.dump(body, sys.stdout, ensure_ascii=False, indent=2)
        print()
        return
    for line in lines:
        print(line)


def format_table(rows: Sequence[tuple[str, ...]], *, head: tuple[str, ...], paint: Paint | None = None) -> list[str]:
    """Aligned columns with a head line; the last column is not padded."""
    paint = paint or Paint(is_on=False)
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head) - 1)]
    padded = [[*(row[i].ljust(width) for i, width in enumerate(widths)), row[-1]] for row in (head, *rows)]
    first, *rest = padded
    return [paint("  ".join(first), "bold"), *("  ".join(paint.state(cell) for cell in row) for row in rest)]
