"""What a message of the chaos suite is about: its case, and what the scripted model answers to it. Pure.

A case has a name that no other has. The model is asked with that name in the prompt and answers by the place in the
conversation alone, so a call that is repeated after a death is answered as it was before. Every command writes a line
of its own into ``work/ran-NAME``: the number of its step. So what ran, and how often, can be read afterwards; where the
line can't be written, the command fails.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.support.scripted_upstream import Reply, answers

TALK, WORK, SLOW, FILE, DANGER, PLAN, FACT = "talk", "work", "slow", "file", "danger", "plan", "fact"
KINDS = (TALK, WORK, SLOW, FILE, DANGER, PLAN, FACT)
APPROVE, DENY, LEAVE = "approve", "deny", "leave"
PLANNED_AFTER_S = 3.0
"""A run of the calendar that a case plans comes due so soon."""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is asked, of one agent by one person, on one surface."""

    name: str
    kind: str
    agent: str
    person: str
    surface: str
    """``api`` or ``telegram``; ``calendar`` for what another case plans, or the API puts into the calendar."""
    decision: str = APPROVE
    """What becomes of the question, where it is one: approve, deny or leave."""
    plans: str = ""
    """The case that it puts into the calendar."""

    @property
    def prompt(self) -> str:
        """What is said."""
        return f"Please do {self.name} now."

    @property
    def reply(self) -> str:
        """What the agent says at the end, when everything went well."""
        return f"finished {self.name} well"

    @property
    def commands(self) -> tuple[str, ...]:
        """What the model has run, step by step."""
        log = f"ran-{self.name}"
        if self.kind == WORK:
            return tuple(f"echo {n} >> {log}" for n in (1, 2, 3))
        if self.kind == SLOW:
            return (f"echo 1 >> {log} && sleep 1.5", f"echo 2 >> {log}")
        if self.kind == DANGER:
            return (f"echo 1 >> {log}; rm -f nothing-{self.name}",)
        if self.kind == FILE:
            put = f"echo this is {self.name} > ../out/.{self.name} && mv ../out/.{self.name} ../out/{self.file}"
            return (f"echo 1 >> {log} && {put}",)
        return ()

    @property
    def file(self) -> str:
        """What it puts into ``out/``."""
        return f"{self.name}.txt"

    @property
    def title(self) -> str:
        """Of the calendar's entry that runs this case; it does not hold the case's name as a word."""
        return f"plan-for-{self.name}"

    def answer(self, step: int) -> Reply:
        """What the model says after so many answers."""
        if step < len(self.commands):
            return answers(terminal=self.commands[step])
        if step == 0 and self.kind == PLAN:
            start = datetime.fromtimestamp(time.time() + PLANNED_AFTER_S, UTC).isoformat(timespec="seconds")
            planned = f"plan-for-{self.plans}"
            action = f"CALENDAR_CREATE:{planned}|Please do {self.plans} now.|{start}|"
            return answers(self.reply, actions=[action])
        if step == 0 and self.kind == FACT:
            return answers(self.reply, actions=[f"MEMORY_ADD:fact-of-{self.name}"])
        return answers(self.reply)


class Cases:
    """All cases of a run, found by what a model is told."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.by_name = {case.name: case for case in cases}

    def about(self, messages: Sequence[dict[str, str]]) -> tuple[Case, int] | None:
        """The case that a conversation is at, and how many answers it had."""
        said = 0
        for message in reversed(messages):
            if message["role"] == "assistant":
                said += 1
            if message["role"] != "user":
                continue
            words = str(message["content"]).replace(".", " ").split()
            found = next((self.by_name[word] for word in words if word in self.by_name), None)
            if found is not None:
                return found, said
        return None
