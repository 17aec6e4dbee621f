"""``channels.telegram.accounts``: which bot is whose, what changes that, and no token anywhere but in its column."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.telegram.accounts import pairing_codes
from orchestrator.channels.telegram.accounts.rows import BotStatus, CodeWay
from orchestrator.core.errors import BadInput, Conflict, NotFound, OrchestratorError
from orchestrator.core.models import Event
from tests.support.bots_fixture import ADA, KINDS, OTHER, ROTATED, TOKEN, BotsFixture, paired, sent, wrong
from tests.support.core_fixture import core_fixture


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[BotsFixture]:
    """A fixture of its own."""
    with core_fixture(tmp_path / "home") as install:
        yield BotsFixture(install)


# --- setting up --------------------------------------------------------------------------------------------------


def test_a_bot_is_set_up(fixture: BotsFixture) -> None:
    """Telegram is asked who it is, and a handshake begins; everybody who watches is told to look."""
    watching = fixture.install.broker.subscribe()
    state = fixture.bots.set_up("crab", f" {TOKEN}\n")
    assert (state.bot, state.username, state.state) == (7_000_000_001, "bot1_bot", BotStatus.PAIRING)
    assert fixture.bots.list_bots() == [state]
    assert fixture.bots.token_of("crab") == TOKEN
    assert watching.get(0) == Event("bot", None, {"agent": "crab"})


@pytest.mark.parametrize(
    "token", ["", "hello", "123:", "123:abc", TOKEN[:-1], TOKEN + "x", TOKEN + "\x00", None, 7, [TOKEN]]
)
def test_what_is_no_token_is_refused(fixture: BotsFixture, token: object) -> None:
    """Telegram is not even asked."""
    with pytest.raises(BadInput, match="BotFather"):
        fixture.bots.set_up("crab", token)
    assert (fixture.asked, fixture.bots.list_bots()) == ([], [])


@pytest.mark.parametrize("token", ["42:TEST", "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"])
def test_a_server_of_ones_own_gives_other_tokens(fixture: BotsFixture, token: str) -> None:
    """Whether there is such a bot it knows best, so it is asked."""
    fixture.has_own_server = True
    fixture.bots = fixture.opened()
    fixture.bots.set_up("crab", token)
    assert (fixture.asked, fixture.bots.token_of("crab")) == ([token], token)


def test_a_token_that_telegram_does_not_know_is_refused(fixture: BotsFixture) -> None:
    """In a sentence without it, and nothing is stored; one that was there goes on."""
    fixture.bots.set_up("crab", TOKEN)
    fixture.unknown.add(OTHER)
    with pytest.raises(BadInput) as refused:
        fixture.bots.set_up("crab", OTHER)
    assert "does not know this token" in refused.value.message
    assert OTHER not in str(refused.value)
    assert fixture.bots.token_of("crab") == TOKEN
    assert [bot.bot for bot in fixture.bots.list_bots()] == [7_000_000_001]


def test_telegram_that_can_not_be_asked(fixture: BotsFixture) -> None:
    """The token is kept, with the problem said, until somebody who runs the bot has met it."""
    fixture.down = True
    state = fixture.bots.set_up("crab", TOKEN)
    assert (state.username, "not checked yet" in str(state.problem)) == ("", True)
    assert fixture.bots.token_of("crab") == TOKEN
    fixture.bots.on_contact("crab", "crab_bot")
    assert (fixture.crab().username, fixture.crab().problem) == ("crab_bot", None)


def test_two_agents_never_have_the_same_bot(fixture: BotsFixture) -> None:
    """Whichever of its tokens it is; Telegram is not asked, and the other has none."""
    fixture.install.agents.create({"name": "scout"})
    fixture.bots.set_up("crab", TOKEN)
    for token in (TOKEN, ROTATED):
        with pytest.raises(Conflict, match="belongs to the agent crab"):
            fixture.bots.set_up("scout", token)
    assert fixture.bots.token_of("scout") == ""
    assert fixture.asked == [TOKEN]


def test_another_agent_may_be_faster(fixture: BotsFixture) -> None:
    """Between the look at a token and its use; the slower one has nothing then."""
    fixture.install.agents.create({"name": "scout"})
    proof = fixture.bots.look_at(TOKEN, agent="scout")
    fixture.bots.set_up("crab", TOKEN)
    with pytest.raises(Conflict):
        fixture.bots.set_bot("scout", proof)
    assert fixture.bots.token_of("scout") == ""
    assert TOKEN not in repr(proof)


def test_an_agent_that_is_not_there(fixture: BotsFixture) -> None:
    """Gets no bot."""
    for call in (fixture.bots.set_up, fixture.bots.confirm_code):
        with pytest.raises(NotFound):
            call("nobody", TOKEN)
    with pytest.raises(NotFound, match="telegram add crab"):
        fixture.bots.get_bot("crab")
    with pytest.raises(NotFound):
        fixture.bots.remove_bot("crab")


def test_a_bot_that_is_taken_away_leaves_nothing(fixture: BotsFixture) -> None:
    """Neither token nor row; its chats are gone, and what waited there is not sent by the next bot."""
    fixture.bots.set_up("crab", TOKEN)
    chat_and_message(fixture)
    fixture.bots.remove_bot("crab")
    assert (fixture.bots.token_of("crab"), fixture.bots.list_bots()) == ("", [])
    assert left(fixture) == ([], [("failed", None)])


def chat_and_message(fixture: BotsFixture) -> None:
    """An open chat with a topic, and a message that waits there."""
    with fixture.install.store.writing() as db:
        db.execute("INSERT INTO chat_conversations VALUES ('telegram', 'crab', 1, 1, 5, NULL, 'Boat')")
        db.execute("INSERT INTO chat_rooms VALUES ('telegram', 'crab', 1, '', 'open', 7, 0)")
        db.execute(
            "INSERT INTO chat_outbox (channel, agent, chat, ref, body, state, amendment, created_at) "
            "VALUES ('telegram', 'crab', 1, 'a', '{}', 'waiting', '{}', 0)"
        )


def left(fixture: BotsFixture) -> tuple[list[Any], list[Any]]:
    """The chats, and the messages with what is to be changed about them."""
    with fixture.install.store.reading() as db:
        every = "SELECT chat FROM chat_rooms UNION SELECT chat FROM chat_conversations"
        chats = [tuple(row) for row in db.execute(every)]
        return chats, [tuple(row) for row in db.execute("SELECT state, amendment FROM chat_outbox")]


def test_another_bot_begins_anew_and_a_new_token_of_the_same_does_not(fixture: BotsFixture) -> None:
    """A rotated token changes nothing about whose the bot is; another bot must be paired, in chats of its own."""
    paired(fixture)
    chat_and_message(fixture)
    assert fixture.bots.set_up("crab", ROTATED).state is BotStatus.PAIRED
    assert left(fixture) == ([(1,), (ADA,)], [("waiting", "{}")])
    assert fixture.bots.set_up("crab", OTHER).state is BotStatus.PAIRING
    assert left(fixture) == ([], [("failed", None)])


def test_tokens_that_come_another_way_are_followed(fixture: BotsFixture) -> None:
    """With an agent's other settings, or with the agent itself: its bot comes, changes and goes."""
    fixture.install.agents.update_agent("crab", {"telegram_token": TOKEN})
    fixture.bots.on_agent_changed("crab")
    assert fixture.crab().bot == 7_000_000_001
    before = fixture.crab()
    fixture.bots.on_agent_changed("crab")
    assert fixture.crab() == before
    fixture.install.agents.update_agent("crab", {"telegram_token": OTHER})
    fixture.bots.on_agent_changed("crab")
    assert fixture.crab().bot == 7_000_000_002
    fixture.install.agents.create({"name": "scout", "telegram_token": OTHER})
    fixture.bots.on_agent_changed("scout")
    assert [bot.agent for bot in fixture.bots.list_bots()] == ["crab"]
    fixture.install.agents.update_agent("crab", {"telegram_token": None})
    fixture.bots.on_agent_changed("crab")
    assert fixture.bots.list_bots() == []


def test_the_bot_of_a_deleted_agent_is_gone(fixture: BotsFixture) -> None:
    """And whoever runs it is told to look."""
    fixture.bots.set_up("crab", TOKEN)
    watching = fixture.install.broker.subscribe()
    fixture.install.agents.remove("crab")
    fixture.bots.on_agent_changed("crab")
    assert fixture.bots.list_bots() == []
    assert watching.get(0) == Event("bot", None, {"agent": "crab"})


# --- the settings' bot -------------------------------------------------------------------------------------------


def test_the_settings_token_goes_to_the_first_agent(fixture: BotsFixture) -> None:
    """Telegram is not asked at start; without the operator's id its code is shown, and stays the same over restarts."""
    fixture.install.agents.create({"name": "scout"})
    fixture.bots.reconcile(TOKEN)
    state = fixture.crab()
    assert (state.state, state.code_way, state.is_from_settings) == (BotStatus.PAIRING, CodeWay.SHOWN, True)
    assert (fixture.bots.token_of("crab"), fixture.asked) == (TOKEN, [])
    fixture.at += pairing_codes.GOOD_FOR_S - 1
    fixture.opened().reconcile(TOKEN)
    assert fixture.crab() == state
    fixture.at += 1
    fixture.opened().reconcile(TOKEN)
    assert fixture.crab().code_expires_at == fixture.at + pairing_codes.GOOD_FOR_S


def test_with_the_operators_id_in_the_settings_it_is_paired(fixture: BotsFixture) -> None:
    """Whoever runs the host said both; once, as the audit log shows."""
    fixture.ada_is(ADA)
    fixture.trusted = ADA
    for _ in range(2):
        fixture.opened().reconcile(TOKEN)
        assert (fixture.crab().state, fixture.crab().paired_person) == (BotStatus.PAIRED, ADA)
    assert fixture.kinds() == ["telegram.token", "telegram.paired"]


def test_another_token_in_the_settings_takes_the_place_of_the_last(fixture: BotsFixture) -> None:
    """A rotated one keeps the pairing, one of another bot begins again."""
    fixture.bots.reconcile(TOKEN)
    fixture.bots.on_code("crab", ADA, str(fixture.crab().code))
    fixture.opened().reconcile(ROTATED)
    assert (fixture.bots.token_of("crab"), fixture.crab().state) == (ROTATED, BotStatus.PAIRED)
    fixture.opened().reconcile(OTHER)
    assert (fixture.bots.token_of("crab"), fixture.crab().state) == (OTHER, BotStatus.PAIRING)
    fixture.opened().reconcile("")
    assert fixture.bots.token_of("crab") == OTHER


def test_a_bot_that_a_person_set_up_is_left_alone(fixture: BotsFixture, caplog: pytest.LogCaptureFixture) -> None:
    """By another token in the settings; one that another agent has goes to nobody else."""
    fixture.bots.set_up("crab", TOKEN)
    fixture.bots.reconcile(OTHER)
    assert fixture.bots.token_of("crab") == TOKEN
    assert "TELEGRAM_BOT_TOKEN is not used" in caplog.text
    fixture.install.agents.create({"name": "scout"})
    fixture.bots.set_up("scout", OTHER)
    fixture.bots.remove_bot("crab")
    fixture.bots.reconcile(OTHER)
    assert [bot.agent for bot in fixture.bots.list_bots()] == ["scout"]


def test_a_settings_token_that_is_none(fixture: BotsFixture, caplog: pytest.LogCaptureFixture) -> None:
    """Keeps nothing from starting."""
    fixture.bots.reconcile("nonsense-that-is-secret")
    assert fixture.bots.list_bots() == []
    assert "copy it from BotFather" in caplog.text
    assert "secret" not in caplog.text


# --- what running them shows -------------------------------------------------------------------------------------


def test_revoked_is_said_once(fixture: BotsFixture, caplog: pytest.LogCaptureFixture) -> None:
    """One audit row, one line in the log, one event; the same token set up again fixes it."""
    paired(fixture)
    watching = fixture.install.broker.subscribe()
    assert not fixture.bots.mark_revoked("crab", token=ROTATED)
    assert [fixture.bots.mark_revoked("crab", token=TOKEN) for _ in range(3)] == [True, False, False]
    state = fixture.crab()
    assert (state.state, "telegram add crab" in str(state.problem)) == (BotStatus.REVOKED, True)
    assert (len(fixture.install.audited("telegram.revoked")), caplog.text.count("refuses the token")) == (1, 1)
    assert (watching.get(0), watching.get(0)) == (Event("bot", None, {"agent": "crab"}), None)
    fixture.bots.on_contact("crab", "x")
    fixture.bots.on_problem("crab", None)
    assert fixture.crab() == state
    with pytest.raises(Conflict, match="Make a new one"):
        fixture.bots.new_code("crab")
    assert fixture.bots.set_up("crab", TOKEN).state is BotStatus.PAIRED
    assert not fixture.bots.mark_revoked("nobody")


def test_what_an_earlier_bot_meets_is_not_the_present_ones(fixture: BotsFixture) -> None:
    """It may still be under way when another has taken its place."""
    paired(fixture)
    state = fixture.crab()
    fixture.bots.on_contact("crab", "earlier_bot", token=ROTATED)
    fixture.bots.on_problem("crab", "Another program fetches its updates.", token=ROTATED)
    assert fixture.crab() == state
    fixture.bots.on_contact("crab", "present_bot", token=TOKEN)
    assert fixture.crab().username == "present_bot"


def test_problems_come_and_go(fixture: BotsFixture) -> None:
    """Each change is told, and the same again is not."""
    paired(fixture)
    watching = fixture.install.broker.subscribe()
    fixture.bots.on_problem("crab", "Another program fetches its updates.")
    fixture.bots.on_problem("crab", "Another program fetches its updates.")
    assert fixture.crab().problem == "Another program fetches its updates."
    fixture.bots.on_problem("crab", None)
    fixture.bots.on_problem("nobody", None)
    assert fixture.crab().problem is None
    assert [watching.get(0) is not None for _ in range(3)] == [True, True, False]


def test_the_webhooks_secret_is_known_from_the_token_alone(fixture: BotsFixture) -> None:
    """It is of Telegram's alphabet, says nothing of the token, opens this bot only, and changes with the token."""
    fixture.install.agents.create({"name": "scout"})
    fixture.bots.set_up("crab", TOKEN)
    fixture.bots.set_up("scout", OTHER)
    secret = fixture.bots.webhook_secret("crab")
    assert len(secret) == 64
    assert secret.isalnum()
    assert fixture.opened().webhook_secret("crab") == secret
    assert fixture.bots.agent_of(7_000_000_001, secret) == "crab"
    for bot, said in ((7_000_000_002, secret), (5, secret), (7_000_000_001, ""), (7_000_000_001, "ü"), (5, "")):
        assert fixture.bots.agent_of(bot, said) is None
    assert fixture.bots.agent_of(7_000_000_009, fixture.bots.webhook_secret("nobody")) is None
    fixture.bots.set_up("crab", ROTATED)
    assert fixture.bots.agent_of(7_000_000_001, secret) is None


# --- secrets -----------------------------------------------------------------------------------------------------


def test_tokens_and_codes_are_in_no_log_row_or_exception(
    fixture: BotsFixture, caplog: pytest.LogCaptureFixture
) -> None:
    """But for the one column; and the log is told to blot tokens out before Telegram hears of them."""
    caplog.set_level(logging.DEBUG)
    refusals = everything_that_can_be_done(fixture)
    fixture.install.store.close()
    with closing(sqlite3.connect(fixture.install.home / "hermit.db")) as db:
        rows = "\n".join(line for line in db.iterdump() if not line.startswith('INSERT INTO "agents"'))
        assert db.execute("SELECT telegram_token FROM agents").fetchall() == [(ROTATED,)]
    for token in (TOKEN, ROTATED, OTHER):
        assert token not in rows + caplog.text + refusals
        assert token.partition(":")[2] not in rows + caplog.text + refusals
        assert {token, token.partition(":")[2]} <= set(fixture.hidden)


def everything_that_can_be_done(fixture: BotsFixture) -> str:
    """Bots come, go, fail and are refused; what the refusals say, whole."""
    said = []

    def refused(call: Callable[..., object], *arguments: object) -> None:
        with pytest.raises(OrchestratorError) as error:
            call(*arguments)
        said.append(f"{error.value!r} {error.value.__cause__!r} {error.traceback!r}")

    first = str(paired(fixture).username)
    fixture.unknown.add(OTHER)
    refused(fixture.bots.set_up, "crab", OTHER)
    fixture.install.agents.create({"name": "scout"})
    refused(fixture.bots.set_up, "scout", TOKEN)
    fixture.down = True
    fixture.bots.set_up("crab", ROTATED)
    fixture.bots.mark_revoked("crab")
    refused(fixture.bots.confirm_code, "crab", "123456")
    fixture.install.agents.remove("scout")
    fixture.bots.on_agent_changed("scout")
    fixture.bots.reconcile(OTHER)
    return " ".join([first, *said, repr(fixture.bots.look_at(ROTATED, agent="crab")), repr(fixture.bots.list_bots())])


def test_codes_are_not_in_the_audit_log(fixture: BotsFixture) -> None:
    """Neither right ones nor wrong ones."""
    state = sent(fixture)
    guess = wrong(state.code)
    with pytest.raises(BadInput):
        fixture.bots.confirm_code("crab", guess)
    fixture.bots.confirm_code("crab", str(state.code))
    rows = [replace(row, at=0.0, id=0) for kind in KINDS for row in fixture.install.audited(kind)]
    assert len(rows) == 3
    assert not any(code in repr(rows) for code in (guess, str(state.code)))
