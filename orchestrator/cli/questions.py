"""``questions`` and ``answer``: what agents want to know from you."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.text import one_line, terminal_safe


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the two commands."""
    questions = commands.add_parser("questions", help="what agents want to know from you")
    questions.add_argument("--all", action="store_true", help="include answered ones")
    questions.add_argument("--json", action="store_true", help="print JSON")
    questions.set_defaults(run=_list)
    answer = commands.add_parser("answer", help="answer an agent's question, by its id")
    answer.add_argument("id", metavar="ID")
    answer.add_argument("text", metavar="TEXT", help="one of its choices, or your own words where it takes them")
    answer.set_defaults(run=_answer)
    add_help(questions, "What agents want to know from you, with what may be answered.", "questions", "questions --all")
    add_help(answer, "Answer a question, by its id in the list.", 'answer q7k2 "the green one"')


def question_lines(question: Mapping[str, Any]) -> list[str]:
    """A question for a terminal: its text, and what may be answered."""
    lines = [f"    {line}" for line in terminal_safe(question["shown"]).splitlines()]
    lines += [f"      {n}. {one_line(choice)}" for n, choice in enumerate(question["choices"], 1)]
    if question["free_text"] and question["choices"]:
        lines.append("      or your own words")
    return lines


def pick_choice(question: Mapping[str, Any], said: str) -> str:
    """A choice's number stands for the choice, unless it is the name of one."""
    choices = question["choices"]
    is_number = said.isascii() and said.isdecimal() and said not in choices and len(said) < 3
    return str(choices[int(said) - 1]) if is_number and 1 <= int(said) <= len(choices) else said


def _list(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.get("/questions", status=None if options.all else "pending")
    lines = []
    for question in body["questions"]:
        lines.append(f"{question['id']}  {question['agent']}  {question['status']}")
        lines += question_lines(question)
        if question["answer"] is not None:
            lines.append(f"    -> {one_line(question['answer'])}")
    print_body(body, as_json=options.json, lines=lines or ["No open questions."])
    return 0


def _answer(context: Context, options: argparse.Namespace) -> int:
    with context.client as client:
        body = client.post(f"/questions/{quote(options.id, safe='')}", {"answer": options.text})
    print(f"{body['agent']} was told: {one_line(body['answer'])}")
    return 0
