"""The session cookie. Scripts can't read it and other sites' pages never send it; over https it is bound to this
host.
"""

from __future__ import annotations

from flask import request
from werkzeug.wrappers import Response

from dashboard.browsers import named
from dashboard.origin import is_https
from orchestrator.agents.users import SESSION_S

NAME = "hermit_session"


def session_token() -> str:
    """The session that the browser says it has, or an empty string."""
    return request.cookies.get(_name(), "")


def whence() -> dict[str, str]:
    """Where a new session is from: what the browser calls itself, and the address that it comes from."""
    return {"browser": named(request.headers.get("User-Agent", "")), "address": request.remote_addr or ""}


def remember(response: Response, session: str) -> Response:
    """The browser keeps the session."""
    response.set_cookie(
        _name(), session, max_age=SESSION_S, path="/", httponly=True, samesite="Strict", secure=is_https()
    )
    return response


def forget(response: Response) -> Response:
    """The browser drops the session."""
    response.delete_cookie(_name(), path="/", httponly=True, samesite="Strict", secure=is_https())
    return response


def _name() -> str:
    return f"__Host-{NAME}" if is_https() else NAME
