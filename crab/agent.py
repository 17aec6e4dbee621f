"""The loop: ask the model, do what it wants, tell it what came of it, until it wants nothing more.

Takes turns from the door and ends each of them exactly once. What may run the host says, step by step (``crab.work``);
how a turn ends is an exception, :class:`crab.work.TurnEnded`, and so is what the model must hear instead of a result,
:class:`crab.work.Correction`.
"""

from __future__ import annotations

import os
import time

from crab import tunnel_listener
from crab.answer import read_answer
from crab.door import Door, DoorRefused
from crab.locks import CubicleLocks, wait_for_approval
from crab.log import Log
from crab.messages import CrabConversation
from crab.prompt import build_system_prompt, time_line
from crab.shell import Shell
from crab.turn import CrabTurn
from crab.work import Correction, TurnEnded, TurnWork, extract_command, extract_panel_actions, is_dangerous

__all__ = [
    "Crab",
    "build_system_prompt",
    "call_llm",
    "extract_command",
    "extract_panel_actions",
    "is_dangerous",
    "main",
    "run_turn",
    "wait_for_approval",
]

POLL_S = 600
"""Both ends notice at once when the other goes, so asking again is only a habit, and each time costs the host some."""
LLM_TIMEOUT_S = 1800.0
"""Longer than any answer takes: the host ends a slow model call itself and says so."""


def main(run: str = "/run/hermit", workspace: str = "/app/workspace") -> None:
    """Serves turns for ever, from inside ``work/``."""
    home = f"{workspace}/work"
    os.chdir(home)
    tunnel_listener.start_listener(f"{run}/door.sock")
    crab = Crab(Door(f"{run}/door.sock"), CubicleLocks(run), Shell(home=home), Log(f"{home}/.hermit.log"))
    crab.say_idle()
    while True:
        given = crab.next_turn()
        if given is not None:
            crab.serve_turn(CrabTurn(given))


class Crab:
    """What lives as long as the process."""

    __slots__ = ("boot", "door", "locks", "log", "shell")

    def __init__(self, door: Door, locks: CubicleLocks, shell: Shell, log: Log) -> None:
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

    def serve_turn(self, turn: CrabTurn) -> None:
        """Runs one turn and reports its end; whatever happens in it, the crab lives on."""
        step = str(turn.id)
        self.log.write("turn", turn.text, step=step)
        try:
            body = run_turn(self, turn)
        except DoorRefused as refused:
            body = TurnEnded("failed", error=refused.message).body
        except Exception as error:  # noqa: BLE001 - the top of a turn: the person hears of it, the next turn runs
            self.log.write("error", repr(error), step=step)
            body = TurnEnded("failed", error=f"Something went wrong inside the cubicle ({type(error).__name__}).").body
        self.log.write(
            "reply" if body["status"] == "done" else str(body["status"]),
            str(body["message"] or body["error"]),
            step=step,
        )
        try:
            self.door.post(f"turns/{turn.id}/finish", body)
        except DoorRefused as refused:
            self.log.write("error", str(refused), step=step)  # the host ended the turn by itself


def run_turn(crab: Crab, turn: CrabTurn) -> dict[str, object]:
    """The whole turn; what it answers is how the turn ended, as the door wants it."""
    head = [time_line(turn.now, turn.time_zone), *(f"[{note}]" for note in turn.notes)]
    text = "\n".join([*filter(None, head), turn.text])
    talk = CrabConversation(build_system_prompt(turn.agent), turn.history, text)
    work = TurnWork(turn, door=crab.door, locks=crab.locks, shell=crab.shell, log=crab.log)
    try:
        while True:
            work.check_stopped()
            answer = read_answer(call_llm(crab.door, turn.id, talk.messages))
            talk.add_answer(answer.text)
            try:
                talk.tell_output(work.carry_out(answer))
            except Correction as told:
                talk.add_message(str(told))
    except TurnEnded as ended:
        return ended.body


def call_llm(door: Door, turn: int, messages: list[dict[str, object]]) -> str:
    """The model's answer to ``messages``. Raises :class:`Ended` when the host says that there will be none."""
    try:
        answer = door.post("llm", {"turn": turn, "messages": messages}, timeout_s=LLM_TIMEOUT_S)
    except DoorRefused as refused:
        status = "stopped" if refused.code == "stopped" else "failed"
        raise TurnEnded(status, error=refused.message) from None
    output = answer.get("output")
    return output if isinstance(output, str) else ""
