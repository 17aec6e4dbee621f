"""The upgrade to jobs: whatever an older database had under way goes on under the name that people know, and what had
ended is told and listed as before."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.apps.thumbnails import rows as thumbnail_rows
from orchestrator.apps.thumbnails import thumbnails
from orchestrator.capabilities.downloads.records import AssetStatus
from orchestrator.capabilities.packages import records
from orchestrator.capabilities.packages.records import as_json
from orchestrator.core.db.database import Store
from orchestrator.core.db.migrations import migrations
from orchestrator.jobs import rows as job_rows
from orchestrator.turns import summary_rows
from orchestrator.web.fetcher import tls_context
from tests.support.core_fixture import KEY
from tests.support.downloads_fixture import BYTES, Certificates
from tests.support.downloads_fixture import fixture as download_fixture
from tests.support.fake_internet import Visit, answer, make_certificate
from tests.support.packages_fixture import fixture as package_fixture
from tests.support.packages_fixture import listed
from tests.unit.capabilities.video.test_videos import FILMS, film_set

NOW = 1_790_000_000.0


def _gives(visit: Visit) -> None:
    visit.send(answer(BYTES))


class Old:
    """A database as it was before there were jobs, with an agent and two people."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        self._db = sqlite3.connect(home / "hermit.db", isolation_level=None)
        migrations.apply(self._db, stop_before="m045_jobs")
        for number, name in enumerate(("ada", "bob"), 1):
            role = "operator" if number == 1 else "member"
            self.add("users", id=number, name=name, role=role, time_zone="UTC", created_at=NOW)
        words = dict.fromkeys(("role", "personality", "model", "fallback_model"), "")
        numbers = {"approval_timeout_s": 600, "step_limit": 50, "command_timeout_s": 60, "daily_budget_micro": 10**6}
        toolsets = '["calendar", "memory", "assets", "packages", "questions", "video"]'
        self.add(
            "agents", name="crab", provider="fake", image="base", approval="all",
            limits='{"disk_mb": 2048}', toolsets=toolsets,
            created_at=NOW, **words, **numbers,
        )  # fmt: skip

    def add(self, table: str, **fields: Any) -> None:
        """A row."""
        marks = ", ".join("?" * len(fields))
        names = ", ".join(fields)
        self._db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(fields.values()))  # noqa: S608 - our own names

    def mine(self, table: str, **fields: Any) -> None:
        """A row of the first cubicle."""
        self.add(table, agent="crab", user=1, **fields)

    def waits(self, call: str, waits_for: str, name: str, result: str = "{}") -> None:
        """A command that waits for this."""
        self.mine(
            "calls", id=call, turn=None, name=name, sha256="x", status="waiting", text="", result=result,
            waits_for=waits_for, cost=1, at=NOW,
        )  # fmt: skip

    def close(self) -> None:
        """The old version ends."""
        self._db.close()


@pytest.fixture
def old(tmp_path: Path) -> Iterator[Old]:
    """An older database in ``home``."""
    made = Old(tmp_path / "home")
    yield made
    made.close()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where it is."""
    return tmp_path / "home"


def approval(old: Old, name: str, kind: str, text: str, status: str = "pending") -> None:
    """A question for a person."""
    old.mine(
        "approvals", id=name, turn=None, step=None, kind=kind, text=text, sha256="x", reason="", status=status,
        asked_at=NOW, expires_at=9e9,
    )  # fmt: skip


def test_packages_go_on(old: Old, home: Path) -> None:
    """One of each status: their numbers and words stay, and what was under way is done."""
    asked = {"system": "pip", "asked": '["six"]', "asked_at": NOW}
    known = {**asked, "packages": json.dumps([listed("six")]), "approval": "k3j9"}
    old.mine("installations", id=4, status="resolving", tries=2, **asked)
    old.mine("installations", id=5, status="asked", **known)
    old.mine("installations", id=6, status="downloading", **{**known, "approval": "k3j8"})
    old.mine("installations", id=7, status="done", is_late=1, ended_at=NOW + 5, **known)
    old.mine("installations", id=9, status="failed", is_late=1, told=3, error="No.", ended_at=NOW + 6, **asked)
    old.mine("installations", id=8, status="denied", is_late=0, error="They said no.", ended_at=NOW + 6, **asked)
    approval(old, "k3j9", "packages", "pip install six")
    for number in (4, 5, 6):
        old.waits(f"c{number}", f"packages:{number}", "INSTALL")
    old.close()
    with package_fixture(home) as at:
        found = {one.id: one for one in at.packages.list_installs()}
        statuses = {number: one.status for number, one in found.items()}
        assert statuses == {4: "resolving", 5: "asked", 6: "downloading", 7: "done", 8: "denied", 9: "failed"}
        assert [one.id for one in at.packages.list_installs(status=records.DENIED)] == [8]
        shown = as_json(found[5])
        assert (shown["approval"], shown["packages"][0]["name"], shown["asked_at"]) == ("k3j9", "six", NOW)
        assert (as_json(found[9])["error"], as_json(found[4])["error"]) == ("No.", "")
        said = at.packages.turn_note(at.install.under_way())
        assert ("hermit install pip six" in said, "failed" in said) == (True, False)
        at.work()
        assert [(task["do"], task["asked"]) for task in at.helpers.tasks if task["do"] == "resolve"] == [
            ("resolve", ["six"])
        ]
        assert at.calls.get_call(KEY, "c6").status == "done"
        assert at.calls.get_call(KEY, "c6").result["folder"].endswith("/packages/6")
        at.install.approvals.decide("k3j9", approve=False, by=at.install.operator, surface="test")
        assert (at.calls.get_call(KEY, "c5").status, at.packages.get_install(5).status) == ("failed", "denied")
        new = at.ask("flask")
        assert int(new.waits_for.removeprefix("packages:")) > 9


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl")
def test_downloads_go_on(old: Old, home: Path, tmp_path: Path) -> None:
    """One of each status, and one that waits for another's question."""
    asset = {
        "description": "the paper", "host": "files.example", "file_type": "pdf", "wanted": "report.pdf",
        "asked_at": NOW,
    }  # fmt: skip
    url = "https://files.example/"
    old.mine("assets", id="aaaa", status="asked", url=f"{url}a", **asset)
    old.mine("assets", id="bbbb", status="fetching", url=f"{url}b", **asset)
    old.mine("assets", id="cccc", status="fetching", onward="aaaa", url=f"{url}c", **asset)
    old.mine("assets", id="dddd", status="done", url=f"{url}d", name="d.pdf", size_bytes=7, sha256="ff",
             content_type="application/pdf", ended_at=NOW + 1, **asset)  # fmt: skip
    old.mine("assets", id="eeee", status="failed", url=f"{url}e", error="Gone.", ended_at=NOW + 2, told_turn=0, **asset)
    old.mine("assets", id="ffff", status="cancelled", url=f"{url}f", ended_at=NOW + 3, **asset)
    approval(old, "aaaa", "asset", f"{url}a")
    old.mine("grants", id="g", kind="host", subject="files.example", scope="always", since=NOW, by="ada")
    for name in ("aaaa", "bbbb", "cccc"):
        old.waits(name, f"asset:{name}", "ASSET_REQUEST")
    old.close()
    authority, server = make_certificate(tmp_path, "DNS:files.example")
    certificates = Certificates(tls_context(str(authority)), server)
    with download_fixture(home, certificates, is_started=False) as at:
        found = {one.id: one for one in at.assets.list_downloads()}
        assert {name: str(one.status) for name, one in found.items()} == {
            "aaaa": "asked", "bbbb": "fetching", "cccc": "fetching", "dddd": "done", "eeee": "failed",
            "ffff": "cancelled",
        }  # fmt: skip
        assert (found["cccc"].onward, found["aaaa"].onward, found["aaaa"].url) == ("aaaa", "", f"{url}a")
        assert (found["dddd"].name, found["dddd"].size_bytes, found["dddd"].sha256) == ("d.pdf", 7, "ff")
        assert (found["eeee"].error, found["dddd"].error) == ("Gone.", "")
        assert [one.id for one in at.assets.list_downloads(AssetStatus.DONE)] == ["dddd"]
        assert at.assets.turn_note(at.install.under_way()) == f"in/d.pdf has arrived (you asked for {url}d)."
        at.site(_gives)
        at.jobs.start()
        assert at.calls.wait_call(KEY, "bbbb", 10).status == "done"
        at.install.approvals.decide("aaaa", approve=False, by=at.install.operator, surface="test")
        assert (at.calls.get_call(KEY, "aaaa").status, at.calls.get_call(KEY, "cccc").status) == ("failed", "failed")
        assert "files.example sends on" in at.assets.get_download("cccc").error


def test_videos_go_on(old: Old, home: Path) -> None:
    """One that waits, one that has its name already, those that ended; calls that wait hear of it."""
    request = {"text": "Hello", "seconds": 5.0, "name": "a.mp4", "asked_at": NOW}
    old.mine("motions", id=3, status="rendering", tries=1, **request)
    old.mine("motions", id=4, status="placing", placed="b.mp4", size_bytes=9, **{**request, "name": "b.mp4"})
    old.mine("motions", id=5, status="failed", error="No room.", is_late=1, ended_at=NOW, **request)
    old.mine("motions", id=6, status="done", placed="c.mp4", size_bytes=9, is_late=0, ended_at=NOW, **request)
    for number in (3, 4):
        old.waits(f"c{number}", f"motion:{number}", "CLAWMOTION")
    old.close()
    with film_set(home) as at:
        at.out_folder.mkdir(parents=True, exist_ok=True)
        (at.out_folder / "b.mp4").write_bytes(FILMS["mp4"])
        note = at.motions.turn_note(at.install.under_way())
        assert ("No room." in note, "c.mp4" in note) == (True, False)
        at.work()
        assert set(at.films()) == {"a.mp4", "b.mp4"}
        assert at.calls.get_call(KEY, "c3").result["file"] == "out/a.mp4"
        assert (at.calls.get_call(KEY, "c4").status, len(at.renderer.tasks)) == ("done", 1)
        assert int(str(at.ask().result["video"])) > 6


def test_what_else_waited_waits_on(old: Old, home: Path) -> None:
    """Files that programs send, pictures of apps, summaries."""
    old.waits("c1", "send:00ff", "SEND", '{"file": "a.txt", "caption": "look"}')
    old.mine("thumbnails", id=1, app="game", wanted_at=NOW, tries=2, file="1-x.png")
    old.mine("thumbnails", id=2, app="other", wanted_at=None, file="2-x.png")
    old.mine("turns", id=3, source="api", prompt="tea?", status="done", created_at=NOW, ended_at=NOW)
    old.mine("summaries", id=1, upto=3, text="They like tea.", wanted_at=NOW, made_at=NOW + 1)
    old.mine("summaries", id=2, upto=9, wanted_at=NOW + 2, tries=1, not_before=NOW + 900)
    old.close()
    with closing(Store(home / "hermit.db")) as store, store.reading() as db:
        (sending,) = job_rows.list_open_jobs(db, "send", KEY)
        assert (sending.name, sending.payload) == ("00ff", {"file": "a.txt", "caption": "look"})
        (picture,) = job_rows.list_open_jobs(db, thumbnails.KIND, KEY)
        assert (picture.payload, picture.tries, picture.created) == ({"app": "game"}, 2, NOW)
        assert {one.app: one.file for one in thumbnail_rows.list_thumbnails(db)} == {
            "game": "1-x.png",
            "other": "2-x.png",
        }
        (wanted,) = job_rows.list_open_jobs(db, summary_rows.KIND, KEY)
        assert (wanted.tries, wanted.not_before, wanted.name) == (1, NOW + 900, str(wanted.id))
        made = summary_rows.get_latest(db, 3)
        assert made is not None
        assert (made.text, made.upto, made.made_at) == ("They like tea.", 3, NOW + 1)
        assert summary_rows.get_latest(db, None) is None
