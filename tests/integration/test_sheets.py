"""Spreadsheets on the real engine: read inside a container without a network that is thrown away, whatever the file
does to the program that reads it.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

import docker
import pytest

from orchestrator.core.models import CubicleKey
from orchestrator.engine.helper_folder import Failed
from orchestrator.engine.helpers import SHEETS
from tests.support.real_app import RealApp
from tests.support.spreadsheets import HOSTILE, TIDES

pytestmark = pytest.mark.docker

LONG_S = 90.0


def key_of(install: RealApp) -> CubicleKey:
    """The operator's with crab."""
    return CubicleKey("crab", install.app.services.users.get_operator().id)


def digest(content: bytes) -> str:
    """As a delivery has it."""
    return hashlib.sha256(content).hexdigest()


def left(install: RealApp, client: docker.DockerClient) -> list[object]:
    """Containers that are still there."""
    return list(client.api.containers(all=True, filters={"label": f"{SHEETS.label}={install.install}"}))


def test_a_spreadsheet_is_read_inside(install: RealApp, client: docker.DockerClient) -> None:
    """By the program that is handed over, in the image of cubicles; no container is left."""
    book = install.app.services.sheets.read_content(key_of(install), digest(TIDES), TIDES, wait_s=LONG_S)
    assert book is not None
    assert [(sheet.name, sheet.height, sheet.is_whole) for sheet in book] == [
        ("Tides", 1404, True),
        ("Harbours", 2, True),
    ]
    assert book[0].rows[1] == ("2026-05-01", "06:00", "4.2")
    assert left(install, client) == []


@pytest.mark.parametrize("name", ["a bomb", "a bomb of texts", "laughs", "a file of the host", "deep", "no zip"])
def test_whatever_a_spreadsheet_does_ends_with_its_container(
    install: RealApp, client: docker.DockerClient, name: str
) -> None:
    """A table or a sentence within the time, nothing left, and the next one is read."""
    sheets, key, content = install.app.services.sheets, key_of(install), HOSTILE[name]()
    with suppress(Failed):
        assert sheets.read_content(key, digest(content), content, wait_s=LONG_S) is not None
    assert left(install, client) == []
    assert sheets.read_content(key, digest(TIDES), TIDES, wait_s=LONG_S) is not None
