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
def desk(tmp_path: Path) -> Iterator[BotsFixture]:
    """A desk of its own."""
    with core_fixture(tmp_path / "home") as house:
        yield BotsFixture(house)


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


def test_without_a_known_id_the_code_is_shown_and_binds_whoever_sends_it(desk: BotsFixture) -> None:
    """The operator has that Telegram id from then on, and the code is gone."""
    state = shown(desk)
    assert (state.code_way, state.code_person) == (CodeWay.SHOWN, None)
    assert not desk.bots.on_code("crab", EVE, wrong(state.code))
    assert desk.ada is None
    assert desk.bots.on_code("crab", ADA, str(state.code))
    assert desk.ada == ADA
    crab = desk.crab()
    assert (crab.state, crab.code, crab.paired_person, crab.paired_at) == (BotStatus.PAIRED, None, ADA, desk.at)
    assert not desk.bots.on_code("crab", EVE, str(state.code))
    assert desk.kinds() == ["telegram.token", "telegram.code_refused", "telegram.paired"]


def test_with_a_known_id_the_bot_sends_it_and_the_operator_types_it_in(desk: BotsFixture) -> None:
    """First it is to be sent, then it was."""
    state = sent(desk)
    assert (state.code_way, state.code_person, state.code_sent_at) == (CodeWay.SENT, ADA, None)
    desk.bots.code_delivered("crab", "sent", code="000000" if state.code != "000000" else "000001")
    assert desk.crab().code_sent_at is None
    desk.bots.code_delivered("crab", "sent", code=str(state.code))
    assert desk.crab().code_sent_at == desk.at
    assert desk.bots.confirm_code("crab", f" {state.code} ").state is BotStatus.PAIRED
    assert desk.ada == ADA


@pytest.mark.parametrize("by", [lambda bots: bots.show_code("crab"), lambda bots: bots.code_delivered("crab", "shown")])
def test_a_bot_that_can_not_write_first_has_its_code_shown(desk: BotsFixture, by: Callable[[Bots], None]) -> None:
    """It is another code than the one that was sent in vain, and only the known id may send it back."""
    first = sent(desk)
    by(desk.bots)
    state = desk.crab()
    assert (state.code_way, state.state) == (CodeWay.SHOWN, BotStatus.PAIRING)
    by(desk.bots)
    assert desk.crab() == state
    with pytest.raises(Conflict, match="send it to @bot1_bot"):
        desk.bots.confirm_code("crab", str(state.code))
    assert not desk.bots.on_code("crab", EVE, str(state.code))
    assert first.code == state.code or not desk.bots.on_code("crab", ADA, str(first.code))
    assert desk.bots.on_code("crab", ADA, str(state.code))


def test_a_sent_code_may_come_back_only_from_an_id_that_was_proved(desk: BotsFixture) -> None:
    """By the settings or an earlier handshake: of anybody else it proves nothing that they read their own chat."""
    assert not desk.bots.on_code("crab", ADA, str(sent(desk).code))
    assert desk.crab().state is BotStatus.PAIRING
    desk.trusted = ADA
    assert desk.opened().on_code("crab", ADA, str(desk.crab().code))
    desk.trusted = None
    desk.house.agents.create({"name": "scout"})
    second = desk.bots.set_up("scout", OTHER)
    assert second.code_way is CodeWay.SENT
    assert not desk.bots.on_code("scout", EVE, str(second.code))
    assert desk.bots.on_code("scout", ADA, str(second.code))


def test_five_tries_and_no_more(desk: BotsFixture) -> None:
    """The right code comes too late then, in the same words."""
    state = sent(desk)
    said = set()
    for _ in range(pairing_codes.TRIES):
        with pytest.raises(BadInput) as refused:
            desk.bots.confirm_code("crab", wrong(state.code))
        said.add(refused.value.message)
    with pytest.raises(BadInput) as refused:
        desk.bots.confirm_code("crab", str(state.code))
    assert said == {refused.value.message}
    assert desk.crab().code is None
    assert len(desk.house.audited("telegram.code_refused")) == pairing_codes.TRIES


def test_strangers_have_five_tries_together(desk: BotsFixture) -> None:
    """And learn nothing; a new code is for the operator to make."""
    state = shown(desk)
    tries = [desk.bots.on_code("crab", EVE + n, wrong(state.code)) for n in range(pairing_codes.TRIES)]
    assert tries == [False] * pairing_codes.TRIES
    assert not desk.bots.on_code("crab", ADA, str(state.code))
    assert desk.bots.on_code("crab", ADA, str(desk.bots.new_code("crab").code))


def test_strangers_can_not_use_up_the_tries_of_a_known_operator(desk: BotsFixture) -> None:
    """What they send does not count at all."""
    sent(desk)
    desk.bots.show_code("crab")
    state = desk.crab()
    assert not any(desk.bots.on_code("crab", EVE, guess) for guess in (wrong(state.code), str(state.code)) * 10)
    assert desk.bots.on_code("crab", ADA, str(state.code))


def test_a_code_is_good_for_ten_minutes(desk: BotsFixture) -> None:
    """To the second, either way; then there is none to send or to show."""
    state = sent(desk)
    desk.at += pairing_codes.GOOD_FOR_S
    with pytest.raises(BadInput):
        desk.bots.confirm_code("crab", str(state.code))
    assert (desk.crab().code, desk.crab().code_way, desk.bots.list_bots()[0].code) == (None, None, None)
    state = desk.bots.new_code("crab")
    desk.at += pairing_codes.GOOD_FOR_S - 0.001
    assert desk.bots.confirm_code("crab", str(state.code)).state is BotStatus.PAIRED


def test_a_new_code_makes_the_older_one_worthless(desk: BotsFixture) -> None:
    """And not too many are made; a bot that is paired needs none."""
    first = sent(desk)
    second = desk.bots.new_code("crab")
    if first.code != second.code:
        with pytest.raises(BadInput):
            desk.bots.confirm_code("crab", str(first.code))
    for _ in range(CODES_AT_ONCE - 1):
        desk.bots.new_code("crab")
    with pytest.raises(TooMany):
        desk.bots.new_code("crab")
    desk.at += pairing_codes.GOOD_FOR_S
    desk.bots.confirm_code("crab", str(desk.bots.new_code("crab").code))
    for call in (desk.bots.new_code, lambda agent: desk.bots.confirm_code(agent, "123456")):
        with pytest.raises(Conflict, match="linked already"):
            call("crab")


def test_an_id_that_changed_meanwhile_proves_nothing(desk: BotsFixture) -> None:
    """A code that was sent to the old one is worthless."""
    state = sent(desk)
    desk.ada_is(EVE)
    with pytest.raises(BadInput):
        desk.bots.confirm_code("crab", str(state.code))
    assert desk.crab().state is BotStatus.PAIRING


def test_the_account_of_another_user_is_not_bound(desk: BotsFixture) -> None:
    """The sender learns nothing, the operator why."""
    desk.house.people.update_user(desk.house.member.id, {"telegram_id": BOB})
    state = shown(desk)
    assert not desk.bots.on_code("crab", BOB, str(state.code))
    assert desk.ada is None
    assert "another user" in str(desk.crab().problem)
    assert desk.bots.on_code("crab", ADA, str(state.code))
    assert desk.crab().problem is None


@pytest.mark.parametrize("digits", ["", "12345", "1234567", "١٢٣٤٥٦", "\ud800", "code"])
def test_odd_codes_are_simply_wrong(desk: BotsFixture, digits: str) -> None:
    """Whatever they are made of."""
    sent(desk)
    with pytest.raises(BadInput):
        desk.bots.confirm_code("crab", digits)
    desk.bots.show_code("crab")
    assert not desk.bots.on_code("crab", ADA, digits)
    assert not desk.bots.on_code("nobody", ADA, digits)
