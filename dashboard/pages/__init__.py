"""Pages for people, rendered on the server; their scripts fetch parts of them again. ``BLUEPRINTS`` lists them all."""

from __future__ import annotations

from dashboard.pages import (
    approvals,
    apps,
    audit,
    bot,
    calendar,
    chat,
    cubicle,
    files,
    history,
    home,
    install,
    log,
    login,
    memory,
    newcomers,
    palette,
    people,
    planner,
    proof,
    providers,
    search,
    settings,
    setup,
    spending,
    upkeep,
    welcome,
    you,
)

_OF_AGENTS = (
    chat.pages,
    apps.pages,
    files.pages,
    history.pages,
    calendar.pages,
    memory.pages,
    log.pages,
    cubicle.pages,
    proof.pages,
    search.pages,
    settings.pages,
    bot.pages,
)
_OF_THE_INSTALL = (
    newcomers.pages,
    upkeep.pages,
    audit.pages,
    install.pages,
    people.pages,
    planner.pages,
    spending.pages,
    providers.pages,
    setup.pages,
)
BLUEPRINTS = (
    home.pages,
    palette.pages,
    approvals.pages,
    *_OF_AGENTS,
    *_OF_THE_INSTALL,
    you.pages,
    welcome.pages,
    login.pages,
)
