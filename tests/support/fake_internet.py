"""Web servers on loopback that do one scripted thing each, and a network in which names and public addresses lead to
them: what a fetch may meet, without a packet leaving this machine."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from orchestrator.web.ip_rules import Address
from orchestrator.web.network import SystemNetwork

Script = Callable[["Visit"], None]
PUBLIC = "93.184.215.14"
OTHER = "2606:4700::1111"


@dataclass
class Visit:
    """One connection that a site got: the request's head as it came, and how to answer."""

    sock: socket.socket
    head: str
    over: threading.Event
    """Set when the test is over: nobody may wait longer."""

    def send(self, data: bytes) -> bool:
        """False when the visitor has gone."""
        try:
            self.sock.sendall(data)
        except OSError:
            return False
        return True

    @property
    def host(self) -> str:
        """Whom it was meant for, as its head says."""
        return next(line for line in self.head.split("\r\n") if line.lower().startswith("host:"))[5:].strip()

    @property
    def target(self) -> str:
        """What was asked for."""
        return self.head.split(" ")[1]


@dataclass
class FakeSite:
    """A server at a port of loopback."""

    script: Script
    tls: ssl.SSLContext | None = None
    heads: list[str] = field(default_factory=list)
    connections: int = 0

    def __post_init__(self) -> None:
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, name="site", daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        """Nothing is left of it."""
        if self._over.is_set():
            return
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._serve, args=(sock,), name="site", daemon=True))
            self._threads[-1].start()

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(5)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with self.tls.wrap_socket(sock, server_side=True) if self.tls else sock as talking:
                head = b""
                while b"\r\n\r\n" not in head and (piece := talking.recv(65536)):
                    head += piece
                self.heads.append(head.decode("latin-1"))
                self.script(Visit(talking, self.heads[-1], self._over))
                if isinstance(talking, ssl.SSLSocket):
                    talking.unwrap()
        except OSError:
            return  # the visitor has gone, or never meant it
        finally:
            sock.close()


@dataclass
class FakeInternet:
    """A network of our own: what names answer (one answer a look-up, the last stays), and where addresses lead."""

    names: dict[str, list[list[str]]] = field(default_factory=dict)
    sites: dict[str, FakeSite] = field(default_factory=dict)
    looked_up: list[str] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)

    def resolve(self, host: str, timeout_s: float) -> list[str]:
        """The next scripted answer."""
        self.looked_up.append(host)
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        answers = self.names[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def connect(self, address: Address, port: int, timeout_s: float) -> socket.socket:
        """To the site that stands for the address; an address without one refuses."""
        self.connected.append((str(address), port))
        if str(address) not in self.sites:
            raise ConnectionRefusedError(str(address))
        loopback = ip_address("127.0.0.1")
        return SystemNetwork().connect(loopback, self.sites[str(address)].port, timeout_s)


@contextmanager
def opened(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[FakeSite]:
    """A site that is closed in the end."""
    site = FakeSite(script, tls)
    try:
        yield site
    finally:
        site.close()


def make_certificate(folder: Path, names: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate that signs itself, for ``names`` (``DNS:a.example,IP:1.2.3.4``), and a server's context with it."""
    openssl = shutil.which("openssl") or "openssl"
    stem = names.replace(":", "-").replace(",", "_").replace("*", "x")
    certificate, key = folder / f"{stem}.pem", folder / f"{stem}.key"
    kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    made = ["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=a test", "-addext", f"subjectAltName={names}"]
    subprocess.run([openssl, *kind, *made], check=True, capture_output=True, timeout=30)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context


def answer(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """An answer with its length; an underscore in a header's name stands for a hyphen."""
    given = {"Content-Length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body
