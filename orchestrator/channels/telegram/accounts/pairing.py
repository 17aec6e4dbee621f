"""Pairing: how it is proved whose a bot is. The rules of a code are in ``pairing_codes``; here they meet the rows,
the operator's Telegram id and the audit log.

Whoever fails is told nothing that helps: the answer is the same for a wrong code, an old one and none at all.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from orchestrator.agents.user_fields import field_of
from orchestrator.agents.users import Users
from orchestrator.channels.chat import contact_rows as chats
from orchestrator.channels.chat.channel_store import ChannelDb
from orchestrator.channels.chat.contact_rows import KnownChat
from orchestrator.channels.telegram.accounts import pairing_codes, rows
from orchestrator.channels.telegram.accounts.rows import CHANNEL, BotState, BotStatus, CodeWay
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany
from orchestrator.core.events import Broker
from orchestrator.core.models import Event

CODES_AT_ONCE = 6
"""New codes in the time that one is good for."""
REVOKED = "Telegram refuses the token. Make a new one with @BotFather (/token), then './hermit telegram add {}'."
_SOMEBODY_ELSES = "The code came from the Telegram account of another user. Change that user's Telegram id first."
_WRONG = "This code is wrong or has expired. './hermit telegram code {}' makes a new one."


class Pairing:
    """The handshakes of all bots; ``Bots`` is built on it."""

    def __init__(
        self,
        store: Store,
        users: Users,
        broker: Broker,
        *,
        trusted_operator: int | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``trusted_operator`` is the operator's Telegram id as the settings say it."""
        self._store, self._users, self._broker = store, users, broker
        self._trusted, self._now = trusted_operator, now
        self._codes: dict[str, deque[float]] = {}
        self._lock = threading.Lock()  # protects _codes

    def get_bot(self, agent: str) -> BotState:
        """The agent's bot; raises NotFound."""
        with self._store.reading() as db:
            return self._as_is(_found(db, agent))

    def new_code(self, agent: str) -> BotState:
        """A fresh code; the older one is worth nothing. Raises NotFound, Conflict or TooMany."""
        _check_pairing(self.get_bot(agent))
        self._check_rate(agent)
        with self._store.writing() as db:
            bot = self._coded(_check_pairing(_found(db, agent)))
            rows.put_bot(db, bot)
            self._write_audit(db, "telegram.code", agent, f"A new code for the Telegram bot of {agent} was made.")
        self._publish_change(agent)
        return bot

    def show_code(self, agent: str) -> None:
        """The bot can't write to the operator first, so a new code is shown here, for the operator to send it."""
        with self._store.writing() as db:
            bot = rows.of_agent(db, agent)
            if bot is None or bot.code_way is not CodeWay.SENT:
                return
            rows.put_bot(db, pairing_codes.shown_instead(bot, now=self._now()))
        self._publish_change(agent)

    def code_delivered(self, agent: str, way: str, *, code: str = "") -> None:
        """How the code went: ``sent`` by the bot, or to be ``shown`` since the bot can't write first. A ``code`` that
        is given and not the present one changes nothing."""
        with self._store.writing() as db:
            bot = rows.of_agent(db, agent)
            if bot is None or bot.code_way is not CodeWay.SENT or code not in ("", bot.code):
                return
            if way == CodeWay.SENT:
                rows.put_bot(db, replace(bot, code_sent_at=self._now()))
        if way == CodeWay.SHOWN:
            self.show_code(agent)
        else:
            self._publish_change(agent)

    def confirm_code(self, agent: str, code: str) -> BotState:
        """The operator typed in the code that the bot had sent: it is paired. Raises NotFound, Conflict, and BadInput
        in the same words for everything that is not the code."""
        with self._store.writing() as db:
            bot = _check_pairing(_found(db, agent))
            if bot.code_way is CodeWay.SHOWN:
                raise Conflict(f"This code goes the other way: send it to {_at(bot)} in Telegram.")
            person = self._users.get_operator().id_in(CHANNEL)
            after, is_right = pairing_codes.try_code(bot, code.strip(), self._now())
            if person is None or not is_right or person != bot.code_person:
                self._count_refusal(db, bot, after)
                is_right = False
            else:
                after = self._store_paired(db, bot, person)
                # The code was read in the private chat with this person, so the bot can write there from now on.
                chats.put_chat(ChannelDb(db, CHANNEL), KnownChat(agent, person, "", "open", self._now()))
        self._publish_change(agent)
        if not is_right:
            raise BadInput(_WRONG.format(agent))
        return after

    def on_code(self, agent: str, person: int, six_digits: str) -> bool:
        """Somebody sent the bot six digits: True when they are the code and this is the operator, who is bound to this
        Telegram id if to none before. Everybody else learns nothing and, where the id is known, counts for nothing."""
        with self._store.writing() as db:
            bot = rows.of_agent(db, agent)
            if bot is None or not self._may_answer(db, bot, person):
                return False
            after, is_right = pairing_codes.try_code(bot, six_digits.strip(), self._now())
            if not is_right:
                self._count_refusal(db, bot, after)
            elif self._is_bound(person):
                self._store_paired(db, bot, person)
            else:
                rows.put_bot(db, replace(bot, problem=_SOMEBODY_ELSES))
                is_right = False
        self._publish_change(agent)
        return is_right

    def _as_is(self, bot: BotState) -> BotState:
        """The bot as it is now: a code that is no longer good is none."""
        return bot if pairing_codes.is_live(bot, self._now()) else pairing_codes.clear_code(bot)

    def _coded(self, bot: BotState) -> BotState:
        return pairing_codes.new_code(bot, person=self._users.get_operator().id_in(CHANNEL), now=self._now())

    def _may_answer(self, db: sqlite3.Connection, bot: BotState, person: int) -> bool:
        """A code from this Telegram id could prove something."""
        known = self._users.get_operator().id_in(CHANNEL)
        if bot.state is not BotStatus.PAIRING or known not in (None, person):
            return False
        if bot.code_way is CodeWay.SHOWN:
            return True
        is_proved = person == self._trusted or any(other.paired_person == person for other in rows.list_bots(db))
        return known == bot.code_person == person and is_proved

    def _is_bound(self, person: int) -> bool:
        """The operator has this Telegram id now, unless it is another user's."""
        operator = self._users.get_operator()
        try:
            if operator.id_in(CHANNEL) != person:
                self._users.update_user(operator.id, {field_of(CHANNEL): person})
        except Conflict:
            return False
        return True

    def _store_paired(self, db: sqlite3.Connection, bot: BotState, person: int) -> BotState:
        after = pairing_codes.mark_paired(bot, person, self._now())
        rows.put_bot(db, after)
        self._write_audit(
            db, "telegram.paired", bot.agent, f"The Telegram bot of {bot.agent} is linked to the operator."
        )
        return after

    def _count_refusal(self, db: sqlite3.Connection, before: BotState, after: BotState) -> None:
        if after != before:
            rows.put_bot(db, after)
            self._write_audit(db, "telegram.code_refused", after.agent, f"A wrong code for the bot of {after.agent}.")

    def _check_rate(self, agent: str) -> None:
        now = self._now()
        with self._lock:
            made = self._codes.setdefault(agent, deque())
            while made and made[0] <= now - pairing_codes.GOOD_FOR_S:
                made.popleft()
            if len(made) >= CODES_AT_ONCE:
                raise TooMany("Too many codes were made. Wait ten minutes, then ask for a new one.")
            made.append(now)

    def _write_audit(self, db: sqlite3.Connection, kind: str, agent: str, text: str) -> None:
        audit_rows.insert_record(db, kind, text, now=self._now(), agent=agent)

    def _publish_change(self, agent: str) -> None:
        self._broker.publish(Event("bot", None, {"agent": agent}))


def _found(db: sqlite3.Connection, agent: str) -> BotState:
    found = rows.of_agent(db, agent)
    if found is None:
        raise NotFound(f"{agent[:40]} has no Telegram bot. './hermit telegram add {agent[:40]}' gives it one.")
    return found


def _at(bot: BotState) -> str:
    return f"@{bot.username}" if bot.username else "the bot"


def _check_pairing(bot: BotState) -> BotState:
    if bot.state is BotStatus.PAIRED:
        raise Conflict(f"The bot of {bot.agent} is linked already; there is nothing to do.")
    if bot.state is BotStatus.REVOKED:
        raise Conflict(REVOKED.format(bot.agent))
    return bot
