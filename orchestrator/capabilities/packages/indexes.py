"""Which index the package resolver asks, and how it gets there: by the settings, else as pip and npm on this
machine would, by the environment and the machine's certificates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.core.config import Settings

_BUNDLES = ("PIP_CERT", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_SYSTEMS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
_MOST_BYTES = 5_000_000


@dataclass(frozen=True, slots=True)
class PackageIndexes:
    """The way to the indexes. ``repr`` shows none of it, as addresses may hold passwords."""

    pip_index_url: str = field(default="", repr=False)
    """Empty for pip's own."""
    npm_registry: str = field(default="", repr=False)
    """Empty for npm's own."""
    proxies: Mapping[str, str] = field(default_factory=dict, repr=False)
    bundles: tuple[Path, ...] = ()
    """Where certificates of authorities may lie; the first that is there is taken."""

    def certificates(self) -> bytes:
        """The machine's certificates, PEM; empty where it has none: the package resolver's own are used then."""
        for path in self.bundles:
            if path.is_file() and path.stat().st_size <= _MOST_BYTES:
                return path.read_bytes()
        return b""


def read_indexes(settings: Settings, environment: Mapping[str, str]) -> PackageIndexes:
    """What this machine was told."""
    named = [environment[name] for name in _BUNDLES if environment.get(name)]
    index = settings.secrets.get("HERMIT_PIP_INDEX_URL") or environment.get("PIP_INDEX_URL", "")
    registry = (
        settings.secrets.get("HERMIT_NPM_REGISTRY")
        or environment.get("NPM_CONFIG_REGISTRY", "")
        or environment.get("npm_config_registry", "")
    )
    proxies = {
        spelled: value
        for name in _PROXIES
        if (value := environment.get(name) or environment.get(name.upper(), ""))
        for spelled in (name, name.upper())
    }
    return PackageIndexes(index, registry, proxies, tuple(Path(path) for path in (*named, *_SYSTEMS)))
