"""Dialogs that outlive a lost connection to a remote browser. Chromium closes its own dialogs then, and lets go of
requests that wait; so the page's stand-in for a dialog, when its request breaks off, leaves its question in a cookie of
the page and looks for the answer in another one. The driver that connects again reads the one and sets
the other. A frame of another site, which has no cookies where it is not encrypted, loses its dialog."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any
from urllib.parse import quote, unquote

from orchestrator.browser.dialogs import Dialogs, OpenDialog
from orchestrator.browser.fields import Fields, objects_of, text_of
from orchestrator.browser.own_context import OwnContext
from orchestrator.browser.tabs import BrowserTab, BrowserTabs, host_of
from orchestrator.browser.wire import Wire

ASKED, TOLD = "hermit-asked-", "hermit-told-"
MOST_CHARS = 300
"""Of a message in a cookie, which holds 4 KB."""
_ID = re.compile(r"[0-9a-f]{16}")
_KINDS = frozenset({"alert", "confirm", "prompt"})
_TRIES, _AGAIN_S = 20, 0.05


class DialogNotes:
    """Of one browser."""

    def __init__(self, wire: Wire, context: OwnContext, dialogs: Dialogs, tabs: BrowserTabs) -> None:
        self._wire, self._context, self._dialogs, self._tabs = wire, context, dialogs, tabs

    async def collect(self) -> None:
        """Each dialog that was open when the connection was lost has its note, or is held for closed.

        Raises:
            BrowserLost, BrowserError, BrowserSlow: as ``Wire.call``.
        """
        for _ in range(_TRIES):
            answer = await self._wire.call("Storage.getCookies", "", self._context.scope)
            for cookie in objects_of(answer, "cookies"):
                if text_of(cookie, "name", most=100).startswith(ASKED):
                    self._take(cookie)
            if not any(one.is_adrift for one in self._dialogs.pending):
                return
            await asyncio.sleep(_AGAIN_S)  # the browser has not noticed yet that we were gone
        self._dialogs.forget_adrift()

    def send_answer(self, dialog: OpenDialog, text: str, *, accept: bool) -> None:
        """The page finds it."""
        tab = self._tabs.of(dialog.session)
        is_secure = tab is not None and tab.url.startswith("https:")
        cookie: dict[str, Any] = {
            "name": TOLD + dialog.note,
            "value": quote(json.dumps({"accept": accept, "text": text[:MOST_CHARS]}), safe=""),
            "url": f"{'https' if is_secure else 'http'}://{dialog.note_host}/",
            "path": "/",
            **({"secure": True, "sameSite": "None"} if is_secure else {}),
        }
        self._wire.tell("Storage.setCookies", "", {"cookies": [cookie], **self._context.scope})

    def _take(self, cookie: Fields) -> None:
        note, host = text_of(cookie, "name", most=100)[len(ASKED) :], text_of(cookie, "domain", most=255).lower()
        if not _ID.fullmatch(note) or any(one.note == note for one in self._dialogs.pending):
            return
        try:
            asked = json.loads(unquote(text_of(cookie, "value")))
        except (ValueError, RecursionError):
            return
        if not isinstance(asked, list) or len(asked) != 3 or not all(isinstance(one, str) for one in asked):
            return
        kind, message, default = (one[:MOST_CHARS] for one in asked)
        tab = self._tab_of(host)
        if tab is None or kind not in _KINDS:
            return
        self._dialogs.take_note(
            session=tab.session, note=note, host=host, kind=kind, message=message, default=default, url=tab.url
        )

    def _tab_of(self, host: str) -> BrowserTab | None:
        """Where a dialog of this host's page was open, or may be."""
        adrift = {one.session for one in self._dialogs.pending if one.is_adrift}
        of_host = [tab for tab in self._tabs.all if host_of(tab.url) == host]
        there = [tab for tab in (*of_host, *self._tabs.all) if tab.session in adrift]
        return next(iter([*there, *of_host]), None)
