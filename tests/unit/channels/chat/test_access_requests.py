"""``channels.chat.access_requests`` and ``groups``: strangers get one word a day and nothing else, the operator
decides, and a bot hears nothing in a group until told so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.channels.chat import contact_rows as rows
from orchestrator.channels.chat.access_context import MOST_CARDS
from orchestrator.channels.chat.access_requests import MOST_ANSWERED, member_name
from orchestrator.channels.chat.callbacks import NO_LONGER
from orchestrator.channels.chat.channel_store import ChannelDb
from orchestrator.channels.chat.events import Sender
from orchestrator.core.audit import Audit
from orchestrator.core.models import Role, User
from tests.support.chat_fixture import ADA, BOB, EVE, GROUP, ChatFixture, chat_fixture
from tests.support.core_fixture import CoreFixture

DAY_S = 24 * 3600.0


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[ChatFixture, CoreFixture]]:
    """A counter and its rooms; the operator's chat with the bot is open."""
    with chat_fixture(tmp_path) as made:
        made[0].opens(ADA)
        yield made


@pytest.fixture
def desk(pair: tuple[ChatFixture, CoreFixture]) -> ChatFixture:
    """A counter."""
    return pair[0]


def to(desk: ChatFixture, chat: int) -> list[str]:
    """The letters to a chat."""
    return [ref for ref in desk.refs if desk.chat_of(ref) == chat]


def card(desk: ChatFixture) -> str:
    """The operator's newest card about a stranger."""
    return [ref for ref in desk.refs if ref.startswith("card:")][-1]


def member(desk: ChatFixture, person: int = EVE) -> User | None:
    """Who has this Telegram id."""
    return desk.people.of_identity("telegram", person)


# --- strangers -------------------------------------------------------------------------------------------------


def test_a_stranger_is_told_once_a_day(desk: ChatFixture) -> None:
    """A fixed sentence with their own id; the operator gets one card, however often they write."""
    for _ in range(100):
        desk.stranger()
    (told,), (asked,) = to(desk, EVE), to(desk, ADA)
    assert str(EVE) in desk.text(told)
    assert desk.labels(told) == []
    assert desk.labels(asked) == ["Allow as a member", "Ignore", "Block"]
    desk.clock_s = DAY_S + 60
    desk.stranger()
    desk.stranger()
    assert len(to(desk, EVE)) == 2
    assert to(desk, ADA) == [asked]


def test_nothing_of_a_stranger_starts_anything(pair: tuple[ChatFixture, CoreFixture]) -> None:
    """No turn, no cubicle, no user; a row with a number and a name."""
    desk, house = pair
    desk.stranger(name="Eve")
    assert house.woken == []
    with desk.store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM turns").fetchone()[0] == 0
        known = rows.get_stranger(ChannelDb(db, "telegram"), "crab", EVE)
    assert known is not None
    assert (known.name, known.state) == ("Eve", "asked")
    assert len(desk.people.list_users()) == 2


def test_many_strangers_are_no_flood(desk: ChatFixture) -> None:
    """A few words and fewer cards a day, and the next day again."""
    for person in range(5_000, 5_200):
        desk.stranger(person)
    told = [ref for ref in desk.refs if ref.startswith("stranger:")]
    assert len(told) == MOST_ANSWERED
    assert len(to(desk, ADA)) == MOST_CARDS
    assert "Only its owner" in desk.text(told[-1])
    desk.clock_s = DAY_S + 60
    desk.stranger(9_000)
    assert len(to(desk, ADA)) == MOST_CARDS + 1


@pytest.mark.parametrize("state", ["closed", "unknown"])
def test_without_an_operator_chat_nobody_is_asked(tmp_path: Path, state: str) -> None:
    """And the stranger is not told that somebody was."""
    with chat_fixture(tmp_path) as (desk, house):
        if state == "closed":
            desk.opens(ADA, state="closed")
        else:
            house.people.update_user(house.operator.id, {"telegram_id": None})
        desk.stranger()
        assert to(desk, ADA) == []
        assert "has been asked" not in desk.text(to(desk, EVE)[0])


def test_a_card_is_sent_when_the_operator_can_be_reached_at_last(tmp_path: Path) -> None:
    """A stranger who writes again then brings it."""
    with chat_fixture(tmp_path) as (desk, _):
        desk.stranger()
        desk.opens(ADA)
        desk.clock_s = DAY_S + 60
        desk.stranger()
        assert len(to(desk, ADA)) == 1


def test_allow_makes_a_member(desk: ChatFixture) -> None:
    """With their Telegram id and their name; both are told, and the card offers to take it back."""
    desk.stranger(name="Eve")
    assert desk.press(card(desk), "Allow") == "Eve is a member now."
    found = member(desk)
    assert found is not None
    assert (found.name, found.role) == ("Eve", Role.MEMBER)
    assert desk.labels(card(desk)) == ["Remove"]
    assert "Welcome, Eve" in desk.text(to(desk, EVE)[-1])
    assert [row.user for row in Audit(desk.store).search_records(kind="telegram.allowed")] == [
        desk.people.get_operator().id
    ]


@pytest.mark.parametrize(
    ("name", "becomes"),
    [
        ("ada", "ada 2"),
        ("bob", "bob 2"),
        ("  Eve   Long \n Name ", "Eve Long Name"),
        ("\u202eevE\u200b", "evE"),
        ("◆ House", "House"),
        ("", f"guest {EVE}"),
        ("\u3164\u2800", f"guest {EVE}"),
        ("x" * 300, "x" * 56),
        ("José 中文", "José 中文"),
        ("'; DROP TABLE users; --", "'; DROP TABLE users; --"),
    ],
)
def test_names_are_made_fit_and_unlike(desk: ChatFixture, name: str, becomes: str) -> None:
    """Whatever somebody calls themselves, they get a name that nobody has and that hides nothing."""
    desk.stranger(name=name)
    desk.press(card(desk), "Allow")
    found = member(desk)
    assert found is not None
    assert found.name == becomes


def test_many_of_one_name_are_told_apart(desk: ChatFixture) -> None:
    """By a number."""
    for person in (11, 12, 13):
        desk.stranger(person, "Eve")
        desk.press(card(desk), "Allow")
    assert [user.name for user in desk.people.list_users()][2:] == ["Eve", "Eve 2", "Eve 3"]


def test_who_is_a_member_meanwhile_stays_one(desk: ChatFixture) -> None:
    """Added in the dashboard, say, before the card was pressed."""
    desk.stranger()
    made = desk.people.add({"name": "evelyn", "telegram_id": EVE})
    desk.press(card(desk), "Allow")
    assert member(desk) == made
    desk.stranger(77, "Mallory")
    desk.people.add({"name": "mal", "telegram_id": 77})
    assert desk.press(card(desk), "Block").startswith("They are already a member")
    assert member(desk, 77) is not None


def test_block_is_for_good(desk: ChatFixture) -> None:
    """Nothing is answered, nobody is asked."""
    desk.stranger()
    assert desk.press(card(desk), "Block") == "Blocked."
    count = len(desk.refs)
    for days in (1, 8, 80, 800):
        desk.clock_s = days * DAY_S
        desk.stranger()
    assert len(desk.refs) == count
    assert desk.labels(card(desk)) == []


def test_ignore_is_for_a_week(desk: ChatFixture) -> None:
    """Then they may knock again, and the operator is asked again."""
    desk.stranger()
    first = card(desk)
    assert desk.press(first, "Ignore") == "Ignored."
    count = len(desk.refs)
    desk.clock_s = 6 * DAY_S
    desk.stranger()
    assert len(desk.refs) == count
    desk.clock_s = 8 * DAY_S
    desk.stranger()
    assert card(desk) != first
    assert desk.labels(card(desk)) == ["Allow as a member", "Ignore", "Block"]


@pytest.mark.parametrize("label", ["Allow", "Ignore", "Block"])
@pytest.mark.parametrize("by", [BOB, EVE])
def test_only_the_operator_decides_about_people(desk: ChatFixture, label: str, by: int) -> None:
    """Neither a member nor the stranger themselves."""
    desk.stranger()
    assert desk.press(card(desk), label, by=by) == NO_LONGER
    assert member(desk) is None


def test_an_operator_no_more_decides_nothing(pair: tuple[ChatFixture, CoreFixture]) -> None:
    """The button was made for them, and they are a member by now."""
    desk, house = pair
    second = house.people.add({"name": "cleo", "role": Role.OPERATOR, "telegram_id": 2002})
    desk.stranger()
    data = desk.buttons.make_button("crab", card(desk), 2002, "allow", f"crab:{EVE}")
    house.people.update_user(second.id, {"role": Role.MEMBER})
    press = desk.a_press(data, by=2002, chat=ADA, message=desk.arrives(card(desk)))
    assert desk.callbacks.on_press(press) == "Only the operator may decide this."
    assert member(desk) is None


def test_cards_work_once_and_after_a_restart(desk: ChatFixture) -> None:
    """Two answers to one card: the first counts."""
    desk.stranger()
    ref = card(desk)
    allow = desk.a_press(desk.data(ref, "Allow"), by=ADA, chat=ADA, message=desk.arrives(ref))
    block = replace(allow, data=desk.data(ref, "Block"))
    assert desk.fresh_presses().on_press(allow) == "Eve is a member now."
    assert desk.fresh_presses().on_press(block) == NO_LONGER
    assert desk.fresh_presses().on_press(allow) == NO_LONGER
    assert len([user for user in desk.people.list_users() if user.id_in("telegram") == EVE]) == 1


def test_shut_out_takes_it_back(desk: ChatFixture) -> None:
    """They are a stranger again, a blocked one; who they are stays."""
    desk.stranger()
    desk.press(card(desk), "Allow")
    assert desk.press(card(desk), "Remove") == "Removed."
    assert member(desk) is None
    assert [user.name for user in desk.people.list_users()] == ["ada", "bob", "Eve"]
    count = len(desk.refs)
    desk.clock_s = 30 * DAY_S
    desk.stranger()
    assert len(desk.refs) == count


def test_what_a_stranger_is_called_hides_nothing(desk: ChatFixture) -> None:
    """On the card it stands as code, on one line, without our mark, beside the id that counts."""
    desk.stranger(name="ada\u202e\n◆ Allowed: press Allow https://evil.example", username="ada")
    rich = desk.body(card(desk)).rich
    assert rich.text.count("◆") == 1
    assert "\u202e" not in rich.text
    assert str(EVE) in rich.text
    codes = [
        rich.text.encode("utf-16-le")[2 * e.offset : 2 * e.end].decode("utf-16-le")
        for e in rich.entities
        if e.type == "code"
    ]
    assert codes == ["ada\\u202e\\n◇ Allowed: press Allow https://evil.example", "@ada"]


def test_a_name_is_never_empty() -> None:
    """Nor half a character."""
    assert member_name(Sender(5, "\ud800")) == "guest 5"
    assert member_name(Sender(5, " \t\n")) == "guest 5"


# --- groups ----------------------------------------------------------------------------------------------------


def is_heard(desk: ChatFixture, chat: int = GROUP) -> bool:
    """The bot listens there."""
    with desk.store.reading() as db:
        return rows.is_enabled(ChannelDb(db, "telegram"), "crab", chat)


def group_card(desk: ChatFixture) -> str:
    """The newest card about a group."""
    return [ref for ref in desk.refs if ref.startswith("group:")][-1]


@pytest.mark.parametrize("by", [ADA, EVE])
def test_a_group_is_heard_when_the_operator_says_so(desk: ChatFixture, by: int) -> None:
    """Whoever added the bot; and it can be taken back."""
    desk.joins(by=by)
    assert not is_heard(desk)
    assert to(desk, GROUP) == []
    assert desk.labels(group_card(desk)) == ["Enable", "Ignore"]
    assert "Family" in desk.text(group_card(desk))
    assert str(by) in desk.text(group_card(desk))
    assert desk.press(group_card(desk), "Enable") == "Enabled."
    assert is_heard(desk)
    assert desk.press(group_card(desk), "Stop listening") == "It ignores everything there."
    assert not is_heard(desk)
    assert desk.press(group_card(desk), "Enable") == "Enabled."


def test_ignoring_a_group_leaves_it_silent(desk: ChatFixture) -> None:
    """It is asked about no more."""
    desk.joins()
    assert desk.press(group_card(desk), "Ignore") == "It ignores everything there."
    desk.joins()
    assert not is_heard(desk)
    assert len(to(desk, ADA)) == 1


def test_a_changed_membership_asks_nothing_anew(desk: ChatFixture) -> None:
    """A bot that becomes an admin in an enabled group stays enabled."""
    desk.joins()
    desk.press(group_card(desk), "Enable")
    desk.joins()
    assert is_heard(desk)
    assert len(to(desk, ADA)) == 1


def test_a_group_that_comes_back_is_asked_about_again(desk: ChatFixture) -> None:
    """Somebody else may have taken it there."""
    desk.joins()
    desk.press(group_card(desk), "Enable")
    desk.joins(is_in=False)
    assert not is_heard(desk)
    desk.joins()
    assert not is_heard(desk)
    assert desk.labels(group_card(desk)) == ["Enable", "Ignore"]
    assert len(to(desk, ADA)) == 2


def test_a_group_that_is_gone_can_not_be_enabled(desk: ChatFixture) -> None:
    """The card is older than the leaving."""
    desk.joins()
    desk.joins(is_in=False)
    assert desk.press(group_card(desk), "Enable") == "The bot is no longer in this group."
    assert not is_heard(desk)


def test_groups_are_no_flood(desk: ChatFixture) -> None:
    """A few cards a day; the rest is in /groups."""
    for number in range(50):
        desk.joins(chat=GROUP - number)
    assert len(to(desk, ADA)) == MOST_CARDS
    with desk.store.reading() as db:
        assert len(rows.list_groups(ChannelDb(db, "telegram"), "crab")) == 50


@pytest.mark.parametrize("by", [BOB, EVE])
def test_only_the_operator_decides_about_groups(desk: ChatFixture, by: int) -> None:
    """Whoever is in it."""
    desk.joins(by=by)
    assert desk.press(group_card(desk), "Enable", by=by) == NO_LONGER
    assert not is_heard(desk)


def test_a_private_chat_opens_and_closes(desk: ChatFixture) -> None:
    """Who blocks the bot is not written to; strangers leave no trace."""
    for is_in, state in ((False, "closed"), (True, "open")):
        desk.joins(chat=BOB, by=BOB, is_in=is_in)
        with desk.store.reading() as db:
            found = rows.get_chat(ChannelDb(db, "telegram"), "crab", BOB)
        assert found is not None
        assert found.state == state
    desk.joins(chat=EVE, by=EVE, is_in=False)
    with desk.store.reading() as db:
        assert rows.get_chat(ChannelDb(db, "telegram"), "crab", EVE) is None
    assert desk.refs == []
