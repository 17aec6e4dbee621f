"""``./hermit`` in this process, against an install without containers: what it prints, or the one line that it ends
with.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.core.errors import OrchestratorError
from tests.support.app_fixture import AppFixture

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class CommandLine:
    """Somebody who types commands."""

    install: AppFixture
    screen: pytest.CaptureFixture[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    aside: str = ""
    """What the last command said on standard error."""

    def good(self, *words: str, code: int = 0) -> str:
        """A command that works; what it prints."""
        options = parser(words[0]).parse_args(list(words))
        self.screen.readouterr()
        assert options.run(Context(ROOT, self.environment, self.install.services.settings), options) == code
        said = self.screen.readouterr()
        self.aside = said.err
        return said.out

    def on_a_terminal(self, *words: str) -> str:
        """What a command that works prints there."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys.stdout, "isatty", lambda: True)
            return self.good(*words)

    def refused(self, *words: str) -> str:
        """A command that doesn't; its sentence."""
        with pytest.raises(OrchestratorError) as error:
            self.good(*words)
        assert "\n" not in error.value.message
        return error.value.message
