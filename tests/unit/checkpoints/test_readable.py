"""``orchestrator.checkpoints.readable``: what differs between two texts, to be read."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.checkpoints.readable import MAX_BYTES, compare_texts
from tests.fuzzing import bounded


def shown(old: str, new: str) -> list[str] | None:
    """Each line with its sign."""
    lines = compare_texts(old.encode(), new.encode())
    return None if lines is None else [f"{line.sign}{line.text}" for line in lines]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("", "", []),
        ("a\n", "a\n", []),
        ("", "a\nb\n", ["@@@ -0,0 +1,2 @@", "+a", "+b"]),
        ("a\nb\n", "", ["@@@ -1,2 +0,0 @@", "-a", "-b"]),
        ("a\nb\nc\n", "a\nB\nc\n", ["@@@ -1,3 +1,3 @@", " a", "-b", "+B", " c"]),
        ("a", "a\n", []),
        (
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
            ["@@@ -2,7 +2,7 @@", " 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"],
        ),
    ],
)
def test_it_reads_like_a_unified_diff(old: str, new: str, lines: list[str]) -> None:
    """A few lines around what differs, and where that is."""
    assert shown(old, new) == lines


@pytest.mark.parametrize(
    ("old", "new"), [(b"a\0b", b"x"), (b"x", b"\xff\xfe"), (b"x" * (MAX_BYTES + 1), b"x"), (b"", b"\0")]
)
def test_what_is_no_text_is_not_compared(old: bytes, new: bytes) -> None:
    """Nor what is too long."""
    assert compare_texts(old, new) is None


def test_texts_that_differ_everywhere_cost_little() -> None:
    """Such lines would take a comparison minutes: they are shown as gone and come."""
    old, new = "".join(f"{n % 7}\n" for n in range(9_000)), "".join(f"{(n + 1) % 5}\n" for n in range(8_000))
    lines = shown("same\n" + old + "x\nend\n", "same\n" + new + "y\nend\n")
    assert lines is not None
    assert lines[:2] == ["@@@ -1,9003 +1,8003 @@", " same"]
    assert (sum(line[0] == "-" for line in lines), sum(line[0] == "+" for line in lines)) == (9_001, 8_001)
    assert lines[-1] == " end"


_LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-", "+"]), max_size=40)


@bounded(200)
@given(_LINES, _LINES)
def test_both_texts_are_in_it(old: list[str], new: list[str]) -> None:
    """What went and what stayed is the old text where it differs, what came and what stayed the new one."""
    before, after = "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new)
    lines = shown(before, after)
    assert lines is not None
    patched = list(difflib.unified_diff(old, new, lineterm="", n=3))[2:]
    assert [line for line in lines if line[0] in "-+ "] == [line for line in patched if not line.startswith("@@")]
