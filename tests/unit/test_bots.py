"""``orchestrator.bots`` and its handshakes: whose a bot is, proved before it answers anybody, and no token anywhere
but in its own column."""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.bots import codes
from orchestrator.bots.handshakes import CODES_AT_ONCE
from orchestrator.bots.registry import Bots
from orchestrator.errors import BadInput, Conflict, NotFound, OrchestratorError, TooMany, Unavailable
from orchestrator.nouns import Event
from orchestrator.store.telegram_bots import BotState, BotStatus, CodeWay
from tests.rooms import Rooms, rooms

TOKEN = f"7000000001:AA{'c' * 33}"
ROTATED = f"7000000001:AA{'r' * 33}"
OTHER = f"7000000002:AA{'o' * 33}"
ADA, BOB, EVE = 4_200_001, 4_200_002, 4_200_666


@dataclass
class Me:
    """What Telegram says of a token."""

    bot: int
    username: str


@dataclass
class Desk:
    """The rooms with their bots, a clock that is turned by hand, and a Telegram that says what it is told."""

    house: Rooms
    trusted: int | None = None
    at: float = 1_000_000.0
    down: bool = False
    unknown: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bots = self.opened()

    def opened(self) -> Bots:
        """As after a start."""
        house = self.house
        return Bots(
            house.store,
            house.agents,
            house.people,
            house.broker,
            prove=self.prove,
            blot=self.hidden.append,
            trusted_operator=self.trusted,
            now=lambda: self.at,
        )

    def prove(self, token: str) -> Me:
        """Telegram's answer."""
        self.asked.append(token)
        if self.down:
            raise Unavailable("Telegram did not answer.")
        if token in self.unknown:
            raise BadInput("Telegram does not know this token. Copy it again from @BotFather.")
        number = int(token.partition(":")[0])
        return Me(number, f"bot{number % 100}_bot")

    def ada_is(self, number: int | None) -> None:
        """The operator's Telegram id."""
        self.house.people.change(self.house.operator.id, {"telegram_id": number})

    @property
    def ada(self) -> int | None:
        """The operator's Telegram id now."""
        return self.house.people.operator().telegram_id

    def crab(self) -> BotState:
        """Crab's bot."""
        return self.bots.get("crab")

    def kinds(self) -> list[str]:
        """What the audit log says of Telegram, oldest first."""
        return [row.kind for kind in _KINDS for row in self.house.audited(kind)]


_KINDS = ("telegram.token", "telegram.code", "telegram.code_refused", "telegram.paired", "telegram.revoked")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk of its own."""
    with rooms(tmp_path / "home") as house:
        yield Desk(house)


def wrong(code: str | None) -> str:
    """Six other digits."""
    return f"{(int(code or 0) + 1) % 1_000_000:06}"


# --- setting up --------------------------------------------------------------------------------------------------


def test_a_bot_is_set_up(desk: Desk) -> None:
    """Telegram is asked who it is, and a handshake begins; everybody who watches is told to look."""
    watching = desk.house.broker.subscribe()
    state = desk.bots.set_up("crab", f" {TOKEN}\n")
    assert (state.bot, state.username, state.state) == (7_000_000_001, "bot1_bot", BotStatus.PAIRING)
    assert desk.bots.every() == [state]
    assert desk.bots.token("crab") == TOKEN
    assert watching.get(0) == Event("bot", None, {"agent": "crab"})


@pytest.mark.parametrize("token", ["", "hello", "123:short", TOKEN + "\x00", None, 7, [TOKEN]])
def test_what_is_no_token_is_refused(desk: Desk, token: object) -> None:
    """Telegram is not even asked."""
    with pytest.raises(BadInput, match="BotFather"):
        desk.bots.set_up("crab", token)
    assert (desk.asked, desk.bots.every()) == ([], [])


def test_a_token_that_telegram_does_not_know_is_refused(desk: Desk) -> None:
    """In a sentence without it, and nothing is stored; one that was there goes on."""
    desk.bots.set_up("crab", TOKEN)
    desk.unknown.add(OTHER)
    with pytest.raises(BadInput) as refused:
        desk.bots.set_up("crab", OTHER)
    assert "does not know this token" in refused.value.message
    assert OTHER not in str(refused.value)
    assert desk.bots.token("crab") == TOKEN
    assert [bot.bot for bot in desk.bots.every()] == [7_000_000_001]


def test_telegram_that_can_not_be_asked(desk: Desk) -> None:
    """The token is kept, with the problem said, until somebody who runs the bot has met it."""
    desk.down = True
    state = desk.bots.set_up("crab", TOKEN)
    assert (state.username, "could not be asked" in str(state.problem)) == ("", True)
    assert desk.bots.token("crab") == TOKEN
    desk.bots.met("crab", "crab_bot")
    assert (desk.crab().username, desk.crab().problem) == ("crab_bot", None)


def test_two_agents_never_have_the_same_bot(desk: Desk) -> None:
    """Whichever of its tokens it is; Telegram is not asked, and the other has none."""
    desk.house.agents.create({"name": "scout"})
    desk.bots.set_up("crab", TOKEN)
    for token in (TOKEN, ROTATED):
        with pytest.raises(Conflict, match="belongs to the agent crab"):
            desk.bots.set_up("scout", token)
    assert desk.bots.token("scout") == ""
    assert desk.asked == [TOKEN]


def test_another_agent_may_be_faster(desk: Desk) -> None:
    """Between the look at a token and its use; the slower one has nothing then."""
    desk.house.agents.create({"name": "scout"})
    proof = desk.bots.look_at(TOKEN, agent="scout")
    desk.bots.set_up("crab", TOKEN)
    with pytest.raises(Conflict):
        desk.bots.use("scout", proof)
    assert desk.bots.token("scout") == ""
    assert TOKEN not in repr(proof)


def test_an_agent_that_is_not_there(desk: Desk) -> None:
    """Gets no bot."""
    for call in (desk.bots.set_up, desk.bots.confirm):
        with pytest.raises(NotFound):
            call("nobody", TOKEN)
    with pytest.raises(NotFound, match="telegram add crab"):
        desk.bots.get("crab")
    with pytest.raises(NotFound):
        desk.bots.remove("crab")


def test_a_bot_that_is_taken_away_leaves_nothing(desk: Desk) -> None:
    """Neither token nor row; its chats are gone, and what waited there is not sent by the next bot."""
    desk.bots.set_up("crab", TOKEN)
    chat_and_letter(desk)
    desk.bots.remove("crab")
    assert (desk.bots.token("crab"), desk.bots.every()) == ("", [])
    assert left(desk) == ([], [("failed", None)])


def chat_and_letter(desk: Desk) -> None:
    """An open chat, and a letter that waits there."""
    with desk.house.store.writing() as db:
        db.execute("INSERT INTO telegram_chats VALUES ('crab', 1, '', 'open', 7, 0)")
        db.execute(
            "INSERT INTO telegram_outbox (agent, chat, ref, body, state, amendment, created_at) "
            "VALUES ('crab', 1, 'a', '{}', 'waiting', '{}', 0)"
        )


def left(desk: Desk) -> tuple[list[Any], list[Any]]:
    """The chats, and the letters with what is to be changed about them."""
    with desk.house.store.reading() as db:
        chats = [tuple(row) for row in db.execute("SELECT chat FROM telegram_chats")]
        return chats, [tuple(row) for row in db.execute("SELECT state, amendment FROM telegram_outbox")]


def test_another_bot_begins_anew_and_a_new_token_of_the_same_does_not(desk: Desk) -> None:
    """A rotated token changes nothing about whose the bot is; another bot must be paired, in chats of its own."""
    paired(desk)
    chat_and_letter(desk)
    assert desk.bots.set_up("crab", ROTATED).state is BotStatus.PAIRED
    assert left(desk) == ([(1,)], [("waiting", "{}")])
    assert desk.bots.set_up("crab", OTHER).state is BotStatus.PAIRING
    assert left(desk) == ([], [("failed", None)])


def test_tokens_that_come_another_way_are_followed(desk: Desk) -> None:
    """With an agent's other settings, or with the agent itself: its bot comes, changes and goes."""
    desk.house.agents.change("crab", {"telegram_token": TOKEN})
    desk.bots.follow("crab")
    assert desk.crab().bot == 7_000_000_001
    before = desk.crab()
    desk.bots.follow("crab")
    assert desk.crab() == before
    desk.house.agents.change("crab", {"telegram_token": OTHER})
    desk.bots.follow("crab")
    assert desk.crab().bot == 7_000_000_002
    desk.house.agents.create({"name": "scout", "telegram_token": OTHER})
    desk.bots.follow("scout")
    assert [bot.agent for bot in desk.bots.every()] == ["crab"]
    desk.house.agents.change("crab", {"telegram_token": None})
    desk.bots.follow("crab")
    assert desk.bots.every() == []


def test_the_bot_of_a_deleted_agent_is_gone(desk: Desk) -> None:
    """And whoever runs it is told to look."""
    desk.bots.set_up("crab", TOKEN)
    watching = desk.house.broker.subscribe()
    desk.house.agents.remove("crab")
    desk.bots.follow("crab")
    assert desk.bots.every() == []
    assert watching.get(0) == Event("bot", None, {"agent": "crab"})


# --- codes -------------------------------------------------------------------------------------------------------


def test_codes_are_six_random_digits() -> None:
    """Each digit is as frequent as any other at each place, zero at the front too."""
    bot = BotState("crab", 1, "", BotStatus.PAIRING)
    made = [str(codes.fresh(bot, person=None, now=0).code) for _ in range(3_000)]
    assert all(len(code) == 6 and code.isdecimal() for code in made)
    assert len(set(made)) > 2_950
    for place in range(6):
        counts = Counter(code[place] for code in made)
        assert len(counts) == 10
        assert all(200 < count < 400 for count in counts.values()), counts  # 300 each; 6 standard deviations


def shown(desk: Desk) -> BotState:
    """A bot whose code is shown."""
    return desk.bots.set_up("crab", TOKEN)


def sent(desk: Desk) -> BotState:
    """A bot whose code it sends to Ada."""
    desk.ada_is(ADA)
    return desk.bots.set_up("crab", TOKEN)


def paired(desk: Desk) -> BotState:
    """A bot that is Ada's."""
    return desk.bots.confirm("crab", str(sent(desk).code))


def test_without_a_known_id_the_code_is_shown_and_binds_whoever_sends_it(desk: Desk) -> None:
    """The operator has that Telegram id from then on, and the code is gone."""
    state = shown(desk)
    assert (state.code_way, state.code_person) == (CodeWay.SHOWN, None)
    assert not desk.bots.heard("crab", EVE, wrong(state.code))
    assert desk.ada is None
    assert desk.bots.heard("crab", ADA, str(state.code))
    assert desk.ada == ADA
    crab = desk.crab()
    assert (crab.state, crab.code, crab.paired_person, crab.paired_at) == (BotStatus.PAIRED, None, ADA, desk.at)
    assert not desk.bots.heard("crab", EVE, str(state.code))
    assert desk.kinds() == ["telegram.token", "telegram.code_refused", "telegram.paired"]


def test_with_a_known_id_the_bot_sends_it_and_the_operator_types_it_in(desk: Desk) -> None:
    """First it is to be sent, then it was."""
    state = sent(desk)
    assert (state.code_way, state.code_person, state.code_sent_at) == (CodeWay.SENT, ADA, None)
    desk.bots.code_delivered("crab", "sent", code="000000" if state.code != "000000" else "000001")
    assert desk.crab().code_sent_at is None
    desk.bots.code_delivered("crab", "sent", code=str(state.code))
    assert desk.crab().code_sent_at == desk.at
    assert desk.bots.confirm("crab", f" {state.code} ").state is BotStatus.PAIRED
    assert desk.ada == ADA


@pytest.mark.parametrize("by", [lambda bots: bots.show_code("crab"), lambda bots: bots.code_delivered("crab", "shown")])
def test_a_bot_that_can_not_write_first_has_its_code_shown(desk: Desk, by: Callable[[Bots], None]) -> None:
    """It is another code than the one that was sent in vain, and only the known id may send it back."""
    first = sent(desk)
    by(desk.bots)
    state = desk.crab()
    assert (state.code_way, state.state) == (CodeWay.SHOWN, BotStatus.PAIRING)
    by(desk.bots)
    assert desk.crab() == state
    with pytest.raises(Conflict, match="send it to @bot1_bot"):
        desk.bots.confirm("crab", str(state.code))
    assert not desk.bots.heard("crab", EVE, str(state.code))
    assert first.code == state.code or not desk.bots.heard("crab", ADA, str(first.code))
    assert desk.bots.heard("crab", ADA, str(state.code))


def test_a_sent_code_may_come_back_only_from_an_id_that_was_proved(desk: Desk) -> None:
    """By the settings or an earlier handshake: of anybody else it proves nothing that they read their own chat."""
    assert not desk.bots.heard("crab", ADA, str(sent(desk).code))
    assert desk.crab().state is BotStatus.PAIRING
    desk.trusted = ADA
    assert desk.opened().heard("crab", ADA, str(desk.crab().code))
    desk.trusted = None
    desk.house.agents.create({"name": "scout"})
    second = desk.bots.set_up("scout", OTHER)
    assert second.code_way is CodeWay.SENT
    assert not desk.bots.heard("scout", EVE, str(second.code))
    assert desk.bots.heard("scout", ADA, str(second.code))


def test_five_tries_and_no_more(desk: Desk) -> None:
    """The right code comes too late then, in the same words."""
    state = sent(desk)
    said = set()
    for _ in range(codes.TRIES):
        with pytest.raises(BadInput) as refused:
            desk.bots.confirm("crab", wrong(state.code))
        said.add(refused.value.message)
    with pytest.raises(BadInput) as refused:
        desk.bots.confirm("crab", str(state.code))
    assert said == {refused.value.message}
    assert desk.crab().code is None
    assert len(desk.house.audited("telegram.code_refused")) == codes.TRIES


def test_strangers_have_five_tries_together(desk: Desk) -> None:
    """And learn nothing; a new code is for the operator to make."""
    state = shown(desk)
    tries = [desk.bots.heard("crab", EVE + n, wrong(state.code)) for n in range(codes.TRIES)]
    assert tries == [False] * codes.TRIES
    assert not desk.bots.heard("crab", ADA, str(state.code))
    assert desk.bots.heard("crab", ADA, str(desk.bots.new_code("crab").code))


def test_strangers_can_not_use_up_the_tries_of_a_known_operator(desk: Desk) -> None:
    """What they send does not count at all."""
    sent(desk)
    desk.bots.show_code("crab")
    state = desk.crab()
    assert not any(desk.bots.heard("crab", EVE, guess) for guess in (wrong(state.code), str(state.code)) * 10)
    assert desk.bots.heard("crab", ADA, str(state.code))


def test_a_code_is_good_for_ten_minutes(desk: Desk) -> None:
    """To the second, either way; then there is none to send or to show."""
    state = sent(desk)
    desk.at += codes.GOOD_FOR_S
    with pytest.raises(BadInput):
        desk.bots.confirm("crab", str(state.code))
    assert (desk.crab().code, desk.crab().code_way, desk.bots.every()[0].code) == (None, None, None)
    state = desk.bots.new_code("crab")
    desk.at += codes.GOOD_FOR_S - 0.001
    assert desk.bots.confirm("crab", str(state.code)).state is BotStatus.PAIRED


def test_a_new_code_makes_the_older_one_worthless(desk: Desk) -> None:
    """And not too many are made; a bot that is paired needs none."""
    first = sent(desk)
    second = desk.bots.new_code("crab")
    if first.code != second.code:
        with pytest.raises(BadInput):
            desk.bots.confirm("crab", str(first.code))
    for _ in range(CODES_AT_ONCE - 1):
        desk.bots.new_code("crab")
    with pytest.raises(TooMany):
        desk.bots.new_code("crab")
    desk.at += codes.GOOD_FOR_S
    desk.bots.confirm("crab", str(desk.bots.new_code("crab").code))
    for call in (desk.bots.new_code, lambda agent: desk.bots.confirm(agent, "123456")):
        with pytest.raises(Conflict, match="paired already"):
            call("crab")


def test_an_id_that_changed_meanwhile_proves_nothing(desk: Desk) -> None:
    """A code that was sent to the old one is worthless."""
    state = sent(desk)
    desk.ada_is(EVE)
    with pytest.raises(BadInput):
        desk.bots.confirm("crab", str(state.code))
    assert desk.crab().state is BotStatus.PAIRING


def test_the_account_of_another_user_is_not_bound(desk: Desk) -> None:
    """The sender learns nothing, the operator why."""
    desk.house.people.change(desk.house.member.id, {"telegram_id": BOB})
    state = shown(desk)
    assert not desk.bots.heard("crab", BOB, str(state.code))
    assert desk.ada is None
    assert "another user" in str(desk.crab().problem)
    assert desk.bots.heard("crab", ADA, str(state.code))
    assert desk.crab().problem is None


@pytest.mark.parametrize("digits", ["", "12345", "1234567", "١٢٣٤٥٦", "\ud800", "code"])
def test_odd_codes_are_simply_wrong(desk: Desk, digits: str) -> None:
    """Whatever they are made of."""
    sent(desk)
    with pytest.raises(BadInput):
        desk.bots.confirm("crab", digits)
    desk.bots.show_code("crab")
    assert not desk.bots.heard("crab", ADA, digits)
    assert not desk.bots.heard("nobody", ADA, digits)


# --- the settings' bot -------------------------------------------------------------------------------------------


def test_the_settings_token_goes_to_the_first_agent(desk: Desk) -> None:
    """Telegram is not asked at start; without the operator's id its code is shown, and stays the same over restarts."""
    desk.house.agents.create({"name": "scout"})
    desk.bots.reconcile(TOKEN)
    state = desk.crab()
    assert (state.state, state.code_way, state.is_from_settings) == (BotStatus.PAIRING, CodeWay.SHOWN, True)
    assert (desk.bots.token("crab"), desk.asked) == (TOKEN, [])
    desk.at += codes.GOOD_FOR_S - 1
    desk.opened().reconcile(TOKEN)
    assert desk.crab() == state
    desk.at += 1
    desk.opened().reconcile(TOKEN)
    assert desk.crab().code_expires_at == desk.at + codes.GOOD_FOR_S


def test_with_the_operators_id_in_the_settings_it_is_paired(desk: Desk) -> None:
    """Whoever runs the host said both; once, as the audit log shows."""
    desk.ada_is(ADA)
    desk.trusted = ADA
    for _ in range(2):
        desk.opened().reconcile(TOKEN)
        assert (desk.crab().state, desk.crab().paired_person) == (BotStatus.PAIRED, ADA)
    assert desk.kinds() == ["telegram.token", "telegram.paired"]


def test_another_token_in_the_settings_takes_the_place_of_the_last(desk: Desk) -> None:
    """A rotated one keeps the pairing, one of another bot begins anew."""
    desk.bots.reconcile(TOKEN)
    desk.bots.heard("crab", ADA, str(desk.crab().code))
    desk.opened().reconcile(ROTATED)
    assert (desk.bots.token("crab"), desk.crab().state) == (ROTATED, BotStatus.PAIRED)
    desk.opened().reconcile(OTHER)
    assert (desk.bots.token("crab"), desk.crab().state) == (OTHER, BotStatus.PAIRING)
    desk.opened().reconcile("")
    assert desk.bots.token("crab") == OTHER


def test_a_bot_that_a_person_set_up_is_left_alone(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """By another token in the settings; one that another agent has goes to nobody else."""
    desk.bots.set_up("crab", TOKEN)
    desk.bots.reconcile(OTHER)
    assert desk.bots.token("crab") == TOKEN
    assert "TELEGRAM_BOT_TOKEN is not used" in caplog.text
    desk.house.agents.create({"name": "scout"})
    desk.bots.set_up("scout", OTHER)
    desk.bots.remove("crab")
    desk.bots.reconcile(OTHER)
    assert [bot.agent for bot in desk.bots.every()] == ["scout"]


def test_a_settings_token_that_is_none(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Keeps nothing from starting."""
    desk.bots.reconcile("nonsense-that-is-secret")
    assert desk.bots.every() == []
    assert "copy it from BotFather" in caplog.text
    assert "secret" not in caplog.text


# --- what running them shows -------------------------------------------------------------------------------------


def test_revoked_is_said_once(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """One audit row, one line in the log, one event; the same token set up again mends it."""
    paired(desk)
    watching = desk.house.broker.subscribe()
    assert not desk.bots.mark_revoked("crab", token=ROTATED)
    assert [desk.bots.mark_revoked("crab", token=TOKEN) for _ in range(3)] == [True, False, False]
    state = desk.crab()
    assert (state.state, "telegram add crab" in str(state.problem)) == (BotStatus.REVOKED, True)
    assert (len(desk.house.audited("telegram.revoked")), caplog.text.count("refuses the token")) == (1, 1)
    assert (watching.get(0), watching.get(0)) == (Event("bot", None, {"agent": "crab"}), None)
    desk.bots.met("crab", "x")
    desk.bots.problem("crab", None)
    assert desk.crab() == state
    with pytest.raises(Conflict, match="Make a new one"):
        desk.bots.new_code("crab")
    assert desk.bots.set_up("crab", TOKEN).state is BotStatus.PAIRED
    assert not desk.bots.mark_revoked("nobody")


def test_problems_come_and_go(desk: Desk) -> None:
    """Each change is told, and the same again is not."""
    paired(desk)
    watching = desk.house.broker.subscribe()
    desk.bots.problem("crab", "Another program fetches its updates.")
    desk.bots.problem("crab", "Another program fetches its updates.")
    assert desk.crab().problem == "Another program fetches its updates."
    desk.bots.problem("crab", None)
    desk.bots.problem("nobody", None)
    assert desk.crab().problem is None
    assert [watching.get(0) is not None for _ in range(3)] == [True, True, False]


def test_the_webhooks_secret_is_known_from_the_token_alone(desk: Desk) -> None:
    """It is of Telegram's alphabet, says nothing of the token, opens this bot only, and changes with the token."""
    desk.house.agents.create({"name": "scout"})
    desk.bots.set_up("crab", TOKEN)
    desk.bots.set_up("scout", OTHER)
    secret = desk.bots.webhook_secret("crab")
    assert len(secret) == 64
    assert secret.isalnum()
    assert desk.opened().webhook_secret("crab") == secret
    assert desk.bots.agent_of(7_000_000_001, secret) == "crab"
    for bot, said in ((7_000_000_002, secret), (5, secret), (7_000_000_001, ""), (7_000_000_001, "ü"), (5, "")):
        assert desk.bots.agent_of(bot, said) is None
    assert desk.bots.agent_of(7_000_000_009, desk.bots.webhook_secret("nobody")) is None
    desk.bots.set_up("crab", ROTATED)
    assert desk.bots.agent_of(7_000_000_001, secret) is None


# --- secrets -----------------------------------------------------------------------------------------------------


def test_tokens_and_codes_are_in_no_log_row_or_exception(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """But for the one column; and the log is told to blot tokens out before Telegram hears of them."""
    caplog.set_level(logging.DEBUG)
    refusals = everything_that_can_be_done(desk)
    desk.house.store.close()
    with closing(sqlite3.connect(desk.house.home / "hermit.db")) as db:
        rows = "\n".join(line for line in db.iterdump() if not line.startswith('INSERT INTO "agents"'))
        assert db.execute("SELECT telegram_token FROM agents").fetchall() == [(ROTATED,)]
    for token in (TOKEN, ROTATED, OTHER):
        assert token not in rows + caplog.text + refusals
        assert token.partition(":")[2] not in rows + caplog.text + refusals
        assert {token, token.partition(":")[2]} <= set(desk.hidden)


def everything_that_can_be_done(desk: Desk) -> str:
    """Bots come, go, fail and are refused; what the refusals say, whole."""
    said = []

    def refused(call: Callable[..., object], *arguments: object) -> None:
        with pytest.raises(OrchestratorError) as error:
            call(*arguments)
        said.append(f"{error.value!r} {error.value.__cause__!r} {error.traceback!r}")

    first = str(paired(desk).username)
    desk.unknown.add(OTHER)
    refused(desk.bots.set_up, "crab", OTHER)
    desk.house.agents.create({"name": "scout"})
    refused(desk.bots.set_up, "scout", TOKEN)
    desk.down = True
    desk.bots.set_up("crab", ROTATED)
    desk.bots.mark_revoked("crab")
    refused(desk.bots.confirm, "crab", "123456")
    desk.house.agents.remove("scout")
    desk.bots.follow("scout")
    desk.bots.reconcile(OTHER)
    return " ".join([first, *said, repr(desk.bots.look_at(ROTATED, agent="crab")), repr(desk.bots.every())])


def test_codes_are_not_in_the_audit_log(desk: Desk) -> None:
    """Neither right ones nor wrong ones."""
    state = sent(desk)
    guess = wrong(state.code)
    with pytest.raises(BadInput):
        desk.bots.confirm("crab", guess)
    desk.bots.confirm("crab", str(state.code))
    rows = [replace(row, at=0.0, id=0) for kind in _KINDS for row in desk.house.audited(kind)]
    assert len(rows) == 3
    assert not any(code in repr(rows) for code in (guess, str(state.code)))
