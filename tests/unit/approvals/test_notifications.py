"""``orchestrator.approvals.notifications``: what the install says to a person, and a button that does its deed once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from orchestrator.approvals.notification_rows import Notice, Offer
from orchestrator.approvals.notifications import Deed, Notifications, as_json
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.models import User
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching

CANCEL = Offer("Cancel it", "calendar.cancel")


@dataclass
class Board:
    """Notices, and what their buttons did."""

    install: CoreFixture
    notifications: Notifications
    done: list[str] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)

    def post(self, *, subject: str = "7") -> Notice:
        """A new entry, with its button."""
        return self.notifications.post(KEY, "calendar", "New: tea at 5.", turn=3, subject=subject, offers=[CANCEL])


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    """A board whose one button cancels."""
    with core_fixture(tmp_path / "home") as install:
        made = Board(install, Notifications(install.store, install.broker))
        made.notifications.on_button("calendar.cancel", _cancelling(made))
        yield made


def _cancelling(board: Board) -> Deed:
    def cancel(_db: sqlite3.Connection, notice: Notice, by: User) -> str:
        if notice.subject == "gone":
            raise NotFound("It is gone already.")
        board.done.append(f"{notice.subject} by {by.name}")
        board.install.store.after_commit(partial(board.followed.append, notice.subject))
        return "Cancelled."

    return cancel


def test_a_notice_is_a_row_before_anybody_hears(board: Board) -> None:
    """Posted it is there; committed it is news, in the form of the API."""
    with watching(board.install.broker) as news:
        with board.install.store.writing():
            notice = board.post()
            assert heard(news) == []
        bodies = of_kind(heard(news), "notice")
    assert bodies == [as_json(notice)]
    assert bodies[0]["offers"] == [{"label": "Cancel it", "do": "calendar.cancel"}]
    assert board.notifications.list_recent(KEY) == [notice]
    assert board.notifications.list_recent(OTHER) == []


def test_one_of_many_presses_counts(board: Board) -> None:
    """The others are told how it ended; what follows happens once."""
    notice = board.post()
    press = partial(
        board.notifications.press_button, notice.id, "calendar.cancel", by=board.install.operator, surface="test"
    )
    results = at_once(*[press] * 10)
    assert sum(isinstance(result, Notice) for result in results) == 1
    assert {str(result) for result in results if isinstance(result, Conflict)} == {"That was already done: Cancelled."}
    assert (board.done, board.followed) == (["7 by ada"], ["7"])
    settled = board.notifications.get(notice.id)
    assert (settled.outcome, as_json(settled)["offers"]) == ("Cancelled.", [])
    assert board.install.audited("notice.calendar.cancel")[0].text == "Cancelled. By ada (test)."


def test_a_press_is_for_whose_cubicle_it_is(board: Board) -> None:
    """For others the notice is not there; the operator may press for everybody."""
    notice = board.post()
    with pytest.raises(NotFound):
        board.notifications.press_button(notice.id, "calendar.cancel", by=board.install.member, surface="test")
    with pytest.raises(BadInput, match="no such button"):
        board.notifications.press_button(notice.id, "calendar.undo", by=board.install.operator, surface="test")
    assert board.done == []


def test_a_deed_that_fails_leaves_the_button(board: Board) -> None:
    """Nothing was settled, so the person may try again."""
    notice = board.post(subject="gone")
    with pytest.raises(NotFound, match="gone already"):
        board.notifications.press_button(notice.id, "calendar.cancel", by=board.install.operator, surface="test")
    assert board.notifications.get(notice.id).settled_at is None


def test_what_is_settled_elsewhere_offers_nothing_more(board: Board) -> None:
    """Every notice about that thing says so, those about others stay."""
    first, second, other = board.post(), board.post(), board.post(subject="8")
    with watching(board.install.broker) as news:
        board.notifications.settle_buttons("calendar", "7", "It was deleted.")
        told = {body["id"]: body["outcome"] for body in of_kind(heard(news), "notice")}
    assert told == {first.id: "It was deleted.", second.id: "It was deleted."}
    assert board.notifications.get(other.id).settled_at is None


def test_pages_go_back_in_order(board: Board) -> None:
    """Oldest first within a page."""
    posted = [board.post(subject=str(n)) for n in range(5)]
    assert board.notifications.list_recent(KEY, limit=2) == posted[3:]
    assert board.notifications.list_recent(KEY, before=posted[3].id, limit=2) == posted[1:3]
