"""How templates write times, money and texts of agents."""

from __future__ import annotations

import time
from datetime import date

from flask import Flask
from markupsafe import Markup

from dashboard import ages, csrf
from dashboard.auth import Asker, require_asker
from dashboard.cookies import chosen_theme
from dashboard.languages import number, say, say_reason, speech, to_say
from dashboard.markdown import CODE_BUTTONS, code_buttons, render_markdown
from dashboard.marks import mark_hidden
from dashboard.pages.text_faces import dress_source
from dashboard.services import get_services, news_mark
from dashboard.times import iso_time
from orchestrator.agents.looks import Look, look_of
from orchestrator.core.errors import NotFound, Unauthorized
from orchestrator.core.models import MICRO
from orchestrator.core.text import chat_safe, one_line, terminal_safe
from orchestrator.languages.dates import write_date
from orchestrator.languages.numbers import respell_numbers, write_dollars
from orchestrator.llm.dollars import format_dollars
from orchestrator.turns.serialize import came_from

TAB_NAMES = {
    "chat": to_say("Chat"),
    "apps": to_say("Apps"),
    "files": to_say("Files"),
    "calendar": to_say("Calendar"),
    "memory": to_say("Memory"),
    "history": to_say("History"),
    "browser": to_say("Browser"),
    "log": to_say("Log"),
    "cubicle": to_say("Cubicle"),
    "terminal": to_say("Terminal"),
    "settings": to_say("Settings"),
}
"""The pages of an agent, as they are called."""
_EXACT_BELOW_MICRO = 100_000
INSTALL_WAYS = (
    ("/spending", to_say("Spending"), "budget"),
    ("/mcp", to_say("Tools from others"), "packages"),
    ("/people", to_say("People"), "people"),
    ("/audit", to_say("Audit log"), "log"),
    ("/settings", to_say("Settings"), "settings"),
)
"""The pages about the install, for the operator: path, name, sign."""
_AS_TELEGRAMS_ARE = Markup(r'pattern="\s*\d{5,16}:[A-Za-z0-9_\-]{35}\s*" title=')
_STATUSES = {
    "queued": to_say("queued"),
    "running": to_say("running"),
    "waiting_approval": to_say("waiting for approval"),
    "done": to_say("done"),
    "failed": to_say("failed"),
    "stopped": to_say("stopped"),
}


def register_filters(app: Flask) -> None:
    """Templates of ``app`` know these names."""
    app.jinja_env.filters.update(
        when=when,
        moment=moment,
        soon=soon,
        took=lambda seconds: ages.format_duration(seconds, speech()),
        number=number,
        reason=say_reason,
        retold=lambda text: speech().retell(text),
        weekday=weekday,
        status_word=status_word,
        megabytes=megabytes,
        dollars=dollars,
        markdown=markdown,
        marked=mark_hidden,
        one_line=one_line,
        said=chat_safe,
        output=terminal_safe,
        called=called,
        tone=tone,
        look=look,
        capitalize_first=capitalize_first,
        came_from=lambda source: say(came_from(source)),
    )
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.context_processor(
        lambda: {
            "dress_source": dress_source,
            "who": _viewer(),
            "csrf": _csrf(),
            "install_ways": INSTALL_WAYS,
            "tab_names": TAB_NAMES,
            "bot_token": _bot_token(),
            "news_mark": news_mark,
            "theme": chosen_theme,
        }
    )


def _bot_token() -> Markup:
    """How a field for a bot's token is checked; a Bot API server of one's own may give others than Telegram's."""
    if get_services().settings.has_own_bot_server:
        return Markup("")
    title = say("This doesn’t look like a bot token. BotFather gives one such as 123456789:AAE…")
    return _AS_TELEGRAMS_ARE + Markup('"{}"').format(title)


def markdown(text: str) -> Markup:
    """The text laid out, with the buttons of its code in the language of the page."""
    made, spoken = render_markdown(text), speech()
    return made if spoken.is_english else Markup(str(made).replace(CODE_BUTTONS, code_buttons(spoken)))  # noqa: S704


def megabytes(count: int) -> str:
    """An amount of bytes as limits are given, in units of 1,048,576."""
    said = f"{count / 1_048_576:,.0f} MB" if count >= 10_485_760 else f"{count / 1_048_576:.1f} MB"
    return respell_numbers(said, speech().language)


def weekday(day: date, length: str = "long") -> str:
    """``Monday``, or ``Mon``."""
    if length == "short":
        return write_date(day, "%a", "EEE", speech().language)
    return write_date(day, "%A", "EEEE", speech().language)


def status_word(status: str) -> str:
    """How a turn stands, in one word."""
    return say(_STATUSES.get(status, status))


def dollars(micro: int) -> str:
    """An amount for reading: to the cent, and to a hundredth of one below ten cents."""
    said = f"${micro / MICRO:,.2f}" if micro >= _EXACT_BELOW_MICRO else format_dollars(micro)
    return write_dollars(said, speech().language)


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
        iso_time(at),
        ages.format_exact(at, require_asker().user.time_zone, speech()),
        ages.format_relative(at, time.time(), speech()),
    )


def moment(at: float) -> Markup:
    """A time of a plan: the day and the time by the viewer's clock, exact on hover."""
    zone = require_asker().user.time_zone
    return Markup('<span title="{}">{}</span>').format(
        ages.format_exact(at, zone, speech()), ages.day_and_time(at, zone, time.time(), speech())
    )


def soon(at: float) -> Markup:
    """A time near now, as people say it by the viewer's clock, exact on hover: ``today, 17:30``."""
    zone = require_asker().user.time_zone
    return Markup('<span title="{}">{}</span>').format(
        ages.format_exact(at, zone, speech()), ages.day_in_words(at, zone, time.time(), speech())
    )


def _viewer() -> Asker | None:
    try:
        return require_asker()
    except Unauthorized:
        return None


def _csrf() -> str:
    viewer = _viewer()
    return csrf.token_of(viewer.session) if viewer is not None and viewer.session else ""
