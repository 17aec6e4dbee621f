"""Callbacks: from a pressed button to its deed, by a table from kind to handler.

The presser is looked up by numeric id and must be somebody we know; then the button must fit in every way. Whatever
does not gets one constant answer, which says nothing about why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.replies import build_replies
from orchestrator.core.errors import Conflict, NotFound, OrchestratorError
from orchestrator.core.models import Role, User

NO_LONGER = "This button no longer works."
TOO_EARLY = "That was too quick. Please tap again."
_TOAST_CHARS = 200
"""Apps show no more."""
_WAITS, _WAIT_S = 30, 0.1


@dataclass(frozen=True, slots=True)
class PressResult:
    """What came of a press."""

    toast: str
    """A few words over the chat."""
    body: MessageBody | None = None
    """What the message says from now on, with other buttons or none; None leaves it as it is, buttons too."""
    also: MessageBody | None = None
    """Another message for the same chat."""


ButtonHandler = Callable[[TakenButton, ButtonPress, User], PressResult]
"""Does the deed of one kind of button, and retires those beside it. Raises OrchestratorError: after Conflict and
NotFound the button stays used up, after anything else it may be pressed again."""


class Callbacks:
    """Everything that can be pressed."""

    def __init__(
        self,
        *,
        buttons: Buttons,
        outbox: Outbox,
        users: Callable[[str, int], User | None],
        handlers: Mapping[str, ButtonHandler],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """``users`` knows whoever may press anything of an agent's, by their number."""
        self._buttons = buttons
        self._outbox = outbox
        self._users = users
        self._handlers = dict(handlers)
        self._pause = pause

    def on_press(self, press: ButtonPress) -> str:
        """Do what the button stands for; what to answer the press with. Called from a thread that may wait."""
        user = self._users(press.agent, press.sender.id)
        if user is None:
            return NO_LONGER
        taken = self._take_press(press, user)
        if isinstance(taken, str):
            return taken
        handler = self._handlers.get(taken.kind)
        if handler is None:
            return NO_LONGER
        return self._run_handler(handler, taken, press, user)[:_TOAST_CHARS]

    def _take_press(self, press: ButtonPress, user: User) -> TakenButton | str:
        """The button, or what to say. A press may be faster than the app's answer to the message it is under."""
        is_operator = user.role is Role.OPERATOR
        for _ in range(_WAITS):
            # Asked before the button is tried, since the app's answer may come between the two.
            is_early = self._buttons.is_early(press, is_operator=is_operator)
            taken = self._buttons.take_press(press, is_operator=is_operator)
            if taken is not None:
                return taken
            if not is_early:
                return NO_LONGER
            self._pause(_WAIT_S)
        return TOO_EARLY

    def _run_handler(self, handler: ButtonHandler, taken: TakenButton, press: ButtonPress, user: User) -> str:
        try:
            outcome = handler(taken, press, user)
        except (Conflict, NotFound) as error:
            return error.message
        except OrchestratorError as error:
            self._buttons.give_back(taken)
            return error.message
        except Exception:  # whatever it is, whoever called tells it; the button must not be used up by it
            self._buttons.give_back(taken)
            raise
        if outcome.body is not None:
            self._outbox.amend_message(taken.ref, outcome.body)
        if outcome.also is not None:
            for message in build_replies(press, [replace(outcome.also, thread=press.place.thread)]):
                self._outbox.post_message(message)
        return outcome.toast
