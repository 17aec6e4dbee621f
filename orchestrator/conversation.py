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
    told = [{"role": "user", "content": turn.prompt}]
    for step in steps:
        told.append({"role": "assistant", "content": _answer(step.thought, step.command)})
        told.append({"role": "user", "content": _result(step)})
    told.append({"role": "assistant", "content": _answer(_outcome(turn), "")})
    return told


def _answer(message: str, command: str) -> str:
    return json.dumps({"message": message, "terminal": command}, ensure_ascii=False)


def _result(step: Step) -> str:
    if step.exit_code is None:
        return f"The command was not run ({step.status})."
    output = step.output
    if len(output) > _OUTPUT_CHARS:
        half = _OUTPUT_CHARS // 2
        output = f"{output[:half]}\n[… {len(output) - 2 * half} characters left out …]\n{output[-half:]}"
    return f"Exit code {step.exit_code}. Output:\n{output}"


def _outcome(turn: Turn) -> str:
    if turn.status is TurnStatus.DONE:
        return turn.reply or ""
    if turn.status is TurnStatus.STOPPED:
        return "(The person stopped this turn.)"
    return f"(This turn failed: {turn.error})"
