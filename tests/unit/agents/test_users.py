"""``orchestrator.agents.users``: who may talk to agents, and how they prove who they are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agents.users import Users
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany
from orchestrator.core.models import Role
from tests.support.core_fixture import PASSWORD, CoreFixture, at_once, core_fixture


@pytest.fixture
def house(tmp_path: Path) -> Iterator[CoreFixture]:
    """Operator ``ada`` and member ``bob``."""
    with core_fixture(tmp_path / "home") as made:
        yield made


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"name": ""},
        {"name": "  "},
        {"name": 7},
        {"name": ["x"]},
        {"name": "x" * 65},
        {"name": "a\nb"},
        {"name": "a\x1b[2J"},
        {"name": "a\u202eb"},
        {"name": "a\ud800"},
        {"name": "eve", "role": "king"},
        {"name": "eve", "role": ["operator"]},
        {"name": "eve", "role": None},
        {"name": "eve", "telegram_id": "1"},
        {"name": "eve", "telegram_id": 0},
        {"name": "eve", "telegram_id": -5},
        {"name": "eve", "telegram_id": True},
        {"name": "eve", "telegram_id": 1.5},
        {"name": "eve", "telegram_id": 2**70},
        {"name": "eve", "time_zone": "Mars/Olympus"},
        {"name": "eve", "time_zone": "../../etc/passwd"},
        {"name": "eve", "time_zone": None},
        {"name": "eve", "time_zone": ["UTC"]},
        {"name": "eve", "password": "x"},
    ],
)
def test_refuses_who_can_not_be(house: CoreFixture, fields: dict[str, Any]) -> None:
    """As a new person and as a change; nothing has changed then."""
    before = house.people.list_users()
    with pytest.raises(BadInput):
        house.people.add(fields)
    if fields:
        with pytest.raises(BadInput):
            house.people.update_user(house.member.id, fields)
    assert house.people.list_users() == before


def test_adds_changes_and_removes(house: CoreFixture) -> None:
    """Each with an audit row; what is not named stays."""
    eve = house.people.add({"name": " eve ", "telegram_id": 42, "time_zone": "Europe/Vienna"})
    assert (eve.name, eve.role, eve.id_in("telegram"), eve.time_zone) == ("eve", Role.MEMBER, 42, "Europe/Vienna")
    changed = house.people.update_user(eve.id, {"telegram_id": None})
    assert (changed.name, changed.id_in("telegram"), changed.time_zone) == ("eve", None, "Europe/Vienna")
    house.people.remove(eve.id)
    with pytest.raises(NotFound):
        house.people.get(eve.id)
    assert [len(house.audited(kind)) for kind in ("user.changed", "user.removed")] == [1, 1]


@pytest.mark.parametrize("fields", [{"name": "ada"}, {"name": "eve", "telegram_id": 42}])
def test_names_and_telegram_ids_belong_to_one(house: CoreFixture, fields: dict[str, Any]) -> None:
    """A second one is a conflict, new or changed."""
    house.people.update_user(house.operator.id, {"telegram_id": 42})
    with pytest.raises(Conflict):
        house.people.add(fields)
    with pytest.raises(Conflict):
        house.people.update_user(house.member.id, fields)


def test_twenty_of_the_same_name_at_once_are_one(house: CoreFixture) -> None:
    """The others are told."""
    results = at_once(*[partial(house.people.add, {"name": "eve"})] * 20)
    assert sum(isinstance(result, Conflict) for result in results) == 19


def test_there_is_always_an_operator(house: CoreFixture) -> None:
    """The first one can neither go nor step down; unknown people are not found."""
    with pytest.raises(Conflict):
        house.people.remove(house.operator.id)
    with pytest.raises(Conflict):
        house.people.update_user(house.operator.id, {"role": "member"})
    for act in (
        partial(house.people.remove, 99),
        partial(house.people.update_user, 99, {}),
        partial(house.people.get, 99),
    ):
        with pytest.raises(NotFound):
            act()


def test_the_settings_say_who_the_operator_is(house: CoreFixture) -> None:
    """Name, password and Telegram id are taken over at each start; empty ones leave what is there."""
    house.people.ensure_operator("grace", PASSWORD, telegram_id=7)
    assert house.people.ensure_operator("", "") == house.people.get_operator()
    assert (house.people.get_operator().name, house.people.get_operator().id_in("telegram")) == ("grace", 7)
    assert house.people.of_session(house.people.log_in("grace", PASSWORD)) == house.people.get_operator()
    with pytest.raises(Conflict, match="bob"):
        house.people.ensure_operator("bob", "")


# --- passwords and sessions ------------------------------------------------------------------------------------


def test_a_password_opens_a_session(house: CoreFixture) -> None:
    """The right one alone, of somebody who has one."""
    house.people.set_password(house.operator.id, PASSWORD)
    assert house.people.has_password(house.operator.id)
    token = house.people.log_in("ada", PASSWORD)
    assert house.people.of_session(token) == house.operator
    for name, password in (("ada", PASSWORD + "x"), ("bob", ""), ("nobody", PASSWORD), ("ada\0", PASSWORD)):
        with pytest.raises(BadInput, match="wrong"):
            house.people.log_in(name, password, address="192.0.2.7")
    failed = house.audited("login.failed")
    nameless = "A login failed: nobody has that name."
    assert [row.text for row in failed] == ["A login as ada failed.", "A login as bob failed.", nameless, nameless]
    assert failed[0].detail == {"address": "192.0.2.7"}
    house.people.log_out(token)
    house.people.log_out(token)
    assert house.people.of_session(token) is None


@pytest.mark.parametrize("password", ["", "short", "x" * 9, "x" * 1_001])
def test_a_password_has_a_sensible_length(house: CoreFixture, password: str) -> None:
    """Ten characters at least, and an end."""
    with pytest.raises(BadInput):
        house.people.set_password(house.operator.id, password)


def test_a_new_password_ends_all_sessions(house: CoreFixture) -> None:
    """Of this person."""
    house.people.set_password(house.operator.id, PASSWORD)
    token = house.people.log_in("ada", PASSWORD)
    house.people.set_password(house.operator.id, PASSWORD + "2")
    assert house.people.of_session(token) is None


def test_a_session_grows_old(house: CoreFixture) -> None:
    """After its time it is nobody's."""
    token = house.people.use_link(house.people.make_link(house.member.id))
    with house.store.writing() as db:
        db.execute("UPDATE sessions SET expires_at = 1")
    assert house.people.of_session(token) is None


def test_a_removed_person_has_no_way_in(house: CoreFixture) -> None:
    """Session, link and token end with them."""
    session = house.people.use_link(house.people.make_link(house.member.id))
    link, token = house.people.make_link(house.member.id), house.people.make_token("phone", house.member.id)
    house.people.remove(house.member.id)
    assert house.people.of_session(session) is None
    assert house.people.of_token(token) is None
    with pytest.raises(NotFound):
        house.people.use_link(link)


def test_guessing_is_throttled_per_name(house: CoreFixture) -> None:
    """After ten wrong guesses the right one does not help either; others may go on."""
    house.people.set_password(house.operator.id, PASSWORD)
    house.people.set_password(house.member.id, PASSWORD)
    for _ in range(10):
        with pytest.raises(BadInput):
            house.people.log_in("ada", "wrong password")
    with pytest.raises(TooMany):
        house.people.log_in("ada", PASSWORD)
    assert house.people.log_in("bob", PASSWORD)


def test_guessing_at_once_is_throttled_too(house: CoreFixture) -> None:
    """Thirty at the same moment: ten are looked at."""
    house.people.set_password(house.operator.id, PASSWORD)
    results = at_once(*[partial(house.people.log_in, "ada", "wrong password")] * 30)
    assert sum(type(result) is BadInput for result in results) == 10
    assert sum(isinstance(result, TooMany) for result in results) == 20


def test_logging_in_rightly_is_not_throttled(house: CoreFixture) -> None:
    """However often."""
    house.people.set_password(house.operator.id, PASSWORD)
    for _ in range(12):
        house.people.log_in("ada", PASSWORD)


# --- links and tokens ------------------------------------------------------------------------------------------


def test_a_link_opens_once(house: CoreFixture) -> None:
    """Also when twenty try it at the same moment."""
    code = house.people.make_link(house.operator.id)
    results = at_once(*[partial(house.people.use_link, code)] * 20)
    sessions = [result for result in results if isinstance(result, str)]
    assert len(sessions) == 1
    assert house.people.of_session(sessions[0]) == house.operator


@pytest.mark.parametrize("code", ["", "x", "\0", "x" * 10_000, "' OR 1=1 --"])
def test_an_unknown_link_opens_nothing(house: CoreFixture, code: str) -> None:
    """Whatever it looks like."""
    with pytest.raises(NotFound):
        house.people.use_link(code)


def test_a_link_grows_old(house: CoreFixture) -> None:
    """After fifteen minutes it opens nothing."""
    code = house.people.make_link(house.operator.id)
    with house.store.writing() as db:
        db.execute("UPDATE login_links SET expires_at = 1")
    with pytest.raises(NotFound, match="login-link"):
        house.people.use_link(code)


def test_nobody_has_a_link_who_is_not_there(house: CoreFixture) -> None:
    """Nor a password."""
    with pytest.raises(NotFound):
        house.people.make_link(99)
    with pytest.raises(NotFound):
        house.people.set_password(99, PASSWORD)


def test_tokens_belong_to_their_people(house: CoreFixture) -> None:
    """One name each; the fixed ones are the operator's; nothing else is anybody's."""
    token = house.people.make_token("phone", house.member.id)
    assert house.people.of_token(token) == house.member
    with pytest.raises(Conflict):
        house.people.make_token("phone", house.member.id)
    fixed = Users(house.store, fixed_tokens=("", "hs_fixed"))
    assert fixed.of_token("hs_fixed") == house.operator
    for nobody in ("", "hs_fixe", "hs_fixed ", token + "x", "é", "\0"):
        assert fixed.of_token(nobody) is None


@pytest.mark.parametrize("name", ["", " ", "x" * 65, "a\nb", "\x1b[2J"])
def test_a_token_needs_a_name(house: CoreFixture, name: str) -> None:
    """That can be read in a list."""
    with pytest.raises(BadInput):
        house.people.make_token(name, house.operator.id)


def test_no_secret_is_in_the_database(house: CoreFixture) -> None:
    """Password, session, link and token are there as hashes alone."""
    house.people.set_password(house.operator.id, PASSWORD)
    secrets = [
        PASSWORD,
        house.people.log_in("ada", PASSWORD),
        house.people.make_link(house.operator.id),
        house.people.make_token("phone", house.operator.id),
    ]
    with house.store.reading() as db:
        dump = "\n".join(db.iterdump())
    files = b"".join(path.read_bytes() for path in house.home.glob("hermit.db*"))
    assert not [secret for secret in secrets if secret in dump or secret.encode() in files]
    assert "$argon2id$" in dump
