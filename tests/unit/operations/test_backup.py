"""``orchestrator.operations.backup``: what goes in comes out again, nothing else does, and nothing is half done."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.core.errors import BadInput, Conflict, OrchestratorError, Unavailable, UnsafePath
from orchestrator.core.home import Home, HomeLock, prepare_home
from orchestrator.operations.backup import manifest as layout
from orchestrator.operations.backup import restore as restoring
from orchestrator.operations.backup import tar_format as tape
from orchestrator.operations.backup import verify as reading
from orchestrator.operations.backup import write as writing
from orchestrator.operations.backup.manifest import Manifest, Member
from tests.support import home_fixture as kept_home
from tests.support.home_fixture import back_up, files, put_back, work_of
from tests.support.small_disks import mounted

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, bytes]:
    """An install, and a plain backup of it."""
    folder = tmp_path_factory.mktemp("whole")
    home = kept_home.make(folder / "home")
    (work_of(home.path) / "big").unlink()
    back_up(home, folder / "a.tar")
    return home, (folder / "a.tar").read_bytes()


# --- there and back --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["b.tar", "b.tar.gz", "b.tgz"])
def test_what_goes_in_comes_out(tmp_path: Path, name: str) -> None:
    """Files with their permissions and owners, keys, settings and rows are the same; what is of the moment is not
    there, and the file is its owner's alone."""
    home = kept_home.make(tmp_path / "home")
    written = back_up(home, tmp_path / name)
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    restored = put_back(tmp_path / name, tmp_path / "other" / "home")
    assert files(tmp_path / "other" / "home") == files(home.path)
    assert restored.before is None
    assert written.files == restored.checked.files
    assert prepare_home(tmp_path / "other" / "home").install == home.install == restored.checked.manifest.install
    there = {path.name for path in (tmp_path / "other" / "home").iterdir()}
    assert not there & {"scratch", "old.tar"}
    assert not list((tmp_path / "other" / "home" / "run").glob("x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, "home", "other"]
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["home"]


def test_any_tar_can_read_it(tmp_path: Path) -> None:
    """A person without HermitShell gets their files with the tools of every machine, and can check them."""
    home = kept_home.make(tmp_path / "home")
    back_up(home, tmp_path / "b.tgz")
    (tmp_path / "out").mkdir()
    subprocess.run(["/bin/tar", "-xzf", str(tmp_path / "b.tgz"), "-C", str(tmp_path / "out")], check=True)
    assert (work_of(tmp_path / "out") / "big").read_bytes() == (work_of(home.path) / "big").read_bytes()
    said = subprocess.run(["/usr/bin/sha256sum", "--strict", "-c", "SHA256SUMS"], cwd=tmp_path / "out", check=False,
                          capture_output=True)  # fmt: skip
    assert said.returncode == 0, said


def test_what_is_no_plain_file_is_left_out_and_counted(tmp_path: Path) -> None:
    """Links lead nowhere else, pipes make nobody wait, and a file that only claims to be huge fills no disk."""
    home = kept_home.make(tmp_path / "home")
    work = work_of(home.path)
    (tmp_path / "secret").write_text("the host's own")
    (work / "link").symlink_to(tmp_path / "secret")
    (work / "folder").symlink_to("/etc")
    os.mkfifo(work / "pipe")
    os.link(work / "notes.txt", work / "twin")
    with (work / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with (work / "holes").open("wb") as file:
        file.truncate(10_000_000)
    written = back_up(home, tmp_path / "b.tgz")
    assert written.notes.links == 5
    assert [line for line in written.notes.left_out if "huge" in line] == written.notes.left_out != []
    put_back(tmp_path / "b.tgz", tmp_path / "other")
    names = {path.name for path in work_of(tmp_path / "other").iterdir()}
    assert not names & {"link", "folder", "pipe", "notes.txt", "twin", "huge"}
    holes = (work_of(tmp_path / "other") / "holes").stat()
    assert (holes.st_size, holes.st_blocks < 1000) == (10_000_000, True)


def test_files_that_are_written_meanwhile_do_no_harm(tmp_path: Path) -> None:
    """They grow, shrink, come and go while they are copied: each backup is whole all the same."""
    home = kept_home.make(tmp_path / "home")
    work, ended = work_of(home.path), threading.Event()

    def busy() -> None:
        for number in range(1_000_000):
            if ended.is_set():
                return
            with (work / "grows").open("ab") as file:
                file.write(b"x" * 100_000)
            (work / "big").write_bytes(b"y" * (number % 6 * 1_000_000))
            (work / f"comes-{number % 5}").write_bytes(b"z")
            (work / f"comes-{(number + 2) % 5}").unlink(missing_ok=True)

    writer = threading.Thread(target=busy)
    writer.start()
    try:
        for number in range(5):
            back_up(home, tmp_path / f"{number}.tar")
    finally:
        ended.set()
        writer.join()
    put_back(tmp_path / "4.tar", tmp_path / "other")


def test_the_database_is_one_instant(tmp_path: Path) -> None:
    """Two rows that are always written together are both there or neither, and nobody who writes waits long."""
    home = kept_home.make(tmp_path / "home")
    ended, slowest = threading.Event(), [0.0]

    def busy() -> None:
        with closing(sqlite3.connect(home.database, isolation_level=None)) as db:
            for number in range(1_000_000):
                if ended.is_set():
                    return
                begun = time.monotonic()
                db.execute("BEGIN IMMEDIATE")
                db.execute("INSERT OR REPLACE INTO settings VALUES ('a', ?)", (str(number),))
                db.execute("INSERT OR REPLACE INTO settings VALUES ('b', ?)", (str(number),))
                db.execute("COMMIT")
                slowest[0] = max(slowest[0], time.monotonic() - begun)

    writer = threading.Thread(target=busy)
    writer.start()
    try:
        for number in range(10):
            back_up(home, tmp_path / f"{number}.tar")
            put_back(tmp_path / f"{number}.tar", tmp_path / f"home-{number}")
            with closing(sqlite3.connect(tmp_path / f"home-{number}" / "db" / "hermit.db")) as db:
                values = {row[0] for row in db.execute("SELECT value FROM settings WHERE key IN ('a', 'b')")}
            assert len(values) <= 1
    finally:
        ended.set()
        writer.join()
    assert slowest[0] < 5


def test_the_command_writes_to_a_pipe_too(tmp_path: Path) -> None:
    """Packed, with all that people read on the other stream; the whole comes back by the other command."""
    home = kept_home.make(tmp_path / "home")
    with (tmp_path / "b").open("wb") as out:
        process = _hermit(home.path, "backup", "-", output=out)
        assert process.wait(60) == 0
    process = _hermit(tmp_path / "other", "restore", str(tmp_path / "b"))
    assert process.wait(60) == 0
    assert files(tmp_path / "other") == files(home.path)


# --- where it may go -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("home/workspaces/crab/1/work/b.tar", "only be in the folder backups"),
        ("home/b.tar", "only be in the folder backups"),
        ("nowhere/b.tar", "no folder"),
        ("there.tar", "there already"),
        ("folder.tar", "there already|not a regular file"),
        ("link.tar", "not a regular file"),
        ("b.zip", "must end in"),
    ],
)
def test_refuses_places(tmp_path: Path, name: str, error: str) -> None:
    """Where agents could reach it, where something is, or where nothing can be; and nothing is left anywhere."""
    home = kept_home.make(tmp_path / "home")
    (tmp_path / "there.tar").write_text("mine")
    (tmp_path / "folder.tar").mkdir()
    (tmp_path / "link.tar").symlink_to(tmp_path / "nowhere.tar")
    with pytest.raises(OrchestratorError, match=error):
        back_up(home, tmp_path / name)
    assert (tmp_path / "there.tar").read_text() == "mine"
    assert not list(tmp_path.rglob("*.part"))


def test_force_replaces_a_file_once_the_new_one_is_good(tmp_path: Path) -> None:
    """A file that is there stays until then; the folder for backups in HERMIT_HOME may be used."""
    home = kept_home.make(tmp_path / "home")
    target = home.backups / "b.tar"
    target.write_text("mine")
    back_up(home, target, force=True)
    with target.open("rb") as file:
        assert reading.check_backup(file).manifest.agents == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """4 MiB."""
    with mounted(tmp_path / "disk", "size=4m") as disk:
        yield disk


def test_a_full_disk_leaves_nothing_behind(small_disk: Path, tmp_path: Path) -> None:
    """Neither of a backup nor of a restore, and both say it."""
    home = kept_home.make(tmp_path / "home")
    with pytest.raises(Unavailable, match="no room"):
        back_up(home, small_disk / "b.tar")
    assert list(small_disk.iterdir()) == []
    back_up(home, tmp_path / "b.tar")
    with pytest.raises(Unavailable, match="there is less"):
        put_back(tmp_path / "b.tar", small_disk / "home")
    assert list(small_disk.iterdir()) == []


def test_a_backup_on_the_installs_disk_leaves_it_its_reserve(small_disk: Path) -> None:
    """It gives up before the install has no room to write."""
    home = prepare_home(small_disk / "home")
    (small_disk / "filler").write_bytes(b"x" * 4_100_000)
    with pytest.raises(Unavailable, match="too full"):
        writing.keeps_reserve(home.path, home.backups)()


# --- hostile and broken files ----------------------------------------------------------------------------------


def _check(data: bytes) -> reading.Checked:
    return reading.check_backup(io.BytesIO(data))


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_cut_backup_is_noticed(whole: tuple[Home, bytes], data: st.DataObject) -> None:
    """Wherever it ends, packed or not."""
    plain = whole[1]
    source = gzip.compress(plain, 1) if data.draw(st.booleans()) else plain
    at = data.draw(st.integers(0, len(source) - 1))
    with pytest.raises(OrchestratorError):
        _check(source[:at])


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_is_noticed(whole: tuple[Home, bytes], data: st.DataObject) -> None:
    """Or it changes nothing that is used, such as an owner's name in a header."""
    source = whole[1]
    at = data.draw(st.integers(0, len(source) - 1))
    changed = bytearray(source)
    changed[at] ^= data.draw(st.integers(1, 255))
    try:
        found = _check(bytes(changed))
    except OrchestratorError:
        return
    assert found.digest == _check(source).digest


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=3000), st.binary(max_size=1500).map(gzip.compress)))
def test_what_is_no_backup_is_a_sentence(data: bytes) -> None:
    """Any bytes at all: no other exception, no hang."""
    with pytest.raises(OrchestratorError):
        _check(data)


NAMES = st.lists(
    st.sampled_from([b"..", b".", b"", b"a", b"b", b"db", b"run", b"\0", b"x" * 256, b"SHA256SUMS"]), max_size=4
)


def _archive(members: list[tuple[Member, bytes]], *, most_bytes: int = 1 << 20) -> bytes:
    """What somebody makes who knows how: all hashes are right."""
    manifest = Manifest("ab12", (), 1.0, 0, 0, 0, most_bytes, 1000)
    text = manifest.encoded()
    everything = [(Member(layout.MANIFEST, False, len(text)), text), *members]
    lines = b"".join(layout.sum_line(member, layout_digest(content)) for member, content in everything)
    everything.append((Member(layout.SUMS, False, len(lines)), lines))
    parts = [tape.member_header(member) + content + tape.member_padding(member.size) for member, content in everything]
    return b"".join(parts) + tape.END


def layout_digest(content: bytes) -> str:
    """Its SHA-256."""
    return hashlib.sha256(content).hexdigest()


@settings(max_examples=300)
@given(st.lists(st.tuples(NAMES, st.booleans(), st.binary(max_size=9)), max_size=6))
def test_no_name_leads_out(members: list[tuple[list[bytes], bool, bytes]]) -> None:
    """Whatever names an archive has, those that are let through are plain, go down, and come once each, in a folder
    that was there before."""
    made = [
        (Member(tuple(name), is_folder, 0 if is_folder else len(content)), b"" if is_folder else content)
        for name, is_folder, content in members
    ]
    seen: set[tuple[bytes, ...]] = set()
    folders: set[tuple[bytes, ...]] = {()}
    try:
        with reading.open_backup(io.BytesIO(_archive(made))) as found:
            for member, chunks in found.read_members():
                assert b"".join(chunks) is not None
                assert member.parts not in seen
                assert member.parts[:-1] in folders
                assert not {b"", b".", b".."} & set(member.parts)
                assert not any(b"/" in part or b"\0" in part for part in member.parts)
                assert member.parts[0] not in layout.LEFT_OUT
                seen.add(member.parts)
                folders |= {member.parts} if member.is_folder else set()
    except OrchestratorError:
        return


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, b"L", b"S", b"g"]
)
def test_links_devices_and_the_like_are_refused(kind: bytes) -> None:
    """They are in no backup of ours."""
    info = tarfile.TarInfo("db")
    info.type, info.linkname = kind, "/etc"
    block = info.tobuf(tarfile.USTAR_FORMAT)
    text = Manifest("ab12", (), 1.0, 0, 0, 0, 1, 1).encoded()
    head = tape.member_header(Member(layout.MANIFEST, False, len(text))) + text + tape.member_padding(len(text))
    with pytest.raises(BadInput):
        _check(head + block + tape.END)


@pytest.mark.parametrize(
    ("names", "error"),
    [
        ([(b"/etc", b"x")], UnsafePath),
        ([(b"..", b"x")], UnsafePath),
        ([(b"a",), (b"a",)], UnsafePath),
        ([(b"b",), (b"a",)], UnsafePath),
        ([(b"a",), (b"a", b"b")], UnsafePath),
        ([(b"a", b"b")], UnsafePath),
        ([(b"run",)], UnsafePath),
    ],
)
def test_tricks_with_names_are_refused(names: list[tuple[bytes, ...]], error: type[Exception]) -> None:
    """Absolute, upwards, twice, out of order, within a file, within nothing, and of the moment."""
    with pytest.raises(error):
        _check(_archive([(Member(name, False, 1), b"x") for name in names]))


def test_more_than_the_manifest_says_is_refused() -> None:
    """However well it is packed, it stops there."""
    data = gzip.compress(_archive([(Member((b"a",), False, 5000), b"\0" * 5000)], most_bytes=4999))
    with pytest.raises(BadInput, match="more than it lists"):
        _check(data)


def test_an_archive_without_an_install_is_no_backup(tmp_path: Path) -> None:
    """Good hashes alone are not enough; HERMIT_HOME is as it was."""
    (tmp_path / "b.tar").write_bytes(_archive([(Member((b"a",), False, 1), b"x")]))
    with pytest.raises(BadInput, match="no database"):
        put_back(tmp_path / "b.tar", tmp_path / "home")
    assert [path.name for path in tmp_path.iterdir()] == ["b.tar"]


def test_a_newer_backup_is_refused(tmp_path: Path) -> None:
    """One that had migrations which this version does not know, and one of another format."""
    text = Manifest("ab12", ("m999_later",), 1.0, 0, 0, 0, 1, 1).encoded()
    for content in (text, text.replace(b'"format": 1', b'"format": 2')):
        lines = layout.sum_line(Member(layout.MANIFEST, False, len(content)), layout_digest(content))
        data = b"".join(
            tape.member_header(Member(name, False, len(body))) + body + tape.member_padding(len(body))
            for name, body in ((layout.MANIFEST, content), (layout.SUMS, lines))
        )
        (tmp_path / "b.tar").write_bytes(data + tape.END)
        with pytest.raises(OrchestratorError, match="newer HermitShell"):
            put_back(tmp_path / "b.tar", tmp_path / "home")
    assert [path.name for path in tmp_path.iterdir()] == ["b.tar"]


# --- what is there already -------------------------------------------------------------------------------------


def test_an_install_that_is_there_is_kept(tmp_path: Path) -> None:
    """Without --force nothing is touched; with it, the old one is found under the name that is said."""
    back_up(kept_home.make(tmp_path / "home"), tmp_path / "b.tar")
    other = kept_home.make(tmp_path / "other").path
    before = files(other)
    with pytest.raises(Conflict, match="not empty"):
        put_back(tmp_path / "b.tar", other)
    assert files(other) == before
    restored = put_back(tmp_path / "b.tar", other, force=True)
    assert restored.before is not None
    assert restored.before.name.startswith("other.before-restore-")
    assert files(restored.before) == before
    assert files(other) == files(tmp_path / "home")
    assert not (tmp_path / "other.restoring").exists()


def test_folders_with_nothing_in_them_are_empty(tmp_path: Path) -> None:
    """A home that was only laid out is none."""
    back_up(kept_home.make(tmp_path / "home"), tmp_path / "b.tar")
    (tmp_path / "other" / "workspaces" / "deeper").mkdir(parents=True)
    assert put_back(tmp_path / "b.tar", tmp_path / "other").before is None
    assert files(tmp_path / "other") == files(tmp_path / "home")


def test_a_running_install_is_left_alone(tmp_path: Path) -> None:
    """Not even --force takes its folder from under it."""
    home = kept_home.make(tmp_path / "home")
    back_up(home, tmp_path / "b.tar")
    claim = HomeLock(home)
    with pytest.raises(Conflict, match="Stop it first"):
        put_back(tmp_path / "b.tar", home.path, force=True)
    claim.release()
    put_back(tmp_path / "b.tar", home.path, force=True)


def test_whatever_stops_it_before_the_move_changes_nothing(tmp_path: Path) -> None:
    """The install that is there is what it was, and nothing lies beside it."""
    back_up(kept_home.make(tmp_path / "home"), tmp_path / "b.tar")
    before = files(tmp_path / "home")

    def refuse() -> None:
        raise Unavailable("The engine does not answer.")

    with pytest.raises(Unavailable, match="engine"):
        put_back(tmp_path / "b.tar", tmp_path / "home", force=True, make_way=refuse)
    assert files(tmp_path / "home") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar", "home"]


# --- killed ----------------------------------------------------------------------------------------------------


def _hermit(home: Path, *arguments: str, output: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HERMIT_")}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "orchestrator", *arguments],
        env={**environment, "HERMIT_HOME": str(home), "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=output or subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _killed_when(process: subprocess.Popen[bytes], is_time: Callable[[], bool]) -> None:
    """SIGKILL as soon as something is to be seen, or not at all when it was faster."""
    while process.poll() is None and not is_time():
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait(20)


@pytest.mark.parametrize("part", [0, 0.01, 0.5, 0.99])
def test_a_killed_backup_leaves_no_backup(tmp_path: Path, part: float) -> None:
    """Nothing has the file's name; the next backup is whole and leaves nothing of the one before."""
    home = kept_home.make(tmp_path / "home")
    target, fragment = tmp_path / "b.tar", tmp_path / "b.tar.part"
    _killed_when(
        _hermit(home.path, "backup", str(target)),
        lambda: fragment.exists() and fragment.stat().st_size >= part * 5_000_000,
    )
    target.unlink(missing_ok=True)
    back_up(home, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar", "home"]
    assert sorted(path.name for path in home.backups.iterdir()) == ["old.tar"]


@pytest.mark.parametrize("sign", ["", "home", "home/workspaces", "complete.json"])
def test_a_killed_restore_has_not_begun_or_is_finished_by_the_next(tmp_path: Path, sign: str) -> None:
    """The install is the old one or the new one whole; after the same command again it is the new one, and the old
    one is kept, once.
    """
    home = kept_home.make(tmp_path / "home")
    back_up(home, tmp_path / "b.tar")
    new = files(home.path)
    (home.path / "hermit.env").write_text("HERMIT_PORT=3200\n")
    old = files(home.path)
    stage = tmp_path / "home.restoring"
    _killed_when(_hermit(home.path, "restore", str(tmp_path / "b.tar"), "--force"), (stage / sign).exists)
    assert files(home.path) in (old, new)
    put_back(tmp_path / "b.tar", home.path, force=True)
    assert files(home.path) == new
    assert not stage.exists()
    kept = [path for path in tmp_path.iterdir() if ".before-restore-" in path.name]
    assert old in [files(path) for path in kept]


@pytest.mark.parametrize("is_start", [False, True], ids=["restore", "start"])
@pytest.mark.parametrize("at", ["marked", "exchanged", "renamed", "half"])
def test_every_moment_of_the_move_is_finished(tmp_path: Path, at: str, *, is_start: bool) -> None:
    """Whichever of its few steps was the last, the next restore sees it and keeps the old install, and so does the next
    start."""
    home = kept_home.make(tmp_path / "home").path
    back_up(prepare_home(home), tmp_path / "b.tar")
    put_back(tmp_path / "b.tar", tmp_path / "fresh")
    old = files(home)
    stage, before = tmp_path / "home.restoring", tmp_path / "home.before-restore-x"
    stage.mkdir()
    (tmp_path / "fresh").rename(stage / "home")
    with (tmp_path / "b.tar").open("rb") as file:
        restoring._mark(stage, reading.check_backup(file).digest, before)
    if at == "exchanged":
        home.rename(tmp_path / "aside")
        (stage / "home").rename(home)
        (tmp_path / "aside").rename(stage / "home")
    elif at in ("renamed", "half"):
        home.rename(before)
        if at == "renamed":
            (stage / "home").rename(home)
    if is_start:
        restoring.finish_restore(home)
        assert (before.exists(), stage.exists(), files(home)) == (at != "marked", False, old)
        return
    restored = put_back(tmp_path / "b.tar", home, force=True)
    assert restored.before is not None
    assert files(restored.before) == old
    assert (restored.before == before) == (at != "marked")
    assert not stage.exists()
    assert files(home) == old
