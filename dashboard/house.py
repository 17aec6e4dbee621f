"""The way from a request to the house behind it. The dashboard calls ``Services`` and nothing else of the
orchestrator.
"""

from __future__ import annotations

from flask import Flask, current_app

from orchestrator.services import Services

_KEY = "hermitshell"


def attach(app: Flask, house: Services) -> None:
    """Requests to ``app`` are about this house."""
    app.extensions[_KEY] = house


def services() -> Services:
    """The house of the current request."""
    found = current_app.extensions[_KEY]
    assert isinstance(found, Services)  # noqa: S101 - ``attach`` put it there
    return found
