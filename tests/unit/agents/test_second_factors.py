"""``agents.totp`` and ``agents.second_factors``: codes by the clock, each taken once, and what helps without them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from orchestrator.agents import totp
from orchestrator.agents.second_factors import CODES, SecondFactors
from orchestrator.agents.users import SecondFactorNeeded
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany
from tests.support.core_fixture import CoreFixture, at_once, core_fixture

PASSWORD = "correct horse battery"
RFC = base64.b32encode(b"12345678901234567890").decode()
"""The secret of RFC 6238's own examples."""


class Phone:
    """A person's second factor, with the clock in the test's hands."""

    def __init__(self, install: CoreFixture) -> None:
        self.install = install
        self.now = 1_800_000_000.0
        self.factors = SecondFactors(install.store, now=lambda: self.now)
        self.user = install.member.id
        self.secret = ""
        install.users.set_password(self.user, PASSWORD)

    def code(self, *, ago: int = 0) -> str:
        """What the app shows, or showed so many steps ago."""
        return totp.code_at(self.secret, int(self.now // totp.STEP_S) - ago)

    def turn_on(self) -> list[str]:
        """From nothing; the recovery codes."""
        self.secret = self.factors.begin(self.user)
        codes = self.factors.confirm(self.user, self.code())
        self.later()
        return codes

    def later(self, steps: int = 1) -> None:
        """The next code."""
        self.now += steps * totp.STEP_S

    def ticket(self) -> str:
        """After the right password."""
        with pytest.raises(SecondFactorNeeded) as needed:
            self.install.users.log_in("bob", PASSWORD)
        return self.factors.wait_for_code(needed.value.user)


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Phone]:
    """Nothing is set up yet."""
    with core_fixture(tmp_path / "home") as install:
        yield Phone(install)


@pytest.mark.parametrize(
    ("at", "code"),
    [
        (59, "94287082"),
        (1_111_111_109, "07081804"),
        (1_111_111_111, "14050471"),
        (1_234_567_890, "89005924"),
        (2_000_000_000, "69279037"),
        (20_000_000_000, "65353130"),
    ],
)
def test_codes_are_those_of_the_rfc(at: int, code: str) -> None:
    """Of the examples' eight digits ours are the last six."""
    assert totp.code_at(RFC, at // 30) == code[-6:]


def test_what_an_app_reads() -> None:
    """A name with anything in it stays within its place."""
    uri = totp.make_uri(RFC, account="Ben & Söhne/?:", issuer="HermitShell")
    found = urlsplit(uri)
    assert (found.scheme, found.netloc) == ("otpauth", "totp")
    assert unquote(found.path) == "/HermitShell:Ben & Söhne/?:"
    assert parse_qs(found.query) == {"secret": [RFC], "issuer": ["HermitShell"], "digits": ["6"], "period": ["30"]}


def test_it_counts_once_a_code_was_given(phone: Phone) -> None:
    """Before that, the password alone gets in; a wrong code turns nothing on."""
    phone.secret = phone.factors.begin(phone.user)
    assert phone.install.users.log_in("bob", PASSWORD)
    with pytest.raises(BadInput):
        phone.factors.confirm(phone.user, "000000" if phone.code() != "000000" else "111111")
    assert not phone.factors.is_on(phone.user)
    assert len(phone.factors.confirm(phone.user, f" {phone.code()[:3]} {phone.code()[3:]} ")) == CODES
    with pytest.raises(SecondFactorNeeded):
        phone.install.users.log_in("bob", PASSWORD)
    with pytest.raises(Conflict):
        phone.factors.begin(phone.user)
    with pytest.raises(BadInput):
        phone.install.users.log_in("bob", "wrong password")
    with phone.install.store.reading() as db:
        assert phone.factors.list_users() == {phone.user}
        assert db.execute("SELECT COUNT(*) FROM recovery_codes").fetchone()[0] == CODES


def test_a_code_is_taken_once_and_none_before_it(phone: Phone) -> None:
    """Neither on the way in again nor for anything else; a clock that is half a minute wrong is fine, more is not."""
    phone.turn_on()
    code = phone.code()
    assert phone.factors.finish(phone.ticket(), code) == phone.user
    for again in (code, phone.code(ago=1)):
        with pytest.raises(BadInput):
            phone.factors.finish(phone.ticket(), again)
        with pytest.raises(BadInput):
            phone.factors.turn_off(phone.user, again)
    phone.later(4)
    assert phone.factors.finish(phone.ticket(), phone.code(ago=1)) == phone.user
    assert phone.factors.finish(phone.ticket(), phone.code(ago=-1)) == phone.user
    phone.later(4)
    for far in (2, -2):
        with pytest.raises(BadInput):
            phone.factors.finish(phone.ticket(), phone.code(ago=far))


def test_one_code_given_many_times_at_once_gets_in_once(phone: Phone) -> None:
    """Whoever looks over a shoulder is no faster than the database."""
    phone.turn_on()
    tickets = [phone.ticket() for _ in range(8)]
    results = at_once(*[partial(phone.factors.finish, ticket, phone.code()) for ticket in tickets])
    assert results.count(phone.user) == 1


def test_recovery_codes_work_once_each(phone: Phone) -> None:
    """However they are typed; new ones end the old ones. None of them is kept in a form that can be read."""
    codes = phone.turn_on()
    assert phone.factors.finish(phone.ticket(), codes[0].upper().replace("-", " ")) == phone.user
    with pytest.raises(BadInput):
        phone.factors.finish(phone.ticket(), codes[0])
    assert phone.factors.count_recovery_codes(phone.user) == CODES - 1
    fresh = phone.factors.renew_recovery_codes(phone.user, codes[1])
    assert phone.factors.count_recovery_codes(phone.user) == CODES
    with pytest.raises(BadInput):
        phone.factors.finish(phone.ticket(), codes[2])
    with phone.install.store.reading() as db:
        kept = str([tuple(row) for row in db.execute("SELECT * FROM recovery_codes")])
    assert not [code for code in fresh if code in kept or code.replace("-", "") in kept]
    assert "A recovery code was used; 9 are left." in [row.text for row in phone.install.audited("totp.recovery")]


def test_guesses_are_throttled_whatever_they_are_for(phone: Phone) -> None:
    """Ten wrong ones, then none is looked at, not even a right one; another person goes on."""
    phone.turn_on()
    ticket = phone.ticket()
    for _ in range(10):
        with pytest.raises(BadInput):
            phone.factors.finish(ticket, "wrong")
    for right in (partial(phone.factors.finish, ticket), partial(phone.factors.turn_off, phone.user)):
        with pytest.raises(TooMany):
            right(phone.code())
    phone.user = phone.install.operator.id
    assert phone.turn_on()


def test_a_right_password_alone_is_worth_nothing(phone: Phone) -> None:
    """Without a ticket, with one that was used, and after the password was changed or the factor taken away."""
    phone.turn_on()
    ticket = phone.ticket()
    for wrong in ("", "x", ticket[:-1]):
        with pytest.raises(NotFound):
            phone.factors.finish(wrong, phone.code())
    phone.factors.finish(ticket, phone.code())
    phone.later()
    with pytest.raises(NotFound):
        phone.factors.finish(ticket, phone.code())
    ticket = phone.ticket()
    phone.install.users.set_password(phone.user, PASSWORD)
    assert not phone.factors.is_waiting(ticket)
    with pytest.raises(NotFound):
        phone.factors.finish(ticket, phone.code())


def test_it_is_turned_off_by_a_code_or_by_an_operator(phone: Phone) -> None:
    """Then the password alone gets in; nobody's else is touched, and what is off can't be taken away."""
    phone.turn_on()
    phone.factors.turn_off(phone.user, phone.code())
    assert phone.install.users.log_in("bob", PASSWORD)
    phone.later()
    phone.turn_on()
    phone.factors.reset(phone.user, by="ada")
    assert phone.install.users.log_in("bob", PASSWORD)
    for gone in (partial(phone.factors.reset, phone.user, by="ada"), partial(phone.factors.turn_off, phone.user, "x")):
        with pytest.raises(NotFound):
            gone()
    assert [row.kind for row in phone.install.audited("totp.reset")] == ["totp.reset"]
