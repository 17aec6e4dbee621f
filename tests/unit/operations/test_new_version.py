"""Whether there is a new version: asked of one address, if the operator named it, and of nobody else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from orchestrator.core.config import load
from orchestrator.core.errors import BadInput, ConfigError, OrchestratorError
from orchestrator.operations.new_version import NewVersion, VersionWatch, read_answer
from orchestrator.web.fetcher import tls_context
from orchestrator.web.limits import Internet
from tests.support.app_fixture import run_app
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, make_certificate, opened
from tests.support.made_once import usual_certificates
from tests.unit.conftest import logged_in

URL = "https://new.example/hermitshell.json"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"version": "0.2.0", "url": "https://new.example/0.2.0"}', NewVersion("0.2.0", "https://new.example/0.2.0")),
        (b'{"version": "0.10.0"}', NewVersion("0.10.0", "")),
        (b'{"version": "1.0.0", "url": "javascript:alert(1)", "run": "rm"}', NewVersion("1.0.0", "")),
        (b'{"version": "1.0.0", "url": 5}', NewVersion("1.0.0", "")),
        (b'{"version": "0.1.0"}', None),
        (b'{"version": "0.0.9"}', None),
    ],
)
def test_a_newer_version_is_told_apart(body: bytes, found: NewVersion | None) -> None:
    """By its numbers, not by its letters; an address that is none is left out."""
    assert read_answer(body, "0.1.0") == found


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"5", b"null", b"{}", b'{"version": 2}', b'{"version": "<b>"}', b'{"version": "1.2"}', b"\xff",
     b'{"version": "1.2.3-x"}', b'{"version": "99999.0.0"}', b"[" * 5_000],
)  # fmt: skip
def test_what_is_no_answer_tells_of_nothing(body: bytes) -> None:
    """It is refused in a sentence."""
    with pytest.raises(BadInput):
        read_answer(body, "0.1.0")


def test_without_an_address_nobody_is_asked(tmp_path: Path) -> None:
    """That is how it is unless the operator says otherwise; and it has to be https."""
    assert load({"HERMIT_HOME": str(tmp_path)}, tmp_path).update_url == ""
    with pytest.raises(ConfigError):
        load({"HERMIT_HOME": str(tmp_path), "HERMIT_UPDATE_URL": "http://new.example/"}, tmp_path)
    watch = VersionWatch("", Internet(tls=usual_certificates()))
    watch.start()
    assert not watch._rounds._thread.is_alive()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl")
def test_the_operator_is_told(tmp_path: Path) -> None:
    """On the page of settings and over the API; no more than the address is sent, and a failure forgets nothing."""
    path, server = make_certificate(tmp_path, "DNS:new.example")
    heads: list[str] = []

    def tell(visit: Visit) -> None:
        heads.append(visit.head)
        visit.send(answer(b'{"version": "9.0.0", "url": "https://new.example/9"}'))

    with opened(tell, server) as site:
        town = FakeInternet({"new.example": [[PUBLIC]]}, {PUBLIC: site})
        internet = Internet(town, tls_context(str(path)))
        with run_app(tmp_path / "home", internet=internet, environment={"HERMIT_UPDATE_URL": URL}) as install:
            from dashboard.app import create_app

            app = create_app(install.services)
            browser = logged_in(install, app, install.services.users.get_operator())
            assert "is there" not in browser.client.get("/settings").get_data(as_text=True)
            install.services.version_watch.ask()
            page = browser.client.get("/settings").get_data(as_text=True)
            assert "9.0.0 is there" in page
            assert "https://new.example/9" in page
            told = browser.client.get("/api/settings").get_json()["new_version"]
            assert told == {"version": "9.0.0", "url": "https://new.example/9"}
            assert "cookie" not in "".join(heads).lower()
            town.sites.clear()
            with pytest.raises(OrchestratorError):
                install.services.version_watch.ask()
            assert install.services.version_watch.found is not None
