"""The codes of handshakes between a bot and its operator, as decisions about a bot's row. No clock, no database: what
is decided comes back as the row that is to be stored.

A code is six digits from the system's own randomness, good for ten minutes and five tries. It proves something only in
one direction: one that the bot *sent* was read in the operator's Telegram, one that is *shown* was read where the
operator is logged in.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import replace

from orchestrator.channels.telegram.accounts.rows import BotState, BotStatus, CodeWay

DIGITS = 6
GOOD_FOR_S = 600.0
TRIES = 5


def new_code(bot: BotState, *, person: int | None, now: float) -> BotState:
    """A new code, which the bot sends to ``person``; it is shown instead where nobody's id is known."""
    return replace(
        bot,
        code=f"{secrets.randbelow(10**DIGITS):0{DIGITS}}",
        code_way=CodeWay.SHOWN if person is None else CodeWay.SENT,
        code_person=person,
        code_expires_at=now + GOOD_FOR_S,
        code_tries=0,
        code_sent_at=None,
    )


def shown_instead(bot: BotState, *, now: float) -> BotState:
    """A new code, which is shown: the bot could not send the one it had."""
    return replace(new_code(bot, person=None, now=now), code_person=bot.code_person)


def clear_code(bot: BotState) -> BotState:
    """There is no code."""
    return replace(
        bot, code=None, code_way=None, code_person=None, code_expires_at=None, code_tries=0, code_sent_at=None
    )


def is_live(bot: BotState, now: float) -> bool:
    """The right code would be taken now."""
    is_in_time = bot.code_expires_at is not None and now < bot.code_expires_at
    return bot.state is BotStatus.PAIRING and bool(bot.code) and is_in_time and bot.code_tries < TRIES


def try_code(bot: BotState, code: str, now: float) -> tuple[BotState, bool]:
    """The row after somebody tried ``code``, and whether that was the one. Only a live code counts tries."""
    is_same = hmac.compare_digest(code.encode("utf-8", "replace"), (bot.code or "").encode())
    if not is_live(bot, now):
        return bot, False
    return (bot, True) if is_same else (replace(bot, code_tries=bot.code_tries + 1), False)


def mark_paired(bot: BotState, person: int, now: float) -> BotState:
    """The row after ``person`` proved to be the operator."""
    return replace(clear_code(bot), state=BotStatus.PAIRED, paired_at=now, paired_person=person, problem=None)
