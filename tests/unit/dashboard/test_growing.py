"""A reply while it is written: what is seen of it, piece by piece, and that it ends as the whole is laid out."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.growing import GrowingMarkdown, Grown
from dashboard.growing_replies import CHARS_A_SECOND, REST, GrowingReplies
from dashboard.markdown import MAX_CHARS, render_markdown
from orchestrator.core.models import CubicleKey, Event
from tests.unit.dashboard.test_markdown import Reader

KEY = CubicleKey("crab", 1)
TEXT = """# Title here

Some **bold**, *slanted* and `code`; [a link](https://example.org/a_b) and ~~old~~ words, `a ** b` & more.
A second line with ***both*** and snake_case_name, 2 * 3 * 4.

- one **b**
- two
  - nested `x`

1. first
2. second

| a | b |
|---|--:|
| 1 | **2** |

```python
def f(x):
    return "```", x
```

> quoted **words**

A formula $x^2$ or \\(a\\) costs $5.

$$
y = 1
- z
$$

- [x] ticked
- [ ] not yet

A title below
---

The end.
"""
BLOCKS = ["# Head", "plain *it* **b** `c`", "- a\n- b\n  - c", "1. x\n2. y", "> q\n> r", "```py\na = 1\n\nb\n```"]
BLOCKS += ["$$\na\n$$", "\\[\n b\n\\]", "a $x$ b $5", "- [x] a\n- [ ] b", "x \\(a\\)"]
BLOCKS += ["| a | b |\n|--|--|\n| 1 | 2 |", "---", "    code", "two\nlines", "t\n===", "[l](https://e.org) x", "***"]


def page_of(text: str, sizes: list[int]) -> list[str]:
    """The blocks that a page has after all pieces of a text, and that each piece fits to what is there."""
    growing, page, at = GrowingMarkdown(), list[str](), 0
    while at < len(text):
        at += sizes[at % len(sizes)]
        add(page, growing.grow(text[:at]))
    return page


def add(page: list[str], grown: Grown | None) -> None:
    """What a page does with news."""
    if grown is not None:
        assert grown.start <= len(page)
        page[grown.start :] = grown.blocks


def flat(html: str) -> str:
    """Without what stands between two blocks."""
    return re.sub(r">\s+<", "><", html).strip()


def test_no_mark_is_ever_seen() -> None:
    """Whatever is written so far, there is no half of a mark, no fence and no row of a table that is none yet."""
    growing, page = GrowingMarkdown(), list[str]()
    for n in range(1, len(TEXT) + 1):
        add(page, growing.grow(TEXT[:n]))
        seen = Reader("".join(re.sub(r"<code>.*?</code>", "", block, flags=re.DOTALL) for block in page)).text
        assert not re.search(r"\*\*|\*[a-z]|[a-z]\*|~~|`|\]\(|\||#|---|\$(?!5)|\\|\[", seen), (TEXT[:n][-20:], page[-1])
    assert flat("".join(page)) == flat(render_markdown(TEXT))


@given(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=8), st.lists(st.integers(1, 9), min_size=1))
@settings(max_examples=60, deadline=None)
def test_it_ends_as_the_whole_is_laid_out(blocks: list[str], sizes: list[int]) -> None:
    """However it came."""
    text = "\n\n".join(blocks) + "\n\nThe end."
    assert flat("".join(page_of(text, sizes))) == flat(render_markdown(text))


@given(
    st.text(alphabet=st.sampled_from(list("[]()!<>*_`~|#-:\\/\"'&;= \n\nahtps.$1x")), max_size=80), st.integers(1, 7)
)
@settings(max_examples=100, deadline=None)
def test_whatever_comes_only_the_allowed_goes_out(text: str, size: int) -> None:
    """Also of what is half written, and each block is one element, so that a page can count them."""
    for block in page_of(text, [size]):
        Reader(block)
        assert re.fullmatch(r"<(\w+).*(</\1>|<hr ?/?>)|<hr ?/?>", block, re.DOTALL), block


def test_complete_blocks_are_told_once() -> None:
    """What comes after them leaves them alone, however long the reply gets."""
    growing, sent = GrowingMarkdown(), 0
    text = "".join(f"Paragraph {n} with **some** words in it.\n\n" for n in range(200))
    for n in range(0, len(text), 40):
        grown = growing.grow(text[:n])
        sent += sum(map(len, grown.blocks)) if grown else 0
    assert sent < 5 * len(text)


def test_another_text_is_told_from_its_beginning() -> None:
    """So is one that is too long to be laid out, and one that is again."""
    growing = GrowingMarkdown()
    growing.grow("a\n\nb\n\nc")
    assert growing.grow("x") == Grown(0, ("<p>x</p>",))
    growing.grow("a\n\nb\n\nc")
    long = growing.grow("a\n\nb\n\nc" + "x" * MAX_CHARS)
    assert long is not None
    assert (long.start, len(long.blocks)) == (0, 1)
    assert growing.grow("a\n\nb") == Grown(0, ("<p>a</p>", "<p>b</p>"))
    assert growing.grow("a\n\nb") is None


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a [li", "a li"),
        ("a [link](https://exa", "a link"),
        ("a ![pic](https://exa", "a pic"),
        ("see `co", "see co"),
        ("**a *b", "a b"),
        ("x ***", "x"),
        ("words\n-", "words"),
        ("words\n```py", "words"),
        ("- a\n- [x", "a"),
        ("a &am", "a"),
        ("| a | b |\n|--|--", ""),
        ("a \\", "a"),
        ("a $x^", "a"),
        ("a $5", "a $5"),
        ("a \\(x", "a"),
        ("$$\na\n- b", ""),
        ("$$", ""),
        ("5 * 3", "5 * 3"),
        ("a_b_c", "a_b_c"),
    ],
)
def test_what_is_unfinished_is_seen_without_its_marks(text: str, seen: str) -> None:
    """As words, or not at all while it could become anything."""
    grown = GrowingMarkdown().grow(text)
    assert Reader("".join(grown.blocks) if grown else "").text.strip() == seen


def delta(turn: int, text: str) -> Event:
    """A reply stands so."""
    return Event("delta", KEY, {"turn": turn, "text": text})


def test_a_page_is_told_blocks_and_all_other_news() -> None:
    """A reply after a step is another one, and is told from its beginning even if it begins in the same way."""
    now = itertools.count()
    replies = GrowingReplies(lambda: next(now), lambda: 0.0)
    (first,) = replies.render([delta(1, "a\n\nb")])
    assert first.body == {"turn": 1, "from": 0, "blocks": ["<p>a</p>", "<p>b</p>"]}
    step = Event("step", KEY, {"turn": 1})
    assert list(replies.render([step])) == [step]
    (second,) = replies.render([delta(1, "a\n\nb\n\nc")])
    assert second.body["from"] == 0


def test_rendering_rests_and_then_tells_the_newest() -> None:
    """After some work nothing is rendered for a while, and nothing is lost by that."""
    now, spent = [0.0], iter([0.0, 2.0, 2.0, 2.0])
    replies = GrowingReplies(lambda: now[0], lambda: next(spent))
    assert len(list(replies.render([delta(1, "a")]))) == 1
    assert list(replies.render([delta(1, "a b")])) == []
    assert list(replies.render([delta(1, "a b c")])) == []
    assert replies.wait_s(60.0) == 2.0 * REST + len("<p>a</p>") / CHARS_A_SECOND
    now[0] = 3.0 * REST
    (told,) = replies.render([])
    assert told.body["blocks"] == ["<p>a b c</p>"]
    assert replies.wait_s(60.0) == 60.0
