"""A turn that is followed until it ends: its commands are shown as they run, approvals and questions are asked. What
shows and asks is a ``Display``; nothing here knows of a terminal.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from orchestrator.cli.client import ApiClient
from orchestrator.cli.event_stream import EventStream, is_of
from orchestrator.cli.questions import pick_choice
from orchestrator.core.errors import OrchestratorError, Unavailable

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.3
_RESTART_S = 30.0
_NEWS_PAUSE_S = 1.0
"""How often a chat that has news looks nevertheless: news may be lost."""
_HOST_PAUSE_S = 0.5
"""How often a chat looks whether the host was asked for something."""
_CATCH_UP_S = 0.5
"""Longer than news of one turn are ever behind; those of a busy install never end."""
ENDED = ("done", "failed", "stopped")
"""How a turn that is over stands."""


class Display(Protocol):
    """Where a turn is shown, and where the person is asked."""

    def write_text(self, text: str) -> None:
        """The words so far, of a thought or of the reply."""

    def show_output(self, n: int, text: str) -> None:
        """What the n-th command has printed so far."""

    def show_command(self, step: Mapping[str, Any]) -> None:
        """A command begins to run."""

    def ask_approval(self, approval: Mapping[str, Any]) -> Literal["approve", "deny"] | None:
        """Ask for an approval; None when it is decided elsewhere, or later."""

    def ask_question(self, question: Mapping[str, Any]) -> str | None:
        """Ask a question; None when it is answered elsewhere, or later."""

    def show_note(self, text: str) -> None:
        """A sentence beside the conversation."""


class Follower:
    """Watches a turn: shows its commands as they run, and asks about those that wait. With news it looks when there
    are some, and shows the words as they are written; without, it looks again and again."""

    def __init__(self, client: ApiClient, turn: int, news: EventStream | None, display: Display) -> None:
        self._client = client
        self._turn = turn
        self._news = news
        self._display = display
        self._shown: set[int] = set()
        self._asked: set[str] = set()
        self._host_at = 0.0

    def until_the_end(self) -> dict[str, Any]:
        """The turn as it ended; raises Unavailable when the install is gone for long."""
        pause_s = _FIRST_PAUSE_S
        while True:
            now = self._fetch_turn()
            for step in now["steps"]:
                self._show_step(step)
            if now["steps"] and now["steps"][-1]["status"] == "running":
                self._ask_questions()
            is_over = now["status"] in ENDED
            self._ask_for_the_host(is_over=is_over)
            if is_over:
                return now
            self._wait_next(pause_s)
            pause_s = min(pause_s * 1.3, _LONGEST_PAUSE_S)

    def _wait_next(self, pause_s: float) -> None:
        """Until it is time to look at the turn again."""
        if self._news is None or not self._news.is_live:
            time.sleep(pause_s)
            return
        until = time.monotonic() + _NEWS_PAUSE_S
        while self._news.is_live and (left := until - time.monotonic()) > 0:
            event = self._news.next_event(left)
            if event is not None and is_of(event[1], self._turn) and self._is_to_look(*event):
                return

    def _catch_up(self) -> None:
        """What commands before printed stands above what is asked about now."""
        until = time.monotonic() + _CATCH_UP_S
        while (
            self._news is not None and (event := self._news.next_event(0.05)) is not None and time.monotonic() < until
        ):
            if is_of(event[1], self._turn):
                self._is_to_look(*event)

    def _is_to_look(self, kind: str, body: dict[str, Any]) -> bool:
        """What is only coming is shown as it is; anything else has the turn looked at."""
        if kind == "delta":
            self._display.write_text(str(body.get("text", "")))
        elif kind == "output":
            self._display.show_output(int(body.get("n", 0)), str(body.get("output", "")))
        else:
            return True
        return False

    def _fetch_turn(self) -> dict[str, Any]:
        """The turn as it stands; a restart of the orchestrator in between is waited out."""
        deadline = time.monotonic() + _RESTART_S
        while True:
            try:
                body: dict[str, Any] = self._client.get(f"/turns/{self._turn}")
            except Unavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LONGEST_PAUSE_S)
            else:
                return body

    def _show_step(self, step: dict[str, Any]) -> None:
        approval = step["approval"]
        if step["status"] == "asked" and approval and approval not in self._asked:
            self._asked.add(approval)
            self._catch_up()
            self._ask_approval(approval)
        if step["status"] in ("running", "done") and step["n"] not in self._shown:
            self._shown.add(step["n"])
            self._display.show_command(step)

    def _ask_approval(self, approval: str) -> None:
        question = next((a for a in self._find_pending() if a["id"] == approval), None)
        if question is not None:  # else somebody has answered it elsewhere
            self._decide(question)

    def _ask_for_the_host(self, *, is_over: bool) -> None:
        """The agent may have asked for something that the host does, which waits beyond the turn."""
        if not is_over and time.monotonic() < self._host_at:
            return
        self._host_at = time.monotonic() + _HOST_PAUSE_S
        for question in self._find_pending():
            if question["turn"] == self._turn and question["step"] is None and question["id"] not in self._asked:
                self._asked.add(question["id"])
                self._decide(question)

    def _find_pending(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._client.get("/approvals", status="pending")["approvals"]
        return found

    def _decide(self, question: dict[str, Any]) -> None:
        decision = self._display.ask_approval(question)
        if decision is None:
            return
        try:
            self._client.post(f"/approvals/{question['id']}", {"decision": decision})
        except Unavailable:
            raise
        except OrchestratorError as error:  # somebody was quicker elsewhere, or it has expired
            self._display.show_note(error.message)

    def _ask_questions(self) -> None:
        """A command that runs may have asked the person something."""
        for question in self._client.get("/questions", status="pending")["questions"]:
            if question["turn"] == self._turn and question["id"] not in self._asked:
                self._asked.add(question["id"])
                self._ask_question(question)

    def _ask_question(self, question: dict[str, Any]) -> None:
        while (said := self._display.ask_question(question)) is not None:
            try:
                self._client.post(f"/questions/{question['id']}", {"answer": pick_choice(question, said.strip())})
            except OrchestratorError as error:
                self._display.show_note(error.message)
                if self._is_open(question):
                    continue
            return

    def _is_open(self, question: dict[str, Any]) -> bool:
        pending = self._client.get("/questions", status="pending")["questions"]
        return any(other["id"] == question["id"] for other in pending)
