"""``hermit browser look``: what a model is asked about a picture, and what is told where it can't see any."""

from __future__ import annotations

import base64
from typing import cast

import pytest

from orchestrator.capabilities.browser.page_looks import MOST_CHARS, TASK, PageLooks
from orchestrator.core.errors import Conflict, UpstreamFailed
from orchestrator.core.models import CubicleKey, ModelRequest
from orchestrator.jobs.rows import Job
from tests.support.core_fixture import KEY

PICTURE = b"\\xff\\xd8\\xff jpeg"


class FakeJob:
    """A look that was asked for in a turn."""

    cubicle, turn = KEY, 7
    payload = {"text": "Which bar is the highest?"}  # noqa: RUF012 - read alone


def describe(answer: str | UpstreamFailed) -> tuple[str, list[tuple[CubicleKey, ModelRequest, int | None]]]:
    """What is told when the model answers so, and what it was asked."""
    asked: list[tuple[CubicleKey, ModelRequest, int | None]] = []

    def ask(key: CubicleKey, request: ModelRequest, turn: int | None) -> str:
        asked.append((key, request, turn))
        if isinstance(answer, UpstreamFailed):
            raise answer
        return answer

    return PageLooks(ask).describe(cast("Job", FakeJob()), PICTURE), asked


def test_the_question_and_the_picture_go_to_the_agents_model() -> None:
    """In the turn, and nothing else does."""
    told, ((key, request, turn),) = describe("The red one.")
    assert (told, key, turn) == ("The red one.", KEY, 7)
    system, user = request.messages
    assert system == {"role": "system", "content": TASK}
    text, picture = user["content"]
    assert text == {"type": "text", "text": "Which bar is the highest?"}
    assert base64.b64decode(picture["image_url"]["url"].removeprefix("data:image/jpeg;base64,")) == PICTURE


def test_an_answer_is_bounded() -> None:
    """However much a page had the model say."""
    assert len(describe("x" * 10_000)[0]) == MOST_CHARS


@pytest.mark.parametrize("answer", ["", "  ", UpstreamFailed("Refused.", may_retry=False)])
def test_a_model_that_sees_nothing_is_told_of(answer: str | UpstreamFailed) -> None:
    """With what to do instead."""
    with pytest.raises(Conflict, match="most likely it can't see pictures"):
        describe(answer)


@pytest.mark.parametrize(
    "failed", [UpstreamFailed("Busy.", may_retry=True), UpstreamFailed("Cut.", may_retry=False, may_have_cost=True)]
)
def test_a_provider_that_fails_is_no_blind_model(failed: UpstreamFailed) -> None:
    """The reason is the provider's own."""
    with pytest.raises(UpstreamFailed, match=failed.message):
        describe(failed)
