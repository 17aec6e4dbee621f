"""The ways out of a cubicle: what counts as held, what the host hears by itself, and that nothing the program says is
taken for more than it is."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.core.models import CubicleLimits
from orchestrator.operations.proof import inside
from orchestrator.operations.proof.attempts import ATTEMPTS, BY_ID, Attempt
from orchestrator.operations.proof.reading import Heard, WallVerdict, explain_answer, is_answer, judge, read_words
from orchestrator.operations.proof.watch import PREFIX, EscapeWatch
from tests.support.walled_programs import say

INTERNET, KERNEL, KEY, MACHINE = (BY_ID[name] for name in ("internet", "kernel", "key", "machine"))
OTHER_ADDRESS = "127.0.0.2"


def test_there_are_twelve_and_the_program_knows_each() -> None:
    """By the same names, and every answer in the tables is one that can be read."""
    assert len(ATTEMPTS) == 12
    assert {attempt.id for attempt in ATTEMPTS} == set(inside.TRIES)
    for attempt in ATTEMPTS:
        assert attempt.tries.keys() >= attempt.doubted
        assert all(is_answer(answer) for answer in attempt.stopped_by | attempt.passed_by), attempt.id
        assert not attempt.stopped_by & attempt.passed_by


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.id)
def test_stopped_is_held_and_done_is_not(attempt: Attempt) -> None:
    """One try that works is enough, unless the agent could have arranged that it seems so."""
    stopped = dict.fromkeys(attempt.tries, min(attempt.stopped_by))
    seen = False if attempt.is_watched else None
    assert judge(attempt, Heard(stopped), has_come=seen).verdict is WallVerdict.HELD
    for name in attempt.tries:
        verdict = judge(attempt, Heard(stopped | {name: "done"}), has_come=seen).verdict
        assert verdict is (WallVerdict.HELD if name in attempt.doubted else WallVerdict.NOT_HELD), name


@pytest.mark.parametrize(
    ("attempt", "heard", "has_come", "expected"),
    [
        (INTERNET, Heard({"server": "timeout"}), None, WallVerdict.NOT_HELD),  # a packet left, and nobody answered
        (INTERNET, Heard({"server": "ECONNREFUSED"}), None, WallVerdict.NOT_HELD),
        (INTERNET, Heard({"server": "EIO"}), None, WallVerdict.UNCLEAR),  # no wall answers so
        (INTERNET, None, None, WallVerdict.UNCLEAR),
        (KERNEL, Heard({"driver": "EFAULT"}), None, WallVerdict.NOT_HELD),  # the kernel would have taken a driver
        (MACHINE, Heard({"address": "ENETUNREACH"}), True, WallVerdict.NOT_HELD),  # the host knows better
        (MACHINE, Heard({"address": "ENETUNREACH"}), None, WallVerdict.UNCLEAR),  # the host could not listen
        (MACHINE, None, True, WallVerdict.NOT_HELD),
        (KEY, Heard({"settings": "ENOENT"}), True, WallVerdict.NOT_HELD),
    ],
)
def test_what_the_host_knows_comes_first(
    attempt: Attempt,
    heard: Heard | None,
    has_come: bool | None,  # noqa: FBT001 - a table's column
    expected: WallVerdict,
) -> None:
    """Then what the program says; and what nobody can tell is said to be unclear."""
    assert judge(attempt, heard, has_come=has_come).verdict is expected


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: b"",
        lambda said: said[:-1],
        lambda said: said * 2,
        lambda _: b"[" * 5_000,
        lambda said: said + b" " * 40_000,
        lambda said: said.replace(b'"internet"', b'"machine"'),
        lambda said: said.replace(b'"server"', b'"<b>"'),
        lambda said: json.dumps(json.loads(said) | {"answers": {"server": "EPERM"}}).encode(),
        lambda said: json.dumps(json.loads(said) | {"answers": []}).encode(),
        lambda said: json.dumps(json.loads(said) | {"brought": "all"}).encode(),
        lambda said: said.replace(b'"EACCES"', b'"<script>"'),
        lambda said: said.replace(b'"EACCES"', b'["EACCES"]'),
        lambda said: said.replace(b'"EACCES"', b"7"),
        lambda said: b"\xff" + said,
    ],
)
def test_anything_but_what_the_program_says_is_nothing(spoil: Callable[[bytes], bytes]) -> None:
    """Whoever meddles inside gets no more than that."""
    said = say(INTERNET)
    assert read_words(said, INTERNET) is not None
    assert read_words(spoil(said), INTERNET) is None


def test_nothing_of_it_is_shown_as_it_came() -> None:
    """Answers are words of ours; what is brought along has the shape of a fingerprint or a secret word."""
    heard = read_words(say(KEY, "a" * 64, "<img>", "x" * 500, ""), KEY)
    assert heard is not None
    assert heard.brought == ("a" * 64,)
    assert explain_answer("ENETUNREACH") == "Network is unreachable (ENETUNREACH)"
    assert explain_answer("nothing") == "There is nothing to be found"


@pytest.fixture
def watch(tmp_path: Path) -> EscapeWatch:
    """A watch on loopback alone."""
    return EscapeWatch(tmp_path / "proof", ["the-real-key-of-ada"], doors=tmp_path / "run", address=OTHER_ADDRESS)


def test_the_host_hears_a_word_that_arrives(watch: EscapeWatch) -> None:
    """At each of its addresses, by each way; and nothing before. Others who knock are not taken for it."""
    with watch:
        given = watch.given(CubicleLimits(), other=None)
        assert given["addresses"] == [OTHER_ADDRESS]
        with socket.create_connection((OTHER_ADDRESS, given["port"])) as stranger:
            stranger.sendall(b"GET / HTTP/1.1")
        assert watch.has_come("machine", ()) is False
        assert watch.has_come("name", ()) is False
        inside.send_packet(OTHER_ADDRESS, given["udp_port"], given["word"].encode())
        assert watch.has_come("name", ()) is True
        assert watch.has_come("machine", ()) is False
        inside.connect("127.0.0.1", given["port"], given["word"])
        assert watch.has_come("machine", ()) is True
        assert watch.has_come("internet", ()) is None


def test_the_host_knows_what_only_it_can_know(watch: EscapeWatch, tmp_path: Path) -> None:
    """Words in files, the name of a thread, the fingerprint of a key; and takes all of it away again."""
    with watch:
        given = watch.given(CubicleLimits(pids=9, disk_mb=3), other=5)
        assert (given["pids"], given["file_bytes"], given["other"]) == (9, 3 << 20, 5)
        for path in (tmp_path / "proof").iterdir():
            assert path.stat().st_mode & 0o777 == 0o600
        found = inside.Spoils()
        assert inside.read_bait(given["bait"], found) == inside.read_bait(given["key_bait"], found) == "done"
        assert [watch.has_come("files", [word]) for word in found.brought] == [True, False]
        assert [watch.has_come("key", [word]) for word in found.brought] == [False, True]
        assert not watch.has_come("files", ["guessed-word"])
        names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
        assert watch.has_come("programs", [name for name in names if name.startswith(PREFIX)]) is True
        assert watch.has_come("programs", [f"{PREFIX}another"]) is False
    assert not (tmp_path / "proof").exists()


def test_a_real_key_is_known_by_its_fingerprint(watch: EscapeWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key itself leaves nothing: what is brought is its SHA-256."""
    monkeypatch.setattr(inside, "Path", _Environment)
    with watch:
        found = inside.Spoils()
        assert inside.fingerprint_environment("1", found) == "done"
        assert watch.has_come("key", found.brought) is True
        assert "the-real-key-of-ada" not in "".join(found.brought)
        assert watch.has_come("key", ["0" * 64]) is False


class _Environment:
    """That of a program which was given a key."""

    def __init__(self, path: str) -> None:
        assert path == "/proc/1/environ"

    def read_bytes(self) -> bytes:
        """Pairs."""
        return b"HOME=/root\0OPENROUTER_API_KEY=the-real-key-of-ada\0EMPTY_TOKEN=\0"


def test_the_program_names_what_it_is_told(tmp_path: Path) -> None:
    """On this machine, what is no wall is done, and what is one says which."""
    assert inside.answer_of(inside.connect, "127.0.0.1", 1) == "ECONNREFUSED"
    assert inside.answer_of(inside.make_file, str(tmp_path), "w" * 32) == "done"
    assert list(tmp_path.iterdir()) == []
    assert inside.answer_of(inside.list_names, str(tmp_path / "none")) == "ENOENT"
    assert inside.in_child(inside.make_file, str(tmp_path / "none"), "w") == "ENOENT"
    assert inside.best_of(["ENOENT", "done", "EPERM"]) == "done"
    assert inside.best_of([]) == "nothing"


@pytest.mark.parametrize(("told", "answer"), [("9000\n", "limited"), ("9001\n", "done"), ("max\n", "done")])
def test_a_large_limit_is_read(monkeypatch: pytest.MonkeyPatch, told: str, answer: str) -> None:
    """Nine thousand programs are not started for it; without a limit of that size there is no wall."""
    monkeypatch.setattr(inside, "Path", lambda _: _Limit(told))
    assert inside.reach_limit(9_000) == answer


class _Limit:
    """A file of the kernel's."""

    def __init__(self, told: str) -> None:
        self._told = told

    def read_text(self, _encoding: str) -> str:
        """The limit."""
        return self._told
