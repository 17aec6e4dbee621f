"""The way from a request to the install behind it. The dashboard calls ``DashboardServices`` and nothing else of the
orchestrator.
"""

from __future__ import annotations

from flask import Flask, current_app, g

from orchestrator.channels.services import DashboardServices

_KEY = "hermitshell"


def attach_services(app: Flask, services: DashboardServices) -> None:
    """Requests to ``app`` are about this install."""
    app.extensions[_KEY] = services
    app.before_request(_mark_news)


def news_mark() -> str:
    """How far the news was before anything was read for this request: what comes after it may be missing in a page."""
    return str(g.news_mark)


def _mark_news() -> None:
    g.news_mark = get_services().broker.mark


def get_services() -> DashboardServices:
    """The install of the current request."""
    found = current_app.extensions[_KEY]
    assert isinstance(found, DashboardServices)  # noqa: S101 - ``attach_services`` put it there
    return found
