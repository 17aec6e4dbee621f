"""``orchestrator.engine.docker.client`` and ``stream``: what the library raises and sends, brought about on paper."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import docker
import pytest
import requests

from orchestrator.core.errors import Unavailable
from orchestrator.engine.docker import client as module
from orchestrator.engine.docker.client import (
    SILENT,
    pause_container,
    remove_container,
    resume_container,
    translate_errors,
)
from orchestrator.engine.docker.stream import Stream


def refusal(status: int, said: str = "the engine's own words") -> docker.errors.APIError:
    """What the library raises when the engine answers with this status."""
    answer = requests.Response()
    answer.status_code = status
    kind = docker.errors.NotFound if status == 404 else docker.errors.APIError
    return kind("no", response=answer, explanation=said)


# --- errors ----------------------------------------------------------------------------------------------------

SENTENCES: dict[str, Any] = {"refused": "It would not.", "by_status": {409: "It is busy."}}


@pytest.mark.parametrize(
    ("raised", "how", "told"),
    [
        (requests.ConnectionError("gone"), {}, SILENT),
        (docker.errors.DockerException("odd"), {}, SILENT),
        (refusal(500), {}, SILENT),
        (refusal(500), SENTENCES, "It would not."),
        (refusal(409), SENTENCES, "It is busy."),
        (refusal(404), {"silent": "Nobody there."}, "Nobody there."),
        (requests.ConnectionError("gone"), SENTENCES, SILENT),
    ],
)
def test_what_is_raised_becomes_a_sentence(raised: Exception, how: dict[str, Any], told: str) -> None:
    """Ours, never the engine's own words."""
    with pytest.raises(Unavailable) as error, translate_errors(**how):
        raise raised
    assert error.value.message == told


def test_an_error_of_ours_stays_what_it_is() -> None:
    """Its sentence is written already."""
    with pytest.raises(Unavailable, match="Ours"), translate_errors(silent="Another."):
        raise Unavailable("Ours.")


# --- removing --------------------------------------------------------------------------------------------------


class Removing:
    """An engine that answers each removal with the next of these; None: it is done."""

    def __init__(self, *answers: Exception | None) -> None:
        self.answers = list(answers)
        self.asked = 0

    def remove_container(self, _name: str, *, force: bool, v: bool) -> None:
        """Answer."""
        assert force
        assert v
        self.asked += 1
        if (answer := self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]) is not None:
            raise answer


@pytest.mark.parametrize(
    ("answers", "asked"),
    [((None,), 1), ((refusal(404),), 1), ((refusal(409), refusal(404)), 2), ((refusal(409), refusal(409), None), 3)],
)
def test_gone_is_success(answers: tuple[Exception | None, ...], asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is going already is waited for."""
    monkeypatch.setattr(module, "_LOOK_S", 0.001)
    engine = Removing(*answers)
    remove_container(engine, "x")  # type: ignore[arg-type]  # as much of it as is used
    assert engine.asked == asked


def test_one_that_never_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, after a while; any other refusal at once."""
    monkeypatch.setattr(module, "_LOOK_S", 0.001)
    monkeypatch.setattr(module, "_REMOVED_S", 0.05)
    with pytest.raises(Unavailable, match="does not finish removing"):
        remove_container(Removing(refusal(409)), "x")  # type: ignore[arg-type]  # as above
    with pytest.raises(docker.errors.APIError):
        remove_container(Removing(refusal(500)), "x")  # type: ignore[arg-type]  # as above


# --- pausing ---------------------------------------------------------------------------------------------------

STARVED = refusal(500, "Cannot pause container x: OCI runtime pause failed: unable to freeze: unknown")


class Pausing:
    """An engine that answers each change with the next of these; None: it is done."""

    def __init__(self, *answers: Exception | None) -> None:
        self.answers = list(answers)
        self.asked = 0

    def pause(self, _name: str) -> None:
        """Answer."""
        self.asked += 1
        if (answer := self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]) is not None:
            raise answer

    unpause = pause


@pytest.mark.parametrize(
    ("answers", "asked"),
    [((None,), 1), ((refusal(409, "Container x is already paused"),), 1), ((STARVED, STARVED, None), 3)],
)
def test_a_busy_machine_is_waited_for(
    answers: tuple[Exception | None, ...], asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that gets no processor does not stop at the first try; paused already is success."""
    monkeypatch.setattr(module, "_LOOK_S", 0.001)
    engine = Pausing(*answers)
    pause_container(engine, "x")  # type: ignore[arg-type]  # as much of it as is used
    assert engine.asked == asked


def test_a_pause_that_is_no_longer_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up after a try that failed, and was made if the first one did it."""
    monkeypatch.setattr(module, "_LOOK_S", 0.001)
    for answers, expected in (((STARVED,), False), ((None,), True)):
        engine = Pausing(*answers)
        assert pause_container(engine, "x", is_wanted=lambda: False) is expected  # type: ignore[arg-type]  # as above
        assert engine.asked == 1


def test_one_that_never_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, after a while; any other refusal at once."""
    monkeypatch.setattr(module, "_LOOK_S", 0.001)
    monkeypatch.setattr(module, "_PAUSED_S", 0.05)
    with pytest.raises(Unavailable, match="too busy"):
        pause_container(Pausing(STARVED), "x")  # type: ignore[arg-type]  # as above
    with pytest.raises(docker.errors.APIError):
        pause_container(Pausing(refusal(500)), "x")  # type: ignore[arg-type]  # as above


def test_resuming() -> None:
    """One that is not paused goes on anyway; any other refusal is told."""
    resume_container(Pausing(None), "x")  # type: ignore[arg-type]  # as above
    resume_container(Pausing(refusal(500, "Container x is not paused")), "x")  # type: ignore[arg-type]  # as above
    with pytest.raises(docker.errors.APIError):
        resume_container(Pausing(refusal(500)), "x")  # type: ignore[arg-type]  # as above


# --- streams ---------------------------------------------------------------------------------------------------


class Handed:
    """A connection as the library hands it over."""

    def __init__(self, ours: socket.socket) -> None:
        self._sock = ours
        self._response = self
        self.raw = self._fp = self
        self.fp = ours.makefile("rb")

    def close(self) -> None:
        """The library's answer is closed."""
        self.fp.close()


@pytest.fixture
def both() -> Iterator[tuple[Stream, socket.socket]]:
    """A stream, and the container's end of it."""
    ours, theirs = socket.socketpair()
    with ours, theirs, contextlib.closing(Handed(ours)) as handed:
        yield Stream(handed), theirs


def frame(kind: int, data: bytes) -> bytes:
    """As the engine sends what came from one of two outputs."""
    return struct.pack(">BxxxL", kind, len(data)) + data


def test_frames_in_pieces(both: tuple[Stream, socket.socket]) -> None:
    """Heads and bodies may be cut anywhere; what came from the other output is passed over, however long."""
    stream, theirs = both
    sent = frame(1, b"one") + frame(2, b"aside" * 20_000) + frame(1, b"") + frame(1, b"two")

    def send() -> None:
        for at in range(0, len(sent), 7):
            theirs.sendall(sent[at : at + 7])

    sender = threading.Thread(target=send)
    sender.start()
    said = b""
    while len(said) < 6:
        said += stream.read_stdout()
    sender.join()
    assert said == b"onetwo"


@pytest.mark.parametrize("cut", [b"", b"\1\0\0", frame(1, b"whole")[:-2]])
def test_an_end_is_an_end(both: tuple[Stream, socket.socket], cut: bytes) -> None:
    """Also in the middle of a frame, after what came of it."""
    stream, theirs = both
    theirs.sendall(cut)
    theirs.shutdown(socket.SHUT_WR)
    said = [stream.read_stdout(), stream.read_stdout()]
    assert said == ([b"who", b""] if len(cut) > 8 else [b"", b""])


def test_closing_ends_a_read(both: tuple[Stream, socket.socket]) -> None:
    """And a write is refused; closing again is fine."""
    stream, _ = both
    stream.close()
    stream.close()
    assert stream.read_stdout() == b""
    with pytest.raises(Unavailable):
        stream.write(b"x")
