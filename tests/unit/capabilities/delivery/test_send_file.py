"""``orchestrator.capabilities.delivery.send_file``: what a program asked to send goes once, with its word, or it is
said why not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.agents.agents import Agents
from orchestrator.agents.users import Users
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.delivery.intake import IntakeOutcome
from orchestrator.capabilities.delivery.send_file import SendFile
from orchestrator.capabilities.table import REGISTRY, TOOLSETS
from orchestrator.core.errors import BadInput
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey, DeliveryStatus
from orchestrator.jobs.pool import Jobs
from tests.support.delivery_fixture import KEY, DeliveryFixture, RecordingCarrier, outgoing
from tests.support.real_app import eventually


@dataclass
class Fixture:
    """A cubicle's calls, and where its files go."""

    install: DeliveryFixture
    carrier: RecordingCarrier
    calls: Calls
    jobs: Jobs

    def send(self, file: str, caption: str = "", *, turn: int | None = None, call: str = "c1") -> CapabilityCall:
        """The call, once it has ended."""
        self.calls.run_command(Caller(KEY, turn), call, "SEND", {"file": file, "caption": caption})
        return self.calls.wait_call(KEY, call, 20)


@contextmanager
def open_fixture(install: DeliveryFixture, *, is_started: bool = True) -> Iterator[Fixture]:
    """The fixture over a home."""
    agents = Agents(install.store, providers=(), toolsets=TOOLSETS, hooks=Hooks())
    calls = Calls(store=install.store, agents=agents)
    jobs = Jobs(install.store, Notifications(install.store, install.broker), finish=calls.finish_calls)
    calls.set_registry(REGISTRY, SendFile(store=install.store, intake=install.intake, jobs=jobs).deeds)
    carrier = RecordingCarrier()
    install.deliveries.add_carrier(carrier)
    if is_started:
        jobs.start()
    try:
        yield Fixture(install, carrier, calls, jobs)
    finally:
        jobs.close()


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """A fresh one."""
    with outgoing(tmp_path) as install, open_fixture(install) as made:
        yield made


@pytest.mark.parametrize("file", ["a.txt", "out/a.txt", "../out/a.txt", "/app/workspace/out/a.txt", "./a.txt"])
def test_a_file_with_a_caption(fixture: Fixture, file: str) -> None:
    """However its place in out/ is written; the caption is quoted, so that it is nobody's word but the agent's."""
    fixture.install.put("a.txt", b"hello")
    turn = fixture.install.turn()
    call = fixture.send(file, "From the house:\nall is well", turn=turn)
    assert (call.status, call.text) == ("done", "a.txt (5 bytes) is on its way to the person.")
    eventually(
        lambda: fixture.install.rows()[0].status is DeliveryStatus.HANDED
    )  # after the row, which the call waits for
    (made,) = fixture.install.rows()
    assert (made.caption, made.turn) == (r"“From the house:\nall is well”", turn)
    eventually(lambda: fixture.carrier.taken == {made.id: b"hello"})


def test_again(fixture: Fixture) -> None:
    """What was delivered is delivered once more with a caption, or in another turn; not twice in a turn without."""
    fixture.install.put("a.txt")
    first, second = fixture.install.turn(), fixture.install.turn()
    fixture.install.intake.take_file(KEY, b"a.txt", found_at=time.time(), asked=first)
    assert "already" in fixture.send("a.txt", turn=first, call="c1").text
    assert "on its way" in fixture.send("a.txt", "look", turn=first, call="c2").text
    assert "on its way" in fixture.send("a.txt", turn=second, call="c3").text
    assert [made.caption for made in fixture.install.rows()] == ["", "“look”", ""]
    assert len(fixture.install.outbox) == 3


def test_the_watch_does_not_send_it_too(fixture: Fixture) -> None:
    """What a program had sent is known; while it is being sent the watch comes back later."""
    fixture.install.put("a.txt")
    fixture.send("a.txt", "look")
    while (
        fixture.install.intake._being_sent
    ):  # the call has ended when its row is written; the sender is a moment later
        time.sleep(0.01)
    assert fixture.install.intake.take_file(KEY, b"a.txt", found_at=time.time()) is IntakeOutcome.KNOWN
    fixture.install.intake._being_sent.add((KEY, b"a.txt"))
    assert fixture.install.intake.take_file(KEY, b"a.txt", found_at=time.time()) is IntakeOutcome.AGAIN
    assert len(fixture.install.rows()) == 1


def test_a_folder_goes_as_a_zip(fixture: Fixture) -> None:
    """With its caption."""
    (fixture.install.out / "set").mkdir()
    fixture.install.put("set/a.txt")
    assert fixture.send("set", "both").result["file"] == "set.zip"
    assert fixture.install.rows()[0].caption == "“both”"


def test_what_is_not_sent(fixture: Fixture) -> None:
    """Nothing there, a link: the call fails with the reason, and no row and no copy is left."""
    (fixture.install.out / "link").symlink_to("/etc/passwd")
    absent, link = fixture.send("none.txt", call="c1"), fixture.send("link", call="c2")
    assert (absent.status, absent.text) == ("failed", "There is no none.txt in out/.")
    assert link.status == "failed"
    assert "not a plain file" in link.text
    assert (fixture.install.rows(), fixture.install.outbox) == ([], [])


@pytest.mark.parametrize("file", ["../work/a", "/etc/passwd", "a/../b", "out/", "a//b"])
def test_what_is_no_place_in_out(fixture: Fixture, file: str) -> None:
    """Refused before anything is looked at."""
    with pytest.raises(BadInput, match="file"):
        fixture.send(file)


def test_a_flood(fixture: Fixture) -> None:
    """Sending counts with all the rest that leaves."""
    fixture.install.put("a.txt")
    ended = [fixture.send("a.txt", f"{n}", call=f"c{n}") for n in range(25)]
    assert [call.status for call in ended] == ["done"] * 20 + ["failed"] * 5
    assert "At most 20 files a minute" in ended[-1].text
    assert "HERMIT_FILES_PER_MINUTE" in ended[-1].text
    assert len(fixture.install.outbox) == 20


def test_a_death_in_between(tmp_path: Path) -> None:
    """What was asked for and not sent is sent after the next start, once."""
    with outgoing(tmp_path) as install, open_fixture(install, is_started=False) as before:
        install.put("a.txt")
        before.calls.run_command(Caller(KEY, None), "c1", "SEND", {"file": "a.txt", "caption": "look"})
        assert before.calls.get_call(KEY, "c1").status == "waiting"
    with outgoing(tmp_path) as install, open_fixture(install) as after:
        assert after.calls.wait_call(KEY, "c1", 20).status == "done"
    with outgoing(tmp_path) as install, open_fixture(install):
        time.sleep(0.1)
        assert [made.caption for made in install.rows()] == ["“look”"]


def test_nobody_waits_for_anothers_files(fixture: Fixture) -> None:
    """A cubicle that asks for a file again and again that it goes on writing holds up its own files alone."""
    fixture.install.put("slow.bin", b"x")
    other = CubicleKey(KEY.agent, Users(fixture.install.store).add({"name": "bob"}).id)
    folder = fixture.install.workspaces.prepare_folders(other, uid=os.geteuid(), gid=os.getegid()).out
    (folder / "quick.txt").write_bytes(b"hello")
    with (fixture.install.out / "slow.bin").open("ab"):
        for n in range(6):
            fixture.calls.run_command(Caller(KEY, None), f"slow{n}", "SEND", {"file": "slow.bin"})
        fixture.calls.run_command(Caller(other, None), "quick", "SEND", {"file": "quick.txt"})
        assert fixture.calls.wait_call(other, "quick", 10).status == "done"
        assert fixture.calls.get_call(KEY, "slow0").status == "waiting"
