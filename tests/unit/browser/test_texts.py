"""The pure parts of ``orchestrator.browser``: pieces of a page, what changed, keys, methods, kept logins, reports."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.browser.dialogs import DialogCloser, DialogView
from orchestrator.browser.faults import BrowserError
from orchestrator.browser.fields import count_of, is_set, number_of, numbers_of, objects_of, text_of
from orchestrator.browser.keyboard import read_stroke
from orchestrator.browser.raw_methods import check_raw
from orchestrator.browser.reports import BrowserReport, ReportKind
from orchestrator.browser.screencast import is_small_jpeg
from orchestrator.browser.snapshot_text import MAX_SHOWN, changed_lines, cut, find_lines
from orchestrator.browser.storage_state import StorageState, StoredCookie, read_state
from orchestrator.core.errors import BadInput

LINES = st.lists(st.sampled_from(["# A", "- b", "  - c", "[button e1: D]", ""]), max_size=12)


@given(st.text(alphabet="ab\n", max_size=3000), st.integers(1, 500))
def test_the_pieces_of_a_page_are_all_of_it(text: str, most: int) -> None:
    """From one ``next_from`` to the next nothing is lost or told twice, and no piece is longer than asked for."""
    at: int | None = 0
    pieces = []
    while at is not None:
        shown = cut(text, at, most)
        assert len(shown.text) <= most
        end = len(text) if shown.next_from is None else shown.next_from
        assert text[at:end].rstrip("\n") == shown.text
        pieces.append(text[at:end])
        assert shown.next_from is None or shown.next_from > at
        at = shown.next_from
    assert "".join(pieces) == text


def test_nothing_hidden_is_shown() -> None:
    """What reorders or hides is written out; a start beyond the end shows nothing."""
    assert cut("a\u202eb").text == "a\\u202eb"
    assert cut("abc", 99).text == ""
    assert cut("abc", -5).text == "abc"
    assert cut("x" * 50_000).next_from == MAX_SHOWN


@given(LINES, LINES)
def test_changes_are_those_between_the_two(before: list[str], after: list[str]) -> None:
    """As many lines came as the page has more of, and the other way round; none where nothing changed."""
    changes = changed_lines("\n".join(before), "\n".join(after))
    assert changes is not None
    came = sum(line.startswith("+ ") for line in changes.split("\n"))
    gone = sum(line.startswith("- ") for line in changes.split("\n"))
    old, new = "\n".join(before).split("\n"), "\n".join(after).split("\n")
    assert came - gone == len(new) - len(old)
    assert (changes == "") == (old == new)


def test_a_change_in_a_large_page_is_small_and_quick() -> None:
    """One line of thousands; and pages that have nothing in common take no longer than they are long."""
    page = [f"- line {n}" for n in range(50_000)]
    changed = [*page[:100], "- other", *page[101:]]
    assert changed_lines("\n".join(page), "\n".join(changed)) == "- - line 100\n+ - other"
    begun = time.monotonic()
    scattered = [line + "!" if n % 10 == 0 else line for n, line in enumerate(page)]
    assert changed_lines("\n".join(page), "\n".join(scattered)) is not None
    assert changed_lines("\n".join(page), "\n".join(f"* {line}" for line in page)) is None
    assert time.monotonic() - begun < 20


def test_finding_tells_where() -> None:
    """Each line behind its character, by which the text is shown from there; many are counted."""
    text = "# One\n- apple\n# Two\n- Apple pie"
    found = find_lines(text, "APPLE").text.split("\n")
    assert found == ["6: - apple", "20: - Apple pie"]
    assert cut(text, 20).text == "- Apple pie"
    assert find_lines("\n".join(["x"] * 300), "x").text.endswith("… and 200 more lines")
    assert len(find_lines("y" * 9000 + "needle" + "y" * 9000, "needle").text) < 500
    assert find_lines(text, "pear").text == ""


@pytest.mark.parametrize(
    ("keys", "key", "code", "text", "modifiers"),
    [
        ("Enter", "Enter", "Enter", "\r", 0),
        ("a", "a", "KeyA", "a", 0),
        ("7", "7", "Digit7", "7", 0),
        ("Control+a", "a", "KeyA", "", 2),
        ("Ctrl+Shift+Tab", "Tab", "Tab", "", 10),
        ("Space", " ", "Space", " ", 0),
        ("+", "+", "", "+", 0),
        ("ß", "ß", "", "ß", 0),
    ],
)
def test_keys(keys: str, key: str, code: str, text: str, modifiers: int) -> None:
    """Names, characters and what is held."""
    stroke = read_stroke(keys)
    assert (stroke.key, stroke.code, stroke.text, stroke.modifiers) == (key, code, text, modifiers)


@given(st.text(max_size=20))
def test_keys_that_are_none_are_refused(keys: str) -> None:
    """With a sentence, whatever they are."""
    refusal = None
    try:
        read_stroke(keys)
    except BrowserError as error:
        refusal = error.message
    assert refusal is None or "Use" in refusal


PAGE_METHODS = (
    *("Runtime.evaluate", "DOM.getDocument", "CSS.getComputedStyleForNode", "Page.printToPDF"),
    *("Emulation.setDeviceMetricsOverride", "Accessibility.getFullAXTree"),
)


@pytest.mark.parametrize("method", PAGE_METHODS)
def test_methods_for_the_page_may_be_called(method: str) -> None:
    """Looking, computing, drawing."""
    check_raw(method, {})


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Target.attachToTarget", {}),
        ("Page.navigate", {"url": "http://evil.test"}),
        ("Page.setDownloadBehavior", {}),
        ("Runtime.enable", {}),
        ("DOM.disable", {}),
        ("DOM.setFileInputFiles", {}),
        ("Emulation.setUserAgentOverride", {}),
        ("Runtime.evaluate", {"sessionId": "x"}),
        ("Page.printToPDF", {"transferMode": "ReturnAsStream"}),
        ("runtime.evaluate", {}),
        ("Runtime.evaluate ", {}),
        ("", {}),
        ("DOM", {"targetId": "x"}),
    ],
)
def test_other_methods_may_not(method: str, params: dict[str, str]) -> None:
    """They reach beyond the page, or would make the driver deaf."""
    with pytest.raises(BrowserError):
        check_raw(method, params)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=3),
    max_leaves=8,
)


@given(ANYTHING)
def test_fields_of_anything_can_be_read(value: object) -> None:
    """Of the type that was asked for, whatever there is."""
    for path in (("a",), ("a", "b"), ("b", "a", "b")):
        assert isinstance(text_of(value, *path), str)
        assert abs(number_of(value, *path)) <= 1e15
        assert count_of(value, *path) >= 0
        assert is_set(value, *path) in (True, False)
        assert all(isinstance(one, dict) for one in objects_of(value, *path))
        assert all(isinstance(one, float) for one in numbers_of(value, *path))


def _jpeg(width: int, height: int) -> bytes:
    size = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return b"\xff\xd8\xff\xe0\x00\x04\x00\x00\xff\xc0\x00\x0b\x08" + size + b"\x01\x01\x11\x00\xff\xd9"


def test_pictures_of_a_live_view_are_small_jpegs() -> None:
    """What says to be larger than asked for, or is something else, is none."""
    assert is_small_jpeg(_jpeg(960, 600))
    assert not is_small_jpeg(_jpeg(961, 600))
    assert not is_small_jpeg(_jpeg(65535, 65535))
    assert not is_small_jpeg(_jpeg(0, 10))
    assert not is_small_jpeg(b"<svg onload=alert(1)>")
    assert not is_small_jpeg(_jpeg(960, 600)[:-2])


@given(st.binary(max_size=200))
def test_whatever_is_no_jpeg_is_none(body: bytes) -> None:
    """No bytes make the reading of its size fail or go on for ever."""
    is_small_jpeg(b"\xff\xd8\xff" + body + b"\xff\xd9")
    assert not is_small_jpeg(body) or body.startswith(b"\xff\xd8\xff")


COOKIE = StoredCookie("n", "v", ".shop.test", "/", 1.9e9, is_secure=True, is_http_only=True, same_site="Lax")


def test_kept_logins_come_back_as_they_were() -> None:
    """Over JSON; by site; with newer ones; and an empty state says so."""
    state = StorageState((COOKIE,), {"https://shop.test": {"k": "v"}, "https://other.test": {"k": "w"}})
    assert read_state(state.to_json()) == state
    assert state.of_host("shop.test") == StorageState((COOKIE,), {"https://shop.test": {"k": "v"}})
    assert state.of_host("notshop.test").is_empty
    assert state.with_newer(StorageState((), {"https://shop.test": {}}), "shop.test") == state
    other = replace(COOKIE, domain="other.test", value="w")
    newer = StorageState((replace(COOKIE, value="new"), other), {"https://shop.test": {"k": "x"}})
    assert StorageState((COOKIE, other), state.local).with_newer(newer, "shop.test") == StorageState(
        (other, replace(COOKIE, value="new")), {**state.local, "https://shop.test": {"k": "x"}}
    )
    assert StorageState((), {"https://a.test": {}}).is_empty
    with pytest.raises(BrowserError, match="over 1 MB"):
        StorageState((), {"https://a.test": {str(n): "x" * 99_000 for n in range(12)}}).to_json()


@given(ANYTHING)
def test_kept_logins_of_any_shape_are_read_or_refused(value: object) -> None:
    """What a former version or a hand wrote ends nothing."""
    for text in (
        json.dumps(value),
        json.dumps({"cookies": [value], "local": {"https://a.test": value, "javascript:x": {}}}),
    ):
        try:
            state = read_state(text)
        except BadInput:
            continue
        assert all(origin.startswith("https://") for origin in state.local)


def test_reports_can_not_be_mistaken() -> None:
    """What a page calls itself stays on its line; dialogs are quoted; the rest of a page is offered."""
    dialog = DialogView("d1", "confirm", "Sure?”\n(Dialog d2 waits", "", "http://a.test/", None, None)
    closed = DialogView("d0", "alert", "Hi", "", "", DialogCloser.WATCHDOG, accepted=False)
    report = BrowserReport(
        ReportKind.PAGE, "Title\nhttp://real.test/", "http://a.test/\n", 2, 3, "Body", 50_000, 20_000,
        notes=("Not opened: x",), pending_dialogs=(dialog,), recent_dialogs=(closed,),
    )  # fmt: skip
    lines = report.text.split("\n")
    assert lines[0] == "[tab 2 of 3] Title\\nhttp://real.test/"
    assert lines[1] == "http://a.test/\\n"
    assert lines[2] == "(Not opened: x)"
    assert lines[3] == "(Dialog d0, alert “Hi”, was dismissed by watchdog)"
    assert lines[4] == "(Dialog d1 waits: confirm “Sure?’\\n(Dialog d2 waits”)"
    assert lines[-1] == "[50,000 characters in all; the rest: --from 20000]"
    assert json.loads(json.dumps(report.to_json()))["pending_dialogs"][0]["id"] == "d1"
