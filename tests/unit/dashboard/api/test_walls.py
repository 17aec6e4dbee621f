"""Who may do what, and from where: a walk over every route there is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from flask import Flask
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from dashboard import auth, headers, hosts, origin
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import OWN_ORIGIN, Api, Browser

PUBLIC = {
    "/api/health",
    "/api/openapi.json",
    "/api/passkey-login",
    "/api/passkey-login/options",
    "/d/<token>",
    "/ics/<secret>.ics",
    "/login",
    "/login/<code>",
    "/login/oidc",
    "/login/oidc/callback",
    "/login/second",
    "/manifest.webmanifest",
    "/static/<path:filename>",
    "/static/<string(length=16):digest>/<path:name>",
    "/sw.js",
    "/telegram/<id:bot>",
}
FOR_OPERATORS = {
    ("GET", "/api/status"),
    ("GET", "/metrics"),
    ("GET", "/api/users"),
    ("POST", "/api/users"),
    ("PATCH", "/api/users/<id:user>"),
    ("DELETE", "/api/users/<id:user>"),
    ("DELETE", "/api/users/<id:user>/sessions"),
    ("DELETE", "/api/users/<id:user>/totp"),
    ("DELETE", "/api/users/<id:user>/oidc"),
    ("GET", "/people"),
    ("GET", "/parts/people"),
    ("GET", "/parts/address"),
    ("GET", "/settings"),
    ("GET", "/parts/prices"),
    ("POST", "/api/agents"),
    ("PATCH", "/api/agents/<name>"),
    ("DELETE", "/api/agents/<name>"),
    ("GET", "/api/agents/<name>/telegram"),
    ("POST", "/api/agents/<name>/telegram"),
    ("DELETE", "/api/agents/<name>/telegram"),
    ("POST", "/api/agents/<name>/telegram/confirm"),
    ("POST", "/api/agents/<name>/telegram/code"),
    ("GET", "/api/audit"),
    ("GET", "/audit"),
    ("GET", "/spending"),
    ("GET", "/api/agents/<name>/hosts"),
    ("DELETE", "/api/agents/<name>/hosts/<host>"),
    ("GET", "/parts/bot/<name>"),
    ("GET", "/api/doctor"),
    ("POST", "/api/doctor"),
    ("GET", "/api/backups"),
    ("POST", "/api/backups"),
    ("POST", "/api/backups/<backup>/restore"),
    ("DELETE", "/api/restore"),
    ("GET", "/api/backup-plan"),
    ("PUT", "/api/backup-plan"),
    ("GET", "/parts/backup-plan"),
    ("GET", "/api/backups/<backup>"),
    ("DELETE", "/api/backups/<backup>"),
    ("PUT", "/api/imports"),
    ("GET", "/api/imports/<number>"),
    ("POST", "/api/imports/<number>"),
    ("GET", "/import"),
    ("GET", "/api/strangers"),
    ("POST", "/api/strangers/<name>/<id:person>"),
    ("GET", "/agents/new"),
    ("GET", "/parts/doctor"),
    ("GET", "/parts/backups"),
    ("GET", "/parts/allowed"),
    ("GET", "/parts/strangers"),
    ("GET", "/api/prices"),
    ("PUT", "/api/prices/<provider>/<path:model>"),
    ("DELETE", "/api/prices/<provider>/<path:model>"),
    ("GET", "/api/tokens"),
    ("POST", "/api/tokens"),
    ("DELETE", "/api/tokens/<path:token>"),
    ("DELETE", "/api/sessions"),
    ("GET", "/api/providers"),
    ("GET", "/api/providers/<provider>"),
    ("PUT", "/api/providers/<provider>"),
    ("PATCH", "/api/providers/<provider>"),
    ("DELETE", "/api/providers/<provider>"),
    ("GET", "/parts/providers"),
    ("GET", "/parts/tokens"),
    ("GET", "/setup"),
    ("GET", "/setup/model"),
    ("GET", "/setup/telegram"),
    ("GET", "/parts/setup/bot"),
    ("GET", "/api/providers/<provider>/models"),
    ("POST", "/api/providers/<provider>/test"),
    ("GET", "/api/search-engines"),
    ("PUT", "/api/search-engines/<engine>"),
    ("DELETE", "/api/search-engines/<engine>"),
    ("POST", "/api/search-engines/<engine>/test"),
    ("GET", "/parts/search-engines"),
    ("GET", "/api/mcp"),
    ("POST", "/api/mcp"),
    ("GET", "/api/mcp/<server>"),
    ("PATCH", "/api/mcp/<server>"),
    ("DELETE", "/api/mcp/<server>"),
    ("POST", "/api/mcp/<server>/check"),
    ("POST", "/api/mcp/<server>/accept"),
    ("PUT", "/api/mcp/<server>/secrets"),
    ("PUT", "/api/mcp/<server>/tools/<tool>"),
    ("PUT", "/api/mcp/<server>/agents"),
    ("POST", "/api/mcp-import"),
    ("GET", "/mcp"),
    ("GET", "/mcp/<server>"),
    ("GET", "/parts/mcp"),
    ("GET", "/parts/mcp/<server>"),
    ("GET", "/api/settings"),
    ("PATCH", "/api/settings"),
    ("POST", "/api/login-links"),
}
FOREIGN = "https://evil.example"
BY_TICKET = "/api/push/answer"
"""What a browser sends itself, with a word of its own in place of the page's: ``channels/push/test_push.py``."""


def routes(app: Flask) -> Iterator[tuple[Rule, str, str]]:
    """Every rule with each method that it has, and a path that leads there."""
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<id:\w+>", "1", rule.rule)
        for part, example in (
            ("<path:filename>", "logo.svg"),
            ("<string(length=16):digest>/<path:name>", "0123456789abcdef/logo.svg"),
            ("<token>", "x"),
            ("<backup>", "x.tar"),
            ("<secret>", "x"),
            ("<name>", "crab"),
            ("<app>", "x"),
            ("<approval>", "abcdefgh"),
            ("<question>", "abcdefgh"),
            ("<provider>", "custom"),
            ("<path:token>", "x"),
            ("<session>", "x"),
            ("<device>", "x"),
            ("<path:model>", "own/model"),
            ("<code>", "x"),
            ("<server>", "sample"),
            ("<tool>", "search"),
            ("<any_path:path>", "in/x"),
        ):
            path = path.replace(part, example)
        for method in sorted(rule.methods or ()):
            yield rule, method, path


def test_nothing_but_the_public_routes_answers_a_stranger(app: Flask) -> None:
    """Without a login every other route says 401, or leads to the login page."""
    client = app.test_client()
    for rule, method, path in routes(app):
        if rule.rule in PUBLIC:
            continue
        answer = client.open(path, method=method, headers={"Origin": OWN_ORIGIN})
        if path.startswith("/api/") or path == "/metrics":
            assert answer.status_code == 401, (method, path)
            assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        else:
            assert answer.status_code == 303, (method, path)
            assert answer.location.startswith("/login")


def test_the_public_routes_are_the_ones_we_know(app: Flask) -> None:
    """Nobody makes a route public by accident."""
    public = {r.rule for r in app.url_map.iter_rules() if auth.is_public(app.view_functions[r.endpoint])}
    assert public == PUBLIC


def test_members_may_not_do_what_is_for_operators(app: Flask, member: Api) -> None:
    """The operator's routes say 403 to a member, and they are the ones we know."""
    found = set()
    for rule, method, path in routes(app):
        if auth.is_for_operator(app.view_functions[rule.endpoint]) and method != "HEAD":
            found.add((method, rule.rule))
            answer = member.client.open(
                path, method=method, headers={"Authorization": f"Bearer {member.token}"}, json={}
            )
            assert answer.status_code == 403, (method, path)
    assert found == FOR_OPERATORS


def test_an_unknown_token_is_refused(browser: Browser) -> None:
    """A wrong token gets 401, also beside a session that would do."""
    for given in ("Bearer", "Bearer ", "Bearer hs_nobody", "Bearer hs_ nobody", "Bearer ü", "Basic YTpi", ""):
        answer = browser.client.get("/api/agents", headers={"Authorization": given})
        assert answer.status_code == 401, given
        assert "WWW-Authenticate" in answer.headers


NOT_OUR_PAGE: tuple[dict[str, str], ...] = (
    {"Origin": OWN_ORIGIN},
    {"Origin": OWN_ORIGIN, "X-CSRF-Token": "0" * 64},
    {"Origin": FOREIGN, "X-CSRF-Token": "right"},
    {"Origin": "http://localhost:3001", "X-CSRF-Token": "right"},
    {"Origin": "http://localhost.evil.example", "X-CSRF-Token": "right"},
    {"Origin": "null", "X-CSRF-Token": "right"},
    {"Origin": "null", "X-CSRF-Token": "right", "Sec-Fetch-Site": "cross-site"},
    {"X-CSRF-Token": "right"},
    {"X-CSRF-Token": "right", "Sec-Fetch-Site": "same-site"},
    {"X-CSRF-Token": "right", "Sec-Fetch-Site": "none"},
    {"X-CSRF-Token": "right", "Origin": OWN_ORIGIN, "Sec-Fetch-Site": "cross-site"},
)
"""What a request may say when it does not come from a page of ours; ``right`` stands for the session's token."""


def test_a_session_changes_nothing_unless_our_own_page_asks(app: Flask, browser: Browser) -> None:
    """Each route that changes something wants the session, its token, and our own origin."""
    for given in NOT_OUR_PAGE:
        sent = {k: browser.csrf if v == "right" else v for k, v in given.items()}
        for _, method, path in routes(app):
            if method not in ("GET", "HEAD") and path not in ("/telegram/1", BY_TICKET):
                answer = browser.client.open(path, method=method, headers=sent, json={})
                assert answer.status_code == 403, (method, path, given)


def test_the_login_needs_our_own_page_too(app: Flask) -> None:
    """Another site can't log a browser in as somebody else."""
    for given in ({}, {"Origin": FOREIGN}, {"Origin": OWN_ORIGIN, "Sec-Fetch-Site": "cross-site"}):
        answer = app.test_client().post("/login", data={"name": "ada", "password": "x"}, headers=given)
        assert answer.status_code == 403


def test_a_token_from_a_foreign_page_is_refused(app: Flask, operator: Api) -> None:
    """A browser that speaks for another site is refused even with a token; a program without Origin is not."""
    for rule, method, path in routes(app):
        if rule.rule not in PUBLIC:
            sent = {"Authorization": f"Bearer {operator.token}", "Origin": FOREIGN}
            assert operator.client.open(path, method=method, headers=sent, json={}).status_code == 403, (method, path)
    assert operator.post("/agents/crab/messages", {"text": "hello"})["turn"] == 1


def test_our_own_page_is_let_through(browser: Browser) -> None:
    """Session, token and origin together do."""
    assert browser.post("/api/agents/crab/messages", {"text": "hello"}).status_code == 202
    form = {"csrf": browser.csrf}
    vouched = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    assert browser.client.post("/logout", data=form, headers=vouched).status_code == 303


def test_other_names_are_not_answered(app: Flask, operator: Api) -> None:
    """No route answers under a name that is not ours."""
    for host in ("evil.example", "localhost.evil.example", "evil.example:3000", "127.0.0.2", "[::2]", "a:b:c", "::1"):
        sent = {"Host": host, "Authorization": f"Bearer {operator.token}"}
        for _, method, path in routes(app):
            assert operator.client.open(path, method=method, headers=sent, json={}).status_code == 421, (method, host)


def test_our_names_are_answered(app: Flask) -> None:
    """Whatever the port and the spelling."""
    for host in ("localhost", "localhost:3000", "127.0.0.1:9", "[::1]", "[::1]:3000", "LocalHost", "localhost."):
        assert app.test_client().get("/api/health", headers={"Host": host}).status_code == 200, host


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("a", "a"),
        ("a:1", "a"),
        ("[::1]:1", "::1"),
        ("[::1]", "::1"),
        ("::1", ""),
        ("a:b", ""),
        ("[::1", ""),
        ("a]:1", ""),
    ],
)
def test_names_of_hosts(host: str, name: str) -> None:
    """The port goes, brackets go, nonsense is no name."""
    assert hosts.name_of(host) == name


@pytest.mark.parametrize(
    ("given", "host", "https", "is_own"),
    [
        ("http://a:3000", "a:3000", False, True),
        ("http://a", "a:80", False, True),
        ("https://a", "a", True, True),
        ("https://a", "a", False, True),
        ("http://a", "a", True, False),
        ("http://a:3001", "a:3000", False, False),
        ("http://A:3000", "a:3000", False, True),
        ("http://a:x", "a", False, False),
        ("ftp://a", "a", False, False),
        ("http://[::1]:3000", "[::1]:3000", False, True),
        ("null", "a", False, False),
        ("a", "a", False, False),
    ],
)
def test_own_origins(*, given: str, host: str, https: bool, is_own: bool) -> None:
    """Same name and port, and never http for https."""
    assert origin.is_own(given, host, https=https) is is_own


def test_every_answer_carries_the_headers(app: Flask, operator: Api, browser: Browser) -> None:
    """Pages, parts, API, errors, redirects, static files and the stream."""
    answers: list[TestResponse] = []
    for _, method, path in routes(app):
        answers.append(app.test_client().open(path, method=method))
        answers.append(browser.client.open(path, method=method))
        token = {"Authorization": f"Bearer {operator.token}"}
        answers.append(operator.client.open("/api/nowhere", method=method, headers=token))
        answers.append(app.test_client().open(path, method=method, headers={"Host": "evil.example"}))
    for answer in answers:
        for name, value in headers.HEADERS.items():
            found = re.sub(r"; frame-src \S+/diagram\.html$", "", answer.headers.get(name, ""))
            assert found == value, (answer.request.path, answer.status, name)
        assert answer.headers["Cache-Control"] in ("no-store", "no-cache")
        assert not [name for name, _ in answer.headers if name.lower().startswith("access-control")]
        answer.close()


def test_looking_changes_nothing(app: Flask, webapp: AppFixture, browser: Browser) -> None:
    """No GET route does what would need a token of our page: nothing is written down, said or made by any of them."""
    before = changed(webapp)
    for _, method, path in routes(app):
        if method == "GET" and path != "/api/events":
            browser.client.get(path, headers={"Sec-Fetch-Site": "same-origin"}).close()
    assert changed(webapp) == before


def changed(webapp: AppFixture) -> dict[str, list[tuple[object, ...]]]:
    """What people would notice: the rows of these tables. That a look at the chat wakes its cubicle is meant."""
    tables = (
        "audit WHERE kind <> 'cubicle.started'",
        "users",
        "passwords",
        "api_tokens",
        "login_links",
        "agents",
        "turns",
        "preferences",
        "facts",
    )
    with webapp.app._store.reading() as db:
        return {table: [tuple(row) for row in db.execute(f"SELECT * FROM {table}")] for table in tables}  # noqa: S608


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    """No source but ourselves, no inline script or style, no frame, no base."""
    policy = dict(part.strip().partition(" ")[::2] for part in headers.CONTENT_SECURITY_POLICY.split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert {source for value in policy.values() for source in value.split()} == {"'self'", "'none'", "data:"}


def test_over_https_the_cookie_is_bound_to_the_host(app: Flask, webapp: AppFixture) -> None:
    """``__Host-`` and Secure when a proxy says https; HttpOnly and Strict always."""
    users = webapp.services.users
    for given, start, is_secure in (({}, "hermit_session=", False), ({"X-Forwarded-Proto": "https"}, "__Host-", True)):
        own = {"Origin": "https://localhost" if is_secure else OWN_ORIGIN, **given}
        answer = app.test_client().post(f"/login/{users.make_link(1)}", headers=own)
        cookie = answer.headers["Set-Cookie"]
        assert answer.status_code == 303
        assert cookie.startswith(start)
        assert ("Secure" in cookie) is is_secure
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert "Path=/" in cookie
        assert "Domain" not in cookie
