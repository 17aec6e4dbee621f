"""Examines whether the indexes of packages are reached, by the way that the package resolver goes: through a gate."""

from __future__ import annotations

import os
import socket
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

from orchestrator.capabilities.packages.indexes import PackageIndexes
from orchestrator.capabilities.packages.input import NPM, PIP
from orchestrator.core.finding import Finding, ok, warn
from orchestrator.gate.connection import GateLimits
from orchestrator.gate.gate import SOCKET_NAME, Gates
from orchestrator.gate.policy import ExactHosts, HostPort
from orchestrator.gate.refusals import Reason
from orchestrator.gate.traffic_log import GateUser
from orchestrator.gate.upstream_proxy import UpstreamProxies
from orchestrator.web.network import Network

PACKAGES = "packages"
_CONNECT_S = 5.0
_ANSWER_S = 3 * _CONNECT_S
_ANSWER_BYTES = 4096
_FIXES = {
    Reason.PRIVATE: "Its name leads to an address inside a private network. If that is meant, add it to "
    "HERMIT_PRIVATE_HOSTS.",
    Reason.UPSTREAM: "Look at http_proxy and https_proxy of this program: only proxies with an http:// address are "
    "used, and this one does not answer.",
    Reason.NOT_FOUND: "Look at this machine's name servers, or set HERMIT_PIP_INDEX_URL and HERMIT_NPM_REGISTRY.",
}
_USUAL_FIX = (
    "Packages can't be installed until it can. Look at this machine's connection, or set HERMIT_PIP_INDEX_URL and "
    "HERMIT_NPM_REGISTRY to indexes that it reaches."
)


def examine_indexes(
    indexes: PackageIndexes, network: Network, proxies: UpstreamProxies, named: frozenset[HostPort]
) -> Finding:
    """Every host of both indexes can be connected to. No name of a package leaves. ``named`` are hosts of a private
    network that the operator named. Raises Unavailable."""
    hosts = sorted(indexes.list_hosts(PIP) | indexes.list_hosts(NPM))
    all_named = named | indexes.list_named(PIP) | indexes.list_named(NPM)
    gates = Gates(
        network,
        proxies=proxies,
        named=all_named,
        write=lambda _user, _rows: None,  # the doctor changes nothing
        limits=GateLimits(connect_s=_CONNECT_S),
    )
    with tempfile.TemporaryDirectory() as name, closing(gates):
        user = GateUser("doctor")
        gates.open_gate(Path(name), ExactHosts(frozenset(hosts)), user, uid=os.geteuid(), gid=os.getegid())
        reasons = _ask_gate(Path(name) / SOCKET_NAME, hosts)
    silent = {host: reason for (host, _), reason in zip(hosts, reasons, strict=True) if reason}
    if not silent:
        names = ", ".join(dict.fromkeys(host for host, _ in hosts))
        return ok(PACKAGES, f"The package indexes can be reached ({names}).")
    host, reason = next(iter(silent.items()))
    others = f" and {len(silent) - 1} more" if len(silent) > 1 else ""
    return warn(PACKAGES, f"{host}{others} can't be reached ({reason}).", _FIXES.get(Reason(reason), _USUAL_FIX))


def _ask_gate(path: Path, hosts: list[HostPort]) -> list[str]:
    """Why each host can't be reached; empty for one that can. All are asked at once."""
    with ExitStack() as stack:
        socks = []
        for host, port in hosts:
            sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            sock.settimeout(_ANSWER_S)
            sock.connect(str(path))
            shown = f"[{host}]" if ":" in host else host
            sock.sendall(f"CONNECT {shown}:{port} HTTP/1.1\r\n\r\n".encode("ascii", "replace"))
            socks.append(sock)
        return [_reason_of(sock) for sock in socks]


def _reason_of(sock: socket.socket) -> str:
    try:
        answer = sock.recv(_ANSWER_BYTES).decode("latin-1")
    except TimeoutError:
        return str(Reason.UNREACHABLE)
    if answer.startswith("HTTP/1.1 200 "):
        return ""
    lines = answer.partition("\r\n\r\n")[0].split("\r\n")
    return next((line.partition(": ")[2] for line in lines if line.startswith("X-Hermit-Gate: ")), Reason.UNREACHABLE)
