"""What a turn does: panel actions and commands, each of them put before the host first.

Decides nothing about danger: the host rules on every command, a person approves what the host says must be asked, and
what is run is byte for byte what was ruled on. Counts what goes wrong in a row, so that no turn goes on for ever.
"""

from __future__ import annotations

import re
import time

from crab.answer import Answer
from crab.door import Door, DoorRefused
from crab.live import OutputPoster
from crab.locks import CubicleLocks, sha256_of, wait_for_approval
from crab.log import Log
from crab.output import shorten
from crab.shell import Result, Shell
from crab.turn import CrabTurn, as_number, as_object

MAX_IN_A_ROW = 3
MAX_ADVICE_CHARS = 3_000
"""Unreadable answers, or refused commands, after which a turn ends."""
REPLY_CHARS = 100_000
THOUGHT_CHARS = 4_000
ACTIONS_TIMEOUT_S = 600.0
ABOUT_THIS_STEP = frozenset({"bad_input", "too_large", "too_many"})
"""Codes of the door that speak of one step only: the model may do better with the next."""
LAST_STEP = (
    '{}: no more commands and no more panel actions. Sum up for the person in "message" what is done and what is not.'
)
AGAIN = (
    "This was the same command with the same result as before. "
    'Do not run it again: if you have what you need, leave "terminal" empty; else try another way.'
)

NOT_RUN = {
    "denied": "The person was asked and said no. Respect that: do not try it in another form.",
    "expired": "A person was asked and did not answer in time.",
    "cancelled": "The question to the person was withdrawn.",
    "mismatch": "The approval was for another text than this command.",
}
DENIED_WITH = 'The person was asked and said no, with these words: "{}". Do as they say.'


class TurnEnded(Exception):
    """The turn ends here."""

    def __init__(self, status: str, *, message: str = "", action: str = "", error: str = "") -> None:
        super().__init__(status)
        self.body: dict[str, object] = {"status": status, "message": message, "action": action, "error": error}


class Correction(Exception):
    """The model must hear this before it goes on."""


def extract_command(answer: Answer) -> str:
    """The exact command that the model wants run; empty when it is done."""
    return answer.terminal


def extract_panel_actions(answer: Answer) -> list[object]:
    """The panel actions as the model wrote them, texts or objects; the host reads their fields."""
    return answer.panel_actions


def is_dangerous(
    door: Door, *, turn: int, n: int, thought: str, command: str, approval: str | None = None
) -> tuple[str, str]:
    """The host's ruling on a command before it runs: ``run``, ``ask``, ``refuse`` or ``stop``, and why."""
    step = {"n": n, "phase": "start", "thought": thought, "command": command, "approval": approval}
    answer = door.post(f"turns/{turn}/steps", step)
    return str(answer.get("do")), str(answer.get("reason") or "")


class TurnWork:
    """The steps of one turn, and how often in a row the model went wrong."""

    __slots__ = (
        "_door", "_last", "_live", "_locks", "_log", "_n", "_refused", "_repeated", "_shell", "_turn", "_unreadable",
    )  # fmt: skip

    def __init__(self, turn: CrabTurn, *, door: Door, locks: CubicleLocks, shell: Shell, log: Log) -> None:
        self._turn = turn
        self._door = door
        self._live = OutputPoster(door.path)
        self._locks = locks
        self._shell = shell
        self._log = log
        self._n = 0
        self._refused = 0
        self._unreadable = 0
        self._repeated = 0
        self._last: tuple[str, int, str] | None = None

    @property
    def _is_over(self) -> bool:
        """No further step is allowed."""
        return self._n >= self._turn.step_limit or self._repeated >= MAX_IN_A_ROW - 1

    def check_stopped(self) -> None:
        """Raises :class:`Ended` when a person stopped the turn."""
        if self._locks.is_stopped(self._turn.id):
            raise TurnEnded("stopped")

    def carry_out(self, answer: Answer) -> str:
        """Does what an answer asks for and says what came of it. Raises :class:`Ended` when it asks for nothing."""
        self._check_readable(answer)
        if answer.thought:
            self._log_step("thought", answer.thought)
        command, actions = extract_command(answer), extract_panel_actions(answer)
        if self._is_over or not (command or actions):
            raise TurnEnded(
                "done", message=self._final_reply(answer, wanted_more=bool(command or actions)), action=answer.action
            )
        self.check_stopped()
        if answer.message:
            self._log_step("thought", answer.message)
        told = [self._do_actions(actions)] if actions else []
        if command and not self._is_over:
            told.append(self._do_command(command, shorten(answer.message or answer.thought, THOUGHT_CHARS)))
        elif command:
            told.append("The command was not run.")
        if self._is_over:
            told.append(LAST_STEP.format(self._why_over()))
        return "\n\n".join(told)

    def _check_readable(self, answer: Answer) -> None:
        if not answer.errors and not answer.is_empty:
            self._unreadable = 0
            return
        if answer.is_empty and self._turn.may_be_silent:
            raise TurnEnded("done")
        self._unreadable += 1
        if answer.is_empty:
            if self._unreadable >= 2:
                raise TurnEnded("failed", error="The model gave an empty answer.")
            raise Correction(
                'Your answer was empty. Answer with one JSON object as described, with words in "message".'
            )
        if self._unreadable >= MAX_IN_A_ROW:
            raise TurnEnded(
                "failed", error=f"The model did not answer in the agreed form {MAX_IN_A_ROW} times in a row."
            )
        raise Correction("Nothing of your answer was carried out. " + " ".join(answer.errors))

    def _final_reply(self, answer: Answer, *, wanted_more: bool) -> str:
        """The last words of the turn, with a note when the limit of steps had a say in them."""
        reply, limit = shorten(answer.message, REPLY_CHARS), self._turn.step_limit
        if not self._is_over:
            return reply
        if self._n < limit:
            return f"{reply}\n\n(I ran the same command again and again, so I stopped.)".strip()
        note = f"The limit of {limit} steps for one turn was reached"
        note += " before I was done. Tell me to go on and I will." if wanted_more else "."
        return f"{reply}\n\n({note})".strip()

    def _why_over(self) -> str:
        if self._n >= self._turn.step_limit:
            return f"That was the last of your {self._turn.step_limit} steps"
        return f"You ran the same command {MAX_IN_A_ROW} times with the same result"

    def _do_actions(self, actions: list[object]) -> str:
        self._n += 1
        self._log_step("actions", "\n".join(map(_in_words, actions)))
        body = {"n": self._n, "phase": "actions", "actions": actions}
        try:
            answer = self._door.post(f"turns/{self._turn.id}/steps", body, timeout_s=ACTIONS_TIMEOUT_S)
        except DoorRefused as refused:
            return self._not_done("Panel actions were not done.", _reason(refused))
        results = answer.get("results")
        given = results if isinstance(results, list) else []
        told = "Panel actions:\n" + "\n".join(_action_line(number, item) for number, item in enumerate(given, 1))
        self._log_step("results", "\n".join(map(_result_line, given)))
        if answer.get("do") == "stop":
            raise TurnEnded("stopped")
        return told

    def _do_command(self, command: str, thought: str) -> str:
        self._n += 1
        self._log_step("command", command)
        try:
            do, reason = is_dangerous(self._door, turn=self._turn.id, n=self._n, thought=thought, command=command)
            if do == "ask":
                do, reason = self._ask_person(command, thought)
        except DoorRefused as refused:
            do, reason = "refuse", _reason(refused)
        if do == "stop":
            raise TurnEnded("stopped")
        if do != "run":
            return self._not_done("The command was not run.", reason)
        self._refused = 0
        return self._run_command(command)

    def _ask_person(self, command: str, thought: str) -> tuple[str, str]:
        """Has a person asked and waits; afterwards the host's ruling again, now with the approval."""
        turn, sha256 = self._turn.id, sha256_of(command)
        asked = self._door.post("approvals", {"turn": turn, "n": self._n})
        approval = str(asked.get("approval"))
        self._log_step("waiting", f"for approval {approval}")
        word, note = "mismatch", ""
        if asked.get("sha256") == sha256:
            expires_at = as_number(asked.get("expires_at"), time.time())
            word, note = wait_for_approval(
                self._locks, approval=approval, turn=turn, n=self._n, sha256=sha256, expires_at=expires_at
            )
        self._log_step("approval", word)
        if word == "stopped":
            raise TurnEnded("stopped")
        if word != "approved":
            return "refuse", DENIED_WITH.format(note) if note else NOT_RUN[word]
        return is_dangerous(self._door, turn=turn, n=self._n, thought=thought, command=command, approval=approval)

    def _not_done(self, what: str, reason: str) -> str:
        self._log_step("refused", reason)
        self._refused += 1
        if self._refused >= MAX_IN_A_ROW:
            raise TurnEnded("failed", error=f"I was refused {MAX_IN_A_ROW} times in a row and stopped. {reason}")
        return f"{what} {reason}"

    def _run_command(self, command: str) -> str:
        turn, began = self._turn, time.time()
        result = self._shell.run_command(
            command,
            step=f"{turn.id}.{self._n}",
            timeout_s=turn.command_timeout_s,
            output_bytes=turn.output_bytes,
            time_zone=turn.time_zone,
            is_stopped=lambda: self._locks.is_stopped(turn.id),
            waited=lambda: self._waited_for_people(began),
            show=lambda text: self._live.show_output(turn.id, self._n, text),
        )
        self._live.drop_output()
        self._log_step("output", result.output)
        self._log_step("exit", f"{result.exit_code} {result.ended} after {result.duration_s} s")
        fields = ("exit_code", "output", "omitted_bytes", "duration_s", "ended")
        body = {"n": self._n, "phase": "end"} | {name: getattr(result, name) for name in fields}
        answer = self._door.post(f"turns/{turn.id}/steps", body)
        if result.ended == "stopped" or answer.get("do") == "stop":
            raise TurnEnded("stopped")
        told = [describe_result(result), AGAIN if self._is_again(command, result) else ""]
        told.append(str(answer.get("advice") or "")[:MAX_ADVICE_CHARS])
        return "\n\n".join(filter(None, told))

    def _waited_for_people(self, since: float) -> tuple[float, bool]:
        """How long the host has waited for people on behalf of commands since then, and whether it still does."""
        try:
            answer = self._door.get(f"turns/{self._turn.id}/waited?since={since:.3f}") or {}
        except DoorRefused:
            return 0.0, False
        return as_number(answer.get("waited_s"), 0.0), answer.get("is_waiting") is True

    def _is_again(self, command: str, result: Result) -> bool:
        """The last command was this one and ended the same way."""
        last, self._last = self._last, (command, result.exit_code, result.output)
        self._repeated = self._repeated + 1 if last == self._last else 0
        return self._repeated > 0

    def _log_step(self, kind: str, text: str) -> None:
        self._log.write(kind, text, step=f"{self._turn.id}.{self._n}")


def describe_result(result: Result) -> str:
    """What the model is told of a command that ran."""
    head = f"Exit code {result.exit_code} after {result.duration_s:.1f} s."
    if result.ended == "timeout":
        head += " It ran out of time and was ended with all that it had started."
    elif result.exit_code == 137:
        head += " It was killed, most likely because memory ran out."
    return f"{head} Output:\n{result.output}" if result.output.strip() else f"{head} No output."


def _reason(refused: DoorRefused) -> str:
    """What the model is told of a step that the door did not take. Any other refusal ends the turn: it is raised on."""
    if refused.code in ABOUT_THIS_STEP:
        return refused.message
    raise refused


def _in_words(action: object) -> str:
    """A panel action as a person reads it in the log: ``memory add: I like tea``."""
    if isinstance(action, dict):
        name, fields = str(action.get("name", "")), [str(value) for key, value in action.items() if key != "name"]
    else:
        name, _, rest = str(action).partition(":")
        fields = [re.sub(r"\\([|\\])", r"\1", field) for field in re.split(r"(?<!\\)\|", rest)]
    return f"{name.strip().lower().replace('_', ' ')}: {', '.join(field for field in fields if field.strip())}"


def _result_line(item: object) -> str:
    """What came of one, for the log."""
    result = as_object(item)
    return f"done: {result.get('result')}" if result.get("ok") else f"not done: {result.get('error')}"


def _action_line(number: int, item: object) -> str:
    result = as_object(item)
    return f"{number}. ok: {result.get('result')}" if result.get("ok") else f"{number}. error: {result.get('error')}"
