"""What the program's own fetches go through: the network, whose certificates are trusted, and how much may come. A
test puts others in; no setting and no request can.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from orchestrator.web.body import FetchLimits
from orchestrator.web.fetcher import tls_context
from orchestrator.web.network import Network, SystemNetwork


@dataclass(frozen=True, slots=True)
class Internet:
    """The way out to the internet, for what a person approved."""

    network: Network = field(default_factory=SystemNetwork)
    tls: ssl.SSLContext = field(default_factory=tls_context)
    limits: FetchLimits = field(default_factory=FetchLimits)
