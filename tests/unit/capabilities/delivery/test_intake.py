"""``orchestrator.capabilities.delivery.intake``: what may leave ``out/``, under which name, and how much of it."""

from __future__ import annotations

import os
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.capabilities.delivery import deliveries as rules
from orchestrator.capabilities.delivery import intake as takes
from orchestrator.capabilities.delivery.intake import IntakeOutcome
from orchestrator.core.models import DeliveryStatus
from orchestrator.core.rates import USUAL_RATES
from tests.support.delivery_fixture import (
    KEY,
    DeliveryFixture,
    RecordingCarrier,
    outgoing,
)


@pytest.fixture
def install(tmp_path: Path) -> Iterator[DeliveryFixture]:
    """Nobody but the dashboard takes files."""
    with outgoing(tmp_path) as made:
        yield made


def take(install: DeliveryFixture, path: bytes, *, asked: int | None = None) -> IntakeOutcome:
    """As the watch would, now."""
    return install.intake.take_file(KEY, path, found_at=time.time(), asked=asked)


# --- what is refused -------------------------------------------------------------------------------------------

ODD: dict[str, Callable[[Path], None]] = {
    "link to a secret": lambda path: path.symlink_to("/etc/shadow"),
    "dangling link": lambda path: path.symlink_to("/nowhere"),
    "loop": lambda path: path.symlink_to(path.name),
    "link to itself's folder": lambda path: path.symlink_to("."),
    "pipe": os.mkfifo,
    "two names": lambda path: (path.parent / "other").hardlink_to(_written(path)),
}


def _written(path: Path) -> Path:
    path.write_bytes(b"x")
    return path


@pytest.mark.parametrize("make", ODD.values(), ids=ODD.keys())
def test_what_is_no_plain_file_is_said_once_and_never_opened(
    install: DeliveryFixture, make: Callable[[Path], None]
) -> None:
    """And a good file after it arrives."""
    make(install.out / "odd")
    for _ in range(3):
        assert take(install, b"odd") is IntakeOutcome.DONE
    install.put("good.txt")
    take(install, b"good.txt")
    assert [(made.path, made.status) for made in install.rows()] == [
        (b"odd", DeliveryStatus.REFUSED),
        (b"good.txt", DeliveryStatus.SENT),
    ]
    assert "not a plain file" in install.rows()[0].why
    assert len(install.outbox) == 1


def test_a_file_of_a_terabyte_is_refused_unread(install: DeliveryFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it claims is enough, and nothing is left of it; over the cap of a day it counts as withheld."""
    monkeypatch.setattr(takes, "BYTES_A_DAY", 1 << 50)
    monkeypatch.setattr(takes, "BYTES_A_MINUTE", 1 << 50)
    with (install.out / "huge").open("wb") as file:
        file.truncate(1 << 40)
    assert take(install, b"huge") is IntakeOutcome.DONE
    assert "larger" in install.rows()[0].why
    assert install.outbox == []


# --- names -----------------------------------------------------------------------------------------------------

NAMES = [
    b"plain.txt",
    b"-rf",
    b"--help",
    b"a\nb\r\n.txt",
    b"\xff\xfe.txt",
    "gpj\u202e.exe".encode(),
    "ünïcödé 🦀.txt".encode(),
    b"n" * 255,
    ("ä" * 127).encode() + b"x",
    b'quote".txt',
    b"<script>.html",
    b"a;b|c&d.txt",
    b"con.txt",
    b"..txt"[1:] + b"x",
    b" ",
    b"\\..\\..\\x",
    b"%2e%2e%2f",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_data(install: DeliveryFixture, name: bytes) -> None:
    """Each is delivered, under a name that is safe anywhere; a good file after it too."""
    install.put(name, b"evil")
    install.put("good.txt", b"good")
    for each in (name, b"good.txt"):
        assert take(install, each) is IntakeOutcome.DONE
    evil, good = install.rows()
    assert evil.path == name
    assert (good.name, good.status) == ("good.txt", DeliveryStatus.SENT)
    assert evil.name
    assert len(evil.name.encode()) <= 255
    assert not set(evil.name) & set('/\\\n\r\0"\u202e')
    assert evil.name.isprintable()
    shown = rules.as_json(evil)
    assert shown["path"].isprintable()
    assert shown["path"].encode().startswith(b"out/")


# --- folders ---------------------------------------------------------------------------------------------------


def test_a_folder_is_one_zip_of_its_plain_files(install: DeliveryFixture) -> None:
    """Links and pipes in it are left out and counted; the same content is the same zip."""
    inner = install.out / "plots" / "deep"
    inner.mkdir(parents=True)
    (inner / "a.txt").write_bytes(b"a")
    (install.out / "plots" / "b.txt").write_bytes(b"b")
    (inner / "link").symlink_to("/etc/passwd")
    os.mkfifo(inner / "pipe")
    assert take(install, b"plots") is IntakeOutcome.DONE
    os.utime(inner / "a.txt", (0, 0))
    assert take(install, b"plots") is IntakeOutcome.KNOWN
    (made,) = install.rows()
    assert (made.name, made.kind) == ("plots.zip", "document")
    assert made.caption.startswith("2 things")
    with zipfile.ZipFile(install.deliveries.copy_of(made)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {"deep/a.txt": b"a", "b.txt": b"b"}


def test_names_in_a_zip_lead_nowhere(install: DeliveryFixture) -> None:
    """Backslashes, leading dots and doubles are tamed."""
    (install.out / "f").mkdir()
    for name in (b"..\\..\\evil", b"A", b"a", b"\xff", b"-x", b"C:\\x"):
        install.put(b"f/" + name)
    take(install, b"f")
    with zipfile.ZipFile(install.deliveries.copy_of(install.rows()[0])) as archive:
        names = archive.namelist()
    assert len({name.casefold() for name in names}) == 6
    assert not any("\\" in name or ":" in name or name.startswith((".", "/", "-")) for name in names)


@pytest.mark.parametrize("kind", ["wide", "deep"])
def test_a_folder_with_too_much_in_it_is_said_once(install: DeliveryFixture, kind: str) -> None:
    """And nothing of it is copied."""
    top = install.out / "big"
    top.mkdir()
    if kind == "wide":
        for number in range(2_100):
            (top / str(number)).touch()
    else:
        Path(top, *["d"] * 40).mkdir(parents=True)
    for _ in range(2):
        assert take(install, b"big") is IntakeOutcome.DONE
    assert [made.status for made in install.rows()] == [DeliveryStatus.REFUSED]
    assert install.outbox == []


def test_an_empty_folder_is_nothing(install: DeliveryFixture) -> None:
    """Until something is in it."""
    (install.out / "f").mkdir()
    assert take(install, b"f") is IntakeOutcome.DONE
    assert install.rows() == []
    install.put("f/a")
    take(install, b"f")
    assert len(install.rows()) == 1


# --- caps ------------------------------------------------------------------------------------------------------


def test_over_the_cap_nothing_is_taken_but_what_was_asked_for(install: DeliveryFixture) -> None:
    """Another cubicle has a cap of its own."""
    for number in range(USUAL_RATES.files_per_minute + 5):
        install.put(f"{number}", str(number).encode())
        wanted = IntakeOutcome.DONE if number < USUAL_RATES.files_per_minute else IntakeOutcome.FULL
        assert take(install, str(number).encode()) is wanted
    assert take(install, b"24", asked=install.turn()) is IntakeOutcome.DONE
    assert len(install.rows()) == USUAL_RATES.files_per_minute + 1
    assert len(install.outbox) == USUAL_RATES.files_per_minute + 1


def test_bytes_are_capped_too(install: DeliveryFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first large file of a minute may come alone; of a day it may not."""
    monkeypatch.setattr(takes, "BYTES_A_MINUTE", 10)
    monkeypatch.setattr(takes, "BYTES_A_DAY", 30)
    for name, size, wanted in (
        ("a", 20, IntakeOutcome.DONE),
        ("b", 5, IntakeOutcome.FULL),
        ("c", 40, IntakeOutcome.FULL),
    ):
        install.put(name, name.encode() * size)
        assert take(install, name.encode()) is wanted
    take(install, b"c", asked=install.turn())
    assert "limit" in install.rows()[-1].why


def test_a_flood_is_told_in_one_notice(install: DeliveryFixture) -> None:
    """With the number, where they are, and the mark beyond them."""
    carrier = RecordingCarrier()
    install.deliveries.add_carrier(carrier)
    install.intake.withhold_files(KEY, 980, 12345)
    assert install.intake.seen_until(KEY) == 12345
    (text,) = carrier.told.values()
    assert "980" in text
    assert "zip" in text
    assert [made.status for made in install.rows()] == [DeliveryStatus.WITHHELD]
