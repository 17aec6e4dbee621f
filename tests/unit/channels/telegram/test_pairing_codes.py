"""Codes of a handshake: who reads one, who may send it back, how often and how long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.channels.telegram.accounts import pairing_codes
from orchestrator.channels.telegram.accounts.bots import Bots
from orchestrator.channels.telegram.accounts.pairing import CODES_AT_ONCE
from orchestrator.channels.telegram.accounts.rows import BotState, BotStatus, CodeWay
from orchestrator.core.errors import BadInput, Conflict, TooMany
from tests.support.bots_fixture import ADA, BOB, EVE, OTHER, BotsFixture, sent, shown, wrong
from tests.support.core_fixture import core_fixture


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[BotsFixture]:
    """A fixture of its own."""
    with core_fixture(tmp_path / "home") as install:
        yield BotsFixture(install)


# --- codes -------------------------------------------------------------------------------------------------------


def test_codes_are_six_random_digits() -> None:
    """Each digit is as frequent as any other at each place, zero at the front too."""
    bot = BotState("crab", 1, "", BotStatus.PAIRING)
    made = [str(pairing_codes.new_code(bot, person=None, now=0).code) for _ in range(3_000)]
    assert all(len(code) == 6 and code.isdecimal() for code in made)
    assert len(set(made)) > 2_950
    for place in range(6):
        counts = Counter(code[place] for code in made)
        assert len(counts) == 10
        assert all(200 < count < 400 for count in counts.values()), counts  # 300 each; 6 standard deviations


def test_without_a_known_id_the_code_is_shown_and_binds_whoever_sends_it(fixture: BotsFixture) -> None:
    """The operator has that Telegram id from then on, and the code is gone."""
    state = shown(fixture)
    assert (state.code_way, state.code_person) == (CodeWay.SHOWN, None)
    assert not fixture.bots.on_code("crab", EVE, wrong(state.code))
    assert fixture.ada is None
    assert fixture.bots.on_code("crab", ADA, str(state.code))
    assert fixture.ada == ADA
    crab = fixture.crab()
    assert (crab.state, crab.code, crab.paired_person, crab.paired_at) == (BotStatus.PAIRED, None, ADA, fixture.at)
    assert not fixture.bots.on_code("crab", EVE, str(state.code))
    assert fixture.kinds() == ["telegram.token", "telegram.code_refused", "telegram.paired"]


def test_with_a_known_id_the_bot_sends_it_and_the_operator_types_it_in(fixture: BotsFixture) -> None:
    """First it is to be sent, then it was."""
    state = sent(fixture)
    assert (state.code_way, state.code_person, state.code_sent_at) == (CodeWay.SENT, ADA, None)
    fixture.bots.code_delivered("crab", "sent", code="000000" if state.code != "000000" else "000001")
    assert fixture.crab().code_sent_at is None
    fixture.bots.code_delivered("crab", "sent", code=str(state.code))
    assert fixture.crab().code_sent_at == fixture.at
    assert fixture.bots.confirm_code("crab", f" {state.code} ").state is BotStatus.PAIRED
    assert fixture.ada == ADA


@pytest.mark.parametrize("by", [lambda bots: bots.show_code("crab"), lambda bots: bots.code_delivered("crab", "shown")])
def test_a_bot_that_can_not_write_first_has_its_code_shown(fixture: BotsFixture, by: Callable[[Bots], None]) -> None:
    """It is another code than the one that was sent in vain, and only the known id may send it back."""
    first = sent(fixture)
    by(fixture.bots)
    state = fixture.crab()
    assert (state.code_way, state.state) == (CodeWay.SHOWN, BotStatus.PAIRING)
    by(fixture.bots)
    assert fixture.crab() == state
    with pytest.raises(Conflict, match="send it to @bot1_bot"):
        fixture.bots.confirm_code("crab", str(state.code))
    assert not fixture.bots.on_code("crab", EVE, str(state.code))
    assert first.code == state.code or not fixture.bots.on_code("crab", ADA, str(first.code))
    assert fixture.bots.on_code("crab", ADA, str(state.code))


def test_a_sent_code_may_come_back_only_from_an_id_that_was_proved(fixture: BotsFixture) -> None:
    """By the settings or an earlier handshake: of anybody else it proves nothing that they read their own chat."""
    assert not fixture.bots.on_code("crab", ADA, str(sent(fixture).code))
    assert fixture.crab().state is BotStatus.PAIRING
    fixture.trusted = ADA
    assert fixture.opened().on_code("crab", ADA, str(fixture.crab().code))
    fixture.trusted = None
    fixture.install.agents.create({"name": "scout"})
    second = fixture.bots.set_up("scout", OTHER)
    assert second.code_way is CodeWay.SENT
    assert not fixture.bots.on_code("scout", EVE, str(second.code))
    assert fixture.bots.on_code("scout", ADA, str(second.code))


def test_five_tries_and_no_more(fixture: BotsFixture) -> None:
    """The right code comes too late then, in the same words."""
    state = sent(fixture)
    said = set()
    for _ in range(pairing_codes.TRIES):
        with pytest.raises(BadInput) as refused:
            fixture.bots.confirm_code("crab", wrong(state.code))
        said.add(refused.value.message)
    with pytest.raises(BadInput) as refused:
        fixture.bots.confirm_code("crab", str(state.code))
    assert said == {refused.value.message}
    assert fixture.crab().code is None
    assert len(fixture.install.audited("telegram.code_refused")) == pairing_codes.TRIES


def test_strangers_have_five_tries_together(fixture: BotsFixture) -> None:
    """And learn nothing; a new code is for the operator to make."""
    state = shown(fixture)
    tries = [fixture.bots.on_code("crab", EVE + n, wrong(state.code)) for n in range(pairing_codes.TRIES)]
    assert tries == [False] * pairing_codes.TRIES
    assert not fixture.bots.on_code("crab", ADA, str(state.code))
    assert fixture.bots.on_code("crab", ADA, str(fixture.bots.new_code("crab").code))


def test_strangers_can_not_use_up_the_tries_of_a_known_operator(fixture: BotsFixture) -> None:
    """What they send does not count at all."""
    sent(fixture)
    fixture.bots.show_code("crab")
    state = fixture.crab()
    assert not any(fixture.bots.on_code("crab", EVE, guess) for guess in (wrong(state.code), str(state.code)) * 10)
    assert fixture.bots.on_code("crab", ADA, str(state.code))


def test_a_code_is_good_for_ten_minutes(fixture: BotsFixture) -> None:
    """To the second, either way; then there is none to send or to show."""
    state = sent(fixture)
    fixture.at += pairing_codes.GOOD_FOR_S
    with pytest.raises(BadInput):
        fixture.bots.confirm_code("crab", str(state.code))
    assert (fixture.crab().code, fixture.crab().code_way, fixture.bots.list_bots()[0].code) == (None, None, None)
    state = fixture.bots.new_code("crab")
    fixture.at += pairing_codes.GOOD_FOR_S - 0.001
    assert fixture.bots.confirm_code("crab", str(state.code)).state is BotStatus.PAIRED


def test_a_new_code_makes_the_older_one_worthless(fixture: BotsFixture) -> None:
    """And not too many are made; a bot that is paired needs none."""
    first = sent(fixture)
    second = fixture.bots.new_code("crab")
    if first.code != second.code:
        with pytest.raises(BadInput):
            fixture.bots.confirm_code("crab", str(first.code))
    for _ in range(CODES_AT_ONCE - 1):
        fixture.bots.new_code("crab")
    with pytest.raises(TooMany):
        fixture.bots.new_code("crab")
    fixture.at += pairing_codes.GOOD_FOR_S
    fixture.bots.confirm_code("crab", str(fixture.bots.new_code("crab").code))
    for call in (fixture.bots.new_code, lambda agent: fixture.bots.confirm_code(agent, "123456")):
        with pytest.raises(Conflict, match="linked already"):
            call("crab")


def test_an_id_that_changed_meanwhile_proves_nothing(fixture: BotsFixture) -> None:
    """A code that was sent to the old one is worthless."""
    state = sent(fixture)
    fixture.ada_is(EVE)
    with pytest.raises(BadInput):
        fixture.bots.confirm_code("crab", str(state.code))
    assert fixture.crab().state is BotStatus.PAIRING


def test_the_account_of_another_user_is_not_bound(fixture: BotsFixture) -> None:
    """The sender learns nothing, the operator why."""
    fixture.install.users.update_user(fixture.install.member.id, {"telegram_id": BOB})
    state = shown(fixture)
    assert not fixture.bots.on_code("crab", BOB, str(state.code))
    assert fixture.ada is None
    assert "another user" in str(fixture.crab().problem)
    assert fixture.bots.on_code("crab", ADA, str(state.code))
    assert fixture.crab().problem is None


@pytest.mark.parametrize("digits", ["", "12345", "1234567", "١٢٣٤٥٦", "\ud800", "code"])
def test_odd_codes_are_simply_wrong(fixture: BotsFixture, digits: str) -> None:
    """Whatever they are made of."""
    sent(fixture)
    with pytest.raises(BadInput):
        fixture.bots.confirm_code("crab", digits)
    fixture.bots.show_code("crab")
    assert not fixture.bots.on_code("crab", ADA, digits)
    assert not fixture.bots.on_code("nobody", ADA, digits)
