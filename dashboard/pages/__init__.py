"""Pages for people, rendered on the server; their scripts fetch parts of them anew. ``BLUEPRINTS`` is the whole of
it.
"""

from __future__ import annotations

from dashboard.pages import chat, home, login, memory, settings

BLUEPRINTS = (home.pages, chat.pages, memory.pages, settings.pages, login.pages)
