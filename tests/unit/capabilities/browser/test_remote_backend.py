"""What pages of a remote browser may ask for: as the gate would say it, as far as a name tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.browser.policy import RemoteRules
from orchestrator.browser.remote_address import RemoteAddress
from orchestrator.browser.request_guard import refusal_of_request
from orchestrator.capabilities.browser.remote_backend import RemoteBackend
from orchestrator.capabilities.browser.site_access import Allowed, SiteAccess
from orchestrator.core.models import CubicleKey
from orchestrator.web.limits import Internet

CRAB = CubicleKey("crab", 1)


@pytest.fixture
def rules(tmp_path: Path) -> RemoteRules:
    """A page of ``shop.test`` is open, which may load from ``cdn.test``; a wiki and an address were named."""
    access = SiteAccess()
    sites, companions = frozenset({"shop.test", "wiki"}), frozenset({("cdn.test", "shop.test")})
    access.set_granted(Allowed(sites, companions))
    access.set_open(["shop.test", "wiki"])
    backend = RemoteBackend(
        RemoteAddress("ws://there"),
        Internet(),
        tmp_path / "remote.json",
        get_access=lambda _: access,
        private_hosts=frozenset({("wiki", 8080)}),
    )
    made = backend.make_driver(CRAB).supervisor.settings.remote
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://shop.test/a", None),
        ("http://img.shop.test/", None),
        ("https://cdn.test/a.js", None),
        ("https://fonts.gstatic.com/x", None),
        ("http://wiki:8080/", None),
        ("data:text/plain,x", None),
        ("blob:https://shop.test/1", None),
        ("https://other.test/", "host-not-approved"),
        ("https://www.google-analytics.com/", "measuring-host"),
        ("https://shop.test:8443/", "port 8443"),
        ("http://wiki/", "private network"),
        ("http://127.0.0.1/", "private network"),
        ("http://169.254.169.254/latest", "private network"),
        ("http://[::1]/", "private network"),
        ("http://[::ffff:10.0.0.1]/", "private network"),
        ("http://localhost/", "private network"),
        ("file:///etc/passwd", "no address of the web"),
        ("ftp://shop.test/", "no address of the web"),
        ("chrome://settings", "no address of the web"),
        ("http://shop.test:x/", "no address of the web"),
        ("http://[/", "no address of the web"),
        ("", "no address of the web"),
    ],
)
def test_requests_are_judged(rules: RemoteRules, url: str, said: str | None) -> None:
    """By their host, port and scheme."""
    _, refusal = refusal_of_request(rules, url)
    assert (refusal is None) is (said is None), refusal
    assert said is None or said in str(refusal)
