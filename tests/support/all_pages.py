"""Every page of the dashboard, found in the application itself: a route that answers with a whole HTML page is one.

A route with an argument that has no sample here is an error that says what to add, so that no page is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.routing import Rule

from tests.support.app_fixture import AppFixture
from tests.support.sample_data import SampleData

NO_PAGES = ("/api/", "/static/", "/parts/")
"""What starts so is no page: data, what pages are made of, and pieces of them."""
MORE: tuple[tuple[str, dict[str, str], str], ...] = (
    ("/agents/crab", {"app": "calculator"}, "chat-beside-an-app"),
    ("/agents/crab", {"delivered": "{delivery}"}, "chat-beside-a-file"),
    ("/agents/crab/files/out", {}, "agent-files-folder"),
    ("/agents/crab/files", {"find": "winter"}, "agent-files-found"),
    ("/agents/crab/files/work/winter.md", {"view": "source"}, "agent-file-source"),
    ("/agents/crab/files/work/tides.csv", {}, "agent-file-table"),
    ("/agents/crab/edit/work", {"new": "1"}, "agent-new-file"),
    ("/agents/crab/cubicle", {"hours": "24"}, "agent-cubicle-day"),
    ("/calendar", {"view": "week"}, "calendar-week"),
    ("/calendar", {"view": "list"}, "calendar-list"),
    ("/audit", {"q": "tides"}, "audit-search"),
    ("/spending", {"agent": "crab"}, "spending-of-an-agent"),
    ("/agents/crab/compare", {"a": "{turn}", "b": "{turn}"}, "agent-compare"),
    ("/login/oidc/callback", {}, "login-refused"),
    ("/nowhere", {}, "not-found"),
)
"""Faces of pages that their routes alone don't show: path, query, what to call it."""
_STRANGERS = ("/login",)
"""Shown to whoever is not logged in."""


@dataclass(frozen=True, slots=True)
class Sight:
    """One page to look at."""

    name: str
    """Good as a file's name: ``agent-calendar``."""
    url: str
    """Path and query."""
    is_inside: bool = True
    """For somebody who is logged in."""


class MissingSample(AssertionError):
    """A route that can't be looked at yet."""


def samples(install: AppFixture, lived: SampleData) -> dict[str, str]:
    """What stands for each argument of a route."""
    return {
        "name": "crab",
        "app": "calculator",
        "entry": str(lived.entry),
        "turn": str(lived.turn),
        "notice": str(lived.notice),
        "code": install.services.users.make_link(1),
        "token": "none",
        "secret": "none",
        "approval": lived.approval,
        "grant": lived.grant,
        "path": "work/winter.md",
        "folder": "work",
        "user": str(lived.member.id),
        "point": str(lived.point),
        "delivery": str(lived.delivery),
        "server": lived.server,
    }


NO_SIGHT = frozenset(
    {
        "/d/<token>",
        "/login/oidc/callback",
        "/ics/<secret>.ics",
        "/agents/<name>/apps/<app>/thumbnail",
        "/agents/<name>/picture/<any_path:path>",
        "/agents/<name>/media/<any_path:path>",
        "/agents/<name>/history/<id:point>/picture/<any_path:path>",
        "/agents/<name>/page/<digest>/<id:number>",
        "/agents/<name>/delivered/<id:delivery>/content",
        "/agents/<name>/delivered/<id:delivery>/glance",
        "/agents/<name>/delivered/<id:delivery>/page/<digest>/<id:number>",
    }
)
"""Downloads, pictures, what is played, and where somebody comes back from a provider."""


def sights(app: Flask, client: FlaskClient, given: dict[str, str]) -> list[Sight]:
    """Every page, in the order of the routes; ``client`` is logged in. Raises MissingSample."""
    rules = sorted((rule for rule in app.url_map.iter_rules() if _may_be_page(rule)), key=lambda rule: rule.rule)
    found = [sight for rule in rules if (sight := _sight(rule, client, given))]
    return found + [_more_sight(*one, given) for one in MORE]


def _more_sight(path: str, query: dict[str, str], name: str, given: dict[str, str]) -> Sight:
    asked = urlencode({field: value.format(**given) for field, value in query.items()})
    return Sight(name, f"{path}?{asked}" if asked else path)


def _may_be_page(rule: Rule) -> bool:
    return "GET" in (rule.methods or ()) and not rule.rule.startswith(NO_PAGES) and rule.rule not in NO_SIGHT


def _sight(rule: Rule, client: FlaskClient, given: dict[str, str]) -> Sight | None:
    """None for a route that answers with something else."""
    missing = sorted(set(rule.arguments) - set(given))
    if missing:
        raise MissingSample(
            f"{rule.rule} has {missing}, for which tests/support/all_pages.py has no sample. Add to samples() what "
            "tests/support/sample_data.py puts there, or add the route to NO_SIGHT when it is a download."
        )
    url = _url(rule, given)
    is_inside = not rule.rule.startswith(_STRANGERS)
    answer = client.get(url) if is_inside else client.application.test_client().get(url)
    if answer.status_code in (301, 302, 303, 308):
        return None
    if answer.status_code != 200:
        raise MissingSample(
            f"{url} ({rule.rule}) answers {answer.status_code}: let tests/support/sample_data.py make what samples() "
            "in tests/support/all_pages.py stands for, or add the route to NO_SIGHT when it is a download."
        )
    is_page = answer.mimetype == "text/html" and answer.get_data()[:15].lower() == b"<!doctype html>"
    return Sight(_name(rule), url, is_inside) if is_page else None


def _url(rule: Rule, given: dict[str, str]) -> str:
    return "".join(quote(given[text]) if is_argument else text for is_argument, text in _pieces(rule))


def _pieces(rule: Rule) -> Iterator[tuple[bool, str]]:
    """Fixed texts and the names of arguments, in order."""
    rest = rule.rule
    while rest:
        fixed, _, rest = rest.partition("<")
        yield False, fixed
        argument, _, rest = rest.partition(">")
        if argument:
            yield True, argument.rpartition(":")[2]


def _name(rule: Rule) -> str:
    """``/agents/<name>/calendar/<id:entry>`` as ``agent-calendar-entry``."""
    words = [f"{text}" for is_argument, text in _pieces(rule) if not (is_argument and text == "name")]
    parts = [part for word in words for part in word.split("/") if part]
    short = "-".join("agent" if part == "agents" else part for part in parts)
    return {"": "home", "agent": "chat"}.get(short, short)
