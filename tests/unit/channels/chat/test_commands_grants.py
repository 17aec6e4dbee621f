"""``channels.chat.commands_grants``: what an agent may do without asking, listed and taken back in a chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.core.models import User
from tests.support.chat_commands_fixture import CommandsFixture, commands_fixture
from tests.support.chat_fixture import BOB, GROUP


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[CommandsFixture]:
    """An install without crabs; ada and bob use Telegram."""
    with commands_fixture(tmp_path) as made:
        yield made


def allow(shop: CommandsFixture, subject: str, scope: GrantScope, by: User) -> None:
    """A person allows something."""
    kind = GrantKind.HOST if "." in subject else GrantKind.COMMAND
    shop.install.services.grants.add_grant("crab", kind, subject, scope, by=by, surface="test")


def held(shop: CommandsFixture) -> list[str]:
    """What is allowed."""
    return [grant.subject for grant in shop.install.services.grants.of_agent("crab", viewer=shop.ada)]


def test_what_is_allowed_is_listed_and_taken_back(shop: CommandsFixture) -> None:
    """Each with its own button; the list is shown again, and what ended elsewhere is said to have."""
    assert "Nothing is allowed in advance" in shop.says("/grants")
    allow(shop, "stop processes", GrantScope.HOUR, shop.ada)
    allow(shop, "files.example", GrantScope.ALWAYS, shop.ada)
    (stored,) = shop.messages("/grants")
    text = stored.body.rich.text
    assert "1  stop processes" in text
    assert "2  download from files.example" in text
    assert "always, by ada (test)" in text
    assert shop.counter.labels(stored.ref) == ["✕ Revoke 1", "✕ Revoke 2"]
    assert "asks again" in shop.counter.press(stored.ref, "Revoke 2")
    assert held(shop) == ["stop processes"]
    assert "files.example" not in shop.counter.text(stored.ref)
    (grant,) = shop.install.services.grants.of_agent("crab", viewer=shop.ada)
    shop.install.services.grants.revoke_grant("crab", grant.id, by=shop.ada)
    assert shop.counter.press(stored.ref, "Revoke 1") == "That had ended already."
    assert "Nothing is allowed" in shop.counter.text(stored.ref)


def test_a_member_sees_and_ends_their_own(shop: CommandsFixture) -> None:
    """What an operator allowed everybody is listed without a button, what is another's isn't."""
    allow(shop, "files.example", GrantScope.ALWAYS, shop.ada)
    allow(shop, "stop processes", GrantScope.HOUR, shop.ada)
    allow(shop, "delete below work/build/", GrantScope.HOUR, shop.bob)
    (stored,) = shop.messages("/grants", by=BOB)
    assert "stop processes" not in stored.body.rich.text
    assert "files.example" in stored.body.rich.text
    assert len(shop.counter.labels(stored.ref)) == 1
    assert "is private" in shop.says("/grants", chat=GROUP)
