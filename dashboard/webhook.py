"""Where Telegram posts updates, when it is told to. No person comes here and no page of ours: each request proves
itself by the secret of the bot that it is for, which Telegram alone was told. All others get the same empty answer."""

from __future__ import annotations

import logging
from typing import Any

from flask import Blueprint, request

from dashboard.auth import by_secret
from dashboard.services import get_services
from orchestrator.core.errors import BadInput
from orchestrator.core.strict_json import read_object

logger = logging.getLogger(__name__)

webhook = Blueprint("webhook", __name__)

SECRET = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name
MAX_BODY_BYTES = 1024 * 1024
"""Many times the largest update."""


@webhook.post("/telegram/<id:bot>")
@by_secret
def receive(bot: int) -> Any:
    """Take an update over; it is on disk when this answers, and Telegram sends it again unless it did."""
    services = get_services()
    if not services.settings.telegram_webhook_url:
        return "", 404
    agent = services.bots.agent_of(bot, request.headers.get(SECRET, ""))
    if agent is None:
        return "", 401
    request.max_content_length = MAX_BODY_BYTES
    try:
        update = read_object(request.get_data())
    except BadInput as error:  # refused, it would come again for ever, and nothing after it
        logger.warning("an update for the bot of %s is let go: %s", agent, error.message)
    else:
        services.webhooks["telegram"](agent, update)
    return "", 200
