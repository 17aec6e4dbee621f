"""Reading a model's answer: what it may look like, what it may mean, and what no text can do to the reader."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crab.answer import Answer, read_answer, split_action

Expected = tuple[str, str, list[object]]

READABLE: dict[str, tuple[str, Expected]] = {
    "as agreed": (
        '{"userId": "1", "message": "Hi", "action": "", "terminal": "ls", "panelActions": ["A:b|c"]}',
        ("Hi", "ls", ["A:b|c"]),
    ),
    "done": ('{"message": "Hi", "terminal": ""}', ("Hi", "", [])),
    "silence": ('{"message": ""}', ("", "", [])),
    "a known key alone": ('{"userId": 7}', ("", "", [])),
    "space is no command": ('{"message": "Hi", "terminal": " \\n "}', ("Hi", "", [])),
    "null is nothing": ('{"message": "Hi", "terminal": null, "panelActions": null, "action": null}', ("Hi", "", [])),
    "unknown keys": ('{"mood": {"a": [1, {}]}, "message": "Hi", "n": -1.5e3}', ("Hi", "", [])),
    "fence": ('```json\n{"message": "Hi"}\n```', ("Hi", "", [])),
    "fence without end": ('```\n{"message": "Hi"}', ("Hi", "", [])),
    "prose around": ('Sure!\n{"message": "Hi"}\nAnything else?', ("Hi", "", [])),
    "braces in the prose": ('A set {x} and {1, 2}: {"message": "Hi"}', ("Hi", "", [])),
    "double braces": ('{{"message": "Hi"}}', ("Hi", "", [])),
    "in a list": ('[{"message": "Hi"}]', ("Hi", "", [])),
    "several objects": ('{"a": 1} {"message": "one"} {"message": "two", "terminal": "rm x"}', ("one", "", [])),
    "trailing commas": ('{"message": "Hi", "panelActions": ["A:b",],}', ("Hi", "", ["A:b"])),
    "single quotes": ("{'message': 'say \"Hi\"', 'terminal': 'echo \\'x\\''}", ('say "Hi"', "echo 'x'", [])),
    "Python": ("{'message': None, 'terminal': 'ls', 'x': True, 'y': False}", ("", "ls", [])),
    "bare keys": ('{message: "Hi", terminal: "ls"}', ("Hi", "ls", [])),
    "comments": ('{// first\n"message": "a//b", /* why */ "terminal": "ls" # last\n}', ("a//b", "ls", [])),
    "raw new lines": ('{"message": "a\nb", "terminal": "cat <<E\n\tx\nE"}', ("a\nb", "cat <<E\n\tx\nE", [])),
    "three quotes": ('{"message": "", "terminal": """echo "a"\necho b"""}', ("", 'echo "a"\necho b', [])),
    "no end": ('{"message": "Hi", "terminal": "ls"', ("Hi", "ls", [])),
    "no end after a comma": ('{"message": "Hi", "terminal": "ls",', ("Hi", "ls", [])),
    "no end inside the message": ('{"message": "Hello wor', ("Hello wor […]", "", [])),
    "braces in strings": ('{"message": "}{", "terminal": "awk \'{print $1}\' a"}', ("}{", "awk '{print $1}' a", [])),
    "escapes": (r'{"message": "a\u00e9\ud83d\ude00\/\t", "terminal": "x"}', ("aé😀/\t", "x", [])),
    "escapes JSON does not know": (r'{"terminal": "grep \d+ \. \$x \x1b"}', ("", r"grep \d+ \. \$x \x1b", [])),
    "half a character": (r'{"message": "a\ud83d b\ude00"}', ("a� b�", "", [])),
    "same key, same value": ('{"terminal": "ls", "terminal": "ls", "message": "a", "message": "b"}', ("a", "ls", [])),
    "thinking": ('<think>{"terminal": "no"}</think>{"terminal": "ls"}', ("", "ls", [])),
    "thinking twice": ('<think>a</think>\n<thinking>b</thinking> {"message": "Hi"}', ("Hi", "", [])),
    "thinking opened in the prompt": ('I {"terminal": "no"}\n</think>\n{"terminal": "ls"}', ("", "ls", [])),
    "thinking without end": ('<think>hmm {"terminal": "no"}', ("", "", [])),
    "talk of thinking": ('{"message": "use <think> and </think>"}', ("use <think> and </think>", "", [])),
    "plain text": ("  Hello there.\n", ("Hello there.", "", [])),
    "plain text with braces": ("In CSS: a {color: red}", ("In CSS: a {color: red}", "", [])),
    "numbers JSON has not": (
        '{"panelActions": [{"a": 1e999, "b": ' + "9" * 5000 + ', "c": -1.5, "d": 1.2.3}]}',
        ("", "", [{"a": "1e999", "b": "9" * 5000, "c": -1.5, "d": "1.2.3"}]),
    ),
    "objects in panelActions": (
        '{"panelActions": [{"name": "MEMORY_ADD", "fields": ["a"]}]}',
        ("", "", [{"name": "MEMORY_ADD", "fields": ["a"]}]),
    ),
    "old form": ("I look.\nACTION: EXECUTE\nCOMMAND: ls -l", ("I look.", "ls -l", [])),
    "old form, more lines": (
        "ACTION: EXECUTE\nCOMMAND: for i in 1 2; do\n  echo NOTE: $i\ndone\nMESSAGE: x",
        ("", "for i in 1 2; do\n  echo NOTE: $i\ndone", []),
    ),
    "old form, command in a fence": (
        "ACTION: EXECUTE\nCOMMAND:\n```bash\nls\nRESULT: x\n```\nok",
        ("", "ls\nRESULT: x", []),
    ),
    "old form, all in a fence": ("```\nACTION: EXECUTE\nCOMMAND: ls\n```", ("", "ls", [])),
    "old form, ticks": ("ACTION: EXECUTE\nCOMMAND: `ls -l`", ("", "ls -l", [])),
    "old form with an object in the command": (
        'ACTION: EXECUTE\nCOMMAND: echo \'{"message": "x"}\'',
        ("", 'echo \'{"message": "x"}\'', []),
    ),
    "an object that speaks of the old form": (
        '{"message": "write\nACTION: EXECUTE\nCOMMAND: ls"}',
        ("write\nACTION: EXECUTE\nCOMMAND: ls", "", []),
    ),
}


@pytest.mark.parametrize(("text", "expected"), READABLE.values(), ids=READABLE.keys())
def test_readable(text: str, expected: Expected) -> None:
    """However it is dressed up, an answer is read as what it says."""
    answer = read_answer(text)
    assert answer.errors == []
    assert (answer.message, answer.terminal, answer.panel_actions) == expected


REFUSED = {
    "a number for a command": ('{"terminal": 5}', '"terminal" must be text, not a number'),
    "a list for a command": ('{"terminal": ["ls"]}', '"terminal" must be text, not a list'),
    "true for a command": ('{"terminal": true}', "not true or false"),
    "a number for a message": ('{"message": 5}', '"message" must be text'),
    "an object for an action": ('{"action": {}}', '"action" must be text, not an object'),
    "text for panelActions": ('{"panelActions": "A:b"}', '"panelActions" must be a list, not text'),
    "a number in panelActions": ('{"panelActions": ["A:b", 5, null]}', 'Number 2 of "panelActions"'),
    "two commands": ('{"terminal": "ls", "terminal": "rm x"}', '"terminal" is there twice'),
    "two action lists": ('{"panelActions": ["A:b"], "panelActions": ["A:c"]}', '"panelActions" is there twice'),
    "two values inside an action": ('{"panelActions": [{"name": "A", "name": "B"}]}', '"name" is there twice'),
    "quotes not escaped": ('{"terminal": "echo "hi""}', "broken (a comma is missing)"),
    "another object inside the broken one": ('{"terminal": "echo "{"message": "x"}""}', "broken"),
    "no colon": ('{"terminal" "ls"}', "broken (a colon is missing)"),
    "no comma": ('{"message": "Hi" "terminal": "ls"}', "broken (a comma is missing)"),
    "no value": ('{"terminal": ls}', "broken (a value is missing)"),
    "cut off in the command": ('{"message": "ok", "terminal": "rm -rf /tm', 'cut off inside "terminal"'),
    "cut off before the command": ('{"message": "ok", "terminal"', 'cut off inside "terminal"'),
    "cut off in a key": ('{"message": "I look.", "termi', "it ends inside a key"),
    "cut off in the actions": ('{"panelActions": ["CALENDAR_DELETE:1', 'cut off inside "panelActions"'),
    "a NUL": (r'{"terminal": "a\u0000b"}', "NUL"),
    "nested too deep": ('{"message": ' + "[" * 100 + "]" * 100 + "}", "nested too deep"),
    "no known key": ('{"response": "Hi"}', "none of the keys"),
    "no known key in a fence": ('```json\n{"response": "Hi"}\n```', "none of the keys"),
    "too many actions": (json.dumps({"panelActions": ["A:b"] * 51}), "50 entries at most"),
    "old form without a command": ("ACTION: EXECUTE\n", "needs a line COMMAND"),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(text: str, said: str) -> None:
    """What cannot mean one thing for sure is an error that tells the model what to fix."""
    assert said in " ".join(read_answer(text).errors)


def test_thought_and_text() -> None:
    """The thinking is kept apart from what goes on in the conversation."""
    answer = read_answer('<think> hm </think>{"message": "Hi"}')
    assert (answer.thought, answer.text) == ("hm", '{"message": "Hi"}')


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        ("", True),
        (" \n", True),
        ("<think>x</think>", True),
        ('{"message":""}', True),
        ('{"message":" ", "terminal":""}', True),
        ('{"message":"", "terminal":"ls"}', False),
        ('{"message":"", "action":"FILE:a"}', False),
        ('{"message":"", "panelActions":["CALENDAR_LIST:"]}', False),
        ('{"terminal":1}', False),
    ],
)
def test_empty(text: str, empty: bool) -> None:  # noqa: FBT001 - a column of the table
    """An answer that says nothing and asks for nothing is told from one that only acts."""
    assert read_answer(text).is_empty is empty


HOSTILE = {
    "braces": "{" * 100_000,
    "brackets": '{"message": ' + "[" * 100_000,
    "objects in objects": '{"message":' * 100_000,
    "empty objects": "{}" * 300_000,
    "small objects": '{"a":1}' * 100_000,
    "a megabyte of text": '{"message": "' + "x" * 1_000_000,
    "a megabyte of escapes": '{"message": "' + "\\u0041\\n" * 120_000 + '"}',
    "a megabyte of backslashes": '{"message": "' + "\\" * 1_000_000,
    "quotes": '{"' + '"' * 1_000_000,
    "a long number": '{"userId": ' + "9" * 1_000_000 + ', "message": "Hi"}',
    "thoughts": "<think>" * 100_000,
    "closed thoughts": "<think></think>" * 60_000,
    "comments": '{"message": /*' + "*" * 1_000_000,
    "slashes": "{" + "/" * 1_000_000,
    "old forms": "ACTION: EXECUTE\nCOMMAND:\n" * 40_000,
    "fences": "ACTION: EXECUTE\nCOMMAND: " + "```\n" * 250_000,
    "keys": "{" + ",".join(f'"k{n}": {n}' for n in range(60_000)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_costs_little(text: str) -> None:
    """A megabyte of anything is read in about linear time and without deep recursion."""
    started = time.thread_time()
    read_answer(text)
    assert time.thread_time() - started < 5


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
texts = st.text(alphabet=st.characters(codec="utf-8"))


@given(
    message=texts, terminal=texts, actions=st.lists(texts), extra=st.dictionaries(st.text(), json_values, max_size=3)
)
def test_real_json_means_what_it_says(
    message: str, terminal: str, actions: list[str], extra: dict[str, object]
) -> None:
    """Whatever JSON says in our keys is what is read: leniency changes nothing that is right."""
    terminal = terminal.replace("\0", "")
    known = {"message": message, "terminal": terminal, "panelActions": actions}
    for ascii_only in (True, False):
        answer = read_answer(json.dumps({**known, **extra, **known}, ensure_ascii=ascii_only, indent=1))
        assert answer.errors == []
        assert answer.message == message
        assert answer.terminal == (terminal if terminal.strip() else "")
        assert answer.panel_actions == actions


PIECES = """{"message": " | "terminal": "ls" | ' | " | { | } | [ | ] | : | , | \\ | \\u12 | <think> | </think> | ```
ACTION: EXECUTE | COMMAND: x | panelActions | 1e9 | // | /* | \"\"\" | é😀 | ` | # | True"""
pieces = st.sampled_from([*PIECES.replace("\n", " | ").split(" | "), "\n", "\0", "\ud800"])


@given(st.lists(pieces | st.text(max_size=5), max_size=30).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    """No text breaks the reader, and what it gives can be sent on: no NUL in a command, no half characters."""
    answer = read_answer(text)
    assert "\0" not in answer.terminal
    for said in (answer.message, answer.terminal, answer.action, answer.text, answer.thought, *answer.errors):
        said.encode()
    json.dumps(answer.panel_actions, allow_nan=False).encode()


@pytest.mark.parametrize(
    ("text", "name", "fields"),
    [
        (
            "CALENDAR_CREATE:Title|Prompt|2026-02-28T09:00:00Z|",
            "CALENDAR_CREATE",
            ["Title", "Prompt", "2026-02-28T09:00:00Z", ""],
        ),
        ("CALENDAR_LIST", "CALENDAR_LIST", []),
        ("CALENDAR_LIST:", "CALENDAR_LIST", []),
        (r"A:b\|c|d\\|e", "A", ["b|c", "d\\", "e"]),
        (r"A:C:\dir\n|x", "A", [r"C:\dir\n", "x"]),
        ("A:b\\", "A", ["b\\"]),
        (" A : b", "A", [" b"]),
        ("", "", []),
    ],
)
def test_split_action(text: str, name: str, fields: list[str]) -> None:
    """Fields are split at bars, and only a bar and a backslash can be escaped."""
    assert split_action(text) == (name, fields)


def join_action(name: str, fields: list[str]) -> str:
    """What a careful model writes."""
    return f"{name}:" + "|".join(field.replace("\\", "\\\\").replace("|", "\\|") for field in fields)


@given(st.lists(st.text(st.sampled_from("ab|\\:\n é")), min_size=1))
def test_split_action_undoes_join(fields: list[str]) -> None:
    """Any fields survive being written and split again."""
    expected = [] if fields == [""] else fields
    assert split_action(join_action("NAME", fields)) == ("NAME", expected)


def test_answer_is_light() -> None:
    """An answer has no dictionary of its own."""
    assert not hasattr(Answer("", ""), "__dict__")


def test_the_end_of_thinking_may_be_spoken_of() -> None:
    """Within an answer's object it ends nothing, also behind a word of introduction; before one it does."""
    answer = read_answer('Sure: {"message": "m", "terminal": "grep \'</think>\' x"} done')
    assert (answer.terminal, answer.message, answer.thought) == ("grep '</think>' x", "m", "")
    answer = read_answer('I could say {"message": "a"}.</think>{"message": "b"}')
    assert (answer.message, answer.thought) == ("b", 'I could say {"message": "a"}.')
