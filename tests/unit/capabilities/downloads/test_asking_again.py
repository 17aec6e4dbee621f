"""Allowed hosts and what was read: an address of the agent's own wording is asked about again once something new has
come in, and the row of what comes is there before the file is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.approvals import source_rows
from orchestrator.approvals.answers import DecisionDetails
from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.approvals.source_rows import NewSource, Source, SourceKind
from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.core.models import Turn, TurnStatus
from orchestrator.files.attachments import Attachment, prompt_with_files
from orchestrator.files.models import Readable, Stored
from orchestrator.files.workspace import Workspaces
from orchestrator.turns.conversations import Conversations
from orchestrator.web.fetcher import tls_context
from tests.support.core_fixture import KEY
from tests.support.downloads_fixture import Certificates, DownloadsFixture, fixture
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, make_certificate

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificates with openssl")

HOSTS = ("a.example", "b.example", "c.example")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """One for all names here."""
    path, server = make_certificate(tmp_path_factory.mktemp("tls"), ",".join(f"DNS:{host}" for host in HOSTS))
    return Certificates(tls_context(str(path)), server)


def gives(visit: Visit) -> None:
    """A site that has everything; ``/on`` sends on to another host."""
    moved = answer(b"", "302 Found", Location="https://c.example/landed")
    visit.send(moved if visit.target == "/on" else answer(b"a page"))


def town() -> FakeInternet:
    """All hosts at one address."""
    return FakeInternet({host: [[PUBLIC]] for host in HOSTS})


@pytest.fixture
def at(tmp_path: Path, certificates: Certificates) -> Iterator[DownloadsFixture]:
    """An install, with a site that has everything."""
    with fixture(tmp_path / "home", certificates, town=town()) as made:
        made.site(gives)
        yield made


@pytest.fixture
def turn(at: DownloadsFixture) -> Turn:
    """The one under way."""
    return at.install.under_way()


def allow(at: DownloadsFixture, host: str, scope: GrantScope = GrantScope.ALWAYS) -> None:
    """A person allows it by hand."""
    at.install.grants.add_grant("crab", GrantKind.HOST, host, scope, by=at.install.operator, surface="test")


def agree(at: DownloadsFixture, call: CapabilityCall, scope: GrantScope | None = None) -> CapabilityCall:
    """A person says yes; the call, when the file has come."""
    asset = call.waits_for.partition(":")[2]
    by = at.install.operator
    at.install.approvals.decide(asset, approve=True, by=by, surface="test", said=DecisionDetails(scope=scope))
    return at.ended(call)


def is_asked(at: DownloadsFixture, url: str, turn: int | None) -> bool:
    """A person is asked about this address; the question is answered with no, else the file comes."""
    call = at.ask(url, turn=turn)
    pending = at.pending()
    if not pending:
        assert at.ended(call).status == "done"
        return False
    at.decide(call, approve=False)
    assert at.ended(call).status == "failed"
    return True


def read(at: DownloadsFixture, conversation: int) -> list[Source]:
    """What it has read."""
    with at.install.store.reading() as db:
        return source_rows.list_sources(db, KEY, conversation)


def test_a_stranger_ends_what_was_allowed_until_a_person_knows(at: DownloadsFixture, turn: Turn) -> None:
    """A grant of before is asked about, with the reason; the renewed yes holds, until somebody new is read."""
    allow(at, "b.example")
    assert not is_asked(at, "https://b.example/", turn.id)  # its own first page: b.example is read now
    allow(at, "b.example")
    assert not is_asked(at, "https://b.example/q?d=nothing-yet", turn.id)
    agree(at, at.ask("https://a.example/page", turn=turn.id))
    again = at.ask("https://b.example/q?d=secret", turn=turn.id)
    (question,) = at.pending()
    assert question.text == "https://b.example/q?d=secret"
    assert question.detail["since_allowed"] == [{"kind": "web", "subject": "a.example", "count": 1}]
    assert {each["subject"] for each in question.detail["sources"]} == {"a.example", "b.example"}
    agree(at, again, GrantScope.CONVERSATION)
    assert not is_asked(at, "https://b.example/q?d=second", turn.id)
    agree(at, at.ask("https://a.example/another", turn=turn.id))  # nobody new
    assert not is_asked(at, "https://b.example/q?d=third", turn.id)
    agree(at, at.ask("https://c.example/page", turn=turn.id))
    assert is_asked(at, "https://b.example/q?d=fourth", turn.id)


def test_a_host_is_a_stranger_to_its_own_grant(at: DownloadsFixture, turn: Turn) -> None:
    """What it says may have the agent send it something: the first address after it is shown to a person."""
    agree(at, at.ask("https://a.example/page", turn=turn.id), GrantScope.CONVERSATION)
    call = at.ask("https://a.example/?d=secret", turn=turn.id)
    assert at.pending()[0].detail["since_allowed"] == [{"kind": "web", "subject": "a.example", "count": 1}]
    agree(at, call, GrantScope.CONVERSATION)
    assert not is_asked(at, "https://a.example/?d=more", turn.id)


def test_addresses_without_own_words_stay_covered(at: DownloadsFixture, turn: Turn) -> None:
    """The first page, what a search showed exactly, and what was had before; a letter more is own words."""
    allow(at, "b.example")
    assert not is_asked(at, "https://b.example/known?x=1", turn.id)
    with at.install.store.writing() as db:
        source_rows.add_links(db, turn.id, ["https://b.example/found?id=7"])
    assert not is_asked(at, "https://b.example/", turn.id)
    assert not is_asked(at, "https://b.example/known?x=1", turn.id)
    assert not is_asked(at, "https://b.example/found?id=7", turn.id)
    for url in ("/found?id=8", "/found?id=7&d=s", "/known?x=12", "/?d=s", "/found"):
        assert is_asked(at, f"https://b.example{url}", turn.id), url


def test_another_conversation_has_read_nothing(at: DownloadsFixture, turn: Turn) -> None:
    """What one has read is not what another has; one that goes on from it has read the same."""
    allow(at, "b.example")
    agree(at, at.ask("https://a.example/page", turn=turn.id))
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    conversations = Conversations(at.install.store, at.install.broker)
    for made, expected in (
        (conversations.create(KEY, "new"), False),
        (conversations.create(KEY, "fork", turn=turn.id), True),
    ):
        at.install.turns.submit(KEY, "go", source="test", conversation=made.id)
        there = at.install.turns.take_next(KEY, "boot", 0)
        assert there is not None
        assert is_asked(at, f"https://b.example/{made.name}", there.id) is expected, made.name
        at.install.turns.end_turn(KEY, there.id, TurnStatus.DONE, reply="")


def test_outside_of_turns_everything_counts(at: DownloadsFixture, turn: Turn) -> None:
    """A program that calls while no turn is under way is of no conversation, so it is of all."""
    allow(at, "b.example")
    agree(at, at.ask("https://a.example/page", turn=turn.id))
    assert is_asked(at, "https://b.example/night", None)


@pytest.mark.parametrize("setting", ["strict", "web", "off"])
def test_what_counts_is_a_setting(at: DownloadsFixture, setting: str) -> None:
    """A file that a person gave counts by default; the operator may say that only the internet does, or nothing."""
    at.install.agents.update_agent("crab", {"asks_again": setting})
    allow(at, "b.example")
    text = prompt_with_files("read it", [Attachment("in/a.pdf", 5, "application/pdf")])
    turn = at.install.under_way(text)
    assert is_asked(at, "https://b.example/x", turn.id) is (setting == "strict")
    allow(at, "b.example")
    agree(at, at.ask("https://a.example/page", turn=turn.id))
    assert is_asked(at, "https://b.example/y", turn.id) is (setting != "off")


def test_a_yes_knows_no_more_than_its_question_told(at: DownloadsFixture, turn: Turn) -> None:
    """What was read between the question and the answer was on no screen."""
    call = at.ask("https://b.example/one", turn=turn.id)
    agree(at, at.ask("https://a.example/page", turn=turn.id))
    agree(at, call, GrantScope.CONVERSATION)
    assert is_asked(at, "https://b.example/two", turn.id)


def test_the_host_that_a_file_came_from_counts(at: DownloadsFixture, turn: Turn) -> None:
    """Not the one that sent on to it; that said nothing that the agent reads."""
    allow(at, "c.example")
    agree(at, at.ask("https://a.example/on", turn=turn.id))
    assert [(one.subject, one.detail) for one in read(at, turn.conversation)] == [
        ("c.example", "https://a.example/on"),
    ]


def test_whoever_gets_an_older_copy_reads_it_too(at: DownloadsFixture, turn: Turn) -> None:
    """In a conversation of its own, without that anything is fetched."""
    agree(at, at.ask("https://a.example/page", turn=turn.id))
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    other = Conversations(at.install.store, at.install.broker).create(KEY, "other")
    at.install.turns.submit(KEY, "go", source="test", conversation=other.id)
    there = at.install.turns.take_next(KEY, "boot", 0)
    assert there is not None
    assert at.ask("https://a.example/page", turn=there.id, max_age=900).status == "done"
    assert [one.subject for one in read(at, other.id)] == ["a.example"]


def test_whoever_waits_for_the_same_file_reads_it_too(at: DownloadsFixture, turn: Turn) -> None:
    """Two conversations ask for one file: it is read in both."""
    first = at.ask("https://a.example/page", turn=turn.id)
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    other = Conversations(at.install.store, at.install.broker).create(KEY, "other")
    at.install.turns.submit(KEY, "go", source="test", conversation=other.id)
    there = at.install.turns.take_next(KEY, "boot", 0)
    assert there is not None
    second = at.ask("https://a.example/page", turn=there.id)
    assert second.waits_for == first.waits_for
    agree(at, first)
    assert [one.subject for one in read(at, other.id)] == ["a.example"]
    assert [one.subject for one in read(at, turn.conversation)] == ["a.example"]


def test_a_turn_that_is_told_of_a_file_reads_it(at: DownloadsFixture, turn: Turn) -> None:
    """It came after the turn that asked, and another conversation hears of it first."""
    call = at.ask("https://a.example/page", turn=turn.id)
    at.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    agree(at, call)
    other = Conversations(at.install.store, at.install.broker).create(KEY, "other")
    at.install.turns.submit(KEY, "go", source="test", conversation=other.id)
    there = at.install.turns.take_next(KEY, "boot", 0)
    assert there is not None
    assert "has arrived" in at.assets.turn_note(there)
    assert [one.subject for one in read(at, other.id)] == ["a.example"]


class _Looking(Workspaces):
    """Looks, at the moment when a file is about to be stored, what is written down of it."""

    found: list[str]

    def write_in(
        self, key: object, name: str | bytes, stream: Readable, *, max_bytes: int, is_numbered: bool = True
    ) -> Stored:
        """As a workspace does."""
        self.found = self.look()
        return super().write_in(KEY, name, stream, max_bytes=max_bytes, is_numbered=is_numbered)

    def look(self) -> list[str]:
        """To be put in place by the test."""
        raise NotImplementedError


def test_the_row_is_there_before_the_file(tmp_path: Path, certificates: Certificates) -> None:
    """A death, or a quick agent, between the two finds the row alone."""
    places: list[_Looking] = []

    def workspaces(home: Path) -> Workspaces:
        places.append(_Looking(home))
        return places[0]

    with fixture(tmp_path / "home", certificates, town=town(), workspaces=workspaces) as at:
        at.site(gives)
        turn = at.install.under_way()
        places[0].look = lambda: [one.subject for one in read(at, turn.conversation)]  # type: ignore[method-assign]
        agree(at, at.ask("https://a.example/page", turn=turn.id))
        assert places[0].found == ["a.example"]
        assert [one.count for one in read(at, turn.conversation)] == [1]


def test_a_no_and_a_failure_are_not_read(at: DownloadsFixture, turn: Turn) -> None:
    """Nothing came in."""
    at.decide(at.ask("https://a.example/page", turn=turn.id), approve=False)
    assert read(at, turn.conversation) == []


def test_packages_and_searches_count_as_the_internet(at: DownloadsFixture, turn: Turn) -> None:
    """Each kind that came through the door ends a grant of before."""
    for kind in (SourceKind.SEARCH, SourceKind.PACKAGES):
        allow(at, "b.example")
        with at.install.store.writing() as db:
            source_rows.add_source(db, KEY, turn.id, NewSource(kind, "x"), now=1.0)
        assert is_asked(at, f"https://b.example/{kind}", turn.id)
