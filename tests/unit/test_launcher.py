"""The bash launcher, run for real in small repositories: what it installs, when it does not, and what it says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LAUNCHER = Path(__file__).resolve().parents[2] / "hermit"
ECHO = """
import json, os, sys
import hermit_witness
print(json.dumps({"args": sys.argv[1:], "cwd": os.getcwd(), "root": os.environ["HERMIT_ROOT"], "python": sys.prefix,
                  "witness": hermit_witness.__file__, "tunables": os.environ["GLIBC_TUNABLES"],
                  "stdin": os.readlink("/proc/self/fd/0")}))
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose locks name no package, in a folder whose name holds a space."""
    root = tmp_path_factory.mktemp("launcher") / "my repository"
    (root / "orchestrator").mkdir(parents=True)
    (root / "orchestrator/__init__.py").write_text("")
    (root / "orchestrator/__main__.py").write_text(ECHO)
    (root / "hermit_witness.py").write_text("")
    (root / "requirements.lock").write_text("# nothing\n")
    (root / "requirements-test.lock").write_text("# nothing, for tests\n")
    shutil.copy(LAUNCHER, root / "hermit")
    launch(root)
    return root


def launch(root: Path, *arguments: str, cwd: Path | None = None, **env: str) -> tuple[dict[str, Any], str]:
    """What the program was given, and what the launcher said meanwhile."""
    ran = run([str(root / "hermit"), *arguments], cwd or root, env)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout), ran.stderr


def run(argv: list[str], cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).resolve().parent}:{os.environ['PATH']}"
    base = {"PATH": path, "HOME": str(cwd), "TMPDIR": str(cwd)}  # the log of what failed is kept there
    return subprocess.run(argv, cwd=cwd, env=base | env, capture_output=True, text=True, timeout=120, check=False)


def test_without_standard_input_there_is_an_empty_one(repository: Path) -> None:
    """As under some services; a program would take the next file that it opens for it."""
    for line, stdin in (("'{}/hermit' <&-", "/dev/null"), ("echo | '{}/hermit'", "pipe:")):
        ran = run(["bash", "-c", line.format(repository)], repository, {})
        assert json.loads(ran.stdout)["stdin"].startswith(stdin)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Somebody's folder with modules that must not be imported from it."""
    (tmp_path / "orchestrator").mkdir()
    (tmp_path / "orchestrator/__main__.py").write_text("raise SystemExit('imported from the working folder')")
    (tmp_path / "hermit_witness.py").write_text("raise SystemExit('imported from the working folder')")
    return tmp_path


def test_nothing_is_done_or_said_when_all_is_in_place(repository: Path) -> None:
    """Arguments go through as they are."""
    given, said = launch(repository, "chat", "crab", "two words", "--json")
    assert given["args"] == ["chat", "crab", "two words", "--json"]
    assert given["root"] == str(repository)
    assert given["python"] == str(repository / ".venv")
    assert said == ""


def test_it_works_from_anywhere_and_through_a_link(repository: Path, elsewhere: Path) -> None:
    """The working folder stays the caller's, and nothing is imported from it."""
    link = elsewhere / "hm"
    link.symlink_to(repository / "hermit")
    ran = run([str(link), "status"], elsewhere, {"PYTHONPATH": str(elsewhere)})
    given = json.loads(ran.stdout)
    assert given["cwd"] == str(elsewhere)
    assert given["witness"] == str(repository / "hermit_witness.py")


def test_memory_is_allocated_for_threads_that_wait(repository: Path) -> None:
    """As the image's file has it too, unless somebody wants it otherwise."""
    tunables = launch(repository)[0]["tunables"]
    assert "tcache_count=0" in tunables
    assert f"GLIBC_TUNABLES={tunables} " in (LAUNCHER.parent / "orchestrator/Dockerfile").read_text()
    assert launch(repository, GLIBC_TUNABLES="mine")[0]["tunables"] == "mine"


def test_a_changed_lock_is_installed_once(repository: Path) -> None:
    """Progress is one line on stderr; the next start is silent."""
    (repository / "requirements.lock").write_text("# another nothing\n")
    assert "Installing dependencies … done in" in launch(repository)[1]
    assert launch(repository)[1] == ""


def test_an_installation_that_was_cut_short_is_done_again(repository: Path) -> None:
    """Without the stamp, which is written last, nothing counts as installed."""
    (repository / ".venv/hermit.stamp").unlink()
    assert "Installing dependencies … done in" in launch(repository)[1]
    assert launch(repository)[1] == ""


def test_the_tests_lock_serves_both(repository: Path) -> None:
    """It is installed for `test`, and going back and forth installs nothing more."""
    assert "Installing dependencies" in launch(repository, "test", "-k", "x")[1]
    assert launch(repository, "status")[1] == ""
    assert launch(repository, "test")[1] == ""
    (repository / "requirements-test.lock").write_text("# changed\n")
    assert launch(repository, "status")[1] == ""
    assert "Installing dependencies" in launch(repository, "test")[1]


@pytest.mark.parametrize("command", ["test", "bench"])
@pytest.mark.parametrize("asked", ["-h", "--help"])
def test_help_installs_nothing(repository: Path, command: str, asked: str) -> None:
    """Somebody who only reads about the tests does not wait for what they need."""
    stamp = repository / ".venv/hermit.stamp"
    (repository / "requirements-test.lock").write_text("# not installed yet\n")
    was = stamp.read_text()
    for words in ([asked], ["-k", "x", asked]):
        given, said = launch(repository, command, *words)
        assert given["args"] == [command, *words]
        assert said == ""
    assert stamp.read_text() == was


def test_two_at_once_install_once(repository: Path) -> None:
    """The second waits for the first and then finds nothing to do."""
    (repository / ".venv/hermit.stamp").unlink()
    started = [
        subprocess.Popen(
            [str(repository / "hermit")], cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert sum("Installing dependencies" in text for text in said) == 1


def test_a_dependency_that_cannot_be_had_is_named(repository: Path) -> None:
    """The last word of pip is in the one line, and the log is named; the next try starts again."""
    good = (repository / "requirements.lock").read_text()
    tests = (repository / "requirements-test.lock").read_text()
    for lock in ("requirements.lock", "requirements-test.lock"):
        (repository / lock).write_text(f"hermit-no-such-thing==1 --hash=sha256:{'0' * 64}\n")
    ran = run([str(repository / "hermit")], repository, {"PIP_NO_INDEX": "1"})
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "No matching distribution found for hermit-no-such-thing" in ran.stderr.splitlines()[-1]
    (repository / "requirements.lock").write_text(good)
    (repository / "requirements-test.lock").write_text(tests)
    assert "done in" in launch(repository)[1]


def test_a_python_that_is_gone_is_replaced(repository: Path) -> None:
    """After an upgrade took the interpreter away, .venv is made again."""
    python = repository / ".venv/bin/python"
    target = python.readlink()
    python.unlink()
    python.symlink_to("/nowhere/python3")
    said = launch(repository)[1]
    assert "Making .venv with Python 3." in said
    assert python.readlink() == target


def test_the_interpreter_can_be_chosen(repository: Path) -> None:
    """PYTHON makes .venv again when it is another than before, and once."""
    said = launch(repository, PYTHON=sys.executable)[1]
    assert "Making .venv" in said
    assert launch(repository, PYTHON=sys.executable)[1] == ""
    assert launch(repository)[1] == ""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A repository that was never started, and a PATH of its own without any Python."""
    shutil.copy(LAUNCHER, tmp_path / "hermit")
    (tmp_path / "requirements.lock").write_text("")
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "env", "readlink", "sha256sum", "flock", "mktemp", "rm"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    return tmp_path


def old_python(folder: Path, name: str = "python3") -> Path:
    """Something that says it is too old."""
    path = folder / "bin" / name
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("old", [(), ("python3",), ("python3", "python3.11")])
def test_without_a_python_one_line_says_what_to_install(bare: Path, old: tuple[str, ...]) -> None:
    """No trace, no .venv, exit code 1."""
    for name in old:
        old_python(bare, name)
    ran = run([str(bare / "hermit"), "up"], bare, {"PATH": str(bare / "bin")})
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("hermit: I need Python 3.11 or newer: install it")
    assert ran.stderr.count("\n") == 1
    assert not (bare / ".venv").exists()


def test_a_chosen_python_that_is_too_old_is_named(bare: Path) -> None:
    """The person learns that it was the setting."""
    path = old_python(bare, "python2")
    ran = run([str(bare / "hermit"), "up"], bare, {"PATH": str(bare / "bin"), "PYTHON": str(path)})
    assert ran.returncode == 1
    assert ran.stderr == f"hermit: PYTHON={path} is no Python 3.11 or newer: unset it, or name one that is.\n"


def test_the_script_passes_shellcheck() -> None:
    """And so do the scripts of the image."""
    shellcheck = shutil.which("shellcheck")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed")
    scripts = [LAUNCHER, LAUNCHER.parent / "cubicle/install", LAUNCHER.parent / "cubicle/people"]
    ran = subprocess.run([shellcheck, *map(str, scripts)], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout == ""
