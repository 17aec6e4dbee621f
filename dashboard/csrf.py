"""The second secret of a session: a page of ours carries it, a page elsewhere can't read it, and every change
demands it.

It is derived from the session's token, which scripts can't read, so nothing needs to be stored.
"""

from __future__ import annotations

import hashlib
import hmac

from flask import request

from orchestrator.core.errors import Forbidden

HEADER = "X-CSRF-Token"
FIELD = "csrf"


def token_of(session: str) -> str:
    """The token that pages of this session carry."""
    return hmac.new(session.encode(), b"hermitshell csrf", hashlib.sha256).hexdigest()


def check_token(session: str) -> None:
    """Refuse a change that does not carry the session's token; raises Forbidden."""
    sent = request.headers.get(HEADER, "")
    if not sent and request.method == "POST" and request.mimetype == "application/x-www-form-urlencoded":
        sent = request.form.get(FIELD, "")
    if not hmac.compare_digest(sent.encode(), token_of(session).encode()):
        raise Forbidden("This page is out of date, so nothing was done. Reload it and try again.")
