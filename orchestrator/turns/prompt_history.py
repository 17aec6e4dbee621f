"""What a crab is told of the conversation so far: the turns and steps before, as chat messages within a bound.

Pure. Once the conversation is longer than a bound, half of it goes into a summary; so the messages stay the same from
turn to turn, and a provider's prompt cache hits. Without a summary the oldest turns are left out, in large steps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from orchestrator.core.models import Step, Turn, TurnStatus

Steps = Mapping[int, Sequence[Step]]
"""The steps of each turn."""

SUMMED_UP_CHARS, SUMMED_UP_TURNS = 90_000, 60
"""About 22,000 tokens; beyond either the older half goes into a summary."""
MAX_CHARS = 120_000
"""About 30,000 tokens; when it is exceeded the oldest turns go until half is left."""
MOST_TURNS = 120

_OUTPUT_CHARS = 2_000
_THOUGHT_CHARS = 2_000
_COMMAND_CHARS = 4_000
_WORDS_CHARS = 16_000
"""Of what a person asked and an agent answered."""
_STEPS_CHARS = 40_000
"""Of the steps of one turn; the last ones are told."""


def chat_messages(turns: Sequence[Turn], steps: Steps, summary: str = "") -> list[dict[str, str]]:
    """Chat messages for ``turns`` (oldest first), the newest that fit, with a summary of what was before them."""
    blocks = [_of_turn(turn, steps.get(turn.id, ())) for turn in turns if turn.status.is_final]
    start = _left_out([_block_size(block) for block in blocks], MAX_CHARS)
    told = _summed_up(summary) if summary else []
    return told + [message for block in blocks[start:] for message in block]


def find_overdue(turns: Sequence[Turn], steps: Steps) -> int | None:
    """The last turn that should be told as a summary by now; None while everything can be told as it was."""
    ended = [turn for turn in turns if turn.status.is_final]
    sizes = [_block_size(_of_turn(turn, steps.get(turn.id, ()))) for turn in ended]
    start = _left_out(sizes, SUMMED_UP_CHARS)
    if not start and len(ended) > SUMMED_UP_TURNS:
        start = len(ended) - SUMMED_UP_TURNS // 2
    return ended[start - 1].id if start else None


def make_transcript(told: Sequence[Mapping[str, str]]) -> str:
    """Messages as one text, for whoever sums them up."""
    names = {"user": "PERSON OR MACHINE", "assistant": "AGENT"}
    return "\n\n".join(f"{names[message['role']]}: {message['content']}" for message in told)


def _left_out(sizes: Sequence[int], most: int) -> int:
    """How many of the oldest go: none up to ``most``, then as many as leave half of it."""
    total, start = 0, 0
    for index, size in enumerate(sizes):
        total += size
        if total > most:
            while start < index and total > most // 2:
                total -= sizes[start]
                start += 1
    return start


def _block_size(block: Sequence[Mapping[str, str]]) -> int:
    return sum(len(message["content"]) for message in block)


def _summed_up(summary: str) -> list[dict[str, str]]:
    told = f"(A record of what was said before, summed up by a model. It tells, and asks for nothing.)\n\n{summary}"
    return [
        {"role": "user", "content": told},
        {"role": "assistant", "content": _answer_json("I have that in mind.", "")},
    ]


def _of_turn(turn: Turn, steps: Sequence[Step]) -> list[dict[str, str]]:
    told: list[dict[str, str]] = []
    left = _STEPS_CHARS
    for step in reversed(steps):
        answer = _answer_json(_cut_text(step.thought, _THOUGHT_CHARS), _cut_text(step.command, _COMMAND_CHARS))
        result = _result_text(step)
        left -= len(answer) + len(result)
        if left < 0:
            break
        told = [{"role": "assistant", "content": answer}, {"role": "user", "content": result}, *told]
    outcome = _answer_json(_cut_text(_outcome_text(turn), _WORDS_CHARS), "")
    return [
        {"role": "user", "content": _cut_text(turn.prompt, _WORDS_CHARS)},
        *told,
        {"role": "assistant", "content": outcome},
    ]


def _answer_json(message: str, command: str) -> str:
    return json.dumps({"message": message, "terminal": command}, ensure_ascii=False)


def _result_text(step: Step) -> str:
    if step.exit_code is None:
        return f"The command was not run ({step.status})."
    return f"Exit code {step.exit_code}. Output:\n{_cut_text(step.output, _OUTPUT_CHARS)}"


def _cut_text(text: str, limit: int) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _outcome_text(turn: Turn) -> str:
    if turn.status is TurnStatus.DONE:
        return turn.reply or ""
    why = "The person stopped this turn." if turn.status is TurnStatus.STOPPED else f"This turn failed: {turn.error}"
    written = (turn.reply or "").strip()
    return f"{_cut_text(written, _WORDS_CHARS)}\n\n({why} The answer above is not whole.)" if written else f"({why})"
