"""Logging in by a provider: the way there and the way back. Both are opened by a link, so neither changes anything for
somebody whose browser did not begin it.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, make_response, redirect, render_template, request

from dashboard import cookies, faults, origin
from dashboard.auth import mark_public
from dashboard.pages.login import next_page
from dashboard.services import get_services
from orchestrator.agents.oidc.logins import OidcAnswer, OidcArrival
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.http_statuses import status_of

pages = Blueprint("oidc", __name__)


@pages.get("/login/oidc")
@mark_public
def begin() -> Any:
    """To the provider; first to the address that it sends browsers back to, where that is another."""
    services, path = get_services(), next_page(request.args.get("next", ""))
    logins = services.oidc
    if logins.settings.is_on and origin.own_origin(services.settings.public_url) != logins.origin:
        return redirect(f"{logins.origin}/login/oidc?{urlencode({'next': path})}", 303)
    try:
        start = logins.begin_login(path)
    except OrchestratorError as error:
        return _failed(error, path)
    return cookies.set_oidc_flow(redirect(start.url, 303), start.cookie)


@pages.get("/login/oidc/callback")
@mark_public
def finish() -> Any:
    """Back from the provider: in, or with an account connected."""
    logins, cookie = get_services().oidc, cookies.oidc_flow()
    state, code, issuer, error = (request.args.get(name, "")[:5000] for name in ("state", "code", "iss", "error"))
    path = logins.read_path(cookie)
    try:
        arrival = logins.finish(cookie, OidcAnswer(state, code, issuer, error), address=request.remote_addr or "")
    except OrchestratorError as failure:
        return cookies.set_oidc_flow(_failed(failure, path), "")
    return cookies.set_oidc_flow(_onwards(arrival), "")


def _onwards(arrival: OidcArrival) -> Any:
    services, user, path = get_services(), arrival.user, next_page(arrival.path)
    if arrival.is_connection:
        return _open(path)
    if services.second_factors.is_on(user.id) and not arrival.has_mfa:
        ticket = services.second_factors.wait_for_code(user, services.oidc.how)
        return cookies.set_ticket(_open("/login/second?" + urlencode({"next": path})), ticket)
    session = services.users.new_session(user.id, services.oidc.how, **cookies.session_origin())
    if earlier := cookies.session_token():
        services.users.log_out(earlier)
    return cookies.set_cookie(_open("/welcome" if arrival.is_new and path == "/" else path), session)


def _open(path: str) -> Any:
    """The browser opens this page by itself: a redirect would still count as coming from the provider, without its
    cookies."""
    return make_response(render_template("onwards.html", path=path))


def _failed(error: OrchestratorError, path: str) -> Any:
    status = status_of(error)
    if status == 500 or faults.wants_json():
        raise error
    is_connection = path.startswith("/you#")
    text = render_template("oidc_failed.html", message=error.message, next=path, is_connection=is_connection)
    return make_response(text, status)
