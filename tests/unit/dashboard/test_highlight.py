"""Colours of code: that they are there, and that nothing else comes of a hostile text, nor in a long time."""

from __future__ import annotations

import html
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.highlight import _LEXERS, MAX_CHARS, MAX_LINE_CHARS, highlight_code

TRICKY = list("()[]{}<>\"'`/\\*#$@%=-+;:,.|&!~^_ \n\t01aexrfb\u2028\u00e9\u202e\0")


def marked(code: str, language: str) -> dict[str, str]:
    """By class, the first words that have it."""
    found = re.findall(r'<span class="t-(.)">(.*?)</span>', highlight_code(code, language), re.DOTALL)
    return {kind: html.unescape(text).strip() for kind, text in reversed(found)}


@pytest.mark.parametrize(
    ("language", "code", "seen"),
    [
        (
            "python",
            "def f(x):\n    return 'a' + str(1)  # c",
            {"k": "def", "f": "f", "s": "'a'", "b": "str", "n": "1", "c": "# c"},
        ),
        ("JS", 'const a = "b"; // c', {"k": "const", "s": '"b"', "c": "// c"}),
        ("diff", "-old\n+new\n", {"d": "-old", "s": "+new"}),
        ("c++", "/* a */ int main(void) { return 1; }", {"c": "/* a */", "k": "int", "f": "main", "n": "1"}),
        ("java", "@Override class A { }", {"f": "@Override", "k": "class"}),
        ("cobol", "ADD 1 TO X.", {}),
        ("", "if x", {}),
    ],
)
def test_words_are_marked_by_what_they_are(language: str, code: str, seen: dict[str, str]) -> None:
    """In the languages that are known; others are plain."""
    assert marked(code, language) == seen


@given(st.text(alphabet=st.sampled_from(TRICKY), max_size=60), st.sampled_from(sorted(_LEXERS)))
@settings(deadline=None)
def test_what_comes_out_are_the_characters_that_went_in(code: str, language: str) -> None:
    """Escaped, between spans of ours and nothing else."""
    out = highlight_code(code, language)
    text = re.sub(r'<span class="t-[kbsnfcd]">|</span>', "", out)
    assert not set("<>\"'") & set(text)
    assert html.unescape(text.replace("\0", "")) == code.replace("\0", "")


def test_what_could_take_long_is_plain() -> None:
    """Long code, and code with a very long line."""
    for code in ("a = 1\n" * (MAX_CHARS // 6 + 1), '"' * (MAX_LINE_CHARS + 1)):
        assert "<span" not in highlight_code(code, "python")


@pytest.mark.parametrize("piece", ["\n", "a  ", "fun ", "<!--", "/*", "0_", "(", '"""', "`${", "<?php $"])
def test_no_text_takes_long(piece: str) -> None:
    """Those that are worst for one lexer or another; on blank lines, several of Pygments' take seconds."""
    code = (piece * 300 + "\n") * 40
    started = time.thread_time()
    for language in sorted(set(_LEXERS.values())):
        highlight_code(code[:MAX_CHARS], next(word for word, name in _LEXERS.items() if name == language))
    assert time.thread_time() - started < 20
