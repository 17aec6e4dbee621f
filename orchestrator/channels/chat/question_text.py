"""What an agent asks its person, in words: under the install's line, as a quote in which nothing hides and nothing
can be tapped; how to answer, and how it ended. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.capabilities.ask.questions import ANSWERED, EXPIRED, Question
from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.message import MessageButton
from orchestrator.channels.chat.rich_text import RichText, TextEntity, normalize_entities, utf16_len
from orchestrator.channels.chat.system_text import (
    NOT_THE_MARK,
    QuotedText,
    format_clock,
    show_foreign,
    system_note,
    unlink_text,
)
from orchestrator.core.models import User
from orchestrator.core.text import escape_invisible, one_line

_LONG_UNITS, _BEGINNING_UNITS = 2_500, 500
_LABEL_CHARS = 60
_SHORT_CHARS = 14
_ANSWER_CHARS = 300
_NAME_CHARS = 60
_TOAST_CHARS = 120


def asked_body(question: Question, called: str, reader: User, now: float, *, conversation: str = "") -> RichText:
    """The question of an agent that is so called, and how to answer it; with the name of a conversation, in which one
    it was asked."""
    until = format_clock(question.expires_at, reader.time_zone, now)
    named = show_foreign(QuotedText(conversation, _NAME_CHARS)) if conversation else ""
    title = f"{called} has a question" + (f" in “{unlink_text(named)}”" if named else "")
    return _laid_out(question, title, f"{_how(question)} It expires at {until}.")


def ended_body(question: Question, called: str, reader: User | None) -> RichText:
    """What was asked, and how that ended."""
    at = question.answered_at or question.asked_at
    when = format_clock(at, "UTC" if reader is None else reader.time_zone, at)
    title = f"{called} asked"
    by = one_line(question.answered_by or "somebody", 100).replace(MARK, NOT_THE_MARK)
    if question.status == ANSWERED:
        answer = show_foreign(QuotedText(question.answer or "", _ANSWER_CHARS))
        return _laid_out(question, title, f"Answered by {by}, {when}: ", answer)
    if question.status == EXPIRED:
        return _laid_out(question, title, "Nobody answered in time.")
    return _laid_out(question, title, f"No answer is needed anymore ({by}).")


def taken_note(question: Question, called: str) -> RichText:
    """To words that were no reply: what they were taken for."""
    return system_note(
        "Answer received",
        (f"{called} had asked: ", QuotedText(question.text, 120)),
    )


def unfit_note(question: Question, called: str, why: str) -> RichText:
    """To a reply that can't be the answer."""
    return system_note(
        "That is not one of the answers" if question.choices else "That can't be the answer",
        QuotedText(why.removeprefix("answer: "), 400),
        f"To tell {called} something else, write it without replying.",
    )


def toast_text(question: Question) -> str:
    """What stands over the chat after a press."""
    return f"Answered: {one_line(question.answer or '', _TOAST_CHARS)}"


def button_label(choice: str) -> str:
    """A choice on its button."""
    return one_line(choice, _LABEL_CHARS).replace(MARK, NOT_THE_MARK).strip() or "(blank)"


def in_rows(buttons: Sequence[MessageButton]) -> tuple[tuple[MessageButton, ...], ...]:
    """Short ones three in a row, others each in its own."""
    wide = 3 if all(len(button.text) <= _SHORT_CHARS for button in buttons) else 1
    return tuple(tuple(buttons[n : n + wide]) for n in range(0, len(buttons), wide))


def is_choice(question: Question, text: str) -> bool:
    """These words are one of its choices."""
    return text.strip().casefold() in {choice.strip().casefold() for choice in question.choices}


def whole_text(question: Question) -> str:
    """The question with everything that is invisible written out."""
    return escape_invisible(question.text)


def is_long(question: Question) -> bool:
    """It goes as a file, with its beginning in the message."""
    return utf16_len(whole_text(question)) > _LONG_UNITS


def _how(question: Question) -> str:
    if not question.choices:
        return "Reply to this message with your answer."
    return "Tap an answer, or reply to this message with your own." if question.free_text else "Tap an answer."


def _laid_out(question: Question, title: str, ending: str, answer: str = "") -> RichText:
    """The quote between the install's two lines."""
    words = unlink_text(whole_text(question).replace(MARK, NOT_THE_MARK)).strip() or "(nothing)"
    if is_long(question):
        units = words.encode("utf-16-le", "replace")[: 2 * _BEGINNING_UNITS]
        words = units.decode("utf-16-le", "ignore").rstrip() + "…"
        ending = f"The whole question is in the file above. {ending}"
    head = f"{MARK} {title}"
    text = f"{head}\n{words}\n\n{ending}{answer}"
    at = utf16_len(head) + 1
    entities = [TextEntity("bold", 0, utf16_len(head)), TextEntity("blockquote", at, utf16_len(words))]
    if answer:
        entities.append(TextEntity("code", utf16_len(text) - utf16_len(answer), utf16_len(answer)))
    return RichText(text, normalize_entities(text, tuple(entities)))
