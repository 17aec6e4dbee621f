"""``orchestrator.capabilities.delivery``: each file once, whatever dies or races meanwhile."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agents import agent_rows
from orchestrator.capabilities.delivery import deliveries as rules
from orchestrator.capabilities.delivery.intake import IntakeOutcome
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey, Delivery, DeliveryStatus
from tests.support.delivery_fixture import (
    KEY,
    BrokenCarrier,
    DeafCarrier,
    DeliveryFixture,
    Died,
    DyingCarrier,
    RecordingCarrier,
    RefusingCarrier,
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


# --- once ------------------------------------------------------------------------------------------------------


def test_a_file_becomes_a_delivery_with_a_private_copy(install: DeliveryFixture) -> None:
    """Without a carrier the row is the delivery."""
    install.put("a.txt", b"hello")
    assert take(install, b"a.txt") is IntakeOutcome.DONE
    (made,) = install.rows()
    assert (made.status, made.to, made.name, made.size_bytes) == (DeliveryStatus.SENT, "dashboard", "a.txt", 5)
    copy = install.deliveries.copy_of(made)
    assert copy.read_bytes() == b"hello"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert copy.parent.stat().st_mode & 0o777 == 0o700


def test_the_same_content_is_delivered_once_and_changed_content_again(install: DeliveryFixture) -> None:
    """Whatever its times say; what is not delivered leaves no copy."""
    for content in (b"one", b"one", b"two", b"two", b"one"):
        install.put("a.txt", content)
        os.utime(install.out / "a.txt", (15e9, 15e9))
        take(install, b"a.txt")
    assert [made.size_bytes for made in install.rows()] == [3, 3]
    assert len(install.outbox) == 2


def test_one_of_many_threads_delivers(install: DeliveryFixture) -> None:
    """Fifty at once make one row, one hand-over and one copy."""
    carrier = RecordingCarrier()
    install.deliveries.add_carrier(carrier)
    install.put("a.txt")
    gate, outcomes = threading.Barrier(50), list[IntakeOutcome]()

    def run() -> None:
        gate.wait()
        outcomes.append(take(install, b"a.txt"))

    threads = [threading.Thread(target=run) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [IntakeOutcome.DONE] + [IntakeOutcome.KNOWN] * 49
    assert (len(install.rows()), len(carrier.calls), len(install.outbox)) == (1, 1, 1)


def test_a_file_that_a_program_still_has_open_waits(install: DeliveryFixture) -> None:
    """However long it is quiet; when it is closed it is taken."""
    with (install.out / "a.txt").open("wb") as file:
        file.write(b"half")
        file.flush()
        assert take(install, b"a.txt") is IntakeOutcome.AGAIN
        file.write(b" whole")
    assert take(install, b"a.txt") is IntakeOutcome.DONE
    assert [made.size_bytes for made in install.rows()] == [10]


def test_what_is_gone_is_nothing(install: DeliveryFixture) -> None:
    """Neither a row nor an error."""
    assert take(install, b"never") is IntakeOutcome.DONE
    assert install.rows() == []


def test_a_deleted_agent_gets_no_deliveries(install: DeliveryFixture) -> None:
    """Nor is its copy kept."""
    install.put("a.txt")
    with install.store.writing() as db:
        agent_rows.delete_agent(db, KEY.agent)
    take(install, b"a.txt")
    assert install.rows() == []
    assert install.outbox == []


# --- dying -----------------------------------------------------------------------------------------------------


class DyingStore(Store):
    """The process ends at the n-th transaction: before it, or right after it is on disk."""

    countdown = -1
    is_after = False

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """As always, until it is time."""
        self.countdown -= 1
        is_time = self.countdown == 0
        if is_time and not self.is_after:
            raise Died
        with super().writing() as db:
            yield db
        if is_time:
            raise Died


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_death_at_any_transaction_loses_and_doubles_nothing(tmp_path: Path, at: int, moment: str) -> None:
    """After the next start the carrier has the file once, and no copy lies about."""
    carrier = RecordingCarrier()
    (tmp_path / "db").mkdir()
    store = DyingStore(tmp_path / "db" / "hermit.db")
    with outgoing(tmp_path, carrier, store=store) as dying:
        dying.put("a.txt")
        store.countdown, store.is_after = at, moment == "after"
        with suppress(Died):
            take(dying, b"a.txt")
            for number in carrier.taken:
                dying.deliveries.mark_sent(number)
    (tmp_path / "outbox" / "copy-left-by-a-death").write_bytes(b"half")
    _check_after_a_start(tmp_path, carrier)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_death_while_handing_over_is_made_good(tmp_path: Path, moment: str) -> None:
    """The same delivery is handed over again, which its carrier knows."""
    dying = DyingCarrier()
    dying.is_after = moment == "after"
    with outgoing(tmp_path, dying) as install:
        install.put("a.txt")
        with pytest.raises(Died):
            take(install, b"a.txt")
    _check_after_a_start(tmp_path, RecordingCarrier(taken=dying.taken))


def _check_after_a_start(home: Path, carrier: RecordingCarrier) -> None:
    with outgoing(home, carrier) as install:
        install.deliveries.reconcile()
        take(install, b"a.txt")
        for made in install.rows():
            install.deliveries.mark_sent(made.id)
        assert [(made.status, made.path) for made in install.rows()] == [(DeliveryStatus.SENT, b"a.txt")]
        assert list(carrier.taken.values()) == [b"content"]
        assert install.outbox == [made.copy for made in install.rows()]


def test_a_death_before_the_row_leaves_no_copy(install: DeliveryFixture) -> None:
    """The next start clears what no row speaks of."""
    (install.home / "outbox" / "copy-x").write_bytes(b"half")
    install.deliveries.reconcile()
    assert install.outbox == []


def test_a_notice_is_told_again_after_a_death_under_the_same_number(tmp_path: Path) -> None:
    """The carrier knows it by that."""
    carrier = RecordingCarrier()
    with outgoing(tmp_path, carrier) as install:
        (install.out / "link").symlink_to("/etc/passwd")
        take(install, b"link")
        install.deliveries.reconcile()
    assert len(carrier.told) == 1
    assert len(carrier.calls) == 2


# --- carriers --------------------------------------------------------------------------------------------------


def test_a_carrier_gets_the_copy_and_reports(install: DeliveryFixture) -> None:
    """Sent and failed count once, the first of them."""
    carrier = RecordingCarrier()
    install.deliveries.add_carrier(carrier)
    install.put("a.txt")
    take(install, b"a.txt")
    (made,) = install.rows()
    assert (made.status, made.to, carrier.taken) == (DeliveryStatus.HANDED, "paper:1", {made.id: b"content"})
    install.deliveries.mark_sent(made.id)
    install.deliveries.mark_failed(made.id, "too late")
    assert [(m.status, m.why) for m in install.rows()] == [(DeliveryStatus.SENT, "")]


@pytest.mark.parametrize(("carrier", "why"), [(RefusingCarrier(), "The chat is gone."), (BrokenCarrier(), "download")])
def test_a_carrier_that_fails_fails_one_file_alone(
    install: DeliveryFixture, carrier: RecordingCarrier, why: str
) -> None:
    """The person finds it in the dashboard, and the next file is tried."""
    install.deliveries.add_carrier(carrier)
    for name in ("a.txt", "b.txt"):
        install.put(name)
        assert take(install, name.encode()) is IntakeOutcome.DONE
    assert [made.status for made in install.rows()] == [DeliveryStatus.FAILED] * 2
    assert all(why in made.why for made in install.rows())
    assert install.deliveries.copy_of(install.rows()[0]).read_bytes() == b"content"


def test_a_broken_carrier_keeps_no_notice_from_the_dashboard(install: DeliveryFixture) -> None:
    """The row is there all the same."""
    install.deliveries.add_carrier(BrokenCarrier())
    os.mkfifo(install.out / "pipe")
    take(install, b"pipe")
    assert [made.status for made in install.rows()] == [DeliveryStatus.REFUSED]


def test_the_first_carrier_that_reaches_the_person_takes_it(install: DeliveryFixture) -> None:
    """One that reaches nobody is passed over."""
    second = RecordingCarrier(name="second")
    for carrier in (DeafCarrier(), second):
        install.deliveries.add_carrier(carrier)
    install.put("a.txt")
    take(install, b"a.txt")
    assert len(second.taken) == 1


def test_a_file_too_large_for_its_carrier_goes_as_a_link(install: DeliveryFixture) -> None:
    """The link opens that file, and no other token opens anything."""
    carrier = RecordingCarrier(largest_bytes=4)
    install.deliveries.add_carrier(carrier)
    install.put("a.txt", b"12345")
    take(install, b"a.txt")
    (text,) = carrier.told.values()
    token = text.rpartition("http://house/d/")[2]
    assert carrier.taken == {}
    assert install.deliveries.of_link(token).name == "a.txt"
    said = set()
    for wrong in (
        "",
        "x",
        token[:-1],
        f"{token}0",
        f"2{token[1:]}",
        token.replace(".", "x"),
        "1.9999999999." + "0" * 64,
    ):
        with pytest.raises(NotFound) as refused:
            install.deliveries.of_link(wrong)
        said.add(refused.value.message)
    assert len(said) == 1


def test_without_its_carrier_a_delivery_on_its_way_fails_kindly(tmp_path: Path) -> None:
    """The bot was taken away while the install was down."""
    with outgoing(tmp_path, DyingCarrier()) as install:
        install.put("a.txt")
        with pytest.raises(Died):
            take(install, b"a.txt")
    with outgoing(tmp_path) as install:
        install.deliveries.reconcile()
        assert [made.status for made in install.rows()] == [DeliveryStatus.FAILED]


# --- asked for by name -----------------------------------------------------------------------------------------


def test_asked_for_by_name_a_file_is_sent_again_but_once_for_one_turn(install: DeliveryFixture) -> None:
    """Also when it was delivered before; another turn may ask again."""
    install.put("a.txt")
    take(install, b"a.txt")
    for turn in (first := install.turn(), first, install.turn()):
        take(install, b"a.txt", asked=turn)
    assert [made.turn for made in install.rows()] == [None, 1, 2]


def test_what_a_turn_delivered_by_itself_answers_its_asking(install: DeliveryFixture) -> None:
    """One file, one delivery, in either order."""
    turn = install.turn()
    for name, order in ((b"a.txt", (None, turn)), (b"b.txt", (turn, None))):
        install.put(name)
        for asked in order:
            install.intake.take_file(KEY, name, found_at=time.time(), asked=asked)
    assert [(made.path, made.turn) for made in install.rows()] == [(b"a.txt", turn), (b"b.txt", turn)]
    assert install.intake.list_unanswered(since=0) == []


def test_asking_that_a_death_cut_off_is_found_again(install: DeliveryFixture) -> None:
    """Each file of it, until it is answered."""
    turn = install.turn(action="FILE:a.txt|b.txt", is_over=True)
    install.put("a.txt")
    take(install, b"a.txt", asked=turn)
    assert install.intake.list_unanswered(since=0) == [(KEY, turn, b"b.txt")]
    take(install, b"b.txt", asked=turn)
    assert install.intake.list_unanswered(since=0) == []
    assert [(made.status, made.path) for made in install.rows()][-1] == (DeliveryStatus.FAILED, b"b.txt")


@pytest.mark.parametrize(
    ("action", "paths"),
    [
        ("FILE:report.pdf", (b"report.pdf",)),
        ("file: a.txt | b.txt|a.txt", (b"a.txt", b"b.txt")),
        ("FILE:out/a.txt|../out/b.txt|/app/workspace/out/c.txt|./d.txt", (b"a.txt", b"b.txt", b"c.txt", b"d.txt")),
        ("FILE:plots/a.png", (b"plots/a.png",)),
        (r"FILE:a\|b.txt", (b"a|b.txt",)),
        ("FILE:", ()),
        ("", ()),
        ("none", ()),
        ("CALENDAR_CREATE:x|y", ()),
        ("FILE:../../etc/passwd", (b"../../etc/passwd",)),
        ("FILE:" + "|".join(map(str, range(100))), tuple(str(n).encode() for n in range(20))),
    ],
)
def test_what_an_action_names(install: DeliveryFixture, action: str, paths: tuple[bytes, ...]) -> None:
    """Files within out/, by bare name or by the paths that models write."""
    assert install.intake.files_asked(install.turn(action=action, is_over=True)) == paths


@pytest.mark.parametrize(
    "path",
    [
        "../data/x",
        "../data",
        "..",
        ".",
        "../in",
        "a/..",
        "/etc/passwd",
        "a/../../../etc/passwd",
        "link/passwd",
        "",
        "nul\0",
        "gone",
    ],
)
def test_only_what_is_in_the_outbox_folder_can_be_asked_for(install: DeliveryFixture, path: str) -> None:
    """All else is said not to be there, and nothing is read."""
    (install.out / "link").symlink_to("/etc")
    (install.out / "a").mkdir()
    (install.out.parent / "data" / "x").write_bytes(b"secret")
    assert take(install, path.encode(), asked=install.turn()) is IntakeOutcome.DONE
    assert [made.status for made in install.rows()] == [DeliveryStatus.FAILED]
    assert install.outbox == []


def test_a_promised_file_that_is_missing_is_said_in_one_line(install: DeliveryFixture) -> None:
    """Nothing is said of those that are there."""
    install.put("a.txt")
    assert install.intake.missing_files(KEY, "FILE:a.txt") == ""
    line = install.intake.missing_files(KEY, "FILE:a.txt|b\n.txt|../work/c")
    assert "\n" not in line
    assert "b\\n.txt" in line
    assert "../work/c" in line
    assert "a.txt" not in line


# --- which turn ------------------------------------------------------------------------------------------------


def test_a_file_belongs_to_the_turn_under_way_or_just_ended(install: DeliveryFixture) -> None:
    """Long after, it belongs to none."""
    now = time.time()
    over = install.turn(is_over=True, at=now - 100)
    for name, found_at, turn in (("a", now - 95, over), ("b", now - 50, None), ("c", now - 200, None)):
        install.put(name, name.encode())
        install.intake.take_file(KEY, name.encode(), found_at=found_at)
        assert install.rows()[-1].turn == turn
    running = install.turn(at=now - 20)
    install.put("d", b"d")
    install.intake.take_file(KEY, b"d", found_at=now)
    assert install.rows()[-1].turn == running


# --- copies ----------------------------------------------------------------------------------------------------


def test_copies_go_after_their_time_and_the_rows_stay(install: DeliveryFixture) -> None:
    """Their download is said to be gone."""
    install.put("a.txt")
    take(install, b"a.txt")
    install.deliveries.remove_old(time.time() + rules.KEPT_FOR_S - 60)
    assert len(install.outbox) == 1
    install.deliveries.remove_old(time.time() + rules.KEPT_FOR_S + 60)
    assert install.outbox == []
    (made,) = install.rows()
    assert rules.as_json(made)["url"] is None
    with pytest.raises(NotFound):
        install.deliveries.copy_of(made)


def test_the_oldest_copies_of_a_full_outbox_go(install: DeliveryFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """But none that is still on its way."""
    monkeypatch.setattr(rules, "KEPT_BYTES", 15)
    for name in ("a", "b", "c"):
        install.put(name, name.encode() * 10)
        take(install, name.encode())
    install.deliveries.remove_old(time.time())
    assert [bool(made.copy) for made in install.rows()] == [False, False, True]
    install.deliveries.add_carrier(RecordingCarrier())
    install.put("d", b"d" * 100)
    take(install, b"d")
    install.deliveries.remove_old(time.time())
    assert install.rows()[-1].copy


def test_deliveries_are_paged(install: DeliveryFixture) -> None:
    """Newest first, each once, and only one's own."""
    for number in range(5):
        install.put(str(number), str(number).encode())
        take(install, str(number).encode())
    first = install.deliveries.list_deliveries(KEY, limit=3)
    rest = install.deliveries.list_deliveries(KEY, limit=3, before=first[-1].id)
    assert [made.name for made in (*first, *rest)] == ["4", "3", "2", "1", "0"]
    assert install.deliveries.list_deliveries(CubicleKey("crab", 2), limit=3) == []


@pytest.mark.parametrize("how", ["dashboard", "sent", "failed"])
def test_whoever_follows_hears_once_that_a_delivery_is_settled(tmp_path: Path, how: str) -> None:
    """Without a carrier at once, else when the carrier says so; again changes nothing."""
    carriers = () if how == "dashboard" else (RecordingCarrier(),)
    with outgoing(tmp_path, *carriers) as install:
        settled: list[Delivery] = []
        install.hooks.delivery_settled.subscribe(settled.append)
        install.put("a.txt")
        take(install, b"a.txt")
        [made] = install.rows()
        for _ in range(2):
            if how == "sent":
                install.deliveries.mark_sent(made.id)
            elif how == "failed":
                install.deliveries.mark_failed(made.id, "The chat is gone.")
        [now] = install.rows()
        assert settled == [now]
        assert str(now.status) == ("failed" if how == "failed" else "sent")
