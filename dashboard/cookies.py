"""The session cookie: scripts can't read it and other sites' pages never send it; over https it is bound to this
host. And those for light or dark and for the language, which scripts set.
"""

from __future__ import annotations

from flask import request
from werkzeug.wrappers import Response

from dashboard.browsers import browser_name
from dashboard.origin import is_https
from orchestrator.agents.oidc.flow import GOOD_FOR_S
from orchestrator.agents.second_factors import HALFWAY_S
from orchestrator.agents.users import SESSION_S

NAME, WAITING, AWAY = "hermit_session", "hermit_login", "hermit_oidc"


def session_token() -> str:
    """The session that the browser says it has, or an empty string."""
    return request.cookies.get(_cookie_name(), "")


def session_origin() -> dict[str, str]:
    """Where a new session is from: what the browser calls itself, and the address that it comes from."""
    return {"browser": browser_name(request.headers.get("User-Agent", "")), "address": request.remote_addr or ""}


def login_ticket() -> str:
    """What stands for a login that waits for its code, or an empty string."""
    return request.cookies.get(_cookie_name(WAITING), "")


def set_ticket(response: Response, ticket: str) -> Response:
    """The browser keeps what stands for a login that waits for its code; an empty one is dropped."""
    if ticket:
        response.set_cookie(
            _cookie_name(WAITING),
            ticket,
            max_age=int(HALFWAY_S),
            path="/",
            httponly=True,
            samesite="Strict",
            secure=is_https(),
        )
    else:
        response.delete_cookie(_cookie_name(WAITING), path="/", httponly=True, samesite="Strict", secure=is_https())
    return response


def oidc_flow() -> str:
    """What the browser kept while it was at the provider, or an empty string."""
    return request.cookies.get(_cookie_name(AWAY), "")


def set_oidc_flow(response: Response, flow: str) -> Response:
    """The browser keeps this while it is at the provider, whose answer it has to come with: so it is sent, unlike the
    others, when another site opens a page of ours. An empty one is dropped."""
    if flow:
        response.set_cookie(
            _cookie_name(AWAY), flow, max_age=GOOD_FOR_S, path="/", httponly=True, samesite="Lax", secure=is_https()
        )
    else:
        response.delete_cookie(_cookie_name(AWAY), path="/", httponly=True, samesite="Lax", secure=is_https())
    return response


def set_cookie(response: Response, session: str) -> Response:
    """The browser keeps the session."""
    response.set_cookie(
        _cookie_name(), session, max_age=SESSION_S, path="/", httponly=True, samesite="Strict", secure=is_https()
    )
    return response


def clear_cookie(response: Response) -> Response:
    """The browser drops the session."""
    response.delete_cookie(_cookie_name(), path="/", httponly=True, samesite="Strict", secure=is_https())
    return response


def chosen_theme() -> str:
    """``light`` or ``dark``, where somebody chose one for this browser; else empty. A script sets it."""
    theme = request.cookies.get("hermit_theme", "")
    return theme if theme in ("light", "dark") else ""


def chosen_language() -> str:
    """The language that somebody chose for this browser, before they logged in; else empty. A script sets it."""
    return request.cookies.get("hermit_language", "")[:16]


def _cookie_name(name: str = NAME) -> str:
    return f"__Host-{name}" if is_https() else name
