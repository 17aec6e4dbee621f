"""Whether the indexes of packages are reached, as the doctor finds out."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.capabilities.packages.indexes import PackageIndexes, read_indexes
from orchestrator.core.config import load
from orchestrator.core.finding import FindingState
from orchestrator.gate.upstream_proxy import UpstreamProxies, UpstreamProxy
from orchestrator.operations.doctor.indexes import examine_indexes
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, opened

NAMES = ("pypi.org", "files.pythonhosted.org", "registry.npmjs.org")
NOBODY = UpstreamProxies()


def say_nothing(visit: Visit) -> None:
    """A server that takes the connection."""


def test_all_are_reached() -> None:
    """Each host is connected to, and nothing is said there."""
    with opened(say_nothing) as site:
        town = FakeInternet({name: [[PUBLIC]] for name in NAMES}, {PUBLIC: site})
        found = examine_indexes(PackageIndexes(), town, NOBODY, frozenset())
    assert found.state is FindingState.OK
    assert all(name in found.text for name in NAMES)
    assert [head for head in site.heads if head] == []
    assert sorted(town.looked_up) == sorted(NAMES)


@pytest.mark.parametrize(
    ("answers", "proxies", "said", "fix"),
    [
        ([], NOBODY, "name-not-found", "name servers"),
        (["10.1.2.3"], NOBODY, "private-address", "HERMIT_PRIVATE_HOSTS"),
        ([PUBLIC], NOBODY, "unreachable", "connection"),
        ([PUBLIC], UpstreamProxies(tunnel=UpstreamProxy("", 0, is_usable=False)), "upstream-proxy", "https_proxy"),
    ],
)
def test_what_is_wrong_is_named(answers: list[str], proxies: UpstreamProxies, said: str, fix: str) -> None:
    """With the setting that helps."""
    names = {name: [answers] for name in NAMES} if answers else {}
    found = examine_indexes(PackageIndexes(), FakeInternet(names), proxies, frozenset())
    assert (found.state, said in found.text, fix in found.fix) == (FindingState.WARN, True, True)


def test_an_index_of_ones_own_stands_where_it_stands(tmp_path: Path) -> None:
    """Its address may be private, because the operator named it; its files may lie at hosts that they name too."""
    environment = {
        "HERMIT_HOME": str(tmp_path),
        "HERMIT_PIP_INDEX_URL": "http://me:secret@nas:3141/root/pypi/+simple/",
        "HERMIT_NPM_REGISTRY": "https://10.0.0.7/npm/",
        "HERMIT_PACKAGE_HOSTS": "Store.lan, blobs.lan:9000",
    }
    settings = load(environment, tmp_path)
    indexes = read_indexes(settings, {})
    assert indexes.list_hosts("pip") == {
        ("nas", 3141), ("store.lan", 80), ("store.lan", 443), ("blobs.lan", 9000)
    }  # fmt: skip
    assert ("10.0.0.7", 443) in indexes.list_hosts("npm")
    inner = {name: [["192.168.0.2"]] for name in ("nas", "store.lan", "blobs.lan")}
    with opened(say_nothing) as site:
        town = FakeInternet(inner, {"192.168.0.2": site, "10.0.0.7": site})
        assert examine_indexes(indexes, town, NOBODY, frozenset()).state is FindingState.OK
    assert "secret" not in repr(indexes)


def test_public_indexes_and_their_files() -> None:
    """What belongs together is known; nothing else is let through."""
    assert PackageIndexes().list_hosts("pip") == {("pypi.org", 443), ("files.pythonhosted.org", 443)}
    assert PackageIndexes().list_hosts("npm") == {("registry.npmjs.org", 443)}
    assert PackageIndexes().list_named("pip") == frozenset()
    plain = PackageIndexes(pip_index_url="http://mirror.example/simple")
    assert plain.list_hosts("pip") == plain.list_named("pip") == {("mirror.example", 80), ("mirror.example", 443)}
    assert PackageIndexes(npm_registry="nonsense://[").list_hosts("npm") == frozenset()
