"""Logging in and out. A login link is used by a button, not by opening it: whoever looks at links in advance burns
none.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, redirect, render_template, request

from dashboard import cookies
from dashboard.api.passkeys import own_site
from dashboard.auth import current_asker, mark_public, require_asker
from dashboard.services import get_services
from orchestrator.agents.users import SecondFactorNeeded
from orchestrator.core.errors import BadInput, NotFound, Unauthorized
from orchestrator.core.models import Role, User

pages = Blueprint("login", __name__)


@pages.get("/login")
@mark_public
def login() -> str:
    """How to get in: by password where there is one, else by a link from the terminal."""
    users = get_services().users
    has_password = any(users.has_password(user.id) for user in users.list_users())
    return render_template(
        "login.html",
        has_password=has_password,
        has_passkeys=get_services().passkeys.are_used_at(own_site()),
        oidc=get_services().oidc.settings,
        next=next_page(request.args.get("next", "")),
    )


@pages.post("/login")
@mark_public
def log_in() -> Any:
    """In by name and password."""
    name, password = request.form.get("name", ""), request.form.get("password", "")
    try:
        session = get_services().users.log_in(name[:64], password[:1000], **cookies.session_origin())
    except BadInput as error:
        return _not_in(
            "login.html",
            error.message,
            has_password=True,
            has_passkeys=get_services().passkeys.are_used_at(own_site()),
            oidc=get_services().oidc.settings,
        )
    except SecondFactorNeeded as needed:
        ticket = get_services().second_factors.wait_for_code(needed.user)
        path = "/login/second?" + urlencode({"next": next_page(request.form.get("next", ""))})
        return cookies.set_ticket(redirect(path, 303), ticket)
    return _let_in(next_page(request.form.get("next", "")), session)


@pages.get("/login/second")
@mark_public
def second() -> Any:
    """The code, for somebody who has given their password just now, or comes from a provider."""
    if not get_services().second_factors.is_waiting(cookies.login_ticket()):
        return redirect("/login", 303)
    return render_template("login_code.html", next=next_page(request.args.get("next", "")))


@pages.post("/login/second")
@mark_public
def give_code() -> Any:
    """In by the code that is asked for beside it."""
    services, path = get_services(), next_page(request.form.get("next", ""))
    how = services.second_factors.how_begun(cookies.login_ticket())
    try:
        user = services.second_factors.finish(cookies.login_ticket(), request.form.get("code", "")[:64])
    except BadInput as error:
        return _not_in("login_code.html", error.message)
    except NotFound:
        return cookies.set_ticket(redirect("/login", 303), "")
    session = services.users.new_session(user, f"{how} and code", **cookies.session_origin())
    return cookies.set_ticket(_let_in(path, session), "")


@pages.get("/login/<code>")
@mark_public
def link(code: str) -> Any:
    """The button; looking at the page changes nothing. Whoever is in already goes on to where the link leads."""
    path = next_page(request.args.get("next", ""))
    if path != "/" and current_asker() is not None:
        return redirect(path, 303)
    return render_template("link.html", code=code, next=path)


@pages.post("/login/<code>")
@mark_public
def use_link(code: str) -> Any:
    """In by a one-time link. It leads an operator to the first-run page, as long as nobody has set this install up, and
    somebody else who is here for the first time to a page of welcome."""
    path, services = next_page(request.form.get("next", "")), get_services()
    session = services.users.use_link(code[:200], **cookies.session_origin())
    user = services.users.of_session(session)
    if path == "/" and user is not None and user.role is Role.OPERATOR and not services.install_settings.is_set_up:
        path = "/setup"
    elif path == "/" and user is not None and _is_new(user):
        path = "/welcome"
    return _let_in(path, session)


@pages.post("/logout")
def log_out() -> Any:
    """Out: the session is over everywhere."""
    who = require_asker()
    if not who.session:
        raise Unauthorized("An API token has no session to end.")
    get_services().users.log_out(who.session)
    return cookies.clear_cookie(redirect("/login", 303))


def _is_new(user: User) -> bool:
    """They were added, and this is their only way in so far."""
    users = get_services().users
    return (
        user.id != users.get_operator().id
        and not users.has_password(user.id)
        and len(users.list_sessions(user.id)) == 1
    )


def _let_in(path: str, session: str) -> Any:
    """A fresh session; one that this browser had until now ends."""
    if earlier := cookies.session_token():
        get_services().users.log_out(earlier)
    return cookies.set_cookie(redirect(path, 303), session)


def _not_in(template: str, message: str, **given: Any) -> Any:
    if request.accept_mimetypes.best_match(["text/html", "application/json"]) == "application/json":
        return {"error": {"code": "unauthorized", "message": message}}, 401
    return render_template(template, next=next_page(request.form.get("next", "")), failed=message, **given), 401


def next_page(path: str) -> str:
    """A page of ours to go on to, whatever was asked for."""
    is_ours = path.startswith("/") and not path.startswith("//") and path.isprintable() and "\\" not in path
    return path if is_ours and not path.startswith("/login") else "/"
