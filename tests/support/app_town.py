"""Real applications as sites of an internet of the test's own: each has a name, a public address that is nobody's, and
in truth a port of loopback."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path

import requests

from orchestrator.web.ip_rules import Address
from orchestrator.web.network import SystemNetwork
from tests.support.real_app import eventually

_PATIENCE_S = 60.0


class AppTown:
    """A network with these names alone."""

    def __init__(self, ports: Mapping[str, int]) -> None:
        """``ports``: where each name leads to."""
        self._addresses = {name: f"93.184.215.{number}" for number, name in enumerate(ports, start=20)}
        self._ports = {self._addresses[name]: port for name, port in ports.items()}
        self.looked_up: list[str] = []

    def resolve(self, host: str, timeout_s: float) -> list[str]:
        """Its one address."""
        self.looked_up.append(host)
        if host not in self._addresses:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [self._addresses[host]]

    def connect(self, address: Address, port: int, timeout_s: float) -> socket.socket:
        """To the program behind it, whatever the port."""
        if str(address) not in self._ports:
            raise ConnectionRefusedError(str(address))
        return SystemNetwork().connect(ip_address("127.0.0.1"), self._ports[str(address)], timeout_s)


@contextmanager
def served(command: Sequence[str], environment: Mapping[str, str], log: Path, url: str) -> Iterator[None]:
    """A program that answers at ``url``; it has ended afterwards."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            command, env={**_plain(), **environment}, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT
        )
        try:
            eventually(lambda: _answers(url) or _has_ended(process, log), patience_s=_PATIENCE_S)
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def _plain() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).status_code < 500
    except requests.RequestException:
        return False


def _has_ended(process: subprocess.Popen[bytes], log: Path) -> bool:
    assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")[-3_000:]
    return False
