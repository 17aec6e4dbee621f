"""What a conversation is called before its person names it: its first words. Pure."""

from __future__ import annotations

from orchestrator.core.text import one_line
from orchestrator.files.attachments import split_prompt

MAX_CHARS = 60
_MOST_READ = 1_000


def make_title(prompt: str) -> str:
    """The first words of a message on one line, cut after a word where there is one to cut after; the name of its first
    file where it has no words.
    """
    text, files = split_prompt(prompt)
    if not text.strip() and files:
        text = files[0].path.removeprefix("in/")
    words = one_line(" ".join(text[:_MOST_READ].split()), _MOST_READ)
    if len(words) <= MAX_CHARS:
        return words
    cut = words[: MAX_CHARS - 1]
    at = cut.rfind(" ")
    return f"{cut[:at] if at > MAX_CHARS // 2 else cut}…"
