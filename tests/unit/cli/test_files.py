"""``./hermit files`` and ``./hermit chat --file`` against an install without containers, as a person uses them."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, run_app

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Terminal:
    """A person with a folder of their own."""

    install: AppFixture
    workspace: Path
    here: Path
    capture: pytest.CaptureFixture[str]

    def hermit(self, *arguments: str) -> str:
        """What a command prints; raises the error that would be its one line."""
        options = parser().parse_args(list(arguments))
        self.capture.readouterr()
        assert options.run(Context(ROOT, {}, self.install.services.settings), options) == 0
        return self.capture.readouterr().out

    def refused(self, *arguments: str) -> str:
        """The one line of a command that fails."""
        with pytest.raises(OrchestratorError) as caught:
            self.hermit(*arguments)
        assert "\n" not in caught.value.message
        return caught.value.message


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """In a folder of its own."""
    here = tmp_path / "here"
    here.mkdir()
    with run_app(tmp_path / "home") as install, monkeypatch.context() as moved:
        mounts = install.services.workspaces.prepare_folders(CubicleKey("crab", 1), uid=os.geteuid(), gid=os.getegid())
        moved.chdir(here)
        yield Terminal(install, mounts.out.parent, here, capsys)


def test_files_go_there_and_back(terminal: Terminal) -> None:
    """Several at once, empty and large ones too, byte for byte."""
    contents = {"report.pdf": b"%PDF-1.7", "empty": b"", "large": os.urandom(5_000_001), "a b ü.txt": b"hi"}
    for name, content in contents.items():
        (terminal.here / name).write_bytes(content)
    said = terminal.hermit("files", "put", "crab", *contents)
    assert said.splitlines()[0] == "in/report.pdf  8 bytes  application/pdf"
    assert len(said.splitlines()) == 4
    for name, content in contents.items():
        terminal.hermit("files", "get", "crab", f"in/{name}", "-o", "back", "--force")
        assert (terminal.here / "back").read_bytes() == content
    assert "in/report-2.pdf" in terminal.hermit("files", "put", "crab", "report.pdf")


def test_folders_are_listed(terminal: Terminal) -> None:
    """For people and as JSON, all pages; nothing in a name reaches the terminal."""
    out = terminal.workspace / "out"
    (out / "sub").mkdir()
    (out / "esc\x1b[2J\u202e\n.txt").write_bytes(b"hello")
    (out / "link").symlink_to("/etc/passwd")
    for number in range(1_500):
        (out / "sub" / f"{number}").touch()
    said = terminal.hermit("files", "ls", "crab", "out")
    assert "  5     esc\\x1b[2J\\u202e\\n.txt\n" in said
    assert said.replace("\n", "").isprintable()
    assert "sub/\n" in said
    assert "link  (a link" in said
    assert len(json.loads(terminal.hermit("files", "ls", "crab", "--json", "out/sub"))["entries"]) == 1_500
    assert [line.split()[-1] for line in terminal.hermit("files", "ls", "crab").splitlines()[1:]] == [
        "data/",
        "in/",
        "out/",
        "work/",
        "www/",
    ]


def test_nothing_here_is_replaced_by_accident(terminal: Terminal) -> None:
    """Neither a file nor what a link leads to; ``--force`` replaces the name alone, and no half file is left."""
    (terminal.workspace / "out" / "a.txt").write_bytes(b"new")
    (terminal.here / "a.txt").write_bytes(b"old")
    (terminal.here / "link").symlink_to(terminal.here / "a.txt")
    (terminal.here / "dangling").symlink_to(terminal.here / "nowhere")
    for output in ((), ("-o", "link"), ("-o", "dangling"), ("-o", str(terminal.here))):
        assert "--force" in terminal.refused("files", "get", "crab", "out/a.txt", *output)
    assert (terminal.here / "a.txt").read_bytes() == b"old"
    terminal.hermit("files", "get", "crab", "out/a.txt", "-o", "link", "--force")
    assert ((terminal.here / "link").read_bytes(), (terminal.here / "a.txt").read_bytes()) == (b"new", b"old")
    terminal.refused("files", "get", "crab", "out/none", "-o", "other")
    assert sorted(path.name for path in terminal.here.iterdir()) == ["a.txt", "dangling", "link"]


@pytest.mark.parametrize("name", ["..\\evil", "esc\x1b[2J", "-rf", ".bashrc", "a\nb", "rtl\u202egpj.exe", "\udcff"])
def test_names_that_are_made_here_are_safe(terminal: Terminal, name: str) -> None:
    """Plain, visible, in this folder, and no option to the next command."""
    (terminal.workspace / "out" / name).write_bytes(b"content")
    terminal.hermit("files", "get", "crab", f"out/{name}")
    (made,) = terminal.here.iterdir()
    assert made.read_bytes() == b"content"
    assert made.name.isprintable()
    assert not made.name.startswith((".", "-"))


def test_a_file_to_standard_output(terminal: Terminal) -> None:
    """As it is, and nothing else."""
    (terminal.workspace / "out" / "a").write_text("grüße\x1b[2J\n")
    assert terminal.hermit("files", "get", "crab", "out/a", "-o", "-") == "grüße\x1b[2J\n"
    assert list(terminal.here.iterdir()) == []


def test_folders_come_as_archives(terminal: Terminal) -> None:
    """One folder, or everything."""
    (terminal.workspace / "out" / "a.txt").write_bytes(b"hello")
    assert terminal.hermit("files", "get", "--zip", "crab", "out") == "out.zip\n"
    assert terminal.hermit("files", "get", "crab", "--zip") == "crab.zip\n"
    for archive in ("out.zip", "crab.zip"):
        with zipfile.ZipFile(archive) as opened:
            assert opened.read("out/a.txt") == b"hello"
    assert "--zip" in terminal.refused("files", "get", "crab", "out")


def test_files_are_moved_and_folders_made(terminal: Terminal) -> None:
    """One to a new name, several into a folder; nothing is replaced, and what is found says where it lies."""
    for name in ("a", "b", "c d"):
        (terminal.workspace / "work" / name).write_text(name)
    assert terminal.hermit("files", "mkdir", "crab", "work/sub") == "work/sub/ is made.\n"
    assert terminal.hermit("files", "mv", "crab", "work/a", "work/e") == "work/a is now work/e\n"
    assert "folder" in terminal.refused("files", "mv", "crab", "work/b", "work/c d", "work/sub")
    said = terminal.hermit("files", "mv", "crab", "work/b", "work/c d", "work/sub/")
    assert said == "work/b is now work/sub/b\nwork/c d is now work/sub/c d\n"
    assert "already" in terminal.refused("files", "mv", "crab", "work/e", "work/sub/b")
    assert "work/sub/c d\n" in terminal.hermit("files", "ls", "crab", "--find", "c")
    assert (terminal.workspace / "work" / "sub" / "c d").read_text() == "c d"


def test_files_and_folders_are_deleted(terminal: Terminal) -> None:
    """Several at once; what is not there is said."""
    (terminal.workspace / "out" / "sub").mkdir()
    (terminal.workspace / "out" / "sub" / "a").touch()
    (terminal.workspace / "out" / "b").touch()
    assert (
        terminal.hermit("files", "rm", "--yes", "crab", "out/sub", "out/b")
        == "out/sub is deleted.\nout/b is deleted.\n"
    )
    assert "out/b is not there" in terminal.refused("files", "rm", "--yes", "crab", "out/b")
    assert "own folders" in terminal.refused("files", "rm", "--yes", "crab", "out")


@pytest.mark.parametrize("path", ["../../spare", "../../spare/", "out/../../../spare", "..", "./../../spare", "/x"])
@pytest.mark.parametrize("verb", ["ls", "get", "rm"])
def test_no_path_leads_to_another_address(terminal: Terminal, verb: str, path: str) -> None:
    """Where a client would fold it together with the API's own path: an agent is not deleted as a file."""
    terminal.install.services.agents.create({"name": "spare"})
    arguments = [verb, *(["--yes"] if verb == "rm" else []), "crab", path]
    assert "is not a path" in terminal.refused("files", *arguments)
    assert terminal.install.services.agents.get("spare").name == "spare"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("put", "crab", "nothing"), "nothing can't be read"),
        (("put", "crab", "folder"), "folder can't be read"),
        (("put", "nobody", "file"), "no agent called"),
        (("ls", "nobody"), "no agent called"),
        (("ls", "crab", "in/none"), "in/none is not there"),
        (("get", "crab", "in/none"), "in/none is not there"),
        (("get", "crab", "in/none", "--user", "77"), "no user 77"),
    ],
)
def test_what_goes_wrong_is_one_line(terminal: Terminal, arguments: tuple[str, ...], word: str) -> None:
    """That says what."""
    (terminal.here / "folder").mkdir()
    (terminal.here / "file").touch()
    assert word in terminal.refused("files", *arguments)


def test_a_list_of_a_file_says_so(terminal: Terminal) -> None:
    """And how to get it."""
    (terminal.workspace / "out" / "a.json").write_text('{"entries": [], "next": null}')
    assert "is a file" in terminal.refused("files", "ls", "crab", "out/a.json")


def test_a_message_takes_files_along(terminal: Terminal) -> None:
    """Sent first; the text may stand behind them, or be missing."""
    (terminal.here / "notes.txt").write_text("hello")
    (terminal.here / "b.txt").write_text("hi")
    line = '- "/app/workspace/in/notes.txt" (5 bytes, text/plain)'
    said = terminal.hermit("chat", "crab", "--file", "notes.txt", "--file", "b.txt", "What is this?")
    assert said.startswith("You said: What is this?\n")
    assert line in said
    assert "/in/b.txt" in said
    said = terminal.hermit("chat", "crab", "--file", "notes.txt")
    assert said.startswith("You said: Here is a file.\n")
    assert "notes-2.txt" in said
    assert "gone can't be read" in terminal.refused("chat", "crab", "--file", "gone", "What is this?")
