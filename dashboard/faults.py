"""What a person or a program is told when something fails: JSON for the API, a page else.

The sentence of an expected failure is written where it is known what happened. Anything else goes to the log,
whole, and the asker only learns that it did.
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from urllib.parse import quote

from flask import Flask, Response, jsonify, make_response, redirect, render_template, request
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from dashboard.languages import page_speech, to_say
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.http_statuses import status_of

logger = logging.getLogger(__name__)

_BY_STATUS = {
    400: ("bad_input", ""),
    404: ("not_found", to_say("There is nothing at this address.")),
    405: (
        "method_not_allowed",
        to_say("This address doesn't support this method. GET /api/openapi.json lists them all."),
    ),
    413: ("too_large", to_say("This request is too large.")),
    415: ("unsupported_media_type", ""),
    421: ("wrong_host", ""),
}
"""Code and sentence for failures that the web framework finds; an empty sentence is the failure's own."""

_HEADINGS = {
    403: to_say("Not allowed"),
    404: to_say("Not found"),
    500: to_say("Something went wrong"),
    503: to_say("Not right now"),
}
_BROKEN = to_say("HermitShell hit an internal error; its log has the details. Try again.")


def register_handlers(app: Flask) -> None:
    """Failures in ``app`` are told this way."""
    app.register_error_handler(OrchestratorError, _on_refusal)
    app.register_error_handler(HTTPException, _on_http_error)
    app.register_error_handler(Exception, _on_bug)


def wants_json() -> bool:
    """The asker is a program."""
    if request.path in ("/api", "/metrics") or request.path.startswith("/api/"):
        return True
    return request.accept_mimetypes.best_match(["text/html", "application/json"]) == "application/json"


def _on_refusal(error: OrchestratorError) -> AnyResponse:
    status = status_of(error)
    if status == 500:
        return _on_bug(error)
    if status == 401 and not wants_json():
        return _to_login()
    response = _error_response(status, error.code, error.message)
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="HermitShell"'
    return response


def _on_http_error(error: HTTPException) -> AnyResponse:
    status = error.code or 500
    if status < 400:
        return make_response(error.get_response())
    code, sentence = _BY_STATUS.get(status, (HTTPStatus(status).phrase.lower().replace(" ", "_"), ""))
    response = _error_response(status, code, sentence or error.description or HTTPStatus(status).phrase)
    if "Allow" in (found := dict(error.get_headers())):
        response.headers["Allow"] = found["Allow"]
    return response


def _on_bug(error: Exception) -> Response:
    logger.error("%s %s broke", request.method, request.path, exc_info=error)
    return _error_response(500, "internal", _BROKEN)


def _to_login() -> AnyResponse:
    """A page opened from elsewhere comes without its cookie: it opens itself once more before anybody has to log
    in.
    """
    if request.method == "GET" and request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"):
        return make_response(render_template("bounce.html"))
    return redirect("/login" if request.path == "/" else f"/login?next={quote(request.path)}", 303)


def _error_response(status: int, code: str, message: str) -> Response:
    """Programs are told in English, and our own pages in their person's language."""
    message = page_speech().retell(message)
    if wants_json():
        return make_response(jsonify({"error": {"code": code, "message": message}}), status)
    heading = page_speech().say(_HEADINGS.get(status, to_say("That didn't work")))
    return make_response(render_template("error.html", heading=heading, message=message), status)
