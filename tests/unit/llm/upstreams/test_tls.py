"""Certificates: a provider over HTTPS is believed only with a valid one for its name."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.core.errors import Stopped, UpstreamFailed
from orchestrator.core.models import ModelRequest
from orchestrator.llm.upstreams.http import tls_context
from orchestrator.llm.upstreams.openai_compatible import OpenAICompatible
from tests.support.scripted_upstream import Gate, ScriptedUpstream, streams

REQUEST = ModelRequest("m", ({"role": "user", "content": "hello"},), 9)

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl")


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate that signs itself, for ``name``, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    made = ["-keyout", str(key), "-out", str(certificate), "-subj", f"/CN={name}", "-addext", f"subjectAltName={name}"]
    kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run([shutil.which("openssl") or "openssl", *kind, *made], check=True, capture_output=True, timeout=30)
    return certificate, key


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the certificates lie."""
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def certificate(folder: Path) -> tuple[Path, Path]:
    """One for 127.0.0.1."""
    return make_certificate(folder, "IP:127.0.0.1")


@pytest.fixture
def provider(certificate: tuple[Path, Path]) -> Iterator[ScriptedUpstream]:
    """A scripted provider over HTTPS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with ScriptedUpstream(tls=context) as scripted:
        yield scripted


def test_a_trusted_certificate_is_accepted(provider: ScriptedUpstream, certificate: tuple[Path, Path]) -> None:
    """With the file of certificates that was set, the call works and its connection is kept."""
    upstream = OpenAICompatible("custom", provider.base_url, "sk-1", tls=tls_context(str(certificate[0])))
    for _ in range(3):
        assert list(upstream.complete(REQUEST))
    assert provider.connections == 1
    upstream.close()


def test_an_unknown_certificate_is_refused(provider: ScriptedUpstream) -> None:
    """A certificate that nobody we trust has signed ends the call before the key is sent."""
    upstream = OpenAICompatible("custom", provider.base_url, "sk-1")
    with pytest.raises(UpstreamFailed, match="valid certificate") as failed:
        upstream.complete(REQUEST)
    assert not failed.value.may_retry
    assert not failed.value.may_have_cost
    assert provider.requests == []
    upstream.close()


def test_a_certificate_for_another_name_is_refused(folder: Path) -> None:
    """Trusted, but for somebody else: refused."""
    certificate, key = make_certificate(folder, "DNS:elsewhere.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ScriptedUpstream(tls=context) as provider:
        upstream = OpenAICompatible("custom", provider.base_url, "sk-1", tls=tls_context(str(certificate)))
        with pytest.raises(UpstreamFailed, match="valid certificate"):
            upstream.complete(REQUEST)
        assert provider.requests == []
        upstream.close()


def test_https_to_a_port_that_speaks_http() -> None:
    """A base URL with https for a plain server gives a sentence about it."""
    with ScriptedUpstream() as provider:
        upstream = OpenAICompatible("custom", provider.base_url.replace("http:", "https:"))
        with pytest.raises(UpstreamFailed, match="custom"):
            upstream.complete(REQUEST)
        upstream.close()


def test_close_wakes_a_reader_over_tls(provider: ScriptedUpstream, certificate: tuple[Path, Path]) -> None:
    """Closing from another thread ends the wait in the middle of an encrypted stream too."""
    gate = Gate()
    provider.script(streams(["one ", gate, "two"]))
    upstream = OpenAICompatible("custom", provider.base_url, tls=tls_context(str(certificate[0])))
    completion = upstream.complete(REQUEST)
    deltas = iter(completion)
    assert next(deltas) == "one "
    assert gate.reached.wait(5)
    completion.close()
    with pytest.raises(Stopped):
        list(deltas)
    gate.open()
    provider.wait_until_left()
    upstream.close()
