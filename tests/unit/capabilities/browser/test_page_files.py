"""Files between pages and workspaces, with a browser of paper: what is held for a job, what may be given to whom, and a
file that lands once whatever happens.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from orchestrator.approvals.answers import DecisionDetails
from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.approvals.notifications import Notifications
from orchestrator.approvals.source_rows import list_sources
from orchestrator.browser.downloads import PageDownload
from orchestrator.capabilities.browser import page_uploads
from orchestrator.capabilities.browser.browsing_parts import JOB, BrowsingParts
from orchestrator.capabilities.browser.held_files import HeldFiles
from orchestrator.capabilities.browser.page_saving import PageSaving
from orchestrator.capabilities.browser.page_uploads import PageUploads, check_files
from orchestrator.capabilities.browser.person_holds import PersonHolds
from orchestrator.capabilities.browser.saved_file import SAVE_JOB
from orchestrator.capabilities.browser.site_access import SiteAccess
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.landing import WorkspaceStore
from orchestrator.core.errors import BadInput, NotFound, OrchestratorError, TooLarge, TooMany
from orchestrator.core.models import Approval
from orchestrator.files.free_space import Reserve
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, Running
from orchestrator.jobs.pool import Jobs
from orchestrator.jobs.rows import Job, JobState
from tests.support.core_fixture import KEY, CoreFixture, core_fixture

BYTES = b"a page's file" * 100
FILE = PageDownload("guid-0001", "report.pdf", "https://shop.test/report.pdf", "completed", len(BYTES), number=1)
ORIGIN = "https://shop.test"


class DiedMeanwhile(BaseException):
    """As a sudden end of the process: nothing of the program catches it."""


@dataclass
class PaperBrowser:
    """A browser, its driver and its folders, as far as files go through them."""

    files: dict[str, bytes] = field(default_factory=lambda: {FILE.guid: BYTES})
    known: list[PageDownload] = field(default_factory=lambda: [FILE])
    given: dict[str, bytes] = field(default_factory=dict)
    is_open: bool = True

    def call(self, _key: object, work: Callable[[Any], Any], *, starts: bool) -> Any:
        """Runs it, where there is a browser."""
        assert not starts
        if not self.is_open:
            raise NotFound("No browser is open. Open a page first.")
        return asyncio.run(work(self))

    def downloads(self) -> tuple[PageDownload, ...]:
        """As the driver."""
        return tuple(self.known)

    def forget_or_take(self, guid: str) -> None:
        """It is gone from the list of those that wait."""
        self.known = [replace(one, state="taken") if one.guid == guid else one for one in self.known]

    async def origin_of(self, _ref: str) -> str:
        """As the driver."""
        return ORIGIN

    def take_download(self, *given: Any, stays: bool = False) -> int:
        """The driver's, with a GUID; or the folder's, which copies."""
        if len(given) == 1:
            self.forget_or_take(given[0])
            return 0
        _, guid, target = given
        assert stays
        return int(target.write(self.files[guid]))

    def drop_download(self, _key: object, guid: str) -> None:
        """Out of the folder."""
        if not self.is_open:
            raise NotFound("No browser is open. Open a page first.")
        del self.files[guid]

    def put_upload(self, _key: object, name: str, content: BinaryIO) -> Path:
        """Into the folder."""
        place = f"/helper/in/{len(self.given)}/{name}"
        self.given[place] = content.read()
        return Path(place)


@dataclass
class Files:
    """Saving and giving, over one install."""

    install: CoreFixture
    jobs: Jobs
    browser: PaperBrowser
    saving: PageSaving
    uploads: PageUploads
    landing: WorkspaceStore
    folder: Path

    def save(self, number: int = 1, *, turn: int | None = None, out: str = "") -> Job:
        """An agent asks for a file; how that stands after the first look."""
        with self.install.store.writing() as db:
            given = {"number": number, "out": out, "why": "the books"}
            name = self.saving.request(db, Caller(KEY, turn), given).waits_for.partition(":")[2]
        self.jobs.run_next()
        return self.job(name)

    def job(self, name: str, kind: str = SAVE_JOB) -> Job:
        """As its row has it."""
        with self.install.store.reading() as db:
            found = rows.get_job(db, kind, name)
        assert found is not None
        return found

    def question(self) -> Approval:
        """The only open one."""
        (found,) = [one for one in self.install.approvals.list_approvals() if str(one.status) == "pending"]
        return found

    def decide(self, *, approve: bool = True) -> None:
        """A person answers it, and what follows is done."""
        self.install.approvals.decide(self.question().id, approve=approve, by=self.install.operator, surface="test")
        self.jobs.run_next()

    def inbox(self) -> dict[str, bytes]:
        """What lies in ``in/``."""
        folder = self.install.home / "workspaces" / KEY.agent / str(KEY.user) / "in"
        return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}

    def held(self, kind: str = "saved") -> list[Path]:
        """Every copy."""
        return sorted(path for path in (self.folder / kind).rglob("*") if path.is_file())

    def ask_upload(self, *paths: str) -> Job:
        """An agent asks to give files; the job, which waits."""
        with self.install.store.writing() as db:
            payload = {"do": "upload", "ref": "e1", "files": list(paths), "why": "as asked"}
            job = self.jobs.submit(db, JOB, KEY, None, payload)
        self.jobs.run_next()
        return self.job(job.name, JOB)


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Files]:
    """An install whose agent has a browser with one file."""
    with core_fixture(tmp_path / "home") as install:
        install.workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid())
        home, browser = install.home, PaperBrowser()
        jobs = Jobs(install.store, Notifications(install.store, install.broker), finish=lambda *_, **__: None)
        parts = BrowsingParts(
            install.store,
            install.agents,
            install.approvals,
            install.grants,
            jobs,
            install.workspaces,
            cast("Any", browser),
            cast("Any", None),
            PersonHolds(),
            lambda _: None,
        )
        landing = WorkspaceStore(install.workspaces, install.agents, Reserve(home, ballast=home / "ballast"), home)
        folder = home / "browsers"
        saving = PageSaving(parts, landing, HeldFiles(folder / "saved", install.store, SAVE_JOB))
        uploads = PageUploads(parts, HeldFiles(folder / "given", install.store, JOB))

        def ask(running: Running) -> None:
            uploads.ask(running)

        jobs.add_kind(JobKind(JOB, ask, 60.0, tries=2, kept_s=None))
        yield Files(install, jobs, browser, saving, uploads, landing, folder)


# --- saving ------------------------------------------------------------------------------------------------------


def test_a_file_waits_for_its_yes_without_a_browser(at: Files) -> None:
    """The copy is what is agreed to; the browser may be gone, and what it has in its place by then is nobody's."""
    job = at.save()
    assert (job.state, at.inbox()) == (JobState.WAITING, {})
    assert at.question().text.endswith(hashlib.sha256(BYTES).hexdigest())
    assert [path.stat().st_mode & 0o777 for path in at.held()] == [0o600]
    at.browser.files[FILE.guid] = b"another file"
    at.browser.is_open = False
    at.decide()
    assert at.job(job.name).state is JobState.DONE
    assert at.inbox() == {"report.pdf": BYTES}
    assert at.held() == []


@pytest.mark.parametrize("dies", ["before", "after"])
def test_it_lands_once_though_we_die(at: Files, monkeypatch: pytest.MonkeyPatch, dies: str) -> None:
    """Before the file is in the inbox, or after it and before that is written down."""
    job = at.save()
    store_file = at.landing.store_file

    def killed(*given: Any, **more: Any) -> str:
        if dies == "after":
            store_file(*given, **more)
        raise DiedMeanwhile

    monkeypatch.setattr(at.landing, "store_file", killed)
    with pytest.raises(DiedMeanwhile):
        at.decide()
    assert at.job(job.name).state is JobState.RUNNING
    monkeypatch.setattr(at.landing, "store_file", store_file)
    at.jobs.reconcile()
    at.jobs.prepare_kinds()
    at.jobs.run_next()
    assert at.job(job.name).state is JobState.DONE
    assert at.inbox() == {"report.pdf": BYTES}
    assert at.held() == []


def test_a_question_is_asked_once_though_we_die(at: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is made anew."""

    def killed(*_: Any, **__: Any) -> Approval:
        raise DiedMeanwhile

    monkeypatch.setattr(at.install.approvals, "ask_person", killed)
    with pytest.raises(DiedMeanwhile):
        at.save()
    monkeypatch.undo()
    at.jobs.reconcile()
    at.jobs.run_next()
    assert at.question().kind == "page_file"
    assert len(at.held()) == 1
    at.decide(approve=False)
    assert at.held() == []
    assert at.inbox() == {}


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_what_was_agreed_to_or_nothing(at: Files, how: str) -> None:
    """A copy that is not the one of the question lands nowhere."""
    job = at.save()
    (copy,) = at.held()
    if how == "gone":
        copy.unlink()
    else:
        copy.write_bytes(b"x" * len(BYTES))
    at.decide()
    assert at.job(job.name).state is JobState.FAILED
    assert how in at.job(job.name).error
    assert at.inbox() == {}


def test_a_row_that_was_changed_lands_nowhere(at: Files) -> None:
    """What a person saw is held against what would be stored."""
    job = at.save()
    with at.install.store.writing() as db:
        db.execute("UPDATE jobs SET result = json_set(result, '$.wanted', 'other.pdf') WHERE id = ?", (job.id,))
    at.decide()
    assert "changed after a person agreed" in at.job(job.name).error
    assert at.inbox() == {}


def test_it_has_been_read_by_the_turn_that_asked(at: Files) -> None:
    """Its host, from before it lies there."""
    turn = at.install.under_way()
    at.save(turn=turn.id)
    at.decide()
    with at.install.store.reading() as db:
        sources = list_sources(db, KEY, turn.conversation)
    assert [one.subject for one in sources] == ["shop.test"]


def test_a_host_that_was_allowed_is_not_asked_about_until_another_is_read(at: Files) -> None:
    """A host's own pages and files count as its own."""
    turn = at.install.under_way()
    allow = at.install.grants.add_grant
    allow("crab", GrantKind.HOST, "shop.test", GrantScope.ALWAYS, by=at.install.operator, surface="test")
    assert at.save(turn=turn.id).state is JobState.DONE
    at.browser.known = [FILE, replace(FILE, guid="guid-0002", number=2, url="https://other.test/x.pdf")]
    at.browser.files = {FILE.guid: BYTES, "guid-0002": b"another"}
    assert at.save(turn=turn.id, out="again.pdf").state is JobState.DONE
    at.browser.known = [FILE, replace(FILE, guid="guid-0002", number=2, url="https://other.test/x.pdf")]
    at.browser.files = {FILE.guid: BYTES, "guid-0002": b"another"}
    assert at.save(2, turn=turn.id).state is JobState.WAITING
    at.decide()
    assert at.save(turn=turn.id, out="third.pdf").state is JobState.WAITING
    assert "other.test" in str(at.question().detail["since_allowed"])
    assert sorted(at.inbox()) == ["again.pdf", "report-2.pdf", "report.pdf"]


def test_yes_for_longer_is_for_the_host(at: Files) -> None:
    """As with a download."""
    at.save()
    said = DecisionDetails(scope=GrantScope.ALWAYS)
    by = at.install.operator
    at.install.approvals.decide(at.question().id, approve=True, by=by, surface="test", said=said)
    (grant,) = at.install.grants.of_agent("crab", viewer=by)
    assert (grant.kind, grant.subject) == (GrantKind.HOST, "shop.test")


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (replace(FILE, number=2), "There is no file 1"),
        (replace(FILE, refusal="it is over 100 MB"), "over 100 MB"),
        (replace(FILE, state="canceled"), "did not come"),
        (replace(FILE, state="taken"), "was saved already"),
        (replace(FILE, size_bytes=10**12), "does not fit"),
    ],
)
def test_what_can_not_be_saved_is_not_asked_about(at: Files, file: PageDownload, says: str) -> None:
    """The agent hears why."""
    at.browser.known = [file]
    job = at.save()
    assert job.state is JobState.FAILED
    assert says in job.error
    assert at.install.approvals.list_approvals() == []
    assert at.held() == []


def test_there_are_only_so_many_at_once(at: Files) -> None:
    """Those that wait for a person count."""
    at.browser.known = [replace(FILE, number=number, guid=f"guid-{number:04}") for number in range(1, 7)]
    at.browser.files = {one.guid: BYTES + bytes([one.number]) for one in at.browser.known}
    for number in range(1, 6):
        at.save(number, out=f"{number}.pdf")
    with pytest.raises(TooMany):
        at.save(6)


def test_copies_go_with_their_jobs(at: Files) -> None:
    """With an agent that is deleted, too; what an open job has stays."""
    job = at.save()
    (at.folder / "saved" / "999").mkdir()
    (at.folder / "saved" / "999" / "file").write_bytes(b"of nobody")
    at.jobs.delete_old()
    assert [path.parent.name for path in at.held()] == [job.name]
    at.install.agents.remove("crab")
    at.jobs.delete_old()
    assert at.held() == []


# --- giving ------------------------------------------------------------------------------------------------------


def test_the_copies_of_the_question_go(at: Files) -> None:
    """Not what the agent makes of its files meanwhile; and only within their own job."""
    work = at.install.home / "workspaces" / KEY.agent / str(KEY.user) / "work"
    (work / "a.txt").write_bytes(b"as it was")
    assert not page_uploads.is_awaited(at.install.store, KEY)
    job = at.ask_upload("work/a.txt")
    assert page_uploads.is_awaited(at.install.store, KEY)
    question = at.question()
    digest = hashlib.sha256(b"as it was").hexdigest()
    assert question.text == f"To {ORIGIN}:\nwork/a.txt\n9 bytes, SHA-256 {digest}"
    (work / "a.txt").write_bytes(b"a password")
    access = SiteAccess()
    with at.uploads.given(job, access):
        assert at.browser.given == {"/helper/in/0/a.txt": b"as it was"}
        assert asyncio.run(access.may_upload(ORIGIN, list(at.browser.given))) is None
        assert asyncio.run(access.may_upload(ORIGIN, list(at.browser.given))) is not None  # once
    with at.uploads.given(job, access):
        pass
    assert asyncio.run(access.may_upload(ORIGIN, list(at.browser.given)[1:])) is not None


@pytest.mark.parametrize(
    ("origin", "paths"),
    [
        ("http://shop.test", ["/helper/in/1/a"]),
        ("https://shop.test:8443", ["/helper/in/1/a"]),
        ("https://evil.test", ["/helper/in/1/a"]),
        (ORIGIN, ["/helper/in/2/b"]),
        (ORIGIN, ["/helper/in/1/a", "/helper/in/2/b"]),
        (ORIGIN, []),
    ],
)
def test_nothing_else_is_given(origin: str, paths: list[str]) -> None:
    """Another page, another file, more or fewer of them."""
    access = SiteAccess()
    assert asyncio.run(access.may_upload(origin, paths)) is not None
    access.allow_upload(ORIGIN, ["/helper/in/1/a"], 10)
    assert asyncio.run(access.may_upload(origin, paths)) is not None
    assert asyncio.run(access.may_upload(ORIGIN, ["/helper/in/1/a"])) is not None


def test_a_host_may_be_sent_what_it_was_given() -> None:
    """Beside the usual; other hosts not."""
    access = SiteAccess()
    usual = access.most_up("shop.test")
    access.allow_upload("https://shop.test:8443", ["/helper/in/1/a"], 5_000_000)
    assert (access.most_up("shop.test") or 0) - (usual or 0) >= 5_000_000
    assert access.most_up("other.test") == usual


def test_what_is_no_file_of_the_workspace_is_not_asked_about(at: Files) -> None:
    """A link, a folder, nothing: nobody is asked, and no copy stays."""
    work = at.install.home / "workspaces" / KEY.agent / str(KEY.user) / "work"
    (work / "link").symlink_to("/etc/passwd")
    (work / "good").write_bytes(b"good")
    for path in ("work/link", "work", "work/none", "work/../../../secret"):
        job = at.ask_upload("work/good", path)
        assert job.state is JobState.FAILED, path
    assert at.install.approvals.list_approvals() == []
    at.uploads.held.tidy()
    assert at.held("given") == []


def test_together_they_have_a_limit(at: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all files of one upload."""
    monkeypatch.setattr(page_uploads, "MAX_UPLOAD_BYTES", 10)
    work = at.install.home / "workspaces" / KEY.agent / str(KEY.user) / "work"
    for name in ("a", "b"):
        (work / name).write_bytes(b"123456")
    assert at.ask_upload("work/a", "work/b").state is JobState.FAILED
    assert at.ask_upload("work/a").state is JobState.WAITING


def test_a_damaged_copy_is_not_given(at: Files) -> None:
    """Nor one that is gone."""
    work = at.install.home / "workspaces" / KEY.agent / str(KEY.user) / "work"
    (work / "a.txt").write_bytes(b"as it was")
    job = at.ask_upload("work/a.txt")
    (copy,) = at.held("given")
    copy.write_bytes(b"something")
    with pytest.raises(NotFound, match="damaged"), at.uploads.given(job, SiteAccess()):
        pytest.fail("it was given")
    at.browser.is_open = False
    with pytest.raises(NotFound, match="No browser"), at.uploads.given(job, SiteAccess()):
        pytest.fail("it was given")


@pytest.mark.parametrize(
    "path", ["", "work", "/etc/passwd", "work//a", "work/../a", "work/\udcff", f"work/{'x' * 201}"]
)
def test_what_names_no_file_is_said(path: str) -> None:
    """Before anything is done."""
    with pytest.raises(BadInput, match=r"^BROWSER: files: "):
        check_files((path,))


def test_a_copy_that_breaks_off_is_gone(at: Files) -> None:
    """Whatever happens while it is made."""
    held = HeldFiles(at.folder / "saved", at.install.store, SAVE_JOB)

    def break_off() -> None:
        with held.make(1, "file") as file:
            file.write(b"half")
            raise TooLarge("too much")

    with pytest.raises(TooLarge):
        break_off()
    assert at.held() == []
    with pytest.raises(OrchestratorError), held.open(1, "file", sha256=""):
        pytest.fail("it was opened")
