"""The API's description is true: it names every route, and nothing else. That answers have its shapes, every call
checks.
"""

from __future__ import annotations

import json
import re

from flask import Flask

from dashboard.api.openapi import ALL_SCHEMAS, ROUTES, build_document
from tests.unit.conftest import Api


def test_every_route_is_described_and_no_other(app: Flask) -> None:
    """The document's paths and methods are those of the application."""
    real = {
        (method.lower(), re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api/")
        for method in (rule.methods or set()) - {"HEAD"}
    }
    described = {(method, path) for path, methods in build_document()["paths"].items() for method in methods}
    assert described == real
    assert len(ROUTES) == len(described)


def test_it_is_served_without_a_login(app: Flask) -> None:
    """As anybody may know it."""
    assert app.test_client().get("/api/openapi.json").get_json() == json.loads(json.dumps(build_document()))


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    """No dangling name, no dead one."""
    used = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(build_document())))
    assert used == set(ALL_SCHEMAS)


def test_later_routes_do_not_exist_yet(app: Flask) -> None:
    """They say 404 as JSON."""
    for path in ("/api/agents/crab/tricks", "/api/", "/api"):
        answer = app.test_client().get(path)
        assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "not_found"), path


def test_a_wrong_method_says_which_are_right(app: Flask) -> None:
    """405 as JSON with Allow; OPTIONS is none of ours, as there is no CORS."""
    for method in ("PUT", "OPTIONS"):
        answer = app.test_client().open("/api/agents", method=method)
        assert (answer.status_code, answer.get_json()["error"]["code"]) == (405, "method_not_allowed")
        assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_a_number_that_nothing_can_have_is_not_there(operator: Api) -> None:
    """404 for every method of the path, as for a number that nothing has."""
    for number in (10**14, 2**53, 10**40):
        for method, path, body in (
            ("PATCH", "/users/{}", {"name": "x"}),
            ("DELETE", "/users/{}", None),
            ("DELETE", "/agents/crab/calendar/{}", None),
            ("GET", "/agents/crab/memories/{}", None),
            ("GET", "/turns/{}", None),
        ):
            assert operator.refused(method, path.format(number), body)[0] == 404, (method, path, number)
