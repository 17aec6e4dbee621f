"""The README's commands, one after the other, as somebody runs them who has nothing: a fresh clone, an empty home, no
package but those that ``./hermit`` brings. What a developer's machine happens to have hides no missing step."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from tests.support.free_ports import free_port
from tests.support.real_app import ROOT, plain_environment, sweep

pytestmark = pytest.mark.docker

README = (ROOT / "README.md").read_text(encoding="utf-8")
GIT = shutil.which("git") or "git"
KNOWN = {
    "./hermit up",
    "./hermit chat crab",
    './hermit chat crab "What can you do?"',
    "./hermit telegram add crab",
    "./hermit telegram confirm crab CODE",
    "./hermit update --restart",
    "./hermit backup ~/hermit.tgz",
    "./hermit test",
    "./hermit test tests/unit -q",
    "./hermit test --changed",
    "./hermit test --soak 30m",
    "./hermit bench",
}
"""What the README tells people to type. A new line there wants its place below."""


@dataclass(frozen=True, slots=True)
class Newcomer:
    """Somebody who has just cloned it."""

    folder: Path
    environment: dict[str, str]

    def types(self, *words: str, timeout_s: float = 300) -> str:
        """A command; what it prints, and it must end well."""
        ran = subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, encoding="utf-8", timeout=timeout_s,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert ran.returncode == 0, (words, ran.stdout[-2000:], ran.stderr[-2000:])
        return ran.stdout


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image: str) -> Iterator[Newcomer]:
    """A clone of the tree as it is now, and an environment that holds nothing else."""
    top = tmp_path_factory.mktemp("newcomer")
    source, home = top / "source", top / "home"
    home.mkdir()
    _copy_tree(source)
    environment = {
        **{name: text for name, text in plain_environment().items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))},
        "HOME": str(home),
        "PATH": os.defpath + ":/usr/local/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "HERMIT_PORT": str(free_port()),
        "HERMIT_PREVIEW_PORT": str(free_port()),
    }
    subprocess.run([GIT, "clone", "-q", str(source), str(top / "hermitshell")], env=environment, check=True)
    made = Newcomer(top / "hermitshell", environment)
    try:
        yield made
    finally:
        subprocess.run(["./hermit", "down"], cwd=made.folder, env=environment, capture_output=True, check=False)
        known = made.folder / "data" / "keys" / "install-id"
        if known.exists():
            sweep(client, known.read_text(encoding="ascii").strip())


def _copy_tree(target: Path) -> None:
    """What git would commit of the tree, in a repository of its own."""
    listed = subprocess.run(
        [GIT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "The tree as it is"]):
        subprocess.run([GIT, *words], cwd=target, check=True)


def test_the_readme_says_nothing_that_is_not_tried() -> None:
    """Each of its commands is run here or, where it needs a real bot or takes half an hour, elsewhere."""
    blocks = "\n".join(re.findall(r"```\n(.*?)```", README, re.DOTALL))
    told = {line.split("  #")[0].strip() for line in blocks.splitlines() if line.strip().startswith("./hermit")}
    assert told == KNOWN


def test_a_newcomer_gets_a_reply(newcomer: Newcomer) -> None:
    """From the clone to the first answer, and what comes after it."""
    assert "/login/" in newcomer.types("./hermit", "up", "-d", timeout_s=900)
    assert newcomer.types("./hermit", "chat", "crab", "What can you do?").strip()
    assert "crab" in newcomer.types("./hermit", "status")
    newcomer.types("./hermit", "backup", f"{newcomer.environment['HOME']}/hermit.tgz")
    newcomer.types("./hermit", "update", "--restart", "--yes")
    assert newcomer.types("./hermit", "--version").startswith("HermitShell")


def test_a_newcomer_measures_it(newcomer: Newcomer) -> None:
    """The benchmarks bring what they need."""
    newcomer.types("./hermit", "bench", "--quick", "--only", "pages", timeout_s=900)


def test_a_newcomer_looks_for_help(newcomer: Newcomer) -> None:
    """Of every command, without anything being installed for it."""
    listed = newcomer.types("./hermit", "--help")
    for command in ("up", "chat", "test", "bench", "doctor"):
        assert re.search(rf"^\s+{command}\s", listed, re.MULTILINE)
        assert newcomer.types("./hermit", command, "--help")
