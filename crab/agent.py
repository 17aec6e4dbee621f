"""The loop: ask the model, run what it wants, tell it what came of it, until it has nothing more to run.

Reads turns from the door and ends each of them exactly once. Decides nothing: what may run the host says, step by step.
Everything that breaks the straight line is an exception: :class:`Told` carries what the model must hear, :class:`Ended`
how the turn ends.
"""

from __future__ import annotations

import os
import time

from crab.answer import Answer, read_answer
from crab.door import Door, DoorRefused
from crab.locks import Locks, sha256_of, wait_for_approval
from crab.log import Log
from crab.messages import Conversation
from crab.output import shortened
from crab.prompt import build_system_prompt, time_line
from crab.shell import Result, Shell

POLL_S = 25
LLM_TIMEOUT_S = 1800.0
"""Longer than any answer takes: the host ends a slow model call itself and says so."""
MAX_IN_A_ROW = 3
"""Unreadable answers, or refused commands, after which a turn ends."""
REPLY_CHARS = 100_000

NOT_RUN = {
    "denied": "The person was asked and said no. The command was not run. Respect that: do not try it in another form.",
    "expired": "Nobody approved the command in time. It was not run.",
    "cancelled": "The question to the person was withdrawn. The command was not run.",
    "mismatch": "The approval was for another text than this command. It was not run.",
}


class Ended(Exception):
    """The turn ends here."""

    def __init__(self, status: str, *, message: str = "", action: str = "", error: str = "") -> None:
        super().__init__(status)
        self.body: dict[str, object] = {"status": status, "message": message, "action": action, "error": error}


class Told(Exception):
    """The model must hear this before it goes on."""


class Turn:
    """One prompt of a person, as the host handed it over."""

    __slots__ = (
        "agent",
        "command_timeout_s",
        "history",
        "id",
        "now",
        "output_bytes",
        "step_limit",
        "text",
        "time_zone",
    )

    def __init__(self, given: dict[str, object]) -> None:
        limits = _object(given.get("limits"))
        history = given.get("history")
        self.id = int(str(given["id"]))
        self.text = str(given.get("text") or "")
        self.now = str(given.get("now") or "")
        self.time_zone = str(given.get("time_zone") or "UTC")
        self.history: list[dict[str, object]] = history if isinstance(history, list) else []
        self.agent = _object(given.get("agent"))
        self.step_limit = max(1, int(str(limits.get("steps", 30))))
        self.command_timeout_s = float(str(limits.get("command_timeout_s", 120)))
        self.output_bytes = int(str(limits.get("output_bytes", 16000)))


def main(run: str = "/run/hermit", workspace: str = "/app/workspace") -> None:
    """Serves turns for ever, from inside ``work/``."""
    home = f"{workspace}/work"
    os.chdir(home)
    crab = Crab(Door(f"{run}/door.sock"), Locks(run), Shell(home=home), Log(f"{home}/.hermit.log"))
    crab.say_idle()
    while True:
        given = crab.next_turn()
        if given is not None:
            crab.serve(Turn(given))


class Crab:
    """What lives as long as the process."""

    __slots__ = ("boot", "door", "locks", "log", "shell")

    def __init__(self, door: Door, locks: Locks, shell: Shell, log: Log) -> None:
        self.boot = os.urandom(8).hex()
        self.door = door
        self.locks = locks
        self.shell = shell
        self.log = log

    def say_idle(self) -> None:
        """The host knows that a crab is there. It sees everything later from the calls themselves."""
        try:
            self.door.post("status", {"status": "idle"})
        except DoorRefused:
            pass  # only a courtesy: asking for turns says the same

    def next_turn(self) -> dict[str, object] | None:
        """Waits at the door for a turn; None when there is none yet."""
        try:
            answer = self.door.get(f"turns/next?boot={self.boot}&wait={POLL_S}", timeout_s=POLL_S + 30)
        except DoorRefused as refused:
            self.log.write("error", str(refused), step="-")
            time.sleep(1)
            return None
        turn = (answer or {}).get("turn")
        return turn if isinstance(turn, dict) else None

    def serve(self, turn: Turn) -> None:
        """Runs one turn and reports its end; whatever happens in it, the crab lives on."""
        step = str(turn.id)
        self.log.write("turn", turn.text, step=step)
        try:
            body = run_turn(self, turn)
        except DoorRefused as refused:
            body = Ended("failed", error=refused.message).body
        except Exception as error:  # noqa: BLE001 - the top of a turn: the person hears of it, the next turn runs
            self.log.write("error", repr(error), step=step)
            body = Ended("failed", error=f"Something went wrong inside the cubicle ({type(error).__name__}).").body
        self.log.write(
            "reply" if body["status"] == "done" else str(body["status"]),
            str(body["message"] or body["error"]),
            step=step,
        )
        try:
            self.door.post(f"turns/{turn.id}/finish", body)
        except DoorRefused as refused:
            self.log.write("error", str(refused), step=step)  # the host ended the turn by itself


def run_turn(crab: Crab, turn: Turn) -> dict[str, object]:
    """The whole turn; what it answers is how the turn ended, as the door wants it."""
    text = f"{time_line(turn.now, turn.time_zone)}\n{turn.text}".lstrip("\n")
    talk = Conversation(build_system_prompt(turn.agent), turn.history, text)
    work = Work(crab, turn)
    try:
        while True:
            answer = read_answer(call_llm(crab.door, turn.id, talk.messages))
            talk.answered(answer.text)
            try:
                talk.tell_output(work.carry_out(answer))
            except Told as told:
                talk.tell(str(told))
    except Ended as ended:
        return ended.body


def call_llm(door: Door, turn: int, messages: list[dict[str, object]]) -> str:
    """The model's answer to ``messages``. Raises :class:`Ended` when the host says that there will be none."""
    try:
        answer = door.post("llm", {"turn": turn, "messages": messages}, timeout_s=LLM_TIMEOUT_S)
    except DoorRefused as refused:
        status = "stopped" if refused.code == "stopped" else "failed"
        raise Ended(status, error=refused.message) from None
    output = answer.get("output")
    return output if isinstance(output, str) else ""


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


class Work:
    """The steps of one turn, and how often in a row the model went wrong."""

    __slots__ = ("_crab", "_n", "_refused", "_turn", "_unreadable")

    def __init__(self, crab: Crab, turn: Turn) -> None:
        self._crab = crab
        self._turn = turn
        self._n = 0
        self._refused = 0
        self._unreadable = 0

    def carry_out(self, answer: Answer) -> str:
        """Does what an answer asks for and says what came of it. Raises :class:`Ended` when it asks for nothing."""
        self._check_readable(answer)
        if answer.thought:
            self._log("thought", answer.thought)
        command, actions = extract_command(answer), extract_panel_actions(answer)
        if not command and not actions:
            raise Ended("done", message=shortened(answer.message, REPLY_CHARS), action=answer.action)
        self._check_limit(answer)
        if answer.message:
            self._log("thought", answer.message)
        told = [self._do_actions(actions)] if actions else []
        if command:
            told.append(self._do_command(command, answer.message or answer.thought))
        if self._n >= self._turn.step_limit:
            told.append(
                f"That was the last of your {self._turn.step_limit} steps: no more commands and no more panel actions. "
                'Sum up for the person in "message" what is done and what is not.'
            )
        return "\n\n".join(told)

    def _check_readable(self, answer: Answer) -> None:
        if not answer.errors and not answer.is_empty:
            self._unreadable = 0
            return
        self._unreadable += 1
        if answer.is_empty:
            if self._unreadable >= 2:
                raise Ended("failed", error="The model gave an empty answer.")
            raise Told("Your answer was empty. Answer with one JSON object as described.")
        if self._unreadable >= MAX_IN_A_ROW:
            raise Ended(
                "failed", error=f"The model did not keep to the form of an answer {MAX_IN_A_ROW} times in a row."
            )
        raise Told("Nothing of your answer was carried out. " + " ".join(answer.errors))

    def _check_limit(self, answer: Answer) -> None:
        limit = self._turn.step_limit
        if self._n >= limit:
            note = f"(I stopped here: the limit of {limit} steps for one turn is reached. Tell me to go on and I will.)"
            raise Ended("done", message=f"{answer.message}\n\n{note}".strip(), action=answer.action)

    def _do_actions(self, actions: list[object]) -> str:
        self._n += 1
        self._log("actions", str(actions))
        body = {"n": self._n, "phase": "actions", "actions": actions}
        answer = self._crab.door.post(f"turns/{self._turn.id}/steps", body)
        results = answer.get("results")
        lines = [
            _action_line(number, item) for number, item in enumerate(results if isinstance(results, list) else [], 1)
        ]
        told = "Panel actions:\n" + "\n".join(lines)
        self._log("results", told)
        if answer.get("do") == "stop":
            raise Ended("stopped")
        return told

    def _do_command(self, command: str, thought: str) -> str:
        self._n += 1
        self._log("command", command)
        do, reason = is_dangerous(self._crab.door, turn=self._turn.id, n=self._n, thought=thought, command=command)
        if do == "ask":
            do, reason = self._ask(command, thought)
        if do == "stop":
            raise Ended("stopped")
        if do != "run":
            return self._not_run(reason)
        self._refused = 0
        return self._run(command)

    def _ask(self, command: str, thought: str) -> tuple[str, str]:
        """Has a person asked and waits; afterwards the host's ruling again, now with the approval."""
        turn, sha256 = self._turn.id, sha256_of(command)
        asked = self._crab.door.post("approvals", {"turn": turn, "n": self._n})
        approval = str(asked.get("approval"))
        self._log("waiting", f"for approval {approval}")
        word = "mismatch"
        if asked.get("sha256") == sha256:
            expires_at = float(str(asked.get("expires_at")))
            word = wait_for_approval(
                self._crab.locks, approval=approval, turn=turn, n=self._n, sha256=sha256, expires_at=expires_at
            )
        self._log("approval", word)
        if word == "stopped":
            raise Ended("stopped")
        if word != "approved":
            return "refuse", NOT_RUN[word]
        return is_dangerous(self._crab.door, turn=turn, n=self._n, thought=thought, command=command, approval=approval)

    def _not_run(self, reason: str) -> str:
        self._log("refused", reason)
        self._refused += 1
        if self._refused >= MAX_IN_A_ROW:
            raise Ended(
                "failed", error=f"I was refused {MAX_IN_A_ROW} commands in a row and stopped. The last time: {reason}"
            )
        return f"The command was not run. {reason}"

    def _run(self, command: str) -> str:
        turn, locks = self._turn, self._crab.locks
        self._crab.shell.output_bytes = turn.output_bytes
        result = self._crab.shell.run(
            command,
            step=f"{self._crab.boot}.{turn.id}.{self._n}",
            timeout_s=turn.command_timeout_s,
            time_zone=turn.time_zone,
            is_stopped=lambda: locks.is_stopped(turn.id),
        )
        self._log("output", result.output)
        self._log("exit", f"{result.exit_code} {result.ended} after {result.duration_s} s")
        fields = ("exit_code", "output", "omitted_bytes", "duration_s", "ended")
        body = {"n": self._n, "phase": "end"} | {name: getattr(result, name) for name in fields}
        answer = self._crab.door.post(f"turns/{turn.id}/steps", body)
        if result.ended == "stopped" or answer.get("do") == "stop":
            raise Ended("stopped")
        return describe(result)

    def _log(self, kind: str, text: str) -> None:
        self._crab.log.write(kind, text, step=f"{self._turn.id}.{self._n}")


def describe(result: Result) -> str:
    """What the model is told of a command that ran."""
    head = f"Exit code {result.exit_code} after {result.duration_s:.1f} s."
    if result.ended == "timeout":
        head += " It ran out of time and was ended with all that it had started."
    elif result.exit_code == 137:
        head += " It was killed, most likely because memory ran out."
    return f"{head} Output:\n{result.output}" if result.output.strip() else f"{head} No output."


def _action_line(number: int, item: object) -> str:
    result = _object(item)
    return f"{number}. ok: {result.get('result')}" if result.get("ok") else f"{number}. error: {result.get('error')}"


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
