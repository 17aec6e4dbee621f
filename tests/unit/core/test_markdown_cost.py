"""What a hostile answer can make of laying out its Markdown: next to nothing, and no word of it is lost."""

from __future__ import annotations

import time

import pytest

from dashboard import markdown
from orchestrator.channels.telegram.format import markdown as telegram_markdown
from orchestrator.core.markdown_cost import is_costly

LENGTH = 99_000
SHAPES = {
    "stars": "*a ",
    "bold": "**a** ",
    "open bold": "**a ",
    "underscores": "_a",
    "brackets": "[",
    "nested brackets": "[[a]",
    "half links": "[a](",
    "links": "[a](b) ",
    "pictures": "![a](b)",
    "ticks": "`a``b```c",
    "tags": "<a>",
    "quotes": "> a\n",
    "deep quotes": ">" * 200 + "a\n",
    "lists": "- a\n",
    "headings": "# a\n",
    "underlined": "a\n=\n",
    "rows": "|a|b|\n",
    "definitions": "[a]: http://x\n",
    "escapes": "\\*",
    "entities": "&amp;",
}


def _texts() -> dict[str, str]:
    found = {name: (shape * LENGTH)[:LENGTH] for name, shape in SHAPES.items()}
    wide = "|a" * 700 + "|\n" + "|-" * 700 + "|\n"
    found["a wide table of short rows"] = wide + "|\n" * ((LENGTH - len(wide)) // 2)
    return found


@pytest.mark.parametrize("text", _texts().values(), ids=_texts())
def test_no_answer_takes_long(text: str) -> None:
    """Seconds each, before; the bound is ten times what it takes."""
    began = time.process_time()
    page = markdown.render_markdown.__wrapped__(text)
    message = telegram_markdown.render_markdown(text)
    assert time.process_time() - began < 5
    assert page.count("a") >= text.count("a")
    assert message.text.count("a") >= text.count("a")


def test_a_long_honest_answer_is_laid_out() -> None:
    """Sixty thousand characters of prose, lists and code."""
    part = "## A heading\n\nSome words with **weight** and a [link](https://example.com), then:\n\n- one\n- two\n\n"
    code = "```python\nfor name in names:\n    print(f'{name}: {values[name]}')\n```\n\n"
    text = ((part + "Plain words follow here, as they do. " * 12 + code) * 200)[:60_000]
    assert not is_costly(text)
    assert "<strong>weight</strong>" in markdown.render_markdown(text)
