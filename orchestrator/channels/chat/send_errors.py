"""What it means when a chat app does not do what it was asked, as errors that somebody catches. No text here ever holds
a token.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Why = Literal["blocked", "kicked", "deactivated", "cannot_write_first", "cannot_write"]
_APP = "the chat app"


class SendError(Exception):
    """The app did not do what it was asked."""

    kind: ClassVar[str] = "error"
    """The word for it in metrics."""


class TokenRevoked(SendError):
    """The token is not (or no longer) a bot's. Nothing will work until there is another."""

    kind = "revoked"

    def __init__(self, *, app: str = _APP) -> None:
        super().__init__(f"{app} no longer accepts the bot's token")


class ChatForbidden(SendError):
    """The bot may not write there."""

    kind = "forbidden"

    def __init__(self, why: Why) -> None:
        super().__init__(f"the bot may not write there: {why}")
        self.why = why


class NoSuchChat(SendError):
    """There is no such chat for this bot; nobody has opened it."""

    kind = "nosuchchat"

    def __init__(self) -> None:
        super().__init__("there is no such chat for this bot")


class ChatMoved(SendError):
    """The group has another number now."""

    kind = "moved"

    def __init__(self, chat: int) -> None:
        super().__init__(f"the group has another number: {chat}")
        self.chat = chat


class NoSuchMessage(SendError):
    """The message is gone, or is not one that the bot can change like that."""

    kind = "nosuchmessage"

    def __init__(self) -> None:
        super().__init__("there is no such message of the bot")


class NotModified(SendError):
    """The message says exactly that already."""

    kind = "notmodified"

    def __init__(self) -> None:
        super().__init__("the message says that already")


class FloodWait(SendError):
    """The bot spoke too often; before the time is over, nothing is sent."""

    kind = "flood"

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"the bot spoke too often, it has to wait {retry_after_s:.0f} s")
        self.retry_after_s = retry_after_s


class Unreachable(SendError):
    """No answer that is the app's. ``may_have_arrived``: what was sent may be there all the same."""

    kind = "unreachable"

    def __init__(self, what: str, *, may_have_arrived: bool, app: str = _APP) -> None:
        super().__init__(f"{app} can't be reached ({what})")
        self.may_have_arrived = may_have_arrived


class FileTooBig(SendError):
    """The file is larger than bots may send or fetch."""

    kind = "toobig"

    def __init__(self, *, app: str = _APP) -> None:
        super().__init__(f"the file is larger than {app} takes from bots")


class SendRefused(SendError):
    """The app does not take it, and will not take it the next time either."""

    kind = "refused"

    def __init__(self, description: str, *, app: str = _APP) -> None:
        super().__init__(f"{app} refused: {description}")
        self.description = description
