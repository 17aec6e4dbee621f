"""``orchestrator.llm.partial_reply``: what can be shown of a reply while its model still writes it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crab.answer import read_answer
from orchestrator.llm.partial_reply import MOST_CHARS, PartialReply

texts = st.text(alphabet=st.characters(codec="utf-8"))


def drafts(pieces: Iterable[str]) -> list[str]:
    """What is shown after each piece."""
    draft, shown = PartialReply(), []
    for piece in pieces:
        draft.add_piece(piece)
        shown.append(draft.text)
    return shown


def cuts(text: str, sizes: list[int]) -> list[str]:
    """The text in pieces of these sizes, and the rest of it letter by letter."""
    pieces, at = [], 0
    for size in sizes:
        pieces.append(text[at : at + size])
        at += size
    return [*pieces, *text[at:]]


def triple(message: str) -> str:
    """An answer as Python would write it."""
    inside = message.replace("\\", "\\\\").replace('"""', '\\"""')
    inside = f'{inside[:-1]}\\"' if inside.endswith('"') else inside
    return f'{{"message": """{inside}""", "terminal": "ls"}}'


FORMS: dict[str, Callable[[str], str]] = {
    "json": lambda message: json.dumps({"userId": "1", "message": message, "terminal": "ls"}),
    "letters": lambda message: json.dumps({"message": message}, ensure_ascii=False),
    "late": lambda message: json.dumps({"terminal": "ls {a}", "panelActions": ["A:b"], "message": message}, indent=1),
    "fence": lambda message: f"```json\n{json.dumps({'message': message})}\n```",
    "thought": lambda message: f"<think>so {{ it is</think>\n{json.dumps({'message': message})}",
    "prose": lambda message: f"Sure, here it is:\n{json.dumps({'message': message})} and that was all.",
    "single quotes": lambda message: f"{{'message': {json.dumps(message)}, }}",
    "three quotes": triple,
    "twice": lambda message: json.dumps([{"message": message}, {"message": "another"}]),
}


@given(st.sampled_from(sorted(FORMS)), texts, st.lists(st.integers(1, 30), max_size=20))
@example("json", 'a\\b"\n\t\u2028😀é', [])
@example("json", "\\", [])
@example("three quotes", 'say ""yes"" \\', [])
@example("three quotes", '"', [30])
def test_a_draft_grows_up_to_the_message(form: str, message: str, sizes: list[int]) -> None:
    """However an answer is cut, what is shown begins the message and never takes a letter back."""
    text = FORMS[form](message)
    final = read_answer(text).message
    seen = ""
    for shown in drafts(cuts(text, sizes)):
        assert shown.startswith(seen)
        assert final.startswith(shown)
        seen = shown
    assert seen == final


PIECES = """{"message": " | "terminal": "ls" | ' | " | { | } | [ | ] | : | , | \\ | \\u12 | \\ud83d | ```
COMMAND: x | panelActions | 1e9 | // | /* | \"\"\" | é😀 | ` | # | True | "message": | "action": "a" | word """
pieces = st.sampled_from([*PIECES.replace("\n", " | ").split(" | "), "\n", "\0"])


@settings(max_examples=300)
@given(st.lists(pieces | st.text(alphabet=st.characters(codec="utf-8"), max_size=5), max_size=30))
def test_any_answer_is_shown_as_it_is_read(cut: list[str]) -> None:
    """Of any text whatever is shown begins what the whole answer turns out to say, or the words before its object."""
    text = "".join(cut)
    final, before = read_answer(text).message, text.partition("{")[0].lstrip()
    for shown in drafts(cut):
        assert final.startswith(shown) or before.startswith(shown)


@given(st.text(alphabet="ab \n", max_size=300), st.lists(st.integers(1, 60), max_size=20))
def test_plain_text_is_shown_once_it_is_surely_that(text: str, sizes: list[int]) -> None:
    """A reply without an object grows too, after its first words."""
    final = read_answer(text).message
    shown = drafts(cuts(text, sizes))
    assert all(final.startswith(each) for each in shown)
    assert not shown or shown[-1] == (final if len(final) >= 90 else shown[-1])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("<think>secret {", ""),
        ('<think>a</think>{"message": "Hel', "Hel"),
        ('```json\n{"message": "Hel', "Hel"),
        ('{"terminal": "ls", "mess', ""),
        ('{"message": "a\\', "a"),
        ('{"message": "a\\ud83d\\ude', "a"),
        ('{"message": 5', ""),
        ('{"message": ["a", "b', ""),
        ('{"message": "a", "message": "b', "a"),
        ("Sure, here it is:", ""),
        ("x" * 100, "x" * 100),
        ("x" * 90 + " f() { return", "x" * 90 + " f()"),
        ("y" * 100 + "\nACTION: EXECUTE\nCOMMAND: ls", "y" * 100),
        ('ACTION: EXECUTE\nCOMMAND: ls\n{"message": "no"}', ""),
        ("ACTION: EXECUTE\nCOMMAND: " + "x" * 100, ""),
        ("<" + "x" * 100, ""),
    ],
)
def test_only_what_is_surely_part_of_the_reply(text: str, shown: str) -> None:
    """Commands, thoughts and what may yet become something else stay out."""
    assert drafts(text)[-1:] == ([shown] if text else [])


def test_words_before_an_object_give_way_to_its_message() -> None:
    """What looked like the whole reply was none."""
    shown = drafts(["w" * 90, ' {"message": "Hello', ' there"}'])
    assert shown[0] == "w" * 90
    assert shown[-1] == "Hello there"


def test_a_long_message_is_shown_up_to_a_bound() -> None:
    """What is shown is bounded, whatever comes."""
    draft = PartialReply()
    for piece in ('{"message": "', *["word " * 1000] * 20):
        draft.add_piece(piece)
    assert draft.text == ("word " * MOST_CHARS)[:MOST_CHARS]


HOSTILE = {
    "braces": "{" * 200_000,
    "angles": ("x" * 100) + "<" * 80_000,
    "thoughts": "<think></think>" * 6_000,
    "open thought": "<think>" + "a " * 60_000,
    "quotes": '{"message": """' + '""' * 40_000,
    "escapes": '{"message": "' + "\\" * 80_000,
    "half pairs": '{"message": "' + "\\ud83d" * 15_000,
    "keys": "{" + ",".join(f'"k{n}": {n}' for n in range(5_000)),
    "comments": '{"message": /*' + "*" * 80_000,
    "long": '{"message": "' + "word " * 18_000,
    "plain and braces": ("x" * 100) + "{ " * 40_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_costs_little(text: str) -> None:
    """Some hundred thousand letters, one at a time, are read in about linear time."""
    started = time.thread_time()
    draft = PartialReply()
    for n, stored in enumerate(text):
        draft.add_piece(stored)
        if n % 1000 == 0:
            assert len(draft.text) <= MOST_CHARS
    assert time.thread_time() - started < 4
