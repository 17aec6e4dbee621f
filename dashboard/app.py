"""The dashboard's WSGI application: checks before every view, headers after every one, and the list of what there
is.
"""

from __future__ import annotations

from flask import Flask
from werkzeug.routing import IntegerConverter

from dashboard import auth, compression, faults, headers, hosts, statics, transfers
from dashboard.api import BLUEPRINTS as API
from dashboard.api import terminal as terminal_api
from dashboard.feed import feed
from dashboard.languages import attach_languages
from dashboard.metrics import metrics
from dashboard.pages import BLUEPRINTS as PAGES
from dashboard.pages import filters
from dashboard.pages import terminal as terminal_page
from dashboard.paths import AnyPath
from dashboard.pwa import pwa
from dashboard.services import attach_services
from dashboard.webhook import webhook
from orchestrator.channels.services import DashboardServices
from orchestrator.languages.speech import SpokenLanguages

MAX_BODY_BYTES = 4 * 1024 * 1024
"""The longest message, with every character escaped, fits."""


class _Id(IntegerConverter):
    """A number that fits into a row's id and into JSON; a longer one is no such path at all, whatever the method."""

    regex = r"\d{1,15}"


def create_app(services: DashboardServices, speeches: SpokenLanguages | None = None) -> Flask:
    """The application for one install, in the languages that are finished or those given."""
    app = Flask("dashboard", static_folder="static", template_folder="templates")
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.config["MAX_FORM_MEMORY_SIZE"] = auth.SMALL_BODY_BYTES
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    app.url_map.merge_slashes = False
    app.url_map.converters |= {"id": _Id, "any_path": AnyPath}
    app.json.sort_keys = False  # type: ignore[attr-defined]  # Flask's own provider has it
    auth.mark_public(app.view_functions["static"])
    attach_services(app, services)
    transfers.attach_transfers(app)
    app.before_request(hosts.check_host)
    app.before_request(auth.check_request)
    app.after_request(headers.add_headers)
    app.after_request(compression.compress_page)
    faults.register_handlers(app)
    filters.register_filters(app)
    attach_languages(app, speeches or SpokenLanguages())
    statics.register_statics(app)
    for blueprint in (*API, *PAGES, feed, metrics, pwa, webhook):
        app.register_blueprint(blueprint)
    if services.settings.terminal:  # else there is nothing there that could be let in by accident
        app.register_blueprint(terminal_api.api)
        app.register_blueprint(terminal_page.pages)
    return app
