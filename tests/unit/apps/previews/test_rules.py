"""``orchestrator.apps.previews``, its pure part: who may see an app, where, and what it may do there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.apps.previews.csp import SANDBOX, for_kind, policy_headers, security_policy
from orchestrator.apps.previews.origins import app_url, is_own_host, preview_url
from orchestrator.apps.previews.signed_urls import Ticket, Tickets, _packed
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey

TICKETS = Tickets("a key")
TICKET = Ticket(CubicleKey("crab", 1), "to-do", "http://127.0.0.1:3000", 2_000)
HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
BASE = "http://localhost:3001/a/T/"


def test_a_ticket_says_what_it_was_written_for() -> None:
    """Until its time is up, and no longer."""
    text = TICKETS.encode_ticket(TICKET)
    assert TICKETS.decode_ticket(text, now=2_000) == TICKET
    with pytest.raises(NotFound, match="expired"):
        TICKETS.decode_ticket(text, now=2_001)


@given(st.text(max_size=60), st.integers(1, 2**40))
def test_any_app_name_comes_back(app: str, expires_at: int) -> None:
    """Names are data: whatever is in one, the text is made of what a URL takes as it is."""
    ticket = Ticket(CubicleKey("crab", 7), app, "https://hermit.example", expires_at)
    try:
        text = TICKETS.encode_ticket(ticket)
    except UnicodeEncodeError:
        return  # a lone surrogate: no folder is called so in a URL
    assert text.isascii()
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
    assert TICKETS.decode_ticket(text, now=0) == ticket


@given(st.data())
def test_a_changed_ticket_is_none(data: st.DataObject) -> None:
    """Wherever one character is another."""
    text = TICKETS.encode_ticket(TICKET)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from("abcXYZ019-_.").filter(lambda char: char != text[at]))
    with pytest.raises(NotFound):
        TICKETS.decode_ticket(text[:at] + other + text[at + 1 :], now=0)


@given(st.text(max_size=200))
def test_nonsense_is_no_ticket(text: str) -> None:
    """And nothing else is raised."""
    with pytest.raises(NotFound):
        TICKETS.decode_ticket(text, now=0)


def test_another_install_writes_other_tickets() -> None:
    """Each install has a key of its own."""
    with pytest.raises(NotFound):
        TICKETS.decode_ticket(Tickets("another key").encode_ticket(TICKET), now=0)


def test_a_ticket_of_another_version_is_refused_kindly() -> None:
    """Signed by us, but of another form."""
    body = _packed(json.dumps({"agent": "crab"}).encode())
    with pytest.raises(NotFound, match="another version"):
        TICKETS.decode_ticket(f"{body}.{TICKETS._sign_body(body)}", now=0)


@pytest.mark.parametrize(
    ("dashboard", "configured", "found"),
    [
        ("http://127.0.0.1:3000", "", "http://localhost:3001"),
        ("http://localhost:3000", "", "http://127.0.0.1:3001"),
        ("http://[::1]:3000", "", "http://localhost:3001"),
        ("http://192.168.1.7:3000", "", "http://192.168.1.7:3001"),
        ("https://hermit.example", "https://apps.example/", "https://apps.example"),
    ],
)
def test_apps_are_on_another_site(dashboard: str, configured: str, found: str) -> None:
    """On this machine without any setting; elsewhere as the operator says."""
    assert preview_url(dashboard, port=3001, configured=configured) == found
    assert app_url(found, "T") == f"{found}/a/T/"


@pytest.mark.parametrize(
    "host", ["localhost:3001", "127.0.0.1", "[::1]:3001", "[::1]", "apps.example", "APPS.example:443"]
)
def test_own_host_names_are_answered(host: str) -> None:
    """With any port, in any case."""
    assert is_own_host(host, allowed=HOSTS, configured="https://apps.example")


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "",
        ":3001",
        "localhost.evil.example",
        "localhost:1; script-src *",
        "localhost:1/x",
        "localhost:x",
        "localhost:",
        "[::1]x:3001",
        "localhost, evil.example",
    ],
)
def test_other_host_names_are_not_answered(host: str) -> None:
    """A foreign name that was pointed at our address is not ours."""
    assert not is_own_host(host, allowed=HOSTS, configured="https://apps.example")


def test_an_app_reaches_itself_alone() -> None:
    """Every directive that can carry something away names the app's own path, and nothing else of the net."""
    policy = dict(part.split(" ", 1) for part in security_policy(BASE, "http://127.0.0.1:3000").split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "http://127.0.0.1:3000"
    assert {policy[name] for name in ("object-src", "form-action", "base-uri")} == {"'none'"}
    for name, value in policy.items():
        if name in ("frame-ancestors", "sandbox"):
            continue
        hosts = [word for word in value.split() if "//" in word]
        assert set(hosts) <= {BASE, BASE.replace("http", "ws", 1)}, name
        assert not {"*", "http:", "https:", "ws:", "wss:", "'self'"} & set(value.split()), name


def test_forms_go_to_an_app_with_a_server() -> None:
    """To its own address alone."""
    policy = security_policy(BASE, "http://127.0.0.1:3000", has_server=True).split("; ")
    assert {f"form-action {BASE}", f"base-uri {BASE}"} <= set(policy)


def test_the_sandbox_gives_no_way_out() -> None:
    """Neither the dashboard's origin, nor windows, nor the page around it."""
    words = set(SANDBOX.split())
    assert "allow-scripts" in words
    assert not {word for word in words if any(part in word for part in ("same-origin", "popups", "top", "downloads"))}


def test_every_answer_says_what_goes() -> None:
    """No feature of the device but what a game needs; credentials are never shared."""
    made = policy_headers(security_policy(BASE, "http://127.0.0.1:3000"))
    assert "Access-Control-Allow-Credentials" not in made
    features = dict(part.split("=") for part in made["Permissions-Policy"].split(", "))
    assert {name for name, value in features.items() if value != "()"} == {"autoplay", "fullscreen", "gamepad"}
    assert made["Referrer-Policy"] == "no-referrer"


def test_what_it_may_connect_to_at_all() -> None:
    """Its own address once more, for browsers that hold everything to it, WebRTC and look-ups of names included; a page
    of the install connects to nothing."""
    policy = security_policy(BASE, "http://127.0.0.1:3000")
    sockets = BASE.replace("http", "ws", 1)
    assert policy_headers(policy, reach=BASE)["Connection-Allowlist"] == f'("{BASE}*" "{sockets}*");redirects=allow'
    assert policy_headers(policy)["Connection-Allowlist"] == "()"


@pytest.mark.parametrize(
    ("kind", "runs"),
    [
        ("text/html; charset=utf-8", True),
        ("text/javascript", True),
        ("image/png", True),
        ("image/svg+xml; charset=utf-8", False),
        ("application/xhtml+xml", False),
        ("TEXT/XML", False),
        ("application/xml ; x", False),
    ],
)
def test_other_documents_are_looked_at(kind: str, *, runs: bool) -> None:
    """Nothing runs in what is a document but no HTML, on top of what holds for all."""
    whole = policy_headers(security_policy(BASE, "http://127.0.0.1:3000"))
    policy = for_kind(whole, kind)["Content-Security-Policy"]
    assert policy.startswith(whole["Content-Security-Policy"])
    assert policy.endswith(", sandbox; script-src 'none'") is not runs
