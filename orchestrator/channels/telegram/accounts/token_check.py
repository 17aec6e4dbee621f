"""Token check: what a pasted token is, by its form and by what Telegram says of it. Nothing is stored here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.agents.agent_fields import ANY_TELEGRAM_TOKEN, NOT_OF_A_BOT, TELEGRAM_TOKEN
from orchestrator.channels.telegram.accounts.rows import BotToken
from orchestrator.channels.telegram.client_types import BotIdentity
from orchestrator.core.errors import BadInput, Unavailable

CheckToken = Callable[[str], BotIdentity]
"""Asks Telegram who a token is; raises BadInput when it is nobody, Unavailable when Telegram can't be asked."""


@dataclass(frozen=True, slots=True)
class TokenCheck:
    """A token that was looked at. ``repr`` shows none of it."""

    token: BotToken
    bot: int
    """Its numeric id, which a token begins with."""
    username: str = ""
    """Empty while Telegram could not be asked; the token is then kept, and Telegram asked when the bot runs."""
    problem: str | None = None


def parse_token(token: object, *, of_any_server: bool = False) -> TokenCheck:
    """A token as somebody pasted it, not asked about yet; raises BadInput for what has not the form of one. A Bot API
    server other than Telegram's may give tokens of its own form (``of_any_server``)."""
    text = token.strip() if isinstance(token, str) else ""
    if not (ANY_TELEGRAM_TOKEN if of_any_server else TELEGRAM_TOKEN).fullmatch(text):
        raise BadInput(NOT_OF_A_BOT)
    return TokenCheck(BotToken(text), bot_of(text))


def bot_of(token: str) -> int:
    """The id of the bot, which its token begins with."""
    return int(token.partition(":")[0])


def check_token(proof: TokenCheck, prove: CheckToken) -> TokenCheck:
    """The same, with what Telegram says; raises BadInput when it says that there is no such bot."""
    try:
        me = prove(proof.token.text)
    except Unavailable as error:
        problem = f"This token is not checked yet. {error.message}"
        return TokenCheck(proof.token, proof.bot, problem=problem)
    return TokenCheck(proof.token, proof.bot, me.username)
