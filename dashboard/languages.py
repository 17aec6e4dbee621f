"""The language of the page that is being made: the person's choice, else this browser's (a cookie), else what the
browser asks for, else English. Programs get English.
"""

from __future__ import annotations

from typing import Any

from flask import Flask, current_app, g, has_request_context, request

from dashboard.cookies import chosen_language
from orchestrator.languages.choice import choose_language
from orchestrator.languages.numbers import respell_numbers, write_number
from orchestrator.languages.speech import IN_ENGLISH, SpokenLanguage, SpokenLanguages
from orchestrator.languages.table import Language
from orchestrator.languages.told import to_say

__all__ = [
    "attach_languages",
    "number",
    "offered_languages",
    "page_speech",
    "say",
    "say_as",
    "say_many",
    "say_reason",
    "size",
    "speech",
    "to_say",
]

_KEY = "hermitshell.languages"


def attach_languages(app: Flask, speeches: SpokenLanguages) -> None:
    """Pages of ``app`` are in these languages; templates say ``_("…")`` and ``{% trans %}``."""
    app.extensions[_KEY] = speeches
    app.jinja_env.add_extension("jinja2.ext.i18n")
    app.jinja_env.policies["ext.i18n.trimmed"] = True
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]  # the extension adds it
        lambda text: speech().lookup(text),
        lambda one, many, count: speech().lookup_many(one, many, count),
        newstyle=True,
        pgettext=lambda context, text: speech().lookup_as(context, text),
    )
    app.context_processor(
        lambda: {"language": speech().language, "languages": offered_languages(), "own_language": _own_choice()}
    )


def offered_languages() -> tuple[Language, ...]:
    """What a person may choose from."""
    return _speeches().languages


def speech() -> SpokenLanguage:
    """That of this answer: English for the API, and where nobody asks."""
    is_page = has_request_context() and not request.path.startswith("/api/")
    return page_speech() if is_page else IN_ENGLISH


def page_speech() -> SpokenLanguage:
    """That of the page which asks, for what the API tells a page."""
    found = g.get("speech")
    if not isinstance(found, SpokenLanguage):
        found = g.speech = _speeches().of(_choose())
    return found


def say(text: str, /, **about: Any) -> str:
    """The text in the page's language, with ``%(name)s`` filled in."""
    return speech().say(text, **about)


def say_many(one: str, many: str, count: int, /, **about: Any) -> str:
    """The text for so many."""
    return speech().say_many(one, many, count, **about)


def say_as(context: str, text: str, /, **about: Any) -> str:
    """A text that means two things in English."""
    return speech().say_as(context, text, **about)


def number(count: float) -> str:
    """``1,234``, as the language of the page has it."""
    return write_number(count, speech().language)


def size(text: str) -> str:
    """An amount of bytes that was written in English, such as ``1.4 kB`` or ``24 bytes``."""
    count, _, unit = text.partition(" ")
    if unit in {"byte", "bytes"}:
        return say("%(count)s bytes", count=count) if unit == "bytes" else say("%(count)s byte", count=count)
    return respell_numbers(text, speech().language)


def say_reason(reason: str, text: str = "") -> str:
    """Why a person is asked about ``text``: ``It deletes files: rm a.``, in the page's language; what it quotes is left
    out where that is all of the text."""
    what, _, piece = reason.removesuffix(".").partition(": ")
    if not piece or piece == text.strip():
        return say("%(what)s.", what=say(what))
    return say("%(what)s: %(piece)s.", what=say(what), piece=piece)


def _speeches() -> SpokenLanguages:
    found = current_app.extensions[_KEY]
    assert isinstance(found, SpokenLanguages)  # noqa: S101 - ``attach_languages`` put it there
    return found


def _choose() -> str:
    asker, tags = g.get("asker"), [language.tag for language in offered_languages()]
    if asker is not None and not asker.session:
        return tags[0]
    own = _own_choice()
    return own if own in tags else choose_language(request.accept_languages, tags)


def _own_choice() -> str:
    """What was chosen, here or by the person; empty for what the browser asks for."""
    asker = g.get("asker")
    return (asker.user.language if asker is not None else "") or chosen_language()
