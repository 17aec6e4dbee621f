"""App messages: after the answer of a turn that made or changed web apps, a small message for each, with its picture
where one is made in time and a button that opens it.

A turn's messages are posted once, by their refs, in one transaction. The button leads to the app's page in the
dashboard, in the private chat of its owner by way of a login that works once and not for long; anywhere else it is no
way in. Chat apps take no buttons to addresses of this machine: then the message says where the app is found.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from orchestrator.agents.users import Users
from orchestrator.apps.previews.apps import AppKind, WebApp
from orchestrator.apps.thumbnails.thumbnails import Thumbnails
from orchestrator.channels.chat import turn_reply_rows as rows
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.message import AttachedFile, Message, MessageBody, MessageButton
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.system_text import NoteLine, QuotedText, show_foreign, system_note
from orchestrator.channels.chat.temp_files import TempFiles
from orchestrator.channels.chat.turn_reply_rows import TurnPlace
from orchestrator.core.errors import NotFound, OrchestratorError
from orchestrator.core.models import CubicleKey, Turn
from orchestrator.turns.queue import Turns

logger = logging.getLogger(__name__)

MOST = 3
"""Apps of one turn that get a message each."""
WAITS_S = 20.0
"""For a picture that is being taken."""
LOGIN_S = 3600.0
"""How long the button logs in."""
_LATEST_S = 3600.0
"""What was answered longer ago is left alone."""
_BUTTON_CHARS = 40


class AppMessages:
    """Tells of apps. For threads that may wait."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        outbox: Outbox,
        turns: Turns,
        users: Users,
        pictures: Thumbnails,
        temp_files: TempFiles,
        app_of: Callable[[CubicleKey, str], WebApp],
        place_of: Callable[[Turn], TurnPlace | None],
        dashboard: str,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``app_of`` raises NotFound for what is gone; ``place_of`` says where a turn's answer belongs; ``dashboard``
        is the address by which people call it."""
        self._store = store
        self._outbox = outbox
        self._turns = turns
        self._users = users
        self._pictures = pictures
        self._temp_files = temp_files
        self._app_of = app_of
        self._place_of = place_of
        self._dashboard = dashboard
        self._now = now

    def post_due(self) -> None:
        """What is owed and ready is posted."""
        with self._store.reading() as db:
            owed = rows.told_with_apps(db, self._now() - _LATEST_S)
        for number, told_at in owed:
            turn = self._turns.get(number)
            if self._now() - told_at >= WAITS_S or not self._is_waiting(turn):
                self._post_apps(turn)

    def _is_waiting(self, turn: Turn) -> bool:
        return any(self._pictures.is_coming(turn.cubicle, name) for name in turn.apps[:MOST])

    def _post_apps(self, turn: Turn) -> None:
        place, apps = self._place_of(turn), self._changed_apps(turn)
        if place is None:
            return
        pictures = [self._copy_picture(app) for app in apps[:MOST]]
        with self._store.writing() as db:
            if rows.get_message(db, f"turn:{turn.id}:app:1") is not None:
                return  # another thread was faster
            for n, (app, picture) in enumerate(zip(apps, pictures, strict=False), 1):
                rest = len(apps) - MOST if n == MOST else 0
                body = self._message_body(app, place, picture, rest)
                self._outbox.post_message(Message(place.agent, place.chat, f"turn:{turn.id}:app:{n}", body))

    def _changed_apps(self, turn: Turn) -> list[WebApp]:
        """Those that are still there and can be opened."""
        found = []
        for name in turn.apps:
            try:
                app = self._app_of(turn.cubicle, name)
            except OrchestratorError:  # gone, or made into something else
                continue
            found += [app] if app.kind is not AppKind.INCOMPLETE else []
        return found

    def _message_body(self, app: WebApp, place: TurnPlace, picture: Path | None, rest: int) -> MessageBody:
        lines: list[NoteLine] = [QuotedText(app.title)]
        url = self._dashboard + _path(app)
        has_button = url.startswith("https://")
        lines += (
            []
            if has_button
            else [f"It's in the dashboard, on {self._store.called(app.cubicle.agent)}'s Apps page: {url}"]
        )
        lines += [f"And {rest} more on the Apps page in the dashboard."] if rest > 0 else []
        label = f"Open {show_foreign(QuotedText(app.title, _BUTTON_CHARS))}"
        return MessageBody(
            system_note(f"A web app by {self._store.called(app.cubicle.agent)}", *lines),
            buttons=((MessageButton(label, url=self._way_in(app, place)),),) if has_button else (),
            files=() if picture is None else (AttachedFile(picture, "app.png", "photo"),),
            thread=place.thread,
        )

    def _way_in(self, app: WebApp, place: TurnPlace) -> str:
        """The app's page; for its owner alone, where nobody else reads, with the way past the login."""
        path = _path(app)
        try:
            owner = self._users.get(app.cubicle.user)
        except NotFound:
            return self._dashboard + path
        if place.chat != owner.id_in(self._store.channel):
            return self._dashboard + path
        code = self._users.make_link(owner.id, good_for_s=LOGIN_S)
        return f"{self._dashboard}/login/{code}?next={quote(path, safe='')}"

    def _copy_picture(self, app: WebApp) -> Path | None:
        """A copy of the app's picture that stays until the message is sent."""
        path = self._pictures.picture_of(app.cubicle, app.name)
        if path is None:
            return None
        try:
            return self._temp_files.write(path.read_bytes())
        except (OSError, OrchestratorError) as error:  # a newer one is there just now, or no room
            logger.info("the picture of an app is not sent: %s", error)
            return None


def _path(app: WebApp) -> str:
    return f"/agents/{app.cubicle.agent}/apps/{quote(app.name, safe='')}"
