"""What goes wrong with a browser. Each message is a sentence for the agent: what waits, and what to do."""

from __future__ import annotations

from orchestrator.core.errors import Conflict, Unavailable


class BrowserError(Conflict):
    """The browser, a page or our own rules refused what was asked; the browser itself goes on."""

    code = "browser_refused"


class BrowserRefused(BrowserError):
    """The browser itself refused a command, often because what it was about is gone."""


class DialogWaits(BrowserError):
    """A page with a dialog open answers nothing until somebody answers the dialog."""

    code = "dialog_open"

    def __init__(self, dialog_id: str, kind: str, message: str) -> None:
        super().__init__(f"The page waits for an answer to its dialog {dialog_id} ({kind}): {message}")
        self.dialog_id = dialog_id


class BrowserLost(Unavailable):
    """There is no connection to the browser, or what came over it can't be a browser's."""

    code = "browser_lost"


class BrowserSlow(BrowserError):
    """The browser or a page did not answer in the time that was given; what was asked may still happen."""

    code = "browser_slow"
