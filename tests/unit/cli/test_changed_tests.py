"""Which tests ``./hermit test --changed`` chooses, in a small repository that is laid out like this one."""

from __future__ import annotations

import subprocess
from argparse import Namespace
from pathlib import Path

import pytest

from orchestrator.cli import test as tests
from orchestrator.cli.changed_tests import choose_tests, list_changed_files
from orchestrator.cli.context import Context
from orchestrator.core.config import load
from orchestrator.core.errors import BadInput

SOURCES = {
    "orchestrator/core/text.py": "",
    "orchestrator/capabilities/video/videos.py": "from orchestrator.core.text import tidy",
    "orchestrator/apps/previews.py": "from orchestrator.core import text",
    "orchestrator/app/app.py": "import orchestrator.capabilities.video.videos\nimport orchestrator.apps.previews",
    "tests/support/whole_app.py": "from orchestrator.app.app import App\nfrom orchestrator.core.text import tidy",
    "tests/unit/capabilities/video/test_videos.py": "from orchestrator.capabilities.video.videos import Videos",
    "tests/unit/apps/conftest.py": "from tests.support.whole_app import run_app",
    "tests/unit/apps/test_previews.py": "from orchestrator.apps.previews import Previews",
    "tests/unit/apps/test_borrower.py": "from tests.unit.apps.test_previews import helper",
    "tests/unit/core/test_text.py": "",
    "tests/unit/test_whole.py": "from tests.support.whole_app import run_app",
    "tests/unit/test_docs.py": "",
    "tests/integration/test_video.py": "from tests.support.whole_app import run_app",
    "tests/test_layers.py": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The repository, with all of it committed."""
    for path, text in SOURCES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        who = ["-c", "user.name=ada", "-c", "user.email=ada@example.invalid", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *command], check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "chosen"),
    [
        (
            "orchestrator/capabilities/video/videos.py",
            ["tests/integration/test_video.py", "tests/test_layers.py", "tests/unit/capabilities/video/test_videos.py"],
        ),
        ("orchestrator/apps/previews.py", ["tests/test_layers.py", "tests/unit/apps/test_previews.py"]),
        (
            "orchestrator/core/text.py",
            [
                "tests/test_layers.py",
                "tests/unit/apps/test_previews.py",
                "tests/unit/capabilities/video/test_videos.py",
                "tests/unit/core/test_text.py",
            ],
        ),
        (
            "tests/support/whole_app.py",
            [
                "tests/integration/test_video.py",
                "tests/test_layers.py",
                "tests/unit/apps/test_borrower.py",
                "tests/unit/apps/test_previews.py",
                "tests/unit/test_whole.py",
            ],
        ),
        ("docs/running.md", ["tests/unit/test_docs.py"]),
        ("LICENSE", []),
        ("pyproject.toml", None),
        ("tests/conftest.py", None),
    ],
)
def test_what_a_change_reaches(root: Path, changed: str, chosen: list[str] | None) -> None:
    """What imports it and what mirrors it; neither the composition root nor a test that lends functions leads on."""
    found = choose_tests(root, [changed])
    layers = {"tests/test_layers.py"}
    assert (found is None) == (chosen is None)
    assert set(found or ()) - layers == set(chosen or ()) - layers
    assert changed.startswith("tests/") or (found or ()) == (chosen or ())


def test_changed_files(root: Path) -> None:
    """Those that differ, those that are gone, and those that git doesn't know yet."""
    (root / "orchestrator/core/text.py").write_text("x = 1\n")
    (root / "tests/unit/test_docs.py").unlink()
    (root / "new.py").touch()
    assert list_changed_files(root, "HEAD") == ["new.py", "orchestrator/core/text.py", "tests/unit/test_docs.py"]
    with pytest.raises(BadInput, match="--changed: git can't say what changed since 'nowhere'"):
        list_changed_files(root, "nowhere")


def test_nothing_changed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is set up, and nothing fails."""
    assert tests.run(_context(root), Namespace(rest=["--changed"])) == 0
    assert capsys.readouterr().out == "== nothing differs from HEAD\n"


def test_only_the_chosen_tests_run(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In two rounds; that none of them is one of the engine's is no failure."""
    rounds: list[list[str]] = []
    codes = iter([0, 5])

    def note(arguments: list[str], _environment: dict[str, str]) -> int:
        rounds.append(arguments)
        return next(codes)

    for name in ("ensure_engine", "ensure_image", "ensure_test_tools"):
        monkeypatch.setattr(tests, name, lambda *_, **__: Client())
    monkeypatch.setattr(tests, "_pytest", note)
    monkeypatch.chdir(root)
    (root / "docs").mkdir()
    (root / "docs/new.md").touch()
    assert tests.run(_context(root), Namespace(rest=["--changed", "HEAD", "-q"])) == 0
    assert [arguments[-2:] for arguments in rounds] == [["-q", "tests/unit/test_docs.py"]] * 2
    assert capsys.readouterr().out == "== 1 changed files reach 1 test files\n"


class Client:
    """An engine nobody asks anything."""

    def close(self) -> None:
        """It was not open."""


def _context(root: Path) -> Context:
    environment = {"HERMIT_HOME": str(root / "home")}
    return Context(root, environment, load(environment, root))
