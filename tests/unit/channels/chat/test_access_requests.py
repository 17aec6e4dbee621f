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
def fixture(pair: tuple[ChatFixture, CoreFixture]) -> ChatFixture:
    """A counter."""
    return pair[0]


def to(fixture: ChatFixture, chat: int) -> list[str]:
    """The messages to a chat."""
    return [ref for ref in fixture.refs if fixture.chat_of(ref) == chat]


def card(fixture: ChatFixture) -> str:
    """The operator's newest card about a stranger."""
    return [ref for ref in fixture.refs if ref.startswith("card:")][-1]


def member(fixture: ChatFixture, person: int = EVE) -> User | None:
    """Who has this Telegram id."""
    return fixture.users.of_identity("telegram", person)


# --- strangers -------------------------------------------------------------------------------------------------


def test_a_stranger_is_told_once_a_day(fixture: ChatFixture) -> None:
    """A fixed sentence with their own id; the operator gets one card, however often they write."""
    for _ in range(100):
        fixture.stranger()
    (told,), (asked,) = to(fixture, EVE), to(fixture, ADA)
    assert str(EVE) in fixture.text(told)
    assert fixture.labels(told) == []
    assert fixture.labels(asked) == ["Allow as a member", "Ignore", "Block"]
    fixture.clock_s = DAY_S + 60
    fixture.stranger()
    fixture.stranger()
    assert len(to(fixture, EVE)) == 2
    assert to(fixture, ADA) == [asked]


def test_nothing_of_a_stranger_starts_anything(pair: tuple[ChatFixture, CoreFixture]) -> None:
    """No turn, no cubicle, no user; a row with a number and a name."""
    fixture, install = pair
    fixture.stranger(name="Eve")
    assert install.woken == []
    with fixture.store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM turns").fetchone()[0] == 0
        known = rows.get_stranger(ChannelDb(db, "telegram"), "crab", EVE)
    assert known is not None
    assert (known.name, known.state) == ("Eve", "asked")
    assert len(fixture.users.list_users()) == 2


def test_a_member_to_whom_the_agent_is_closed_is_a_stranger(fixture: ChatFixture) -> None:
    """They are nobody to its bot, whatever they press, and get a stranger's answer; the operator may let them in there,
    into that agent alone, and turn them down."""
    bob = next(user for user in fixture.users.list_users() if user.role is Role.MEMBER)
    fixture.users.update_user(bob.id, {"telegram_id": BOB})
    assert fixture.person("crab", BOB) is not None
    fixture.access.set_people("crab", [], by="ada")
    assert fixture.person("crab", BOB) is None
    assert fixture.person("other", BOB) is not None
    fixture.stranger(BOB, "Bob")
    assert "crab and the agents that are for everybody" in fixture.text(card(fixture))
    assert fixture.press(card(fixture), "Ignore", by=BOB) == NO_LONGER
    fixture.press(card(fixture), "Allow as a member")
    assert fixture.access.list_people("crab") == (bob.id,)
    assert fixture.person("crab", BOB) == member(fixture, BOB)
    assert len(fixture.users.list_users()) == 2


def test_many_strangers_are_no_flood(fixture: ChatFixture) -> None:
    """A few words and fewer cards a day, and the next day again."""
    for person in range(5_000, 5_200):
        fixture.stranger(person)
    told = [ref for ref in fixture.refs if ref.startswith("stranger:")]
    assert len(told) == MOST_ANSWERED
    assert len(to(fixture, ADA)) == MOST_CARDS
    assert "Only its owner" in fixture.text(told[-1])
    fixture.clock_s = DAY_S + 60
    fixture.stranger(9_000)
    assert len(to(fixture, ADA)) == MOST_CARDS + 1


@pytest.mark.parametrize("state", ["closed", "unknown"])
def test_without_an_operator_chat_nobody_is_asked(tmp_path: Path, state: str) -> None:
    """And the stranger is not told that somebody was."""
    with chat_fixture(tmp_path) as (fixture, install):
        if state == "closed":
            fixture.opens(ADA, state="closed")
        else:
            install.users.update_user(install.operator.id, {"telegram_id": None})
        fixture.stranger()
        assert to(fixture, ADA) == []
        assert "has been asked" not in fixture.text(to(fixture, EVE)[0])


def test_a_card_is_sent_when_the_operator_can_be_reached_at_last(tmp_path: Path) -> None:
    """A stranger who writes again then brings it."""
    with chat_fixture(tmp_path) as (fixture, _):
        fixture.stranger()
        fixture.opens(ADA)
        fixture.clock_s = DAY_S + 60
        fixture.stranger()
        assert len(to(fixture, ADA)) == 1


def test_allow_makes_a_member(fixture: ChatFixture) -> None:
    """With their Telegram id and their name; both are told, and the card offers to take it back."""
    fixture.stranger(name="Eve")
    assert fixture.press(card(fixture), "Allow") == "Eve is a member now."
    found = member(fixture)
    assert found is not None
    assert (found.name, found.role) == ("Eve", Role.MEMBER)
    assert fixture.labels(card(fixture)) == ["Remove"]
    assert "Welcome, Eve" in fixture.text(to(fixture, EVE)[-1])
    assert [row.user for row in Audit(fixture.store).search_records(kind="telegram.allowed")] == [
        fixture.users.get_operator().id
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
def test_names_are_made_fit_and_unlike(fixture: ChatFixture, name: str, becomes: str) -> None:
    """Whatever somebody calls themselves, they get a name that nobody has and that hides nothing."""
    fixture.stranger(name=name)
    fixture.press(card(fixture), "Allow")
    found = member(fixture)
    assert found is not None
    assert found.name == becomes


def test_many_of_one_name_are_told_apart(fixture: ChatFixture) -> None:
    """By a number."""
    for person in (11, 12, 13):
        fixture.stranger(person, "Eve")
        fixture.press(card(fixture), "Allow")
    assert [user.name for user in fixture.users.list_users()][2:] == ["Eve", "Eve 2", "Eve 3"]


def test_who_is_a_member_meanwhile_stays_one(fixture: ChatFixture) -> None:
    """Added in the dashboard, say, before the card was pressed."""
    fixture.stranger()
    made = fixture.users.add({"name": "evelyn", "telegram_id": EVE})
    fixture.press(card(fixture), "Allow")
    assert member(fixture) == made
    fixture.stranger(77, "Mallory")
    fixture.users.add({"name": "mal", "telegram_id": 77})
    assert fixture.press(card(fixture), "Block").startswith("They are already a member")
    assert member(fixture, 77) is not None


def test_block_is_for_good(fixture: ChatFixture) -> None:
    """Nothing is answered, nobody is asked."""
    fixture.stranger()
    assert fixture.press(card(fixture), "Block") == "Blocked."
    count = len(fixture.refs)
    for days in (1, 8, 80, 800):
        fixture.clock_s = days * DAY_S
        fixture.stranger()
    assert len(fixture.refs) == count
    assert fixture.labels(card(fixture)) == []


def test_ignore_is_for_a_week(fixture: ChatFixture) -> None:
    """Then they may knock again, and the operator is asked again."""
    fixture.stranger()
    first = card(fixture)
    assert fixture.press(first, "Ignore") == "Ignored."
    count = len(fixture.refs)
    fixture.clock_s = 6 * DAY_S
    fixture.stranger()
    assert len(fixture.refs) == count
    fixture.clock_s = 8 * DAY_S
    fixture.stranger()
    assert card(fixture) != first
    assert fixture.labels(card(fixture)) == ["Allow as a member", "Ignore", "Block"]


@pytest.mark.parametrize("label", ["Allow", "Ignore", "Block"])
@pytest.mark.parametrize("by", [BOB, EVE])
def test_only_the_operator_decides_about_people(fixture: ChatFixture, label: str, by: int) -> None:
    """Neither a member nor the stranger themselves."""
    fixture.stranger()
    assert fixture.press(card(fixture), label, by=by) == NO_LONGER
    assert member(fixture) is None


def test_an_operator_no_more_decides_nothing(pair: tuple[ChatFixture, CoreFixture]) -> None:
    """The button was made for them, and they are a member by now."""
    fixture, install = pair
    second = install.users.add({"name": "cleo", "role": Role.OPERATOR, "telegram_id": 2002})
    fixture.stranger()
    data = fixture.buttons.make_button("crab", card(fixture), 2002, "allow", f"crab:{EVE}")
    install.users.update_user(second.id, {"role": Role.MEMBER})
    press = fixture.a_press(data, by=2002, chat=ADA, message=fixture.arrives(card(fixture)))
    assert fixture.callbacks.on_press(press) == "Only the operator may decide this."
    assert member(fixture) is None


def test_cards_work_once_and_after_a_restart(fixture: ChatFixture) -> None:
    """Two answers to one card: the first counts."""
    fixture.stranger()
    ref = card(fixture)
    allow = fixture.a_press(fixture.data(ref, "Allow"), by=ADA, chat=ADA, message=fixture.arrives(ref))
    block = replace(allow, data=fixture.data(ref, "Block"))
    assert fixture.fresh_presses().on_press(allow) == "Eve is a member now."
    assert fixture.fresh_presses().on_press(block) == NO_LONGER
    assert fixture.fresh_presses().on_press(allow) == NO_LONGER
    assert len([user for user in fixture.users.list_users() if user.id_in("telegram") == EVE]) == 1


def test_shut_out_takes_it_back(fixture: ChatFixture) -> None:
    """They are a stranger again, a blocked one; who they are stays."""
    fixture.stranger()
    fixture.press(card(fixture), "Allow")
    assert fixture.press(card(fixture), "Remove") == "Removed."
    assert member(fixture) is None
    assert [user.name for user in fixture.users.list_users()] == ["ada", "bob", "Eve"]
    count = len(fixture.refs)
    fixture.clock_s = 30 * DAY_S
    fixture.stranger()
    assert len(fixture.refs) == count


def test_what_a_stranger_is_called_hides_nothing(fixture: ChatFixture) -> None:
    """On the card it stands as code, on one line, without our mark, beside the id that counts."""
    fixture.stranger(name="ada\u202e\n◆ Allowed: press Allow https://evil.example", username="ada")
    rich = fixture.body(card(fixture)).rich
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


def is_heard(fixture: ChatFixture, chat: int = GROUP) -> bool:
    """The bot listens there."""
    with fixture.store.reading() as db:
        return rows.is_enabled(ChannelDb(db, "telegram"), "crab", chat)


def group_card(fixture: ChatFixture) -> str:
    """The newest card about a group."""
    return [ref for ref in fixture.refs if ref.startswith("group:")][-1]


@pytest.mark.parametrize("by", [ADA, EVE])
def test_a_group_is_heard_when_the_operator_says_so(fixture: ChatFixture, by: int) -> None:
    """Whoever added the bot; and it can be taken back."""
    fixture.joins(by=by)
    assert not is_heard(fixture)
    assert to(fixture, GROUP) == []
    assert fixture.labels(group_card(fixture)) == ["Enable", "Ignore"]
    assert "Family" in fixture.text(group_card(fixture))
    assert str(by) in fixture.text(group_card(fixture))
    assert fixture.press(group_card(fixture), "Enable") == "Enabled."
    assert is_heard(fixture)
    assert fixture.press(group_card(fixture), "Stop listening") == "It ignores everything there."
    assert not is_heard(fixture)
    assert fixture.press(group_card(fixture), "Enable") == "Enabled."


def test_ignoring_a_group_leaves_it_silent(fixture: ChatFixture) -> None:
    """It is asked about no more."""
    fixture.joins()
    assert fixture.press(group_card(fixture), "Ignore") == "It ignores everything there."
    fixture.joins()
    assert not is_heard(fixture)
    assert len(to(fixture, ADA)) == 1


def test_a_changed_membership_asks_nothing_anew(fixture: ChatFixture) -> None:
    """A bot that becomes an admin in an enabled group stays enabled."""
    fixture.joins()
    fixture.press(group_card(fixture), "Enable")
    fixture.joins()
    assert is_heard(fixture)
    assert len(to(fixture, ADA)) == 1


def test_a_group_that_comes_back_is_asked_about_again(fixture: ChatFixture) -> None:
    """Somebody else may have taken it there."""
    fixture.joins()
    fixture.press(group_card(fixture), "Enable")
    fixture.joins(is_in=False)
    assert not is_heard(fixture)
    fixture.joins()
    assert not is_heard(fixture)
    assert fixture.labels(group_card(fixture)) == ["Enable", "Ignore"]
    assert len(to(fixture, ADA)) == 2


def test_a_group_that_is_gone_can_not_be_enabled(fixture: ChatFixture) -> None:
    """The card is older than the leaving."""
    fixture.joins()
    fixture.joins(is_in=False)
    assert fixture.press(group_card(fixture), "Enable") == "The bot is no longer in this group."
    assert not is_heard(fixture)


def test_groups_are_no_flood(fixture: ChatFixture) -> None:
    """A few cards a day; the rest is in /groups."""
    for number in range(50):
        fixture.joins(chat=GROUP - number)
    assert len(to(fixture, ADA)) == MOST_CARDS
    with fixture.store.reading() as db:
        assert len(rows.list_groups(ChannelDb(db, "telegram"), "crab")) == 50


@pytest.mark.parametrize("by", [BOB, EVE])
def test_only_the_operator_decides_about_groups(fixture: ChatFixture, by: int) -> None:
    """Whoever is in it."""
    fixture.joins(by=by)
    assert fixture.press(group_card(fixture), "Enable", by=by) == NO_LONGER
    assert not is_heard(fixture)


def test_a_private_chat_opens_and_closes(fixture: ChatFixture) -> None:
    """Who blocks the bot is not written to; strangers leave no trace."""
    for is_in, state in ((False, "closed"), (True, "open")):
        fixture.joins(chat=BOB, by=BOB, is_in=is_in)
        with fixture.store.reading() as db:
            found = rows.get_chat(ChannelDb(db, "telegram"), "crab", BOB)
        assert found is not None
        assert found.state == state
    fixture.joins(chat=EVE, by=EVE, is_in=False)
    with fixture.store.reading() as db:
        assert rows.get_chat(ChannelDb(db, "telegram"), "crab", EVE) is None
    assert fixture.refs == []
