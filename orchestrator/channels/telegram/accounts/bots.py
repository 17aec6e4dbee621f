"""Telegram bots: which agent has one, whether Telegram knows its token, and whose it is, proved by a handshake.

It owns the rows; it never talks to Telegram itself. Asking who a token is comes in as ``prove``; what the bots have to
do (start, stop, send a code) is read off the rows by whoever runs them, after an event of the kind ``bot``. Tokens lie
in one column and leave by ``token_of`` alone.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import sqlite3
import time
from collections.abc import Callable
from dataclasses import replace

from orchestrator.agents import agent_rows
from orchestrator.agents.agents import Agents
from orchestrator.agents.users import Users
from orchestrator.channels.telegram.accounts import pairing_codes, rows, token_check
from orchestrator.channels.telegram.accounts.pairing import REVOKED, Pairing
from orchestrator.channels.telegram.accounts.rows import BotState, BotStatus
from orchestrator.channels.telegram.accounts.token_check import CheckToken, TokenCheck
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict
from orchestrator.core.events import Broker

logger = logging.getLogger(__name__)


class Bots(Pairing):
    """All bots of this install. Every method may be called from any thread."""

    def __init__(
        self,
        store: Store,
        agents: Agents,
        users: Users,
        broker: Broker,
        *,
        prove: CheckToken,
        blot: Callable[[str], None],
        trusted_operator: int | None = None,
        has_own_server: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``trusted_operator`` is the operator's id as the settings say it; ``blot`` keeps a text out of the log;
        ``has_own_server``: another Bot API server than Telegram's is asked."""
        super().__init__(store, users, broker, trusted_operator=trusted_operator, now=now)
        self._agents, self._prove, self._blot = agents, prove, blot
        self._has_own_server = has_own_server

    # --- looking ------------------------------------------------------------------------------------------------

    def list_bots(self) -> list[BotState]:
        """All bots, by their agents' names."""
        with self._store.reading() as db:
            return [self._as_is(bot) for bot in rows.list_bots(db)]

    def find_bot(self, agent: str) -> BotState | None:
        """The agent's bot, or None."""
        with self._store.reading() as db:
            found = rows.of_agent(db, agent)
        return None if found is None else self._as_is(found)

    def token_of(self, agent: str) -> str:
        """The agent's token, for whoever runs its bot; empty when there is none."""
        with self._store.reading() as db:
            return agent_rows.get_telegram_token(db, agent) or ""

    def webhook_secret(self, agent: str) -> str:
        """What Telegram has to say with each update that it posts for this bot; nobody finds the token from it."""
        return _secret_of(self.token_of(agent))

    def agent_of(self, bot: int, secret: str) -> str | None:
        """Whose bot this is, for somebody who knows its webhook's secret; all others take as long and get None."""
        with self._store.reading() as db:
            found = rows.of_bot(db, bot)
            token = agent_rows.get_telegram_token(db, found.agent) if found else None
        is_right = hmac.compare_digest(_secret_of(token or "").encode(), secret.encode("utf-8", "replace"))
        return found.agent if found and token and is_right else None

    # --- setting up ---------------------------------------------------------------------------------------------

    def look_at(self, token: object, *, agent: str = "") -> TokenCheck:
        """Ask Telegram who this token is, before anything is changed for ``agent``. Raises BadInput when it is nobody,
        Conflict when another agent has that bot; when Telegram can't be reached the token passes for now."""
        proof = token_check.parse_token(token, of_any_server=self._has_own_server)
        self._hide_token(proof.token.text)
        with self._store.reading() as db:
            _check_free(db, proof.bot, agent)
        return token_check.check_token(proof, self._prove)

    def set_up(self, agent: str, token: object) -> BotState:
        """The agent has the bot of this token; a handshake begins, unless that bot has had one."""
        self._agents.get(agent)
        return self.set_bot(agent, self.look_at(token, agent=agent))

    def set_bot(self, agent: str, proof: TokenCheck, *, is_from_settings: bool = False) -> BotState:
        """The agent has this bot from now on. Raises NotFound, or Conflict when another agent was faster."""
        with self._store.writing() as db:
            _check_free(db, proof.bot, agent)
            self._agents.set_telegram_token(agent, proof.token.text)
            old = self._row_for(db, agent, proof.bot)
            bot = replace(
                old,
                username=proof.username or old.username,
                problem=proof.problem,
                state=BotStatus.PAIRING if old.paired_at is None else BotStatus.PAIRED,
                is_from_settings=is_from_settings,
            )
            bot = self._coded(bot) if bot.state is BotStatus.PAIRING else bot
            rows.put_bot(db, bot)
        self._publish_change(agent)
        return bot

    def remove_bot(self, agent: str) -> None:
        """The agent has no bot any more; raises NotFound when it has none."""
        self.get_bot(agent)
        with self._store.writing() as db:
            self._agents.set_telegram_token(agent, None)
            rows.delete_bot(db, agent)
        self._publish_change(agent)

    def on_agent_changed(self, agent: str) -> None:
        """An agent was changed or deleted: where its token is another one now, its row follows."""
        with self._store.writing() as db:
            token, old = agent_rows.get_telegram_token(db, agent), rows.of_agent(db, agent)
            if token and (old is None or old.bot != token_check.bot_of(token)):
                self._take_over(db, agent, token)
            elif old is not None and not token:
                rows.delete_bot(db, agent)
            elif agent_rows.get_agent(db, agent) is not None:
                return
        self._publish_change(agent)

    def reconcile(self, settings_token: str) -> None:
        """At start: the first agent has the settings' bot, every token its row, every handshake a code. Telegram is
        not asked."""
        if settings_token:
            self._take_from_settings(settings_token)
        for agent in self._agents.list_agents():
            if token := self.token_of(agent.name):
                self._hide_token(token)
            self.on_agent_changed(agent.name)
        with self._store.writing() as db:
            for bot in rows.list_bots(db):
                if bot.state is BotStatus.PAIRING and not pairing_codes.is_live(bot, self._now()):
                    rows.put_bot(db, self._coded(bot))

    # --- what running them shows --------------------------------------------------------------------------------

    def on_contact(self, agent: str, username: str, *, token: str = "") -> None:
        """Telegram knows the token, and calls the bot so. With ``token``, only while that is still the agent's."""
        self._note_of(agent, lambda bot: replace(bot, username=username, problem=None), token)

    def on_problem(self, agent: str, text: str | None, *, token: str = "") -> None:
        """Something is wrong with the bot; with None, no longer. With ``token``, only while that is still the
        agent's."""
        self._note_of(agent, lambda bot: replace(bot, problem=text), token)

    def mark_revoked(self, agent: str, *, token: str = "") -> bool:
        """Telegram refuses the token: True for the first to say so, who may tell others. With ``token``, only while
        that is still the agent's."""
        with self._store.writing() as db:
            bot = rows.of_agent(db, agent)
            present = agent_rows.get_telegram_token(db, agent)
            if bot is None or bot.state is BotStatus.REVOKED or token not in ("", present):
                return False
            revoked = replace(pairing_codes.clear_code(bot), state=BotStatus.REVOKED, problem=REVOKED.format(agent))
            rows.put_bot(db, revoked)
            self._write_audit(db, "telegram.revoked", agent, f"Telegram refuses the token of {agent}'s bot.")
        logger.warning("Telegram refuses the token of %s's bot: './hermit telegram add' takes a new one", agent)
        self._publish_change(agent)
        return True

    # --- by ourselves -------------------------------------------------------------------------------------------

    def _row_for(self, db: sqlite3.Connection, agent: str, bot: int) -> BotState:
        """The agent's row where it has this bot already, else a new one; what another bot left behind is gone."""
        old = rows.of_agent(db, agent)
        if old is not None and old.bot == bot:
            return old
        rows.delete_bot(db, agent)
        return BotState(agent, bot, "", BotStatus.PAIRING, added_at=self._now())

    def _take_over(self, db: sqlite3.Connection, agent: str, token: str) -> None:
        """A row for a token that was not set up here."""
        self._hide_token(token)
        other = rows.of_bot(db, token_check.bot_of(token))
        if other is not None and other.agent != agent:
            logger.warning("%s has the token of %s's bot, so only the latter uses it", agent, other.agent)
            return
        rows.put_bot(db, self._coded(self._row_for(db, agent, token_check.bot_of(token))))

    def _take_from_settings(self, token: str) -> None:
        """The first agent has the settings' bot, unless a person gave it another. With the operator's id in the
        settings too there is nothing left to prove: whoever runs the host said both."""
        try:
            proof = token_check.parse_token(token, of_any_server=self._has_own_server)
        except BadInput:
            logger.warning("TELEGRAM_BOT_TOKEN is not the token of a bot: copy it from BotFather whole")
            return
        self._hide_token(proof.token.text)
        with self._store.writing() as db:
            held = rows.of_bot(db, proof.bot)
            agent = held.agent if held else self._agents.list_agents()[0].name
            old = rows.of_agent(db, agent)
            if old is not None and old.bot != proof.bot and not old.is_from_settings:
                logger.warning("%s was given another bot, so TELEGRAM_BOT_TOKEN is not used", agent)
                return
            if old is None or agent_rows.get_telegram_token(db, agent) != proof.token.text:
                old = self.set_bot(agent, proof, is_from_settings=old is None or old.is_from_settings)
            if self._trusted is not None and old.state is BotStatus.PAIRING:
                self._store_paired(db, old, self._trusted)

    def _hide_token(self, token: str) -> None:
        """The log shows neither the token nor its secret half, which is all of it that is left of an escaped URL."""
        self._blot(token)
        self._blot(token.partition(":")[2])
        self._blot(_secret_of(token))

    def _note_of(self, agent: str, change: Callable[[BotState], BotState], token: str) -> None:
        with self._store.writing() as db:
            bot = rows.of_agent(db, agent)
            if bot is None or bot.state is BotStatus.REVOKED or change(bot) == bot:
                return
            if token not in ("", agent_rows.get_telegram_token(db, agent)):
                return  # a bot that was replaced meanwhile
            rows.put_bot(db, change(bot))
        self._publish_change(agent)


def _secret_of(token: str) -> str:
    return hmac.new(token.encode(), b"hermitshell webhook", hashlib.sha256).hexdigest()


def _check_free(db: sqlite3.Connection, bot: int, agent: str) -> None:
    other = rows.of_bot(db, bot)
    if other is not None and other.agent != agent:
        raise Conflict(
            f"This bot belongs to the agent {other.agent} already. Each agent needs one of its own; @BotFather makes it"
            " with /newbot."
        )
