"""How updates reach a bot: long polling with acknowledging offsets, or posts to the bot's webhook."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from tests.support.bot_api_rules import Json, Refused, refuse
from tests.support.bot_api_world import Bot, Call, Webhook, World

MAX_POLL_S = 50
RETRY_S = 0.1
"""Between two attempts at a webhook that fails; the real server waits longer and longer."""
POST_TIMEOUT_S = 10

_CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
_HOOKED = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"


def get_updates(world: World, bot: Bot, call: Call, is_gone: Callable[[], bool]) -> list[Json]:
    """getUpdates: forgets what is acknowledged, waits for more, gives way to a newer poll.

    That is no conflict when the older one's client has hung up (`is_gone`), as clients do to end their last poll.
    """
    given = call.parameters
    if bot.webhook.url:
        raise Refused(409, _HOOKED)
    bot.poll_number += 1
    number = bot.poll_number
    world.changed.notify_all()
    _allow(bot, given)
    _acknowledge(bot, given.get("offset", 0))
    until = time.monotonic() + min(max(given.get("timeout", 0), 0), MAX_POLL_S)
    while not (bot.updates or world.is_closing or world.is_offline):
        left = until - time.monotonic()
        if left <= 0 or not world.changed.wait(left):
            break
        world.authorize(bot.token)
        if bot.poll_number != number and is_gone():
            return []
        if bot.poll_number != number:
            raise Refused(409, _CONFLICT)
        if bot.webhook.url:
            raise Refused(409, "Conflict: terminated by setWebhook request")
    limit = given.get("limit", 100)
    return bot.updates[: limit if 1 <= limit <= 100 else 100]


def _acknowledge(bot: Bot, offset: int) -> None:
    if offset < 0:
        bot.updates[:] = bot.updates[offset:]
    elif offset:
        bot.updates[:] = [update for update in bot.updates if update["update_id"] >= offset]


def _allow(bot: Bot, given: Json) -> None:
    if "allowed_updates" not in given:
        return
    allowed = given["allowed_updates"]
    if not isinstance(allowed, list) or not all(isinstance(kind, str) for kind in allowed):
        refuse("can't parse allowed updates JSON object")
    bot.allowed = allowed


def set_webhook(world: World, bot: Bot, call: Call) -> bool:
    """setWebhook; unlike the real server it takes plain HTTP, since all of this is loopback."""
    url, secret = call.parameters.get("url", ""), call.parameters.get("secret_token", "")
    if secret and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", secret):
        refuse("secret token contains unallowed characters")
    if url and not re.match(r"https?://[^\s/]+", url):
        refuse("bad webhook: invalid URL")
    _allow(bot, call.parameters)
    if call.parameters.get("drop_pending_updates"):
        bot.updates.clear()
    bot.webhook = Webhook(url, secret)
    world.changed.notify_all()
    return True


def delete_webhook(world: World, bot: Bot, call: Call) -> bool:
    """deleteWebhook."""
    if call.parameters.get("drop_pending_updates"):
        bot.updates.clear()
    bot.webhook = Webhook()
    world.changed.notify_all()
    return True


def webhook_info(world: World, bot: Bot, call: Call) -> Json:
    """getWebhookInfo."""
    hook = bot.webhook
    told: Json = {"url": hook.url, "has_custom_certificate": False, "pending_update_count": len(bot.updates)}
    if hook.last_error:
        told |= {"last_error_message": hook.last_error, "last_error_date": hook.last_error_at}
    return told | ({"allowed_updates": bot.allowed} if bot.allowed else {})


class UpdateSender:
    """The thread that posts updates to webhooks, each bot's in order, until the world closes."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._thread = threading.Thread(target=self._run, name="bot-api-sender")

    def start(self) -> None:
        """Begins to deliver."""
        self._thread.start()

    def join(self) -> None:
        """Waits for the end; the world must be closing."""
        self._thread.join()

    def _run(self) -> None:
        world = self._world
        while True:
            with world.changed:
                world.changed.wait_for(lambda: world.is_closing or self._waiting())
                if world.is_closing:
                    return
                due = [(bot, bot.webhook, bot.updates[0]) for bot in self._waiting()]
            failed = [bot for bot, hook, update in due if not self._deliver(bot, hook, update)]
            if failed:
                with world.changed:
                    world.changed.wait_for(lambda: world.is_closing, RETRY_S)

    def _waiting(self) -> list[Bot]:
        return [bot for bot in self._world.bots.values() if bot.webhook.url and bot.updates]

    def _deliver(self, bot: Bot, hook: Webhook, update: Json) -> bool:
        try:
            status = _post(hook, update)
            error = "" if 200 <= status < 300 else f"Wrong response from the webhook: {status}"
        except (OSError, http.client.HTTPException) as problem:
            error = f"Connection failed: {type(problem).__name__}"
        with self._world.changed:
            if not error and bot.updates and bot.updates[0] is update:
                bot.updates.pop(0)
            if error:
                hook.last_error, hook.last_error_at = error, int(time.time())
            self._world.changed.notify_all()
        return not error


def _post(hook: Webhook, update: Json) -> int:
    parts = urlsplit(hook.url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=POST_TIMEOUT_S)
    headers = {"Content-Type": "application/json"}
    if hook.secret:
        headers["X-Telegram-Bot-Api-Secret-Token"] = hook.secret
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", target, json.dumps(update).encode(), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()
