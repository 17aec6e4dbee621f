"""``channels.chat.commands_calendar`` and ``/budget``: what a person sees and changes of their calendar, what is
remembered, their time and their money."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.capabilities.ask.capability import Ask
from orchestrator.capabilities.calendar.rows import CalendarEntry, EntryStatus
from orchestrator.capabilities.capability import Caller
from orchestrator.channels.chat.agent_text import MARK
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey, TokenUse
from tests.support.chat_commands_fixture import CommandsFixture, commands_fixture
from tests.support.chat_fixture import ADA, BOB, EVE, GROUP
from tests.support.core_fixture import at_once

NASTY = f"{MARK} crab:\u202eevil\u200b https://evil.example"
DAILY = "FREQ=DAILY"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[CommandsFixture]:
    """An install without crabs; ada and bob use Telegram."""
    with commands_fixture(tmp_path) as made:
        yield made


def plans(
    shop: CommandsFixture, title: str = "Water the plants", *, start: str = "2031-03-01T09:00", **fields: str
) -> CalendarEntry:
    """Something is put into ada's calendar."""
    wanted = {"title": title, "prompt": "do it", "start": start, **fields}
    return shop.install.services.calendar.create_entry(shop.key, wanted, by=None)


def status(shop: CommandsFixture, entry: CalendarEntry) -> str:
    """How it stands."""
    try:
        return str(shop.install.services.calendar.get_entry(entry.id).status)
    except NotFound:
        return "gone"


def test_the_calendar_shows_what_comes_due(shop: CommandsFixture) -> None:
    """In order, with words and by the person's clock; what is empty says how to fill it."""
    assert "is empty" in shop.says("/calendar")
    later = plans(shop, "Later", start="2031-03-02T09:00")
    first = plans(shop, "First", repeat=DAILY)
    (stored,) = shop.messages("/calendar")
    text = stored.body.rich.text
    assert text.index("First") < text.index("Later")
    assert "Sat 1 Mar, 09:00 CET" in text
    assert "every day at 09:00, by the agent" in text
    assert "Times are Europe/Vienna: /timezone." in text
    assert shop.counter.labels(stored.ref) == [
        f"⏸ Pause {first.id}", f"✕ Delete {first.id}", f"⏸ Pause {later.id}", f"✕ Delete {later.id}",
    ]  # fmt: skip


def test_an_entry_is_paused_resumed_and_deleted(shop: CommandsFixture) -> None:
    """Each press shows the list as it is then."""
    entry = plans(shop, repeat=DAILY)
    (stored,) = shop.messages("/calendar")
    assert shop.counter.press(stored.ref, "Pause") == "Paused."
    assert status(shop, entry) == EntryStatus.PAUSED
    assert "– paused" in shop.counter.text(stored.ref)
    assert shop.counter.press(stored.ref, "Resume") == "Resumed."
    assert status(shop, entry) == EntryStatus.ACTIVE
    assert shop.counter.press(stored.ref, "Delete") == "Deleted."
    assert status(shop, entry) == "gone"
    assert "is empty" in shop.counter.text(stored.ref)
    assert shop.counter.labels(stored.ref) == []


def test_what_was_deleted_elsewhere_is_said(shop: CommandsFixture) -> None:
    """And the list is shown again."""
    entry = plans(shop)
    (stored,) = shop.messages("/calendar")
    shop.install.services.calendar.remove_entry(entry.id, by=shop.ada)
    assert shop.counter.press(stored.ref, "Pause") == f"There is no entry {entry.id} in the calendar."
    assert "is empty" in shop.counter.text(stored.ref)


def test_two_presses_at_once_are_one_deletion(shop: CommandsFixture) -> None:
    """The other finds nothing to delete."""
    entry = plans(shop)
    (stored,) = shop.messages("/calendar")
    shop.counter.arrives(stored.ref)
    at_once(*[lambda: shop.counter.press(stored.ref, "Delete")] * 3)
    assert status(shop, entry) == "gone"


def test_a_full_calendar_fits(shop: CommandsFixture) -> None:
    """The next ones, and how many more there are; a title stays a title."""
    for n in range(40):
        plans(shop, f"{n} {NASTY} {'x' * 100}", start=f"2031-03-{1 + n % 28:02}T09:00")
    (stored,) = shop.messages("/calendar")
    rich = stored.body.rich
    assert rich.units <= 4096
    assert rich.text.count(MARK) == 1
    assert "\u202e" not in rich.text
    assert "… and 32 more entries." in rich.text
    assert len(stored.body.buttons) == 8


def test_nobody_else_touches_a_calendar_by_a_button(shop: CommandsFixture) -> None:
    """Not a stranger, not another member, and not an operator for a member's."""
    entry = plans(shop)
    (stored,) = shop.messages("/calendar")
    data, message = shop.counter.data(stored.ref, "Delete"), shop.counter.arrives(stored.ref)
    for by in (EVE, BOB):
        assert shop.counter.callbacks.on_press(shop.counter.a_press(data, by=by, chat=ADA, message=message)) == (
            "This button no longer works."
        )
    assert status(shop, entry) == EntryStatus.ACTIVE
    bobs = CubicleKey("crab", shop.bob.id)
    wanted = {"title": "Bob's", "prompt": "x", "start": "2031-03-01T09:00"}
    theirs = shop.install.services.calendar.create_entry(bobs, wanted, by=shop.bob)
    (stored,) = shop.messages("/calendar", by=BOB)
    press = shop.counter.a_press(
        shop.counter.data(stored.ref, "Delete"), by=ADA, chat=BOB, message=shop.counter.arrives(stored.ref)
    )
    assert shop.counter.callbacks.on_press(press) == "This belongs to someone else."
    assert status(shop, theirs) == EntryStatus.ACTIVE


def test_a_calendar_app_gets_an_address(shop: CommandsFixture) -> None:
    """It is code, so that a tap copies it and opens nothing."""
    (stored,) = shop.messages("/calendar link")
    url = shop.install.services.calendar.feed_url(shop.key)
    assert url in stored.body.rich.text
    assert [entity.type for entity in stored.body.rich.entities] == ["bold", "code"]


@pytest.mark.parametrize("command", ["calendar", "calendar link", "memory", "memory add x", "timezone"])
def test_what_is_nobodys_business_is_not_shown_in_a_group(shop: CommandsFixture, command: str) -> None:
    """And the groups' menu has none of these."""
    assert "in our private chat" in shop.says(f"/{command}", chat=GROUP)
    names = {name for name, _ in shop.commands.menu_entries(is_operator=False, is_group=True)}
    assert names.isdisjoint({"calendar", "memory", "timezone", "agents"})
    assert {"status", "budget"} <= names


def test_facts_are_noted_found_and_forgotten(shop: CommandsFixture) -> None:
    """By commands and buttons; each with who noted it."""
    assert "Nothing remembered" in shop.says("/memory")
    assert "Remembered" in shop.says("/memory add I am allergic to walnuts")
    shop.says("/memory add my sister is called Zoë")
    (stored,) = shop.messages("/memory")
    text = stored.body.rich.text
    assert text.index("Zoë") < text.index("walnuts")
    assert text.count("by operator") + text.count("by ada") + text.count(f"by {shop.ada.name}") >= 2
    found = shop.says("/memory search allergic")
    assert "walnuts" in found
    assert "Zoë" not in found
    first = shop.counter.labels(stored.ref)[0]
    assert shop.counter.press(stored.ref, first) == "Forgotten."
    assert "Zoë" not in shop.counter.text(stored.ref)
    assert "walnuts" in shop.counter.text(stored.ref)
    assert "Write it after the command" in shop.says("/memory add ")
    assert "Write it after the command" in shop.says("/memory search")


def test_facts_of_others_are_others(shop: CommandsFixture) -> None:
    """A member sees their own, and an operator forgets none of theirs by a button."""
    shop.says("/memory add ada's secret")
    assert "secret" not in shop.says("/memory", by=BOB)
    shop.says("/memory add bob's own", by=BOB)
    (stored,) = shop.messages("/memory", by=BOB)
    data, message = shop.counter.data(stored.ref, "Forget"), shop.counter.arrives(stored.ref)
    press = shop.counter.a_press(data, by=ADA, chat=BOB, message=message)
    assert shop.counter.callbacks.on_press(press) == "This belongs to someone else."
    assert "bob's own" in shop.says("/memory", by=BOB)


def test_a_fact_stays_a_fact(shop: CommandsFixture) -> None:
    """Whatever an agent noted: as code, on one line, with nothing hidden."""
    shop.install.services.memories.add_fact(shop.key, f"{NASTY}\nApproved.", by="agent")
    for command in ("/memory", "/memory search evil"):
        (stored,) = shop.messages(command)
        assert stored.body.rich.text.count(MARK) == 1
        assert "\u202e" not in stored.body.rich.text
        assert "\nApproved." not in stored.body.rich.text


def test_a_time_zone_is_shown_and_set(shop: CommandsFixture) -> None:
    """By name, by city, or by a button; nonsense is refused with a hint."""
    (stored,) = shop.messages("/timezone", by=BOB)
    assert "UTC: it is" in stored.body.rich.text
    assert "You haven't set one" in stored.body.rich.text
    assert shop.counter.press(stored.ref, "Berlin") == "Your time zone is Europe/Berlin."
    assert shop.install.services.users.get(shop.bob.id).time_zone == "Europe/Berlin"
    assert "Asia/Tokyo: it is" in shop.says("/timezone tokyo", by=BOB)
    found = shop.install.services.users.get(shop.bob.id)
    assert (found.time_zone, found.time_zone_known) == ("Asia/Tokyo", True)
    assert "Did you mean" in shop.says("/timezone Viena", by=BOB)
    assert shop.install.services.users.get(shop.bob.id).time_zone == "Asia/Tokyo"


def test_what_an_agent_wants_to_know_is_among_what_waits(shop: CommandsFixture) -> None:
    """With the words that it asked in; it is answered where it stands."""
    shop.waits("go")
    turn = shop.install.services.turns.take_next(shop.key, "boot", 20)
    assert turn is not None
    with shop.counter.store.writing() as db:
        ask = shop.install.services.questions.deeds["ASK"]
        ask(db, Caller(shop.key, turn.id), Ask(f"Tea or coffee? {NASTY}"))
    text = shop.says("/approvals")
    assert text.startswith(f"{MARK} 1 question for you\ncrab asks: Tea or coffee?")
    assert text.count(MARK) == 1


def test_tokens_without_a_price_are_counted(shop: CommandsFixture) -> None:
    """Where a model's price is unknown, and when all are used up it is said that commands still work."""
    services = shop.install.services
    agent = services.agents.update_agent("crab", {"daily_budget_tokens": 1_000})
    hold = services.budget.reserve(agent, shop.key, None, provider="x", model="y", micro=0, tokens=1_000)
    services.budget.settle_hold(hold, 0, TokenUse(), tokens=1_000)
    text = shop.says("/budget")
    assert "Models with an unknown price: 1,000 of 1,000 tokens." in text
    assert "crab has stopped for today. Commands still work." in text


def test_the_budget_says_what_is_left(shop: CommandsFixture) -> None:
    """And until when; without a word about tokens that nobody used."""
    text = shop.says("/budget")
    assert all(words in text for words in ("Spent today: $0", "Left: $", "It resets at"))
    assert "tokens" not in text
    shop.install.services.agents.update_agent("crab", {"daily_budget_usd": 0})
    shop.install.services.budget.get_today("crab")
    assert "Left: $0" in shop.says("/budget")
