"""The contract of an engine, tried on the real one: start, poll, stop, remove, ours, stats, whatever state it is in."""

from __future__ import annotations

import itertools
import os
import secrets
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import docker
import pytest

from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.core.models import Container, CubicleKey, CubicleLimits, CubicleSpec, Mounts
from orchestrator.engine.docker.cubicles import DockerCubicles
from tests.support.real_app import eventually, explain, sweep

pytestmark = pytest.mark.docker

UID = 20_500
LIMITS = CubicleLimits(cpus=0.5, memory_mb=128, pids=64, disk_mb=64)
_NUMBERS = itertools.count(1)


@dataclass
class Bench:
    """An engine for one install, and specs to start with it."""

    client: docker.DockerClient
    image: str
    folder: Path
    install: str = field(default_factory=lambda: f"t{secrets.token_hex(4)}")

    def __post_init__(self) -> None:
        self.engine = DockerCubicles(self.client, self.install)

    def spec(self, agent: str | None = None) -> CubicleSpec:
        """A cubicle of its own."""
        agent = agent or f"e{next(_NUMBERS)}"
        folders = {}
        for name in ("work", "inbox", "out", "www", "data", "run"):
            folders[name] = self.folder / agent / name
            folders[name].mkdir(parents=True)
            if os.geteuid() == 0:
                os.chown(folders[name], UID, UID)
        uid = UID if os.geteuid() == 0 else os.geteuid()
        return CubicleSpec(
            name=f"hermit-{self.install}-{agent}-7",
            install=self.install,
            home=str(self.folder),
            key=CubicleKey(agent, 7),
            image=self.image,
            uid=uid,
            gid=uid,
            mounts=Mounts(**folders),
            limits=LIMITS,
        )

    def started(self) -> tuple[CubicleSpec, Container]:
        """A cubicle that runs."""
        spec = self.spec()
        return spec, self.engine.start(spec)

    def all_named(self, name: str) -> list[str]:
        """The ids of the containers of that name; there can be one at most, unless something is very wrong."""
        return [found["Id"] for found in self.client.api.containers(all=True, filters={"name": f"^/{name}$"})]

    def diagnostics(self) -> str:
        """For a test that failed."""
        return explain(self.client, self.install)


@pytest.fixture(scope="module")
def bench(client: docker.DockerClient, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One install for the tests of this module; each starts cubicles of its own."""
    made = Bench(client, image, tmp_path_factory.mktemp("bench"))
    yield made
    sweep(client, made.install)


# --- starting --------------------------------------------------------------------------------------------------


def test_a_started_cubicle_runs(bench: Bench) -> None:
    """It carries its key, its image and the labels of its install, and poll says None."""
    spec, container = bench.started()
    assert (container.name, container.key, container.image) == (spec.name, spec.key, bench.image)
    assert container.running
    assert container.started_at > 1_700_000_000
    assert bench.engine.poll(spec.name) is None
    labels = bench.client.containers.get(spec.name).labels
    wanted = {"install": bench.install, "home": str(bench.folder), "agent": spec.key.agent, "user": "7"}
    assert {name: labels[f"hermitshell.{name}"] for name in wanted} == wanted


def test_the_same_spec_is_adopted(bench: Bench) -> None:
    """Also by another engine object, as after a restart of ours: the same container goes on."""
    spec, container = bench.started()
    assert bench.engine.start(spec).id == container.id
    assert DockerCubicles(bench.client, bench.install).start(spec).id == container.id


CHANGES = {
    "memory": lambda spec: replace(spec, limits=replace(LIMITS, memory_mb=256)),
    "cpus": lambda spec: replace(spec, limits=replace(LIMITS, cpus=1.0)),
    "user": lambda spec: replace(spec, uid=spec.uid + 1, gid=spec.gid + 1),
    "folder": lambda spec: replace(spec, mounts=replace(spec.mounts, out=spec.mounts.www)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_another_spec_replaces(bench: Bench, change: object) -> None:
    """Nothing of the older container is left, and the new one is as the new spec says."""
    spec, before = bench.started()
    other = change(spec)  # type: ignore[operator]  # a table of functions
    after = bench.engine.start(other)
    assert after.id != before.id
    assert bench.all_named(spec.name) == [after.id]
    assert bench.engine.start(other).id == after.id


def test_a_stopped_one_is_started_anew(bench: Bench) -> None:
    """A container is never started a second time: what a command left in its /tmp is gone."""
    spec, before = bench.started()
    bench.engine.stop(spec.name)
    after = bench.engine.start(spec)
    assert after.running
    assert after.id != before.id


@pytest.mark.parametrize("at_once", [2, 10])
def test_starts_at_the_same_moment_give_one_container(bench: Bench, at_once: int) -> None:
    """All callers get the same one."""
    spec = bench.spec()
    with ThreadPoolExecutor(at_once) as pool:
        ids = {made.id for made in pool.map(bench.engine.start, [spec] * at_once)}
    assert bench.all_named(spec.name) == list(ids)


def test_many_cubicles_start_side_by_side(bench: Bench) -> None:
    """Each under its own name."""
    specs = [bench.spec() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(bench.engine.start, specs))
    assert len({container.id for container in made}) == 4
    assert all(bench.engine.poll(spec.name) is None for spec in specs)


# --- ending ----------------------------------------------------------------------------------------------------


def test_stop_and_remove_may_be_repeated(bench: Bench) -> None:
    """Stopped or gone already is success, also for what never was."""
    spec, _ = bench.started()
    bench.engine.stop(spec.name)
    ended = bench.engine.poll(spec.name)
    assert ended is not None
    assert ended.reason
    bench.engine.stop(spec.name)
    bench.engine.remove(spec.name)
    bench.engine.remove(spec.name)
    bench.engine.stop(spec.name)
    gone = bench.engine.poll(spec.name)
    assert gone is not None
    assert "gone" in gone.reason
    assert bench.all_named(spec.name) == []


def test_remove_of_one_that_runs(bench: Bench) -> None:
    """It need not be stopped first."""
    spec, _ = bench.started()
    bench.engine.remove(spec.name)
    assert bench.engine.poll(spec.name) is not None


def test_removals_at_the_same_moment(bench: Bench) -> None:
    """Nobody fails because somebody else was faster, and a start right behind works."""
    spec, _ = bench.started()
    with ThreadPoolExecutor(5) as pool:
        list(pool.map(bench.engine.remove, [spec.name] * 5))
    assert bench.engine.start(spec).running


@pytest.mark.parametrize("how", ["kill", "remove", "the crab ends"])
def test_what_happens_behind_our_back(bench: Bench, how: str) -> None:
    """Poll says that it ended, and the next start gives one that runs."""
    spec, before = bench.started()
    container = bench.client.containers.get(spec.name)
    if how == "kill":
        container.kill()
    elif how == "remove":
        container.remove(force=True)
    else:
        container.exec_run(["/bin/bash", "-c", "kill -9 -1"])
    ended = eventually(lambda: bench.engine.poll(spec.name))
    assert ended.reason
    assert bench.engine.start(spec).id != before.id
    assert bench.engine.poll(spec.name) is None


# --- freezing --------------------------------------------------------------------------------------------------


def test_a_frozen_one_stands_still_until_it_is_thawed(bench: Bench) -> None:
    """It counts as running, is not at rest, and goes on where it was; asking for either twice is fine."""
    spec, container = bench.started()
    counter = bench.folder / spec.key.agent / "work" / "count"
    count = "n=0; while :; do n=$((n+1)); echo $n > /app/workspace/work/count; sleep 0.01; done"
    bench.client.containers.get(spec.name).exec_run(["/bin/bash", "-c", count], detach=True)
    eventually(lambda: counter.exists() and counter.read_text().strip())
    for _ in range(2):
        bench.engine.freeze(spec.name)
    before = counter.read_text()
    time.sleep(0.1)
    assert counter.read_text() == before
    assert bench.engine.poll(spec.name) is None
    assert not bench.engine.is_at_rest(spec.name)
    found = next(found for found in bench.engine.list_containers() if found.id == container.id)
    assert (found.running, found.is_frozen) == (True, True)
    for _ in range(2):
        bench.engine.thaw(spec.name)
    eventually(lambda: counter.read_text() not in ("", before))


def test_one_that_is_starved_is_frozen_too(bench: Bench) -> None:
    """Its programs want more of the processor than there is, and a program has to run to stand still."""
    spec, _ = bench.started()
    busy = "for i in $(seq 50); do (while :; do :; done) & done; wait"
    bench.client.containers.get(spec.name).exec_run(["/bin/bash", "-c", busy], detach=True)
    eventually(lambda: not bench.engine.is_at_rest(spec.name))
    for _ in range(5):
        bench.engine.freeze(spec.name)
        bench.engine.thaw(spec.name)


def test_a_start_thaws_what_it_adopts(bench: Bench) -> None:
    """Whoever froze it is gone, and a turn is to run in it."""
    spec, before = bench.started()
    bench.engine.freeze(spec.name)
    after = DockerCubicles(bench.client, bench.install).start(spec)
    assert (after.id, after.is_frozen) == (before.id, False)
    assert not next(found for found in bench.engine.list_containers() if found.id == before.id).is_frozen


@pytest.mark.parametrize("end", ["stop", "remove"])
def test_a_frozen_one_ends_as_any_other(bench: Bench, end: str) -> None:
    """It need not be thawed; what ended is neither frozen nor thawed, and that is success."""
    spec, _ = bench.started()
    bench.engine.freeze(spec.name)
    getattr(bench.engine, end)(spec.name)
    assert bench.engine.poll(spec.name) is not None
    bench.engine.freeze(spec.name)
    bench.engine.thaw(spec.name)
    assert bench.engine.poll(spec.name) is not None


# --- looking ---------------------------------------------------------------------------------------------------


def test_two_installs_on_one_engine_do_not_touch(bench: Bench, tmp_path: Path) -> None:
    """Each sees its own containers alone, and refuses to take another's for its own."""
    mine, _ = bench.started()
    other = Bench(bench.client, bench.image, tmp_path)
    try:
        theirs, container = other.started()
        assert mine.name in {c.name for c in bench.engine.list_containers()}
        assert [c.name for c in other.engine.list_containers()] == [theirs.name]
        assert theirs.name not in {c.name for c in bench.engine.list_containers()}
        with pytest.raises(Unavailable, match="Another program's container"):
            bench.engine.start(replace(mine, name=theirs.name))
        assert other.engine.start(theirs).id == container.id
    finally:
        sweep(bench.client, other.install)


def test_ours_lists_what_is_stopped_too(bench: Bench) -> None:
    """With whether it runs."""
    spec, _ = bench.started()
    bench.engine.stop(spec.name)
    assert {c.name: c.running for c in bench.engine.list_containers()}[spec.name] is False


def test_stats_of_one_that_runs(bench: Bench) -> None:
    """Memory and processes within its limits; a loop inside shows as CPU use."""
    spec, _ = bench.started()
    first = bench.engine.get_usage(spec.name)
    assert 100_000 < first.memory_bytes < LIMITS.memory_mb * 2**20
    assert 1 <= first.pids <= LIMITS.pids
    bench.client.containers.get(spec.name).exec_run(["/bin/bash", "-c", "for ((i = 0; i < 300000; i++)); do :; done"])
    assert bench.engine.get_usage(spec.name).cpu_percent > 5


def test_stats_of_one_that_does_not_run(bench: Bench) -> None:
    """NotFound, stopped or never there."""
    spec, _ = bench.started()
    bench.engine.stop(spec.name)
    for name in (spec.name, "hermit-none-none-1"):
        with pytest.raises(NotFound):
            bench.engine.get_usage(name)


# --- what can't be started -------------------------------------------------------------------------------------


def test_a_name_that_another_program_took(bench: Bench) -> None:
    """Said with the fix; the other's container is left as it is."""
    spec = bench.spec()
    foreign = bench.client.api.create_container(bench.image, name=spec.name, labels={"hermitshell.test": bench.install})
    try:
        with pytest.raises(Unavailable, match=f"docker rm -f {spec.name}"):
            bench.engine.start(spec)
        assert bench.all_named(spec.name) == [foreign["Id"]]
    finally:
        bench.client.api.remove_container(foreign["Id"], force=True)


def test_an_image_that_is_missing(bench: Bench) -> None:
    """Said, and nothing is left."""
    spec = replace(bench.spec(), image="hermitshell/cubicle:base-never-built")
    with pytest.raises(Unavailable, match="image is missing"):
        bench.engine.start(spec)
    assert bench.all_named(spec.name) == []


def test_a_runtime_that_does_not_exist(bench: Bench) -> None:
    """It fails with the setting's name and never falls back to another runtime."""
    spec = replace(bench.spec(), runtime="no-such-runtime")
    with pytest.raises(Unavailable, match="HERMIT_CUBICLE_RUNTIME"):
        bench.engine.start(spec)
    assert bench.all_named(spec.name) == []


def test_a_folder_that_is_missing(bench: Bench) -> None:
    """The engine does not make it up: it fails, and nothing is left."""
    spec = bench.spec()
    gone = bench.folder / "not-there"
    with pytest.raises(Unavailable):
        bench.engine.start(replace(spec, mounts=replace(spec.mounts, out=gone)))
    assert not gone.exists()
    assert bench.all_named(spec.name) == []


def test_an_engine_that_does_not_answer(bench: Bench, tmp_path: Path) -> None:
    """Every call says so in one sentence."""
    spec = bench.spec()
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "mute.sock"))
        mute.listen()
        near = docker.DockerClient(base_url=f"unix://{tmp_path}/mute.sock", version="1.41", timeout=1)
        engine = DockerCubicles(near, bench.install)
        for call in (
            lambda: engine.start(spec),
            lambda: engine.poll(spec.name),
            lambda: engine.stop(spec.name),
            lambda: engine.remove(spec.name),
            lambda: engine.get_usage(spec.name),
            engine.list_containers,
        ):
            with pytest.raises(Unavailable, match="does not answer"):
                call()
        near.close()
