"""Panel actions: what a model may write, what it means, and what it is told when it means nothing."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.capabilities.actions.field_types import CLEARED, write_value
from orchestrator.capabilities.actions.format import as_object
from orchestrator.capabilities.actions.parse import read_action as read_entry
from orchestrator.capabilities.actions.parse import read_command
from orchestrator.capabilities.calendar.capability import CalendarCreate, CalendarDelete, CalendarList, CalendarUpdate
from orchestrator.capabilities.capability import ActionRequest
from orchestrator.capabilities.downloads.capability import AssetRequest
from orchestrator.capabilities.memory.capability import MemoryAdd, MemoryDelete
from orchestrator.capabilities.table import REGISTRY
from orchestrator.capabilities.video.capability import Clawmotion
from orchestrator.core.errors import BadInput

NINE = datetime(2026, 2, 28, 9, tzinfo=UTC)
CREATE = "CALENDAR_CREATE:Title|Prompt|"
ASSET = {"name": "ASSET_REQUEST", "description": "x"}

Read = (
    CalendarCreate
    | CalendarUpdate
    | CalendarDelete
    | CalendarList
    | AssetRequest
    | MemoryAdd
    | MemoryDelete
    | Clawmotion
)
"""What panel actions are read as."""


def read_action(entry: object) -> object:
    """What the deed of this entry's action gets."""
    return read_entry(entry, REGISTRY.actions).given


READS: list[tuple[object, Read]] = [
    ("CALENDAR_CREATE:Title|Prompt|2026-02-28T09:00:00Z|", CalendarCreate("Title", "Prompt", NINE)),
    ("CALENDAR_CREATE: Title | Prompt | 2026-02-28T09:00:00Z |||||", CalendarCreate("Title", "Prompt", NINE)),
    ("calendar-create:a|b|2026-02-28", CalendarCreate("a", "b", date(2026, 2, 28))),
    (CREATE + "2026-02-28T09:00", CalendarCreate("Title", "Prompt", datetime(2026, 2, 28, 9))),  # noqa: DTZ001  # a wall clock
    (CREATE + "20260228T090000Z", CalendarCreate("Title", "Prompt", NINE)),
    (CREATE + "2026-02-28 10:00+01:00", CalendarCreate("Title", "Prompt", NINE)),
    (
        r"CALENDAR_CREATE:Tea \| cake|C:\\x \n|2026-02-28T09:00Z|2026-02-28T10:00Z|RED|FREQ=DAILY",
        CalendarCreate("Tea | cake", "C:\\x \\n", NINE, NINE + timedelta(hours=1), "red", "FREQ=DAILY"),
    ),
    ("CALENDAR_CREATE:a|one\r\ntwo|2026-02-28", CalendarCreate("a", "one\ntwo", date(2026, 2, 28))),
    (CREATE + "2026-02-28|||0 9 * * 1-5", CalendarCreate("Title", "Prompt", date(2026, 2, 28), repeat="0 9 * * 1-5")),
    ("CALENDAR_UPDATE:3|New", CalendarUpdate(3, "New")),
    ("CALENDAR_UPDATE:#3||||-|#FFF|-", CalendarUpdate(3, end=CLEARED, color="#fff", repeat=CLEARED)),
    (
        {"name": "CALENDAR_UPDATE", "id": "3", "title": "", "start": None, "repeat": " - "},
        CalendarUpdate(3, repeat=CLEARED),
    ),
    ("CALENDAR_DELETE:12", CalendarDelete(12)),
    ("CALENDAR_LIST", CalendarList()),
    ("CALENDAR_LIST:", CalendarList()),
    ("CALENDAR_LIST:|2026-03-01", CalendarList(None, date(2026, 3, 1))),
    ({"name": "CALENDAR_LIST", "from": "2026-03-01"}, CalendarList(date(2026, 3, 1))),
    ("ASSET_REQUEST:a paper|https://a.example/?x=1#p|PDF", AssetRequest("a paper", "https://a.example/?x=1#p", "pdf")),
    (ASSET | {"url": "http://[::1]:8080/", "fileType": ".png"}, AssetRequest("x", "http://[::1]:8080/", "png")),
    (ASSET | {"url": "https://bü.example", "file-type": "a/png"}, AssetRequest("x", "https://bü.example", "a/png")),
    ("MEMORY_ADD:likes a: b and c\\d", MemoryAdd("likes a: b and c\\d")),
    ({"name": "memory_add", "fields": {"text": "x|y"}}, MemoryAdd("x|y")),
    ({"name": "memory_add", "fields": ["x|y"]}, MemoryAdd("x|y")),
    ({"name": "memory_add", "arguments": {"Text": "x"}}, MemoryAdd("x")),
    ({"name": "MEMORY_DELETE", "id": 7}, MemoryDelete(7)),
    ("CLAWMOTION:a crab|12|intro.mp4", Clawmotion("a crab", 12.0, "intro.mp4")),
    ("CLAWMOTION:a crab|1.5 seconds|out/intro.mp4", Clawmotion("a crab", 1.5, "intro.mp4")),
    ("CLAWMOTION:a crab|1:30", Clawmotion("a crab", 90.0)),
    ("CLAWMOTION:a crab|PT1M2.5S", Clawmotion("a crab", 62.5)),
    ({"name": "CLAWMOTION", "prompt": "x", "duration": 600}, Clawmotion("x", 600.0)),
]  # fmt: skip

REFUSED: list[tuple[object, str]] = [
    # names
    ("MEMORY_AD:x", "Did you mean MEMORY_ADD?"),
    ("RUN:rm -rf", "There is no panel action \"RUN\". There are CALENDAR_CREATE"),
    ("", "There is no panel action"),
    ("EVIL\x1b[2J:x", "\\x1b"),
    ({"text": "x"}, 'no "name"'),
    ({"name": 3, "text": "x"}, 'no "name"'),
    (None, "must be text such as"),
    (7, "must be text such as"),
    (["MEMORY_ADD", "x"], "must be text such as"),
    # how many
    ("MEMORY_ADD:a|b", "takes 1 field, but 2 came: MEMORY_ADD:text (a bar within a text is written \\|"),
    ("CALENDAR_CREATE:Tea | cake|Prompt|2026-02-28|||FREQ=DAILY", "takes 6 fields, but 7 came"),
    ({"name": "MEMORY_ADD", "fields": ["a", "b"]}, "takes 1 field, but 2 came"),
    ("MEMORY_ADD:" + "x" * 30_000, "too long: 30,011 characters"),
    ("MEMORY_ADD:" + "x" * 3_000, "text may have 2,000 characters at most, not 3,000"),
    ({"name": "MEMORY_ADD", **{f"k{n}": n for n in range(60)}}, "too many fields"),
    # what is missing or unknown
    ("MEMORY_ADD", "needs text. Its form is MEMORY_ADD:text"),
    ("MEMORY_ADD:  ", "needs text"),
    ("CALENDAR_CREATE:only a title", "needs prompt and start. Its form is CALENDAR_CREATE:title|prompt|start|[end]|["),
    ("CALENDAR_CREATE:||", "needs title, prompt and start"),
    ({"name": "CALENDAR_CREATE", "title": None, "prompt": "x", "start": "2026-01-01"}, "needs title"),
    ({"name": "MEMORY_ADD", "text": "x", "colour": "red"}, 'has no field "colour"'),
    (ASSET | {"url": "https://a.b", "file_type": "a", "fileType": "b"}, "file_type is there twice"),
    ({"name": "MEMORY_ADD", "text": "x", "fields": {"text": "y"}}, 'has no field "fields"'),
    ("CALENDAR_UPDATE:3", "changes nothing"),
    ("CALENDAR_UPDATE:|x", "needs id"),
    # kinds
    ("CALENDAR_DELETE:abc", "id must be the number of an entry"),
    ("CALENDAR_DELETE:0", "id must be"),
    ("CALENDAR_DELETE:-1", "id must be"),
    ("CALENDAR_DELETE:١٢", "id must be"),
    ({"name": "MEMORY_DELETE", "id": True}, "id must be"),
    ({"name": "MEMORY_DELETE", "id": 1.0}, "id must be"),
    ({"name": "MEMORY_DELETE", "id": 2**60}, "id must be"),
    ({"name": "MEMORY_ADD", "text": 5}, "text must be text, not a number"),
    ({"name": "MEMORY_ADD", "text": ["x"]}, "text must be text, not a list"),
    ({"name": "MEMORY_ADD", "text": False}, "text must be text, not true or false"),
    ("CALENDAR_CREATE:two\nlines|x|2026-01-01", "title must be on one line"),
    ("CALENDAR_CREATE:two\u2028lines|x|2026-01-01", "title must be on one line"),
    ("MEMORY_ADD:a\0b", "U+0000"),
    ("MEMORY_ADD:a\x1b[2Jb", "U+001B"),
    ("MEMORY_ADD:a\ud800b", "U+D800"),
    *[(CREATE + when, "start must be a date such as 2026-02-28") for when in (
        "tomorrow", "2026-02-30", "2026-13-01", "2026-02-28T25:00", "28.02.2026", "2026-02-28T09:00+99:00",
        "1772269200", "2026-02-28T09:00 Europe/Vienna", "٢٠٢٦-٠٢-٢٨",
    )],
    (CREATE + "9999-01-01", "start lies in a year that no calendar needs"),
    (CREATE + "0001-01-01T00:00+14:00", "start lies in a year"),
    (CREATE + "-", "start must be a date"),
    (CREATE + "2026-02-28||reddish-brown!", "color must be"),
    (CREATE + "2026-02-28|||FREQ=DAILY\nCOUNT=2", "repeat must be on one line"),
    *[("ASSET_REQUEST:x|" + url, f"url {why}") for url, why in (
        ("example.com/a", "must be a whole address"), ("ftp://example.com/a", "must be a whole address"),
        ("file:///etc/passwd", "must be a whole address"), ("https:///a", "must be a whole address"),
        ("https://", "must be a whole address"), ("https://./", "must be a whole address"),
        ("javascript:alert(1)", "must be a whole address"), ("https://[::1/", "must be a whole address"),
        ("https://a:99999/", "must be a whole address"), ("https://a:b/", "must be a whole address"),
        ("https://a:0/", "has a port that does not exist"), ("https://good.com@evil/", "must not hold a user name"),
        ("https://@evil/", "must not hold a user name"), ("https://good.com\\@evil/", "must not hold spaces"),
        ("https://a b/", "must not hold spaces"), ("https://a/\u202egpj", "must not hold spaces"),
        ("https://a/x\r\nHost: b", "must be on one line"), ("https://a/" + "x" * 2000, "may have 2,000 characters"),
    )],
    ("ASSET_REQUEST:x|https://a.b/|../x", "file_type must be"),
    *[(f"CLAWMOTION:x|{length}", "duration must be") for length in (
        "0", "-1", "601", "1e9", "nan", "inf", "soon", "PT", "0.0000001", "1:75", "11:00", "PT1H",
    )],
    *[({"name": "CLAWMOTION", "prompt": "x", "duration": length}, "duration must be") for length in (
        0, float("nan"), float("inf"), 10**400, True, [1],
    )],
    *[(f"CLAWMOTION:x|5|{name}", "output_file must be a plain name") for name in (
        "../a.mp4", "a/b.mp4", ".hidden", "-rf", "a.", "a\\\\b", "a\u202eb", "C:x",
    )],
]  # fmt: skip


@pytest.mark.parametrize(("entry", "action"), READS)
def test_what_a_model_writes_is_read(entry: object, action: Read) -> None:
    """Both forms give the same actions, whatever small liberties are taken."""
    assert read_action(entry) == action


@pytest.mark.parametrize(("entry", "words"), REFUSED)
def test_what_is_wrong_is_said(entry: object, words: str) -> None:
    """The sentence names the action, the field and the fix."""
    with pytest.raises(BadInput) as refused:
        read_action(entry)
    assert words in refused.value.message
    assert refused.value.message.isprintable()


def test_a_command_can_read_the_same_fields() -> None:
    """A name and a JSON object are enough, such as from a program in the cubicle."""
    asked = read_command("CALENDAR_LIST", {"to": "2026-03-01"}, REGISTRY.actions)
    assert asked.given == CalendarList(None, date(2026, 3, 1))


@pytest.mark.parametrize("schema", REGISTRY.actions.values(), ids=lambda schema: schema.name)
def test_the_table_fits_the_classes(schema: Any) -> None:
    """The fields of the table are those of the class, in order, and the needed ones come first."""
    assert [field.attribute for field in schema.fields] == list(schema.asked.__dataclass_fields__)
    needed = [field.is_required for field in schema.fields]
    assert needed == sorted(needed, reverse=True)


# --- for anything at all -------------------------------------------------------------------------------------------

_names = st.sampled_from(sorted(REGISTRY.actions))
_clear = st.just("-")
_scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | _clear | st.datetimes().map(str)
)
_keys = st.sampled_from(sorted({f.name for s in REGISTRY.actions.values() for f in s.fields} | {"fields", "name", "x"}))
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3), max_leaves=6
)
_objects = st.dictionaries(_keys, _values, max_size=7).flatmap(
    lambda fields: _names.map(lambda name: {**fields, "name": name})
)
_wild_text = st.text(alphabet=st.characters() | st.sampled_from("|\\:- 0129TZ+#"), max_size=60)
_texts = _names.flatmap(lambda name: _wild_text.map(lambda rest: f"{name}:{rest}"))

_plain = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])
_line = st.text(_plain | st.sampled_from("|\\:"), min_size=1, max_size=40).map(str.strip).filter(bool)
_prose = st.text(_plain | st.sampled_from("|\\:\n\t"), min_size=1, max_size=60).map(str.strip).filter(bool)
_offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
_walls = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31))  # noqa: DTZ001  # zones are drawn apart
_moments = st.builds(lambda wall, zone: wall.replace(tzinfo=zone), _walls, _offsets)
_when = st.dates(date(2, 1, 1), date(9998, 12, 31)) | _walls | _moments
_urls = st.from_regex(r"https://[a-z]{1,9}\.example/[a-z|]{0,9}", fullmatch=True)
_lengths = st.integers(1, 600_000_000).map(lambda n: round(n / 1_000_000, 6))
_ids = st.integers(1, 2**53 - 1)
_color = st.from_regex(r"#[0-9a-f]{6}|[a-z]{3,20}", fullmatch=True)
_repeat = _line.filter(lambda text: text != "-")
_actions: st.SearchStrategy[Read] = st.one_of(
    st.builds(CalendarCreate, _line, _prose, _when, st.none() | _when, st.just("") | _color, st.just("") | _line),
    st.builds(
        CalendarUpdate, _ids, _line, st.none() | _prose, st.none() | _when, st.none() | st.just(CLEARED) | _when,
        st.none() | st.just(CLEARED) | _color, st.none() | st.just(CLEARED) | _repeat,
    ),
    st.builds(CalendarDelete, _ids),
    st.builds(CalendarList, st.none() | _when, st.none() | _when),
    st.builds(AssetRequest, _prose, _urls, st.sampled_from(["", "pdf", "image/png"])),
    st.builds(MemoryAdd, _prose),
    st.builds(MemoryDelete, _ids),
    st.builds(Clawmotion, _prose, _lengths, st.sampled_from(["", "a.mp4"])),
)  # fmt: skip


def as_text(asked: ActionRequest) -> str:
    """``NAME:field|field``, escaped, without the empty fields at its end."""
    texts = ["" if value is None else write_value(value) for value in asked.values().values()]
    escaped = [text.replace("\\", "\\\\").replace("|", "\\|") for text in texts]
    while escaped and not escaped[-1]:
        escaped.pop()
    return f"{asked.action.name}:{'|'.join(escaped)}"


def outcome_of(entry: object) -> ActionRequest | BadInput:
    """The action that it means, or what is wrong with it."""
    try:
        return read_entry(entry, REGISTRY.actions)
    except BadInput as refused:
        return refused


@settings(max_examples=400)
@given(st.one_of(_texts, _objects, _values, _wild_text))
def test_nothing_else_comes_out(entry: object) -> None:
    """Whatever comes in becomes an action that reads as itself again, or a plain refusal."""
    outcome = outcome_of(entry)
    if isinstance(outcome, BadInput):
        assert outcome.message
        assert outcome.message.isprintable()
    else:
        assert read_entry(as_text(outcome), REGISTRY.actions) == outcome


@settings(max_examples=300)
@given(_actions)
def test_what_is_written_is_read_as_the_same(action: Read) -> None:
    """In both forms, with bars, backslashes and new lines in any text."""
    asked = ActionRequest(next(one for one in REGISTRY.actions.values() if one.asked is type(action)), action)
    assert read_action(as_text(asked)) == action
    assert read_action(as_object(asked)) == action
