"""Examines the Telegram bots: whether Telegram knows each token, where its updates go, and whether it is paired. Reads
the tokens where they are kept, so it works whether HermitShell runs or not; it shows none of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.agents.agent_fields import ANY_TELEGRAM_TOKEN
from orchestrator.channels.chat.send_errors import SendError, TokenRevoked, Unreachable
from orchestrator.channels.telegram.accounts.rows import BotStatus, BotToken, StoredBot, list_tokens
from orchestrator.channels.telegram.bot_check import BotCheck, check_up
from orchestrator.core.config import Settings
from orchestrator.core.finding import Finding, fail, ok, warn
from orchestrator.core.home import running_pid
from orchestrator.core.text import one_line

TELEGRAM = "telegram"
_FROM_SETTINGS = "the first agent"
_AGAIN = "Fix that, then run './hermit doctor' again."


@dataclass(frozen=True, slots=True)
class Expected:
    """What the settings say of Telegram."""

    token: BotToken
    """TELEGRAM_BOT_TOKEN, maybe empty."""
    webhook_url: str
    is_running: bool
    """HermitShell runs, so that each bot's updates must go where they should."""


def check_bots(settings: Settings) -> list[Finding]:
    """What there is to find, with the tokens of this install."""
    bots, operator = list_tokens(settings.home / "db" / "hermit.db")
    expected = Expected(
        BotToken(settings.secrets.get("TELEGRAM_BOT_TOKEN")),
        settings.telegram_webhook_url,
        is_running=running_pid(settings.home) is not None,
    )
    known = operator or settings.telegram_operator_id
    return examine_telegram(bots, known, expected, lambda token: check_up(token, settings.telegram_api_url))


def examine_telegram(
    bots: list[StoredBot], operator: int | None, expected: Expected, check_up: Callable[[str], BotCheck]
) -> list[Finding]:
    """One finding a bot, and one for what the settings lack."""
    found, wanted = [], list(bots)
    token = expected.token.text
    if token and not ANY_TELEGRAM_TOKEN.fullmatch(token):
        fix = "Copy the whole token from BotFather, such as 123456789:AA…, into hermit.env."
        found.append(fail(TELEGRAM, "TELEGRAM_BOT_TOKEN does not look like a bot's token.", fix))
    elif token and token not in [bot.token.text for bot in bots]:
        wanted.append(StoredBot(_FROM_SETTINGS, expected.token, ""))
    if not found and not wanted:
        return [ok(TELEGRAM, "No agent has a bot; './hermit telegram add AGENT' gives it one.")]
    if wanted and operator is None:
        fix = "Link the first bot to yourself: its agent's Settings page or './hermit telegram list' shows how."
        found.append(warn(TELEGRAM, "Your own Telegram id is not known yet, so bots answer nobody.", fix))
    try:
        found += [_examined(bot, expected, check_up) for bot in wanted]
    except Unreachable:  # it can't be for the others either
        fix = "Check this machine's network and HERMIT_TELEGRAM_API_URL; bots then resume by themselves."
        found.append(fail(TELEGRAM, "Telegram can't be reached.", fix))
    return found


def _examined(bot: StoredBot, expected: Expected, check_up: Callable[[str], BotCheck]) -> Finding:
    """Raises Unreachable."""
    try:
        seen = check_up(bot.token.text)
    except TokenRevoked:
        fix = f"Make a new token with @BotFather (/token), then './hermit telegram add {bot.agent}'."
        if bot.agent == _FROM_SETTINGS:
            fix = "Copy the token of TELEGRAM_BOT_TOKEN again from @BotFather."
        return fail(TELEGRAM, f"Telegram refuses the token of {bot.agent}'s bot.", fix)
    except Unreachable:
        raise
    except SendError as error:
        return warn(TELEGRAM, f"{bot.agent}'s bot could not be checked: {error}.", _AGAIN)
    return _judged(bot, seen, expected)


def _judged(bot: StoredBot, seen: BotCheck, expected: Expected) -> Finding:
    who = f"@{seen.me.username} of {bot.agent}"
    url = f"{expected.webhook_url}/telegram/{seen.me.bot}" if expected.webhook_url else ""
    if expected.is_running and seen.webhook.url != url:
        there = "another address" if seen.webhook.url else "nowhere"
        fix = "Does another program use this token? Make a new one with @BotFather (/revoke). If not, restart."
        return warn(TELEGRAM, f"The updates of {who} are posted to {there}, not to HermitShell.", fix)
    if url and seen.webhook.last_error:
        fix = "Check the proxy in front of HERMIT_TELEGRAM_WEBHOOK_URL, or remove that setting."
        return warn(TELEGRAM, f"Telegram could not post to {who}: {one_line(seen.webhook.last_error, 100)}.", fix)
    if bot.state == BotStatus.REVOKED:
        fix = f"'./hermit telegram add {bot.agent}' with the same token starts it again."
        return warn(TELEGRAM, f"Telegram had refused {who}, but accepts it now.", fix)
    if expected.is_running and bot.problem:
        fix = "The bot resumes by itself once that is over."
        return warn(TELEGRAM, f"{who} has a problem: {bot.problem}", fix)
    if bot.state == BotStatus.PAIRING:
        return warn(
            TELEGRAM,
            f"{who} answers nobody until it is linked.",
            "Its agent's Settings page or './hermit telegram list' shows how.",
        )
    groups = ", and gets every message of its groups (privacy mode is off)" if seen.me.can_read_groups else ""
    return ok(TELEGRAM, f"{who} is known to Telegram{groups}.")
