"""``orchestrator.approvals.policy.kinds``: what a command comes to that a person may allow in advance, and what
covers what.
"""

from __future__ import annotations

import pytest

from orchestrator.approvals.policy.judge import judge_command, scripts_of
from orchestrator.approvals.policy.kinds import is_covered, is_kind
from orchestrator.core.models import ApprovalPolicy, Ruling

NAMED = {
    "rm -rf build": ("delete below work/build/",),
    "rm notes.txt": ("delete work/notes.txt",),
    "rm -f src/gen/a.py src/gen/b.py": ("delete below work/src/gen/",),
    "rm obj/*.o": ("delete below work/obj/",),
    "rm -rf ../out/x /app/workspace/out/y": ("delete below out/x/", "delete below out/y/"),
    "cd proj && rm -rf build && make | tail -3": ("delete below work/proj/build/",),
    "cd ../www/app && rm old.js": ("delete below www/app/",),
    "rm -rf ~/x": ("delete below work/x/",),
    "kill 1234": ("stop processes",),
    "pkill node": ("stop processes",),
    "git checkout -- a.py": ("discard uncommitted git changes",),
    "git push --force origin main": ("git push to origin",),
    "> notes.txt": ("empty work/notes.txt",),
    "chmod -R 700 d": ("change permissions below work/d/",),
    "rm -rf build; kill 12": ("delete below work/build/", "stop processes"),
}
EXACTLY = (
    "rm -rf /app/workspace/work",
    "rm -rf ..",
    "rm *.o",
    "rm -rf $DIR",
    "rm -rf {a,b}",
    "rm -rf a/../b",
    "rm /etc/passwd",
    "cd proj; rm -rf build",
    "cd proj || rm -rf build",
    "cd proj && (cd x; rm -rf build)",
    "(cd x; rm -rf y)",
    "cd $X && rm -rf build",
    "cd a/../b && rm -rf build",
    "pushd x && rm -rf build",
    "bash -c 'rm -rf build'",
    "find . -name x -exec rm -rf build \\;",
    "find . -execdir rm -rf build \\;",
    "env -C x rm -rf build",
    "xargs rm < list",
    "ssh host rm -rf build",
    "git push -f",
    "chmod -R --reference=a b c",
    'eval "$X"',
    "sudo rm -rf build",
    "rm -rf build; shred x",
)


@pytest.mark.parametrize(("command", "kinds"), NAMED.items())
def test_what_can_be_named_is(command: str, kinds: tuple[str, ...]) -> None:
    """By what it does and where; each kind is one that may be given by hand too."""
    verdict = judge_command(command, ApprovalPolicy.DANGEROUS)
    assert (verdict.ruling, verdict.kinds) == (Ruling.ASK, kinds)
    assert all(is_kind(kind) for kind in kinds)


@pytest.mark.parametrize("command", EXACTLY)
def test_what_can_not_be_named_is_its_own_text(command: str) -> None:
    """A place that only the running shell knows, or a text within the text: nothing wider than these very words."""
    verdict = judge_command(command, ApprovalPolicy.DANGEROUS)
    assert (verdict.ruling, verdict.kinds) == (Ruling.ASK, (f"run: {command}",))


@pytest.mark.parametrize("command", ["rm -rf 'a\tb'", "rm -rf \u202eb", f"rm -rf $X {'x' * 600}", "rm -rf $X\nls"])
def test_what_could_be_misread_has_no_kind(command: str) -> None:
    """It can be approved once, and only so."""
    assert judge_command(command, ApprovalPolicy.DANGEROUS).kinds == ()


def test_who_is_asked_about_everything_may_allow_a_text() -> None:
    """Under that policy a harmless command is its own kind."""
    assert judge_command("ls -l", ApprovalPolicy.ALL).kinds == ("run: ls -l",)
    assert judge_command("ls -l", ApprovalPolicy.DANGEROUS).kinds == ()


@pytest.mark.parametrize(
    ("granted", "wanted", "covers_it"),
    [
        ("delete below work/a/", "delete below work/a/", True),
        ("delete below work/a/", "delete below work/a/b/", True),
        ("delete below work/a/", "delete work/a/x.txt", True),
        ("delete below work/a/", "delete below work/ab/", False),
        ("delete below work/a/b/", "delete below work/a/", False),
        ("delete work/a.txt", "delete work/a.txt", True),
        ("delete work/a.txt", "delete below work/a.txt/", False),
        ("delete below work/a/", "empty work/a/x", False),
        ("stop processes", "stop processes", True),
        ("run: ls", "run: ls", True),
        ("run: ls", "run: ls -l", False),
        ("run: delete below work/", "delete below work/a/", False),
    ],
)
def test_a_folder_covers_what_is_in_it(granted: str, wanted: str, *, covers_it: bool) -> None:
    """And nothing else."""
    assert is_covered(granted, wanted) is covers_it


@pytest.mark.parametrize(
    "subject",
    [
        "", "delete", "delete below", "delete below work/", "delete below work/a", "delete work/a/",
        "delete /etc/passwd", "delete below work/../etc/", "delete below ../x/", "delete below work/*/",
        "delete everything", "run:", "run:  ", "stop", "git push to", "git push to a b",
        "delete below work/a\n/", f"run: {'x' * 600}", "ls",
    ],
)  # fmt: skip
def test_no_other_words_are_a_kind(subject: str) -> None:
    """A top folder as a whole is none either."""
    assert not is_kind(subject)


@pytest.mark.parametrize(
    ("command", "paths", "is_all"),
    [
        ("bash x.sh", ("work/x.sh",), True),
        ("bash -eux x.sh --flag", ("work/x.sh",), True),
        (". ./env.sh && ls", ("work/env.sh",), True),
        ("source lib/a.sh; python3 -u tool.py x.csv", ("work/lib/a.sh", "work/tool.py"), True),
        ("./run", ("work/run",), True),
        ("cd proj && ./run", ("work/proj/run",), True),
        ("timeout 5 nice node ../www/app/build.js", ("www/app/build.js",), True),
        ("node -e 'console.log(1)'", (), True),
        ("python3 -c 'print(1)' x.py", (), True),
        ("/usr/bin/python3 /app/workspace/work/x.py", ("work/x.py",), True),
        ("/usr/bin/env ls", (), True),
        ("cat x | bash", (), True),
        ("make test", (), False),
        ("python3 -m pytest", (), False),
        ('bash "$X"', (), False),
        ("cd a; bash x.sh", (), False),
        ("ls -l", (), True),
    ],
)
def test_scripts_are_named(command: str, paths: tuple[str, ...], *, is_all: bool) -> None:
    """As far as the words of the command say."""
    found = scripts_of(command)
    assert (found.paths, found.is_all) == (paths, is_all)


def test_looking_up_packages_has_a_name() -> None:
    """One for each index, and for no other thing."""
    assert all(is_kind(f"look up packages of {system}") for system in ("pip", "npm"))
    assert not any(is_kind(text) for text in ("look up packages of", "look up packages of cargo", "look up packages"))
    assert not is_covered("look up packages of pip", "look up packages of npm")
