"""What a crab is told of the conversation so far: the turns and steps before, as chat messages within a bound.

Pure. The bound moves in large steps, so that the messages stay the same from turn to turn and a provider's prompt cache
hits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from orchestrator.nouns import Step, Turn, TurnStatus

MAX_CHARS = 120_000
"""About 30,000 tokens; when it is exceeded the oldest turns go until half is left."""

_OUTPUT_CHARS = 2_000
_THOUGHT_CHARS = 2_000
_COMMAND_CHARS = 4_000
_WORDS_CHARS = 16_000
"""Of what a person asked and an agent answered."""
_STEPS_CHARS = 40_000
"""Of the steps of one turn; the last ones are told."""


def messages(turns: Sequence[Turn], steps: Mapping[int, Sequence[Step]]) -> list[dict[str, str]]:
    """Chat messages for ``turns`` (oldest first), the newest that fit."""
    blocks = [_of_turn(turn, steps.get(turn.id, ())) for turn in turns if turn.status.is_final]
    total, start = 0, 0
    sizes = [sum(len(message["content"]) for message in block) for block in blocks]
    for index, size in enumerate(sizes):
        total += size
        if total > MAX_CHARS:
            while start < index and total > MAX_CHARS // 2:
                total -= sizes[start]
                start += 1
    return [message for block in blocks[start:] for message in block]


def _of_turn(turn: Turn, steps: Sequence[Step]) -> list[dict[str, str]]:
    told: list[dict[str, str]] = []
    left = _STEPS_CHARS
    for step in reversed(steps):
        answer = _answer(_cut(step.thought, _THOUGHT_CHARS), _cut(step.command, _COMMAND_CHARS))
        result = _result(step)
        left -= len(answer) + len(result)
        if left < 0:
            break
        told = [{"role": "assistant", "content": answer}, {"role": "user", "content": result}, *told]
    outcome = _answer(_cut(_outcome(turn), _WORDS_CHARS), "")
    return [
        {"role": "user", "content": _cut(turn.prompt, _WORDS_CHARS)},
        *told,
        {"role": "assistant", "content": outcome},
    ]


def _answer(message: str, command: str) -> str:
    return json.dumps({"message": message, "terminal": command}, ensure_ascii=False)


def _result(step: Step) -> str:
    if step.exit_code is None:
        return f"The command was not run ({step.status})."
    return f"Exit code {step.exit_code}. Output:\n{_cut(step.output, _OUTPUT_CHARS)}"


def _cut(text: str, limit: int) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _outcome(turn: Turn) -> str:
    if turn.status is TurnStatus.DONE:
        return turn.reply or ""
    if turn.status is TurnStatus.STOPPED:
        return "(The person stopped this turn.)"
    return f"(This turn failed: {turn.error})"
