"""A turn as it is told on the terminal: news of it come in any order and some never, and each thing is told once. What
stands for good is handed out as pieces; what still grows is asked for. Knows neither network nor screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.cli.follow import ENDED
from orchestrator.cli.talk import pieces
from orchestrator.cli.talk.blocks import GrowingText
from orchestrator.cli.talk.pieces import Piece
from orchestrator.core.text import terminal_safe

_MOST_LIVE = 8
"""Lines of what a running command prints."""


class Story:
    """One turn, from the message to its end."""

    def __init__(self, turn: int, *, prompt: str) -> None:
        self.turn = turn
        self.prompt = prompt
        self.status = "queued"
        self.tokens = 0
        self.cost_usd = 0.0
        self._words = GrowingText()
        self._thought: set[int] = set()
        self._begun: set[int] = set()
        self._ended: set[int] = set()
        """Of which steps the thought, the command and its end were told."""
        self._running: tuple[int, str] | None = None
        self._printed = ""
        self._asks = False

    @property
    def is_over(self) -> bool:
        """Nothing more will happen in it."""
        return self.status in ENDED

    @property
    def growing(self) -> str:
        """The Markdown that is being written."""
        return self._words.rest

    @property
    def live_output(self) -> list[str]:
        """The last lines of the command that runs."""
        return terminal_safe(self._printed).rstrip("\n").split("\n")[-_MOST_LIVE:] if self._printed.strip() else []

    @property
    def doing(self) -> str:
        """What goes on, in a few words."""
        if self.status == "queued":
            return "waits for its turn"
        if self._asks:
            return "waits for your answer"
        if self._running is not None:
            return f"runs {self._running[1]}"
        return "writes" if self.growing.strip() else "thinks"

    def grow(self, text: str) -> list[Piece]:
        """The words so far, of a thought or of the reply."""
        if self.is_over:
            return []
        piece = self._words.grow(terminal_safe(text))
        return [pieces.agent_words(piece)] if piece.strip() else []

    def print_output(self, n: int, output: str) -> None:
        """What the n-th command has printed so far."""
        if self._running is not None and self._running[0] == n:
            self._printed = output

    def tell(self, turn: Mapping[str, Any]) -> list[Piece]:
        """The turn as the API has it now; the pieces that are new."""
        if self.is_over:
            return []
        self.status = turn["status"]
        self.tokens, self.cost_usd = turn["tokens"], turn["cost_usd"]
        told: list[Piece] = []
        for step in turn["steps"]:
            told += self._tell_step(step)
        last = turn["steps"][-1] if turn["steps"] else None
        self._asks = last is not None and last["status"] == "asked"
        if self.is_over:
            told += self._tell_end(turn)
        return told

    def abandon(self) -> None:
        """It is there no longer: nothing more is told of it."""
        self.status = "stopped"

    def _tell_step(self, step: Mapping[str, Any]) -> list[Piece]:
        n, status = step["n"], step["status"]
        told: list[Piece] = []
        if n not in self._thought:  # above a question, whose own text has the command
            self._thought.add(n)
            rest = self._words.finish(terminal_safe(step["thought"]))
            told += [pieces.agent_words(rest)] if rest.strip() else []
        if status in ("running", "done") and n not in self._begun:
            self._begun.add(n)
            told.append(pieces.command_line(step["command"]))
            self._running, self._printed = (n, step["command"]), ""
        if status == "refused" and n not in self._ended:
            self._ended.add(n)
            told += [pieces.command_line(step["command"]), pieces.note(f"not run: {step['reason']}", "yellow")]
        if status == "done" and n not in self._ended:
            self._ended.add(n)
            told.append(pieces.command_outcome(step))
            if self._running is not None and self._running[0] == n:
                self._running, self._printed = None, ""
        return told

    def _tell_end(self, turn: Mapping[str, Any]) -> list[Piece]:
        rest = self._words.finish(terminal_safe(turn["reply"] or ""))
        self._words = GrowingText()
        self._running, self._printed = None, ""
        told = [pieces.agent_words(rest)] if rest.strip() else []
        if turn["status"] == "stopped":
            told.append(pieces.note(turn["error"] or "Stopped.", "yellow"))
        elif turn["status"] == "failed":
            told.append(pieces.trouble(turn["error"] or "The turn failed."))
        return told
