"""Reading a long question in the chat, a page at a time: who approves has had all of it before their eyes. Pure.

The file above holds it too, but nobody can tell whether a file was opened; the buttons that agree stand under the last
page alone.
"""

from __future__ import annotations

from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.approval_text import MOST_PAGES, PAGE_UNITS, ApprovalQuestion
from orchestrator.channels.chat.rich_text import RichText, TextEntity, normalize_entities, utf16_len
from orchestrator.channels.chat.system_text import NOT_THE_MARK, laid_out


def split_pages(question: ApprovalQuestion) -> list[str]:
    """The exact text, everything invisible written out, in pages; put together they are all of it."""
    found, rest = [], question.shown.replace(MARK, NOT_THE_MARK)
    while rest:
        page = rest.encode("utf-16-le", "replace")[: 2 * PAGE_UNITS].decode("utf-16-le", "ignore")
        found.append(page)
        rest = rest[len(page) :]
    return found


def is_readable(question: ApprovalQuestion) -> bool:
    """It has few enough pages to be read here."""
    return 0 < len(split_pages(question)) <= MOST_PAGES


def page_text(question: ApprovalQuestion, number: int) -> RichText:
    """Page ``number``, from 1, as a message."""
    every = split_pages(question)
    title = f"{question.agent} asks: {question.kind.asks} Page {number} of {len(every)}"
    ending = question.kind.unless if number == len(every) else "Continued. Approve is below the last page."
    head, page = laid_out(title, []), every[number - 1]
    start, units = head.units + 1, utf16_len(page)
    text = f"{head.text}\n{page}\n{ending}"
    return RichText(text, normalize_entities(text, (*head.entities, TextEntity("pre", start, units))))
