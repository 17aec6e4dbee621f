"""Which Host names this install answers to. A page elsewhere may point its own name at our address (DNS rebinding);
the browser then calls our pages its own, and only the Host header tells the difference.
"""

from __future__ import annotations

import re

from flask import request
from werkzeug.exceptions import BadRequest, MisdirectedRequest

from dashboard.services import get_services

WEBHOOK = "webhook.receive"
"""The one endpoint that also answers to the name under which Telegram reaches us."""
_HOST = re.compile(r"(?:(?P<name>[^:\[\]]+?)\.?|\[(?P<address>[0-9a-f:.]+)\])(?::\d{1,5})?")


def check_host() -> None:
    """Refuse a request for a name that is not ours; the port does not matter."""
    host = request.environ.get("HTTP_HOST", "")
    if not host:
        raise BadRequest("Send a Host header.")
    name, settings = name_of(host), get_services().settings
    if request.endpoint == WEBHOOK and name and name == settings.telegram_webhook_host:
        return
    if name not in settings.allowed_hosts:
        raise MisdirectedRequest("This install does not answer to that host name. HERMIT_ALLOWED_HOSTS adds names.")


def name_of(host: str) -> str:
    """The name in ``name``, ``name:port``, ``[::1]`` or ``[::1]:port``, in small letters; empty for anything else."""
    found = _HOST.fullmatch(host.lower())
    return "" if found is None else found["name"] or found["address"]
