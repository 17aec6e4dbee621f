"""What the cubicle's image is made of, how a build is followed, and where the base comes from."""

from __future__ import annotations

import io
import socketserver
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import docker
import pytest

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup import base_image
from orchestrator.engine.setup.apt import carried_settings
from orchestrator.engine.setup.base_image import Archive, archive_of
from orchestrator.engine.setup.cubicle_image import content_hash, context_files, context_tar, follow_build
from orchestrator.engine.setup.machine import CommandResult
from orchestrator.engine.setup.progress import SetupProgress, Task
from tests.support.fake_machine import FakeMachine


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small repository with things that must not enter an image."""
    for name, text in {
        "cubicle/Dockerfile": "FROM x",
        "cubicle/install": "#!/bin/sh\n",
        "cubicle/seccomp.json": "{}",
        "crab/agent.py": "pass",
        "crab/prompt.md": "Be kind.",
        "crab/__pycache__/agent.pyc": "stale",
        "crab/.agent.py.swp": "open in an editor",
        "data/workspaces/crab/1/work/secret.py": "agent's",
        "requirements.lock": "x",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "crab/leak.py").symlink_to("/etc/passwd")
    return tmp_path


def test_only_the_images_own_files_enter_a_build(repository: Path) -> None:
    """Nothing of a workspace, no link, no leftover."""
    assert list(context_files(repository)) == [
        "crab/agent.py",
        "crab/prompt.md",
        "cubicle/Dockerfile",
        "cubicle/install",
    ]


@pytest.mark.parametrize("target", ["resolver", "browser"])
def test_what_is_thrown_away_has_an_image_of_its_own(repository: Path, target: Literal["resolver", "browser"]) -> None:
    """It is made of three files, which no cubicle's image has; a change of the crab leaves it as it is."""
    for name in (f"{target}.Dockerfile", f"{target}.py"):
        (repository / "cubicle" / name).write_text("x")
    files = context_files(repository, target)
    assert set(files) == {f"cubicle/{target}.Dockerfile", f"cubicle/{target}.py", "cubicle/install"}
    assert not any(target in name for name in context_files(repository, "studio"))
    (repository / "crab/agent.py").write_text("pass  # changed")
    assert context_files(repository, target) == files


def test_the_context_is_the_same_whoever_wrote_the_files(repository: Path) -> None:
    """Owners, times and modes of the checkout do not matter; a script stays a program."""
    before = context_tar(context_files(repository))
    for path in (repository / "crab").iterdir():
        if not path.is_symlink():
            path.chmod(0o700)
    (repository / "crab/agent.py").touch()
    assert context_tar(context_files(repository)) == before
    with tarfile.open(fileobj=io.BytesIO(before)) as tar:
        assert {m.name: (m.uid, m.mtime, m.mode) for m in tar}["cubicle/install"] == (0, 0, 0o755)


def test_every_change_makes_another_image(repository: Path) -> None:
    """The crab's code, the target and the base each count; the filter, which is no part of the image, does not."""
    first = content_hash(context_files(repository), "base", "sha256:1")
    assert content_hash(context_files(repository), "studio", "sha256:1") != first
    assert content_hash(context_files(repository), "base", "sha256:2") != first
    (repository / "cubicle/seccomp.json").write_text('{"changed": true}')
    assert content_hash(context_files(repository), "base", "sha256:1") == first
    (repository / "crab/agent.py").write_text("pass  # changed")
    assert content_hash(context_files(repository), "base", "sha256:1") != first


def followed(events: list[dict[str, Any]], log: Path) -> tuple[str, str]:
    shown = io.StringIO()
    failure = follow_build(events, log, Task("Building", shown, lambda: 0.0))
    return failure, shown.getvalue()


def test_a_build_is_shown_in_a_persons_words(tmp_path: Path) -> None:
    """Steps that run something are milestones; the log has everything."""
    events: list[dict[str, Any]] = [
        {"stream": "Step 1/3 : FROM debian\n"},
        {"stream": "Step 2/3 : RUN /usr/local/sbin/cubicle-install git\n"},
        {"stream": "step: installing 1 package\n"},
        {"stream": "Unpacking git (1:2.39)\n"},
        {"stream": "Successfully built abc\n"},
        {"aux": {"ID": "sha256:abc"}},
    ]
    failure, shown = followed(events, tmp_path / "log")
    assert failure == ""
    assert shown == "Building …\n  step 2/3: Debian packages\n  installing 1 package\n"
    assert "Unpacking git" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["Reading lists", "E: Unable to fetch some archives", "done"], "E: Unable to fetch some archives"),
        (["\x1b[91mgcc does not belong into a cubicle\n\x1b[0m", "Removing intermediate container 1"], "gcc does not"),
        ([], "The command '/bin/sh' returned a non-zero code: 1"),
    ],
)
def test_a_failed_build_says_why(tmp_path: Path, said: list[str], why: str) -> None:
    """The reason is the tool's own complaint; the log ends with what was said last."""
    error = {"error": "The command '/bin/sh' returned a non-zero code: 1"}
    failure, _ = followed([*({"stream": f"{line}\n"} for line in said), error], tmp_path / "log")
    assert failure.startswith(why)
    assert "Its last output:" in (tmp_path / "log").read_text()


DEB822 = """Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main contrib
"""


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([DEB822], Archive("http://mirror.example/debian", "http://mirror.example/debian-security")),
        (
            ["deb [signed-by=/k.gpg] https://m.example/debian/ trixie main\ndeb-src https://s.example/debian x main"],
            Archive("https://m.example/debian/", ""),
        ),
        (["deb http://archive.example/ubuntu jammy main universe"], Archive()),
        (["deb https://vendor.example/linux/debian bookworm stable"], Archive()),
        (["deb https://pg.example/apt bookworm-pgdg main"], Archive()),
        (["deb cdrom:[Debian]/ bookworm main", "# deb http://off.example/debian bookworm main"], Archive()),
        (
            [DEB822.replace("Types: deb\n# a", "Enabled: no\nTypes: deb\n# a")],
            Archive("", "http://mirror.example/debian-security"),
        ),
        ([], Archive()),
    ],
)
def test_the_hosts_debian_mirror_is_used(sources: list[str], expected: Archive) -> None:
    """Only an archive of Debian itself serves; other vendors' do not."""
    assert archive_of(sources) == expected


def test_only_what_apt_needs_is_carried_into_a_build(tmp_path: Path) -> None:
    """A proxy is; hooks and the rest of the host's configuration are not."""
    dump = (
        'Acquire::http::Proxy "http://proxy:3142";\nAcquire::https::Proxy::deb.example.org "DIRECT";\n'
        'Acquire::Check-Valid-Until "false";\nAPT::Update::Post-Invoke:: "rm -rf /";\nAcquire::http::Proxy "a b; c";\n'
    )
    machine = FakeMachine(tmp_path, commands={"apt-config"}, says={"apt-config dump": CommandResult(0, dump)})
    assert carried_settings(machine) == (
        "-o Acquire::http::Proxy=http://proxy:3142 -o Acquire::https::Proxy::deb.example.org=DIRECT"
        " -o Acquire::Check-Valid-Until=false"
    )
    assert carried_settings(FakeMachine(tmp_path, commands=set())) == ""


class Registry(socketserver.ThreadingUnixStreamServer):
    """An engine's socket whose pulls end as told; ``None`` is a registry that says nothing."""

    daemon_threads = True
    answer: bytes | None = None
    asked = ""

    def __init__(self, path: Path) -> None:
        self.released = threading.Event()
        super().__init__(str(path), _Pull)


class _Pull(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Registry)
        self.server.asked = self.rfile.readline().decode()
        while self.rfile.readline().strip():
            pass
        if self.server.answer is None:
            self.server.released.wait(10)
        else:
            self.wfile.write(self.server.answer)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with Registry(tmp_path / "engine.sock") as server:
        thread = threading.Thread(target=server.serve_forever, name="registry", kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("answer", "pulled"),
    [
        (b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"status": "Pulling"}\r\n{"status": "Done"}\r\n', True),
        (b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"status": "Pulling"}\r\n{"error": "no route"}\r\n', False),
        (b'HTTP/1.1 500 No\r\nConnection: close\r\n\r\n{"message": "dial tcp: no route to host"}', False),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nnot JSON\r\n", False),
        (b"", False),
        (None, False),
    ],
)
def test_a_registry_is_tried_and_left_soon(
    registry: Registry,
    tmp_path: Path,
    answer: bytes | None,
    pulled: bool,  # noqa: FBT001 - a table's column
) -> None:
    """Whatever goes wrong, silence too, means going on without it."""
    registry.answer = answer
    client = docker.DockerClient(base_url=f"unix://{tmp_path}/engine.sock", version="1.41")
    task = Task("Looking", io.StringIO(), lambda: 0.0)
    assert base_image._pull_image(client, task, silence_s=0.2) is pulled
    assert registry.asked.startswith("POST /v1.41/images/create?fromImage=debian&tag=bookworm-slim ")
    client.close()


class NoEngine:
    """An engine that nothing may be asked of."""


def made_base(machine: FakeMachine) -> str:
    with pytest.raises(Unavailable) as caught:
        base_image._make_image(NoEngine(), machine, SetupProgress(io.StringIO()))  # type: ignore[arg-type] # it fails before
    assert "\n" not in caught.value.message
    return caught.value.message


def leftovers() -> set[Path]:
    return set(Path("/var/tmp").glob("hermitshell-base-*"))


NO_RELEASE = CommandResult(1, "I: Retrieving\nE: Couldn't download release\n")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"root": False}, "needs root: run 'docker pull debian:bookworm-slim'"),
        ({"commands": set()}, "debootstrap is missing"),
        ({"free": 3 << 20}, "has 3 MB left"),
        ({"says": {"debootstrap": NO_RELEASE, "unshare": CommandResult(1, "")}},
         "Couldn't download release. Can this machine reach a Debian archive?"),
        ({"says": {"unshare --mount debootstrap": CommandResult(1, "tar: no space left")}}, "tar: no space left"),
        ({"says": {"unshare --mount debootstrap": Unavailable("debootstrap took longer than 900 s.")}}, "took longer"),
    ],
)  # fmt: skip
def test_a_base_that_cannot_be_made_says_why(tmp_path: Path, setting: dict[str, Any], words: str) -> None:
    """One sentence each, and no folder is left behind."""
    before = leftovers()
    machine = FakeMachine(tmp_path)
    for name, value in setting.items():
        setattr(machine, name, value)
    assert words in made_base(machine)
    assert leftovers() == before
