"""What a model writes: read, shown while it grows, and taken apart into panel actions, whatever it is."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from crab.answer import KNOWN_KEYS, read_answer
from crab.lenient import MAX_DEPTH
from orchestrator.capabilities.capability import ActionRequest
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import BadInput
from orchestrator.llm.partial_reply import PartialReply
from tests.fuzzing import bounded
from tests.unit.capabilities.actions.test_parse import outcome_of

_WORDS = st.text(max_size=12) | st.sampled_from(
    [
        "ls -la",
        "CALENDAR_CREATE:a|b|2026-02-28T09:00:00Z|",
        "MEMORY_ADD:x\\|y",
        "\\",
        '"',
        "{",
        "}",
        "\ud83e",
        "\0",
        "</think>",
    ]
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=6,
)
_OBJECTS = st.dictionaries(st.sampled_from(sorted(KNOWN_KEYS)) | _WORDS, _WORDS | _ANY, max_size=6)
_WRAPS = st.sampled_from(
    [
        "{}",
        "```json\n{}\n```",
        "<think>no {{ }}</think>{}",
        "Sure: {} done",
        "ACTION: EXECUTE\nCOMMAND: {}",
        "[{}, {}]",
        "/* a */ {} // b",
        "\ufeff{}",
    ]
)
_JUNK = st.sampled_from(["", ",", "'", '"', "}", "{", "\\", "\n", "\0", "/*", "#", ":", "\\ud83d", "`", "<think>", "é"])


@st.composite
def _answers(draw: st.DrawFn) -> str:
    """An answer as models give it, with a few things changed in it, and perhaps cut off."""
    body = json.dumps(draw(_OBJECTS), ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        body = body.replace('"', "'")
    wrap = draw(_WRAPS)
    text = wrap.replace("{}", body).replace("{{", "{").replace("}}", "}")
    for _ in range(draw(st.integers(0, 3))):
        at, gone = draw(st.integers(0, len(text))), draw(st.integers(0, 2))
        text = text[:at] + draw(_JUNK) + text[at + gone :]
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 3)) == 0 else text


@bounded(300)
@given(_answers() | st.text(max_size=200))
def test_any_answer_is_read(text: str) -> None:
    """Every text becomes one answer: texts are texts that UTF-8 can hold, what a command must not hold is an error,
    and reading again finds the same, and nothing is deeper than the bound."""
    answer = read_answer(text)
    for each in (answer.message, answer.action, answer.terminal, answer.thought, answer.text, *answer.errors):
        assert isinstance(each, str)
    answer.message.encode("utf-8", "surrogatepass")
    assert "\0" not in answer.terminal or answer.errors
    assert isinstance(answer.panel_actions, list)
    assert _depth(answer.panel_actions) <= MAX_DEPTH + 2
    again = read_answer(text)
    assert (again.terminal, again.message, again.errors) == (answer.terminal, answer.message, answer.errors)


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max((_depth(each) for each in inner), default=0)


@bounded(200)
@given(_answers(), st.lists(st.integers(1, 40), max_size=12))
def test_any_answer_grows(text: str, sizes: list[int]) -> None:
    """However it is cut, a growing answer shows only what begins the final message or the words before its object,
    unless the answer turns out to be none, or to have been thinking that nothing announced."""
    text = text.encode("utf-8", "replace").decode()
    answer, before = read_answer(text), text.partition("{")[0].lstrip()
    if answer.errors or re.search(r"</think(ing)?>", text):
        return  # the model is asked again; or its answer begins only there, which nobody knows before
    final = answer.message
    draft, at = PartialReply(), 0
    for size in [*sizes, len(text)]:
        draft.add_piece(text[at : at + size])
        at += size
        assert final.startswith(draft.text) or before.startswith(draft.text)


_NAMES = st.sampled_from(sorted(REGISTRY.actions)) | st.text(max_size=15)
_FIELDS = sorted(
    {field.name for schema in REGISTRY.actions.values() for field in schema.fields} | {"name", "fields", "arguments"}
)
_VALUES = _ANY | st.sampled_from(
    ["2026-02-28T09:00:00Z", "2026-02-30", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "FREQ=DAILY",
     "0 9 * * *",
     "https://example.com/a", "-", "1e400", "٣", "1_0", "2026-W01-1", "24:00", "T", "9" * 5000, "red", "#fff", "true"]
)  # fmt: skip
_ENTRIES = st.one_of(
    st.builds(lambda name, values: name + ":" + "|".join(map(str, values)), _NAMES, st.lists(_VALUES, max_size=8)),
    st.builds(
        lambda name, fields: {"name": name, **fields},
        _NAMES,
        st.dictionaries(st.sampled_from(_FIELDS) | _WORDS, _VALUES),
    ),
    _ANY,
)


@bounded(200)
@given(_ENTRIES)
def test_any_panel_action_is_one_or_is_refused_in_words(entry: object) -> None:
    """An entry becomes an action, or one printable sentence."""
    found = outcome_of(entry)
    if isinstance(found, BadInput):
        assert found.message
        assert len(found.message) < 2_000
        found.message.encode()
    else:
        assert isinstance(found, ActionRequest)
        repr(found).encode()
