"""How templates write times, money and texts of agents."""

from __future__ import annotations

import time

from flask import Flask
from markupsafe import Markup

from dashboard import ages, csrf
from dashboard.auth import Asker, require_asker
from dashboard.cookies import chosen_theme
from dashboard.markdown import render_markdown
from dashboard.marks import mark_hidden
from dashboard.pages.text_faces import dress_source
from dashboard.services import get_services, news_mark
from dashboard.times import iso_time
from orchestrator.agents.looks import Look, look_of
from orchestrator.core.errors import NotFound, Unauthorized
from orchestrator.core.models import MICRO
from orchestrator.core.text import chat_safe, one_line, terminal_safe
from orchestrator.llm.dollars import format_dollars
from orchestrator.turns.serialize import came_from

_EXACT_BELOW_MICRO = 100_000
INSTALL_WAYS = (
    ("/spending", "Spending", "budget"),
    ("/people", "People", "people"),
    ("/audit", "Audit log", "log"),
    ("/settings", "Settings", "settings"),
)
"""The pages about the install, for the operator: path, name, sign."""
_AS_TELEGRAMS_ARE = Markup(
    r'pattern="\s*\d{5,16}:[A-Za-z0-9_\-]{35}\s*" '
    'title="This doesn’t look like a bot token. BotFather gives one such as 123456789:AAE…"'
)


def register_filters(app: Flask) -> None:
    """Templates of ``app`` know these names."""
    app.jinja_env.filters.update(
        when=when,
        moment=moment,
        soon=soon,
        took=ages.format_duration,
        megabytes=megabytes,
        dollars=dollars,
        markdown=render_markdown,
        marked=mark_hidden,
        one_line=one_line,
        said=chat_safe,
        output=terminal_safe,
        called=called,
        tone=tone,
        look=look,
        capitalize_first=capitalize_first,
        came_from=came_from,
    )
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.context_processor(
        lambda: {
            "dress_source": dress_source,
            "who": _viewer(),
            "csrf": _csrf(),
            "install_ways": INSTALL_WAYS,
            "bot_token": _bot_token(),
            "news_mark": news_mark,
            "theme": chosen_theme,
        }
    )


def _bot_token() -> Markup:
    """How a field for a bot's token is checked; a Bot API server of one's own may give others than Telegram's."""
    return Markup("") if get_services().settings.has_own_bot_server else _AS_TELEGRAMS_ARE


def megabytes(count: int) -> str:
    """An amount of bytes as limits are given, in units of 1,048,576."""
    return f"{count / 1_048_576:,.0f} MB" if count >= 10_485_760 else f"{count / 1_048_576:.1f} MB"


def dollars(micro: int) -> str:
    """An amount for reading: to the cent, and to a hundredth of one below ten cents."""
    return f"${micro / MICRO:,.2f}" if micro >= _EXACT_BELOW_MICRO else format_dollars(micro)


def tone(name: str) -> str:
    """The colour that goes with a name, which stays the same."""
    return look_of(name).color


def called(name: str) -> str:
    """What people call the agent of this name."""
    return get_services().agents.called(name)


def look(name: str) -> Look:
    """The sign and the colour of the agent of this name; of one that is gone, those that go with its name."""
    try:
        agent = get_services().agents.get(name)
    except NotFound:
        return look_of(name)
    return look_of(name, agent.avatar, agent.color)


def capitalize_first(text: str) -> str:
    """The text with a capital to begin with, and nothing else changed."""
    return text[:1].upper() + text[1:]


def when(at: float) -> Markup:
    """A time: relative for reading, exact on hover, both kept fresh by the page."""
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        iso_time(at), ages.format_exact(at, require_asker().user.time_zone), ages.format_relative(at, time.time())
    )


def moment(at: float) -> Markup:
    """A time of a plan: the day and the time by the viewer's clock, exact on hover."""
    zone = require_asker().user.time_zone
    return Markup('<span title="{}">{}</span>').format(
        ages.format_exact(at, zone), ages.day_and_time(at, zone, time.time())
    )


def soon(at: float) -> Markup:
    """A time near now, as people say it by the viewer's clock, exact on hover: ``today, 17:30``."""
    zone = require_asker().user.time_zone
    return Markup('<span title="{}">{}</span>').format(
        ages.format_exact(at, zone), ages.day_in_words(at, zone, time.time())
    )


def _viewer() -> Asker | None:
    try:
        return require_asker()
    except Unauthorized:
        return None


def _csrf() -> str:
    viewer = _viewer()
    return csrf.token_of(viewer.session) if viewer is not None and viewer.session else ""
