"""``./hermit test`` on a suite of its own: what gets a second try, what is said about it, and what never gets one."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

import pytest

from orchestrator.cli import test as tests
from orchestrator.cli.context import Context
from orchestrator.cli.test import second_tries
from orchestrator.core.config import load

UNLUCKY = """
from pathlib import Path

def test_unlucky():
    tried = Path(__file__).with_suffix(".tried")
    before = tried.read_text() if tried.exists() else ""
    tried.write_text(before + "x")
    assert 0 < {holds_from} <= len(before)
"""


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """A repository with one test, of the engine, and a machine that has all that tests need."""
    for name in ("ensure_engine", "ensure_image", "ensure_test_tools"):
        monkeypatch.setattr(tests, name, lambda *_, **__: Client())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    docker: -\n    model: -\n    thirdparty: -\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_engine.py").write_text(
        "import pytest\n\n@pytest.mark.docker\ndef test_holds():\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    environment = {"HERMIT_HOME": str(tmp_path / "home")}
    return Context(tmp_path, environment, load(environment, tmp_path))


class Client:
    """An engine nobody asks anything."""

    def close(self) -> None:
        """It was not open."""


def add(context: Context, path: str, *, holds_from: int = 0) -> Path:
    """A test that holds from this try on, of 0 tries before; with 0 it never does. What it writes down per try."""
    file = context.root / "tests" / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(UNLUCKY.format(holds_from=holds_from))
    return file.with_suffix(".tried")


def run(context: Context, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code of the whole suite, and what is said after pytest's last word."""
    code = tests.run(context, Namespace(rest=["-q"]))
    return code, capfd.readouterr().out.rpartition(" in ")[2]


def test_bad_luck_has_a_second_try_and_a_name(context: Context, capfd: pytest.CaptureFixture[str]) -> None:
    """What fails beside the others and holds alone doesn't fail the suite, and is not passed over."""
    tried = add(context, "test_luck.py", holds_from=1)
    code, said = run(context, capfd)
    assert (code, tried.read_text()) == (0, "xx")
    assert said.splitlines()[-2:] == [
        "== unsteady, since they failed beside the others and held alone; each is a defect, of the test or of ours:",
        "tests/test_luck.py::test_unlucky",
    ]


def test_what_is_broken_fails(context: Context, capfd: pytest.CaptureFixture[str]) -> None:
    """Twice is no bad luck."""
    tried = add(context, "test_broken.py")
    code, said = run(context, capfd)
    assert (code, tried.read_text(), "unsteady" in said) == (1, "xx", False)


def test_a_leak_is_a_leak(context: Context, capfd: pytest.CaptureFixture[str]) -> None:
    """A wall that gave way once did give way."""
    tried = add(context, "adversarial/test_wall.py", holds_from=1)
    add(context, "test_luck.py", holds_from=1)
    code, _ = run(context, capfd)
    assert (code, tried.read_text()) == (1, "x")


@pytest.mark.parametrize(
    ("failed", "again"),
    [
        ([], []),
        (["tests/unit/test_a.py::test_a"], ["tests/unit/test_a.py::test_a"]),
        (["tests/unit/test_a.py"], []),
        (["tests/unit/test_a.py::test_a", "tests/chaos/test_b.py::test_b"], []),
        (["tests/fuzz/test_c.py::test_c"], []),
        (["tests/integration/test_d.py::test_d"], []),
        ([f"tests/unit/test_a.py::test_{number}" for number in range(4)], []),
    ],
)
def test_who_may_try_again(tmp_path: Path, failed: list[str], again: list[str]) -> None:
    """A few tests; not a file that can't be read, nor what must hold every time."""
    (tmp_path / "v" / "cache").mkdir(parents=True)
    (tmp_path / "v" / "cache" / "lastfailed").write_text(json.dumps(dict.fromkeys(failed, True)))
    assert second_tries(tmp_path) == again


def test_nothing_failed(tmp_path: Path) -> None:
    """Then pytest writes nothing."""
    assert second_tries(tmp_path) == []
