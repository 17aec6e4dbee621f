"""Searching past conversations: how often the right one is among the first, and how long it takes among 100,000 turns.

``python -m bench.recalling [LOCOMO.zip] [--write]`` measures times; with ``data/locomo10.zip`` of
https://github.com/snap-research/locomo (CC BY-NC 4.0, so it is not in this repository) also how well the questions of
that benchmark find the conversation in which their answer was given. ``--write`` keeps the figures in
docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import circumstances, keep
from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey
from orchestrator.turns.search_rows import rank_turns

KEY = CubicleKey("crab", 1)
MANY = 100_000
_WITHOUT_ANSWER = 5
"""The category of questions that can't be answered."""


@dataclass(frozen=True, slots=True)
class Talk:
    """One pair of people: what they said to each other in many sessions, and questions about that."""

    turns: tuple[tuple[int, str, str], ...]
    """Session, message and reply."""
    places: dict[str, int]
    """Which turn a message of the data is in."""
    questions: tuple[tuple[str, tuple[str, ...]], ...]
    """Each with the messages that answer it."""


def read_talks(path: Path) -> list[Talk]:
    """The conversations of the archive, two messages to a turn."""
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if re.search(r"/\d+\.json$", name))
        return [_read_talk(json.loads(archive.read(name))) for name in names]


def _read_talk(data: dict[str, Any]) -> Talk:
    turns: list[tuple[int, str, str]] = []
    places: dict[str, int] = {}
    sessions = sorted(int(key[8:]) for key in data if re.fullmatch(r"session_\d+", key))
    for session in sessions:
        messages = data[f"session_{session}"]
        for first in range(0, len(messages), 2):
            pair = messages[first : first + 2]
            places |= {message["dia_id"]: len(turns) for message in pair}
            prompt, reply = ([*map(_text_of, pair), ""])[:2]
            turns.append((session, prompt, reply))
    questions = tuple(
        (question["question"], tuple(question["evidence"]))
        for question in data["qa"]
        if question.get("category") != _WITHOUT_ANSWER and any(one in places for one in question.get("evidence", ()))
    )
    return Talk(tuple(turns), places, questions)


def _text_of(message: dict[str, Any]) -> str:
    seen = f" [{message['blip_caption']}]" if message.get("blip_caption") else ""
    return f"{message['speaker']}: {message['text']}{seen}"


def measure_hits(talks: Sequence[Talk], folder: Path) -> dict[str, float]:
    """Shares of questions, from 0 to 1: a session with an answer among the first so many, and a turn with one."""
    counts = {"questions": 0, "session 1": 0, "session 3": 0, "session 5": 0, "turn 3": 0}
    for number, talk in enumerate(talks):
        store = Store(folder / f"talk{number}.db")
        with store.writing() as db:
            ids = list(_insert_turns(db, ((prompt, reply) for _, prompt, reply in talk.turns)))
        place = {turn: n for n, turn in enumerate(ids)}
        with store.reading() as db:
            for question, evidence in talk.questions:
                wanted = {talk.places[one] for one in evidence if one in talk.places}
                found = [place[turn] for turn in rank_turns(db, KEY, question)]
                sessions = list(dict.fromkeys(talk.turns[n][0] for n in found))
                right = {talk.turns[n][0] for n in wanted}
                counts["questions"] += 1
                counts["turn 3"] += bool(wanted & set(found[:3]))
                for first in (1, 3, 5):
                    counts[f"session {first}"] += bool(right & set(sessions[:first]))
        store.close()
    asked = counts.pop("questions")
    return {"questions": asked, **{name: hits / asked for name, hits in counts.items()}}


def measure_times(folder: Path, many: int = MANY) -> dict[str, float]:
    """Milliseconds of one search among so many turns of one cubicle: the median and the slowest of 40, for words that
    few turns have and for words that most have; and of looking a row up by its id, to compare with."""
    store = Store(folder / "many.db")
    with store.writing() as db:
        list(_insert_turns(db, _made_up_turns(many)))
    taken: dict[str, float] = {}
    with store.reading() as db:
        for name, words in (("rare", "word{n} and rare{n}"), ("common", "common usual frequent {n}")):
            times = sorted(_time_search(db, words.format(n=n * 17)) for n in range(40))
            taken[name], taken[f"{name}, slowest"] = statistics.median(times), times[-1]
        taken["by id"] = statistics.median(_time_row(db, n + 1) for n in range(200))
    store.close()
    return taken


def _made_up_turns(many: int) -> Iterator[tuple[str, str]]:
    for n in range(many):
        own = " ".join(f"word{n * k % 20_011}" for k in range(1, 30))
        yield f"common usual {own}", f"frequent common {own} rare{n % 5_003}"


def _insert_turns(db: sqlite3.Connection, said: Iterator[tuple[str, str]]) -> Iterator[int]:
    now = time.time()
    last: int | None = None
    for prompt, reply in said:
        last = db.execute(
            "INSERT INTO turns (agent, user, conversation, parent, source, prompt, reply, status, created_at, "
            "ended_at) VALUES (?, ?, 1, ?, 'api', ?, ?, 'done', ?, ?)",
            (KEY.agent, KEY.user, last, prompt, reply, now, now),
        ).lastrowid
        if last is None:
            raise RuntimeError("the row was not written")
        yield last


def _time_search(db: sqlite3.Connection, words: str) -> float:
    start = time.perf_counter()
    rank_turns(db, KEY, words)
    return (time.perf_counter() - start) * 1000


def _time_row(db: sqlite3.Connection, turn: int) -> float:
    start = time.perf_counter()
    db.execute("SELECT prompt FROM turns WHERE id = ?", (turn,)).fetchone()
    return (time.perf_counter() - start) * 1000


def write_figures(hits: dict[str, float], times: dict[str, float], loads: Sequence[float]) -> str:
    """A table for the page."""
    lines = ["| what | measured |", "|---|---|"]
    if hits:
        lines += [
            f"| LoCoMo: a session with the answer is the first | {hits['session 1']:.1%} |",
            f"| … among the first three | {hits['session 3']:.1%} |",
            f"| … among the first five | {hits['session 5']:.1%} |",
            f"| a turn with the answer is among the first three | {hits['turn 3']:.1%} |",
        ]
    lines += [
        f"| a search among {MANY:,} turns, rare words | {times['rare']:.1f} ms ({times['rare, slowest']:.1f}) |",
        f"| … words that all turns have | {times['common']:.1f} ms ({times['common, slowest']:.1f}) |",
        f"| a row by its id | {times['by id']:.3f} ms |",
    ]
    asked = f"{hits['questions']:.0f} questions of LoCoMo. " if hits else ""
    return "\n".join([*lines, "", f"{asked}Median of 40 searches, the slowest in brackets. {circumstances(loads)}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and keep with ``--write``."""
    parser = argparse.ArgumentParser(prog="python -m bench.recalling", description=__doc__)
    parser.add_argument("locomo", nargs="?", type=Path, help="data/locomo10.zip of LoCoMo")
    parser.add_argument("--write", action="store_true", help="keep the figures in docs/performance.md")
    options = parser.parse_args(arguments)
    if options.write and not options.locomo:
        parser.error("name the archive too, as the page has both.")
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory() as folder:
        hits = measure_hits(read_talks(options.locomo), Path(folder)) if options.locomo else {}
        times = measure_times(Path(folder))
    figures = write_figures(hits, times, [*loads, os.getloadavg()[0]])
    print(figures)
    if options.write:
        keep("recall", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
