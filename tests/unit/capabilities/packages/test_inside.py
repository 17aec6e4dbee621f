"""What the package resolver makes of npm's plan, and how packages that lie in a cubicle are installed there:
without an index, without scripts, and nowhere but where they belong.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import io
import json
import os
import tarfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from crab import hermit_install
from tests.support.package_index import tarball

ROOT = Path(__file__).resolve().parents[4]
INTEGRITY = "sha512-" + base64.b64encode(hashlib.sha512(b"x").digest()).decode()


@pytest.fixture(scope="module")
def resolver() -> ModuleType:
    """The program that runs in the package resolver's container."""
    spec = importlib.util.spec_from_file_location("resolver_program", ROOT / "cubicle" / "resolver.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entry(**more: Any) -> dict[str, Any]:
    """A package in npm's plan."""
    return {"version": "1.0.0", "resolved": "https://r.example/x.tgz", "integrity": INTEGRITY, **more}


def test_a_plan_is_read(resolver: ModuleType) -> None:
    """Name, version, address, hash; a file of its own name."""
    read = resolver._tarball("node_modules/a/node_modules/@s/b", entry())
    digest = hashlib.sha512(b"x").hexdigest()
    assert (read["name"], read["hash"], read["file"]) == ("@s/b", f"sha512:{digest}", f"s-b-1.0.0-{digest[:8]}.tgz")


@pytest.mark.parametrize(
    "more",
    [
        {"link": True},
        {"resolved": "git+ssh://git@x.example/a.git#1"},
        {"resolved": "file:../a"},
        {"integrity": "sha1-abc="},
        {"integrity": ""},
        {"dependencies": {"b": "git+https://x.example/b.git"}},
        {"dependencies": {"b": "https://10.0.0.1/b.tgz"}},
        {"dependencies": {"b": "someone/b"}},
    ],
)
def test_packages_from_elsewhere_are_not_taken(resolver: ModuleType, more: dict[str, Any]) -> None:
    """An address of its own, a folder, or a weak hash."""
    with pytest.raises(resolver.Failed):
        resolver._tarball("node_modules/a", entry(**more))


@pytest.mark.parametrize(
    "more",
    [
        {"os": ["darwin"], "optional": True},
        {"os": ["!linux"], "optional": True},
        {"cpu": ["mips"], "optional": True},
        {"libc": ["musl"], "optional": True},
    ],
)
def test_what_is_for_other_machines_is_left_out(resolver: ModuleType, more: dict[str, Any]) -> None:
    """As npm itself does; a package that is needed is a failure."""
    assert not resolver._fits_here("node_modules/a", entry(**more))
    with pytest.raises(resolver.Failed):
        resolver._fits_here("node_modules/a", entry(**{**more, "optional": False}))


@pytest.mark.parametrize(
    "more", [{}, {"os": ["linux", "darwin"], "optional": True}, {"os": ["!win32"]}, {"os": "linux"}]
)
def test_what_is_for_this_machine_is_taken(resolver: ModuleType, more: dict[str, Any]) -> None:
    """Said or not."""
    assert resolver._fits_here("node_modules/a", entry(**more))


@pytest.mark.parametrize(
    ("system", "said", "word"),
    [
        ("pip", "ERROR: No matching distribution found for async-timeout-ssl", "not_found"),
        ("pip", "WARNING: Retrying (Retry(total=1)) broken\nERROR: No matching distribution", "unreachable"),
        ("pip", "ERROR: ResolutionImpossible: for help", "conflict"),
        ("pip", "ERROR: OSError: [Errno 28] No space left on device", "too_large"),
        ("pip", "Traceback", "failed"),
        ("npm", "npm ERR! code E404\nnpm ERR! 404", "not_found"),
        ("npm", "npm ERR! code ECONNREFUSED", "unreachable"),
        ("npm", "npm ERR! code ERESOLVE", "conflict"),
        ("npm", "Segmentation fault", "failed"),
    ],
)  # fmt: skip
def test_what_pip_and_npm_complain_of(resolver: ModuleType, system: str, said: str, word: str) -> None:
    """A word for it."""
    assert resolver._word_for(system, said) == word


def test_names_and_passwords_of_an_index(resolver: ModuleType) -> None:
    """They go to that index alone, and into no report."""
    task = {"pip_index_url": "https://me:p%40ss@pypi.example/simple/", "npm_registry": ""}
    secret = base64.b64encode(b"me:p@ss").decode()
    assert resolver._identity(task, "https://pypi.example/f.whl") == {"Authorization": f"Basic {secret}"}
    for other in ("https://files.example/f.whl", "http://pypi.example/f.whl"):
        assert resolver._identity(task, other) == {}
    assert resolver._redacted("at https://me:p%40ss@pypi.example/simple/") == "at https://pypi.example/simple/"


# --- in the cubicle ------------------------------------------------------------------------------------------------


def shelf(folder: Path, tarballs: dict[str, tuple[bytes, list[str]]]) -> str:
    """A folder as the host lays it into ``data/packages``."""
    folder.mkdir()
    packages = []
    for file, (content, places) in tarballs.items():
        (folder / file).write_bytes(content)
        sha256 = hashlib.sha256(content).hexdigest()
        packages.append({"name": file, "version": "1", "file": file, "sha256": sha256, "places": places})
    (folder / "packages.json").write_text(json.dumps({"system": "npm", "packages": packages}))
    return str(folder)


def archive(*entries: tuple[str, bytes | None, int, str]) -> bytes:
    """A tarball of names, contents, types and links."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, content, kind, link in entries:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size, info.mode = bytes([kind]), link, len(content or b""), 0o6777
            made.addfile(info, io.BytesIO(content or b""))
    return gzip.compress(buffer.getvalue())


FILE, HARD, SOFT, DEVICE = tarfile.REGTYPE[0], tarfile.LNKTYPE[0], tarfile.SYMTYPE[0], tarfile.CHRTYPE[0]


def test_a_tree_is_laid_out(tmp_path: Path) -> None:
    """Each at its place, an older one replaced with all that lay within it; commands are linked."""
    (tmp_path / "work" / "node_modules" / "a" / "node_modules" / "old").mkdir(parents=True)
    folder = shelf(
        tmp_path / "1",
        {
            "b.tgz": (tarball({"i.js": "b"}), ["node_modules/b", "node_modules/a/node_modules/b"]),
            "a.tgz": (
                tarball({"package.json": '{"name": "@s/a", "bin": "x/run.js"}', "x/run.js": "a"}),
                ["node_modules/a"],
            ),
        },
    )
    assert hermit_install.main([folder, str(tmp_path / "work")]) == 0
    modules = tmp_path / "work" / "node_modules"
    assert (modules / "a" / "node_modules" / "b" / "i.js").read_text() == "b"
    assert not (modules / "a" / "node_modules" / "old").exists()
    assert (modules / ".bin" / "a").readlink() == Path("../a/x/run.js")
    assert os.access(modules / ".bin" / "a", os.X_OK)
    assert sorted(path.name for path in modules.iterdir()) == [".bin", "a", "b"]


@pytest.mark.parametrize(
    "content",
    [
        archive(("package/../../../evil", b"x", FILE, "")),
        archive(("package/ok", b"x", FILE, ""), ("package/../../evil", b"x", FILE, "")),
        b"no tarball at all",
        gzip.compress(b"cut short")[:-4],
    ],
    ids=["up", "up after a good one", "no tarball", "cut short"],
)
def test_nothing_is_written_elsewhere(tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """A name that leads out, or no tarball: a sentence, and nothing half done is left."""
    folder = shelf(tmp_path / "1", {"a.tgz": (content, ["node_modules/a"])})
    assert hermit_install.main([folder, str(tmp_path / "work")]) == 1
    assert capfd.readouterr().err.startswith("hermit: ")
    assert [path for path in tmp_path.rglob("*") if path.name in ("evil", "a") or path.suffix == ".new"] == []


def test_links_and_devices_are_left_out(tmp_path: Path) -> None:
    """Plain files alone, without set-uid bits."""
    content = archive(
        ("package/ok", b"x", FILE, ""),
        ("package/soft", None, SOFT, "/etc/passwd"),
        ("package/hard", None, HARD, "/etc/passwd"),
        ("package/device", None, DEVICE, ""),
        ("/package/abs", b"x", FILE, ""),
    )
    folder = shelf(tmp_path / "1", {"a.tgz": (content, ["node_modules/a"])})
    assert hermit_install.main([folder, str(tmp_path / "work")]) == 0
    made = tmp_path / "work" / "node_modules" / "a"
    assert sorted(path.name for path in made.iterdir()) == ["abs", "ok"]
    assert (made / "ok").stat().st_mode & 0o7777 == 0o755


def test_another_file_than_listed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is installed."""
    folder = shelf(tmp_path / "1", {"a.tgz": (tarball({"i.js": "a"}), ["node_modules/a"])})
    (tmp_path / "1" / "a.tgz").write_bytes(tarball({"i.js": "b"}))
    assert hermit_install.main([folder, str(tmp_path / "work")]) == 1
    assert "not what the host's list says" in capfd.readouterr().err
    assert not (tmp_path / "work").exists()
