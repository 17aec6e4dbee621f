"""From a text to scenes, as the program in the studio's container makes them: everything is shown, in order, for long
enough, and the same text always in the same way."""

from __future__ import annotations

import importlib.util
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[4]


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("clawmotion_scenes", ROOT / "cubicle" / "clawmotion" / "scenes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


scenes = _loaded()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello.", ["Hello."]),
        ("One two. Three! Four?", ["One two.", "Three!", "Four?"]),
        ("Title: The crab\nIt walks.", ["# The crab", "It walks."]),
        ("title:The crab", ["# The crab"]),
        ("## A heading\n- a point\n2. **another** `one`", ["# A heading", "a point", "another one"]),
        ("3.5 percent of 2026-01-01. Dr. No", ["3.5 percent of 2026-01-01.", "Dr.", "No"]),
        ("a\u202eb\u200bc \x1b[31m", ["abc [31m"]),
        ("...\n---\n", []),
        ("%{pts} [in]drawtext='x':y=1; \\n", ["%{pts} [in]drawtext='x':y=1; \\n"]),
        ("x" * 60, ["x" * 20 + "- " + "x" * 20 + "- " + "x" * 20]),
    ],
)
def test_scenes(text: str, shown: list[str]) -> None:
    """Sentences and lines; titles by their word or sign; marks and what is invisible are gone."""
    made = scenes.scenes_of(text, 8.0)
    first_round = [scene for scene in made if made.index(scene) == scene.number]
    assert [("# " if scene.is_title else "") + " ".join(scene.words) for scene in first_round] == shown


def test_long_sentences_are_parted() -> None:
    """By their commas, else evenly; no scene has more than can be read."""
    text = "one two three four five six seven eight nine ten, eleven twelve thirteen fourteen fifteen sixteen " * 3
    made = scenes.scenes_of(text, 60.0)
    assert max(len(scene.words) for scene in made) <= scenes.MOST_WORDS


def test_short_texts_come_again() -> None:
    """A minute of two words would be dull as one picture."""
    made = scenes.scenes_of("Hello there.", 60.0)
    assert len(made) > 5
    assert {scene.number for scene in made} == {0}


@given(
    text=st.text(st.characters(codec="utf-8"), max_size=400)
    | st.from_regex(r"([a-zA-Z ,.!\n]{1,80}){1,5}", fullmatch=True),
    seconds=st.floats(1.0, 600.0),
)
def test_they_fill_the_time(text: str, seconds: float) -> None:
    """One after the other from the beginning to the end, never too short to be seen; made again, they are the same."""
    made = scenes.scenes_of(text, seconds)
    assert made == scenes.scenes_of(text, seconds)
    assert scenes.colours_of(text) in scenes.SCHEMES
    if not made:
        return
    assert (made[0].start, made[-1].end) == (0.0, seconds)
    for before, after in pairwise(made):
        assert before.end == after.start
    assert all(scene.end > scene.start and scene.words for scene in made)
    assert len(made) <= max(1, seconds / scenes.SHORTEST_S)
