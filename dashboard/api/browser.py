"""The browser of the asker's own cubicle of an agent: watched, taken over, given back. It may show what its person is
logged in to, so it is theirs alone, and no admin looks into another person's.

Pictures come as server-sent events in base64, checked to be JPEGs and decoded by the person's own browser alone. The
page says which it has shown, else no more come.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flask import Blueprint, Response

from dashboard import bodies
from dashboard.auth import login_holder, require_asker
from dashboard.services import get_services
from dashboard.times import iso_time, with_iso_times
from orchestrator.capabilities.browser.kept_login_rows import KeptLogin
from orchestrator.capabilities.browser.live_view import ViewNews, look_json
from orchestrator.core.errors import BadInput, NotFound, Unavailable
from orchestrator.core.models import CubicleKey

api = Blueprint("browser_api", __name__)

LOOK_S = 2.0
"""How soon an ended login ends a view."""


@api.get("/api/agents/<name>/browser")
def get_browser(name: str) -> Any:
    """How it stands."""
    return look_json(get_services().live_views.look(_own(name)))


@api.post("/api/agents/<name>/browser/close")
def close_browser(name: str) -> Any:
    """Its pages are gone."""
    get_services().live_views.close_browser(_own(name), require_asker().user)
    return "", 204


@api.get("/api/agents/<name>/browser/frames")
def stream_frames(name: str) -> Response:
    """What it shows, as it changes."""
    key, views, access, holder = _own(name), get_services().live_views, get_services().access, login_holder()
    user = require_asker().user.id

    def is_welcome() -> bool:
        now = holder()
        return now is not None and now.id == user and access.is_open(key)

    response = Response(
        _frame_stream(views.watch(key, views.open_window(key)), is_welcome), mimetype="text/event-stream"
    )
    response.headers["X-Accel-Buffering"] = "no"
    return response


@api.post("/api/agents/<name>/browser/shown")
def confirm_shown(name: str) -> Any:
    """A window has shown all pictures up to this one."""
    body = bodies.json_body("window", "number")
    window, number = bodies.text_field(body, "window"), bodies.int_field(body, "number", default=0)
    get_services().live_views.confirm(_own(name), window, number)
    return "", 204


@api.post("/api/agents/<name>/browser/take-over")
def take_over(name: str) -> Any:
    """The asker has it; the agent waits."""
    views, key = get_services().live_views, _own(name)
    views.take_over(key, require_asker().user)
    return look_json(views.look(key))


@api.post("/api/agents/<name>/browser/give-back")
def give_back(name: str) -> Any:
    """The agent has it again."""
    views, key = get_services().live_views, _own(name)
    views.give_back(key)
    return look_json(views.look(key))


@api.post("/api/agents/<name>/browser/input")
def put_in(name: str) -> Any:
    """What the asker's pointer and keys did."""
    get_services().live_views.put_in(_own(name), bodies.json_body("deeds").get("deeds"))
    return "", 204


@api.post("/api/agents/<name>/browser/go")
def go(name: str) -> Any:
    """To an address, back, or once more."""
    body, views, key = bodies.json_body("url", "go"), get_services().live_views, _own(name)
    if len(body) != 1:
        raise BadInput("url: send either an address in url, or back, reload or dismiss in go.")
    if "url" in body:
        views.open_address(key, bodies.text_field(body, "url").strip())
    else:
        views.go(key, bodies.text_field(body, "go"))
    return "", 204


@api.post("/api/agents/<name>/browser/tab")
def use_tab(name: str) -> Any:
    """A tab comes to the front, or is closed."""
    body = bodies.json_body("tab", "close")
    number, closes = bodies.int_field(body, "tab", default=0), bodies.flag_field(body, "close")
    get_services().live_views.use_tab(_own(name), number, closes=closes)
    return "", 204


@api.post("/api/agents/<name>/browser/dialog")
def answer_dialog(name: str) -> Any:
    """A dialog of a page is answered."""
    body = bodies.json_body("dialog", "accept", "text")
    dialog, accepts = bodies.text_field(body, "dialog"), bodies.flag_field(body, "accept")
    text = bodies.text_field(body, "text") if "text" in body else ""
    get_services().live_views.answer_dialog(_own(name), dialog, accepts=accepts, text=text)
    return "", 204


@api.get("/api/agents/<name>/browser/logins")
def list_logins(name: str) -> Any:
    """The sites whose logins stay, without what is kept of them."""
    kept, key = get_services().kept_logins, _own(name)
    names = kept.list_cookies(key)
    return {"logins": [login_json(one, names) for one in kept.list_logins(key)]}


@api.post("/api/agents/<name>/browser/logins")
def keep_login(name: str) -> Any:
    """From now on the logins of a site stay."""
    body, key, kept = bodies.json_body("site"), _own(name), get_services().kept_logins
    login = kept.keep(key, bodies.text_field(body, "site"), by=require_asker().user.name)
    return login_json(login, kept.list_cookies(key)), 201


@api.delete("/api/agents/<name>/browser/logins/<site>")
def forget_login(name: str, site: str) -> Any:
    """Nothing of the site is kept any more."""
    get_services().kept_logins.forget(_own(name), site, by=require_asker().user.name)
    return "", 204


def login_json(login: KeptLogin, names: Mapping[str, list[str]]) -> dict[str, Any]:
    """A site whose logins stay, as its person sees it; ``names`` are those of cookies, by site."""
    shown = {name: getattr(login, name) for name in ("site", "by", "cookies")}
    shown["names"] = names.get(login.site, [])
    return {**shown, "since": iso_time(login.since), **with_iso_times({"saved_at": login.saved_at})}


def _own(name: str) -> CubicleKey:
    return CubicleKey(get_services().agents.get(name).name, require_asker().user.id)


def _frame_stream(news: Iterator[ViewNews], is_welcome: Callable[[], bool]) -> Iterator[str]:
    checked_at = time.monotonic()
    yield "retry: 60000\n\n"
    for one in news:
        if time.monotonic() - checked_at >= LOOK_S:
            checked_at = time.monotonic()
            try:
                if not is_welcome():
                    return
            except (NotFound, Unavailable):  # the agent is gone, or the install is being closed
                return
        yield ": still here\n\n" if one.kind == "still" else f"event: {one.kind}\ndata: {json.dumps(one.body)}\n\n"
