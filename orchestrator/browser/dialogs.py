"""Dialogs of pages: alert, confirm, prompt and "leave this page?". Each is closed once, and it is kept who closed
it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from orchestrator.browser.fields import Fields, is_set, text_of

MAX_RECENT = 20
MAX_PENDING = 50
ANSWER_S = 300.0
_MAX_ANSWER = 2000


class DialogPolicy(StrEnum):
    """What happens to a dialog."""

    MUST_RESPOND = "must_respond"
    """The agent answers; after a while the watchdog dismisses it."""
    AUTO_DISMISS = "auto_dismiss"
    AUTO_ACCEPT = "auto_accept"


class DialogCloser(StrEnum):
    """Who closed a dialog."""

    AGENT = "agent"
    PERSON = "person"
    AUTO_POLICY = "auto_policy"
    WATCHDOG = "watchdog"
    REMOTE = "remote"
    """The page, or whoever closed it."""


@dataclass(frozen=True)
class DialogView:
    """A dialog as the agent is told of it."""

    id: str
    kind: str
    """``alert``, ``confirm``, ``prompt`` or ``beforeunload``."""
    message: str
    default: str
    url: str
    closed_by: DialogCloser | None
    accepted: bool | None


@dataclass
class OpenDialog:
    """A dialog and what is needed to answer it."""

    view: DialogView
    session: str
    opened: float
    bridge_request: str = ""
    """The paused request of the page's own stand-in for a dialog; empty for one of the browser's."""
    note: str = ""
    """The name of the page's note that asks, where the connection was lost meanwhile."""
    note_host: str = ""
    is_adrift: bool = False
    """The connection was lost, and the page's note was not found yet."""
    timer: asyncio.TimerHandle | None = None
    answer: DialogCloser | None = None
    """Who has answered it; the browser may not have closed it yet."""

    @property
    def is_native(self) -> bool:
        """It is the browser's own, and no stand-in of the page's."""
        return not (self.bridge_request or self.note or self.is_adrift)


class DialogAnswerer(Protocol):
    """Sends the answer to the browser; must not wait."""

    def __call__(self, dialog: OpenDialog, text: str, *, accept: bool) -> None:
        """``text`` is what is typed into a prompt."""


class Dialogs:
    """Those that are open, and the last that were."""

    def __init__(self, send_answer: DialogAnswerer, *, policy: DialogPolicy, answer_s: float = ANSWER_S) -> None:
        self.policy = policy
        self.answer_s = answer_s
        self.recent: deque[DialogView] = deque(maxlen=MAX_RECENT)
        """Closed ones, the oldest first."""
        self.closed_count = 0
        """Ever."""
        self.news = asyncio.Event()
        """Set, and made new, when one opens or closes."""
        self._send_answer = send_answer
        self._pending: dict[str, OpenDialog] = {}
        self._numbers = itertools.count(1)

    @property
    def pending(self) -> list[OpenDialog]:
        """Open ones, the oldest first."""
        return list(self._pending.values())

    def take_opening(self, fields: Fields, session: str) -> None:
        """The browser tells of one; a relay may tell of the same again."""
        if any(one.session == session and one.is_native for one in self.pending):
            return
        self._open(
            session,
            kind=text_of(fields, "type", most=20),
            message=text_of(fields, "message", most=2000),
            default=text_of(fields, "defaultPrompt", most=_MAX_ANSWER),
            url=text_of(fields, "url", most=2000),
        )

    def take_bridged(self, *, session: str, request: str, kind: str, message: str, default: str, url: str) -> None:
        """A page's stand-in for a dialog asks."""
        self._open(session, kind=kind, message=message[:2000], default=default, url=url, bridge_request=request)

    def move_session(self, old: str, session: str) -> None:
        """A page is spoken with in another session, as the connection was lost: the browser closed its own dialogs
        then, and those of stand-ins are adrift."""
        for one in [one for one in self.pending if one.session == old]:
            if one.bridge_request or one.note:
                one.session, one.bridge_request, one.answer = session, "", None
                one.is_adrift = not one.note
            else:
                self._close(one, one.answer or DialogCloser.REMOTE, accepted=None)

    def take_note(self, *, session: str, note: str, host: str, kind: str, message: str, default: str, url: str) -> None:
        """A page's stand-in asks by a note: for a dialog that is adrift, or one that nobody here knows."""
        for one in self.pending:
            is_it = one.view.kind == kind and one.view.message.startswith(message)
            if one.is_adrift and one.session == session and is_it:
                one.note, one.note_host, one.is_adrift = note, host, False
                self._tell()
                return
        self._open(session, kind=kind, message=message, default=default, url=url, note=note, note_host=host)

    def forget_adrift(self) -> None:
        """The pages have left no note: they ask no more."""
        for one in [one for one in self.pending if one.is_adrift]:
            self._close(one, DialogCloser.REMOTE, accepted=None)

    def take_closed(self, fields: Fields, session: str) -> None:
        """The browser tells that the dialog of a session is closed."""
        one = next((one for one in self.pending if one.session == session and one.is_native), None)
        if one is not None:
            self._close(one, one.answer or DialogCloser.REMOTE, accepted=is_set(fields, "result"))

    def forget_session(self, session: str) -> None:
        """The page or frame is gone, and its dialogs with it."""
        for one in self.pending:
            if one.session == session:
                self._close(one, one.answer or DialogCloser.REMOTE, accepted=None)

    def answer(self, dialog: OpenDialog, by: DialogCloser, *, accept: bool, text: str = "") -> None:
        """Answer it, unless somebody has already."""
        if dialog.answer is not None or dialog.is_adrift or dialog.view.id not in self._pending:
            return
        dialog.answer = by
        self._send_answer(dialog, text[:_MAX_ANSWER], accept=accept)
        if dialog.bridge_request or dialog.note:
            self._close(dialog, by, accepted=accept)

    def may_be_asked_again(self, sessions: set[str]) -> None:
        """The connection was lost: an answer may have been lost with it, so that those still open can be answered."""
        for one in self.pending:
            if one.session in sessions and one.is_native:
                one.answer = None

    def view_of(self, dialog_id: str) -> DialogView | None:
        """An open or recent one."""
        if dialog_id in self._pending:
            return self._pending[dialog_id].view
        return next((one for one in self.recent if one.id == dialog_id), None)

    def _open(
        self,
        session: str,
        *,
        kind: str,
        message: str,
        default: str,
        url: str,
        bridge_request: str = "",
        note: str = "",
        note_host: str = "",
    ) -> None:
        if len(self._pending) >= MAX_PENDING:
            return
        view = DialogView(f"d{next(self._numbers)}", kind, message, default, url, closed_by=None, accepted=None)
        dialog = OpenDialog(view, session, time.monotonic(), bridge_request, note, note_host)
        self._pending[view.id] = dialog
        self._tell()
        if kind == "beforeunload":
            self.answer(dialog, DialogCloser.AUTO_POLICY, accept=True)
        elif self.policy == DialogPolicy.AUTO_DISMISS:
            self.answer(dialog, DialogCloser.AUTO_POLICY, accept=False)
        elif self.policy == DialogPolicy.AUTO_ACCEPT:
            self.answer(dialog, DialogCloser.AUTO_POLICY, accept=True, text=default)
        else:
            dialog.timer = asyncio.get_running_loop().call_later(self.answer_s, self._give_up, dialog)

    def _give_up(self, dialog: OpenDialog) -> None:
        self.answer(dialog, DialogCloser.WATCHDOG, accept=False)

    def _close(self, dialog: OpenDialog, by: DialogCloser, *, accepted: bool | None) -> None:
        if dialog.timer is not None:
            dialog.timer.cancel()
        self._pending.pop(dialog.view.id, None)
        self.closed_count += 1
        was = dialog.view
        self.recent.append(DialogView(was.id, was.kind, was.message, was.default, was.url, by, accepted))
        self._tell()

    def _tell(self) -> None:
        self.news.set()
        self.news = asyncio.Event()

    def close(self) -> None:
        """No watchdog runs any more."""
        for one in self.pending:
            if one.timer is not None:
                one.timer.cancel()
