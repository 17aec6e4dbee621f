"""Pages of PDFs on the real engine: drawn inside a container without a network that is thrown away, whatever the file
does to the program that draws it.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path

import docker
import pytest

from orchestrator.apps.pdf_pages import LONG_SIDE, MOST_PAGES, PdfPages
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helper_folder import Failed
from orchestrator.engine.helpers import PAGES
from tests.support.png_pixels import pixels
from tests.support.real_app import RealApp

pytestmark = pytest.mark.docker
PICTURES = True

LONG_S = 90.0
BLUE, SAND = "0.1 0.35 0.8", "0.98 0.7 0.1"


def pdf(*pages: bytes, box: str = "0 0 200 300", kids: str = "") -> bytes:
    """A PDF of these pages, each drawn by such operators."""
    bodies = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    for page in pages:
        bodies.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Contents {len(bodies) + 2} 0 R >>".encode())
        bodies.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(page), page))
    own = " ".join(f"{number} 0 R" for number in range(3, 3 + 2 * len(pages), 2))
    bodies[1] = f"<< /Type /Pages /Kids [{kids or own}] /Count {len(pages)} >>".encode()
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
        % (len(places) + 1, table, len(places) + 1, len(out))
    )


def painted(*bands: str) -> bytes:
    """Operators that paint equal bands from the top."""
    height = 300 / len(bands)
    return b"\n".join(
        f"{colour} rg 0 {300 - (n + 1) * height} 200 {height} re f".encode() for n, colour in enumerate(bands)
    )


def bomb() -> bytes:
    """A page whose operators unpack to a gigabyte."""
    packed = zlib.compress(b"q\n" * 5_000_000, 9)
    inner = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)
    return pdf(b"x").replace(b"<< /Length 1 >>\nstream\nx\nendstream", inner)


HOSTILE = {
    "nothing": b"%PDF-1.7\n",
    "noise": b"%PDF-1.7\n" + bytes(range(256)) * 2_000,
    "cut": pdf(painted(BLUE))[:150],
    "its own parent": pdf(painted(BLUE), kids="2 0 R"),
    "a page without end": pdf(painted(BLUE), box="0 0 1 99999999999"),
    "a page of no size": pdf(painted(BLUE), box="0 0 0 0"),
    "a script": pdf(painted(BLUE)).replace(
        b"/Type /Catalog", b"/Type /Catalog /OpenAction << /S /JavaScript /JS (while(1);) >>"
    ),
    "a bomb": bomb(),
}


class Fixture:
    """The operator's workspace with ``crab``, and what draws for them."""

    def __init__(self, install: RealApp) -> None:
        self.key = CubicleKey("crab", install.app.services.users.get_operator().id)
        self.pages: PdfPages = install.app.services.pdf_pages
        self.workspaces = install.app.services.workspaces
        install.app.services.cubicles.ensure_running(self.key)
        self.out: Path = install.home / "workspaces" / self.key.agent / str(self.key.user) / "out"

    def write(self, name: str, content: bytes) -> str:
        """As an agent would."""
        (self.out / name).write_bytes(content)
        return f"out/{name}"


@pytest.fixture
def fixture(install: RealApp) -> Fixture:
    """The install, to be worked in."""
    return Fixture(install)


def test_pages_look_as_they_should(install: RealApp, fixture: Fixture, client: docker.DockerClient) -> None:
    """In their order and proportions; no container is left."""
    path = fixture.write("bands.pdf", pdf(painted(BLUE, SAND), painted(SAND), box="0 0 200 300"))
    drawn = fixture.pages.draw_pages(fixture.key, path, wait_s=LONG_S)
    assert drawn is not None
    assert drawn.count == 2
    assert all(height == LONG_SIDE and abs(width - LONG_SIDE * 2 / 3) < 2 for width, height in drawn.sizes)
    first, second = (pixels(fixture.pages.get_page(fixture.key, drawn.digest, number)) for number in (1, 2))
    blue, sand = (26, 89, 204), (250, 178, 26)
    for shown, y, colour in ((first, 200, blue), (first, 1200, sand), (second, 200, sand), (second, 1200, sand)):
        assert all(abs(a - b) <= 3 for a, b in zip(shown.at(400, y), colour, strict=True)), (y, shown.at(400, y))
    label = f"{PAGES.label}={install.install}"
    assert client.api.containers(all=True, filters={"label": label}) == []


def test_many_pages_are_drawn_up_to_a_bound(fixture: Fixture) -> None:
    """And the number of all of them is told."""
    path = fixture.write("many.pdf", pdf(*[painted(BLUE)] * (MOST_PAGES + 7)))
    drawn = fixture.pages.draw_pages(fixture.key, path, wait_s=LONG_S)
    assert drawn is not None
    assert (len(drawn.sizes), drawn.count) == (MOST_PAGES, MOST_PAGES + 7)


@pytest.mark.parametrize("name", HOSTILE)
def test_whatever_a_pdf_does_ends_with_its_container(
    install: RealApp, fixture: Fixture, client: docker.DockerClient, name: str
) -> None:
    """Pages or a sentence within the time, nothing left, and the next one is drawn."""
    path = fixture.write("hostile.pdf", HOSTILE[name])
    with suppress(Failed):  # then that is its end
        drawn = fixture.pages.draw_pages(fixture.key, path, wait_s=LONG_S)
        assert drawn is not None, "it was neither drawn nor given up"
        assert max(map(max, drawn.sizes)) <= LONG_SIDE
    assert client.api.containers(all=True, filters={"label": f"{PAGES.label}={install.install}"}) == []
    assert (
        fixture.pages.draw_pages(fixture.key, fixture.write("next.pdf", pdf(painted(SAND))), wait_s=LONG_S) is not None
    )


def test_the_container_has_a_cubicles_walls(install: RealApp, fixture: Fixture, client: docker.DockerClient) -> None:
    """Looked at while it draws: no network, nothing to write but two folders, no capability, another user."""
    seen: list[dict[str, object]] = []
    path = fixture.write("walls.pdf", pdf(*[painted(BLUE, SAND)] * MOST_PAGES))
    assert fixture.pages.draw_pages(fixture.key, path, wait_s=0.0) is None
    label = f"{PAGES.label}={install.install}"
    while not seen and fixture.pages.draw_pages(fixture.key, path, wait_s=0.05) is None:
        found = client.api.containers(filters={"label": label})
        seen += [client.api.inspect_container(one["Id"]) for one in found]
    assert seen, "it was never seen"
    config, host = seen[0]["Config"], seen[0]["HostConfig"]
    assert isinstance(config, dict)
    assert isinstance(host, dict)
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["CapDrop"]) == ("none", True, ["ALL"])
    assert config["User"] not in ("", "0", "root")
    assert {mount.split(":")[0] for mount in host["Binds"] or []} == set()
    assert {(mount["Target"], mount.get("ReadOnly", False)) for mount in host["Mounts"]} == {
        ("/helper/in", True),
        ("/helper/out", False),
    }
    assert fixture.pages.draw_pages(fixture.key, path, wait_s=LONG_S) is not None
