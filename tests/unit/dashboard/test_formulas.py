"""Formulas: what is one and what is money, and that nothing else can come of them."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.growing import GrowingMarkdown
from dashboard.markdown import render_markdown
from dashboard.mathml import MAX_CHARS, render_formula
from tests.unit.dashboard.test_markdown import Reader

BITS = ["a", "1", "{", "}", "^", "_", "&", " ", "<b>", "&lt;", '"', "'", "$", "\\\\", "%", "\u202e"]
BITS += [f"\\{name}" for name in ("frac", "text{", "href{", "style{", "class{", "unicode{x", "left(", "right)", "sqrt")]
BITS += ["\\begin{matrix}", "\\end{matrix}", "\\color{red}", "\\hspace{99em}", "\\rule{9em}{99em}", "\\operatorname{a"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("the $x^2$ and $a$, $3x$, $10$", 4),
        (r"\(a\) and \[b\]", 2),
        ("$$\nx = 1\n- y\n= z\n$$\n\nend", 1),
        ("- an item\n\n  \\[\n  x\n  \\]", 1),
        ("in a line $$a$$ too", 1),
        (r"$\frac{1}{2}$-th", 1),
        ("$5 and $10, US$5, 5$ or $3-$4", 0),
        ("from $20k to $30k; $5.00/$7, $1,000–$2,000", 0),
        ("it was $5 (or about 7$ then)", 0),
        ("$HOME and $PATH, $HOME/bin:$PATH", 0),
        ("`$a$`", 0),
        ("```\n$$\na\n$$\n```", 0),
        (r"\$a\$", 0),
        ("$a", 0),
        ("$ a $", 0),
        ("$$$$", 0),
        ("$a\n\nb$", 0),
    ],
)
def test_formulas_are_told_from_prices(text: str, count: int) -> None:
    """And from variables of a shell."""
    html = render_markdown(text)
    Reader(html)
    assert html.count("<math ") == count


def test_a_formula_is_drawn_by_the_browser() -> None:
    """In a line, or on lines of its own."""
    html = render_markdown("A $x^2$ here.\n\n$$\nx_1\n$$")
    assert '<math display="inline"><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math></span> here.' in html
    assert re.search(r'<div class="formula" tabindex="0"><math display="block">.*<msub>', html)


@pytest.mark.parametrize(
    "latex", ["\\frac{", "^^", "\\newcommand{\\a}{b}\\a", "\\def\\a{b}", "x" * (MAX_CHARS + 1), "{" * 500]
)
def test_what_cannot_be_drawn_is_shown_as_it_was_written(latex: str) -> None:
    """Too long, broken, or with commands of its own."""
    assert render_formula(latex, is_block=False) is None
    assert Reader(render_markdown(f"\\({latex}\\)")).text.strip() in (latex, f"({latex})")


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{&lt;img src=x onerror=alert(1)&gt;}",
        r"\href{javascript:alert(1)}{x}",
        r"\style{position:fixed}{x}",
        r'\class{" onmouseover="alert(1)}{x}',
        r"\unicode{x3c}script\unicode{x3e}",
        r"\color{red;background:url(//e)}{x}",
        r"\mbox{$<b>$}",
        r"\hspace{99999em}\rule{500em}{500em}",
        r"\tag{<b>}",
    ],
)
def test_nothing_gets_out_of_a_formula(latex: str) -> None:
    """No element, no attribute, no address, no length that leads elsewhere."""
    html = render_formula(latex, is_block=True)
    if html is not None:
        Reader(html)
        assert not re.search(r"\d{2}e[mx]|href|\bstyle=|class|url|on\w+=", re.sub(r">[^<]*<", "><", html))


@given(st.lists(st.sampled_from(BITS), max_size=30).map("".join))
@settings(deadline=None)
def test_whatever_the_formula_only_the_allowed_goes_out(latex: str) -> None:
    """The library escapes nothing by itself."""
    for text in (f"\\({latex}\\)", f"$${latex}$$", f"$$\n{latex}\n$$", f"${latex}$"):
        Reader(render_markdown(text))
        grown = GrowingMarkdown().grow(text)
        Reader("".join(grown.blocks) if grown else "")


def test_no_formula_takes_long() -> None:
    """As many as a text may have, of the worst kinds."""
    started = time.thread_time()
    for piece in ("x'", "^", "{", "\\left(", "\\mbox{$a$", "\\sqrt"):
        for n in range(10):
            render_formula(piece * ((MAX_CHARS - n) // len(piece)), is_block=False)
    for piece in ("$a ", "\\(", "$$", "$$\n", "\\[\n", "$a$"):
        render_markdown(piece * (20_000 // len(piece)))
    assert time.thread_time() - started < 20
