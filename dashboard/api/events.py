"""News as server-sent events. Each is one line of JSON, so that nothing an agent wrote can begin an event of its own.

Whoever says which mark they know (``since``) is told first of all when there was news since, as nobody repeats it.

With ``html=1`` replies that grow come as rendered blocks (``growing_replies``), as a page puts them in.

A stream tells members of their own turns alone, and ends when the session or token behind it does.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

from flask import Blueprint, Response, request

from dashboard.auth import Asker, login_holder, require_asker
from dashboard.growing_replies import GrowingReplies
from dashboard.languages import page_speech
from dashboard.services import get_services
from dashboard.shapes import event_json
from orchestrator.core.errors import Unavailable
from orchestrator.core.events import LIVE, Subscription
from orchestrator.core.models import CubicleKey, Event

api = Blueprint("events", __name__)

_FOR_OPERATORS = ("people", "doctor", "backup")
HEARTBEAT_S = 15.0
"""How often a silent stream says that it lives."""
LOOK_S = 2.0
"""How soon an ended login ends a stream on which nothing comes."""


@api.get("/api/events")
def stream_events() -> Response:
    """All news from now on."""
    who, broker = require_asker(), get_services().broker
    subscription = broker.subscribe()
    holder = login_holder()
    users, is_open = get_services().users, get_services().access.is_open
    has_missed = request.args.get("since", broker.mark) != broker.mark
    replies = GrowingReplies(spoken=page_speech()) if request.args.get("html") == "1" else None
    stream = _event_stream(
        subscription,
        who,
        lambda: holder() == who.user,
        lambda: users.changes,
        HEARTBEAT_S,
        has_missed=has_missed,
        is_open=is_open,
        replies=replies,
    )
    response = Response(stream, mimetype="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(lambda: broker.unsubscribe(subscription))
    return response


def _event_stream(
    subscription: Subscription,
    who: Asker,
    is_welcome: Callable[[], bool],
    changes: Callable[[], int],
    heartbeat_s: float,
    *,
    has_missed: bool = False,
    is_open: Callable[[CubicleKey], bool] = lambda _key: True,
    replies: GrowingReplies | None = None,
) -> Iterator[str]:
    yield "retry: 2000\n\n" + ("event: missed\ndata: {}\n\n" if has_missed else "")
    checked_at, known = time.monotonic(), -1
    while True:
        event = subscription.get(min(heartbeat_s, LOOK_S if replies is None else replies.wait_s(LOOK_S)))
        if subscription.is_closed:
            return
        is_due = time.monotonic() - checked_at >= heartbeat_s
        if is_due or changes() != known:  # no news after somebody has logged out, however soon it comes
            known = changes()
            if not _is_still_welcome(is_welcome):
                return
        if is_due:
            checked_at = time.monotonic()
            yield ": still here\n\n"
        heard = [event] if event is not None and _is_for_viewer(event, who, is_open) else []
        for each in heard if replies is None else replies.render(heard):
            yield f"event: {each.kind}\ndata: {json.dumps(event_json(each))}\n\n"


def _is_still_welcome(is_welcome: Callable[[], bool]) -> bool:
    try:
        return is_welcome()
    except Unavailable:
        return False  # the install is being closed, and the browser will ask the next one


def _is_for_viewer(event: Event, who: Asker, is_open: Callable[[CubicleKey], bool]) -> bool:
    """An operator hears of everybody's turns, but what is being written and printed is for its own person alone; a
    member hears of the agents that are open to them."""
    if event.kind in _FOR_OPERATORS:
        return who.is_operator
    if event.kind in LIVE or not who.is_operator:
        agent = event.body.get("agent") if event.cubicle is None else event.cubicle.agent
        is_theirs = event.kind not in LIVE if event.cubicle is None else event.cubicle.user == who.user.id
        return is_theirs and (not agent or _is_open(is_open, CubicleKey(str(agent), who.user.id)))
    return True


def _is_open(is_open: Callable[[CubicleKey], bool], key: CubicleKey) -> bool:
    try:
        return is_open(key)
    except Unavailable:
        return False
