"""``chat``: one turn, or a conversation line by line, in the terminal; approvals and questions are asked in place."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from orchestrator.commands.client import Client, agent_path
from orchestrator.commands.context import Context
from orchestrator.commands.delivered import show_delivered
from orchestrator.commands.inbox import exact_lines, wish
from orchestrator.commands.news import Growing, News, is_of
from orchestrator.commands.questions import chosen, question_lines
from orchestrator.commands.sending import send
from orchestrator.errors import OrchestratorError, Unavailable
from orchestrator.text import one_line, terminal_safe

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.3
_RESTART_S = 30.0
_NEWS_PAUSE_S = 1.0
"""How often a chat that has news looks nevertheless: news may be lost."""
_HOST_PAUSE_S = 0.5
"""How often a chat looks whether the host was asked for something."""
_ENDED = ("done", "failed", "stopped")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    chat = commands.add_parser("chat", help="say TEXT to an agent and print its reply; without TEXT, line by line")
    chat.add_argument("agent", metavar="AGENT")
    chat.add_argument("text", metavar="TEXT", nargs="?")
    chat.add_argument(
        "--file", metavar="PATH", type=Path, action="append", default=[], help="send a file along; may be repeated"
    )
    chat.set_defaults(run=run)


def run(context: Context, options: argparse.Namespace) -> int:
    """One turn or many; the exit code is 0 when the last one was done."""
    with context.client as client, client.news() if sys.stdout.isatty() else nullcontext() as news:
        if options.text is not None or options.file:
            files = [send(client, options.agent, file)["path"] for file in options.file]
            return _say(client, news, options.agent, options.text or "", files)
        client.get(agent_path(options.agent))  # an unknown agent is said before the first line is typed
        return _converse(client, news, options.agent)


def _converse(client: Client, news: News | None, agent: str) -> int:
    if sys.stdin.isatty():
        print(f"You are talking to {agent}. Ctrl-C stops a running turn, Ctrl-D leaves.", file=sys.stderr)
    code = 0
    while True:
        try:
            line = input("> " if sys.stdin.isatty() else "")
        except (EOFError, KeyboardInterrupt):
            return code
        if line.strip():
            code = _say(client, news, agent, line)


def _say(client: Client, news: News | None, agent: str, text: str, files: Sequence[str] = ()) -> int:
    body = {"text": text, "files": list(files), "wait": False}
    turn = client.post(agent_path(agent, "/messages"), body)["turn"]
    growing = Growing(sys.stdout, sys.stderr)
    try:
        ended = _Follower(client, turn, news, growing).until_the_end()
    except KeyboardInterrupt:
        growing.end_line()
        client.post(f"/turns/{turn}/stop")
        print("Stopped.", file=sys.stderr)
        return 130
    if ended["status"] == "done":
        growing.finish(ended["reply"] or "")
        show_delivered(client, agent, turn)
        return 0
    if ended["reply"]:
        growing.finish(ended["reply"])
    growing.end_line()
    print(f"hermit: {terminal_safe(ended['error'] or 'The turn was stopped.')}", file=sys.stderr)
    return 1


class _Follower:
    """Watches a turn: shows its commands as they run, and asks about those that wait. With news it looks when there
    are some, and shows the words as they are written; without, it looks again and again."""

    def __init__(self, client: Client, turn: int, news: News | None, growing: Growing) -> None:
        self._client = client
        self._turn = turn
        self._news = news
        self._growing = growing
        self._shown: set[int] = set()
        self._asked: set[str] = set()
        self._host_at = 0.0

    def until_the_end(self) -> dict[str, Any]:
        pause_s = _FIRST_PAUSE_S
        while True:
            now = self._look()
            for step in now["steps"]:
                self._show(step)
            if now["steps"] and now["steps"][-1]["status"] == "running":
                self._ask_questions()
            is_over = now["status"] in _ENDED
            self._ask_for_the_host(is_over=is_over)
            if is_over:
                return now
            self._pause(pause_s)
            pause_s = min(pause_s * 1.3, _LONGEST_PAUSE_S)

    def _pause(self, pause_s: float) -> None:
        """Until it is time to look at the turn again."""
        if self._news is None or not self._news.is_live:
            time.sleep(pause_s)
            return
        until = time.monotonic() + _NEWS_PAUSE_S
        while self._news.is_live and (left := until - time.monotonic()) > 0:
            event = self._news.next(left)
            if event is not None and is_of(event[1], self._turn) and self._is_to_look(*event):
                return

    def _is_to_look(self, kind: str, body: dict[str, Any]) -> bool:
        """What is only coming is shown as it is; anything else has the turn looked at."""
        if kind == "delta":
            self._growing.write(str(body.get("text", "")))
        elif kind == "output":
            self._growing.print(int(body.get("n", 0)), str(body.get("output", "")))
        else:
            return True
        return False

    def _look(self) -> dict[str, Any]:
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

    def _show(self, step: dict[str, Any]) -> None:
        approval = step["approval"]
        if step["status"] == "asked" and approval and approval not in self._asked:
            self._asked.add(approval)
            self._ask(approval)
        if step["status"] in ("running", "done") and step["n"] not in self._shown:
            self._shown.add(step["n"])
            self._growing.end_line()
            print(f"  $ {one_line(step['command'], 100)}", file=sys.stderr)

    def _ask(self, approval: str) -> None:
        question = next((a for a in self._pending() if a["id"] == approval), None)
        if question is not None:  # else somebody has answered it elsewhere
            self._decide(question)

    def _ask_for_the_host(self, *, is_over: bool) -> None:
        """The agent may have asked for something that the host does, which waits beyond the turn."""
        if not is_over and time.monotonic() < self._host_at:
            return
        self._host_at = time.monotonic() + _HOST_PAUSE_S
        for question in self._pending():
            if question["turn"] == self._turn and question["step"] is None and question["id"] not in self._asked:
                self._asked.add(question["id"])
                self._decide(question)

    def _pending(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._client.get("/approvals", status="pending")["approvals"]
        return found

    def _decide(self, question: dict[str, Any]) -> None:
        self._growing.end_line()
        lines = ["", f"{terminal_safe(question['reason'])} {wish(question)}:", "", *exact_lines(question)]
        print("\n".join(lines), file=sys.stderr)
        approval = question["id"]
        if not sys.stdin.isatty():
            print(f"\nWaiting: ./hermit approve {approval}  or  ./hermit deny {approval}", file=sys.stderr)
            return
        ask = "Run it? [y/N] " if question["step"] is not None else "Agree to it? [y/N] "
        print(f"\n{ask}", end="", file=sys.stderr, flush=True)
        decision = "approve" if sys.stdin.readline().strip().lower() in ("y", "yes") else "deny"
        self._client.post(f"/approvals/{approval}", {"decision": decision})

    def _ask_questions(self) -> None:
        """A command that runs may have asked the person something."""
        for question in self._client.get("/questions", status="pending")["questions"]:
            if question["turn"] == self._turn and question["id"] not in self._asked:
                self._asked.add(question["id"])
                self._ask_question(question)

    def _ask_question(self, question: dict[str, Any]) -> None:
        self._growing.end_line()
        print("\n".join(["", f"{question['agent']} asks:", *question_lines(question)]), file=sys.stderr)
        if not sys.stdin.isatty():
            print(f"\nWaiting: ./hermit answer {question['id']} TEXT", file=sys.stderr)
            return
        while True:
            print("\nYour answer: ", end="", file=sys.stderr, flush=True)
            said = sys.stdin.readline()
            if not said.strip():
                print(f"Later, then: ./hermit answer {question['id']} TEXT", file=sys.stderr)
                return
            try:
                self._client.post(f"/questions/{question['id']}", {"answer": chosen(question, said.strip())})
            except OrchestratorError as error:
                print(terminal_safe(error.message), file=sys.stderr)
                if self._is_open(question):
                    continue
            return

    def _is_open(self, question: dict[str, Any]) -> bool:
        pending = self._client.get("/questions", status="pending")["questions"]
        return any(other["id"] == question["id"] for other in pending)
