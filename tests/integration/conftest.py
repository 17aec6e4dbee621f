"""What the tests on the real engine share: the engine, the image, and installs. Containers are removed by their
install's label; a test that fails shows what the engine knows of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import Any

import docker
import pytest

from orchestrator.core.errors import Unavailable
from orchestrator.engine.setup.cubicle_image import Target, ensure_image
from orchestrator.engine.setup.docker_setup import find_engine, require_usable
from orchestrator.engine.setup.machine import LocalMachine
from orchestrator.engine.setup.progress import SetupProgress
from tests.support.real_app import AppProcess, RealApp, process_install, real_install


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> LocalMachine:
    """The machine that the tests run on."""
    return LocalMachine(tmp_path_factory.mktemp("state"), os.environ)


@pytest.fixture(scope="session")
def client(machine: LocalMachine) -> Iterator[docker.DockerClient]:
    """The engine. Without one the tests are skipped, but never where a CI runs them: './hermit test' sets one up."""
    try:
        found = require_usable(find_engine(machine), machine)
    except Unavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"a CI must run these tests: {error.message}")
        pytest.skip(error.message)
    yield found
    found.close()


@pytest.fixture(scope="session")
def image_tag(client: docker.DockerClient, machine: LocalMachine) -> Callable[[str], str]:
    """The image of a kind, built if it is missing or stale when it is first asked for."""
    made: dict[str, str] = {}

    def tag(kind: str) -> str:
        if kind not in made:
            targets: dict[str, Target] = {"studio": "studio", "resolver": "resolver", "browser": "browser"}
            made[kind] = ensure_image(client, targets.get(kind, "base"), machine=machine, progress=SetupProgress())
        return made[kind]

    return tag


@pytest.fixture(scope="session")
def image(image_tag: Callable[[str], str]) -> str:
    """The image of most agents."""
    return image_tag("base")


@pytest.fixture(scope="module")
def install(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,
    image_tag: Callable[[str], str],
) -> Iterator[RealApp]:
    """One install for the tests of a module; each makes agents of its own in it. It takes pictures of apps and PDFs
    where the module has ``PICTURES``; their image is there before anybody waits for it.
    """
    has_pictures = getattr(request.module, "PICTURES", False)
    if has_pictures:
        image_tag("browser")
    with real_install(tmp_path_factory.mktemp("home"), client, image_tag, pictures=has_pictures) as made:
        yield made


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory, client: docker.DockerClient, image: str) -> Iterator[AppProcess]:
    """One orchestrator process for the tests of a module, which kill it and start it again."""
    with process_install(tmp_path_factory.mktemp("home"), client) as made:
        yield made


@pytest.fixture(autouse=True)
def _leaves_no_thread() -> None:
    """Not asked here: an install that a whole module keeps starts its wakers when they are first needed."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test tells what its install knows."""
    report = yield
    if report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            if hasattr(value, "diagnostics"):
                report.sections.append((f"the {name}", value.diagnostics()))
    return report
