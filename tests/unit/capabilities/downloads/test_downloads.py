"""Files from the internet: nothing moves before a person has agreed, what comes lies in ``in/`` once, and everything
else is said kindly."""

from __future__ import annotations

import gzip
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.approvals.limits import MAX_PENDING
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.downloads import messages as words
from orchestrator.capabilities.downloads.records import AssetStatus
from orchestrator.core.errors import BadInput, Conflict, Forbidden, NotFound, OrchestratorError, TooMany
from orchestrator.core.models import ApprovalStatus, TurnStatus
from orchestrator.web.fetcher import tls_context
from orchestrator.web.urls import UrlRules, parse_url
from tests.support.core_fixture import KEY, OTHER, heard, of_kind, watching
from tests.support.downloads_fixture import BYTES, SHA256, SMALL, URL, Certificates, DownloadsFixture, fixture
from tests.support.fake_internet import OTHER as ELSEWHERE
from tests.support.fake_internet import Visit, answer, make_certificate, opened

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl")

NAMES = "DNS:files.example,DNS:other.example,DNS:third.example"
MOVED = "https://other.example/blob"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """One for all names here."""
    path, server = make_certificate(tmp_path_factory.mktemp("tls"), NAMES)
    return Certificates(tls_context(str(path)), server)


@pytest.fixture
def at(tmp_path: Path, certificates: Certificates) -> Iterator[DownloadsFixture]:
    """A fixture, with a site that has the paper."""
    with fixture(tmp_path / "home", certificates) as made:
        made.site(gives(BYTES, Content_Type="application/pdf"))
        yield made


def gives(body: bytes, **headers: str) -> Callable[[Visit], None]:
    """A server that answers so."""

    def script(visit: Visit) -> None:
        visit.send(answer(body, **headers))

    return script


def sends_to(location: str) -> Callable[[Visit], None]:
    """A server that sends everybody on."""

    def script(visit: Visit) -> None:
        visit.send(answer(b"", "302 Found", Location=location))

    return script


# --- asking --------------------------------------------------------------------------------------------------------


def test_before_a_yes_nothing_is_looked_up(at: DownloadsFixture) -> None:
    """A person sees the exact URL, its host and what it tells; the network sees nothing, also not of a no."""
    call = at.ask(file_type="pdf")
    question = at.pending()[0]
    assert (question.kind, question.text, question.detail) == (
        "asset",
        URL,
        {
            "host": "files.example",
            "host_shown": "files.example",
            "url_chars": 18,
            "warnings": [],
            "description": "the paper",
            "file_type": "pdf",
        },
    )
    assert (call.status, call.waits_for, call.result) == ("waiting", f"asset:{question.id}", {"id": question.id})
    assert "/app/workspace/in/report.pdf" in call.text
    at.decide(call, approve=False)
    assert at.ended(call).text == "A person said no to this download, so nothing was fetched."
    assert at.asset(call).status is AssetStatus.DENIED
    assert at.is_untouched
    assert at.inbox() == {}


def test_warnings_are_shown(at: DownloadsFixture) -> None:
    """A strange host and a query full of something."""
    at.ask("https://xn--pypal-4ve.example/x?d=4f8a1c9be07d5523aa9914ce5bdf70e6")
    detail = at.pending()[0].detail
    assert detail["host"] == "xn--pypal-4ve.example"
    assert detail["host_shown"] != detail["host"]
    assert len(detail["warnings"]) >= 2
    assert at.is_untouched


UNUSABLE = {
    "plain": "http://files.example/a",
    "another scheme": "ftp://files.example/a",
    "a user": "https://files.example@evil.example/",
    "loopback": "https://127.0.0.1/",
    "a number": "https://2130706433/",
    "mapped": "https://[::ffff:127.0.0.1]/",
    "a local name": "https://printer/",
    "a port": "https://files.example:8443/",
    "a line break": "https://files.example/%0d%0aX: y",
}


@pytest.mark.parametrize("url", UNUSABLE.values(), ids=UNUSABLE)
def test_what_is_no_plain_url_is_refused(at: DownloadsFixture, url: str) -> None:
    """Nobody is asked about it."""
    with pytest.raises(BadInput):
        at.ask(url)
    assert at.pending() == []
    assert at.is_untouched


def test_plain_http_is_fetched_by_choice(tmp_path: Path, certificates: Certificates) -> None:
    """A warning says what that means."""
    with fixture(tmp_path / "home", certificates, rules=UrlRules(plain_http=True)) as at:
        site = at.stack.enter_context(opened(gives(BYTES)))
        at.town.sites["93.184.215.14"] = site
        call = at.ask("http://files.example/report.pdf")
        assert "not encrypted" in at.pending()[0].detail["warnings"][0]
        at.decide(call)
        assert at.ended(call).status == "done"


def test_the_same_wish_is_one_question_and_one_download(at: DownloadsFixture) -> None:
    """Everybody who asked gets the answer; another cubicle is asked about for itself."""
    calls = [at.ask() for _ in range(4)]
    theirs = at.ask(key=OTHER)
    assert len({call.waits_for for call in calls}) == 1
    assert len(at.pending()) == 2
    at.decide(calls[0])
    assert {at.ended(call).result["path"] for call in calls} == {"/app/workspace/in/report.pdf"}
    assert at.inbox() == {"report.pdf": BYTES}
    assert at.calls.get_call(OTHER, theirs.id).status == "waiting"
    assert len(at.town.connected) == 1


def test_a_flood_is_a_few_questions(at: DownloadsFixture) -> None:
    """A person is asked five things at most, whatever an agent does."""
    refused = 0
    for n in range(500):
        try:
            at.ask(f"https://files.example/{n}")
        except TooMany:
            refused += 1
    assert len(at.pending()) == MAX_PENDING
    assert refused == 500 - MAX_PENDING
    assert at.is_untouched


# --- what comes ----------------------------------------------------------------------------------------------------


def test_a_yes_brings_the_file(at: DownloadsFixture) -> None:
    """It lies in in/ with the right bytes, not executable; who waited is told where, and the audit log what."""
    with watching(at.install.broker) as news:
        call = at.fetched()
        statuses: list[str] = []
        while "done" not in statuses:
            statuses += at.until(lambda: [body["status"] for body in of_kind(heard(news), "asset")])
    path = "/app/workspace/in/report.pdf"
    assert (call.status, call.text) == ("done", f"The file is {path} (6.0 kB).")
    assert call.result == {"path": path, "size_bytes": len(BYTES), "sha256": SHA256}
    assert statuses == ["asked", "fetching", "done"]
    assert at.inbox() == {"report.pdf": BYTES}
    stored = at.install.home / "workspaces" / "crab" / "1" / "in" / "report.pdf"
    assert stored.stat().st_mode & 0o7777 == 0o644
    asset = at.asset(call)
    assert (asset.status, asset.size_bytes, asset.sha256) == (AssetStatus.DONE, len(BYTES), SHA256)
    assert asset.content_type == "application/pdf"
    row = at.install.audited("asset.arrived")[0]
    assert (row.detail["sha256"], row.detail["url"]) == (SHA256, URL)


def test_the_request_holds_nothing_of_the_agent(at: DownloadsFixture) -> None:
    """Fixed headers alone, to the address that was checked."""
    site = at.town.sites["93.184.215.14"]
    at.fetched()
    lines = site.heads[0].strip().split("\r\n")
    assert lines[0] == "GET /papers/report.pdf HTTP/1.1"
    assert [line.partition(":")[0] for line in lines[1:]] == [
        "Host",
        "User-Agent",
        "Accept",
        "Accept-Encoding",
        "Connection",
    ]
    assert at.town.connected == [("93.184.215.14", 443)]


def test_nothing_is_replaced(at: DownloadsFixture) -> None:
    """A name that is taken gets a number, also the second time."""
    paths = [at.fetched().result["path"] for _ in range(3)]
    assert [path.rpartition("/")[2] for path in paths] == ["report.pdf", "report-2.pdf", "report-3.pdf"]
    assert at.inbox() == dict.fromkeys(("report.pdf", "report-2.pdf", "report-3.pdf"), BYTES)


NAMED = {
    "https://a.example/x/report.pdf?d=1": ("", "report.pdf"),
    "https://a.example/": ("pdf", "download.pdf"),
    "https://a.example/x/": ("", "x"),
    "https://a.example/blob": ("image/png", "blob.png"),
    "https://a.example/blob.bin": ("png", "blob.bin"),
    "https://a.example/..%2f..%2fetc%2fpasswd": ("", "passwd"),
    "https://a.example/%2e%2ebashrc": ("", "bashrc"),
    "https://a.example/-rf": ("", "rf"),
    "https://a.example/%e2%80%aegnp.exe": ("", "_gnp.exe"),
    "https://a.example/" + "n" * 900: ("pdf", "n" * 120 + ".pdf"),
}


@pytest.mark.parametrize(("url", "named"), NAMED.items(), ids=lambda value: str(value)[:40])
def test_the_host_chooses_the_name(url: str, named: tuple[str, str]) -> None:
    """As the URL says where that is harmless, with the ending that was expected where there is none."""
    file_type, name = named
    assert words.name_of(parse_url(url), file_type) == name


def test_a_file_that_is_too_large_is_not_kept(at: DownloadsFixture) -> None:
    """Announced, endless or packed small: the same end, and nothing is left."""

    def endless(visit: Visit) -> None:
        alive = visit.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while alive and not visit.over.is_set():
            alive = visit.send(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")

    bomb = gives(gzip.compress(bytes(20_000_000)), Content_Encoding="gzip")
    for script in (gives(b"x" * 300_000), endless, bomb):
        at.site(script)
        call = at.fetched()
        assert (call.status, call.result) == ("failed", {"code": "failed"})
        assert "larger than the limit" in call.text
    assert at.inbox() == {}
    assert list((at.install.home / "scratch").iterdir()) == []


def test_a_silent_server_is_given_up(at: DownloadsFixture) -> None:
    """And the agent may ask again."""

    def silent(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nfive")
        visit.over.wait(10)

    at.site(silent)
    assert "stopped sending" in at.fetched().text
    at.site(gives(BYTES))
    assert at.fetched().status == "done"


def test_a_full_workspace_takes_nothing(tmp_path: Path, certificates: Certificates) -> None:
    """The limit of the workspace holds for downloads as for uploads, and says so."""
    with fixture(tmp_path / "home", certificates, limits=SMALL) as at:
        at.site(gives(BYTES))
        at.install.agents.update_agent("crab", {"limits": {"disk_mb": 64}})
        work = at.install.home / "workspaces" / "crab" / "1" / "work"
        work.mkdir(parents=True)

        def leave(left: int) -> None:
            with (work / "full").open("ab") as file:
                file.write(b"x" * (64 * 1024**2 - left - at.workspaces.measure_usage(KEY).bytes))

        leave(20 * 4096)
        assert at.fetched().status == "done"
        leave(4096)
        assert "does not fit" in at.fetched().text
        leave(0)
        assert "The workspace is full" in at.fetched().text
        assert list(at.inbox()) == ["report.pdf"]


# --- binding -------------------------------------------------------------------------------------------------------

CHANGES = {
    "the URL": "UPDATE jobs SET payload = json_set(payload, '$.url', 'https://files.example/other')",
    "the host": "UPDATE jobs SET payload = json_set(payload, '$.host', 'other.example')",
    "the question": "UPDATE approvals SET text = 'https://files.example/other'",
    "the digest": "UPDATE approvals SET sha256 = 'x'",
    "whose it is": "UPDATE jobs SET user = 2",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_changed_after_it_was_asked_is_refused(at: DownloadsFixture, change: str) -> None:
    """Nothing is looked up for it."""
    call = at.ask()
    with at.install.store.writing() as db:
        db.execute(change)
    at.decide(call)
    assert "was changed after a person agreed" in at.ended(call).text
    assert at.is_untouched


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_changed_before_it_was_fetched_is_refused(
    tmp_path: Path, certificates: Certificates, change: str
) -> None:
    """The digest is looked at once more at the last moment."""
    with fixture(tmp_path / "home", certificates, is_started=False) as at:
        call = at.ask()
        at.decide(call)
        with at.install.store.writing() as db:
            db.execute(change)
        at.jobs.start()
        assert "was changed after a person agreed" in at.ended(call).text
        assert at.is_untouched


# --- redirects -----------------------------------------------------------------------------------------------------


def test_a_redirect_to_another_host_asks_again(at: DownloadsFixture) -> None:
    """The first URL waits; the second question says which URL led there; a yes to it ends both."""
    at.site(sends_to(MOVED))
    at.town.names["other.example"] = [[ELSEWHERE]]
    elsewhere = at.site(gives(BYTES), ELSEWHERE)
    call = at.ask()
    at.decide(call)
    second = at.until(at.pending)[0]
    assert (second.text, second.detail["led_by"], second.detail["host"]) == (MOVED, URL, "other.example")
    assert URL in second.detail["warnings"][0]
    assert (at.town.looked_up, elsewhere.connections) == (["files.example"], 0)
    assert at.ask().waits_for == call.waits_for  # still the same request
    at.install.approvals.decide(second.id, approve=True, by=at.install.operator, surface="test")
    assert at.ended(call).result["path"] == "/app/workspace/in/report.pdf"
    assert at.inbox() == {"report.pdf": BYTES}
    assert at.asset(call).status is at.settled(second.id).status is AssetStatus.DONE


def test_a_no_to_the_other_host_ends_both(at: DownloadsFixture) -> None:
    """And the other host never hears of it."""
    at.site(sends_to(MOVED))
    call = at.ask()
    at.decide(call)
    second = at.until(at.pending)[0]
    at.install.approvals.decide(second.id, approve=False, by=at.install.operator, surface="test")
    ended = at.ended(call)
    assert ended.status == "failed"
    assert "files.example sends on to other.example. A person said no" in ended.text
    assert at.town.looked_up == ["files.example"]


def test_the_way_back_is_no_new_question(at: DownloadsFixture) -> None:
    """A host that was agreed to on the way needs no second yes."""

    def first(visit: Visit) -> None:
        visit.send(answer(BYTES) if visit.target == "/back" else answer(b"", "302 Found", Location=MOVED))

    at.site(first)
    at.town.names["other.example"] = [[ELSEWHERE]]
    at.site(sends_to("https://files.example/back"), ELSEWHERE)
    call = at.ask()
    at.decide(call)
    second = at.until(at.pending)[0]
    at.install.approvals.decide(second.id, approve=True, by=at.install.operator, surface="test")
    assert at.ended(call).status == "done"
    assert at.pending() == []


@pytest.mark.parametrize("location", ["https://127.0.0.1/", "https://10.0.0.1/x", "file:///etc/passwd", "https://a@b/"])
def test_a_redirect_to_what_is_never_fetched_fails(at: DownloadsFixture, location: str) -> None:
    """Nobody is asked about it."""
    at.site(sends_to(location))
    assert "is not followed" in at.fetched().text
    assert at.pending() == []
    assert len(at.town.connected) == 1


def test_an_endless_chase_ends(at: DownloadsFixture) -> None:
    """A request may be sent on to a few hosts; then it is over."""
    numbers = iter(range(100))
    town = at.town

    def onwards(visit: Visit) -> None:
        visit.send(answer(b"", "302 Found", Location=f"https://{next(hosts)}.example/x"))

    hosts = (f"h{n}" for n in numbers)
    names = ",".join(["DNS:files.example", *(f"DNS:h{n}.example" for n in range(10))])
    path, server = make_certificate(at.install.home, names)
    at.certificates.client.load_verify_locations(cafile=str(path))
    town.sites["93.184.215.14"] = at.stack.enter_context(opened(onwards, server))
    town.names |= {f"h{n}.example": [["93.184.215.14"]] for n in range(10)}
    call = at.ask()
    at.decide(call)
    asked = 0
    while at.calls.get_call(KEY, call.id).status == "waiting" and asked < 20:
        for question in at.pending():
            at.install.approvals.decide(question.id, approve=True, by=at.install.operator, surface="test")
            asked += 1
        threading.Event().wait(0.02)
    assert asked == 5
    assert "one host too many" in at.ended(call).text


# --- hosts that are allowed for ever -------------------------------------------------------------------------------


def test_a_host_may_be_allowed_for_ever(at: DownloadsFixture) -> None:
    """This host for this agent: no question, but everything else holds; revoked, it is asked about again."""
    first = at.ask()
    at.decide(first, always=True)
    assert at.ended(first).status == "done"
    assert [(held.agent, held.subject) for held in at.held()] == [("crab", "files.example")]
    second = at.ask("https://files.example/second.pdf", key=OTHER)
    assert at.pending() == []
    assert at.ended(second).result["path"] == "/app/workspace/in/second.pdf"
    at.ask("https://sub.files.example/x")
    assert len(at.pending()) == 1
    at.install.grants.revoke_grant("crab", at.held()[0].id, by=at.install.operator)
    assert at.held() == []
    at.ask("https://files.example/third.pdf")
    assert len(at.pending()) == 2
    assert [len(at.install.audited(kind)) for kind in ("host.allowed", "asset.allowed", "host.revoked")] == [1, 1, 1]
    with pytest.raises(NotFound):
        at.install.grants.revoke_grant("crab", "abcdefgh", by=at.install.operator)
    with pytest.raises(NotFound):
        at.install.grants.of_agent("nobody", viewer=at.install.operator)


def test_a_revoked_host_is_not_fetched_from(tmp_path: Path, certificates: Certificates) -> None:
    """Not even what was asked for a moment before."""
    with fixture(tmp_path / "home", certificates, is_started=False) as at:
        first = at.ask()
        at.decide(first, always=True)
        second = at.ask("https://files.example/second.pdf")
        at.install.grants.revoke_grant("crab", at.held()[0].id, by=at.install.operator)
        at.site(gives(BYTES))
        at.jobs.start()
        assert at.ended(first).status == "done"  # a person said yes to this one itself
        assert "not allowed any more" in at.ended(second).text


def test_allowed_hosts_are_followed_to(at: DownloadsFixture) -> None:
    """A redirect to one of them is no question."""
    at.town.names["other.example"] = [[ELSEWHERE]]
    at.site(gives(BYTES), ELSEWHERE)
    there = at.ask(MOVED)
    at.decide(there, always=True)
    at.ended(there)
    at.site(sends_to(MOVED))
    assert at.fetched().status == "done"
    assert at.pending() == []


def test_only_an_operator_allows_for_ever(at: DownloadsFixture) -> None:
    """It would hold for everybody who talks to the agent. A member decides their own, once."""
    call = at.ask(key=OTHER)
    with pytest.raises(Forbidden, match="operator"):
        at.decide(call, always=True, by=at.install.member)
    at.decide(call, by=at.install.member)
    assert at.ended(call).status == "done"
    assert at.held() == []
    with pytest.raises(NotFound):
        at.decide(at.ask(), by=at.install.member)


# --- turns, people and agents --------------------------------------------------------------------------------------


def test_after_its_turn_the_person_and_the_agent_hear_of_it(at: DownloadsFixture) -> None:
    """A notice for the person, and one note at the start of the agent's next turn."""
    turn = at.install.under_way()
    call = at.ask(turn=turn.id)
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="I asked for it.")
    at.decide(call)
    at.ended(call)
    (notice,) = at.notifications.list_recent(KEY)
    assert (notice.kind, notice.turn, notice.text) == (
        "asset",
        turn.id,
        "in/report.pdf has arrived for crab: 6.0 kB from files.example.",
    )
    following = at.install.under_way("and now?")
    told = f"in/report.pdf has arrived (you asked for {URL})."
    assert [at.assets.turn_note(following), at.assets.turn_note(following)] == [
        told,
        told,
    ]  # handed out twice, said the same
    at.install.turns.end_turn(KEY, following.id, TurnStatus.DONE, reply="Good.")
    assert at.assets.turn_note(at.install.under_way("again")) == ""


def test_who_waits_in_the_turn_is_not_told_twice(at: DownloadsFixture) -> None:
    """A command heard it already; a panel action did not."""
    turn = at.install.under_way()
    waiting = at.ask(turn=turn.id)
    at.decide(waiting)
    at.ended(waiting)
    asked = {"name": "ASSET_REQUEST", "description": "x", "url": "https://files.example/other.pdf"}
    from_panel = at.calls.run_batch(Caller(KEY, turn.id), 1, [asked])[0]
    assert from_panel["ok"]
    assert at.calls.waited_s(KEY, turn.id)[1] is False  # its turn goes on, and the time of its commands counts
    question = at.pending()[0]
    at.install.approvals.decide(question.id, approve=True, by=at.install.operator, surface="test")
    at.settled(question.id)
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="ok")
    assert at.notifications.list_recent(KEY) == []
    assert at.assets.turn_note(at.install.under_way("next")).startswith("in/other.pdf has arrived")


def test_a_failure_after_the_turn_is_told(at: DownloadsFixture) -> None:
    """With the reason; a no, which the person said themselves, only to the agent."""

    def has_nothing(visit: Visit) -> None:
        visit.send(answer(b"", "404 Not Found"))

    at.site(has_nothing)
    at.fetched()
    assert "does not have it (status 404)" in at.notifications.list_recent(KEY)[0].text
    refused = at.ask("https://files.example/b")
    at.decide(refused, approve=False)
    assert len(at.notifications.list_recent(KEY)) == 1
    note = at.assets.turn_note(at.install.under_way())
    assert "status 404" in note
    assert "You asked for https://files.example/b. A person said no" in note


def test_the_question_outlives_the_turn_but_not_the_time(at: DownloadsFixture) -> None:
    """Nobody in time: the call fails and says so; a late yes is too late."""
    turn = at.install.under_way()
    call = at.ask(turn=turn.id)
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    assert at.asset(call).status is AssetStatus.ASKED
    with at.install.store.writing() as db:
        db.execute("UPDATE approvals SET expires_at = 1")
    at.install.approvals.expire_due()
    assert "Nobody answered in time" in at.ended(call).text
    with pytest.raises(Conflict):
        at.decide(call)
    assert at.is_untouched


def test_changed_settings_take_the_question_back(at: DownloadsFixture) -> None:
    """It may be asked again."""
    call = at.ask()
    at.install.approvals.withdraw("crab")
    assert "taken back" in at.ended(call).text
    assert at.ask().waits_for != call.waits_for


def test_deleting_an_agent_stops_its_download(at: DownloadsFixture) -> None:
    """The connection ends, its questions are cancelled, and nothing is stored afterwards."""
    begun = threading.Event()

    def slow(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        begun.set()
        while not visit.over.wait(0.02) and visit.send(b"x"):
            pass

    at.site(slow)
    at.decide(at.ask())
    waiting = at.ask("https://files.example/b")
    assert begun.wait(5)
    with at.install.store.writing() as db:
        db.execute("INSERT INTO leaving (agent, since) VALUES ('crab', 1)")
    at.install.approvals.abandon(lambda key: key.agent == "crab")
    at.jobs.await_end(lambda key: key.agent == "crab")
    assert at.install.approvals.get(waiting.waits_for.partition(":")[2]).status is ApprovalStatus.CANCELLED
    assert at.inbox() == {}
    at.install.agents.remove("crab")
    assert at.assets.list_downloads() == []


def test_listing(at: DownloadsFixture) -> None:
    """By status and by person, the newest first."""
    at.fetched()
    at.ask("https://files.example/b")
    at.ask(key=OTHER)
    assert [asset.cubicle.user for asset in at.assets.list_downloads()] == [2, 1, 1]
    assert [asset.url for asset in at.assets.list_downloads(AssetStatus.DONE)] == [URL]
    assert [asset.cubicle for asset in at.assets.list_downloads(user=2)] == [OTHER]
    with pytest.raises(NotFound):
        at.assets.get_download("nothing")


def test_a_switched_off_toolset_asks_nobody(tmp_path: Path, certificates: Certificates) -> None:
    """The agent's settings say what it may ask for."""
    with fixture(tmp_path / "home", certificates, toolsets=["memory"]) as at:
        with pytest.raises(OrchestratorError, match="switched off"):
            at.ask()
        assert at.pending() == []
