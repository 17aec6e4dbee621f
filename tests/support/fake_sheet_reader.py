"""Who reads spreadsheets, without a container: the program itself, within the tests' process."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType

from orchestrator.apps.sheets import PROGRAM
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from tests.support.fakes import NoHelpers


@cache
def program() -> ModuleType:
    """The program that runs in the container."""
    spec = importlib.util.spec_from_file_location("sheets_inside", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class FakeSheetReader(NoHelpers):
    """Reads what it is given, or brings what a test says."""

    def __init__(self) -> None:
        self.given = 0
        self.brings: bytes | None = None
        self.breaks: Exception | None = None

    def run_helper(self, spec: HelperSpec, *, is_wanted: Callable[[], bool]) -> HelperEnd:
        """What the program found lies there, or nothing where it broke."""
        self.given += 1
        if self.breaks is not None:
            raise self.breaks
        assert (spec.given / "sheets.py").read_bytes() == PROGRAM.read_bytes()
        content = self.brings
        if content is None:
            task = json.loads((spec.given / "task.json").read_bytes())
            try:
                content = json.dumps({"sheets": program().read_book(spec.given / "book.xlsx", **task)}).encode()
            except Exception:  # noqa: BLE001 - the container ends with it
                return HelperEnd.ENDED
        (spec.brought / "sheets.json").write_bytes(content)
        return HelperEnd.ENDED

    def clear_helpers(self, kind: HelperKind) -> None:
        """None is under way."""
