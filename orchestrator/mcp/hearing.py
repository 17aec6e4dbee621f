"""What a server says while it is asked something: progress, news of its lists, questions of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.core.errors import BadInput
from orchestrator.mcp.faults import McpBroken
from orchestrator.mcp.messages import BAD_PARAMETERS, NOT_OFFERED, error_reply, result_reply
from orchestrator.mcp.models import McpAnswer, McpLimits, McpQuestion
from orchestrator.mcp.questions import read_question, write_answer
from orchestrator.mcp.transport import JsonObject, McpClock

OnProgress = Callable[[float, float | None, str], None]
"""How far it is, of how much where that is known, and what the server says."""
OnQuestion = Callable[[McpQuestion], McpAnswer]
_PROGRESS_CHARS = 500


class McpEar:
    """Listens for one call: counts what comes, and answers what may be answered."""

    def __init__(
        self,
        limits: McpLimits,
        clock: McpClock,
        on_progress: OnProgress | None = None,
        on_question: OnQuestion | None = None,
        on_changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._limits, self.clock = limits, clock
        self._on_progress, self._on_question, self._on_changed = on_progress, on_question, on_changed
        self._heard = 0
        self._questions = 0
        self.token: int | None = None
        """What the progress of the request under way is named by."""

    @property
    def wants_progress(self) -> bool:
        """Somebody is told how far it is."""
        return self._on_progress is not None

    def hear(self, message: JsonObject) -> JsonObject | None:
        """A message that is no answer to us; the answer to it. Raises McpBroken over the bounds."""
        self._heard += 1
        if self._heard > self._limits.max_notifications:
            raise McpBroken(f"The server sent more than {self._limits.max_notifications:,} messages during one call.")
        method = message.get("method")
        if not isinstance(method, str):
            return None  # an answer to a request that nobody waits for any more
        params = message.get("params")
        if "id" in message:
            return self._answer(message["id"], method, params)
        if method == "notifications/progress" and isinstance(params, dict):
            self._tell_progress(params)
        elif method.startswith("notifications/") and method.endswith("/list_changed"):
            self._on_changed()
        return None

    def answer_inputs(self, requests: object) -> dict[str, Any]:
        """The answers to the questions that came instead of a result, by their names. Raises McpBroken for what is not
        offered: a model's words, folders."""
        self._count_question()
        if not isinstance(requests, dict) or len(requests) > self._limits.max_questions:
            raise McpBroken(
                f"The server asked {self._limits.max_questions} questions or more at once, or none rightly."
            )
        answers = {}
        for name, request in requests.items():
            if not isinstance(request, dict) or request.get("method") != "elicitation/create":
                raise McpBroken("The server asked for something that is not offered here, so the call was given up.")
            answers[name] = self._ask(request.get("params"))
        return answers

    def _answer(self, request_id: object, method: str, params: object) -> JsonObject:
        if not isinstance(request_id, (int, str)) or isinstance(request_id, bool):
            raise McpBroken("The server sent a request whose id is neither a number nor a text.")
        if method == "ping":
            return result_reply(request_id, {})
        if method != "elicitation/create" or self._on_question is None:
            return error_reply(request_id, NOT_OFFERED, "This client does not offer it.")
        if isinstance(params, dict) and params.get("mode", "form") != "form":
            return error_reply(request_id, BAD_PARAMETERS, "This client offers forms alone.")
        self._count_question()
        return result_reply(request_id, self._ask(params))

    def _ask(self, params: object) -> dict[str, Any]:
        """Ask the person; what no person is asked is declined."""
        if self._on_question is None:
            return {"action": "cancel"}
        try:
            question = read_question(params)
        except BadInput:
            return {"action": "decline"}
        with self.clock.paused():
            answer = self._on_question(question)
        return write_answer(question, answer)

    def _count_question(self) -> None:
        self._questions += 1
        if self._questions > self._limits.max_questions:
            raise McpBroken(f"The server asked more than {self._limits.max_questions} times during one call.")

    def _tell_progress(self, params: Mapping[str, Any]) -> None:
        token = params.get("progressToken")
        if self._on_progress is None or type(token) is not int or token != self.token:
            return
        progress, total, words = _number(params.get("progress")), _number(params.get("total")), params.get("message")
        if progress is not None:
            self._on_progress(progress, total, words[:_PROGRESS_CHARS] if isinstance(words, str) else "")


def _number(value: object) -> float | None:
    try:
        found = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
