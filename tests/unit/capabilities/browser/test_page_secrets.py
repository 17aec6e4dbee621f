"""``orchestrator.capabilities.browser.page_secrets``: a value goes to pages of exactly its host, for whom it is kept,
and is told to nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.capabilities.browser import page_secrets
from orchestrator.capabilities.browser.page_secrets import PageSecrets
from orchestrator.capabilities.capability import Caller
from orchestrator.core.errors import BadInput, NotFound, TooMany
from orchestrator.core.models import CubicleKey
from tests.support.core_fixture import KEY, CoreFixture, core_fixture

VALUE = "correct horse"


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """One with an agent, crab."""
    with core_fixture(tmp_path) as made:
        yield made


@pytest.fixture
def blotted() -> list[str]:
    """What is kept out of the log."""
    return []


@pytest.fixture
def secrets(install: CoreFixture, blotted: list[str]) -> PageSecrets:
    """With two hosts of a private network."""
    named = frozenset({("wiki.lan", 80), ("nas.lan", 8080)})
    return PageSecrets(install.store, install.agents, private_hosts=named, blot=blotted.append)


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("shop.test", "https://shop.test"),
        (" Shop.Test ", "https://shop.test"),
        ("bücher.test", "https://xn--bcher-kva.test"),
        ("wiki.lan", "http://wiki.lan"),
        ("wiki.lan:80", "http://wiki.lan"),
        ("nas.lan:8080", "http://nas.lan:8080"),
        ("nas.lan:8080", "https://nas.lan:8080"),
    ],
)
def test_the_host_gets_it(secrets: PageSecrets, install: CoreFixture, host: str, origin: str) -> None:
    """Encrypted, or named by the operator; that it was used is written down, without the value."""
    kept = secrets.put_secret(KEY.user, "pass", host, VALUE)
    assert secrets.use_secret(KEY, "pass", origin) == VALUE
    (used,) = install.audited("secret.used")
    assert (used.agent, used.user, used.detail) == (KEY.agent, KEY.user, {"name": "pass", "host": kept.host})
    assert all(VALUE not in f"{row.text}{row.detail}" for row in (*install.audited("secret.kept"), used))
    (listed,) = secrets.list_secrets(KEY.user)
    assert listed.used_at is not None
    assert VALUE not in repr(listed)


@pytest.mark.parametrize(
    "origin",
    [
        "http://shop.test",
        "https://www.shop.test",
        "https://shop.test.evil.test",
        "https://evilshop.test",
        "https://shop.test:8443",
        "http://shop.test:443",
        "null",
        "",
    ],
)
def test_nobody_else_gets_it(secrets: PageSecrets, install: CoreFixture, origin: str) -> None:
    """No name below or above, no other port, nothing without encryption."""
    secrets.put_secret(KEY.user, "pass", "shop.test", VALUE)
    with pytest.raises(NotFound) as refused:
        secrets.use_secret(KEY, "pass", origin)
    assert VALUE not in refused.value.message
    assert install.audited("secret.used") == []


def test_it_is_for_its_person_and_its_agent(secrets: PageSecrets, install: CoreFixture) -> None:
    """One of an agent's own comes before one for all; other people's are not there."""
    secrets.put_secret(KEY.user, "pass", "shop.test", "for all of them")
    secrets.put_secret(KEY.user, "pass", "shop.test", "for crab", KEY.agent)
    assert secrets.use_secret(KEY, "pass", "https://shop.test") == "for crab"
    other = CubicleKey(KEY.agent, KEY.user + 1)
    with pytest.raises(NotFound):
        secrets.use_secret(other, "pass", "https://shop.test")
    with install.store.reading() as db:
        told = secrets.request_list(db, Caller(KEY, None), {})
        assert secrets.request_list(db, Caller(other, None), {}).result == {"secrets": []}
    assert told.result["secrets"][0] == {"name": "pass", "host": "shop.test"}
    assert "for crab" not in told.text
    with pytest.raises(NotFound):
        secrets.put_secret(KEY.user, "pass", "shop.test", VALUE, "nobody")


def test_it_is_kept_and_removed(secrets: PageSecrets, install: CoreFixture, blotted: list[str]) -> None:
    """The same again replaces it; another's can't be removed; a start keeps it out of the log again."""
    secrets.put_secret(KEY.user, "pass", "shop.test", "the old one")
    kept = secrets.put_secret(KEY.user, "pass", "shop.test", VALUE)
    assert secrets.list_secrets(KEY.user) == [kept]
    assert blotted == ["the old one", VALUE]
    secrets.start()
    assert blotted[2:] == [VALUE]
    with pytest.raises(NotFound):
        secrets.remove(KEY.user + 1, kept.id)
    secrets.remove(KEY.user, kept.id)
    with pytest.raises(NotFound):
        secrets.remove(KEY.user, kept.id)
    with pytest.raises(NotFound):
        secrets.use_secret(KEY, "pass", "https://shop.test")
    assert [row.detail["host"] for row in install.audited("secret.removed")] == ["shop.test"]


@pytest.mark.parametrize(
    ("name", "host", "value", "field"),
    [
        ("", "shop.test", VALUE, "name"),
        ("a b", "shop.test", VALUE, "name"),
        ("x" * 41, "shop.test", VALUE, "name"),
        ("pass", "", VALUE, "host"),
        ("pass", "https://shop.test/", VALUE, "host"),
        ("pass", "shop.test/login", VALUE, "host"),
        ("pass", "shop.test?", VALUE, "host"),
        ("pass", "me@shop.test", VALUE, "host"),
        ("pass", "shop.test:9", VALUE, "host"),
        ("pass", "shop.test", "abc", "value"),
        ("pass", "shop.test", "two\nlines", "value"),
        ("pass", "shop.test", "x" * 1_001, "value"),
    ],
)
def test_what_is_kept_is_of_use(secrets: PageSecrets, name: str, host: str, value: str, field: str) -> None:
    """The field is named, the value is not repeated."""
    with pytest.raises(BadInput) as refused:
        secrets.put_secret(KEY.user, name, host, value)
    assert refused.value.message.startswith(f"{field}: ")
    assert VALUE not in refused.value.message
    assert secrets.list_secrets(KEY.user) == []


def test_there_is_an_end(secrets: PageSecrets, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person has as many as one may."""
    monkeypatch.setattr(page_secrets, "MOST", 2)
    for host in ("a.test", "b.test"):
        secrets.put_secret(KEY.user, "pass", host, VALUE)
    with pytest.raises(TooMany):
        secrets.put_secret(KEY.user, "pass", "c.test", VALUE)
