"""The errors that somebody catches. Each carries one sentence for a person; the full story goes to the log."""

from __future__ import annotations


class OrchestratorError(Exception):
    """A failure with a stable code and a sentence that may be shown to a person.

    The message says what happened and what to do; it never holds a secret, a stack trace or a host path that the
    reader has no use for.
    """

    code = "error"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BadInput(OrchestratorError):
    """A value from outside is unusable; the message names the field and how to fix it; nothing has changed."""

    code = "bad_input"


class ConfigError(BadInput):
    """A setting is missing or unusable; the message names it."""

    code = "bad_setting"


class NotFound(OrchestratorError):
    """The thing that was named does not exist, or is not the asker's to see."""

    code = "not_found"


class Conflict(OrchestratorError):
    """The request comes too late or clashes with what is there; nothing has changed."""

    code = "conflict"


class Changing(Conflict):
    """What was to be read is being written; nothing was taken, and trying again a little later may work."""

    code = "changing"


class Outdated(OrchestratorError):
    """What somebody wants to change is not what they saw: it was changed meanwhile."""

    code = "outdated"


class Forbidden(OrchestratorError):
    """The person is known but may not do this."""

    code = "forbidden"


class Unauthorized(OrchestratorError):
    """Nobody known is asking."""

    code = "unauthorized"


class TooMany(OrchestratorError):
    """A cap was reached; trying again later may work."""

    code = "too_many"


class TooLarge(OrchestratorError):
    """The input is over a stated size."""

    code = "too_large"


class OverBudget(OrchestratorError):
    """The agent's daily budget does not cover the call; nothing was sent upstream."""

    code = "over_budget"


class Unavailable(OrchestratorError):
    """A part that we depend on (engine, upstream, disk) does not answer; the message ends with the remedy."""

    code = "unavailable"


class WallMissing(Unavailable):
    """A cubicle could do what none may; it was taken away again. Trying again would end the same way."""

    code = "wall_missing"


class UnsafePath(OrchestratorError):
    """A path inside a workspace is a link, a device or otherwise not what it must be."""

    code = "unsafe_path"


class Stopped(OrchestratorError):
    """The person stopped the turn while this was under way."""

    code = "stopped"


class UpstreamFailed(Unavailable):
    """A model provider did not give a whole answer. The message is ours; nothing the provider wrote is in it."""

    code = "upstream_failed"

    def __init__(
        self, message: str, *, may_retry: bool, retry_after_s: float | None = None, may_have_cost: bool = False
    ) -> None:
        """``may_have_cost``: the provider may have worked, and charge, although no whole answer came."""
        super().__init__(message)
        self.may_retry = may_retry
        self.retry_after_s = retry_after_s
        self.may_have_cost = may_have_cost
