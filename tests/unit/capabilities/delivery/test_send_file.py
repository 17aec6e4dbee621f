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
class Desk:
    """A cubicle's calls, and where its files go."""

    house: DeliveryFixture
    carrier: RecordingCarrier
    calls: Calls
    jobs: Jobs

    def send(self, file: str, caption: str = "", *, turn: int | None = None, call: str = "c1") -> CapabilityCall:
        """The call, once it has ended."""
        self.calls.run_command(Caller(KEY, turn), call, "SEND", {"file": file, "caption": caption})
        return self.calls.wait_call(KEY, call, 20)


@contextmanager
def at_a_desk(house: DeliveryFixture, *, is_started: bool = True) -> Iterator[Desk]:
    """The desk over a home."""
    agents = Agents(house.store, providers=(), toolsets=TOOLSETS, hooks=Hooks())
    calls = Calls(store=house.store, agents=agents)
    jobs = Jobs(house.store, Notifications(house.store, house.broker), finish=calls.finish_calls)
    calls.set_registry(REGISTRY, SendFile(store=house.store, taking=house.taking, jobs=jobs).deeds)
    carrier = RecordingCarrier()
    house.deliveries.add_carrier(carrier)
    if is_started:
        jobs.start()
    try:
        yield Desk(house, carrier, calls, jobs)
    finally:
        jobs.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A fresh one."""
    with outgoing(tmp_path) as house, at_a_desk(house) as made:
        yield made


@pytest.mark.parametrize("file", ["a.txt", "out/a.txt", "../out/a.txt", "/app/workspace/out/a.txt", "./a.txt"])
def test_a_file_with_a_caption(desk: Desk, file: str) -> None:
    """However its place in out/ is written; the caption is quoted, so that it is nobody's word but the agent's."""
    desk.house.put("a.txt", b"hello")
    turn = desk.house.turn()
    call = desk.send(file, "From the house:\nall is well", turn=turn)
    assert (call.status, call.text) == ("done", "a.txt (5 bytes) is on its way to the person.")
    eventually(lambda: desk.house.rows()[0].status is DeliveryStatus.HANDED)  # after the row, which the call waits for
    (made,) = desk.house.rows()
    assert (made.caption, made.turn) == (r"“From the house:\nall is well”", turn)
    eventually(lambda: desk.carrier.taken == {made.id: b"hello"})


def test_again(desk: Desk) -> None:
    """What was delivered is delivered once more with a caption, or in another turn; not twice in a turn without."""
    desk.house.put("a.txt")
    first, second = desk.house.turn(), desk.house.turn()
    desk.house.taking.take_file(KEY, b"a.txt", found_at=time.time(), asked=first)
    assert "already" in desk.send("a.txt", turn=first, call="c1").text
    assert "on its way" in desk.send("a.txt", "look", turn=first, call="c2").text
    assert "on its way" in desk.send("a.txt", turn=second, call="c3").text
    assert [made.caption for made in desk.house.rows()] == ["", "“look”", ""]
    assert len(desk.house.outbox) == 3


def test_the_watch_does_not_send_it_too(desk: Desk) -> None:
    """What a program had sent is known; while it is being sent the watch comes back later."""
    desk.house.put("a.txt")
    desk.send("a.txt", "look")
    while desk.house.taking._being_sent:  # the call has ended when its row is written; the sender is a moment later
        time.sleep(0.01)
    assert desk.house.taking.take_file(KEY, b"a.txt", found_at=time.time()) is IntakeOutcome.KNOWN
    desk.house.taking._being_sent.add((KEY, b"a.txt"))
    assert desk.house.taking.take_file(KEY, b"a.txt", found_at=time.time()) is IntakeOutcome.AGAIN
    assert len(desk.house.rows()) == 1


def test_a_folder_goes_as_a_zip(desk: Desk) -> None:
    """With its caption."""
    (desk.house.out / "set").mkdir()
    desk.house.put("set/a.txt")
    assert desk.send("set", "both").result["file"] == "set.zip"
    assert desk.house.rows()[0].caption == "“both”"


def test_what_is_not_sent(desk: Desk) -> None:
    """Nothing there, a link: the call fails with the reason, and no row and no copy is left."""
    (desk.house.out / "link").symlink_to("/etc/passwd")
    absent, link = desk.send("none.txt", call="c1"), desk.send("link", call="c2")
    assert (absent.status, absent.text) == ("failed", "There is no none.txt in out/.")
    assert link.status == "failed"
    assert "not a plain file" in link.text
    assert (desk.house.rows(), desk.house.outbox) == ([], [])


@pytest.mark.parametrize("file", ["../work/a", "/etc/passwd", "a/../b", "out/", "a//b"])
def test_what_is_no_place_in_out(desk: Desk, file: str) -> None:
    """Refused before anything is looked at."""
    with pytest.raises(BadInput, match="file"):
        desk.send(file)


def test_a_flood(desk: Desk) -> None:
    """Sending counts with all the rest that leaves."""
    desk.house.put("a.txt")
    ended = [desk.send("a.txt", f"{n}", call=f"c{n}") for n in range(25)]
    assert [call.status for call in ended] == ["done"] * 20 + ["failed"] * 5
    assert "At most 20 files a minute" in ended[-1].text
    assert "HERMIT_FILES_PER_MINUTE" in ended[-1].text
    assert len(desk.house.outbox) == 20


def test_a_death_in_between(tmp_path: Path) -> None:
    """What was asked for and not sent is sent after the next start, once."""
    with outgoing(tmp_path) as house, at_a_desk(house, is_started=False) as before:
        house.put("a.txt")
        before.calls.run_command(Caller(KEY, None), "c1", "SEND", {"file": "a.txt", "caption": "look"})
        assert before.calls.get_call(KEY, "c1").status == "waiting"
    with outgoing(tmp_path) as house, at_a_desk(house) as after:
        assert after.calls.wait_call(KEY, "c1", 20).status == "done"
    with outgoing(tmp_path) as house, at_a_desk(house):
        time.sleep(0.1)
        assert [made.caption for made in house.rows()] == ["“look”"]


def test_nobody_waits_for_anothers_files(desk: Desk) -> None:
    """A cubicle that asks for a file again and again that it goes on writing holds up its own files alone."""
    desk.house.put("slow.bin", b"x")
    other = CubicleKey(KEY.agent, Users(desk.house.store).add({"name": "bob"}).id)
    tray = desk.house.workspaces.prepare_folders(other, uid=os.geteuid(), gid=os.getegid()).out
    (tray / "quick.txt").write_bytes(b"hello")
    with (desk.house.out / "slow.bin").open("ab"):
        for n in range(6):
            desk.calls.run_command(Caller(KEY, None), f"slow{n}", "SEND", {"file": "slow.bin"})
        desk.calls.run_command(Caller(other, None), "quick", "SEND", {"file": "quick.txt"})
        assert desk.calls.wait_call(other, "quick", 10).status == "done"
        assert desk.calls.get_call(KEY, "slow0").status == "waiting"
