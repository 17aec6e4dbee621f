"""Which index the package resolver asks, and which hosts that makes: by the settings, else as pip and npm on this
machine would, by the environment and the machine's certificates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from orchestrator.capabilities.packages.input import PIP
from orchestrator.core.config import Settings
from orchestrator.gate.policy import HostPort

_BUNDLES = ("PIP_CERT", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_SYSTEMS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_PIP_URL, _NPM_URL = "https://pypi.org/simple", "https://registry.npmjs.org/"
_FILES = {
    "pypi.org": "files.pythonhosted.org",
    "test.pypi.org": "test-files.pythonhosted.org",
    "registry.npmmirror.com": "cdn.npmmirror.com",
}
"""Where public indexes keep their files, if not beside the list."""
_MOST_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class PackageIndexes:
    """The way to the indexes. ``repr`` shows none of it, as addresses may hold passwords."""

    pip_index_url: str = field(default="", repr=False)
    """Empty for pip's own."""
    npm_registry: str = field(default="", repr=False)
    """Empty for npm's own."""
    file_hosts: frozenset[HostPort] = frozenset()
    """Where the operator's index keeps its files, beside its own host."""
    bundles: tuple[Path, ...] = ()
    """Where certificates of authorities may lie; the first that is there is taken."""

    def certificates(self) -> bytes:
        """The machine's certificates, PEM; empty where it has none: the package resolver's own are used then."""
        for path in self.bundles:
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                return path.read_bytes()
        return b""

    def list_hosts(self, system: str) -> frozenset[HostPort]:
        """Every host that the index of pip or of npm needs, and no other."""
        url = self._url_of(system)
        found = _hosts_of(url or (_PIP_URL if system == PIP else _NPM_URL))
        files = {(_FILES[host], 443) for host, _ in found if host in _FILES}
        return found | files | self.file_hosts

    def list_named(self, system: str) -> frozenset[HostPort]:
        """Those of them that the operator named, wherever they stand."""
        url = self._url_of(system)
        return (_hosts_of(url) if url else frozenset()) | self.file_hosts

    def _url_of(self, system: str) -> str:
        return self.pip_index_url if system == PIP else self.npm_registry


def read_indexes(settings: Settings, environment: Mapping[str, str]) -> PackageIndexes:
    """What this machine was told."""
    named = [environment[name] for name in _BUNDLES if environment.get(name)]
    index = settings.secrets.get("HERMIT_PIP_INDEX_URL") or environment.get("PIP_INDEX_URL", "")
    registry = (
        settings.secrets.get("HERMIT_NPM_REGISTRY")
        or environment.get("NPM_CONFIG_REGISTRY", "")
        or environment.get("npm_config_registry", "")
    )
    bundles = tuple(Path(path) for path in (*named, *_SYSTEMS))
    return PackageIndexes(index, registry, settings.package_hosts, bundles)


def _hosts_of(url: str) -> frozenset[HostPort]:
    """The host of an index; one without encryption at the usual port may send on to the same host with it."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError:  # no address at all: pip or npm will say so
        return frozenset()
    if port is not None:
        return frozenset({(host, port)})
    return frozenset({(host, 443)} if parts.scheme == "https" else {(host, 80), (host, 443)})
