"""How well memories are found: for which share of the test questions the right fact is among the first three, by words
alone and with a real embedding model. The bench (`bench/memories.py`) writes the same figures into the docs."""

from __future__ import annotations

import importlib.util
import json
import os

import pytest

from bench.memories import ROOT, SETS, among_the_first_three
from orchestrator.capabilities.memory.local_embedder import PACKAGE, LocalEmbedder

COMMON, PARAPHRASED = SETS.values()


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    """The model in this process. Its package comes with './hermit test'; a CI must have it."""
    if importlib.util.find_spec(PACKAGE) is None:
        if os.environ.get("CI"):
            pytest.fail("the embedding model is missing: './hermit test' installs it")
        pytest.skip("the embedding model is missing: './hermit test' installs it")
    return LocalEmbedder()


def share(file: str, embedder: LocalEmbedder | None) -> float:
    """Of the questions whose fact is among the first three."""
    right, many = among_the_first_three(file, embedder)
    print(f"{file}: {right} of {many} {'by words' if embedder is None else 'fused'}")  # noqa: T201  # a figure
    return right / many


def test_there_are_questions_enough() -> None:
    """More than a hundred, about ninety facts; and each is about a fact that there is."""
    sets = [json.loads((ROOT / "tests" / "data" / file).read_text(encoding="utf-8")) for file in SETS.values()]
    assert sum(len(one["questions"]) for one in sets) >= 100
    assert sum(len(one["facts"]) for one in sets) >= 90
    for one in sets:
        assert {question["fact"] for question in one["questions"]} <= {fact["id"] for fact in one["facts"]}


def test_words_alone_find_nine_in_ten() -> None:
    """Where question and fact have a word in common, as most have."""
    assert share(COMMON, None) >= 0.90


def test_words_alone_do_not_find_what_is_said_otherwise() -> None:
    """Which is what an embedding model is for: other words, other languages."""
    assert share(PARAPHRASED, None) <= 0.5


@pytest.mark.model
def test_with_a_model_nearly_all_are_found(embedder: LocalEmbedder) -> None:
    """In the words of the fact or in others, in one language or across two."""
    assert share(COMMON, embedder) >= 0.97
    assert share(PARAPHRASED, embedder) >= 0.85
