"""``orchestrator.agents.users``: who may talk to agents, and how they prove who they are."""

from __future__ import annotations

import subprocess
import sys
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
def install(tmp_path: Path) -> Iterator[CoreFixture]:
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
def test_refuses_who_can_not_be(install: CoreFixture, fields: dict[str, Any]) -> None:
    """As a new person and as a change; nothing has changed then."""
    before = install.users.list_users()
    with pytest.raises(BadInput):
        install.users.add(fields)
    if fields:
        with pytest.raises(BadInput):
            install.users.update_user(install.member.id, fields)
    assert install.users.list_users() == before


def test_adds_changes_and_removes(install: CoreFixture) -> None:
    """Each with an audit row; what is not named stays."""
    eve = install.users.add({"name": " eve ", "telegram_id": 42, "time_zone": "Europe/Vienna"})
    assert (eve.name, eve.role, eve.id_in("telegram"), eve.time_zone) == ("eve", Role.MEMBER, 42, "Europe/Vienna")
    changed = install.users.update_user(eve.id, {"telegram_id": None})
    assert (changed.name, changed.id_in("telegram"), changed.time_zone) == ("eve", None, "Europe/Vienna")
    install.users.remove(eve.id)
    with pytest.raises(NotFound):
        install.users.get(eve.id)
    assert [len(install.audited(kind)) for kind in ("user.changed", "user.removed")] == [1, 1]


@pytest.mark.parametrize("fields", [{"name": "ada"}, {"name": "eve", "telegram_id": 42}])
def test_names_and_telegram_ids_belong_to_one(install: CoreFixture, fields: dict[str, Any]) -> None:
    """A second one is a conflict, new or changed."""
    install.users.update_user(install.operator.id, {"telegram_id": 42})
    with pytest.raises(Conflict):
        install.users.add(fields)
    with pytest.raises(Conflict):
        install.users.update_user(install.member.id, fields)


def test_twenty_of_the_same_name_at_once_are_one(install: CoreFixture) -> None:
    """The others are told."""
    results = at_once(*[partial(install.users.add, {"name": "eve"})] * 20)
    assert sum(isinstance(result, Conflict) for result in results) == 19


def test_there_is_always_an_operator(install: CoreFixture) -> None:
    """The first one can neither go nor step down; unknown people are not found."""
    with pytest.raises(Conflict):
        install.users.remove(install.operator.id)
    with pytest.raises(Conflict):
        install.users.update_user(install.operator.id, {"role": "member"})
    for act in (
        partial(install.users.remove, 99),
        partial(install.users.update_user, 99, {}),
        partial(install.users.get, 99),
    ):
        with pytest.raises(NotFound):
            act()


def test_the_settings_say_who_the_operator_is(install: CoreFixture) -> None:
    """Name, password and Telegram id are taken over at each start; empty ones leave what is there."""
    install.users.ensure_operator("grace", PASSWORD, telegram_id=7)
    assert install.users.ensure_operator("", "") == install.users.get_operator()
    assert (install.users.get_operator().name, install.users.get_operator().id_in("telegram")) == ("grace", 7)
    assert install.users.of_session(install.users.log_in("grace", PASSWORD)) == install.users.get_operator()
    with pytest.raises(Conflict, match="bob"):
        install.users.ensure_operator("bob", "")


# --- passwords and sessions ------------------------------------------------------------------------------------


def test_a_password_opens_a_session(install: CoreFixture) -> None:
    """The right one alone, of somebody who has one."""
    install.users.set_password(install.operator.id, PASSWORD)
    assert install.users.has_password(install.operator.id)
    token = install.users.log_in("ada", PASSWORD)
    assert install.users.of_session(token) == install.operator
    for name, password in (("ada", PASSWORD + "x"), ("bob", ""), ("nobody", PASSWORD), ("ada\0", PASSWORD)):
        with pytest.raises(BadInput, match="wrong"):
            install.users.log_in(name, password, address="192.0.2.7")
    failed = install.audited("login.failed")
    nameless = "A login failed: nobody has that name."
    assert [row.text for row in failed] == ["A login as ada failed.", "A login as bob failed.", nameless, nameless]
    assert failed[0].detail == {"address": "192.0.2.7"}
    install.users.log_out(token)
    install.users.log_out(token)
    assert install.users.of_session(token) is None


@pytest.mark.parametrize("password", ["", "short", "x" * 9, "x" * 1_001])
def test_a_password_has_a_sensible_length(install: CoreFixture, password: str) -> None:
    """Ten characters at least, and an end."""
    with pytest.raises(BadInput):
        install.users.set_password(install.operator.id, password)


def test_a_new_password_ends_all_sessions(install: CoreFixture) -> None:
    """Of this person."""
    install.users.set_password(install.operator.id, PASSWORD)
    token = install.users.log_in("ada", PASSWORD)
    install.users.set_password(install.operator.id, PASSWORD + "2")
    assert install.users.of_session(token) is None


def test_a_session_grows_old(install: CoreFixture) -> None:
    """After its time it is nobody's."""
    token = install.users.use_link(install.users.make_link(install.member.id))
    with install.store.writing() as db:
        db.execute("UPDATE sessions SET expires_at = 1")
    assert install.users.of_session(token) is None


def test_a_removed_person_has_no_way_in(install: CoreFixture) -> None:
    """Session, link and token end with them."""
    session = install.users.use_link(install.users.make_link(install.member.id))
    link, token = install.users.make_link(install.member.id), install.users.make_token("phone", install.member.id)
    install.users.remove(install.member.id)
    assert install.users.of_session(session) is None
    assert install.users.of_token(token) is None
    with pytest.raises(NotFound):
        install.users.use_link(link)


def test_guessing_is_throttled_per_name(install: CoreFixture) -> None:
    """After ten wrong guesses the right one does not help either; others may go on."""
    install.users.set_password(install.operator.id, PASSWORD)
    install.users.set_password(install.member.id, PASSWORD)
    for _ in range(10):
        with pytest.raises(BadInput):
            install.users.log_in("ada", "wrong password")
    with pytest.raises(TooMany):
        install.users.log_in("ada", PASSWORD)
    assert install.users.log_in("bob", PASSWORD)


def test_guessing_at_once_is_throttled_too(install: CoreFixture) -> None:
    """Thirty at the same moment: ten are looked at."""
    install.users.set_password(install.operator.id, PASSWORD)
    results = at_once(*[partial(install.users.log_in, "ada", "wrong password")] * 30)
    assert sum(type(result) is BadInput for result in results) == 10
    assert sum(isinstance(result, TooMany) for result in results) == 20


def test_logging_in_rightly_is_not_throttled(install: CoreFixture) -> None:
    """However often."""
    install.users.set_password(install.operator.id, PASSWORD)
    for _ in range(12):
        install.users.log_in("ada", PASSWORD)


# --- links and tokens ------------------------------------------------------------------------------------------


def test_a_link_opens_once(install: CoreFixture) -> None:
    """Also when twenty try it at the same moment."""
    code = install.users.make_link(install.operator.id)
    results = at_once(*[partial(install.users.use_link, code)] * 20)
    sessions = [result for result in results if isinstance(result, str)]
    assert len(sessions) == 1
    assert install.users.of_session(sessions[0]) == install.operator


@pytest.mark.parametrize("code", ["", "x", "\0", "x" * 10_000, "' OR 1=1 --"])
def test_an_unknown_link_opens_nothing(install: CoreFixture, code: str) -> None:
    """Whatever it looks like."""
    with pytest.raises(NotFound):
        install.users.use_link(code)


def test_a_link_grows_old(install: CoreFixture) -> None:
    """After fifteen minutes it opens nothing."""
    code = install.users.make_link(install.operator.id)
    with install.store.writing() as db:
        db.execute("UPDATE login_links SET expires_at = 1")
    with pytest.raises(NotFound, match="login-link"):
        install.users.use_link(code)


def test_nobody_has_a_link_who_is_not_there(install: CoreFixture) -> None:
    """Nor a password."""
    with pytest.raises(NotFound):
        install.users.make_link(99)
    with pytest.raises(NotFound):
        install.users.set_password(99, PASSWORD)


def test_tokens_belong_to_their_people(install: CoreFixture) -> None:
    """One name each; the fixed ones are the operator's; nothing else is anybody's."""
    token = install.users.make_token("phone", install.member.id)
    assert install.users.of_token(token) == install.member
    with pytest.raises(Conflict):
        install.users.make_token("phone", install.member.id)
    fixed = Users(install.store, fixed_tokens=("", "hs_fixed"))
    assert fixed.of_token("hs_fixed") == install.operator
    for nobody in ("", "hs_fixe", "hs_fixed ", token + "x", "é", "\0"):
        assert fixed.of_token(nobody) is None


@pytest.mark.parametrize("name", ["", " ", "x" * 65, "a\nb", "\x1b[2J"])
def test_a_token_needs_a_name(install: CoreFixture, name: str) -> None:
    """That can be read in a list."""
    with pytest.raises(BadInput):
        install.users.make_token(name, install.operator.id)


def test_no_secret_is_in_the_database(install: CoreFixture) -> None:
    """Password, session, link and token are there as hashes alone."""
    install.users.set_password(install.operator.id, PASSWORD)
    secrets = [
        PASSWORD,
        install.users.log_in("ada", PASSWORD),
        install.users.make_link(install.operator.id),
        install.users.make_token("phone", install.operator.id),
    ]
    with install.store.reading() as db:
        dump = "\n".join(db.iterdump())
    files = b"".join(path.read_bytes() for path in install.home.glob("hermit.db*"))
    assert not [secret for secret in secrets if secret in dump or secret.encode() in files]
    assert "$argon2id$" in dump


def test_a_stolen_hash_is_slow_to_guess(tmp_path: Path) -> None:
    """In a process of its own, since tests hash in less time and memory than an install does."""
    program = """
import sqlite3, sys
from pathlib import Path
from orchestrator.agents.users import Users
from orchestrator.core.db.database import Store
users = Users(Store(Path(sys.argv[1])))
users.ensure_operator("ada", "a long enough password")
print(sqlite3.connect(sys.argv[1]).execute("SELECT hash FROM passwords").fetchone()[0])
"""
    made = [sys.executable, "-c", program, str(tmp_path / "users.db")]
    printed = subprocess.run(made, capture_output=True, text=True, check=True).stdout
    _, kind, _, costs, *_ = printed.split("$")
    cost = {name: int(value) for name, value in (part.split("=") for part in costs.split(","))}
    assert kind == "argon2id"
    assert cost["m"] >= 64 * 1024  # KiB
    assert cost["t"] >= 3
