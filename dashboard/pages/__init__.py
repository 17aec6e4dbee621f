"""Pages for people, rendered on the server; their scripts fetch parts of them anew. ``BLUEPRINTS`` is the whole of
it.
"""

from __future__ import annotations

from dashboard.pages import apps, calendar, chat, home, login, memory, settings, you

BLUEPRINTS = (home.pages, chat.pages, apps.pages, calendar.pages, memory.pages, settings.pages, you.pages, login.pages)
