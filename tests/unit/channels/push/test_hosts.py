"""Where notifications may be posted: the browsers' own services, what the operator added, and nothing else."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import pytest

from orchestrator.channels.push.hosts import PushHosts
from orchestrator.core.config import load
from orchestrator.core.errors import BadInput, ConfigError

KNOWN = PushHosts()
OWN = PushHosts(("http://127.0.0.1:8080", "https://push.lan:8443", "https://push.example.org"))


@pytest.mark.parametrize(
    "url",
    [
        "https://fcm.googleapis.com/fcm/send/abc:APA91b",
        "https://updates.push.services.mozilla.com/wpush/v2/gAAAA",
        "https://web.push.apple.com/QGuQyavXutnMH",
        "https://wns2-by3p.notify.windows.com/w/?token=BQYAAA%3d",
    ],
)
def test_the_services_of_the_browsers_are_known(url: str) -> None:
    """Each over https, on the public internet alone."""
    link, rules = KNOWN.read_endpoint(url)
    assert link.scheme == "https"
    assert not any(rules.is_allowed(address) for address in map(ip_address, ("127.0.0.1", "10.0.0.1")))


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/push",
        "https://fcm.googleapis.com.evil.test/x",
        "https://evilpush.services.mozilla.com.test/x",
        "https://notify.windows.com/x",
        "https://a@fcm.googleapis.com/x",
        "https://fcm.googleapis.com@evil.test/x",
        "http://fcm.googleapis.com/x",
        "https://fcm.googleapis.com:8443/x",
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://169.254.169.254/latest",
        "http://127.0.0.1:8081/x",
        "https://push.lan/x",
        "https://localhost/x",
        "file:///etc/passwd",
        "",
    ],
)
def test_any_other_address_is_refused(url: str) -> None:
    """Also where the operator added some, but not this."""
    for hosts in (KNOWN, OWN):
        with pytest.raises(BadInput):
            hosts.read_endpoint(url)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/wpush/1", "https://push.lan:8443/1", "https://push.example.org/UP?token=1"]
)
def test_what_the_operator_added_may_be_private(url: str) -> None:
    """With exactly its scheme and port."""
    link, rules = OWN.read_endpoint(url)
    assert (link.url, rules.is_allowed(ip_address("127.0.0.1"))) == (url, True)
    with pytest.raises(BadInput):
        KNOWN.read_endpoint(url)


def test_the_setting_names_whole_origins(tmp_path: Path) -> None:
    """A bare name means https; without encryption only on this machine."""

    def hosts(text: str) -> tuple[str, ...]:
        return load({"HERMIT_PUSH_HOSTS": text}, tmp_path).push_hosts

    assert hosts("") == ()
    assert hosts("push.example.org, https://Push.lan:8443/,http://127.0.0.1:9") == (
        "https://push.example.org",
        "https://push.lan:8443",
        "http://127.0.0.1:9",
    )
    for wrong in ("http://push.lan", "https://a/b", "https://", "ftp://a", "https://me@a"):
        with pytest.raises(ConfigError, match="HERMIT_PUSH_HOSTS"):
            hosts(wrong)
